"""`propose`: what a proposer would change; nothing is graded."""

from __future__ import annotations

from dataclasses import dataclass

from loriner.config import Settings
from loriner.events import Observer, silent
from loriner.models.base import Message
from loriner.propose import proposer as proposers
from loriner.propose.context import brief_of, make_context
from loriner.records import Harness, Rollout
from loriner.verbs.stage import closing, running
from loriner.verbs.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """What a proposer wrote about one program."""

    run_id: str
    task: str
    proposer: str
    harness: Harness
    prompt: tuple[Message, ...]
    """What a model reads in its place."""
    rollouts: tuple[Rollout, ...]


async def propose(lab: Workspace, settings: Settings, observe: Observer = silent) -> Proposals:
    """The completions of one round for the harness of `settings.adapt`, as a run.

    Raises:
        ConfigError: no task or solver is named.
        LorinerError: as `Evaluator.evaluate` on the feedback questions, or the proposer's model.
    """
    lab, wanted = lab.fresh(settings), settings.adapt
    async with closing(lab.task()) as task:
        solver, proposer = lab.solver, lab.proposer(wanted.proposer)
        lab, harness = await lab.pinned(task)
        questions = task.questions("feedback")[: wanted.feedback]
        with running(lab, "propose", solver, observe) as run:
            trials = await run.evaluator.evaluate(task, harness, questions, purpose="feedback")
            brief = brief_of(task.name, task.description, task.tools)
            seen = make_context(brief, harness, trials, questions, round=1)
            rollouts = [await proposers.propose(proposer, seen, index) for index in range(wanted.candidates)]
            for each in rollouts:
                await lab.store.add_rollout(run.run_id, each)
            n = sum(each.candidate is not None for each in rollouts)
            run.summary.update(task=task.name, candidates=n)
    return Proposals(
        run_id=run.run_id,
        task=task.name,
        proposer=proposer.name,
        harness=harness,
        prompt=lab.asking(wanted.proposer).read(seen),
        rollouts=tuple(rollouts),
    )
