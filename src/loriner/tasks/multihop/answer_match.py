"""Exact match and token F1 of short answers, as the scripts of three multi-hop data sets give them.

Source: the evaluation scripts of HotpotQA, 2WikiMultiHopQA and MuSiQue, whose normaliser is the same. What
follows from it: U.S. is us, 12,000 is 12000, 3.5 million is 35 million, co-operative is cooperative; dashes
and quotes outside ASCII stay; composed and decomposed accents differ.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_CLOSED = ("yes", "no", "noanswer")

DATASETS = ("hotpotqa", "2wikimultihopqa", "musique")


def normalise(text: str) -> str:
    """Lower case, without ASCII punctuation, without articles, blanks collapsed: in this order."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def exact_match(answer: str, targets: Sequence[str]) -> float:
    """1.0 if the answer normalises to what one of the targets does, else 0.0.

    A blank answer scores 0.0 even where a target normalises to nothing, as "The The" and "!!!" do.
    """
    if not answer.strip():
        return 0.0
    return float(normalise(answer) in {normalise(target) for target in targets})


def f1(answer: str, targets: Sequence[str], *, dataset: str) -> float:
    """The best F1 over tokens, counted with repetition, against any of the targets.

    In hotpotqa and 2wikimultihopqa yes, no and noanswer earn nothing for a part, and nothing shared scores 0.
    In musique two sides that both normalise to nothing score 1.

    Raises:
        ValueError: an unknown data set.
    """
    if dataset not in DATASETS:
        raise ValueError(f"no data set is called {dataset!r}; expected one of {', '.join(DATASETS)}")
    if not answer.strip():
        return 0.0
    one = _f1_musique if dataset == "musique" else _f1_hotpotqa
    return max((one(normalise(answer), normalise(target)) for target in targets), default=0.0)


def _f1_hotpotqa(answer: str, target: str) -> float:
    if answer != target and (answer in _CLOSED or target in _CLOSED):
        return 0.0
    return _overlap(answer.split(), target.split())


def _f1_musique(answer: str, target: str) -> float:
    if not answer or not target:
        return float(answer == target)
    return _overlap(answer.split(), target.split())


def _overlap(answer: list[str], target: list[str]) -> float:
    n_shared = sum((Counter(answer) & Counter(target)).values())
    if n_shared == 0:
        return 0.0
    precision, recall = n_shared / len(answer), n_shared / len(target)
    return 2 * precision * recall / (precision + recall)
