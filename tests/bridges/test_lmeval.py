"""lm-evaluation-harness, with the real package and a task file of its own format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("lm_eval")

import loriner as lo
import toy
from loriner.bridges.lmeval import LmEvalTask
from loriner.errors import TaskError

pytestmark = pytest.mark.filterwarnings("ignore")
TASK = """task: {name}
dataset_path: json
dataset_kwargs:
  data_files: {{test: {rows}}}
test_split: test
output_type: {kind}
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer}}}}"
{more}
metric_list:
  - metric: {metric}
    aggregation: mean
    higher_is_better: true
"""
FILTERED = """filter_list:
  - name: number
    filter:
      - function: regex
        regex_pattern: '(\\d+)'
      - function: take_first
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(map(json.dumps, toy.rows(20))))
    counted = TASK.format(name="words", rows=rows, kind="generate_until", metric="exact_match", more=FILTERED)
    (tmp_path / "words.yaml").write_text(counted)
    likely = TASK.format(
        name="likely",
        rows=rows,
        kind="multiple_choice",
        metric="acc",
        more='doc_to_choice: ["4", "5", "6", "7", "8"]',
    )
    (tmp_path / "likely.yaml").write_text(likely)
    return tmp_path


async def test_prompts_filters_and_metric_are_theirs(folder: Path) -> None:
    task = LmEvalTask("words", include=folder)
    first = task.questions("grade")[0]
    scores = [await task.score(first, each) for each in (first.target, f"it is {first.target}.", "0")]
    assert [each.value for each in scores] == [1.0, 1.0, 0.0]


def test_a_harness_is_scored_by_it(folder: Path) -> None:
    task = LmEvalTask("words", include=folder)
    home = folder / "home"
    assert lo.evaluate(task, "library:program_of_thought", toy.say, home=home).mean_score == 1.0


def test_what_is_no_task_of_texts_is_refused(folder: Path) -> None:
    with pytest.raises(TaskError, match="likely is scored by multiple_choice"):
        LmEvalTask("likely", include=folder)
    with pytest.raises(TaskError, match="does not open the task 'no_such_task'"):
        LmEvalTask("no_such_task", include=folder)
    with pytest.raises(TaskError, match="has no metric bleu; it has exact_match"):
        LmEvalTask("words", include=folder, metric="bleu")
