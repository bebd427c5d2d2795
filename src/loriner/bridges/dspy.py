"""DSPy: a harness as a `dspy.Module`, and `Loriner(metric).compile(program, trainset=..., valset=...)`.

What is not translated: programs of several predictors, and signatures with several outputs besides reasoning.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loriner import api as lo
from loriner.bridges import framework
from loriner.bridges.dspy_interpreter import CagedInterpreter
from loriner.bridges.dspy_lm import LMModel
from loriner.bridges.dspy_seed import question_of, seed_harness
from loriner.bridges.shared_cage import shared_cage
from loriner.errors import ConfigError, InfrastructureError
from loriner.records import Score, Status
from loriner.tasks.items import Card, Item, ItemTask
from loriner.tasks.scorer import InProcess
from loriner.tasks.splits import DEFAULT_SHARES, by_hash, read_shares

framework("dspy", "dspy", "3.4.1", "LM", "Module", "Prediction", "ChatAdapter")
framework("dspy.teleprompt", "dspy", "3.4.1", "Teleprompter.compile")

import dspy  # noqa: E402
from dspy.teleprompt import Teleprompter  # noqa: E402

__all__ = ["CagedInterpreter", "HarnessModule", "LMModel", "Loriner"]


class HarnessModule(dspy.Module):
    """Runs a harness in the sandbox, with the LM that DSPy is configured with."""

    run: lo.Run | None = None
    """The adaptation that made it; not saved."""

    def __init__(self, source: str, inputs: Sequence[str] = ("question",), output: str = "answer") -> None:
        super().__init__()
        self.source = lo.Harness.from_text(source).source
        self.inputs = list(inputs)
        self.output = output

    def forward(self, **given: Any) -> Any:
        """The prediction, with `status` and, where the program failed, its `error`."""
        model = LMModel(self.__dict__.get("lm") or dspy.settings.lm)
        ran = shared_cage().run(self.source, question_of(given, self.inputs), model)
        if ran.status is Status.INFRA_ERROR:
            raise InfrastructureError(f"running the harness: {ran.detail} {ran.error}")
        return dspy.Prediction(**{self.output: ran.answer}, status=str(ran.status), error=ran.error)

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"source": self.source, "inputs": list(self.inputs), "output": self.output}

    def load_state(self, state: Mapping[str, Any], **_: Any) -> None:
        self.source = lo.Harness.from_text(state["source"]).source
        self.inputs, self.output = list(state["inputs"]), state["output"]


class Loriner(Teleprompter):
    """An optimizer: it adapts a program around the LM instead of its prompts.

    `metric` is DSPy's: `(example, prediction, ...)` to a number in [0, 1], a bool, or a prediction with
    `score` and `feedback`. `search` is what `lo.adapt` takes: `rounds`, `grade`, `test`, `budget`, ...
    """

    def __init__(
        self,
        metric: Callable[..., Any],
        proposer: Any = "catalogue",
        *,
        home: str = ".loriner",
        **search: Any,
    ) -> None:
        super().__init__()
        self.metric, self.proposer, self.home, self.search = metric, proposer, home, search

    def compile(
        self, student: Any, *, trainset: Any, teacher: Any = None, valset: Any = None, **unknown: Any
    ) -> HarnessModule:
        """The best program found. Feedback comes from `trainset`; one half of `valset` decides, and the other
        half is sealed for the final score. Without a `valset`, `trainset` is split in three.
        """
        if unknown:
            raise ConfigError(f"Loriner.compile does not know {', '.join(unknown)}")
        seed, inputs, output = seed_harness(student)
        task = self._task(student, inputs, output, trainset, valset)
        harness = lo.Harness.from_text(seed)
        solver = LMModel(student.get_lm() if student.predictors()[0].lm else dspy.settings.lm)
        run = lo.adapt(task, solver, self.proposer, home=self.home, harness=harness, **self.search)
        made = HarnessModule(run.best.source, inputs, output)
        made.run, made._compiled = run, True
        return made

    def _task(self, student: Any, inputs: list[str], output: str, train: Any, val: Any) -> ItemTask:
        val = list(val or ())
        half = len(val) // 2
        parts = {"feedback": list(train), "grade": val[:half], "test": val[half:]} if val else {None: train}
        examples = [(split, each) for split, some in parts.items() for each in some]
        items: list[Item] = [
            {"id": str(n), "question": question_of(each, inputs), "answer": each.get(output, None)}
            | ({} if split is None else {"split": split})
            for n, (split, each) in enumerate(examples)
        ]

        def score(item: Item, answer: str) -> Score | float:
            return _scored(self.metric, examples[int(item["id"])][1], dspy.Prediction(**{output: answer}))

        words = student.predictors()[0].signature.instructions
        return ItemTask(
            Card(name="dspy", description=words),
            by_hash(items, read_shares(DEFAULT_SHARES, "trainset")),
            InProcess(score),
        )


def _scored(metric: Callable[..., Any], example: Any, prediction: Any) -> Score | float:
    """What a metric says. Arguments that it needs beyond the first two, such as `trace`, are None."""
    known = inspect.signature(metric).parameters.values()
    needed = [
        each for each in known if each.default is each.empty and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    said = metric(example, prediction, *[None] * (len(needed) - 2))
    if isinstance(said, dict | dspy.Prediction):
        return Score(float(said["score"]), str(said.get("feedback", None) or ""))
    return float(said)
