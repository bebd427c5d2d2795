"""Constants are found however a program spells them, and reading a program is bounded."""

import time

import pytest

from loriner.diagnosis.literals import Link, literals


def texts(source: str) -> set[str]:
    return {text.value for text in literals(source).texts}


@pytest.mark.parametrize(
    "spelling",
    [
        "'shellburst'",
        "'shell' + 'burst'",
        "'shell' 'burst'",
        "'tsrubllehs'[::-1]",
        "''.join(['shell', 'burst'])",
        "''.join(reversed('tsrubllehs'))",
        "''.join(chr(c - 1) for c in [116, 105, 102, 109, 109, 99, 118, 115, 116, 117])",
        "''.join(map(chr, [115, 104, 101, 108, 108, 98, 117, 114, 115, 116]))",
        "bytes([115, 104, 101, 108, 108, 98, 117, 114, 115, 116]).decode()",
        "bytes.fromhex('7368656c6c6275727374').decode()",
        "base64.b64decode('c2hlbGxidXJzdA==').decode()",
        "f'{\"shell\"}burst'",
        "'SHELLBURST'.lower()",
        "'a shellburst b'.split(' ')[1]",
        "json.loads('[\"shellburst\"]')[0]",
        # not shown how to undo:
        "'tsrubllehs'",
        "'furyyohefg'",
        "'c2hlbGxidXJzdA=='",
        "'7368656c6c6275727374'",
        "[115, 104, 101, 108, 108, 98, 117, 114, 115, 116]",
        "['s', 'h', 'e', 'l', 'l', 'b', 'u', 'r', 's', 't']",
    ],
)
def test_a_text_is_found_in_every_simple_spelling(spelling: str) -> None:
    assert "shellburst" in texts(f"X = {spelling}\n")
    assert "shellburst" in texts(f"def solve(model, question):\n    return f({spelling})\n")


def test_names_assigned_once_are_followed_and_others_are_not() -> None:
    assert "onetwo" in texts("A = 'one'\nB = A + 'two'\n")
    assert "onetwo" not in texts("A = 'one'\nA = 'three'\nB = A + 'two'\n")


def test_links_pair_cases_with_what_they_lead_to() -> None:
    source = """
T = {"first": "1", "second": 2}
P = [("third", 3), ("fourth", 4)]
K = ["seventh", "eighth", "ninth"]
V = ["7", "8", "9"]
def solve(model, question):
    if "fifth" in question and "x" in question:
        return "5"
    T["tenth"] = "10"
    match question:
        case "sixth":
            return "6"
    return "0" if "zeroth" in question else model(question)
"""
    pairs = {(link.keys, link.values) for link in literals(source).links}
    expected = [
        (("first",), ("1",)),
        (("second",), ("2",)),
        (("third",), ("3",)),
        (("fifth", "x"), ("5",)),
        (("sixth",), ("6",)),
        (("seventh",), ("7",)),
        (("tenth",), ("10",)),
        (("zeroth",), ("0",)),
    ]
    assert [pair for pair in expected if pair not in pairs] == []


def test_lines_are_those_of_the_program() -> None:
    found = literals("x = 1\n\ny = {'key': 'value'}\n")
    assert [text.line for text in found.texts if text.value == "value"] == [3]
    assert Link(("key",), ("value",), 3) in found.links


@pytest.mark.parametrize(
    "source",
    [
        "X = 'ab' * 10**9\n",
        "X = (('a' * 9999,) * 9999)\nY = ''.join(X)\n",
        "X = bytes(10**10)\n",
        "X = [[0] * 9999] * 9999\n",
        "X = '%999999999d' % 5\n",
        "A = 'xx'\n" + "".join(f"{chr(66 + i)} = {chr(65 + i)} * 99\n" for i in range(12)),
        "X = " + " + ".join(["'a'"] * 600) + "\n",
        "X = " + "-" * 300 + "1\n",
        "A = B\nB = A\nX = A + 'x'\n",
        "X = chr(-1) + int('zz') + 'a'[7] + (1)['a']\n",
        "X = [x for x in [1, 2] for y in [3]]\nY = {**{'a': 1}}\nZ = map()\n",
    ],
)
def test_a_hostile_program_is_read_in_bounded_time(source: str) -> None:
    started = time.process_time()
    literals(source)
    assert time.process_time() - started < 30


def test_a_program_too_deep_to_read_is_a_syntax_error() -> None:
    with pytest.raises(SyntaxError, match="nested"):
        literals("X = " + " + ".join(["1"] * 30_000) + "\n")
