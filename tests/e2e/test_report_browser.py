"""The report in a real browser without a network: what its DOM holds, and that hostile text stays text."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from loriner.report.page import html
from loriner.report.pages import facts_of, page_of
from loriner.store.database import Store
from recorded import LOOP, record, trial

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")


async def written(home: Path, more: str = "") -> Path:
    store = Store.open(home)
    extra = [trial(LOOP, "test", 99, right=False, reply=more, seconds=90.0)] if more else []
    run_id = await record(store, note=more or "Try again.", more=extra)
    file = home / "report.html"
    file.write_text(html(page_of(facts_of(store, run_id))), encoding="utf-8")
    store.close()
    return file


def browser(home: Path, file: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    return subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={home / 'profile'}",
            "--enable-logging=stderr",
            *arguments,
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )


async def test_the_dom_holds_every_section_chart_and_table(tmp_path: Path) -> None:
    file = await written(tmp_path)
    done = browser(tmp_path, file, "--dump-dom")
    assert done.returncode == 0, done.stderr
    dom = done.stdout
    assert len(re.findall(r'<section id="', dom)) == 12
    assert dom.count("<svg") == dom.count("<figure>") == 6
    assert "The adapted program is better than the seed" in dom
    assert dom.count("<details") >= 12 and dom.count("<details open") == 2
    assert "CONSOLE" not in done.stderr, done.stderr  # no refused style, no error


async def test_hostile_text_does_nothing_in_the_browser(tmp_path: Path) -> None:
    attack = "</pre><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    file = await written(tmp_path, attack)
    dom = browser(tmp_path, file, "--dump-dom").stdout
    assert re.search(r"<title>sums: adaptation [^<]*</title>", dom)
    assert "<script" not in dom and "<img" not in dom
    assert "&lt;script&gt;document.title='owned'" in dom


async def test_it_prints_and_can_be_looked_at(tmp_path: Path) -> None:
    file = await written(tmp_path)
    for name, size in (("wide", "1200,3000"), ("narrow", "420,3000")):
        picture = tmp_path / f"{name}.png"
        browser(tmp_path, file, f"--window-size={size}", f"--screenshot={picture}")
        assert picture.stat().st_size > 50_000
    paper = tmp_path / "report.pdf"
    browser(tmp_path, file, f"--print-to-pdf={paper}")
    assert paper.read_bytes().startswith(b"%PDF")
