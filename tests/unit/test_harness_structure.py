"""Deeper is more work in one pipeline, broader is more components."""

import pytest

from loriner.harness.structure import compare, measure

OLD = """\
from tools import search


def solve(model, question):
    return model(str(search(question)))
"""
HOPS = """\
from tools import search


def solve(model, question):
    found = []
    for _ in range(3):
        query = model("Next query: " + question)
        found.append(search(query))
    return model(str(found))
"""
CHECKED = """\
import re
from tools import search


def clean(text):
    return re.sub(r"\\s+", " ", text)


def solve(model, question):
    return clean(model(str(search(question))))
"""


def test_counts_of_a_program():
    shape = measure(HOPS)
    assert (shape.n_model_calls, shape.n_tool_calls, shape.n_loops, shape.nesting) == (2, 1, 1, 1)
    assert (shape.n_functions, shape.n_classes, shape.n_imports) == (1, 0, 1)


def test_methods_comprehensions_and_renamed_tools_are_seen():
    shape = measure(
        "from tools import search as find\n\n\ndef solve(model, question):\n"
        "    model.chat([])\n    return model.batch([find(word) for word in question.split()])[0]\n"
    )
    assert (shape.n_model_calls, shape.n_tool_calls, shape.n_loops) == (2, 1, 1)


@pytest.mark.parametrize(
    ("new", "label"),
    [
        (HOPS, "deeper"),
        (CHECKED, "broader"),
        (HOPS.replace("from tools", "import re\nfrom tools"), "both"),
        (OLD.replace("str(", "repr("), "neither"),
        ("def solve(model, question):\n    return model(question)\n", "neither"),
    ],
)
def test_the_label_of_a_revision(new, label):
    assert compare(OLD, new).label == label


def test_deltas_are_new_less_old():
    assert compare(HOPS, OLD).deltas["n_loops"] == -1
    assert compare(OLD, HOPS).deltas["n_model_calls"] == 1
