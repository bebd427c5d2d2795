"""The bridge to DSPy, with the real package and an LM that is a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from loriner import Completion, Proposer

pytest.importorskip("dspy")

import dspy

import toy
from loriner.bridges import framework
from loriner.bridges.dspy import CagedInterpreter, HarnessModule, Loriner
from loriner.bridges.dspy_seed import seed_harness
from loriner.errors import ConfigError, HarnessError, LorinerError

pytestmark = pytest.mark.filterwarnings("ignore")


class Engine:
    """What a `dspy.LM` asks: replies as the toy says."""

    def complete(self, request: Any) -> Any:
        text = "".join(part.text for message in request.messages for part in message.parts)
        return dspy.lm15.Response(
            id="x",
            model=request.model,
            message=dspy.lm15.Message.assistant(toy.say(text)),
            finish_reason="stop",
            usage=dspy.lm15.Usage(input_tokens=10, output_tokens=5, total_tokens=15),
        )


@pytest.fixture
def lm() -> Any:
    with dspy.context(lm=dspy.LM("stub/toy", engine=Engine(), cache=False)):
        yield dspy.settings.lm


def examples(n: int) -> list[Any]:
    return [
        dspy.Example(question=row["question"], answer=row["answer"]).with_inputs("question")
        for row in toy.rows(n)
    ]


def right(example: Any, prediction: Any, trace: Any) -> float:
    return float(example.answer == prediction.answer.strip())


def test_compile_makes_a_module_that_answers_and_survives_a_file(lm: Any, tmp_path: Path) -> None:
    rows = examples(60)
    optimizer = Loriner(right, home=str(tmp_path / "home"), rounds=2, feedback=8, grade=12, test=8)
    made = optimizer.compile(dspy.Predict("question -> answer"), trainset=rows[:16], valset=rows[16:])
    assert made.run is not None and made.run.best.test is not None
    assert (made.run.seed.grade.mean, made.run.best.test.mean) == (0.0, 1.0)
    assert lm.history  # what was asked is in DSPy's own record
    unseen = dspy.Evaluate(devset=rows[50:], metric=lambda e, p: right(e, p, None), display_progress=False)
    assert unseen(made).score == 100
    made.save(tmp_path / "made.json")
    again = HarnessModule("def solve(model, question):\n    return ''\n")
    again.load(tmp_path / "made.json")
    assert again(question=rows[3].question).answer == rows[3].answer


def test_feedback_of_a_metric_reaches_the_proposer(lm: Any, tmp_path: Path) -> None:
    seen: list[str] = []

    async def write(context: Any, index: int) -> Any:
        seen.extend(each.trial.detail for each in context.feedback)
        return Completion("Nothing to change.")

    def metric(example: Any, prediction: Any) -> Any:
        return dspy.Prediction(score=0.25, feedback=f"expected {example.answer}")

    rows = examples(20)
    optimizer = Loriner(
        metric, Proposer("looks", write), home=str(tmp_path), rounds=1, feedback=2, grade=4, test=4
    )
    optimizer.compile(dspy.Predict("question -> answer"), trainset=rows)
    assert seen and all(each.startswith("expected ") for each in seen)


@pytest.mark.parametrize(
    ("student", "said"),
    [
        ("text -> title, summary", "title, summary"),
        (None, "has 2: first, second"),
    ],
)
def test_programs_that_a_harness_cannot_stand_for_are_refused(
    lm: Any, student: str | None, said: str
) -> None:
    class Two(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = dspy.Predict("question -> draft"), dspy.Predict("draft -> answer")

    program = Two() if student is None else dspy.Predict(student)
    with pytest.raises(ConfigError, match=said):
        Loriner(right).compile(program, trainset=examples(4))


def test_a_metric_without_a_range_is_refused(lm: Any, tmp_path: Path) -> None:
    with pytest.raises(LorinerError, match=r"12.0; expected a value in \[0, 1\]"):
        Loriner(lambda e, p: 12, home=str(tmp_path)).compile(
            dspy.Predict("question -> answer"), trainset=examples(20)
        )


def test_the_seed_asks_what_the_program_asks_with_its_demos(lm: Any) -> None:
    program = dspy.Predict("context, question -> answer")
    program.demos = [dspy.Example(context='a "quoted"', question="why?", answer='said """so"""')]
    source, inputs, output = seed_harness(program)
    made = HarnessModule(source, inputs, output)
    made(context="the context of it", question="what?")
    with pytest.raises(dspy.utils.exceptions.AdapterParseError):  # the toy answers in prose
        program(context="the context of it", question="what?")
    ours, theirs, *_ = [each["messages"] for each in lm.history]
    assert ours == theirs


def test_a_program_that_crashes_says_so() -> None:
    with dspy.context(lm=dspy.LM("stub/toy", engine=Engine())):
        said = HarnessModule("def solve(model, question):\n    return 1 / 0\n")(question="?")
    assert (said.answer, said.status) == ("", "crashed") and "ZeroDivisionError" in said.error
    with pytest.raises(HarnessError):
        HarnessModule("print(1)")


def test_the_interpreter_keeps_state_calls_tools_and_submits() -> None:
    code = CagedInterpreter({"add": lambda a, b: a + b})
    code.output_fields = [{"name": "answer"}]
    assert code.execute("x = add(1, b=2)\nx + 1") == 4
    assert code.execute("print(x, y)", {"y": [1]}) == "3 [1]\n"
    assert code.execute("SUBMIT(x)").output == {"answer": 3}
    assert code.execute("x") == 3
    code.shutdown()
    code.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        code.execute("x")


@pytest.mark.parametrize(
    ("code", "error", "said"),
    [
        ("1/0", "CodeExecutionError", "ZeroDivisionError"),
        ("def", "SyntaxError", "invalid syntax"),
        ("open('/etc/passwd').read()", "CodeExecutionError", "Error"),
        ("import socket; socket.create_connection(('127.0.0.1', 9))", "CodeExecutionError", "Error"),
        ("fails()", "CodeExecutionError", "KeyError: 'no'"),
    ],
)
def test_what_code_may_not_do_is_an_error_in_a_session_that_goes_on(code: str, error: str, said: str) -> None:
    def fails() -> None:
        raise KeyError("no")

    session = CagedInterpreter({"fails": fails})
    with pytest.raises(Exception, match=said) as raised:
        session.execute(code)
    assert type(raised.value).__name__ == error
    assert session.execute("6 * 7") == 42
    session.shutdown()


def test_a_session_that_is_killed_says_so_and_stays_ended() -> None:
    session = CagedInterpreter()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the session ended"):
            session.execute("import os; os._exit(3)")


def test_flex_runs_in_the_cage() -> None:
    lm = dspy.utils.DummyLM([{"answer": "42"}])
    with dspy.context(lm=lm, interpreter_factory=CagedInterpreter):
        assert dspy.Flex("question -> answer")(question="Words: one two").answer == "42"


def test_a_missing_framework_and_a_changed_one_are_named() -> None:
    with pytest.raises(ConfigError, match="pip install no-such"):
        framework("no_such_module", "no-such", "1")
    with pytest.raises(ConfigError, match=r"dspy 3.*expected dspy.Module.gone, found no such name"):
        framework("dspy", "dspy", "3.4.1", "Module.gone", "LM")
