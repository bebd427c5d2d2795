"""Revisions by which the model writes one program for the whole kind of question, from answered examples.

It is written anew for each question, but from the same examples and in the same words, so that equal calls
share a reply. What it answers to the shown examples says whether to trust it; else all is as before.
"""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.new_solve import CODE, SAME, around
from loriner.records import Fault

COMPUTED = {"integer": 1.0, "number": 1.0, "line": 0.8, "text": 0.8, "date": 0.6, "choice": 0.4, "json": 0.3}
"""How far answers of a shape follow from the question by a rule."""
_ROOM = 7_000
"""Characters of the examples in one request: two thousand tokens and a bit."""

PROMPT = f'''def kind_prompt(shown):
    """What a program for all questions of the kind of these is asked for with."""
    longest = max([len(each["question"]) + len(each["answer"]) for each in shown], default=1)
    shown = shown[:max(2, min(6, {_ROOM} // longest))]
    pairs = [
        "Question:\\n" + each["question"][:{_ROOM // 2}] + "\\n\\nRight answer:\\n" + each["answer"]
        for each in shown
    ]
    return (
        "Questions of one kind, with their right answers:\\n\\n" + "\\n\\n".join(pairs)
        + "\\n\\nWrite a Python function answer(question) for all questions of this kind. It reads what "
        + "it needs from the text of the question, works the answer out, and returns it as a text in the "
        + "very form of the right answers. Reply with one ```python block."
    )
'''

ANSWERS = '''def answers_by(reply, questions):
    """What the function in a reply returns for each question; an empty string where it fails."""
    program = (
        "import json, re, math, itertools, collections\\n" + code_in(reply)
        + "\\nfor _question in json.loads("
        + repr(json.dumps(questions)) + "):\\n    try:\\n        _answer = str(answer(_question))\\n"
        + "    except Exception:\\n        _answer = ''\\n    print('=> ' + json.dumps(_answer))\\n"
    )
    lines = [line[3:] for line in run_python(program).splitlines() if line.startswith("=> ")]
    found = [json.loads(line) for line in lines[-len(questions):]]
    return found + [""] * (len(questions) - len(found))
'''

RIGHT = '''def n_right(answers, shown):
    """How many of the shown examples are answered right."""
    return sum(same(answer, each["answer"]) for answer, each in zip(answers, shown))
'''

CHOSEN = '''def solve(model, question):
    """What the best of several programs for this kind of question returns, if half of the examples agree."""
    shown = examples(k=8)
    asked = [kind_prompt(shown[first:] + shown[:first]) for first in range(len(shown))]
    best, found = 0, ""
    for reply in model.batch(asked, max_tokens=600) if asked else []:
        *tried, last = answers_by(reply, [each["question"] for each in shown] + [question])
        if last and n_right(tried, shown) > best:
            best, found = n_right(tried, shown), last
    return found if 2 * best >= len(shown) and found else case_by_case(model, question)
'''

SAMPLED = '''def solve(model, question):
    """What most programs for this kind of question return that examples bear out; else as before."""
    shown = examples(k=6)
    votes = []
    for reply in model(kind_prompt(shown), n=6, temperature=0.8, max_tokens=600) if shown else []:
        *tried, last = answers_by(reply, [each["question"] for each in shown] + [question])
        votes += [last] * n_right(tried, shown) if last else []
    best = max(votes, key=votes.count) if votes else ""
    return best if 2 * votes.count(best) >= len(shown) and best else uncertain(model, question)
'''

MENDED = '''def solve(model, question):
    """What a program for this kind of question returns, mended by what it got wrong; else as before."""
    shown = examples(k=8)
    prompt = kind_prompt(shown)
    best, found = 0, ""
    for attempt in range(4 if shown else 0):
        reply = model(prompt, max_tokens=700)
        *tried, last = answers_by(reply, [each["question"] for each in shown] + [question])
        if last and n_right(tried, shown) > best:
            best, found = n_right(tried, shown), last
        wrong = [(each, answer) for answer, each in zip(tried, shown) if not same(answer, each["answer"])]
        if not wrong:
            break
        each, answer = wrong[attempt % len(wrong)]
        prompt = (
            kind_prompt(shown) + "\\n\\nThis program is wrong:\\n```python\\n" + code_in(reply)[:2500]
            + "\\n```\\nFor the question\\n" + each["question"][:1500] + "\\nit returns " + repr(answer[:200])
            + " where " + repr(each["answer"][:200]) + " is right. Write it again without the mistake."
        )
    return found if 2 * best >= len(shown) and found else unmended(model, question)
'''

NEAREST = '''def solve(model, question):
    """What a program for the questions most like this one returns, if it is right on most; else as before."""
    near = examples(question, k=4)
    for reply in model.batch([kind_prompt(near), kind_prompt(near[::-1])], max_tokens=600) if near else []:
        *tried, last = answers_by(reply, [each["question"] for each in near] + [question])
        if last and 2 * n_right(tried, near) > len(near):
            return last
    return unlike_any(model, question)
'''

PARTS = ("import json", CODE, SAME, PROMPT, ANSWERS, RIGHT)


def _chosen(source: str, facts: Facts) -> str | None:
    return around(source, "case_by_case", CHOSEN, PARTS, _TOOLS)


def _sampled(source: str, facts: Facts) -> str | None:
    return around(source, "uncertain", SAMPLED, PARTS, _TOOLS)


def _mended(source: str, facts: Facts) -> str | None:
    return around(source, "unmended", MENDED, PARTS, _TOOLS)


def _nearest(source: str, facts: Facts) -> str | None:
    return around(source, "unlike_any", NEAREST, PARTS, _TOOLS)


def _by_rule(facts: Facts) -> float:
    return COMPUTED[facts.shape] * (0.1 if facts.searches else 1.0) * facts.share(*UNKNOWN, Fault.FORMAT)


_TOOLS = ("run_python", "examples")
ENTRIES = (
    CatalogueEntry(
        "program_for_the_kind",
        "Have the model write a program for the whole kind of question from examples, keep the one that is "
        "right on most of them, and answer as before where none is.",
        _chosen,
        lambda facts: 0.72 * _by_rule(facts),
        tools=_TOOLS,
    ),
    CatalogueEntry(
        "program_for_the_kind_mended",
        "Have the model write a program for the whole kind of question, show it what it got wrong, "
        "and let it mend the program.",
        _mended,
        lambda facts: 0.55 * _by_rule(facts),
        tools=_TOOLS,
    ),
    CatalogueEntry(
        "program_for_the_kind_voted",
        "Have the model write several programs for the whole kind of question, and let each vote with as "
        "many examples as it is right on.",
        _sampled,
        lambda facts: 0.5 * _by_rule(facts),
        tools=_TOOLS,
    ),
    CatalogueEntry(
        "program_for_the_nearest",
        "Have the model write a program for the answered questions most like this one, and use it if it is "
        "right on most of them.",
        _nearest,
        lambda facts: 0.48 * _by_rule(facts),
        tools=_TOOLS,
    ),
)
