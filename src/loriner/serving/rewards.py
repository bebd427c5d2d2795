"""The reward of completions over HTTP, for any trainer on any machine.

Equal requests get equal replies: trials of an equal candidate are shared, and known ones are not run again,
so that a client may ask again whenever it is in doubt. What could not be scored through our fault is 503 with
`Retry-After`, never a reward of 0.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from loriner.config import Settings
from loriner.errors import ConfigError
from loriner.evaluation.evaluator import gathered
from loriner.events import silent
from loriner.models.base import sent
from loriner.serving.asked import BadRequest
from loriner.serving.guard import guarded, read_json
from loriner.serving.server import HOST, listening, told_to_end
from loriner.serving.solver import NotReached
from loriner.train.exercise import Exercise, load, names
from loriner.train.reward import Rewarder, Scored
from loriner.train.suites import open_suite
from loriner.verbs.stage import running
from loriner.verbs.workspace import workspace

TOKEN = "LORINER_TOKEN"
"""The environment variable of the token that requests from other machines must bring."""
MAX_BODY_BYTES = 64 << 20
"""A batch of completions may be long."""


@dataclass(frozen=True, slots=True)
class Rewards:
    """The service's handlers."""

    rewarder: Rewarder
    exercises: dict[str, Exercise]
    """By the id of the context."""

    def app(self, *, anywhere: bool = False, token: str = "") -> web.Application:
        """The application. `anywhere` and `token` as for `guarded`."""
        middlewares = [guarded(anywhere=anywhere, token=token)]
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=middlewares)
        app.router.add_post("/score", self._score)
        app.router.add_post("/openrlhf", self._openrlhf)
        app.router.add_get("/contexts", self._contexts)
        app.router.add_get("/health", self._health)
        return app

    async def _score(self, request: web.Request) -> web.Response:
        """One row, or several under `rows`."""
        body = await read_json(request)
        if not isinstance(body, dict):
            raise BadRequest("the body must be a JSON object with `context` and `completion`, or with `rows`")
        rows = body.get("rows", [body])
        if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
            raise BadRequest("`rows` must be a list of objects with `context` and `completion`")
        found = await self._judged([(each.get("context"), each.get("completion")) for each in rows])
        return web.json_response({"rows": found} if "rows" in body else found[0])

    async def _openrlhf(self, request: web.Request) -> web.Response:
        """The remote reward model of OpenRLHF: its labels are the contexts' ids."""
        body = await read_json(request)
        given = body if isinstance(body, dict) else {}
        columns: list[Any] = [given.get(each) for each in ("query", "prompts", "labels")]
        if not all(isinstance(each, list) for each in columns) or len(set(map(len, columns))) != 1:
            raise BadRequest("the body must have `query`, `prompts` and `labels`, lists of one length")
        found = await self._judged(
            [(label, _rest(query, prompt)) for query, prompt, label in zip(*columns, strict=True)]
        )
        rewards = [each["reward"] for each in found]
        applied = sum(each["applied"] for each in found) / max(1, len(found))
        return web.json_response({"rewards": rewards, "scores": rewards, "extra_logs": {"applied": applied}})

    async def _judged(self, rows: Sequence[tuple[Any, Any]]) -> list[dict[str, Any]]:
        """What each completion earns in its context.

        Raises:
            BadRequest: a row names no context of the file, or holds no text.
            NotReached: one could not be scored through our fault; the others are known at the next try.
        """
        for context, completion in rows:
            if not isinstance(context, str) or context not in self.exercises:
                raise BadRequest(f"no context {str(context)[:80]!r} in the file: GET /contexts lists them")
            if not isinstance(completion, str):
                raise BadRequest(f"the completion in {context} is not a text")
        found = await gathered(self.rewarder.scored(self.exercises[context], text) for context, text in rows)
        if lost := sum(each.reward is None for each in found):
            raise NotReached(
                f"{lost} of {len(found)} completions could not be scored: the solver or the sandbox is away"
            )
        return [_row(each) for each in found]

    async def _contexts(self, _: web.Request) -> web.Response:
        rows = [
            {"context": name, "messages": [sent(message) for message in each.messages]}
            for name, each in self.exercises.items()
        ]
        return web.json_response(rows)

    async def _health(self, _: web.Request) -> web.Response:
        lab = self.rewarder.lab
        facts = {
            "status": "ok",
            "contexts": len(self.exercises),
            "solver": lab.solver.name,
            "run": lab.run_id,
        }
        return web.json_response({**facts, "level": lab.runtime.level})


async def serve(
    settings: Settings, contexts: Path, *, host: str, port: int, say: Callable[[str], None]
) -> None:
    """Serves until SIGINT or SIGTERM.

    Raises:
        ConfigError: the port cannot be had, the file holds no contexts of these tasks, or other machines
            could ask without a token.
        RuntimeUnavailable: the sandbox is too weak for programs that a model wrote.
    """
    token = os.environ.get(TOKEN, "")
    if host != HOST and not token:
        raise ConfigError(f"--host {host} lets other machines ask: set {TOKEN} to what they must bring")
    async with rewards(settings, contexts) as found:
        app = found.app(anywhere=host != HOST, token=token)
        async with listening(app, port, host) as address:
            say(address)
            say(f"  {len(found.exercises)} contexts, run {found.rewarder.lab.run_id}")
            await told_to_end()


@asynccontextmanager
async def rewards(settings: Settings, contexts: Path) -> AsyncIterator[Rewards]:
    """The handlers in a run of their own, which ends with the block."""
    exercises, opens = load(contexts), names(contexts)
    by_id = {each.context.id: each for each in exercises}
    if len(by_id) < len(exercises):
        raise ConfigError(f"{contexts}: two contexts have one id, which says which is meant: draw them anew")
    wanted = {each.context.task: opens.get(each.context.task, each.context.task) for each in exercises}
    async with AsyncExitStack() as held:
        lab = (await held.enter_async_context(workspace(settings))).fresh(settings, "serving rewards")
        by_name = open_suite(wanted.values(), ["canonical"], home=settings.home, training=True)
        for task in by_name.values():
            held.push_async_callback(task.close)
        run = held.enter_context(running(lab, "reward serve", lab.solver, silent))
        tasks = {task.name: task for task in by_name.values()}
        rewarder = Rewarder(lab=run.evaluator, tasks=tasks)
        for each in exercises:
            rewarder.graders(each)
        yield Rewards(rewarder, by_id)


def _rest(query: Any, prompt: Any) -> str:
    """The completion behind its prompt."""
    if not isinstance(query, str) or not isinstance(prompt, str) or not query.startswith(prompt):
        raise BadRequest("each text in `query` must begin with its prompt in `prompts`")
    return query.removeprefix(prompt)


def _row(scored: Scored) -> dict[str, Any]:
    """A reward with its parts, and why there is no candidate, where there is none."""
    assert scored.reward is not None
    failure = scored.rollout.failure
    return {
        "reward": scored.reward.total,
        **asdict(scored.reward),
        "code": None if failure is None else failure.code,
    }
