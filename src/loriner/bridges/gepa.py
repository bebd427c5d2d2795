"""GEPA: our sandbox and our proposer in `gepa.optimize`. Its run directories are read by `gepa_runs`.

GEPA knows no unscored trial, so a fault of the infrastructure raises instead of scoring 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loriner.api.given import Solver, Writer
from loriner.bridges import framework
from loriner.bridges.stage import OpenStage, open_stage
from loriner.concurrency import Door
from loriner.errors import HarnessError, InfrastructureError
from loriner.harness.contract import from_text
from loriner.propose.context import brief_of, make_context
from loriner.propose.proposer import propose
from loriner.records import Evaluation, PastRevision, Rollout, Status, Trial
from loriner.tasks.base import SPLITS, Task

EvaluationBatch = framework("gepa", "gepa", "0.1.4", "optimize", "EvaluationBatch").EvaluationBatch

NAME = "harness.py"
"""The only component of a candidate: `{NAME: source}`."""


@contextmanager
def adapter(
    task: Task | str, solver: Solver, proposer: Writer | None = "catalogue", *, home: str | Path = ".loriner"
) -> Iterator[LorinerAdapter]:
    """What `gepa.optimize` takes as `adapter` and in `callbacks`, while the block lasts.

    All trials belong to one run of the store. Without a proposer, GEPA's own `reflection_lm` writes.
    """
    with open_stage("gepa", task, solver, proposer or "catalogue", home=home) as door:
        yield LorinerAdapter(door, proposes=proposer is not None)


class LorinerAdapter:
    """A `GEPAAdapter` whose data are the ids of questions, and a `GEPACallback`."""

    def __init__(self, door: Door[OpenStage], *, proposes: bool) -> None:
        self._door, self._open = door, door.inside
        task = self._task = door.inside.task
        questions = [each for split in SPLITS[:2] for each in task.questions(split)]
        self._by_id = {each.id: each for each in questions}
        self.seed = {NAME: door.inside.seed.source}
        self.feedback = [each.id for each in task.questions("feedback")]
        """The `trainset`."""
        self.grade = [each.id for each in task.questions("grade")]
        """The `valset`."""
        self.history: list[PastRevision] = []
        self.propose_new_texts = self._propose if proposes else None
        self._asked: Counter[str] = Counter()
        self._last: Rollout | None = None

    def evaluate(
        self, batch: Sequence[str], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> Any:
        """The scores of a candidate; one that is no harness scores 0, with the reason as its trace.

        Raises:
            InfrastructureError: a trial could not be scored through no fault of the candidate.
        """
        try:
            harness = from_text(candidate[NAME])
        except HarnessError as error:
            return EvaluationBatch([str(error)] * len(batch), [0.0] * len(batch), [str(error)] * len(batch))
        questions = [self._by_id[each] for each in dict.fromkeys(batch)]
        lab = self._open.stage.evaluator
        found = self._door.call(lambda _: lab.evaluate(self._task, harness, questions, purpose="grade"))
        by_id = {trial.question_id: trial for trial in found.trials}
        trials = [by_id[each] for each in batch]
        if faults := [each for each in trials if each.status is Status.INFRA_ERROR]:
            raise InfrastructureError(f"{len(faults)} of {len(trials)} trials: {faults[0].error}")
        return EvaluationBatch([each.answer for each in trials], [each.score for each in trials], trials)

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], batch: Any, components: Sequence[str]
    ) -> dict[str, list[dict[str, Any]]]:
        return {name: [self._record(each) for each in batch.trajectories] for name in components}

    def _record(self, trial: Trial | str) -> dict[str, Any]:
        """A trial in the words of GEPA's reflection. Our own proposer reads the trial itself."""
        if isinstance(trial, str):
            return {"Inputs": "", "Generated Outputs": "", "Feedback": trial}
        question = self._by_id[trial.question_id]
        asked = [f"{call.kind}: {call.reply or call.error}" for call in trial.calls[-2:]]
        parts = [f"{trial.status}, score {trial.score:g}", trial.detail, trial.error, *asked]
        if question.target is not None:
            parts.insert(1, f"expected {question.target}")
        said = "\n".join(filter(None, parts))
        return {"Inputs": question.text, "Generated Outputs": trial.answer, "Feedback": said, "trial": trial}

    def _propose(
        self, candidate: Mapping[str, str], dataset: Mapping[str, Any], components: Sequence[str]
    ) -> dict[str, str]:
        """Our proposer's candidate; nothing where its edits do not apply."""
        harness = from_text(candidate[NAME])
        trials = tuple(each["trial"] for each in dataset[NAME] if "trial" in each)
        seen = Evaluation(harness_id=harness.id, task=self._task.name, purpose="feedback", trials=trials)
        brief = brief_of(self._task.name, self._task.description, self._task.tools)
        number = len(self.history) + 1
        context = make_context(brief, harness, seen, self._by_id.values(), round=number, history=self.history)
        index = self._asked[context.id]
        self._asked[context.id] += 1
        self._last = self._door.call(lambda _: propose(self._open.proposer, context, index))
        return {} if self._last.candidate is None else {NAME: self._last.candidate.source}

    def on_candidate_accepted(self, event: Mapping[str, Any]) -> None:
        self._past(None, event["new_score"], True)

    def on_candidate_rejected(self, event: Mapping[str, Any]) -> None:
        self._past(event["old_score"], event["new_score"], False)

    def _past(self, before: float | None, after: float, accepted: bool) -> None:
        if self._last is not None and self._last.revision is not None:
            note, number = self._last.revision.note, len(self.history) + 1
            self.history.append(
                PastRevision(round=number, summary=note, before=before, after=after, accepted=accepted)
            )
