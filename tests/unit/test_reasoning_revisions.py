"""Known revisions for reasoning tasks: what the code that they put in does, run as a program would run it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loriner.harness.edits import revise
from loriner.propose.catalogue import offered
from loriner.propose.catalogue_list import ENTRIES
from loriner.propose.fact_finding import facts_of
from loriner.propose.snippets.answer_form import form_in_words, pattern_of
from loriner.records import Context, Harness
from loriner.tasks.varied.contracts import FORMS, Contract, extract
from loriner.tasks.varied.frames import FRAMES
from loriner.tasks.varied.task import render
from makers import context, feedback

SEED = Harness("def solve(model, question):\n    return model(question)\n")
SHOWN = [{"question": f"Double {n}.", "answer": str(2 * n)} for n in range(1, 9)]
QUESTION = "What is 3 + 4?\nGive a number.\n\n- no > marks | here"


class Model:
    """Answers as `mind` says; keeps what it was asked."""

    def __init__(self, mind: Callable[[str], str]) -> None:
        self.mind = mind
        self.asked: list[str] = []

    def __call__(self, prompt: str, n: int = 1, **_: Any) -> Any:
        self.asked += [prompt] * n
        replies = [self.mind(prompt) for _ in range(n)]
        return replies if n > 1 else replies[0]

    def batch(self, prompts: list[str], **options: Any) -> list[str]:
        return [self(each, **options) for each in prompts]

    def chat(self, messages: list[dict[str, str]], **options: Any) -> str:
        return str(self(messages[-1]["content"], **options))


def run_python(code: str) -> str:
    """What the code prints; a failure as the real tool tells it. The tests' own programs."""
    lines: list[str] = []
    try:
        exec(code, {"print": lambda *each: lines.append(" ".join(map(str, each)))})
    except Exception as error:  # noqa: BLE001
        lines.append(f"Error: {type(error).__name__}: {error}")
    return "\n".join(lines) + "\n"


def seen(*targets: str) -> Context:
    trials = [feedback(target=each, question_id=f"q{n}") for n, each in enumerate(targets)]
    return context(*trials, harness=SEED, tools=("examples", "run_python"))


def revised(entry: str, *targets: str) -> dict[str, Any]:
    """The names of the seed as the entry revises it."""
    text = next(text for found, text in offered(seen(*targets or ("12",))) if found.name == entry)
    source = re.sub(r"(?m)^from tools import .*\n", "", revise(SEED, text)[1].source)
    names: dict[str, Any] = {"run_python": run_python, "examples": lambda query=None, k=5: SHOWN[:k]}
    exec(source, names)
    return names


def doubler(prompt: str) -> str:
    """Knows how to write a program for all questions that are shown, and nothing else."""
    if "answer(question)" in prompt:
        return "```python\ndef answer(question):\n    return 2 * int(re.findall(r'\\d+', question)[0])\n```"
    return "I do not know"


def computes(prompt: str) -> str:
    """Writes a right program for a single question; its own words are wrong."""
    if "```python" in prompt:
        asked = re.findall(r"Double (\d+)", prompt)[-1]
        return f"```python\nprint(2 * {asked})\n```"
    return "1"


def test_there_are_at_least_forty_and_no_name_or_note_twice() -> None:
    assert len(ENTRIES) >= 40
    assert len({each.name for each in ENTRIES}) == len({each.note for each in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("frame", sorted(FRAMES))
def test_a_question_comes_out_of_every_wrapping(frame: str) -> None:
    names = revised("unwrapped_by_code")
    for kind in sorted(FORMS):
        for place in ("before", "after"):
            text = render(QUESTION, frame, Contract(kind, "a1b2"), place).text
            body, wanted = names["parted"](text)
            assert wanted.strip() == Contract(kind, "a1b2").instruction
            assert names["bare"](body).strip() == QUESTION


@pytest.mark.parametrize("kind", sorted(FORMS))
@pytest.mark.parametrize("answer", ["7", "two words", "1 2\n3 4", "x^2 + 1"])
def test_an_answer_is_written_in_every_form(kind: str, answer: str) -> None:
    contract = Contract(kind, "a1b2")
    text = render(QUESTION, "plain", contract, "after").text
    model = Model(lambda prompt: f"<answer>{answer}</answer>")
    for entry in ("unwrapped_by_code", "form_by_code"):
        assert extract(contract, revised(entry)["solve"](model, text)) == answer


def test_a_question_without_a_wrapping_stays_as_it_is() -> None:
    model = Model(lambda prompt: "7")
    assert revised("unwrapped_by_code")["solve"](model, QUESTION) == "7"
    assert model.asked == [QUESTION]


@pytest.mark.parametrize(
    "entry",
    [
        "program_for_the_kind",
        "program_for_the_kind_mended",
        "program_for_the_kind_voted",
        "program_for_the_nearest",
    ],
)
def test_one_program_answers_a_whole_kind_if_the_examples_bear_it_out(entry: str) -> None:
    assert revised(entry)["solve"](Model(doubler), "Double 21.") == "42"
    wrong = Model(lambda prompt: doubler(prompt).replace("2 *", "3 *"))
    assert revised(entry)["solve"](wrong, "Double 21.") == "I do not know"
    broken = Model(lambda prompt: "```python\nwhile True print\n```" if "answer(" in prompt else "as before")
    assert revised(entry)["solve"](broken, "Double 21.") == "as before"


def test_the_program_for_a_kind_is_asked_for_in_the_same_words_whatever_the_question() -> None:
    one, two = Model(doubler), Model(doubler)
    solve = revised("program_for_the_kind")["solve"]
    solve(one, "Double 21."), solve(two, "Double 4.")
    assert one.asked == two.asked


def test_the_way_that_is_right_on_examples_is_taken() -> None:
    solve = revised("best_way_on_examples")["solve"]
    assert solve(Model(computes), "Double 21.") == "42"
    direct = Model(
        lambda prompt: "1" if "```python" in prompt else str(2 * int(re.findall(r"\d+", prompt)[-1]))
    )
    assert solve(direct, "Double 21.") == "42"
    assert direct.asked[-1] == "Double 21."


def test_what_does_not_fit_right_answers_falls_back() -> None:
    assert revised("program_if_it_fits", "12", "8")["solve"](Model(computes), "Double 21.") == "42"
    words = Model(lambda prompt: "```python\nprint('many')\n```" if "```python" in prompt else "42")
    assert revised("program_if_it_fits", "12", "8")["solve"](words, "Double 21.") == "42"
    rambling = Model(lambda prompt: computes(prompt) if "```python" in prompt else "It is hard to say")
    assert revised("program_where_unfit", "12", "8")["solve"](rambling, "Double 21.") == "42"


def test_a_program_is_shown_its_error_until_it_runs() -> None:
    def learns(prompt: str) -> str:
        return "```python\nprint(5)\n```" if "ZeroDivisionError" in prompt else "```python\nprint(1 / 0)\n```"

    assert revised("program_mended")["solve"](Model(learns), "Five?") == "5"
    never = Model(lambda prompt: "```python\nprint(1 / 0)\n```" if "python" in prompt else "before")
    assert revised("program_mended")["solve"](never, "Five?") == "before"


@pytest.mark.parametrize(
    "answers, fits, unfit",
    [
        (("12", "-3"), ("7", "-40"), ("7.5", "seven", "")),
        (("yes", "no", "yes", "no"), ("no",), ("maybe", "yes no")),
        (("1 2\n3 4", "5 6\n7 8"), ("9 9\n1 1",), ("a b", "[1, 2]", "")),
        (("(A, B)", "(C, D)"), ("(E, F)",), ("A and B", "(a)")),
    ],
)
def test_the_pattern_of_right_answers_tells_them_from_others(
    answers: tuple[str, ...], fits: tuple[str, ...], unfit: tuple[str, ...]
) -> None:
    trials = [replace(feedback(target=each), question=f"Question {n}") for n, each in enumerate(answers)]
    facts = facts_of(context(*trials))
    pattern = pattern_of(facts)
    assert all(re.fullmatch(pattern, each) for each in (*answers, *fits))
    assert not any(re.fullmatch(pattern, each) for each in unfit)
    assert min(answers, key=len)[:5] in form_in_words(facts).replace("\\n", "\n")
