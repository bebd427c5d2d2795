"""Which program is the current one after each round, and which led without being accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from loriner.events import Attempt, Round
from loriner.models.meter import Allowance
from loriner.propose.context import faults
from loriner.records import Fault, Harness, Rollout
from loriner.search.acceptance import Ruling
from loriner.search.allowance import Bill
from loriner.search.completions import Drawn
from loriner.search.episode_record import EpisodeRecord, Graded, Origin
from loriner.search.grade_trials import GradeTrials
from loriner.statistics import Decision


@dataclass(slots=True)
class Leads:
    """How far refused programs are ahead of one program, on the trials that it has by now."""

    against: tuple[str, int]
    """That program's id, and the number of its trials."""
    n: int = 0
    """Number of programs that were compared."""
    best: str = ""
    """Id of the program that is furthest ahead; empty if none is ahead."""
    lead: float = 0.0

    def add(self, harness_id: str, lead: float) -> None:
        self.n += 1
        if lead > self.lead:
            self.best, self.lead = harness_id, lead


@dataclass(slots=True)
class Selection:
    """The choice of an episode so far."""

    current: Harness
    grading: GradeTrials
    record: EpisodeRecord
    bill: Bill
    allowance: Allowance | None
    refused: dict[str, tuple[Origin, str]] = field(default_factory=dict)
    """Leaders of a round that were not accepted, by id, each with the reason."""
    faults: dict[tuple[str, int], Counter[Fault]] = field(default_factory=dict)
    """Faults of the grade trials of a program, by its id and the number of the trials."""
    leads: Leads = field(default_factory=lambda: Leads(("", 0)))
    versions: set[str] = field(init=False)
    """Ids of the seed and of the accepted candidates: those that the registry has."""
    parents: dict[str, Harness] = field(default_factory=dict)
    """The program that a candidate revised, by the candidate's id."""

    def __post_init__(self) -> None:
        self.versions = {self.current.id}

    async def round(self, number: int, parent: Harness, drawn: Sequence[Drawn]) -> Round:
        """The outcome of a round's completions. An accepted program becomes the current one."""
        inside = [self._entered(each) for each in drawn]
        entrants = [each.new for each, within in zip(drawn, inside, strict=True) if within and each.new]
        before = self.current
        outcome = await self.grading.contest(before, entrants)
        attempts = []
        for each, within in zip(drawn, inside, strict=True):
            if each.new is not None:
                self.parents.setdefault(each.new.id, parent)
            ruling = outcome.ruling if outcome is not None and each.new == outcome.leader else None
            attempts.append(self._attempt(each, before, within, ruling))
            if ruling is not None:
                self._settle(each.rollout, attempts[-1], number, parent)
        return Round(
            number=number,
            parent_id=parent.id,
            current_id=self.current.id,
            grade=self.grading.known[self.current.id].mean_score,
            n_calls=self.bill.solver.calls,
            attempts=tuple(attempts),
        )

    def graded(self, harness: Harness, reason: str = "") -> Graded:
        """A program with its grade trials so far."""
        grade = self.grading.known[harness.id]
        key = harness.id, len(grade.trials)
        if key not in self.faults:
            self.faults[key] = faults(grade, self.grading.pool)
        return Graded(harness=harness, grade=grade, faults=self.faults[key], reason=reason)

    def ahead(self) -> str:
        """The id of the refused leader that is furthest ahead of the current program; empty without any."""
        now = self.current.id, len(self.grading.known[self.current.id].trials)
        if self.leads.against != now:
            self.leads = Leads(now)
        for each in islice(self.refused, self.leads.n, None):
            self.leads.add(each, self.grading.lead(each, self.current.id) or 0.0)
        return self.leads.best

    def unconfirmed(self) -> Graded | None:
        """The refused leader that is furthest ahead of the current program; the registry keeps it."""
        if not (ahead := self.ahead()):
            return None
        origin, reason = self.refused[ahead]
        assert origin.rollout.candidate is not None
        graded = self.graded(origin.rollout.candidate, reason)
        self.record.candidate(graded, origin)
        return graded

    def _entered(self, drawn: Drawn) -> bool:
        """Whether the search is within its allowance after this completion and its first trials are paid."""
        rollout = drawn.rollout
        self.bill.add_completion(rollout.context_id, rollout.index, rollout.calls)
        if drawn.new is not None:
            self.bill.add_trials(self.grading.known[drawn.new.id])
        return not self.bill.exceeds(self.allowance)

    def _attempt(self, drawn: Drawn, before: Harness, within: bool, ruling: Ruling | None) -> Attempt:
        rollout, failure = drawn.rollout, drawn.rollout.failure
        candidate_id = rollout.candidate.id if rollout.candidate else ""
        grade = self.grading.known.get(candidate_id)
        decision = self._decision(drawn, within, ruling)
        return Attempt(
            context_id=rollout.context_id,
            index=rollout.index,
            harness_id=candidate_id or None,
            note=rollout.revision.note if rollout.revision else "",
            code=failure.code if failure else "",
            message=failure.message if failure else "",
            before=self.grading.mean_beside(before.id, candidate_id) if grade else None,
            after=grade.mean_score if grade else None,
            accepted=decision is not None and decision.accepted,
            considered=within and not drawn.repeats,
            reason=decision.reason if decision else "",
        )

    def _decision(self, drawn: Drawn, within: bool, ruling: Ruling | None) -> Decision | None:
        if drawn.repeats:
            return Decision(False, f"not scored again: it is {drawn.repeats}")
        if drawn.new is not None and not within:
            return Decision(False, f"not considered: beyond the allowance of {self.allowance}")
        if ruling is None:
            return None
        if ruling.state == "more":
            words = f"{ruling.reason}; the allowance of {self.allowance} ended its grading"
            return Decision(False, f"not considered: {words}")
        return Decision(ruling.state == "accept", ruling.reason)

    def _version_behind(self, harness: Harness) -> Harness:
        """The program itself if it is a version, else the last version on the way to it."""
        while harness.id not in self.versions:
            harness = self.parents[harness.id]
        return harness

    def _settle(self, rollout: Rollout, attempt: Attempt, number: int, parent: Harness) -> None:
        """Makes an accepted leader the current program, and remembers one that was not."""
        candidate = rollout.candidate
        assert candidate is not None
        parent = self._version_behind(parent)
        score = self.grading.mean_beside(parent.id, candidate.id)
        origin = Origin(number, parent, score, self.graded(parent).faults, rollout)
        if attempt.accepted:
            self.current = candidate
            self.versions.add(candidate.id)
            self.record.version(self.graded(candidate), origin)
        else:
            self.refused[candidate.id] = origin, attempt.reason
