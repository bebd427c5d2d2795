"""Harnesses behind the OpenAI protocol: adapted or plain, never refused.

A single question to the name of a harness is answered by the harness, in the sandbox and within the limits of
a trial. Anything else goes to the solver as it is, and so does the question of a harness that fails: an
adapted model is available whenever the plain one is. Where the fault is ours, nobody answers: 503 with
`Retry-After`, and a later try may succeed.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TextIO

from aiohttp import web

from loriner.errors import LorinerError, ModelError
from loriner.evaluation.evaluator import INFRA_TRIES, TrialServices
from loriner.models.base import Model, ModelReply
from loriner.records import Status
from loriner.runtime.base import Limits, Program, Runtime, Verdict
from loriner.seeding import derive
from loriner.serving import asked as reading
from loriner.serving import replies
from loriner.serving.asked import Asked
from loriner.serving.guard import MAX_BODY_BYTES, guarded, read_json, refused
from loriner.serving.replies import Answer
from loriner.serving.shelf import Served, Shelf
from loriner.serving.solver import NotReached, Plain

KEEP_ALIVE_S = 5.0
"""A streamed reply shows a sign of life this often while the harness works."""
_READ = {"chat/completions": reading.chat, "responses": reading.responses}

System = Literal["question", "pass"]


@dataclass(frozen=True, slots=True)
class Fallback:
    """A harness that gave no answer, and why."""

    why: str
    harness_id: str

    @property
    def headers(self) -> dict[str, str]:
        return {"X-Loriner": f"fallback {self.why}", "X-Loriner-Harness": self.harness_id[:12]}


@dataclass(slots=True, kw_only=True)
class Gate:
    """The server's handlers and what they work with."""

    shelf: Shelf
    runtime: Runtime
    model: Model
    """The solver, as harnesses ask it."""
    plain: Plain
    """The solver, as clients ask it without a harness."""
    limits: Limits = field(default_factory=Limits)
    system: System = "question"
    """Whether a system message is put before the question, or sends the request to the solver."""
    log: TextIO | None = None
    """Where questions and answers are written, if anywhere."""

    def app(self) -> web.Application:
        """The application, without a lifetime of its own."""
        app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=[guarded()])
        for path in _READ:
            app.router.add_post(f"/v1/{path}", self._completion(path))
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        return app

    def _completion(self, path: str) -> Callable[[web.Request], Any]:
        async def handler(request: web.Request) -> web.StreamResponse:
            body = await read_json(request)
            asked = _READ[path](body)
            if asked.model not in (*self.shelf.served, self.plain.name):
                return self._unknown(asked.model)
            with self._counted(asked.model) as outcome:
                reply = await self._reply(request, path, body, asked)
                how = request.get("outcome") or reply.headers.get("X-Loriner", "error")
                outcome.append(str(how))
            return reply

        return handler

    @contextmanager
    def _counted(self, model: str) -> Iterator[list[str]]:
        """Counts a request by the last outcome that the block notes; one that it does not end is `lost`."""
        counts, outcome, started = self.shelf.counts, ["lost"], time.monotonic()
        counts.in_flight += 1
        try:
            yield outcome
        except (NotReached, LorinerError):
            outcome.append("unavailable")
            raise
        finally:
            counts.in_flight -= 1
            counts.ended(model, outcome[-1], time.monotonic() - started)

    async def _reply(
        self, request: web.Request, path: str, body: Mapping[str, Any], asked: Asked
    ) -> web.StreamResponse:
        aside = asked.model not in self.shelf.served or (asked.system and self.system == "pass")
        if asked.beyond or aside:
            return await self._relayed(request, path, body, asked, {"X-Loriner": "pass"})
        if asked.stream:
            return await self._streamed(request, path, body, asked)
        found = await self._answered(asked)
        if isinstance(found, Fallback):
            return await self._fallen(request, path, body, asked, found)
        return web.json_response(_whole(path, found), headers=found.headers)

    # The harness

    async def _answered(self, asked: Asked) -> Answer | Fallback:
        """What the harness makes of a single question.

        Raises:
            NotReached: through no fault of the harness there is no answer.
        """
        question = f"{asked.system}\n\n{asked.question}" if asked.system else asked.question
        served = self.shelf.chosen(asked.model, question)
        harness = served.harness  # a swap meanwhile is for the next request
        verdict, services = await self._tried(served, harness.source, question, _seed(asked, question))
        if verdict.status is Status.INFRA_ERROR:
            raise NotReached(verdict.error or verdict.detail)
        if verdict.status is not Status.OK or not verdict.answer.strip():
            fallback = Fallback(verdict.status.value, harness.id)
            self._noted(asked, question, fallback.headers["X-Loriner"], harness.id, "")
            return fallback
        calls = [each for each in services.calls if each.kind == "model"]
        answer = Answer(
            model=asked.model,
            text=verdict.answer,
            why="harness",
            harness_id=harness.id,
            prompt_tokens=sum(each.prompt_tokens for each in calls),
            completion_tokens=sum(each.completion_tokens for each in calls),
            n_calls=len(calls),
            n_tool_calls=len(services.calls) - len(calls),
            seconds=verdict.seconds,
        )
        self._noted(asked, question, answer.why, harness.id, answer.text)
        return answer

    async def _tried(
        self, served: Served, source: str, question: str, seed: int
    ) -> tuple[Verdict, TrialServices]:
        """How the run ended; begun again where the sandbox failed it, and not the solver, which was asked
        again by its client.
        """
        tools = served.tools(question)
        program = Program(
            source=source, question=question, tools=frozenset({*tools, "run_python"}), seed=seed
        )
        for _ in range(INFRA_TRIES):
            services = TrialServices(solver=self.model, tools=tools, seed=seed, call_s=self.limits.call_s)
            verdict = await self.runtime.run(program, services, self.limits)
            self._spent(served.name, services)
            if verdict.status is not Status.INFRA_ERROR or any(each.error for each in services.calls):
                break
        return verdict, services

    def _spent(self, name: str, services: TrialServices) -> None:
        counts = self.shelf.counts
        for each in services.calls:
            if each.kind == "model":
                counts.calls[name] += 1
                counts.tokens[name, "prompt"] += each.prompt_tokens
                counts.tokens[name, "completion"] += each.completion_tokens

    def _noted(self, asked: Asked, question: str, how: str, harness_id: str, answer: str) -> None:
        if self.log is None:
            return
        facts = {
            "time": time.time(),
            "model": asked.model,
            "harness": harness_id,
            "how": how,
            "question": question,
            "answer": answer,
        }
        self.log.write(json.dumps(facts, ensure_ascii=False) + "\n")
        self.log.flush()

    # Streams

    async def _streamed(
        self, request: web.Request, path: str, body: Mapping[str, Any], asked: Asked
    ) -> web.StreamResponse:
        """The answer as events. One that takes long is preceded by comments, and by headers that cannot say
        yet how it will come about.
        """
        work = asyncio.create_task(self._answered(asked))
        stream = None
        try:
            while not (await asyncio.wait([work], timeout=KEEP_ALIVE_S))[0]:
                stream = stream or await _begun(request, {"X-Loriner": "pending"})
                await stream.write(replies.KEEP_ALIVE)
            found = work.result()
            request["outcome"] = found.headers["X-Loriner"]
            if isinstance(found, Fallback):
                return await self._fallen(request, path, body, asked, found, stream)
            stream = stream or await _begun(request, found.headers)
            for event in _events(path, found, asked):
                await stream.write(event)
        except (NotReached, LorinerError) as error:
            if stream is None:
                raise
            request["outcome"] = "unavailable"
            await stream.write(replies.error_event(str(error)))
        finally:
            work.cancel()
            await asyncio.wait([work])
        await stream.write_eof()
        return stream

    # The solver alone

    async def _fallen(
        self,
        request: web.Request,
        path: str,
        body: Mapping[str, Any],
        asked: Asked,
        fallback: Fallback,
        stream: web.StreamResponse | None = None,
    ) -> web.StreamResponse:
        """The solver's own answer to a single question. Not every solver has `/responses`: there it is asked
        for a text, which is put in that shape.
        """
        if path == "chat/completions":
            return await self._relayed(request, path, body, asked, fallback.headers, stream)
        try:
            reply = await self.model.complete(asked.plain())
        except ModelError as error:
            raise NotReached(str(error)) from error
        answer = _of(reply, asked.model, fallback.headers["X-Loriner"], fallback.harness_id)
        return await _sent(request, path, asked, answer, stream)

    async def _relayed(
        self,
        request: web.Request,
        path: str,
        body: Mapping[str, Any],
        asked: Asked,
        headers: Mapping[str, str],
        stream: web.StreamResponse | None = None,
    ) -> web.StreamResponse:
        """The solver's reply to the request as it is."""
        async with self.plain.relay(path, body) as reply:
            if isinstance(reply, ModelReply):
                answer = _of(reply, asked.model, headers["X-Loriner"])
                return await _sent(request, path, asked, answer, stream)
            if stream is None:
                stream = web.StreamResponse(status=reply.status, headers={**headers, **reply.headers})
                await stream.prepare(request)
            try:
                async for part in reply.parts():
                    await stream.write(part)
            except NotReached:  # the client must not take what it has for all
                if request.transport is not None:
                    request.transport.abort()
                return stream
        await stream.write_eof()
        return stream

    # What else there is

    async def _models(self, _: web.Request) -> web.Response:
        names = dict.fromkeys([*self.shelf.served, self.plain.name])
        rows = [{"id": each, "object": "model", "created": 0, "owned_by": "loriner"} for each in names]
        return web.json_response({"object": "list", "data": rows})

    async def _health(self, _: web.Request) -> web.Response:
        served = {
            each.name: {"harness": each.harness.id[:12], "version": each.version}
            for each in self.shelf.served.values()
        }
        facts = {"status": "ok", "solver": self.plain.name, "level": self.runtime.level}
        return web.json_response({**facts, "harnesses": served})

    async def _metrics(self, _: web.Request) -> web.Response:
        return web.Response(text=self.shelf.counts.text(), content_type="text/plain")

    def _unknown(self, model: str) -> web.Response:
        names = ", ".join([*self.shelf.served, self.plain.name])
        text = f"the model {model[:80]!r} is not served here; there are {names}"
        return refused(404, text, "invalid_request_error", "model_not_found")


def _seed(asked: Asked, question: str) -> int:
    """The client's seed; without one, a fresh one where it asks for chance."""
    if asked.seed is None and asked.temperature > 0:
        return secrets.randbits(31)
    return derive(asked.seed or 0, "served", question)


def _of(reply: ModelReply, model: str, why: str, harness_id: str = "") -> Answer:
    return Answer(
        model=model,
        text=reply.text,
        why=why,
        harness_id=harness_id,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        seconds=reply.seconds,
    )


def _whole(path: str, answer: Answer) -> dict[str, Any]:
    return replies.response(answer) if path == "responses" else replies.completion(answer)


def _events(path: str, answer: Answer, asked: Asked) -> Iterator[bytes]:
    if path == "responses":
        return replies.response_events(answer)
    return replies.chunks(answer, usage=asked.usage)


async def _sent(
    request: web.Request, path: str, asked: Asked, answer: Answer, stream: web.StreamResponse | None
) -> web.StreamResponse:
    """An answer in the shape that was asked for."""
    if not asked.stream:
        return web.json_response(_whole(path, answer), headers=answer.headers)
    stream = stream or await _begun(request, answer.headers)
    for event in _events(path, answer, asked):
        await stream.write(event)
    await stream.write_eof()
    return stream


async def _begun(request: web.Request, headers: Mapping[str, str]) -> web.StreamResponse:
    more = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
    stream = web.StreamResponse(headers={**headers, **more})
    await stream.prepare(request)
    return stream
