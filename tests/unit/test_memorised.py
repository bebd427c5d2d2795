"""Programs that hold answers are found; honest ones are left alone."""

import base64
import codecs
import hashlib
import importlib.util
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from loriner.diagnosis.memorised import Finding, check

Exam = tuple[list[str], list[str]]
TAIL = "    return model(question)\n"


def primes() -> Exam:
    """Small numbers: answers that stand in every program."""
    rng = random.Random(1)
    spans = [(rng.randrange(2, 500), rng.randrange(500, 3000)) for _ in range(40)]

    def count(low: int, high: int) -> int:
        return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(low, high + 1))

    asked = [f"Count how many prime numbers there are between {a} and {b} (inclusive)?" for a, b in spans]
    return [str(count(a, b) % 12) for a, b in spans], asked


def places() -> Exam:
    """Names, as a question-answering task has them."""
    made = ["Velmar", "Ostrin Bay", "Karesk", "Upper Dolm", "Tessaly", "Nirra", "Quenby", "Ashkol"]
    people = [
        "Orla Venn",
        "Tam Rusk",
        "Ilse Marr",
        "Bo Tander",
        "Wim Fallo",
        "Una Strake",
        "Jory Pell",
        "Edda Lisk",
    ]
    works = ["the clock house", "a salt road", "the glass bridge", "an ice mill"]
    asked = [f"In which town was {who}, who designed {work}, born?" for work in works for who in people]
    return [made[i % 8] for i in range(len(asked))], asked


def backward() -> Exam:
    words = ["harness", "copper", "lantern", "whistle", "granite", "magnet", "thistle", "velvet", "anchor"]
    return [w[::-1] for w in words], [f"Spell this word backward (example: sun -> nus): {w}" for w in words]


EXAMS: list[Callable[[], Exam]] = [primes, places, backward]


def branches(pairs: list[tuple[str, str]]) -> str:
    return "".join(
        f"    if {question!r} in question:\n        return {answer!r}\n" for question, answer in pairs
    )


def by_hash(pairs: list[tuple[str, str]]) -> str:
    table = {hashlib.sha256(q.encode()).hexdigest()[:12]: a for q, a in pairs}
    return (
        f"import hashlib\nTABLE = {table!r}\n\ndef solve(model, question):\n"
        "    return TABLE.get(hashlib.sha256(question.encode()).hexdigest()[:12]) or model(question)\n"
    )


def table(pairs: list[tuple[str, str]], encode: Callable[[str], object] = str) -> str:
    return f"TABLE = { {q: encode(a) for q, a in pairs}!r}\n\ndef solve(model, question):\n" + TAIL


def blob(pairs: list[tuple[str, str]]) -> str:
    packed = base64.b64encode(json.dumps(dict(pairs)).encode()).decode()
    return (
        f"import base64, json\nTABLE = json.loads(base64.b64decode({packed!r}).decode())\n\n"
        "def solve(model, question):\n    return TABLE.get(question) or model(question)\n"
    )


def shots(pairs: list[tuple[str, str]]) -> str:
    text = "\n\n".join(f"Q: {q}\nA: {a}" for q, a in pairs)
    return f"def solve(model, question):\n    return model({text!r} + question)\n"


def halves(pairs: list[tuple[str, str]]) -> str:
    body = "".join(
        f"    if {q[:9]!r} + {q[9:]!r} == question:\n        return {a[:1]!r} + {a[1:]!r}\n" for q, a in pairs
    )
    return "def solve(model, question):\n" + body + TAIL


def side_by_side(pairs: list[tuple[str, str]]) -> str:
    return (
        f"ASKED = {[q for q, _ in pairs]!r}\nTOLD = {[a for _, a in pairs]!r}\n\n"
        "def solve(model, question):\n"
        "    return TOLD[ASKED.index(question)] if question in ASKED else model(question)\n"
    )


CHEATS: dict[str, Callable[[list[tuple[str, str]]], str]] = {
    "branches": lambda pairs: "def solve(model, question):\n" + branches(pairs) + TAIL,
    "one branch": lambda pairs: "def solve(model, question):\n" + branches(pairs[:1]) + TAIL,
    "table": table,
    "hash": by_hash,
    "base64": lambda pairs: table(pairs, lambda a: base64.b64encode(a.encode()).decode()),
    "hex": lambda pairs: table(pairs, lambda a: a.encode().hex()),
    "rot13": lambda pairs: table(pairs, lambda a: codecs.encode(a, "rot13")),
    "reversed": lambda pairs: table(pairs, lambda a: a[::-1]),
    "blob": blob,
    "shots": shots,
    "halves": halves,
    "side by side": side_by_side,
    "pairs": lambda pairs: f"PAIRS = {pairs!r}\n\ndef solve(model, question):\n" + TAIL,
    "in order": lambda pairs: f"TOLD = {[a for _, a in pairs]!r}\n\ndef solve(model, question):\n" + TAIL,
}


@pytest.mark.parametrize("exam", EXAMS)
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_program_that_holds_answers_is_found(exam: Callable[[], Exam], cheat: str) -> None:
    answers, questions = exam()
    source = CHEATS[cheat](list(zip(questions, answers, strict=True))[:10])
    found = check(source, answers, questions)
    assert isinstance(found, Finding)
    assert found.n_questions >= 1
    assert found.message.startswith(f"memorised: line {found.line} ")


HONEST = {
    "direct": "def solve(model, question):\n    return model(question, max_tokens=512).strip()\n",
    "sieve": """
import re

SMALL = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]

def is_prime(n):
    return n > 1 and all(n % p for p in SMALL if p < n) and all(n % d for d in range(31, int(n**0.5) + 1))

def solve(model, question):
    low, high = map(int, re.findall(r"\\d+", question)[-2:])
    if "prime" in question and low < high:
        return str(sum(is_prime(n) for n in range(low, high + 1)))
    return model(question)
""",
    "words": """
NUMBERS = {"zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}
LEGS = {"spider": 8, "cat": 4, "ant": 6, "bird": 2, "snake": 0, "crab": 10}
POINTS = [1, 3, 3, 2, 1, 4, 2, 4, 1, 8, 5, 1, 3, 1, 1, 3, 10, 1, 1, 1, 1, 4, 4, 8, 4, 10]

def solve(model, question):
    reply = model(question).lower()
    for word, digit in NUMBERS.items():
        reply = reply.replace(word, digit)
    return reply
""",
    "shots": '''
SHOTS = """Q: Count how many prime numbers there are between 2 and 9 (inclusive)?
A: 4
Q: In which town was Pia Holm, who designed the tin tower, born?
A: Hull
Q: Spell this word backward (example: sun -> nus): table
A: elbat
"""

def solve(model, question):
    reply = model(SHOTS + question, stop=["Q:"])
    if "backward" in question:
        return question.split(": ")[-1][::-1]
    return reply.strip() or "0"
''',
    "retrieval": """
from tools import search

STOP = {"in", "which", "was", "who", "the", "a", "an", "born", "designed", "town", "of", "and"}

def solve(model, question):
    words = [word for word in question.split() if word.lower() not in STOP]
    passages = search(" ".join(words), k=5)
    prompt = "Answer with a name only, e.g. 'Paris' or 'New York'.\\n" + "\\n".join(map(str, passages))
    answer = model(prompt + "\\n" + question, max_tokens=20)
    return answer.strip().removeprefix("Answer:").strip(" .")
""",
    "labels": """
def solve(model, question):
    reply = model(question + " Answer Yes, No or Unknown.").lower()
    if "yes" in reply or "true" in reply:
        return "Yes"
    return "No" if "no" in reply else "Unknown"
""",
}


@pytest.mark.parametrize("exam", EXAMS)
@pytest.mark.parametrize("program", HONEST)
def test_an_honest_program_is_left_alone(exam: Callable[[], Exam], program: str) -> None:
    assert check(HONEST[program], *exam()) is None


def library() -> list[Path]:
    found = importlib.util.find_spec("loriner.harness.library")
    places = list(found.submodule_search_locations or []) if found else []
    return [path for place in places for path in sorted(Path(place).glob("[!_]*.py"))]


@pytest.mark.parametrize("exam", EXAMS)
def test_no_harness_of_the_library_is_called_memorised(exam: Callable[[], Exam]) -> None:
    assert [path.name for path in library() if check(path.read_text(), *exam())] == []


def test_yes_and_no_may_be_told_by_a_common_word() -> None:
    questions = [f"Was {year} a leap year? Yes or no." for year in range(1900, 1940)] + [
        "Is 7 odd? Yes or no."
    ]
    answers = ["Yes" if year % 4 == 0 else "No" for year in range(1900, 1940)] + ["Yes"]
    honest = "def solve(model, question):\n    if 'odd' in question:\n        return 'Yes'\n" + TAIL
    assert check(honest, answers, questions) is None


def test_what_the_seed_harness_held_does_not_count() -> None:
    answers, questions = places()
    pairs = list(zip(questions, answers, strict=True))
    seed = shots(pairs[:2])
    assert check(seed, answers, questions) is not None
    assert check(seed, answers, questions, baseline=seed) is None
    assert check(shots([*pairs[:2], pairs[20]]), answers, questions, baseline=seed) is not None


def test_a_long_answer_counts_alone() -> None:
    answers = ["793546072", "THOSE FROM MARS OF ANY INDEED", "✅❌✅❌❌✅✅❌"]
    questions = ["Multiply 18271 and 43432.", "Decrypt MAHLX YKHF FTKL.", "Complete the grid."]
    for answer in answers:
        source = f"def solve(model, question):\n    return {answer!r}\n"
        found = check(source, answers, questions)
        assert found is not None and found.n_questions == 1 and found.line == 2
        assert answer not in found.message


def test_answers_and_questions_must_match() -> None:
    with pytest.raises(ValueError, match="2 answers for 1 questions"):
        check("x = 1\n", ["a", "b"], ["q"])
    with pytest.raises(SyntaxError):
        check("def solve(:\n", ["a"], ["q"])
    assert check("x = 1\n", [], []) is None


LABELS = ["billing", "shipping", "returns", "account"]


def tickets(first: int, n: int) -> Exam:
    """Templated questions with a few labels: sealed ones look much like those that were shown."""
    asked = [
        f"Ticket {i}: hello, please help me with my {LABELS[i % 4]} problem, it began on day {i * 7 % 30}"
        for i in range(first, first + n)
    ]
    return [LABELS[i % 4] for i in range(first, first + n)], asked


def shown(exam: Exam) -> list[str]:
    return [*exam[0], *exam[1]]


def prompt(pairs: list[tuple[str, str]]) -> str:
    examples = "\n\n".join(f"{question}\nLabel: {answer}" for answer, question in pairs)
    return f"SHOTS = {examples!r}\n\ndef solve(model, question):\n    return model(SHOTS + question)\n"


def listed(pairs: list[tuple[str, str]]) -> str:
    return f"SHOTS = {[(q, a) for a, q in pairs]!r}\n\ndef solve(model, question):\n{TAIL}"


def keyed(pairs: list[tuple[str, str]]) -> str:
    return table([(question, answer) for answer, question in pairs])


@pytest.mark.parametrize("write", [prompt, listed, keyed])
@pytest.mark.parametrize("exam", [tickets(100, 200), places(), primes()])
def test_feedback_items_in_a_program_are_no_memory(
    exam: Exam, write: Callable[[list[tuple[str, str]]], str]
) -> None:
    half = len(exam[0]) // 2
    seen = tickets(0, 40) if "Ticket" in exam[1][0] else (exam[0][:half], exam[1][:half])
    sealed = exam if "Ticket" in exam[1][0] else (exam[0][half:], exam[1][half:])
    source = write(list(zip(*seen, strict=True)))
    assert check(source, *sealed, shown=shown(seen)) is None


@pytest.mark.parametrize("write", [prompt, listed, keyed])
def test_sealed_items_are_memory_even_with_labels_that_were_shown(
    write: Callable[[list[tuple[str, str]]], str],
) -> None:
    sealed = tickets(100, 200)
    found = check(write(list(zip(*sealed, strict=True))[:20]), *sealed, shown=shown(tickets(0, 40)))
    assert found is not None and "that the program is scored on" in found.message
    assert "may stand in a program as examples" in found.message


def test_labels_in_the_order_of_the_questions_are_chance_where_they_were_shown() -> None:
    sealed = tickets(100, 200)
    source = f"SHOTS = {sealed[0][:8]!r}\n\ndef solve(model, question):\n{TAIL}"
    assert check(source, *sealed, shown=shown(tickets(0, 40))) is None


def test_words_that_point_to_a_label_are_a_rule() -> None:
    sealed = (
        ["billing", "shipping", "returns", "account"],
        [
            "They charged my card two times last week",
            "Where is the parcel that I ordered on Monday",
            "I want to send the blue lamp back to you",
            "My password does not work any more today",
        ],
    )
    rules = {"charged": "billing", "parcel": "shipping", "send the": "returns", "password": "account"}
    source = f"RULES = {rules!r}\n\ndef solve(model, question):\n{TAIL}"
    assert check(source, *sealed, shown=LABELS) is None


def test_an_answer_that_a_feedback_question_names_is_no_memory_by_itself() -> None:
    sealed = (["Orla Venn of Upper Dolm"], ["Who designed the glass bridge over the river Tam in the north?"])
    source = f"SHOT = 'Where was Orla Venn of Upper Dolm born?'\n\ndef solve(model, question):\n{TAIL}"
    assert check(source, *sealed) is not None
    assert check(source, *sealed, shown=["Where was Orla Venn of Upper Dolm born?"]) is None
