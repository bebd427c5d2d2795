"""Every error code is reached by a plain completion, at its stage, with a bounded message."""

import json

import pytest

from loriner.errors import EditError
from loriner.harness.blocks import REPLACE, SEARCH
from loriner.harness.contract import canonical
from loriner.harness.edits import STAGE_OF, apply_completion, format_revision, parse, revise
from loriner.harness.messages import MAX_EDIT_CHARS, MAX_EDITS_TOLD
from loriner.records import Edit, Harness

PROGRAM = """\
import re


def clean(text):
    text = text.strip()
    text = text.strip(".")
    text = text.strip()
    return text


def solve(model, question):
    # ask once
    reply = model("Question: " + question)
    reply = clean(reply)
    note = "“quoted” – dash"

    return reply
"""


def block(old, new):
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def payload(*edits):
    return json.dumps({"edits": [{"find": old, "replace": new} for old, new in edits]})


RETURN = "    return reply"
SOLVE = "def solve(model, question):"
ALL_OF_SOLVE = PROGRAM[PROGRAM.index(SOLVE) :].rstrip("\n")

REFUSED = [
    ("no_edit_block", ""),
    ("no_edit_block", "I would change nothing."),
    ("no_edit_block", "```python\n" + PROGRAM + "```\n"),
    ("truncated_reasoning", "<think>\nmore hops? " + block(RETURN, "    return 1")),
    ("truncated_block", block(RETURN, "    return 1") + "<<<<<<< SEARCH\nimport re\n"),
    ("truncated_block", "<<<<<<< SEARCH\nimport re\n=======\nimport os"),
    ("marker_sequence", ">>>>>>> REPLACE\n"),
    ("marker_sequence", "<<<<<<< SEARCH>\nimport re\n=======\nimport os\n>>>>>>> REPLACE\n"),
    ("marker_sequence", "<<<<<<< SEARCH\nimport re\n<<<<<<< SEARCH\nimport re\n=======\n\n>>>>>>> REPLACE\n"),
    ("marker_sequence", "<<<<<<< SEARCH\nimport re\n>>>>>>> REPLACE\n"),
    ("marker_sequence", block("import re", "x = '''\n=======\n'''")),
    ("empty_search", "<<<<<<< SEARCH\n=======\nimport os\n>>>>>>> REPLACE\n"),
    ("empty_search", block(" \n", "import os")),
    ("too_many_edits", block(RETURN, "    return 1") * 17),
    ("completion_too_large", "x" * (64 * 1024 + 1)),
    ("span_not_found", block("    return answer", "    return 1")),
    ("span_ambiguous", block("    text = text.strip()", "    text = text.lower()")),
    ("span_ambiguous", block("    text = text.strip()  ", "    text = text.lower()")),
    ("overlap", block(RETURN, "    return 1") + block(RETURN, "    return 2")),
    ("no_change", block(RETURN, RETURN)),
    ("no_change", block(RETURN, "    return 1") + block("import re", "import re")),
    ("too_large", block(RETURN, f"    return '{'x' * 16_000}'")),
    ("omission_placeholder", block(ALL_OF_SOLVE, SOLVE + "\n    # ... existing code ...")),
    ("omission_placeholder", block(ALL_OF_SOLVE, SOLVE + "\n    ...")),
    ("syntax_error", block(RETURN, "  return reply")),
    ("syntax_error", block(RETURN, "    return “reply”")),
    ("syntax_error", block("import re", "return 1")),
    ("syntax_error", block(RETURN, "    return '\0'")),
    ("syntax_error", block(RETURN, "    return '\ud800'")),
    ("missing_solve", block(SOLVE, "def answer(model, question):")),
    ("missing_solve", block(SOLVE, "if True:\n  def solve(model, question):")),
    ("duplicate_solve", block(RETURN, RETURN + "\n\n\ndef solve(model, question):\n    return ''")),
    ("no_effect", block("    # ask once", "    # ask the model once")),
    ("no_effect", block("    reply = clean(reply)", "    reply = clean( reply )   # strip")),
    (
        "no_effect",
        block('    reply = model("Question: " + question)', "    reply = model('Question: ' + question)"),
    ),
    ("signature_changed", block(SOLVE, "def solve(model, question, k):")),
    ("signature_changed", block(SOLVE, "def solve(model, question=''):")),
    ("signature_changed", block(SOLVE, "def solve(*args):")),
    ("signature_changed", block(SOLVE, "def solve(question, model):")),
    ("signature_changed", block(SOLVE, "async def solve(model, question):")),
    ("json_invalid", '{"edits": [{"find": "import re", "replace": "import os",}]}'),
    ("json_invalid", '{"edits": [{"find": "import re", "replace": "a\nb"}]}'),
    ("json_invalid", "{'edits': []}"),
    ("json_invalid", '{"edits": [{"find": "import re", "repl'),
    ("json_schema", '{"edits": []}'),
    ("json_schema", '[{"find": "import re", "replace": "import os"}]'),
    ("json_schema", '{"edits": {"find": "import re", "replace": "import os"}}'),
    ("json_schema", '{"edits": [{"find": "import re", "replace": null}]}'),
    ("json_schema", '{"edits": [{"find": "import re", "replace": "", "why": ""}]}'),
    ("json_schema", '{"edits": [{"find": "import re", "find": "import os", "replace": ""}]}'),
    ("json_schema", '```json\n{"changes": []}\n```'),
    ("multiple_payloads", payload(("import re", "import os")) + "\n" + payload((RETURN, "    return 1"))),
    ("empty_search", payload(("\n", "import os"))),
    ("span_not_found", payload(("import", "import os"))),
]


@pytest.mark.parametrize(("code", "completion"), REFUSED)
def test_completion_is_refused_with_its_code(code, completion):
    with pytest.raises(EditError) as caught:
        apply_completion(PROGRAM, completion, json_adapter=True)
    assert caught.value.code == code
    assert len(str(caught.value)) <= MAX_EDIT_CHARS * MAX_EDITS_TOLD + MAX_EDITS_TOLD
    assert code in str(caught.value)


def test_every_code_is_reached():
    assert {code for code, _ in REFUSED} == set(STAGE_OF)


@pytest.mark.parametrize(
    ("kind", "search", "shown"),
    [
        ("indent", "return reply", "return reply"),
        ("indent", '        reply = clean(reply)\n        note = "“quoted” – dash"', "reply = clean"),
        ("unicode", '    note = "\\"quoted\\" - dash"'.replace("\\", ""), "note ="),
        ("partial_line", "clean(reply)", "reply = clean(reply)"),
        ("partial_line", "Question: ", "reply = model("),
        ("blank_lines", '    reply = clean(reply)\n\n    note = "“quoted” – dash"', "note ="),
        ("line_numbers", "  14 |     reply = clean(reply)", "reply = clean(reply)"),
        ("escaped_newlines", "import re\\n\\n\\ndef clean(text):", "import re"),
        ("nearest", "    reply = clean(model(reply))", "reply = clean(reply)"),
        ("nearest", "zzz", "no line like it"),
    ],
)
def test_a_near_miss_is_named_and_shown(kind, search, shown):
    with pytest.raises(EditError) as caught:
        apply_completion(PROGRAM, block(search, "    pass"))
    assert f"span_not_found ({kind})" in str(caught.value)
    assert shown in str(caught.value)


def test_an_edit_that_is_already_there_says_so():
    with pytest.raises(EditError, match=r"span_not_found \(already_applied\)"):
        apply_completion(PROGRAM, block("    answer = clean(reply)", "    reply = clean(reply)"))


def test_the_first_line_that_differs_is_shown():
    search = "def solve(model, question):\n    # ask once\n    reply = model(question)"
    with pytest.raises(EditError) as caught:
        apply_completion(PROGRAM, block(search, "    pass"))
    assert '  13 |     reply = model("Question: " + question)' in str(caught.value)


def test_three_failing_edits_are_told_and_the_first_gives_the_code():
    wrong = "".join(block(f"    missing_{i}", "    pass") for i in range(4))
    with pytest.raises(EditError) as caught:
        apply_completion(PROGRAM, block(RETURN, RETURN) + wrong)
    assert caught.value.code == "no_change"
    assert [f"Edit {i} of 5" in str(caught.value) for i in range(1, 6)] == [True, True, True, False, False]


def test_ambiguous_lines_are_numbered():
    with pytest.raises(EditError, match="at lines 5, 7"):
        apply_completion(PROGRAM, block("    text = text.strip()", "    pass"))


def test_a_syntax_error_shows_its_line():
    with pytest.raises(EditError, match="Line 17: ") as caught:
        apply_completion(PROGRAM, block(RETURN, "    return reply reply"))
    assert "return reply reply" in str(caught.value)


APPLIED = {
    "crlf completion": block(RETURN, "    return 1").replace("\n", "\r\n"),
    "blanks behind markers": block(RETURN, "    return 1").replace("\n", " \t\n", 1),
    "no final line end": block(RETURN, "    return 1").rstrip("\n"),
    "inside a fence": "Plan\n=======\n```diff\nharness.py\n" + block(RETURN, "    return 1") + "```\nDone.",
    "a draft in reasoning": f"<think>\n{block(RETURN, 'x')}</think>\n{block(RETURN, '    return 1')}",
    "reasoning closed only": "let me see\n</think>\n" + block(RETURN, "    return 1"),
    "json": payload((RETURN, "    return 1")),
    "json in prose": "Here:\n```json\n" + payload((RETURN + "\n", "    return 1\n")) + "\n```\nDone.",
}


@pytest.mark.parametrize("completion", APPLIED.values(), ids=list(APPLIED))
def test_the_same_edit_in_many_wrappings(completion):
    expected = PROGRAM.replace(RETURN, "    return 1")
    assert apply_completion(PROGRAM, completion, json_adapter=True) == expected


@pytest.mark.parametrize(
    "code",
    [
        'r = re.sub(r"<think>.*?</think>", "", reply)',
        'reply = reply.split("</think>")[-1]  # </think>',
        r'reply = reply.replace("\\n", "\1 $& &amp;")',
        'reply = "a\u2028b\x85c\x0cd"',
        "reply = '''\n```python\nx\n```\n'''",
    ],
)
def test_new_code_is_literal(code):
    written = apply_completion(PROGRAM, block(RETURN, f"    {code}\n{RETURN}"))
    assert written == PROGRAM.replace(RETURN, f"    {code}\n{RETURN}")


def test_a_marker_line_in_code_loses_one_backslash():
    written = apply_completion(PROGRAM, block(RETURN, "    x = r'''\n\\=======\n\\\\>>>>>>> REPLACE\n'''"))
    assert written == PROGRAM.replace(RETURN, "    x = r'''\n=======\n\\>>>>>>> REPLACE\n'''")


def test_a_file_without_a_final_line_end_stays_so():
    bare = PROGRAM.rstrip("\n")
    two_lines = "    x = 1\n    return x"
    assert apply_completion(bare, block(RETURN, two_lines)) == bare.replace(RETURN, two_lines)
    crlf = bare.replace("\n", "\r\n")
    expected = bare.replace(RETURN, two_lines).replace("\n", "\r\n")
    assert apply_completion(crlf, block(RETURN, two_lines)) == expected


def test_deleting_lines_leaves_no_blank_line():
    deletion = "<<<<<<< SEARCH\n    reply = clean(reply)\n=======\n>>>>>>> REPLACE\n"
    assert apply_completion(PROGRAM, deletion) == PROGRAM.replace("    reply = clean(reply)\n", "")


@pytest.mark.parametrize(
    "line",
    [
        "    # ... rest of the function unchanged ...",
        "    # rest of the code remains the same",
        "    # ... existing code ...",
        "    # existing code here",
        "    # (unchanged)",
        "    # ...",
        "    # … other imports …",
        "    // rest of code ...",
        "    (rest of methods ...)",
        "    # everything else unchanged",
        "    # same as before",
    ],
)
def test_placeholders_are_refused(line):
    with pytest.raises(EditError) as caught:
        apply_completion(PROGRAM, block(RETURN, f"{line}\n{RETURN}"))
    assert caught.value.code == "omission_placeholder"


@pytest.mark.parametrize(
    "line",
    [
        "    # skip the rest of the reply when it is too long",
        "    # ask for the remaining answers, then vote",
        "    # the answer is unchanged by case, so lower it",
        "    # First think...",
        "    # ... then vote on the code",
        "    # keep the original question",
        '    reply = """\n...\n"""',
        '    print("...")',
        "    # same question, asked twice",
    ],
)
def test_honest_comments_and_strings_are_not_placeholders(line):
    assert line in apply_completion(PROGRAM, block(RETURN, f"    x = 1\n{line}\n{RETURN}"))


def test_an_old_placeholder_may_stay():
    program = PROGRAM.replace("# ask once", "# ... existing code ...")
    assert "existing code" in apply_completion(program, block(RETURN, "    return 1"))


def test_revise_gives_the_revision_and_a_canonical_candidate():
    completion = "I return less.\n```\n" + block(RETURN + "  ", "    return 1\n\n") + "```\n"
    revision, candidate = revise(Harness(PROGRAM), completion)
    assert revision.edits == (Edit(f"{RETURN}  \n", "    return 1\n\n\n"),)
    assert revision.note == "I return less."
    assert candidate == Harness(canonical(PROGRAM.replace(RETURN, "    return 1")))


def test_the_prompt_may_have_opened_the_reasoning():
    draft = block(RETURN, "    return 2")
    with pytest.raises(EditError) as caught:
        parse(draft, in_reasoning=True)
    assert caught.value.code == "truncated_reasoning"
    final = parse(f"{draft}</think>\n{block(RETURN, '    return 1')}", in_reasoning=True)
    assert final.edits == (Edit(f"{RETURN}\n", "    return 1\n"),)


def test_a_long_note_is_shortened():
    assert len(parse("why " * 1000 + "\n" + format_revision([Edit("a\n", "b\n")])).note) == 1_000


@pytest.mark.parametrize(
    ("completion", "code", "line"),
    [
        ("<<<<<<< SEARCH\nimport re\n======= new lines\nx\n>>>>>>> REPLACE\n", "marker_sequence", "="),
        (block("import re", "import os").replace("REPLACE", "REPLACE done") * 2, "marker_sequence", ">"),
        ("<<<<<<< SEARCH\nimport re\n=======\nx\n>>>>>>> REPLACE.", "truncated_block", ">"),
        ("<<<<<<< SEARCH now\nimport re\n=======\nx\n>>>>>>> REPLACE", "marker_sequence", "<"),
        ("<<<<<<< SEARCH now\nimport re\n=======\nx\n>>>>>>> REPLACE.", "no_edit_block", "<"),
        ("<<<<<<< SEARCH\nimport re\n========\nx\n>>>>>>> REPLACE\n", "marker_sequence", "="),
    ],
)
def test_a_marker_with_text_behind_it_is_named_and_never_to_be_escaped(completion, code, line):
    with pytest.raises(EditError) as caught:
        parse(completion)
    assert caught.value.code == code
    assert f"The line '{line * 7}" in str(caught.value)
    assert "stands alone on its line" in str(caught.value)
    assert "write it as" not in str(caught.value)


@pytest.mark.parametrize(
    ("completion", "advice"),
    [
        (f"{SEARCH}\nimport re =======\nx = 1\n{REPLACE}\n", "The line 'import re =======' is no marker"),
        (f"{SEARCH}\nimport re\n  =======\nx = 1\n{REPLACE}\n", "The line '  =======' is no marker"),
        (f"{SEARCH}\nimport re\n=====\nx = 1\n{REPLACE}\n", "The line '=====' is no marker"),
        (f"{SEARCH}\nimport re\n=====\nx = 1\n{SEARCH}\n", "The line '=====' is no marker"),
        (f"{SEARCH}\nimport re\nx = 1\n{REPLACE}\n", "Write '=======' on a line of its own between"),
        (f"{SEARCH}\nimport re\n=======\nx = 1\n{SEARCH}\n", "Close each block with '>>>>>>> REPLACE'"),
        (f"{SEARCH}\nimport re\n=======\nx = 1 >>>>>>>\n{SEARCH}\n", "The line 'x = 1 >>>>>>>' is no marker"),
        (f"  {SEARCH}\nimport re\n=======\nx = 1\n  {REPLACE}\n", "The line '  <<<<<<< SEARCH' is no marker"),
    ],
)
def test_the_advice_mends_the_edit_and_never_hides_a_marker_that_was_right(completion, advice):
    with pytest.raises(EditError) as caught:
        parse(completion)
    assert advice in str(caught.value)
    assert "write it as" not in str(caught.value)


def test_only_a_second_divider_may_be_a_line_of_the_code():
    with pytest.raises(EditError, match=r"belongs to the code, write it as \\=======") as caught:
        parse(block(RETURN, f"    x = r'''\n=======\n'''\n{RETURN}"))
    assert caught.value.code == "marker_sequence"
