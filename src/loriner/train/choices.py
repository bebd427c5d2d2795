"""What a proposer chooses, and whether it chooses by what it sees.

The figure is the mutual information between a context's family and the kind of revision that was written
there. A plug-in estimate is above 0 by chance alone, the more so the fewer contexts; so the families are
dealt out anew over the contexts many times, and what that gives is taken off. Whole contexts are dealt out:
the completions of one context are no independent draws.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import log2
from pathlib import Path
from statistics import fmean
from typing import Any

from loriner.errors import ConfigError
from loriner.propose.catalogue_list import ENTRIES
from loriner.records import Harness, Rollout
from loriner.seeding import generator
from loriner.tasks.varied.task import canonical_name
from loriner.train import jsonl

N_DEALS = 400
"""Times that the families are dealt out anew: the smallest p is then 1 in 401."""
OFTEN = 0.1
"""Share of the choices from which a kind of revision is counted as often chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One valid revision."""

    context: str
    task: str
    kind: str
    """As `kind_of` names it."""

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Choice:
        """The choice that a line of rollouts or samples holds."""
        return cls(context=line["context"], task=line["task"], kind=line["choice"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What was chosen over contexts of several families."""

    n: int
    n_contexts: int
    n_families: int
    kinds: dict[str, float]
    """Share of the choices, the most frequent first; at most twenty."""
    n_often: int
    """Kinds that make up at least `OFTEN` of the choices."""
    information: float
    """Between family and kind, in bits."""
    by_chance: float
    """Mean of the same over deals of the families."""
    p_value: float
    """Chance of at least this much information, were the choice the same for every family."""

    @property
    def beyond_chance(self) -> float:
        """Bits of information beyond what chance gives."""
        return self.information - self.by_chance


def kind_of(program: Harness, rollout: Rollout) -> str:
    """The known revision that a completion names in its first sentence, else `own:` and a digest of the code
    that it adds, constants blanked; empty without a candidate.

    What a completion names is taken at its word: a known revision writes other code in every context.
    """
    if rollout.candidate is None:
        return ""
    note = rollout.revision.note if rollout.revision else ""
    named = _titles().get(note.partition(".")[0])
    return named or f"own:{_digest(program.source, rollout.candidate.source)}"


def choices(found: Iterable[Choice], *, seed: int = 0) -> Choices:
    """The figures of some choices, empty kinds left out."""
    kept = [each for each in found if each.kind]
    family = {each.context: canonical_name(each.task) for each in kept}
    information = _information(kept, family)
    deals = list(_dealt(kept, family, seed))
    shares = {kind: n / len(kept) for kind, n in Counter(each.kind for each in kept).most_common()}
    return Choices(
        n=len(kept),
        n_contexts=len(family),
        n_families=len(set(family.values())),
        kinds=dict(list(shares.items())[:20]),
        n_often=sum(share >= OFTEN for share in shares.values()),
        information=information,
        by_chance=fmean(deals),
        p_value=(1 + sum(each >= information - 1e-12 for each in deals)) / (1 + len(deals)),
    )


def report(written: Sequence[Choice], better: Sequence[Choice], *, seed: int = 0) -> dict[str, Any]:
    """The figures of all valid revisions, and of those that scored more than the program that they revise."""
    return {
        name: {"n": found.n, "n_contexts": found.n_contexts, "n_families": found.n_families, **figures(found)}
        for name, found in (("written", choices(written, seed=seed)), ("better", choices(better, seed=seed)))
    }


def read_choices(path: Path) -> tuple[list[Choice], list[Choice]]:
    """The valid revisions of a file of rollouts or samples, and those that scored more than their program.

    Raises:
        ConfigError: no such file, or its lines are of another kind.
    """
    try:
        every = jsonl.read(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    lines = [each for each in every if each.get("choice")]
    if every and not any("choice" in each for each in every):
        raise ConfigError(
            f"{path}: not a file of rollouts or samples: no line has a choice; give grpo/rollouts.jsonl, "
            "sft/samples.jsonl, or samples-NAME.jsonl of compare-proposers"
        )
    made = [Choice.of(each) for each in lines]
    return made, [each for each, line in zip(made, lines, strict=True) if _is_better(line)]


def _is_better(line: Mapping[str, Any]) -> bool:
    reward, before = line.get("reward"), line.get("before", line.get("seed_score"))
    return reward is not None and before is not None and reward["score"] > before


def figures(found: Choices) -> dict[str, Any]:
    """The figures of a line of a journal, rounded."""
    return {
        "choices": found.kinds,
        "choices_often": found.n_often,
        "information": round(found.information, 4),
        "information_beyond_chance": round(found.beyond_chance, 4),
        "information_p": round(found.p_value, 4),
    }


def _dealt(found: Sequence[Choice], family: Mapping[str, str], seed: int) -> Iterable[float]:
    """The information of each deal of the families over the contexts."""
    draw, contexts = generator(seed, "choices", "deal"), list(family)
    families = [family[each] for each in contexts]
    for _ in range(N_DEALS):
        draw.shuffle(families)
        yield _information(found, dict(zip(contexts, families, strict=True)))


def _information(found: Sequence[Choice], family: Mapping[str, str]) -> float:
    """Plug-in mutual information in bits; every choice has the same weight."""
    pairs = Counter((family[each.context], each.kind) for each in found)
    rows, columns = Counter[str](), Counter[str]()
    for (row, column), n in pairs.items():
        rows[row] += n
        columns[column] += n
    total = len(found)
    return sum(
        n / total * log2(n * total / (rows[row] * columns[column])) for (row, column), n in pairs.items()
    )


@cache
def _titles() -> dict[str, str]:
    return {each.title: each.name for each in ENTRIES}


def _digest(before: str, after: str) -> str:
    added = sorted((_statements(after) - _statements(before)).elements())
    return hashlib.sha256("\n".join(added).encode()).hexdigest()[:8]


def _statements(source: str) -> Counter[str]:
    """The statements of a program, constants blanked."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = 0
    return Counter(ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.stmt))
