"""The room that a run keeps under its caps, so that it can score the sealed questions at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loriner.evaluation.evaluator import Evaluator
from loriner.models.meter import Need
from loriner.records import Evaluation
from loriner.search.allowance import usage_of


def a_trial(lab: Evaluator, evaluation: Evaluation) -> Need:
    """The expected need of one more trial of this program: the mean of its trials so far.

    A reply from the cache counts as paid, since the next reply may not be in the cache.
    """
    calls = [call for trial in evaluation.trials for call in trial.calls if call.kind == "model"]
    used, paid = usage_of(calls), usage_of(call for call in calls if not call.cached)
    all_ = Need(
        trials=len(evaluation.trials),
        calls=used.calls,
        tokens=used.prompt_tokens + used.completion_tokens,
        usd=(paid.usd or 0.0) * used.calls / paid.calls if paid.calls else 0.0,
    )
    mean = all_ * (1 / max(1, len(evaluation.trials)))
    return mean + Need(minutes=lab.seconds_a_trial(evaluation.harness_id) / 60)


def for_sealed(
    lab: Evaluator, graded: Sequence[Evaluation], n_test: int, scored: Mapping[str, int] | None = None
) -> Need:
    """The need of the sealed questions for each of these programs.

    `scored` maps a harness id to the number of them that a resumed run has paid for. If the seed is the only
    program, the need includes a second one, since a candidate may still be accepted.
    """
    paid = scored or {}
    needs = [a_trial(lab, each) * max(0, n_test - paid.get(each.harness_id, 0)) for each in graded]
    second = [a_trial(lab, each) * n_test for each in graded[: max(0, 2 - len(graded))]]
    # Under a cap on money the last call is sent only if the dearest one would fit.
    return sum([*needs, *second], Need(usd=lab.meter.dearest(lab.solver.name)))
