"""Revisions of how the model is asked: more room, more tries, more votes, reasons first."""

from __future__ import annotations

import re

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.splicing import at_body, wrapped
from loriner.records import Fault


def _longer(source: str, facts: Facts) -> str | None:
    """Every `max_tokens=N` three times as large, up to 2,048."""

    def grown(match: re.Match[str]) -> str:
        n_tokens = int(match.group(1))
        return f"max_tokens={max(n_tokens, min(2048, n_tokens * 3))}"

    return re.sub(r"max_tokens=(\d+)", grown, source)


def _steps(source: str, facts: Facts) -> str | None:
    line = (
        '    question += "\\n\\nThink step by step first. '
        "Give the final answer alone on the last line, after 'Answer:'.\"\n"
    )
    return None if "Think step by step" in source else at_body(source, line)


RETRY = '''def solve(model, question):
    """The first non-empty answer of up to three tries."""
    answer = ""
    for attempt in range(3):
        try:
            answer = str(once(model, question)).strip()
        except (ValueError, IndexError, KeyError, AttributeError, TypeError):
            answer = ""
        if answer:
            break
        question += "\\n\\nGive the answer; do not leave it out."
    return answer
'''


def _retry(source: str, facts: Facts) -> str | None:
    return wrapped(source, "once", RETRY)


VOTE = '''class Warm:
    """The model at a higher temperature, so that repeated calls differ."""

    def __init__(self, model):
        self.model = model

    def __call__(self, prompt, **options):
        return self.model(prompt, **{**options, "temperature": 0.8})

    def chat(self, messages, **options):
        return self.model.chat(messages, **{**options, "temperature": 0.8})

    def batch(self, prompts, **options):
        return self.model.batch(prompts, **{**options, "temperature": 0.8})


def solve(model, question):
    """The most frequent of five answers."""
    answers = [str(single(Warm(model), question)).strip() for _ in range(5)]
    answers = [answer for answer in answers if answer]
    return max(answers, key=answers.count) if answers else ""
'''


def _vote(source: str, facts: Facts) -> str | None:
    return wrapped(source, "single", VOTE)


ENTRIES = (
    CatalogueEntry(
        "longer_replies",
        "Give the model more room, so that its reply is not cut off.",
        _longer,
        lambda facts: 0.9 * facts.share(Fault.COMMUNICATION) * (0.5 + facts.cut / 2),
    ),
    CatalogueEntry(
        "retry_when_empty",
        "Ask again when there is no answer or the program stumbles over the reply.",
        _retry,
        lambda facts: 0.8 * facts.share(Fault.COMMUNICATION, Fault.CRASH, Fault.API_MISUSE),
    ),
    CatalogueEntry(
        "step_by_step",
        "Ask for reasoning before the answer.",
        _steps,
        lambda facts: 0.4 * facts.share(*UNKNOWN),
    ),
    CatalogueEntry(
        "self_consistency",
        "Answer five times and return the most frequent answer.",
        _vote,
        lambda facts: 0.35 * facts.share(*UNKNOWN),
    ),
)
