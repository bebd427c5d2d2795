"""Multi-hop question answering: MuSiQue, HotpotQA and 2WikiMultiHopQA, in their own files' formats.

In the open setting a harness gets the question and the tool `search` over one corpus: all passages of the
file, or a corpus file. In the pool setting the question's own passages stand in its text. Nothing private
reaches it: no right answer, alias, supporting flag, hop count, decomposition, or the data set's own id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loriner.errors import TaskError
from loriner.records import Score
from loriner.tasks.base import Split
from loriner.tasks.items import Card, Item, ItemTask
from loriner.tasks.multihop.answer_match import exact_match, f1
from loriner.tasks.multihop.hub import PREFIX
from loriner.tasks.multihop.rows import MultihopRow, read_corpus, read_hub, read_rows
from loriner.tasks.retrieval import Bm25, Hit, Passage, search_tool
from loriner.tasks.scorer import InProcess
from loriner.tasks.splits import split_of

SHARES: Mapping[Split, float] = {"feedback": 0.4, "grade": 0.2, "test": 0.4}

_SCORING = (
    "The answer is a short phrase; it scores 1 if it equals an accepted answer, else 0. Case, punctuation "
    "and articles do not count."
)


def open_multihop(
    dataset: str, path: str | Path, *, part: str = "dev", pool: bool = False, corpus: str | Path | None = None
) -> ItemTask:
    """The task of a file of questions, or of a data set on a hub (`hub:OWNER/NAME/CONFIG`).

    `part` picks the rows of one official split where the file names it.

    `pool` puts each question's passages into its text; else `search` is granted over the passages of
    `corpus`, or of all the file's questions.

    Raises:
        TaskError: the file is not in the data set's format, or has no row of that part.
        MissingExtra: bm25s is not installed.
    """
    on_hub = str(path).startswith(PREFIX)
    rows = (
        read_hub(dataset, str(path).removeprefix(PREFIX), part) if on_hub else read_rows(dataset, Path(path))
    )
    chosen = [row for row in rows if row.part in ("", part)]
    if not chosen:
        raise TaskError(f"{path} has no row of the split {part!r}")
    if pool:
        return ItemTask(_pool_card(dataset), by_group(chosen, _with_passages), InProcess(score))
    index = Bm25(read_corpus(Path(corpus)) if corpus else corpus_of(rows))
    return ItemTask(open_card(dataset, index), by_group(chosen, _alone), InProcess(score))


def score(item: Item, answer: str) -> Score:
    """Exact match, with `em` and `f1` beside it."""
    em = exact_match(answer, item["answer"])
    return Score(em, "", {"em": em, "f1": f1(answer, item["answer"], dataset=item["dataset"])})


def corpus_of(rows: Sequence[MultihopRow]) -> list[Passage]:
    """The distinct passages of all rows, in order. Titles repeat with different texts: both count."""
    return list(dict.fromkeys(passage for row in rows for passage in row.passages))


def recall_at(k: int, rows: Sequence[MultihopRow], index: Bm25) -> float:
    """The mean share of a question's evidence among the first k passages found for its own text.

    A passage counts by title and text where the row has its passages, else by title.
    """
    return sum(_recall(row, index.search(row.question, k)) for row in rows) / len(rows)


def _recall(row: MultihopRow, hits: Sequence[Hit]) -> float:
    if row.supporting:
        found = {hit.passage for hit in hits}
        return len(found & row.supporting) / len(row.supporting)
    titles = {hit.passage.title for hit in hits}
    return len(titles & row.supporting_titles) / len(row.supporting_titles)


def by_group(rows: Sequence[MultihopRow], make: Callable[[MultihopRow], Item]) -> dict[Split, list[Item]]:
    """The items of each split; questions that share a part of their reasoning stay together."""
    leaders = group_leaders(rows)
    splits: dict[Split, list[Item]] = {split: [] for split in SHARES}
    for row in rows:
        splits[split_of(leaders[row.id], SHARES)].append(make(row))
    for items in splits.values():
        items.sort(key=lambda item: str(item["id"]))  # ids are hashes: any head is a fair sample
    return splits


def group_leaders(rows: Sequence[MultihopRow]) -> dict[str, str]:
    """For each row id the least part of its group: rows are joined by each part that they share."""
    leader: dict[str, str] = {}

    def find(part: str) -> str:
        while leader.setdefault(part, part) != part:
            part = leader[part]
        return part

    for row in rows:
        first, *others = row.parts
        for other in others:
            one, two = sorted((find(first), find(other)))
            leader[two] = one
    return {row.id: find(row.parts[0]) for row in rows}


def opaque_id(row: MultihopRow) -> str:
    """An id that tells nothing: MuSiQue's own begins with the number of hops."""
    return hashlib.sha256(f"{row.dataset}|{row.id}".encode()).hexdigest()[:16]


def _alone(row: MultihopRow) -> Item:
    return {
        "id": opaque_id(row),
        "question": row.question,
        "answer": list(row.answers),
        "dataset": row.dataset,
    }


def _with_passages(row: MultihopRow) -> Item:
    shown = [f"[{number}] {each.title}\n{each.text}" for number, each in enumerate(row.passages, 1)]
    return {**_alone(row), "question": "\n\n".join([*shown, f"Question: {row.question}"])}


def _pool_card(dataset: str) -> Card:
    about = "Questions whose answer takes facts from several passages, which stand before the question."
    return Card(name=f"{dataset}:pool", description=f"{about} {_SCORING}")


def open_card(name: str, index: Bm25) -> Card:
    """What a task with `search` over an index says of itself."""
    n = len(index.passages)
    about = (
        "Questions whose answer takes facts from several passages. The tool search(query, k=5) finds "
        f"passages by their words among {n:,} and returns a list of dicts with `title` and `text`."
    )
    tools = {"search": search_tool(index)}
    return Card(name=name, description=f"{about} {_SCORING}", seed_harness="retrieval", tools=tools)
