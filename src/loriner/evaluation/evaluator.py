"""Trials: one harness on many questions, run, scored and stored.

This is the one place that turns a verdict of the sandbox and a score of the task into a `Trial`. A
fault of the program scores 0. A fault of ours is unscored and tried again; too many of them stop the run. A
finished (harness, question, sample) is never paid for twice: it is read from the store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from loriner.errors import BudgetReached, InfrastructureError, ModelError, PromptRefused, TaskError
from loriner.evaluation.examples import examples_tool, feedback_examples
from loriner.events import Evaluating, Note, Observer, TrialDone, silent
from loriner.models.base import Model, ModelRequest, call_of, failed_call, request_of
from loriner.models.meter import Meter
from loriner.records import Call, Evaluation, Harness, Question, Score, Status, Trial
from loriner.runtime.base import CallRefused, Limits, Program, Runtime, Verdict
from loriner.seeding import derive
from loriner.store.database import Store
from loriner.store.exported.nearest import Examples
from loriner.tasks import hidden_files
from loriner.tasks.base import Digested, Task, Tool
from loriner.tasks.scorer import FAILURES

T = TypeVar("T")

MAX_INFRA_SHARE = 0.2
"""A run stops above this share of unscored trials: its mean would cover too few of the questions."""
MAX_INFRA_ERRORS = 10
"""So many failures of ours, in a majority, stop an evaluation before its end."""
INFRA_TRIES = 2
N_PROBES = 3
"""Questions run first: a program that cannot even be loaded for them is not run on the others."""


@dataclass(slots=True, kw_only=True)
class Evaluator:
    """Where trials run: a sandbox, a frozen solver, a store and the run they belong to."""

    runtime: Runtime
    solver: Model
    store: Store
    run_id: str
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    concurrency: int = 64
    """Trials in flight."""
    least_temperature: float = 0.0
    """Calls are sampled at this temperature at least: repeating a greedy program would repeat one answer."""
    observe: Observer = silent
    meter: Meter = field(default_factory=Meter)
    """Counts the trials; its caps on calls and money are the solver's affair."""
    _shared: dict[tuple[str, str, str, tuple[str, ...], int], asyncio.Task[Evaluation]] = field(
        default_factory=dict
    )
    _at_work: int = 0
    """Trials that have begun and are not in the store yet."""
    _seconds: dict[str, tuple[float, int]] | None = None
    """Wall time and number of the trials of each program; None before it is asked for."""
    _recorded: set[str] = field(default_factory=set)
    """Programs that were handed to the store."""
    _begun: set[tuple[str, str, str]] | None = None
    """Task, program and purpose of each evaluation that the run has begun; None before it is asked for."""
    _held: set[str] = field(default_factory=set)
    """Tasks that were held against what the run began with."""
    _examples: dict[str, Examples] = field(default_factory=dict)
    """By task, made at the first call."""

    async def evaluate(
        self, task: Task, harness: Harness, questions: Sequence[Question], *, purpose: str, samples: int = 1
    ) -> Evaluation:
        """All trials of `harness` on `questions`, `samples` of each. Equal harnesses share one evaluation.

        Raises:
            InfrastructureError: too many trials failed through no fault of the harness.
            BudgetReached: a cap of the run is reached; finished trials are in the store.
            TaskError: the task is not the one that the run began with.
        """
        await self._hold(task)
        key = (task.name, harness.id, purpose, tuple(question.id for question in questions), samples)
        running = self._shared.get(key)
        if running is None:
            running = asyncio.create_task(_Batch(self, task, harness, questions, purpose, samples).run())
            self._shared[key] = running
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait([running])  # what it had paid for is recorded before the store closes
            raise
        finally:
            if running.done():
                self._shared.pop(key, None)

    def so_far(
        self, task: Task, harness: Harness, questions: Sequence[Question], *, purpose: str
    ) -> Evaluation:
        """What the run has scored of this evaluation; its trials may be fewer than the questions, or none."""
        known = self.store.trials(
            self.run_id, harness_id=harness.id, task=task.name, purpose=purpose, with_calls=True
        )
        scored = {each.question_id: each for each in known if each.score is not None and not each.sample}
        trials = tuple(scored[each.id] for each in questions if each.id in scored)
        return Evaluation(
            harness_id=harness.id, task=task.name, purpose=purpose, trials=trials, level=self.runtime.level
        )

    def seconds_a_trial(self, harness_id: str) -> float:
        """Wall time of this run's evaluations of a program, over their trials; 0 where none was run."""
        seconds, n = self._timed().get(harness_id, (0.0, 0))
        return seconds / max(1, n)

    def _timed(self) -> dict[str, tuple[float, int]]:
        if self._seconds is None:
            self._seconds = {}
            for each in self.store.events(self.run_id, "evaluated"):
                self._time(each.data["harness"], each.data["seconds"], each.data.get("n", 0))
        return self._seconds

    def _time(self, harness_id: str, seconds: float, n: int) -> None:
        if n and self._seconds is not None:
            before, n_before = self._seconds.get(harness_id, (0.0, 0))
            self._seconds[harness_id] = (before + seconds, n_before + n)

    def _recorded_trials(self, task: str, harness_id: str, purpose: str) -> list[Trial]:
        """The standing trials of an evaluation; the store is not asked where the run has none."""
        if self._begun is None:
            tallies = self.store.tallies(self.run_id)
            self._begun = {(each.task, each.harness_id, each.purpose) for each in tallies}
        if (task, harness_id, purpose) not in self._begun:
            self._begun.add((task, harness_id, purpose))
            return []
        return self.store.trials(
            self.run_id, harness_id=harness_id, task=task, purpose=purpose, with_calls=True
        )

    def tools(self, task: Task, question: Question) -> Mapping[str, Tool]:
        """What a program may call on the host while it answers the question: the task's own tools, and
        `examples`, unless the task has one of that name itself.
        """
        return {"examples": examples_tool(partial(self._index, task), question), **task.tools}

    def _index(self, task: Task) -> Examples:
        if task.name not in self._examples:
            self._examples[task.name] = feedback_examples(task)
        return self._examples[task.name]

    async def _hold(self, task: Task) -> None:
        """Notes once what the scores of a task rest on, or finds it as the run noted it before.

        Raises:
            TaskError: it has changed, and stored trials would stand beside trials of another task.
        """
        if task.name in self._held:
            return
        now = dict(task.digests) if isinstance(task, Digested) else {}
        noted = [
            each.data["digests"]
            for each in self.store.events(self.run_id, "task")
            if each.data["task"] == task.name
        ]
        then = noted[0] if noted else now
        if changed := sorted(part for part in then if now.get(part) != then[part]):
            raise TaskError(
                f"the {' and the '.join(changed)} of {task.name} changed since run {self.run_id} began, and "
                "its trials would be of two tasks: put back what it was to go on, or begin a new run"
            )
        self._held.add(task.name)
        if "tools" in now and (lacking := hidden_files.lack()):
            self.observe(Note(text=f"{task.name}: {lacking}"))
        if not noted:
            await self.store.add_event(self.run_id, "task", {"task": task.name, "digests": now})


@dataclass(slots=True)
class _Batch:
    """One evaluation under way."""

    lab: Evaluator
    task: Task
    harness: Harness
    questions: Sequence[Question]
    purpose: str
    samples: int
    gate: asyncio.Semaphore = field(init=False)
    probed: asyncio.Event = field(default_factory=asyncio.Event)
    n_unknown: int = 0
    """Probes that have not ended yet."""
    n_left: int = 0
    """Trials that are not handed to the store yet."""
    stopped: BudgetReached | None = None
    """The cap that was reached: no further trial begins, and those in flight end by themselves."""
    done: dict[tuple[str, int], Trial] = field(default_factory=dict)
    unloadable: int = 0
    """Trials whose program crashed while it was loaded, which no question has a part in."""
    scorer_said: list[str] = field(default_factory=list)
    """What the scorer failed with, for each answer that it failed on."""

    async def run(self) -> Evaluation:
        try:
            return await self._run()
        finally:
            self._leave(self.n_left)

    def _enter(self, n: int) -> None:
        self.n_left += n
        self.lab._at_work += n

    def _leave(self, n: int) -> None:
        self._enter(-n)

    async def _run(self) -> Evaluation:
        self.gate = asyncio.Semaphore(self.lab.concurrency)
        known = self.lab._recorded_trials(self.task.name, self.harness.id, self.purpose)
        self.done = {(trial.question_id, trial.sample): trial for trial in known if trial.score is not None}
        wanted = [(question, sample) for sample in range(self.samples) for question in self.questions]
        missing = [
            (question, sample) for question, sample in wanted if (question.id, sample) not in self.done
        ]
        began = Evaluating(
            task=self.task.name,
            harness_id=self.harness.id,
            purpose=self.purpose,
            n=len(wanted),
            n_missing=len(missing),
        )
        self.lab.observe(began)
        started = time.monotonic()
        self._enter(len(missing))
        async with together() as group:
            if self.harness.id not in self.lab._recorded:
                self.lab._recorded.add(self.harness.id)
                group.create_task(self.lab.store.add_harness(self.harness, at_once=False))
            await self._work(missing, group)
        if self.stopped is not None:
            raise self.stopped
        trials = tuple(self.done[question.id, sample] for question, sample in wanted)
        evaluation = Evaluation(
            harness_id=self.harness.id,
            task=self.task.name,
            purpose=self.purpose,
            trials=trials,
            level=self.lab.runtime.level,
        )
        if evaluation.n_infra_errors > MAX_INFRA_SHARE * len(trials):
            raise self._infrastructure(trials)
        if self.scorer_said:
            n, first = len(self.scorer_said), self.scorer_said[0]
            failed = f"the scorer failed on {n} of {len(missing)} answers, which score 0: {first}"
            self.lab.observe(Note(text=f"{self.task.name}: {failed}"))
        if missing:
            seconds = round(time.monotonic() - started, 3)
            facts = {
                "harness": self.harness.id,
                "purpose": self.purpose,
                "level": evaluation.level,
                "n": len(missing),
                "seconds": seconds,
            }
            self.lab._time(self.harness.id, seconds, len(missing))
            self.lab.store.note(self.lab.run_id, "evaluated", facts)
        return evaluation

    async def _work(self, missing: Sequence[tuple[Question, int]], group: asyncio.TaskGroup) -> None:
        """Runs the probes, then the rest, unless they say that it is no use. All is recorded meanwhile."""
        if not missing:
            return
        self.n_unknown = min(N_PROBES, len(missing))
        for question, sample in missing[:N_PROBES]:
            group.create_task(self._one(question, sample))
        await self.probed.wait()
        if self.stopped is not None:
            return
        if all(trial.status is Status.INFRA_ERROR for trial in self.done.values()):
            raise self._infrastructure(tuple(self.done.values()))
        work = self._skip if self.unloadable >= N_PROBES else self._one
        for question, sample in missing[N_PROBES:]:
            group.create_task(work(question, sample))

    async def _one(self, question: Question, sample: int) -> None:
        async with self.gate:
            if self.stopped is not None:
                return
            try:
                trial = await self._tried(question, sample)
            except BudgetReached as reached:
                self.stopped = reached
                self.probed.set()
                return
        await self._keep(trial)

    async def _tried(self, question: Question, sample: int) -> Trial:
        """The trial, run again where it failed through our fault."""
        self.lab.meter.begin_trial()
        trial = await self._trial(question, sample)
        for _ in range(INFRA_TRIES - 1):
            if trial.status is not Status.INFRA_ERROR or any(call.error for call in trial.calls):
                break  # the model's client has tried again on its own account
            await self.lab.store.add_trial(self.lab.run_id, self.purpose, trial)
            trial = await self._trial(question, sample)
        return trial

    async def _keep(self, trial: Trial) -> None:
        """Notes a trial, and returns once it is recorded."""
        self.done[trial.question_id, trial.sample] = trial
        self.n_unknown -= 1
        if self.n_unknown == 0:
            self.probed.set()
        self._leave(1)
        is_last = not self.lab._at_work  # it has the others committed with it
        await self.lab.store.add_trial(self.lab.run_id, self.purpose, trial, at_once=is_last)
        self.lab.observe(TrialDone(purpose=self.purpose, trial=trial))
        failed = [each for each in self.done.values() if each.status is Status.INFRA_ERROR]
        if len(failed) >= MAX_INFRA_ERRORS and 2 * len(failed) > len(self.done):
            raise self._infrastructure(tuple(self.done.values()))

    async def _trial(self, question: Question, sample: int) -> Trial:
        lab = self.lab
        seed = derive(lab.seed, "trial", question.id, sample)
        tools = lab.tools(self.task, question)
        services = TrialServices(
            solver=lab.solver,
            tools=tools,
            seed=seed,
            call_s=lab.limits.call_s,
            least_temperature=lab.least_temperature,
        )
        program = Program(
            source=self.harness.source,
            question=question.text,
            tools=frozenset({*tools, "run_python"}),
            seed=seed,
        )
        started = time.time()
        try:
            verdict = await lab.runtime.run(program, services, lab.limits)
            verdict, score = await self._scored(question, verdict, services)
        except BaseException:
            await self._keep_cut(question, sample, tuple(services.calls))
            raise
        self.unloadable += verdict.status is Status.CRASHED and verdict.stage == "import"
        trial = _as_trial(
            self.harness, question, self.task.name, sample, verdict, score, tuple(services.calls)
        )
        return replace(trial, started=started)

    async def _keep_cut(self, question: Question, sample: int, calls: tuple[Call, ...]) -> None:
        """Records what a trial had paid for when it was cut off, so that the run's bill is whole."""
        if any(call.kind in ("model", "judge") and not call.cached for call in calls):
            cut = Trial(
                harness_id=self.harness.id,
                task=self.task.name,
                question_id=question.id,
                sample=sample,
                status=Status.INFRA_ERROR,
                detail="cut off",
                score=None,
                calls=calls,
            )
            await self.lab.store.add_trial(self.lab.run_id, self.purpose, cut)

    async def _scored(
        self, question: Question, verdict: Verdict, services: TrialServices
    ) -> tuple[Verdict, Score | None]:
        """The verdict and the score. A judge that fails is our fault, so the trial has no score."""
        try:
            score = await self._score(question, verdict)
        except ModelError as error:
            services.calls.append(replace(failed_call({}, error), kind="judge"))
            return replace(verdict, status=Status.INFRA_ERROR, error=str(error)), None
        services.calls += score.calls if score is not None else ()
        return verdict, score

    async def _score(self, question: Question, verdict: Verdict) -> Score | None:
        """The task's verdict; 0 without asking where there is no answer; None where the fault is ours."""
        if verdict.status is Status.INFRA_ERROR:
            return None
        if verdict.status is not Status.OK or not verdict.answer.strip():
            return Score(0.0)
        score = await self.task.score(question, verdict.answer)
        if score.detail in FAILURES:
            self.scorer_said.append(str(score.extra.get("message", "")))
        return score

    async def _skip(self, question: Question, sample: int) -> None:
        """Records the trial of a program that is not run again, since it cannot be loaded."""
        cause = next(each for each in self.done.values() if each.status is Status.CRASHED)
        await self._keep(
            Trial(
                harness_id=self.harness.id,
                task=self.task.name,
                question_id=question.id,
                sample=sample,
                status=Status.SKIPPED_AFTER_CRASH,
                detail=cause.detail,
                score=0.0,
                error=cause.error,
            )
        )

    def _infrastructure(self, trials: Sequence[Trial]) -> InfrastructureError:
        failed = [trial for trial in trials if trial.status is Status.INFRA_ERROR]
        return InfrastructureError(
            f"{len(failed)} of {len(trials)} trials failed through no fault of the harness: no score "
            "(finished trials are in the store; the run can be resumed). "
            f"Solver: {self.lab.solver.name}. "
            f"Root error: {failed[-1].error or failed[-1].detail}"
        )


@asynccontextmanager
async def together() -> AsyncIterator[asyncio.TaskGroup]:
    """A group of tasks. The first error cancels the others, and is raised bare once they have ended."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as errors:
        raise _first(errors) from None


async def gathered(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Their results in order, done in one group: see `together`."""
    async with together() as group:
        tasks = [group.create_task(each) for each in work]
    return [task.result() for task in tasks]


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first single exception of a group."""
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


def _as_trial(
    harness: Harness,
    question: Question,
    task: str,
    sample: int,
    verdict: Verdict,
    score: Score | None,
    calls: tuple[Call, ...],
) -> Trial:
    status, detail = verdict.status, verdict.detail
    if status is Status.OK and not verdict.answer.strip():
        status = Status.NO_ANSWER
    elif status is Status.OK and score is not None:
        status = Status.OK if score.value >= 1.0 else Status.WRONG
        detail = score.detail
    return Trial(
        harness_id=harness.id,
        task=task,
        question_id=question.id,
        sample=sample,
        status=status,
        detail=detail,
        answer=verdict.answer,
        score=None if score is None else score.value,
        calls=calls,
        seconds=verdict.seconds,
        cpu_s=verdict.cpu_s,
        stdout=verdict.stdout,
        error=verdict.error,
    )


@dataclass(slots=True, kw_only=True)
class TrialServices:
    """Serves the model and tool calls of one trial and keeps its transcript.

    Sampling seeds depend on the question, the sample and the number of the call, never on the harness: two
    harnesses meet the same luck, which pairs their scores and lets equal calls share one reply.
    """

    solver: Model
    tools: Mapping[str, Tool]
    seed: int
    call_s: float = 60.0
    least_temperature: float = 0.0
    calls: list[Call] = field(default_factory=list)
    n_samples: int = 0

    async def model(self, request: Mapping[str, Any]) -> list[Any]:
        """The replies to one call, all samples at once."""
        temperature = max(float(request.get("temperature", 0.0)), self.least_temperature)
        request = {**request, "temperature": temperature}
        n = int(request.get("n", 1))
        first, self.n_samples = self.n_samples, self.n_samples + n
        wanted = [self._request(request, first + i) for i in range(n)]
        return await all_of([self._sample(request, each) for each in wanted])

    def _request(self, asked: Mapping[str, Any], number: int) -> ModelRequest:
        seed = derive(self.seed, "call", number) if asked["temperature"] > 0 else 0
        return request_of({**asked, "seed": seed})

    async def _sample(self, asked: Mapping[str, Any], request: ModelRequest) -> Any:
        asked = {**asked, "seed": request.seed}  # with its seed, a call's record is all that a replay needs
        started = time.time()
        try:
            reply = await self.solver.complete(request)
        except ModelError as error:
            self.calls.append(failed_call(asked, error, started))
            if isinstance(error, PromptRefused):
                raise CallRefused(str(error), kind="arguments") from error
            raise
        self.calls.append(call_of(asked, reply, started))
        return {"text": reply.text, **reply.further} if request.further else reply.text

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a host-side tool."""
        started = time.time()
        try:
            result = await self.tools[name](**arguments)
        except (TypeError, ValueError) as error:
            self.calls.append(
                Call(kind=name, request=dict(arguments), reply="", error=str(error), started=started)
            )
            raise CallRefused(f"{name}: {error}", kind="arguments") from error
        self.calls.append(Call(kind=name, request=dict(arguments), reply=_text(result), started=started))
        return result

    def ran_python(self, code: str, output: str, seconds: float) -> None:
        """Keeps in the transcript what the sandbox ran for the program."""
        began = time.time() - seconds
        call = Call(kind="run_python", request={"code": code}, reply=output, seconds=seconds, started=began)
        self.calls.append(call)


async def all_of(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Their results in order. All are awaited before the first error is raised, so none is lost."""
    results: list[T] = []
    for each in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(each, BaseException):
            raise each
        results.append(each)
    return results


def _text(result: Any) -> str:
    return result if isinstance(result, str) else repr(result)
