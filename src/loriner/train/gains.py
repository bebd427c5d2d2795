"""What known revisions gained, read off trees: by entry and facts, and by depth.

An entry's gain is its child's mean less its parent's on the grade questions that *every* child was asked, so
that no choice colours it. The gain of a depth is that of the best child on questions that chose nothing, 0
where no child was better on those that did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from loriner.propose.fact_finding import facts_of
from loriner.tasks.varied.task import is_varied
from loriner.train.trees import Child, TreeNode


def table(nodes: Sequence[TreeNode], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """`provenance`, and `gains`: entry → fact → [nodes, mean gain, its standard error]."""
    gains: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for node in nodes:
        asked = node.chosen_on[: node.first]
        for child in node.children:
            gain = node.gain(child, asked)
            for fact in facts(node):
                gains[child.entry][fact].append(gain)
    return {
        "provenance": {**provenance, "nodes": len(nodes), "questions_a_node": _first(nodes)},
        "gains": {
            entry: {fact: _figures(values) for fact, values in sorted(by_fact.items())}
            for entry, by_fact in sorted(gains.items(), key=lambda each: -_mean(each[1]["all"]))
        },
    }


def facts(node: TreeNode) -> Iterator[str]:
    """What is known of a node without knowing its task, as `name=value`; `all` for every node."""
    found = facts_of(node.context)
    yield "all"
    yield f"depth={len(node.path) + 1}"
    yield f"shape={found.shape}"
    yield f"setting={'varied' if is_varied(node.context.task) else 'canonical'}"
    yield f"search={'yes' if found.searches else 'no'}"
    if found.lost:
        yield f"fault={max(found.lost, key=lambda each: found.lost[each])}"


def expected_gains(nodes: Sequence[TreeNode], weight: float = 4.0) -> Callable[[TreeNode, Child], float]:
    """The gain to expect of a child: what it was on the questions that it met, with `weight` more questions
    on which it was what its entry gained on average, on seeds or on revised programs.
    """
    seen: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for node in nodes:
        for child in node.children:
            seen[child.entry, bool(node.path)].append(node.gain(child, node.chosen_on[: node.first]))
    average = {key: _mean(values) for key, values in seen.items()}

    def expected(node: TreeNode, child: Child) -> float:
        n = len(child.scores)
        gain = node.gain(child, list(child.scores))
        return (n * gain + weight * average[child.entry, bool(node.path)]) / (n + weight)

    return expected


def by_depth(nodes: Sequence[TreeNode]) -> dict[int, dict[str, Any]]:
    """By depth: nodes, their mean score, the best child's gain on fresh questions, and on how many nodes a
    child was better.
    """
    found: dict[int, dict[str, Any]] = {}
    for depth in sorted({len(node.path) + 1 for node in nodes}):
        layer = [node for node in nodes if len(node.path) + 1 == depth and node.finished]
        gains = [_best_gain(node) for node in layer]
        found[depth] = {
            "nodes": len(layer),
            "score": _mean([_mean(list(node.scores.values())) for node in layer]),
            "gain": _figures(gains),
            "better": _mean([float(each > 0) for each in map(_chosen_gain, layer)]),
            "same_for_all": _same_for_all(layer),
        }
    return found


def _chosen_gain(node: TreeNode) -> float:
    return node.gain(node.finished[0], node.chosen_on)


def _best_gain(node: TreeNode) -> float:
    return node.gain(node.finished[0], node.fresh) if _chosen_gain(node) > 0 else 0.0


def _same_for_all(layer: Sequence[TreeNode]) -> list[str | float]:
    """The entry that gains most over the layer if it is always taken, with its mean gain; a node on which it
    was not tried counts as 0.
    """
    gains: dict[str, float] = defaultdict(float)
    for node in layer:
        for child in node.children:
            gains[child.entry] += node.gain(child, node.chosen_on[: node.first]) / len(layer)
    return [*max(gains.items(), key=lambda each: each[1])] if gains else []


def _figures(values: Sequence[float]) -> list[float]:
    error = stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return [len(values), round(_mean(values), 4), round(error, 4)]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


def _first(nodes: Sequence[TreeNode]) -> int:
    return max((node.first for node in nodes), default=0)
