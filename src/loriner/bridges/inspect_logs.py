"""Inspect: the trials of a stored run as `.eval` logs that `inspect view` opens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loriner.bridges import framework
from loriner.bridges.inspect import ROLES
from loriner.errors import ConfigError
from loriner.records import Call, Question, Trial
from loriner.store.database import Store
from loriner.tasks.base import SPLITS, Split, Task

log = framework("inspect_ai.log", "inspect-ai", "0.3.285", "write_eval_log", "EvalLog", "EvalSample")
event = framework("inspect_ai.event", "inspect-ai", "0.3.285", "ModelEvent", "ScoreEvent")
model = framework("inspect_ai.model", "inspect-ai", "0.3.285", "ModelOutput", "ModelUsage")
scorer = framework("inspect_ai.scorer", "inspect-ai", "0.3.285", "Score")


def write_logs(
    run_id: str,
    task: Task,
    folder: str | Path,
    *,
    home: str | Path = ".loriner",
    purpose: Split = "grade",
) -> list[Path]:
    """One log for each program that the run tried on the questions of `purpose`.

    Raises:
        ConfigError: there is no such run, or it has no such trials of the task.
    """
    store = Store.existing(Path(home))
    try:
        trials = [
            each for each in store.trials(run_id, purpose=purpose, with_calls=True) if each.task == task.name
        ]
        if not trials:
            raise ConfigError(f"run {run_id} has no {purpose} trials of the task {task.name}")
        by_harness: dict[str, list[Trial]] = defaultdict(list)
        for each in trials:
            by_harness[each.harness_id].append(each)
        questions = {each.id: each for split in SPLITS for each in task.questions(split)}
        row = store.run(run_id)
        solver = str(row.config.get("adapt", {}).get("solver"))
        return [
            _write(row, store.harness(harness), some, questions, solver, Path(folder))
            for harness, some in by_harness.items()
        ]
    finally:
        store.close()


def _write(
    row: Any,
    harness: Any,
    trials: Sequence[Trial],
    questions: Mapping[str, Question],
    solver: str,
    folder: Path,
) -> Path:
    name = trials[0].task
    scores = [each.score for each in trials if each.score is not None]
    mean = log.EvalMetric(name="mean", value=sum(scores) / max(1, len(scores)))
    spec = log.EvalSpec(
        created=row.started,
        task=name,
        run_id=row.id,
        dataset=log.EvalDataset(name=name, samples=len(trials)),
        model=solver,
        config=log.EvalConfig(),
        metadata={"harness": harness.id, "source": harness.source},
    )
    results = log.EvalResults(
        total_samples=len(trials),
        completed_samples=len(scores),
        scores=[log.EvalScore(name=name, scorer=name, metrics={"mean": mean})],
    )
    steps = [log.EvalPlanStep(solver=f"harness {harness.id[:12]}")]
    samples = [_sample(each, questions[each.question_id], solver) for each in trials]
    written = log.EvalLog(
        status="success",
        eval=spec,
        plan=log.EvalPlan(steps=steps),
        results=results,
        stats=log.EvalStats(started_at=row.started),
        samples=samples,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{row.id}-{harness.id[:12]}.eval"
    log.write_eval_log(written, str(path))
    return path


def _sample(trial: Trial, question: Question, solver: str) -> Any:
    """A trial. One that was not scored through our fault has the score NaN, which Inspect leaves out."""
    value = float("nan") if trial.score is None else trial.score
    said = " ".join(filter(None, [str(trial.status), trial.detail, trial.error]))
    score = scorer.Score(value=value, answer=trial.answer, explanation=said)
    calls = [_model_event(each, solver) for each in trial.calls if each.kind == "model"]
    messages = [ROLES["user"](content=question.text), ROLES["assistant"](content=trial.answer)]
    return log.EvalSample(
        id=trial.question_id,
        epoch=trial.sample + 1,
        input=question.text,
        target=str(question.target or ""),
        output=model.ModelOutput.from_content(solver, trial.answer),
        scores={trial.task: score},
        messages=messages,
        events=[*calls, event.ScoreEvent(score=score)],
        metadata={"status": str(trial.status), "stdout": trial.stdout},
    )


def _model_event(call: Call, solver: str) -> Any:
    output = model.ModelOutput.from_content(solver, call.reply)
    n_in, n_out = call.prompt_tokens, call.completion_tokens
    output.usage = model.ModelUsage(input_tokens=n_in, output_tokens=n_out, total_tokens=n_in + n_out)
    return event.ModelEvent(
        model=solver,
        input=[ROLES[each["role"]](content=each["content"]) for each in call.request["messages"]],
        tools=[],
        tool_choice="none",
        config=model.GenerateConfig(temperature=call.request.get("temperature")),
        output=output,
        error=call.error or None,
    )
