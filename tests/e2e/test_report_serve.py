"""`ui`: read-only, on this machine, behind a token; the report follows the run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from loriner.report.serve import Reports, serve
from loriner.store.database import Store
from recorded import record

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@asynccontextmanager
async def serving(home: Path) -> AsyncIterator[tuple[Store, str]]:
    """A store and the address under which it is served."""
    store, said = Store.open(home), asyncio.Queue[str]()
    task = asyncio.create_task(serve(store, port=0, say=said.put_nowait))
    try:
        yield store, await asyncio.wait_for(said.get(), 30)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        store.close()


async def get(url: str, **headers: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as reply:
        return reply.status, await reply.text(), str(reply.headers.get("Cache-Control"))


async def test_the_report_of_a_run_follows_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (store, url):
        run_id = await record(store, finished=False)
        status, listed, _ = await get(url)
        assert status == 200 and f'<a href="{run_id}">' in listed
        status, first, cached = await get(url + run_id)
        assert status == 200 and "Running: round 3" in first and cached == "no-store"
        assert f"script-src 'nonce-{first.split('script nonce=')[1][1:23]}'" in first
        store.finish_run(run_id, "interrupted", {})
        _, second, _ = await get(url + run_id)
        assert "The run ended early (interrupted)" in second


async def test_without_the_token_or_under_another_name_there_is_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as (store, url):
        run_id = await record(store)
        root = url.rsplit("/", 2)[0]
        for address in (f"{root}/", f"{root}/wrong/", f"{root}/wrong/{run_id}", f"{root}/{run_id}"):
            status, text, _ = await get(address)
            assert status == 403 and run_id not in text
        assert (await get(url + run_id, Host="evil.example:80"))[0] == 403
        assert (await get(url + "nothing"))[0] == 404
        assert url.startswith("http://127.0.0.1:")


async def test_it_only_reads(tmp_path: Path) -> None:
    async with serving(tmp_path) as (store, url):
        run_id = await record(store)
        async with aiohttp.ClientSession() as session:
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                async with session.request(method, url + run_id) as reply:
                    assert reply.status == 405
            async with session.head(url + run_id) as reply:
                assert reply.status == 200
        assert store.run(run_id).status == "done"


@pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")
async def test_an_open_page_follows_the_run_by_itself(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run_id = await record(store, finished=False)
    reports, looks = Reports(store), asyncio.Queue[str]()
    app = reports.app()

    async def seen(request: web.Request, response: web.StreamResponse) -> None:
        looks.put_nowait(request.path)

    app.on_response_prepare.append(seen)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}/{reports.token}/{run_id}"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    browser = await asyncio.create_subprocess_exec(
        str(BROWSER),
        *flags,
        "--virtual-time-budget=600000",  # its clock runs as fast as the machine can
        "--dump-dom",
        address,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    for _ in range(2):  # the page, and its first look for news
        await asyncio.wait_for(looks.get(), 60)
    store.finish_run(run_id, "interrupted", {})
    out, _ = await asyncio.wait_for(browser.communicate(), 120)
    await runner.cleanup()
    store.close()
    assert "The run ended early (interrupted)" in out.decode()
    assert looks.qsize() > 2
