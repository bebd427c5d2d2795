"""DSPy and GEPA on the tasks of `bench/everyday.py`: the same solver, sealed questions and scorers.

    python bench/endpoint.py --port 8123 &
    python bench/everyday_neighbours.py --endpoint http://127.0.0.1:8123/v1

Needs an environment with `dspy==3.4.1`, `gepa==0.1.4`, `numpy` and this package. Feedback items are the
training set, grade items the validation set; the sealed ones are scored once. The instructions are the task's
description. GEPA reflects with the solver itself and may ask for `--metric-calls` scores. Calls are those
that the endpoint answered, for the whole row. A row that stands in the data is not measured again.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from everyday_table import read, save
from loriner.records import target_texts
from loriner.tasks.base import SPLITS, Task
from loriner.tasks.jsonl import load_folder

ROOT = Path(__file__).parents[1]
TASKS = ("tickets", "invoices", "handbook")
ROWS = ("dspy-plain", "dspy-labelled", "dspy-nearest", "dspy-bootstrapped", "gepa")
N_EXAMPLES = {"tickets": 8, "invoices": 4, "handbook": 4}
"""Examples in a prompt: more does not fit well into the context of a small model."""
GOOD = 0.8
"""From this score on, a bootstrapped trace serves as an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One task as the frameworks need it."""

    name: str
    splits: dict[str, list[Any]]
    """Examples (`dspy.Example`) by split, the question as input."""
    score: Callable[[Any, Any], tuple[float, str]]
    """(example, prediction) → value and words of the task's own scorer."""
    program: Callable[[], Any]
    """A fresh module that answers one question with one call."""
    lm: Any
    metric_calls: int


def opened(name: str, lm: Any, metric_calls: int) -> Bench:
    """The task of `examples/NAME`."""
    folder = ROOT / "examples" / name
    task = load_folder(folder)
    items = {
        item["id"]: item
        for item in map(json.loads, (folder / "items.jsonl").read_text(encoding="utf-8").splitlines())
    }
    scorer = _module(folder / "score.py").score
    search = _module(folder / "tools.py").search if task.tools.get("search") else None

    def score(example: Any, prediction: Any, *rest: Any) -> tuple[float, str]:
        answer = str(getattr(prediction, "answer", "") or "")
        found = scorer(items[example.id], answer) if answer.strip() else 0.0
        return (found, "") if isinstance(found, float) else (found.value, found.detail)

    return Bench(
        name=name,
        splits=_examples(task),
        score=score,
        program=lambda: _program(task, search),
        lm=lm,
        metric_calls=metric_calls,
    )


def _examples(task: Task) -> dict[str, list[Any]]:
    return {
        split: [_example(each.id, each.text, target_texts(each.target)[0]) for each in task.questions(split)]
        for split in SPLITS
    }


def _example(item_id: str, question: str, answer: str) -> Any:
    import dspy

    return dspy.Example(id=item_id, question=question, answer=answer).with_inputs("question")


def _program(task: Task, search: Callable[..., Any] | None) -> Any:
    """`dspy.Predict` with the description as instructions; with passages where the task has a search."""
    import dspy

    described = task.description.strip()
    if search is None:
        answer = (_answer_type(task), dspy.OutputField())
        return dspy.Predict(
            dspy.Signature({"question": (str, dspy.InputField()), "answer": answer}, described)
        )

    class Retrieve(dspy.Module):  # type: ignore[misc]
        """One search, one call."""

        def __init__(self) -> None:
            super().__init__()
            self.respond = dspy.Predict(dspy.Signature("context, question -> answer", described))

        def forward(self, question: str) -> Any:
            passages = [f"{each['title']}: {each['text']}" for each in search(question, k=5)]
            return self.respond(context=passages, question=question)

    return Retrieve()


def _answer_type(task: Task) -> Any:
    """A choice where answers are a few labels, as DSPy advises for classification; else text."""
    targets = [question.target for question in task.questions("feedback")]
    if not all(isinstance(each, str) for each in targets) or len(set(targets)) * 2 > len(targets):
        return str
    return Literal[tuple(sorted(set(targets)))]


def compiled(row: str, bench: Bench) -> Any:
    """The program that a framework makes of the feedback and grade items."""
    import dspy

    train, k = bench.splits["feedback"], N_EXAMPLES[bench.name]
    value = _metric(bench)
    match row:
        case "dspy-plain":
            return bench.program()
        case "dspy-labelled":
            return dspy.LabeledFewShot(k=k).compile(bench.program(), trainset=train)
        case "dspy-nearest":
            options = {"metric": value, "max_bootstrapped_demos": 0, "max_labeled_demos": k}
            vectoriser = dspy.Embedder(TfIdf([each.question for each in train]))
            return dspy.KNNFewShot(k, train, vectoriser, **options).compile(bench.program())
        case "dspy-bootstrapped":
            maker = dspy.BootstrapFewShot(metric=value, metric_threshold=GOOD, max_labeled_demos=k)
            return maker.compile(bench.program(), trainset=train)
        case _:
            maker = dspy.GEPA(
                metric=_metric_with_words(bench),
                max_metric_calls=bench.metric_calls,
                reflection_lm=bench.lm,
                num_threads=4,
                seed=0,
            )
            return maker.compile(bench.program(), trainset=train, valset=bench.splits["grade"])


def _metric(bench: Bench) -> Callable[..., float]:
    def value(example: Any, prediction: Any, trace: Any = None) -> float:
        return bench.score(example, prediction)[0]

    return value


def _metric_with_words(bench: Bench) -> Callable[..., Any]:
    import dspy

    def told(gold: Any, pred: Any, trace: Any = None, pred_name: Any = None, pred_trace: Any = None) -> Any:
        value, words = bench.score(gold, pred)
        feedback = f"Score {value:.2f}. {words} The right answer is: {gold.answer}"
        return dspy.Prediction(score=value, feedback=feedback)

    return told


class TfIdf:
    """Texts as unit vectors of weighted words, so that a dot product ranks by likeness."""

    def __init__(self, texts: Sequence[str]) -> None:
        held = Counter(word for text in texts for word in set(_words(text)))
        self._weights = {word: math.log(1 + len(texts) / count) for word, count in held.items()}
        self._places = {word: place for place, word in enumerate(self._weights)}

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(_words(text)) for text in texts]

    def _vector(self, words: Sequence[str]) -> list[float]:
        vector = [0.0] * len(self._places)
        for word in words:
            if word in self._places:
                vector[self._places[word]] += self._weights[word]
        length = math.sqrt(sum(each * each for each in vector)) or 1.0
        return [each / length for each in vector]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def measure(row: str, bench: Bench, endpoint: str) -> dict[str, Any]:
    """Scores of the sealed questions by id, with calls and minutes of the whole row."""
    import dspy

    started, before = time.monotonic(), _calls(endpoint)
    program = compiled(row, bench)
    judge = dspy.Evaluate(
        devset=bench.splits["test"], metric=_metric(bench), num_threads=4, failure_score=0.0, max_errors=1000
    )
    results = judge(program).results
    return {
        "scores": {example.id: round(float(value), 4) for example, _, value in results},
        "calls": _calls(endpoint) - before,
        "minutes": round((time.monotonic() - started) / 60, 2),
        "instructions": [each.signature.instructions for each in program.predictors()],
        "n_examples": [len(each.demos) for each in program.predictors()],
    }


def _calls(endpoint: str) -> int:
    with urllib.request.urlopen(endpoint.removesuffix("/v1") + "/calls") as reply:
        return int(reply.read())


def _module(file: Path) -> Any:
    """A file of the task as a module; here scorers run in this process, which only trusts the project's."""
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--metric-calls", type=int, default=250, help="scores that GEPA may ask for")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "data" / "everyday.json")
    arguments = parser.parse_args()
    import dspy

    lm = dspy.LM(
        "openai/solver",
        api_base=arguments.endpoint,
        api_key="none",
        temperature=0.0,
        max_tokens=512,
        cache=False,
    )
    dspy.configure(lm=lm)
    for name in arguments.tasks.split(","):
        bench = opened(name, lm, arguments.metric_calls)
        for row in arguments.rows.split(","):
            if row not in read(arguments.out).get(name, {}):
                found = measure(row, bench, arguments.endpoint)
                save(arguments.out, name, row, found)
                mean = sum(found["scores"].values()) / len(found["scores"])
                print(f"{name} {row}: {mean:.3f} with {found['calls']} calls", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
