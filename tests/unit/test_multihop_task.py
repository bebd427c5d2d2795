"""Multi-hop questions: every format read alike, nothing private shown, groups kept together."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bm25s")

from loriner.errors import TaskError
from loriner.tasks.base import SPLITS
from loriner.tasks.by_name import open_task
from loriner.tasks.check import check
from loriner.tasks.multihop.rows import read_corpus, read_rows
from loriner.tasks.multihop.task import corpus_of, group_leaders, open_multihop, recall_at
from loriner.tasks.retrieval import Bm25, Passage

REAL = Path(os.environ.get("LORINER_MULTIHOP", "no-such-folder"))
"""A folder of real questions: musique.jsonl, hotpotqa.jsonl, 2wikimultihopqa.jsonl."""


def musique(number: int, hops: str = "2hop", parts: str = "") -> dict[str, object]:
    return {
        "id": f"{hops}__{parts or f'{number}_{number + 1000}'}",
        "paragraphs": [
            {"idx": 0, "title": "Vela", "paragraph_text": f"Vela {number} is a town.", "is_supporting": True},
            {
                "idx": 1,
                "title": "Vela",
                "paragraph_text": f"Vela {number} is a ship.",
                "is_supporting": False,
            },
        ],
        "question": f"What is Vela {number}?",
        "question_decomposition": [{"id": number, "question": "secret step", "answer": "a town"}],
        "answer": "a town",
        "answer_aliases": ["municipality"],
        "answerable": True,
    }


HOTPOT = {
    "_id": "5a7a",
    "question": "Were Ann and Bob both poets?",
    "answer": "yes",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": [["Ann", 0], ["Bob", 0]],
    "context": [["Ann", ["Ann wrote.", " She wrote poems."]], ["Bob", ["Bob wrote."]], ["Cy", ["Cy sang."]]],
}
HUB = {
    "id": "5a7a",
    "question": HOTPOT["question"],
    "answer": "yes",
    "supporting_facts": {"title": ["Ann", "Bob"], "sent_id": [0, 0]},
    "context": {
        "title": ["Ann", "Bob", "Cy"],
        "sentences": [["Ann wrote.", " She wrote poems."], ["Bob wrote."], ["Cy sang."]],
    },
}


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_official_and_hub_formats_read_alike(tmp_path):
    (tmp_path / "official.json").write_text(json.dumps([HOTPOT]))
    (official,) = read_rows("hotpotqa", tmp_path / "official.json")
    (hub,) = read_rows("hotpotqa", lines(tmp_path / "hub.jsonl", HUB))
    as_text = {**HOTPOT, "context": json.dumps(HOTPOT["context"])}
    (text,) = read_rows("hotpotqa", lines(tmp_path / "text.jsonl", as_text))
    assert official == hub == text
    assert official.passages[0] == Passage("Ann", "Ann wrote. She wrote poems.")
    assert {passage.title for passage in official.supporting} == {"Ann", "Bob"}


def test_sentences_of_2wiki_get_their_blank(tmp_path):
    row = {
        **HOTPOT,
        "context": [["Ann", ["Ann wrote.", "She wrote poems."]]],
        "evidences": [],
        "answer_id": "Q1",
    }
    (read,) = read_rows("2wikimultihopqa", lines(tmp_path / "x.jsonl", row))
    assert read.passages[0].text == "Ann wrote. She wrote poems."


def test_passages_with_one_title_stay_apart(tmp_path):
    """WeAgentAI/LLM-Wiki 1: merged by title, evidence was lost.

    OSU-NLP-Group/HippoRAG 57: recall by title.
    """
    rows = read_rows("musique", lines(tmp_path / "m.jsonl", musique(1), musique(2)))
    corpus = corpus_of(rows)
    assert len(corpus) == 4
    assert recall_at(1, rows[:1], Bm25([passage for passage in corpus if "ship" in passage.text])) == 0.0
    assert recall_at(4, rows, Bm25(corpus)) == 1.0


def test_questions_that_share_a_step_share_a_split(tmp_path):
    chain = [musique(i, parts=f"{i}_{i + 1}") for i in range(40)]
    rows = read_rows("musique", lines(tmp_path / "m.jsonl", *chain, musique(100), musique(200)))
    leaders = group_leaders(rows)
    assert len(set(leaders.values())) == 3
    task = open_multihop("musique", tmp_path / "m.jsonl")
    sizes = sorted(len(task._splits[split]) for split in SPLITS)
    assert sizes[-1] >= 40


async def test_nothing_private_reaches_a_harness(tmp_path):
    file = lines(tmp_path / "m.jsonl", *(musique(i, hops="4hop1") for i in range(60)))
    for pool in (False, True):
        task = open_multihop("musique", file, pool=pool)
        for split in SPLITS:
            for question in task.questions(split):
                shown = question.text + question.id + task.description + task.name
                assert not any(
                    word in shown for word in ("municipality", "secret", "hop1", "__", "supporting")
                )
    found = await open_multihop("musique", file).tools["search"](query="Vela 7 ship", k=2)
    assert [sorted(passage) for passage in found] == [["text", "title"]] * 2


async def test_answers_and_aliases_score(tmp_path):
    task = open_multihop("musique", lines(tmp_path / "m.jsonl", *(musique(i) for i in range(60))))
    question = task.questions("test")[0]
    assert (await task.score(question, "The Municipality.")).value == 1.0
    near = await task.score(question, "small town")
    assert (near.value, near.extra) == (0.0, {"em": 0.0, "f1": pytest.approx(2 / 3)})
    assert (await check(task)).passed
    assert task.seed_harness == "retrieval"


async def test_the_pool_setting_shows_the_passages(tmp_path):
    task = open_multihop("musique", lines(tmp_path / "m.jsonl", *(musique(i) for i in range(60))), pool=True)
    question = task.questions("test")[0]
    assert question.text.startswith("[1] Vela\nVela ")
    assert "\n\n[2] Vela\n" in question.text
    assert question.text.rpartition("\n\n")[2].startswith("Question: What is Vela")
    assert task.tools == {}


def test_rows_are_picked_by_their_official_split(tmp_path):
    rows = [{**musique(i), "split": "dev" if i < 40 else "train"} for i in range(60)]
    file = lines(tmp_path / "m.jsonl", *rows)
    dev, train = (open_task(name, home=tmp_path) for name in (f"musique:{file}", f"musique:{file}:train"))
    ids = [{q.id for split in SPLITS for q in task.questions(split)} for task in (dev, train)]
    assert [len(each) for each in ids] == [40, 20]
    assert not ids[0] & ids[1]
    pool = open_task(f"musique:{file}:pool:train", home=tmp_path)
    assert pool.name == "musique:pool"
    with pytest.raises(TaskError, match="no row of the split 'test'"):
        open_multihop("musique", file, part="test")


def test_a_corpus_may_stand_apart(tmp_path):
    question = {"id": "q", "question": "Who sang?", "answer": "Cy", "supporting_titles": ["Cy"]}
    corpus = lines(tmp_path / "c.jsonl", {"title": "Cy", "text": "Cy sang."}, {"title": "D", "text": "Dull."})
    rows = read_rows("2wikimultihopqa", lines(tmp_path / "q.jsonl", question))
    assert recall_at(1, rows, Bm25(read_corpus(corpus))) == 1.0
    task = open_task(f"2wikimultihopqa:{tmp_path / 'q.jsonl'},{corpus}", home=tmp_path)
    assert "among 2" in task.description


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no question"),
        ("[]", "holds no question"),
        ("{", "neither JSON Lines nor a JSON list"),
        ('{"id": "a", "question": "q"}', "line 1: not a row of hotpotqa: KeyError"),
        ("[1]", "record 1: not a row"),
        (
            '{"_id": 1, "question": "q", "answer": "a", "context": [["t"]], "supporting_facts": []}',
            "not a row",
        ),
    ],
)
def test_files_in_no_known_format(tmp_path, text, words):
    (tmp_path / "x").write_text(text)
    with pytest.raises(TaskError, match=words):
        read_rows("hotpotqa", tmp_path / "x")


def test_names_that_lack_a_file(tmp_path):
    with pytest.raises(TaskError, match="expected a file, as in musique:FILE"):
        open_task("musique", home=tmp_path)
    with pytest.raises(TaskError, match="cannot read"):
        open_task(f"musique:{tmp_path}/none.jsonl", home=tmp_path)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real questions are not here: set LORINER_MULTIHOP")
@pytest.mark.parametrize(
    ("dataset", "file", "n_passages", "recall"),
    [
        ("musique", "musique", 5845, 46.5),
        ("hotpotqa", "hotpotqa", 2960, 75.2),
        ("2wikimultihopqa", "2wikimultihopqa", 2109, 68.8),
    ],
)
async def test_recall_on_the_real_sets(dataset, file, n_passages, recall):
    rows = read_rows(dataset, REAL / f"{file}.jsonl")
    corpus = corpus_of(rows)
    assert len(corpus) == n_passages
    measured = 100 * recall_at(5, [row for row in rows if row.part == "dev"], Bm25(corpus))
    assert measured == pytest.approx(recall, abs=1.0)
    assert (await check(open_multihop(dataset, REAL / f"{file}.jsonl"))).passed


PROGRAM = """
from pathlib import Path
from loriner.errors import TaskError
from loriner.tasks.base import SPLITS
from loriner.tasks.by_name import open_task
for name in ("musique:hub:owner/musique", "musique:hub:owner/musique:train", "musique:hub:owner/none"):
    try:
        task = open_task(name, home=Path())
        print(sum(len(task.questions(split)) for split in SPLITS))
    except TaskError as error:
        print(error)
"""


def test_a_data_set_by_its_name_on_a_hub(tmp_path):
    """A folder stands in for the hub, through the real library."""
    pytest.importorskip("datasets")
    folder = tmp_path / "owner" / "musique"
    folder.mkdir(parents=True)
    lines(folder / "validation.jsonl", *(musique(i) for i in range(60)))
    lines(folder / "train.jsonl", *(musique(i) for i in range(60, 100)))
    environment = {**os.environ, "HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment,
    )
    dev, train, *words = done.stdout.splitlines()
    assert (dev, train) == ("60", "40")
    assert "cannot read the validation split of owner/none from a hub" in " ".join(words)


def test_a_hub_is_not_asked_offline(tmp_path):
    with pytest.raises(TaskError, match="--offline forbids"):
        open_task("musique:hub:owner/none", home=tmp_path, offline=True)
