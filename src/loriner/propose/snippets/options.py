"""Code and words for answers that are one of a few options: names them, and finds the one in a reply."""

from __future__ import annotations

from loriner.propose.facts import Facts
from loriner.propose.snippets.literals import constants

NEAREST = r'''
def nearest_option(reply):
    """The option that a reply names: as it stands, up to case and marks, within it, or much like it."""
    said, plain = plain_words(reply), {plain_words(option): option for option in OPTIONS}
    if reply.strip() in OPTIONS:
        return reply.strip()
    if said in plain:
        return plain[said]
    places = [(f" {said} ".find(f" {each} "), -len(each), each) for each in plain if each]
    named = [place for place in places if place[0] >= 0]
    if named:
        return plain[min(named)[2]]
    alike = difflib.get_close_matches(said, list(plain), n=1, cutoff=0.7)
    return plain[alike[0]] if alike else ""
'''
PLAIN = r'''
def plain_words(text):
    """The words and numbers of a text in small letters, one blank between them."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))
'''


def option_parts(facts: Facts) -> tuple[str, ...]:
    """What `nearest_option(reply)` needs: an option, or an empty string for a reply that names none."""
    return ("import difflib", "import re", constants("OPTIONS", facts.options), PLAIN, NEAREST)


def options_in_words(facts: Facts) -> str:
    """The instruction to answer with one of the options."""
    return "Answer with exactly one of these, and nothing else:\n" + "\n".join(
        f"- {each}" for each in facts.options
    )
