"""Code that ranks passages by the words that they share with a question, whatever the words' endings.

A search by exact words misses `languages` for `language` and lets common words bring passages about other
things. The code searches a second time with other endings and ranks what both found by rare shared stems.
"""

from __future__ import annotations

COMMON = r"""
COMMON = set(
    "a about after all an and any anyone are as at be been before by can could did do does during each every "
    "far for from get gets got had has have he her here his how i if in into is it its long many may me much "
    "must my no not of often on one or our out per people person quickly shall she should so some somebody "
    "someone soon than that the their them there these they this those to up us was we were what when where "
    "which while who whom whose why will with would you your".split()
)
"""
STEM = r'''
def stem(word):
    """A word without its ending, so that plural and tense do not matter."""
    for ending in ("ations", "ation", "ings", "ing", "ers", "ies", "ed", "er", "es", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if word[-1:] == "y" or (len(word) > 3 and word[-1] == word[-2]) else word
'''
STEMS = r'''
def stems(text):
    """The stems of the telling words of a text."""
    return {stem(word) for word in re.findall(r"\w+", text.lower()) if word not in COMMON}
'''
WEIGHED = r'''
def weighed(question):
    """(points, passage) for what a search finds with any ending of the question's words, the best first."""
    asked = stems(question)
    endings = ("", "s", "e", "es", "ed", "er", "ing", "ation", "y")
    forms = " ".join(word + ending for word in sorted(asked) for ending in endings)
    queries = [question, forms] if forms else [question]
    pool = {each["title"] + each["text"]: each for query in queries for each in search(query, k=10)}
    held = {key: stems(each["title"] + " " + each["text"]) for key, each in pool.items()}
    counts = {word: sum(word in each for each in held.values()) for word in asked}
    rare = {word: math.log(1 + (len(pool) + 1) / (0.5 + count)) for word, count in counts.items()}
    found = []
    for key, each in pool.items():
        title = stems(each["title"])
        points = sum(rare[word] * (1.4 if word in title else 1) for word in asked & held[key])
        found.append((points / (0.8 + len(held[key]) / 125), each))
    return sorted(found, key=lambda each: each[0], reverse=True)
'''


def passage_parts() -> tuple[str, ...]:
    """What `weighed(question)` and `stems(text)` need; the tool `search` is for the caller to import."""
    return ("import math", "import re", COMMON, STEM, STEMS, WEIGHED)
