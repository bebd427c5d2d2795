"use strict";
const box = document.getElementById("live");
const state = document.getElementById("live-state");
const opened = () => new Set([...document.querySelectorAll("details[open] > summary")].map(each => each.textContent));
async function follow() {
  if (!box.checked) return;
  try {
    const reply = await fetch(location.href, { cache: "no-store" });
    if (!reply.ok) throw new Error(reply.status);
    const next = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("main");
    const main = document.querySelector("main");
    const kept = opened();
    for (const each of next.querySelectorAll("details > summary"))
      if (kept.has(each.textContent)) each.parentElement.open = true;
    if (main.innerHTML !== next.innerHTML) {
      main.replaceWith(document.importNode(next, true));
      state.textContent = "updated " + new Date().toLocaleTimeString();
    }
  } catch (error) {
    state.textContent = "not reachable: " + error.message;
  }
}
setInterval(follow, 3000);
