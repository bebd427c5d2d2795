"""Two real programs become a completion that turns one into the other."""

from itertools import permutations

import pytest

from loriner.harness.blocks import MAX_EDITS
from loriner.harness.contract import from_library, library_names
from loriner.harness.edits import apply_completion, parse
from loriner.harness.rewrite import make_edits, make_function_edits

PAIRS = list(permutations(library_names(), 2))
OLD = """\
import re


def clean(text):
    return text


def again(text):
    text = text
    return text


def solve(model, question):
    reply = model(question)
    return clean(reply)
"""


@pytest.mark.parametrize("make", [make_edits, make_function_edits])
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=["-".join(pair) for pair in PAIRS])
def test_one_library_harness_becomes_another(make, one, other):
    old, new = from_library(one).source, from_library(other).source
    completion = make(old, new)
    assert len(parse(completion).edits) <= MAX_EDITS
    assert apply_completion(old, completion) == new


def test_a_small_change_is_a_small_edit():
    new = OLD.replace("model(question)", "model(question, max_tokens=64)")
    (edit,) = parse(make_edits(OLD, new)).edits
    assert edit.old == "    reply = model(question)\n"


def test_an_edit_grows_until_it_stands_once():
    new = OLD.replace("    text = text\n    return text\n", "    text = text\n    return text.strip()\n")
    (edit,) = parse(make_edits(OLD, new)).edits
    assert edit.old == "    text = text\n    return text\n"


def test_an_insertion_gives_its_anchor_back_first():
    new = OLD.replace("def solve", "def tidy(text):\n    return text.strip()\n\n\ndef solve")
    (edit,) = parse(make_edits(OLD, new)).edits
    assert edit.old == "    text = text\n    return text\n"
    assert edit.new == edit.old + "\n\ndef tidy(text):\n    return text.strip()\n"


def test_near_changes_stay_apart_so_that_each_searches_for_one_line():
    new = OLD.replace("def solve", "def plain") + "\n\ndef solve(model, question):\n    return 1\n"
    first, second = parse(make_edits(OLD, new)).edits
    assert (first.old, first.new) == ("def solve(model, question):\n", "def plain(model, question):\n")
    assert second.old == "    return clean(reply)\n"


def test_an_insertion_before_everything_holds_on_to_the_first_line():
    (edit,) = parse(make_edits(OLD, "import json\n" + OLD)).edits
    assert (edit.old, edit.new) == ("import re\n", "import json\nimport re\n")


def test_a_function_edit_holds_the_whole_function():
    new = OLD.replace("    text = text\n", "    text = text.lower()\n").replace("clean(reply)", "reply")
    first, second = parse(make_function_edits(OLD, new)).edits
    assert first.old == "def again(text):\n    text = text\n    return text\n"
    assert second.old.startswith("def solve(model, question):\n")
    assert second.old.endswith("    return clean(reply)\n")


def test_the_line_ends_of_the_old_program_stay():
    new = OLD.replace("model(question)", "model(question, max_tokens=64)")
    crlf = OLD.replace("\n", "\r\n")
    assert apply_completion(crlf, make_edits(crlf, new)) == new.replace("\n", "\r\n")
    bare = OLD.rstrip("\n")
    assert apply_completion(bare, make_edits(bare, new)) == new.rstrip("\n")


@pytest.mark.parametrize("make", [make_edits, make_function_edits])
def test_no_difference_and_no_text_are_told(make):
    with pytest.raises(ValueError, match="nothing to edit"):
        make(OLD, OLD.replace("\n", "\r\n"))
    with pytest.raises(ValueError, match="no line with text"):
        make("\n\n", OLD)
