"""Reading the files of the multi-hop data sets into one kind of row.

Known: MuSiQue's JSONL (`paragraphs` with `paragraph_text`); the JSON lists of HotpotQA and 2WikiMultiHopQA
(`context` and `supporting_facts` as pairs), also in the column form of a hub's `datasets` library; plain
JSONL with `paragraphs` of `title`, `text` and `is_supporting`, or `supporting_titles` for a corpus apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loriner.errors import TaskError
from loriner.tasks import strict_json
from loriner.tasks.multihop.answer_match import DATASETS
from loriner.tasks.multihop.hub import hub_records
from loriner.tasks.retrieval import Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class MultihopRow:
    """One question with all that the data set says of it. None of it but the question reaches a harness."""

    dataset: str
    id: str
    part: str
    """The official split: `dev`, `train`; empty where the file does not say."""
    question: str
    answers: tuple[str, ...]
    """The answer and its aliases."""
    passages: tuple[Passage, ...]
    supporting: frozenset[Passage]
    supporting_titles: frozenset[str]

    @property
    def parts(self) -> list[str]:
        """What the question is made of, for grouping: MuSiQue's id lists its single-hop questions."""
        _, _, rest = self.id.partition("__")
        if self.dataset == "musique" and rest:
            return rest.split("_")
        return [" ".join(self.question.split())]


def read_rows(dataset: str, path: Path) -> list[MultihopRow]:
    """The rows of a file: JSON Lines or one JSON list.

    Raises:
        TaskError: it cannot be read, or a row is not in a known format.
    """
    return _rows(dataset, _records(path), str(path))


def read_hub(dataset: str, name: str, part: str) -> list[MultihopRow]:
    """The rows of a split of a data set on a hub.

    Raises:
        TaskError, MissingExtra: as `hub_records`; or a row is not in a known format.
    """
    return _rows(dataset, hub_records(name, part), name)


def _rows(dataset: str, records: Iterable[tuple[str, Mapping[str, Any]]], origin: str) -> list[MultihopRow]:
    if dataset not in DATASETS:
        raise TaskError(f"no data set is called {dataset!r}; expected one of {', '.join(DATASETS)}")
    rows = [_row(dataset, record, where) for where, record in records]
    if not rows:
        raise TaskError(f"{origin} holds no question")
    return rows


def read_corpus(path: Path) -> list[Passage]:
    """The passages of a corpus file: `title` and `text` (or `paragraph_text`) in each record.

    Raises:
        TaskError: it cannot be read.
    """
    try:
        return [_passage(record) for _, record in _records(path)]
    except (KeyError, TypeError) as error:
        raise TaskError(f"{path}: expected title and text in each record; {error!r}") from error


def _records(path: Path) -> Iterable[tuple[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"cannot read {path}: {error}") from error
    try:
        if text.lstrip().startswith("["):
            return [
                (f"{path}, record {number}", each) for number, each in enumerate(strict_json.loads(text), 1)
            ]
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        return [(f"{path}, line {number}", strict_json.loads(line)) for number, line in lines]
    except ValueError as error:
        raise TaskError(f"{path} is neither JSON Lines nor a JSON list: {error}") from error


def _row(dataset: str, record: Mapping[str, Any], where: str) -> MultihopRow:
    try:
        flagged = _flagged_passages(record)
        titles = record.get("supporting_titles") or [passage.title for passage, flag in flagged if flag]
        aliases = record.get("answer_aliases") or []
        return MultihopRow(
            dataset=dataset,
            id=str(record["_id"] if "_id" in record else record["id"]),
            part=str(record.get("split", "")),
            question=_text(record["question"]),
            answers=tuple(dict.fromkeys(map(_text, [record["answer"], *aliases]))),
            passages=tuple(passage for passage, _ in flagged),
            supporting=frozenset(passage for passage, flag in flagged if flag),
            supporting_titles=frozenset(titles),
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise TaskError(f"{where}: not a row of {dataset}: {error!r}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text; found {value!r:.60}")
    return value


def _flagged_passages(record: Mapping[str, Any]) -> list[tuple[Passage, bool]]:
    """The row's passages, each with whether it is evidence."""
    if "paragraphs" in record:
        return [(_passage(each), bool(each["is_supporting"])) for each in record["paragraphs"]]
    if "context" not in record:
        record["supporting_titles"]  # a corpus apart: the titles say what is evidence
        return []
    evidence = set(_columns(record["supporting_facts"], "title", "sent_id", titles_only=True))
    pairs = _columns(record["context"], "title", "sentences")
    return [(Passage(title, _join(sentences)), title in evidence) for title, sentences in pairs]


def _columns(value: Any, first: str, second: str, *, titles_only: bool = False) -> list[Any]:
    """Pairs, given as pairs, as two columns, or as JSON text of either."""
    value = json.loads(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        second = second if second in value else "content"
        value = list(zip(value[first], value[second], strict=True))
    return [pair[0] for pair in value] if titles_only else [(pair[0], pair[1]) for pair in value]


def _join(sentences: list[str]) -> str:
    """HotpotQA's sentences begin with their blank, those of 2WikiMultiHopQA do not."""
    return " ".join("".join(f" {sentence}" for sentence in sentences).split())


def _passage(record: Mapping[str, Any]) -> Passage:
    return Passage(record["title"], record["text"] if "text" in record else record["paragraph_text"])
