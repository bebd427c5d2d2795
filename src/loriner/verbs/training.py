"""`train`: contexts, teacher data, and the reward by which a policy is trained, from one training file."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from loriner.concurrency import Door
from loriner.config import Settings
from loriner.errors import ConfigError
from loriner.events import Note, Observer, silent
from loriner.train import jsonl, teacher, tree_contexts, tree_lessons
from loriner.train.choosing import Sampler
from loriner.train.contexts import DrawPlan, State, draw, parted
from loriner.train.exercise import Exercise, digest, load, require_divisible, save
from loriner.train.fingerprint import Began
from loriner.train.multistep import epochs
from loriner.train.patience import patient
from loriner.train.reward import Rewarder, Scored
from loriner.train.served import completions
from loriner.train.settings import TrainConfig
from loriner.train.suites import states
from loriner.train.trees import read_nodes
from loriner.verbs.laboratory import Laboratory, draw_plan, laboratory
from loriner.verbs.workspace import Workspace, workspace

Tell = Callable[[str], None]
"""Says a line to whoever watches."""


async def contexts(
    lab: Workspace,
    config: TrainConfig,
    observe: Observer = silent,
    *,
    trees: Sequence[str] = (),
    replay: bool = False,
) -> dict[str, Any]:
    """The file of the training contexts, which are drawn and frozen now, with their number and digest; and
    under `validation` that of the held-out families, where there are any.

    `trees` are runs whose trees the programs come from; `replay` shows what these tried, and asks no solver.
    """
    table = config.contexts
    require_divisible(table.n, config.grpo.contexts_per_update)
    async with laboratory(of_training(lab, config), table, "train contexts", observe) as here:
        plan = draw_plan(table, table.n, config.seed)
        starts = await _of_trees(here, config, trees) if trees else states(table, here.tasks, config.seed)
        if replay:
            starts, plan = tree_contexts.replayed(here.evaluator, here.tasks, starts, plan)
        training, held = parted(starts, table.held_out)
        n_tasks = len(here.tasks)
        observe(
            Note(text=f"{len(training)} programs on {n_tasks} tasks, {plan.pool} feedback questions each")
        )
        found = await _frozen(here, training, plan, config.contexts_file)
        if held:
            fewer = replace(plan, n=table.n_validation)
            found["validation"] = await _frozen(here, held, fewer, config.validation_file)
    return found


async def _of_trees(here: Laboratory, config: TrainConfig, runs: Sequence[str]) -> list[State]:
    """The programs of the runs' trees, whose feedback trials are taken over."""
    store = here.lab.store
    nodes = read_nodes(store, [store.run(each).id for each in runs])
    known = [each for each in nodes if each.context.task in here.tasks]
    await tree_contexts.take_over(here.evaluator, here.tasks, known)
    table = config.contexts
    return tree_contexts.states(
        known, tree_lessons.plan_of(config), depth=table.tree_depth, gain=table.tree_gain
    )


async def _frozen(here: Laboratory, starts: Sequence[State], plan: DrawPlan, file: Path) -> dict[str, Any]:
    """The file of contexts drawn from the states, with their number and digest."""
    drawn = await draw(here.evaluator, here.tasks, starts, plan)
    return {"file": str(file), "n": len(drawn), "digest": save(drawn, file, here.names)}


@dataclass(frozen=True, slots=True)
class Taught:
    """What a teacher wrote."""

    report: dict[str, Any]
    """What is kept, what is dropped and why; written beside the lessons."""
    lessons: list[teacher.Lesson]
    plan: teacher.TeachPlan
    file: Path

    def export(self) -> int:
        """Writes the rows of SFT data; how many they are.

        Raises:
            NothingKept: there is none.
        """
        return teacher.export(self.lessons, self.plan, self.file)


async def teach(lab: Workspace, config: TrainConfig, observe: Observer = silent) -> Taught:
    """The teacher's revisions of the contexts' programs, scored and screened."""
    table = config.teacher.model_dump(exclude={"proposer", "n_contexts"})
    plan = teacher.TeachPlan(**table, seed=config.seed)
    exercises = load(config.contexts_file)[: config.teacher.n_contexts]
    async with laboratory(of_training(lab, config), config.contexts, "train teach", observe) as here:
        proposer = here.lab.proposer(config.teacher.proposer)
        lessons = await teacher.teach(here.evaluator, here.tasks, exercises, proposer, plan)
    found = asdict(teacher.report(config.teacher.proposer, lessons, plan))
    jsonl.write_text(config.output / "lessons-report.json", json.dumps(found, indent=2))
    return Taught(found, lessons, plan, config.lessons_file)


def sft(config: TrainConfig, tell: Tell = print) -> Path:
    """The directory of the policy, fine-tuned on the teacher's rows. Goes on from its last checkpoint."""
    from loriner.train.sft import train_sft

    return train_sft(config, tell)


def choose(config: TrainConfig, sampler: Sampler | None = None, tell: Tell = print) -> Path:
    """The directory of the policy, now of the checkpoint of SFT that leaves room to learn.

    `sampler` takes the place of `generate`, such as `served`.
    """
    from loriner.train.policy import export_policy
    from loriner.train.sft import chosen

    export_policy(config.policy.base, chosen(config, tell, sampler), config.sft_model)
    return config.sft_model


def served(settings: Settings, config: TrainConfig, url: str) -> Sampler:
    """Samples of an endpoint that serves each checkpoint under its folder's name; never from the cache, which
    may hold replies of an older adapter.
    """

    async def sampled(name: str, exercises: Sequence[Exercise], n: int) -> list[list[str]]:
        async with workspace(settings.model_copy(update={"cache": False})) as lab:
            model = lab.model(f"{url}::{name}")
            return await completions(model, exercises, n, config.grpo.max_completion_tokens, config.seed)

    return lambda checkpoint, exercises, n: asyncio.run(sampled(checkpoint.name, exercises, n))


def grpo(door: Door[Workspace], config: TrainConfig, start: str = "sft", tell: Tell = print) -> Path:
    """The directory of the policy, trained by running what it writes. Goes on from its last checkpoint.

    `start` is `sft` for the model that `sft` made, `base`, or a directory.

    Raises:
        ConfigError: there is no such model, or no contexts.
        MissingExtra: the extra `[train]` is not installed.
        LorinerError: as `train.grpo.train_grpo`.
    """
    base, first = _start(config, start), load(config.contexts_file)  # before a minute of imports
    began = Began.of(config, base, digest(config.contexts_file), int(os.environ.get("RANK", "0")))
    resume = began.run()
    from loriner.train.grpo import train_grpo

    with reward_engine(door, config, tell, resume=resume) as engine:
        began.keep(engine.run_id)
        source = epochs(config, first, engine.redraw, engine.unrevised)
        rewards = patient(engine.scored, config.grpo.patience_s, tell)
        return train_grpo(config, base, source, rewards, tell=tell)


@dataclass(frozen=True, slots=True)
class Engine:
    """What a trainer asks for, from plain code: rewards, fresh contexts, and the scores of their programs."""

    door: Door[Laboratory]
    config: TrainConfig
    rewarder: Rewarder

    @property
    def run_id(self) -> str:
        return self.door.inside.run_id

    def scored(
        self, exercises: Sequence[Exercise], completions: Sequence[str], indices: Sequence[int]
    ) -> list[Scored]:
        """Each completion in its exercise with its reward; the order is kept."""
        return self.door.call(lambda _: self.rewarder.scored_all(exercises, completions, indices))

    def redraw(self, starts: Sequence[State], n: int, epoch: int) -> tuple[Exercise, ...]:
        """`n` contexts for an epoch."""
        plan = draw_plan(self.config.contexts, n, self.config.seed, epoch)
        return self.door.call(lambda here: draw(here.evaluator, here.tasks, starts, plan))

    def unrevised(self, exercises: Sequence[Exercise]) -> list[float | None]:
        """Mean scores of the exercises' own programs; None where one could not be scored."""
        return self.door.call(lambda _: self.rewarder.unrevised(exercises))


@contextmanager
def reward_engine(
    door: Door[Workspace], config: TrainConfig, tell: Tell = print, *, resume: str | None = None
) -> Iterator[Engine]:
    """An engine in a run of its own, which ends with the block."""

    def observe(event: object, /) -> None:
        if isinstance(event, Note):
            tell(event.text)

    make = partial(laboratory, suite=config.contexts, command="train grpo", observe=observe, resume=resume)
    with door.entered(lambda lab: make(of_training(lab, config))) as here:
        rewarder = Rewarder(
            lab=here.inside.evaluator, tasks=here.inside.tasks, deadline_s=config.grpo.deadline_s
        )
        yield Engine(here, config, rewarder)


def of_training(lab: Workspace, config: TrainConfig) -> Workspace:
    """The workspace with the seed and the solver of a training file."""
    settings = lab.settings
    wanted = settings.adapt.model_copy(update={"solver": config.solver})
    return lab.fresh(settings.model_copy(update={"seed": config.seed, "adapt": wanted}), "training")


def _start(config: TrainConfig, name: str) -> str:
    if name != "sft":
        return config.policy.base if name == "base" else name
    if not (config.sft_model / "config.json").exists():
        raise ConfigError(f"no model in {config.sft_model}: run train sft first, or give --from base")
    return str(config.sft_model)
