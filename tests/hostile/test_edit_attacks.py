"""Completions and programs that are made to hurt: an edit error in bounded words, and soon."""

import time

import pytest

from loriner.errors import EditError
from loriner.harness.edits import MAX_COMPLETION_CHARS, STAGE_OF, apply_completion
from loriner.harness.messages import MAX_EDIT_CHARS, MAX_EDITS_TOLD

PROGRAM = "import re\n\n\ndef solve(model, question):\n    x = 1\n    return model(question)\n"
FULL = MAX_COMPLETION_CHARS
SECONDS = 10.0
"""Each takes well under a second; the bound only tells a hang from an answer."""


def block(old, new):
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def new_line(code):
    return block("    x = 1", code)


def outcome(program, completion):
    start = time.monotonic()
    try:
        apply_completion(program, completion, json_adapter=True)
        code, message = "ok", ""
    except EditError as error:
        code, message = error.code, str(error)
    assert time.monotonic() - start < SECONDS
    assert len(message) <= MAX_EDITS_TOLD * (MAX_EDIT_CHARS + 1)
    assert code == "ok" or code in STAGE_OF
    return code


@pytest.mark.parametrize(
    "code",
    [
        "    x = " + "(" * 7000 + ")" * 7000,
        "    x = " + "[" * 7000 + "]" * 7000,
        "    x = " + "-" * 15_000 + "1",
        "    x = " + "not " * 3500 + "1",
        "    x = y" + ".y" * 7000,
        "    x = y" + "()" * 7000,
        "    x = " + "lambda: " * 1800 + "1",
        "    x = " + "1 if 1 else " * 1200 + "1",
        "    x = " + "1 + " * 3900 + "1",
        "    x = " + "f'{" * 3000,
        "    x = " + "9" * 15_000,
        "    x = 9 ** 9 ** 9 ** 9",
        "    x = 'a' * 10 ** 12",
        "    x = (1,) * 10 ** 12",
        "".join(f"{'    ' * i}if x:\n" for i in range(1, 80)) + "    " * 80 + "x = 1",
        "    x = '\ud800'",
        "    x = '\0'",
        "    x = 1\x1a",
        "    \ufeffx = 2",
        "    # -*- coding: utf-16 -*-\n    x = 2",
        '    x = "\\N{NOT A NAME}"',
        "    import __future__; from __future__ import braces",
    ],
    ids=lambda code: code.strip()[:24].encode("unicode_escape").decode(),
)
def test_source_that_strains_the_compiler(code):
    assert outcome(PROGRAM, new_line(code)) in {"ok", "syntax_error"}


@pytest.mark.parametrize(
    "completion",
    [
        "<" * FULL,
        "<<<<<<< SEARCH\n" * (FULL // 15),
        "=======\n" * (FULL // 8),
        "\\" * FULL,
        "\\" * (FULL - 10) + "=======",
        "\n" * FULL,
        " " * FULL,
        "</think>\n" * (FULL // 9),
        "<think>" * (FULL // 7),
        "```\n" * (FULL // 4),
        '{"edits":' * (FULL // 9),
        '{"edits": [' + "[" * (FULL - 20),
        '{ "edits" ' * (FULL // 10),
        "{" + " " * (FULL - 10) + '"edit',
        '{"edits": ' + "9" * (FULL - 20) + "}",
        "[" * FULL,
        '"' * FULL,
        "\u2028" * FULL,
    ],
    ids=lambda text: f"{text[:12]!r}",
)
def test_long_replies_without_an_edit(completion):
    assert outcome(PROGRAM, completion) != "ok"


@pytest.mark.parametrize(
    "search",
    [
        "x" * (FULL - 100),
        "x\n" * (FULL // 2 - 100),
        "\n" * (FULL - 100) + "x",
        ("a b c d e f g h i j k l m n o p\n" * 2000)[: FULL - 100],
        " " * (FULL - 100) + "x",
        "1 | " * (FULL // 4 - 100),
        "\\n" * (FULL // 2 - 100),
    ],
    ids=lambda text: f"{text[:12]!r}",
)
@pytest.mark.parametrize(
    "program", [PROGRAM, PROGRAM + "x\n" * 7000, PROGRAM + " " * 15_000, "\n" * 15_000 + PROGRAM]
)
def test_long_spans_that_are_not_there(search, program):
    assert outcome(program, block(search, "")) in {"span_not_found", "no_change"}


def test_a_span_repeated_without_end():
    assert outcome(PROGRAM + "x\n" * 500_000, block("x", "y")) == "span_ambiguous"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("# " + "rest of " * 1900, "ok"),
        ("# " + "the rest of the code is unchanged " * 400 + "...", "ok"),
        ("# " + "." * 15_000, "ok"),
        ("# " + "existing code " * 1000 + "…", "ok"),
        ("(" * 15_000, "syntax_error"),
    ],
    ids=lambda text: text[:16],
)
def test_lines_that_strain_the_search_for_placeholders(line, code):
    assert outcome(PROGRAM, new_line("    " + line)) == code


def test_a_placeholder_in_many_lines_is_found_soon():
    assert outcome(PROGRAM, new_line("    # ... then rest\n" * 700 + "    # ...")) == "omission_placeholder"


def test_the_program_is_never_run(tmp_path):
    trap = tmp_path / "ran"
    code = f"open({str(trap)!r}, 'w')\n"
    assert outcome(PROGRAM, block("import re", code + "import re")) == "ok"
    assert not trap.exists()
