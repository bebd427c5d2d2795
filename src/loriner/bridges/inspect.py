"""Inspect: a harness as a solver, an Inspect task as ours. `inspect_logs` writes our runs as its logs."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

from loriner.bridges import framework
from loriner.bridges.shared_cage import shared_cage
from loriner.errors import ConfigError, InfrastructureError, ModelUnavailable, TaskError
from loriner.models.base import ModelReply, ModelRequest
from loriner.records import Harness, Question, Score, Status
from loriner.tasks.base import Split, Tool
from loriner.tasks.scorer import as_score
from loriner.tasks.splits import DEFAULT_SHARES, by_hash, read_shares
from loriner.verbs.workspace import unrecorded

framework("inspect_ai", "inspect-ai", "0.3.285", "Task", "eval")
framework("inspect_ai.scorer", "inspect-ai", "0.3.285", "Target", "value_to_float")

from inspect_ai.model import (  # noqa: E402
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    get_model,
)
from inspect_ai.scorer import Target, value_to_float  # noqa: E402
from inspect_ai.solver import TaskState, solver  # noqa: E402

ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


@solver
def loriner_harness(program: str | Path | Harness = "library:minimal") -> Any:
    """An Inspect solver that runs a harness in our sandbox, with the model that Inspect evaluates.

    Raises:
        HarnessError: there is no such harness: `library:NAME`, a file, or an object.
    """
    harness = program if isinstance(program, Harness) else unrecorded(str(program))
    if harness is None:
        raise ConfigError(f"no harness {str(program)!r}: expected library:NAME, a file or a lo.Harness")

    async def solve(state: Any, generate: Any) -> Any:
        model = InspectModel(get_model())
        run = partial(shared_cage().run, harness, state.input_text, model)
        ran = await asyncio.get_running_loop().run_in_executor(_threads(), run)
        if ran.status is Status.INFRA_ERROR:
            raise InfrastructureError(f"running the harness: {ran.detail} {ran.error}")
        state.output = ModelOutput.from_content(str(state.model), ran.answer)
        state.messages.append(ChatMessageAssistant(content=ran.answer))
        state.metadata = {**state.metadata, "status": str(ran.status), "error": ran.error}
        return state

    return solve


class InspectModel:
    """A model of Inspect as ours: its retries, cache, limits and log, in the event loop of its eval."""

    def __init__(self, model: Any) -> None:
        self.name = f"inspect:{model.name}"
        self._model = model
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()

    async def complete(self, request: ModelRequest) -> ModelReply:
        done: Future[Any] = Future()
        self._loop.call_soon_threadsafe(self._begin, request, done)
        try:
            said = await asyncio.wrap_future(done)
        except Exception as error:
            raise ModelUnavailable(f"{self.name} raised {type(error).__name__}: {error}") from error
        usage = said.usage
        return ModelReply(
            text=said.completion,
            finish_reason=said.stop_reason,
            prompt_tokens=usage.input_tokens if usage else 0,
            completion_tokens=usage.output_tokens if usage else 0,
        )

    def _begin(self, request: ModelRequest, done: Future[Any]) -> None:
        """Asks in Inspect's loop and in the sample's context, where its transcript and limits are."""
        work = self._loop.create_task(self._generate(request), context=self._context.copy())

        def end(task: asyncio.Task[Any]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            done.set_result(task.result()) if error is None else done.set_exception(error)

        work.add_done_callback(end)

    async def _generate(self, request: ModelRequest) -> Any:
        config = GenerateConfig(
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            seed=request.seed,
            stop_seqs=list(request.stop) or None,
        )
        messages = [ROLES[each.role](content=each.content) for each in request.messages]
        return await self._model.generate(messages, config=config)

    async def close(self) -> None:
        """The model is Inspect's to close."""


class FromInspect:
    """The samples and the scorer of an Inspect task as a task of ours; its solver is not used."""

    tools: Mapping[str, Tool] = {}
    seed_harness = "minimal"

    def __init__(self, task: Any, name: str | None = None, description: str = "") -> None:
        if len(task.scorer or ()) != 1:
            raise TaskError(
                f"the task has {len(task.scorer or ())} scorers; a task of loriner has exactly one"
            )
        self.name = name or f"inspect-{task.name}"
        self.description = description or f"The task {task.name} of Inspect."
        self._scorer = task.scorer[0]
        self._samples = {str(each.id or n): each for n, each in enumerate(task.dataset, 1)}
        items = [{"id": key, "question": _text(each.input)} for key, each in self._samples.items()]
        self._splits = by_hash(items, read_shares(DEFAULT_SHARES, self.name))

    def questions(self, split: Split) -> list[Question]:
        return [
            Question(task=self.name, id=each["id"], text=each["question"], target=self._target(each["id"]))
            for each in self._splits[split]
        ]

    def _target(self, key: str) -> Any:
        return self._samples[key].target or None

    async def score(self, question: Question, answer: str) -> Score:
        """The scorer's verdict, with its explanation as the feedback."""
        sample = self._samples[question.id]
        state = TaskState(
            model="loriner",
            sample_id=question.id,
            epoch=1,
            input=sample.input,
            messages=[],
            output=ModelOutput.from_content("loriner", answer),
            metadata=sample.metadata or {},
            target=Target(sample.target),
            choices=sample.choices,
        )
        found = await self._scorer(state, Target(sample.target))
        if isinstance(found.value, dict | list):
            raise TaskError(f"the scorer of {self.name} returned {found.value!r:.100}; expected one value")
        value = value_to_float()(found.value)
        return as_score({"value": value, "feedback": found.explanation or ""}, self.name, {"id": question.id})

    async def close(self) -> None:
        """Holds nothing."""


def _text(asked: Any) -> str:
    return asked if isinstance(asked, str) else "\n\n".join(each.text for each in asked)


@cache
def _threads() -> ThreadPoolExecutor:
    """As many as samples may be under way at once; they wait for the most part."""
    return ThreadPoolExecutor(256, "loriner-inspect")
