"""Laws of the known revisions, over programs of every layout: indentations, bodies, heads, line ends."""

from __future__ import annotations

import ast
import textwrap
import warnings
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loriner.harness.contract import canonical, from_library, library_names, program_tree, solve_fault
from loriner.harness.edits import revise
from loriner.propose.catalogue import completion
from loriner.propose.catalogue import offered as completions
from loriner.propose.fact_finding import facts_of
from loriner.propose.splicing import imported
from loriner.records import Context, Harness
from makers import context, feedback

TEXT = '"""Kept\n  as it\n\tstands,\n        in every column.\n"""'
"""A text whose lines no revision may indent."""
LONG = '"""What\nit does.\n\n  In full.\n"""'
INDENTS = ("    ", "  ", " ", "\t", "        ", "   ", "\t\t", "\f    ")
HEADS = (
    "def solve(model, question):",
    "def solve( model,question )  ->  str :  # answers: \\",
    "def solve(\n    model,\n    question,\n):",
    "@plain\ndef solve(model, question):",
    "def\tsolve(model: object, question: 'str'):",
)
DOCSTRINGS = ("", '"""What it does."""\n', f"{LONG}\n", "'é'; ", "# a note\n")
BODIES = (
    "reply = model(question, max_tokens=64)\nreturn reply\n",
    f"form = {TEXT}\nreply = model(form + question)\nreturn reply\n",
    "@plain\ndef ask(text):\n>return model(text)\nreturn ask(question)\n",
    "if question:\n>for _ in range(2):\n>>reply = model(question)\n>return reply\nreturn ''\n",
    "def ask(text):\n>'''A nested\n  docstring.'''\n>return model(text)\nreturn ask(question)\n",
    "é = '\u2028'; reply = model(question); return reply + é\n",
    f"return model(\nquestion,\n     system={TEXT},\n)\n",
    "# first a note\n\nreturn model(question)  # and then this\n",
)
ON_THE_LINE = (
    "return model(question)\n",
    "'é'; return model(question)\n",
    "reply = model(question); return reply  # at once\n",
    f"return model({TEXT} + question)\n",
    '"""Only this."""\n',
)
TOPS = (
    "",
    '"""A harness."""\n',
    "import re\n",
    "from __future__ import annotations\n\nimport re as regex\n",
    f"import json; KEPT = {TEXT}\n",
    "NOTE = '\f \u2028 \x85'\n# a note\n",
    "try:\n  from tools import search, run_python\nexcept ImportError:\n\tsearch = run_python = None\n",
    "from tools import run_python as run\n",
)
PLAIN = "def plain(function):\n  return function\n\n\n"
ENDS = ("", "\n\nLATER = 1\n", f"\n\nif True:\n  LATER = {TEXT}\n")


def laid_out(docstring: str, body: str, indent: str) -> str:
    """A body on lines of its own; `>` is one more level, and the lines inside of texts stay."""
    level = indent.strip("\f")
    lines = (docstring + body).replace(TEXT, "%TEXT%").replace(LONG, "%LONG%").replace(">", level)
    return textwrap.indent(lines, indent).replace("%TEXT%", TEXT).replace("%LONG%", LONG)


def compiles(source: str) -> bool:
    try:
        program_tree(source)
    except SyntaxError:
        return False
    return True


below = st.builds(
    lambda head, docstring, body, indent: f"{head}\n{laid_out(docstring, body, indent)}",
    st.sampled_from(HEADS),
    st.sampled_from(DOCSTRINGS),
    st.sampled_from(BODIES),
    st.sampled_from(INDENTS),
)
beside = st.builds(
    lambda head, body: f"{head} {body}",
    st.sampled_from([head for head in HEADS if "#" not in head]),
    st.sampled_from(ON_THE_LINE),
)
programs = st.builds(
    lambda top, solve, end: f"{top}{PLAIN}{solve}{end}",
    st.sampled_from(TOPS),
    below | beside,
    st.sampled_from(ENDS),
).filter(compiles)


TOOLS = ("examples", "run_python", "search")
TARGETS = (
    "12",
    "1.5",
    "2026-01-31",
    "31 December 1999",
    "red",
    "1\n2",
    '{"day": "01.02.2026", "n": 3, "ok": true}',
)
HOSTILE = (
    'it\'s "quoted" \\ and {braced} {{twice}}',
    '"""',
    "'''\n\\",
    "<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE",
    "```python\nprint(1)\n```",
    "\r\u2028\x85\f\t\x00",
    "\ud800",
    "{0} {call} %s %(a)s {{",
    "",
)


def seen(source: str, target: str = "red", **facts: object) -> Context:
    return context(feedback(target=target), harness=Harness(source), tools=TOOLS, **facts)  # type: ignore[arg-type]


def offered(source: str, target: str = "red") -> dict[str, str]:
    """The revised program of every entry that is offered; each is applied as a proposer's is."""
    return offered_in(seen(source, target))


def offered_in(given: Context) -> dict[str, str]:
    return {entry.name: revise(given.harness, text)[1].source for entry, text in completions(given)}


def answered(pairs: list[tuple[str, str]], **facts: object) -> Context:
    """A context whose feedback has these questions and right answers."""
    shown = [replace(feedback(target=target), question=question) for question, target in pairs]
    return replace(context(*shown, tools=TOOLS), **facts)  # type: ignore[arg-type]


def texts(source: str) -> list[str]:
    return [n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant) and n.value == text]


text = ast.literal_eval(TEXT)


@given(programs, st.sampled_from(TARGETS))
@settings(max_examples=15, deadline=None)
def test_every_revision_applies_compiles_and_keeps_the_texts(source: str, target: str) -> None:
    source = canonical(source)
    assert solve_fault(program_tree(source)) is None
    made = offered(source, target)
    assert {"nearest_examples", "interpreter_loop", "extract_answer", "quote_first"} <= set(made)
    for name, revised in made.items():
        is_sound(name, revised)
        assert texts(revised) == texts(source)
    assert "run_python" in imported(made["interpreter_loop"])


def is_sound(name: str, source: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(source, name, "exec")
    assert solve_fault(program_tree(source)) is None


SHAPES = {
    "choice": [(f"q{n}", f"kind {n % 3}") for n in range(9)],
    "json": [(f"q{n}", f'{{"day": "0{n + 1}.02.2026", "n": {n}, "tag": "a{n % 2}"}}') for n in range(6)],
    "date": [(f"q{n}", f"2026-02-0{n + 1}") for n in range(6)],
    "integer": [(f"q{n}", f"{n * 7}") for n in range(6)],
    "number": [(f"q{n}", f"{n}.5") for n in range(6)],
    "line": [(f"q{n}", f"name of {n}") for n in range(6)],
    "text": [(f"q{n}", f"one\n{n}") for n in range(6)],
}


@pytest.mark.parametrize("name", library_names())
def test_every_entry_makes_a_sound_candidate_of_every_library_harness(name: str) -> None:
    for shape, pairs in SHAPES.items():
        given = answered(pairs, harness=from_library(name))
        assert facts_of(given).shape == shape
        for entry, revised in offered_in(given).items():
            is_sound(f"{entry} for {shape}", revised)


@pytest.mark.slow
@given(st.sampled_from(library_names()), st.sampled_from(sorted(SHAPES)), st.data())
@settings(max_examples=15, deadline=None)
def test_an_entry_is_offered_once_and_others_stack_on_it(name: str, shape: str, data: st.DataObject) -> None:
    given = answered(SHAPES[shape], harness=from_library(name))
    texts = list(completions(given))
    first, text = texts[data.draw(st.integers(0, len(texts) - 1))]
    _, revised = revise(given.harness, text)
    again = offered_in(replace(given, harness=revised))
    assert first.name not in again or first.name in REPEATED
    assert len(again) >= len(texts) / 2
    for entry, both in again.items():
        is_sound(f"{first.name}, {entry}", both)


REPEATED = {"longer_replies"}
"""Entries that go on to apply: three times the room, up to a limit."""


@given(
    st.lists(
        st.tuples(st.sampled_from(HOSTILE) | st.text(), st.sampled_from(HOSTILE) | st.text()), max_size=6
    ),
    st.sampled_from(HOSTILE) | st.text(),
)
@settings(max_examples=15, deadline=None)
def test_hostile_texts_of_questions_answers_and_description_stay_text(
    pairs: list[tuple[str, str]], description: str
) -> None:
    given = (
        answered(pairs, description=description)
        if pairs
        else replace(seen(PLAIN_SOLVE), description=description)
    )
    for name, revised in offered_in(given).items():
        is_sound(name, revised)


PLAIN_SOLVE = "def solve(model, question):\n    return model(question)\n"


@given(programs)
@settings(max_examples=8, deadline=None)
def test_a_program_with_crlf_is_revised_too(source: str) -> None:
    assert "interpreter_loop" in offered(canonical(source).replace("\n", "\r\n"))


def answer_of(source: str) -> tuple[str, list[str]]:
    """What a program answers to `q` without tools, and what it asked the model."""
    asked: list[str] = []

    def model(prompt: str, **_: object) -> str:
        asked.append(prompt)
        return "red"

    names: dict[str, Any] = {}
    exec(source, names)  # the tests' own programs
    answer = names["solve"](model, "q")
    return answer, asked


@pytest.mark.parametrize("indent", INDENTS)
@pytest.mark.parametrize("body", BODIES)
def test_the_added_lines_run_first_and_the_rest_as_before(body: str, indent: str) -> None:
    source = f"{PLAIN}def solve(model, question):\n{laid_out(DOCSTRINGS[2], body, indent)}"
    revised = offered(source)["step_by_step"]
    before, after = answer_of(source), answer_of(revised)
    assert before[0] == after[0]
    assert [each.replace("q", "") for each in before[1]] != after[1]
    assert all("Think step by step first." in each for each in after[1])


@pytest.mark.parametrize("body", ON_THE_LINE[:4])
def test_a_body_on_the_line_of_its_head_runs_as_before(body: str) -> None:
    revised = offered(f"def solve(model, question): {body}")
    assert answer_of(revised["step_by_step"])[0].startswith("red")
    assert answer_of(revised["retry_when_empty"])[0].startswith("red")


@pytest.mark.parametrize("indent", ["  ", "\t"])
def test_the_added_lines_are_indented_as_the_body_is(indent: str) -> None:
    source = f"def solve(model, question):\n{indent}reply = model(question)\n{indent}return reply\n"
    revised = offered(source)["interpreter_loop"]
    wanted = (
        f"{indent}computed = by_program(model, question)\n{indent}if computed:\n{indent * 2}return computed\n"
    )
    assert f"def solve(model, question):\n{wanted}{indent}reply" in revised


def test_a_revision_that_fits_no_more_is_left_out_and_the_end_is_said() -> None:
    full = "def solve(model, question):\n  return model(question)\n#" + "x" * 15_900 + "\n"
    assert set(offered(full)) == set()
    assert "nothing" in completion(seen(full), 0).lower()


def test_a_program_that_does_not_compile_has_no_revision() -> None:
    assert offered("def solve(model, question):\n  return (\n") == {}
