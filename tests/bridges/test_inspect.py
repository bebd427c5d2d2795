"""The bridge to Inspect, with the real package and a model that is a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, exact, scorer

import loriner as lo
import toy
from loriner.bridges.inspect import FromInspect, loriner_harness
from loriner.bridges.inspect_logs import write_logs
from loriner.errors import ConfigError, TaskError

pytestmark = pytest.mark.filterwarnings("ignore")


def samples(n: int = 40) -> list[Any]:
    return [Sample(input=row["question"], target=row["answer"], id=row["id"]) for row in toy.rows(n)]


def model() -> Any:
    def reply(messages: list[Any], *_: Any) -> Any:
        output = ModelOutput.from_content("toy", toy.say(messages[-1].text))
        output.usage = ModelUsage(
            input_tokens=9, output_tokens=5, total_tokens=14
        )  # else they are counted online
        return output

    return get_model("mockllm/toy", custom_outputs=reply)


def test_adapted_on_an_inspect_task_the_harness_is_right_in_inspect_and_the_run_is_a_log(
    tmp_path: Path,
) -> None:
    theirs = Task(dataset=samples(), scorer=exact(), name="words")
    ours = FromInspect(theirs, description="How many words follow?")
    plan = {"rounds": 2, "feedback": 6, "grade": 12, "test": 8}
    run = lo.adapt(ours, toy.say, home=tmp_path / "home", **plan)
    assert run.best.test is not None and (run.seed.grade.mean, run.best.test.mean) == (0.0, 1.0)
    run.best.save(tmp_path / "best.py")

    shown = {"log_dir": str(tmp_path / "logs"), "display": "none", "limit": 20}
    for program, expected in (("library:minimal", 0.0), (str(tmp_path / "best.py"), 1.0)):
        (log,) = run_eval(theirs, model=model(), solver=loriner_harness(program), **shown)
        assert log.status == "success", log.error
        assert log.results.scores[0].metrics["mean"].value == expected
        assert "model" in [each.event for each in log.samples[0].events]

    written = write_logs(run.id, ours, tmp_path / "ours", home=tmp_path / "home")
    means = [read_eval_log(str(each)).results.scores[0].metrics["mean"].value for each in written]
    assert sorted(means)[0] == 0.0 and sorted(means)[-1] == 1.0
    first = read_eval_log(str(written[0])).samples[0]
    assert first.input.startswith("Words: ") and [each.event for each in first.events][-1] == "score"


def test_a_model_that_fails_is_an_error_of_the_sample_and_no_zero(tmp_path: Path) -> None:
    def fails(*_: Any) -> Any:
        raise ConnectionError("the endpoint is down")

    broken = get_model("mockllm/toy", custom_outputs=fails)
    shown = {"log_dir": str(tmp_path), "display": "none", "limit": 1}
    (log,) = run_eval(
        Task(dataset=samples(2), scorer=exact()), model=broken, solver=loriner_harness(), **shown
    )
    assert log.status == "error" and "the endpoint is down" in log.error.message


def test_what_is_not_a_task_of_one_bounded_scorer_is_refused(tmp_path: Path) -> None:
    @scorer(metrics=[accuracy()])
    def points() -> Any:
        async def score(state: Any, target: Any) -> Any:
            return Score(value=12)

        return score

    with pytest.raises(TaskError, match="2 scorers"):
        FromInspect(Task(dataset=samples(4), scorer=[exact(), points()]))
    unbounded = FromInspect(Task(dataset=samples(20), scorer=points(), name="points"))
    with pytest.raises(TaskError, match=r"12.0; expected a value in \[0, 1\]"):
        lo.evaluate(unbounded, "library:minimal", toy.say, home=tmp_path, limit=2)
    with pytest.raises(ConfigError, match="no harness 'nowhere"):
        loriner_harness("nowhere.py")


def test_a_run_without_such_trials_makes_no_log(tmp_path: Path) -> None:
    ours = FromInspect(Task(dataset=samples(20), scorer=exact(), name="words"))
    run = lo.adapt(ours, toy.say, home=tmp_path / "home", rounds=1, feedback=2, grade=4, test=4)
    with pytest.raises(ConfigError, match="has no grade trials of the task other"):
        write_logs(
            run.id,
            FromInspect(Task(dataset=samples(20), scorer=exact()), "other"),
            tmp_path,
            home=tmp_path / "home",
        )
    assert not list(tmp_path.glob("*.eval"))
