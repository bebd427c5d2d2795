"""The reports in a browser while runs work: read-only, on this machine, behind a token.

The server listens on 127.0.0.1 alone, answers GET and HEAD alone, and only below a path that holds a token
made at its start. Requests that name another host are refused, so that no page of the web can reach it under
a name of its own. It writes nothing anywhere.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.typedefs import Handler

from loriner.errors import ConfigError
from loriner.report.evidence import moment
from loriner.report.page import Page, html, part
from loriner.report.pages import facts_of, page_of
from loriner.search.history import history
from loriner.store.database import Store

HOST = "127.0.0.1"
N_RUNS = 100
"""Runs that are listed."""


@dataclass(slots=True)
class Reports:
    """The pages of one store."""

    store: Store
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    made: dict[str, tuple[tuple[object, ...], Page]] = field(default_factory=dict)
    """The page of each run, and how the run stood when it was made."""

    def app(self) -> web.Application:
        """The application; its pages lie below `/TOKEN/`."""
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/{token}/", self._list)
        app.router.add_get("/{token}/{run}", self._report)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        host = request.host.rpartition(":")[0] or request.host
        given = request.path.split("/")[1]
        if host not in (HOST, "localhost") or not hmac.compare_digest(given.encode(), self.token.encode()):
            raise web.HTTPForbidden(text="forbidden: open the address that `loriner ui` printed\n")
        return await handler(request)

    async def _list(self, request: web.Request) -> web.Response:
        rows = [
            (run.id, run.command, str(run.summary.get("task", "")), run.status, moment(run.started))
            for run in self.store.runs(N_RUNS)
        ]
        return _page(part("runs.html", rows=rows))

    async def _report(self, request: web.Request) -> web.Response:
        nonce = secrets.token_urlsafe(16)
        try:
            made = await asyncio.to_thread(self._made, request.match_info["run"], nonce)
        except ConfigError as error:
            raise web.HTTPNotFound(text=f"{error}\n") from error
        return _page(made)

    def _made(self, run: str, nonce: str) -> str:
        """The page, read anew where the run has moved since it was made last."""
        run_id = self.store.run(run).id
        at = self._state(run_id)
        known = self.made.get(run_id)
        if known is None or known[0] != at:
            known = self.made[run_id] = (at, page_of(facts_of(self.store, run_id)))
        return html(known[1], live=nonce)

    def _state(self, run_id: str) -> tuple[object, ...]:
        """What changes whenever the run, or an arm of it, does."""
        told = history(self.store, run_id)
        ids = [run_id, *(arm.run_id for arm in told.arms)]
        trials = [sum(each.n for each in self.store.tallies(each_id)) for each_id in ids]
        rounds = [len(history(self.store, each_id).rounds) for each_id in ids]
        return (*ids, *trials, *rounds, *(self.store.run(each_id).status for each_id in ids))


async def serve(store: Store, *, port: int, say: Callable[[str], None]) -> None:
    """Serves until it is cancelled.

    Raises:
        ConfigError: the port cannot be had.
    """
    reports = Reports(store)
    runner = web.AppRunner(reports.app(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(f"cannot listen on {HOST}:{port}: {error.strerror}; give another --port") from error
    try:
        say(f"http://{HOST}:{runner.addresses[0][1]}/{reports.token}/")
        say("Anyone on this machine who has this address can read the reports. Ctrl-C ends it.")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _page(text: str) -> web.Response:
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY"}
    return web.Response(text=text, content_type="text/html", headers=headers)
