"""`transfer`: the versions that a task has, scored with another solver before anything is searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from loriner import config
from loriner.config import Settings
from loriner.events import Observer, silent
from loriner.statistics import Interval, Paired, paired
from loriner.store.commit_message import Evidence, VersionEntry
from loriner.store.registry import Registry
from loriner.tasks.base import Split
from loriner.verbs.scoreboard import Cell, evaluate
from loriner.verbs.stage import closing
from loriner.verbs.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """A program that the task has as a version, scored with the new solver."""

    version: VersionEntry
    """The newest of this program."""
    solver: str
    """The model that the version's own score is of; empty where that is not known."""
    score: Interval
    """With the new solver."""
    n_trials: int
    against_seed: Paired
    """The difference to the task's first version, on the same questions."""

    def as_json(self) -> dict[str, Any]:
        difference = self.against_seed.difference
        return {
            "commit": self.version.sha,
            "harness": self.version.harness_id,
            "what": self.version.subject,
            "made_for": self.solver or None,
            "score_there": self.version.score,
            "score": {"mean": self.score.mean, "low": self.score.low, "high": self.score.high},
            "n": self.score.n,
            "against_seed": {"mean": difference.mean, "low": difference.low, "high": difference.high},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The versions of a task as they stand with another solver."""

    run_id: str
    task: str
    solver: str
    split: Split
    programs: tuple[Rescored, ...]
    """Highest score first; of equal ones the older first. Chosen among several, the first one's is a little
    too high."""
    taken: str | None = None
    """The commit that made the first one the best version for the solver, if that was asked."""

    @property
    def best(self) -> Rescored:
        return self.programs[0]

    def as_json(self) -> dict[str, Any]:
        facts = {"run": self.run_id, "task": self.task, "solver": self.solver, "split": self.split}
        return {**facts, "versions": [each.as_json() for each in self.programs], "taken": self.taken}


async def transfer(
    lab: Workspace, settings: Settings, observe: Observer = silent, *, take: bool = False
) -> Transfer:
    """The versions of the task of `settings.adapt` scored with its solver, as a run of `evaluate`.

    `take` makes the highest the best version for this solver.

    Raises:
        ConfigError: no task or solver is named, or the task has no versions.
        LorinerError: as `evaluate`.
    """
    lab = lab.fresh(settings)
    async with closing(lab.task()) as task:
        name = task.name
    versions = _programs(lab.registry.log(name))
    board = {"suite": settings.adapt.task or name, "harnesses": [each.harness_id for each in versions]}
    filled = await evaluate(lab, config.changed(settings, evaluate=board), observe)
    found = Transfer(
        run_id=filled.run_id,
        task=name,
        solver=filled.solver,
        split=filled.board.split,
        programs=_ranked(lab.registry, versions, filled.cells),
    )
    return replace(found, taken=_taken(lab.registry, found)) if take else found


def _programs(log: Sequence[VersionEntry]) -> list[VersionEntry]:
    """The newest version of each program, the task's first program first."""
    newest: dict[str, VersionEntry] = {}
    for each in log:
        newest.setdefault(each.harness_id, each)
    return [newest[harness] for harness in dict.fromkeys(each.harness_id for each in reversed(log))]


def _ranked(
    registry: Registry, versions: Sequence[VersionEntry], cells: Sequence[Cell]
) -> tuple[Rescored, ...]:
    """The programs with their scores, the highest first. Raises what left a cell empty."""
    programs = []
    for version, cell in zip(versions, cells, strict=True):
        if cell.error is not None:
            raise cell.error
        assert cell.score is not None and cell.evaluation is not None and cells[0].evaluation is not None
        against = paired(cells[0].evaluation.scores, cell.evaluation.scores)
        programs.append(
            Rescored(
                version=version,
                solver=registry.solver_of(version),
                score=cell.score,
                n_trials=len(cell.trials),
                against_seed=against,
            )
        )
    return tuple(sorted(programs, key=lambda each: -each.score.mean))


def _taken(registry: Registry, found: Transfer) -> str:
    """The commit that makes the highest program the best version for the solver."""
    best = found.best
    evidence = Evidence(
        proposer=best.version.evidence.proposer,
        solver=found.solver,
        low=best.score.low,
        high=best.score.high,
        n_trials=best.n_trials,
    )
    return registry.transfer(found.task, best.version.sha, score=best.score.mean, evidence=evidence)
