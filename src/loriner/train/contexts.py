"""Training contexts: programs tried on feedback questions, drawn from tasks and from revision sequences.

Each state (a program on a task) is tried once on a pool of feedback questions; every context then shows a
subset of its own. All draws are seeded by name, so the same plan on the same trials gives the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from loriner.errors import ConfigError
from loriner.evaluation.evaluator import Evaluator, gathered
from loriner.events import Note
from loriner.models.base import Message
from loriner.propose.context import brief_of, edit_of, make_context
from loriner.propose.prompt import Count, estimate_tokens, messages
from loriner.records import Context, Evaluation, Harness, PastRevision, Trial
from loriner.seeding import generator
from loriner.tasks.base import Task
from loriner.tasks.varied.task import canonical_name
from loriner.train.exercise import Exercise
from loriner.train.reward import Scored


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A program on a task, with the revisions that led to it: what the next revision starts from."""

    task: str
    harness: Harness
    history: tuple[PastRevision, ...] = ()

    @property
    def round(self) -> int:
        """The round that comes next, from 1."""
        return len(self.history) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPlan:
    """How contexts are drawn."""

    n: int = 640
    """Contexts of one epoch. Source: arXiv 2609.35738 as summarised."""
    pool: int = 24
    """Feedback questions on which each state is tried."""
    feedback: int = 8
    """Trials shown in one context."""
    grade: int = 6
    """Grade questions that judge a completion."""
    max_prompt_tokens: int = 4096
    seed: int = 0


async def draw(
    lab: Evaluator,
    tasks: Mapping[str, Task],
    states: Sequence[State],
    plan: DrawPlan,
    *,
    count: Count = estimate_tokens,
) -> tuple[Exercise, ...]:
    """`plan.n` exercises, spread evenly over the states in a seeded order.

    A state whose program is too long to show is left out, and the others take its turns; the observer is
    told.

    Raises:
        ConfigError: no state is left.
        InfrastructureError, BudgetReached: as the evaluation of a state.
    """
    found = await gathered(_tried(lab, tasks[state.task], state, plan) for state in states)
    tried = list(zip(states, found, strict=True))
    read = partial(messages, budget=plan.max_prompt_tokens, count=count, limits=lab.limits)
    while tried:
        turns = list(_spread(tried, plan))
        made = [_exercise(tasks[state.task], state, feedback, plan, read) for state, feedback in turns]
        too_long = {id(state) for (state, _), each in zip(turns, made, strict=True) if each is None}
        if not too_long:
            return tuple(each for each in made if each is not None)
        tried = [each for each in tried if id(each[0]) not in too_long]
        lab.observe(Note(text=f"{len(too_long)} programs are too long to show and left out"))
    raise ConfigError(
        f"no context of {len(states)} programs fits max_prompt_tokens = {plan.max_prompt_tokens}"
    )


def seed_states(tasks: Mapping[str, Task], programs: Mapping[str, Sequence[Harness]]) -> list[State]:
    """A state for each task and each program given for it."""
    return [State(task=task, harness=program) for task in tasks for program in programs[task]]


def parted(states: Sequence[State], held_out: Sequence[str]) -> tuple[list[State], list[State]]:
    """The states to train on, and those of the held-out families.

    Raises:
        ConfigError: a held-out family has no state, or no other family is left.
    """
    families = {canonical_name(each.task) for each in states}
    if unknown := sorted(set(held_out) - families):
        raise ConfigError(
            f"contexts.held_out: no program of {', '.join(unknown)}, but of {', '.join(sorted(families))}"
        )
    if families == set(held_out):
        raise ConfigError("contexts.held_out names every family: nothing is left to train on")
    held = [each for each in states if canonical_name(each.task) in held_out]
    return [each for each in states if canonical_name(each.task) not in held_out], held


def revisions(
    exercises: Sequence[Exercise], scored: Iterable[Scored], *, max_round: int
) -> list[tuple[Exercise, Scored]]:
    """Every distinct candidate that ran at all, with the exercise that it was written in.

    `max_round` caps the length of a sequence: none whose next round would be beyond it.
    """
    by_context = {each.context.id: each for each in exercises}
    found: dict[tuple[str, str], tuple[Exercise, Scored]] = {}
    for each in scored:
        exercise, candidate = by_context.get(each.rollout.context_id), each.rollout.candidate
        if exercise is None or candidate is None or each.reward is None or not each.reward.completion_rate:
            continue
        if len(exercise.context.history) + 2 <= max_round:
            found.setdefault((exercise.context.task, candidate.id), (exercise, each))
    return list(found.values())


def next_state(exercise: Exercise, scored: Scored, before: float) -> State:
    """Where a revision leads, as in an episode: to the candidate if it is better than the program, whose mean
    score on the same questions is `before`; else back to the program, with the attempt in its history.
    """
    assert scored.rollout.candidate is not None and scored.reward is not None
    context, after = exercise.context, scored.reward.score
    past = PastRevision(
        round=context.round,
        summary=scored.rollout.revision.note if scored.rollout.revision else "",
        before=before,
        after=after,
        accepted=after > before,
        edit=edit_of(scored.rollout),
    )
    program = scored.rollout.candidate if past.accepted else context.harness
    return State(task=context.task, harness=program, history=(*context.history, past))


async def _tried(lab: Evaluator, task: Task, state: State, plan: DrawPlan) -> Evaluation:
    questions = task.questions("feedback")
    if not questions or not task.questions("grade"):
        raise ConfigError(f"{task.name} has no feedback or no grade questions: it cannot be trained on")
    known = {each.question_id for each in tried_before(lab, task, state.harness)}
    pool = sorted(questions, key=lambda each: each.id not in known)[: plan.pool]
    return await lab.evaluate(task, state.harness, pool, purpose="feedback")


def tried_before(lab: Evaluator, task: Task, harness: Harness) -> tuple[Trial, ...]:
    """The feedback trials of a program that the run has already."""
    return lab.so_far(task, harness, task.questions("feedback"), purpose="feedback").trials


def _spread(tried: Sequence[tuple[State, Evaluation]], plan: DrawPlan) -> Iterable[tuple[State, Evaluation]]:
    """Each state in turn, in a seeded order, every time with another subset of its trials."""
    order = generator(plan.seed, "contexts", "order")
    turn: list[tuple[State, Evaluation]] = []
    for number in range(plan.n):
        if not turn:
            turn = list(tried)
            order.shuffle(turn)
        state, evaluation = turn.pop()
        trials = list(evaluation.trials)
        generator(plan.seed, "contexts", "feedback", state.harness.id, number).shuffle(trials)
        yield (
            state,
            replace(evaluation, trials=tuple(map(timeless, trials[: plan.feedback]))),
        )


def timeless(trial: Trial) -> Trial:
    """The trial without what no two machines measure alike, so that equal draws give equal files."""
    calls = tuple(replace(call, seconds=0.0, cached=False, usd=None, started=None) for call in trial.calls)
    return replace(trial, calls=calls, seconds=0.0, cpu_s=0.0, started=None)


def _exercise(
    task: Task,
    state: State,
    feedback: Evaluation,
    plan: DrawPlan,
    read: Callable[[Context], tuple[Message, ...]],
) -> Exercise | None:
    brief = brief_of(task.name, task.description, task.tools)
    questions = task.questions("feedback")
    context = make_context(
        brief, state.harness, feedback, questions, round=state.round, history=state.history
    )
    try:
        shown = read(context)
    except ConfigError:
        return None
    ids = [question.id for question in task.questions("grade")]
    chosen = generator(plan.seed, "contexts", "grade", context.id).sample(ids, min(plan.grade, len(ids)))
    return Exercise(context=context, messages=shown, grade=tuple(chosen))
