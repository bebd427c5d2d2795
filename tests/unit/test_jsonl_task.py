"""A user's own task: what is read, what is refused and in which words, and how it is scored."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loriner.errors import TaskError
from loriner.propose.context import brief_of
from loriner.records import Score
from loriner.tasks.base import SPLITS, Task
from loriner.tasks.jsonl import from_jsonl, load_folder
from loriner.tasks.scorer import ScorerFailed
from loriner.tasks.splits import FEW, by_hash, read_shares, split_of

GOOD = {"id": "a", "question": "2+2?", "answer": "4", "level": 3}


def write(path: Path, *items: object) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def many(n: int) -> list[dict[str, object]]:
    return [{"id": i, "question": f"{i}+1?", "answer": str(i + 1)} for i in range(n)]


def equal(item, answer):
    return float(item["answer"] == answer)


def folder(path: Path, toml: str = "", score: str = "", items: list[dict[str, object]] | None = None) -> Path:
    path.mkdir(exist_ok=True)
    (path / "task.toml").write_text(toml or 'name = "sums"\nitems = "i.jsonl"\nscorer = "score.py:score"\n')
    (path / "score.py").write_text(score or "def score(item, answer):\n    return item['answer'] == answer\n")
    write(path / "i.jsonl", *(many(40) if items is None else items))
    return path


async def test_ten_lines_make_a_task(tmp_path):
    task: Task = from_jsonl(write(tmp_path / "sums.jsonl", *many(60)), scorer=equal)
    assert task.name == "sums"
    assert sum(len(task.questions(split)) for split in SPLITS) == 60
    question = task.questions("grade")[0]
    assert await task.score(question, question.target) == Score(1.0)
    assert await task.score(question, "no") == Score(0.0)
    await task.close()


async def test_the_scorer_sees_the_whole_line(tmp_path):
    seen = []
    task = from_jsonl(write(tmp_path / "t.jsonl", GOOD), lambda item, answer: seen.append(item) or 0.5)
    (question,) = [q for split in SPLITS for q in task._splits[split]]
    await task.score(task._question(question), "x")
    assert seen[-1]["level"] == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ["line 2", "expected a JSON object"]),
        ("[1]", ["line 2", "found a list"]),
        ("null", ["line 2", "found null"]),
        ('{"id": "b", "question": "q"}', ["line 2", "no 'answer'", "found the keys id, question"]),
        ('{"question": "q", "answer": "x"}', ["line 2", "no 'id'"]),
        ('{"id": "a", "question": "q", "answer": "x"}', ["line 2", "'a'", "line 1"]),
        ('{"id": true, "question": "q", "answer": "x"}', ["line 2", "'id'", "true or false"]),
        ('{"id": 1.5, "question": "q", "answer": "x"}', ["line 2", "'id'", "1.5"]),
        ('{"id": "b", "question": 7, "answer": "x"}', ["line 2", "'question'", "a number (7)"]),
        ('{"id": "b", "question": "  ", "answer": "x"}', ["line 2", "'question'"]),
        ('{"id": "b", "question": "q", "answer": null}', ["line 2", "null"]),
        ("[" * 100_000, ["line 2", "deeply"]),
    ],
)
def test_a_bad_line_is_refused_with_its_place(tmp_path, line, words):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + line + "\n")
    with pytest.raises(TaskError) as caught:
        from_jsonl(path, equal)
    assert str(path) in str(caught.value)
    assert [word for word in words if word not in str(caught.value)] == []


def test_ids_that_read_alike_are_repeated(tmp_path):
    with pytest.raises(TaskError, match=r"line 2: the id '1' stands in line 1"):
        from_jsonl(write(tmp_path / "t.jsonl", {**GOOD, "id": 1}, {**GOOD, "id": "1"}), equal)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(TaskError, match="No such file"):
        from_jsonl(tmp_path / "absent.jsonl", equal)
    with pytest.raises(TaskError, match="Is a directory"):
        from_jsonl(tmp_path, equal)
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(TaskError, match="holds no item"):
        from_jsonl(tmp_path / "empty.jsonl", equal)
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(GOOD).encode() + b'\n{"id": "\xe9"}')
    with pytest.raises(TaskError, match=r"line 2: not UTF-8 \(byte 0xe9\)"):
        from_jsonl(tmp_path / "latin.jsonl", equal)


def test_windows_files_and_line_separators_inside_text(tmp_path):
    text = json.dumps({**GOOD, "question": "a\u2028b"}, ensure_ascii=False)
    (tmp_path / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n")
    assert len(from_jsonl(tmp_path / "t.jsonl", equal)._items) == 1


def test_new_lines_move_no_old_one(tmp_path):
    before = from_jsonl(write(tmp_path / "a.jsonl", *many(FEW + 10)), equal)
    after = from_jsonl(write(tmp_path / "b.jsonl", *reversed(many(2 * FEW))), equal)
    for split in SPLITS:
        old = {question.id for question in before.questions(split)}
        assert old == {question.id for question in after.questions(split) if int(question.id) < FEW + 10}


@given(n=st.integers(3, 120), first=st.integers(5, 60), second=st.integers(5, 35))
def test_few_items_have_exactly_their_shares(n, first, second):
    shares = {"feedback": first / 100, "grade": second / 100, "test": 1 - (first + second) / 100}
    splits = by_hash(many(n), shares)
    for split, share in shares.items():
        assert abs(len(splits[split]) - n * share) <= 1
    assert splits == by_hash(list(reversed(many(n))), shares)


def test_a_line_may_name_its_split(tmp_path):
    named = [
        {**item, "split": word} for item, word in zip(many(30), ["train", "val", "test"] * 10, strict=True)
    ]
    task = from_jsonl(write(tmp_path / "t.jsonl", *named), equal)
    assert [sorted(int(q.id) % 3 for q in task.questions(split)) for split in SPLITS] == [
        [0] * 10,
        [1] * 10,
        [2] * 10,
    ]
    half = from_jsonl(write(tmp_path / "h.jsonl", *named[:10], *many(30)[10:]), equal)
    assert {int(q.id) for q in half.questions("test")} >= {2, 5, 8}
    assert sum(len(half.questions(split)) for split in SPLITS) == 30


@pytest.mark.parametrize("word", ["tset", "", 3, None, ["test"]])
def test_a_split_that_does_not_exist_is_refused_with_its_line(tmp_path, word):
    with pytest.raises(TaskError, match=r"line 2: 'split' is .*expected one of train, val"):
        from_jsonl(write(tmp_path / "t.jsonl", many(2)[0], {**many(2)[1], "split": word}), equal)


def test_one_question_in_two_named_splits_is_refused(tmp_path):
    one, other = {**GOOD, "split": "train"}, {**GOOD, "id": "again", "split": "test"}
    with pytest.raises(TaskError, match=r"'again' \(test\) have the same question"):
        from_jsonl(write(tmp_path / "t.jsonl", one, other), equal)


def test_shares_are_met_about(tmp_path):
    task = from_jsonl(write(tmp_path / "t.jsonl", *many(2000)), equal)
    shares = [len(task.questions(split)) / 2000 for split in SPLITS]
    assert shares == pytest.approx([0.3, 0.3, 0.4], abs=0.04)


def test_the_same_question_twice_stays_in_one_split(tmp_path):
    items = many(40)
    task = from_jsonl(
        write(tmp_path / "t.jsonl", *items, *({**i, "id": f"again{i['id']}"} for i in items)), equal
    )
    texts = [{question.text for question in task.questions(split)} for split in SPLITS]
    assert sum(map(len, texts)) == len(set.union(*texts)) == 40


def test_train_and_val_are_other_words():
    assert read_shares({"train": 0.5, "val": 0.25, "test": 0.25}, "") == {
        "feedback": 0.5,
        "grade": 0.25,
        "test": 0.25,
    }


@pytest.mark.parametrize(
    ("shares", "words"),
    [
        ({"feedback": 0.5, "grade": 0.6}, "sum to 1.1"),
        ({"feedback": -1, "test": 2}, "number from 0 to 1"),
        ({"feedback": True}, "number from 0 to 1"),
        ({"feedback": math.nan, "test": 1}, "number from 0 to 1"),
        ({"train": 0.5, "feedback": 0.5}, "given twice"),
        ({"holdout": 1.0}, "no split is called 'holdout'"),
        ({}, "sum to 0"),
    ],
)
def test_shares_that_make_no_split(shares, words):
    with pytest.raises(TaskError, match=words):
        read_shares(shares, "here")


def test_a_share_of_nothing_gets_nothing():
    assert {split_of(str(i), {"feedback": 0.0, "grade": 1.0, "test": 0.0}) for i in range(500)} == {"grade"}


def test_an_empty_split_says_what_was_found(tmp_path):
    task = from_jsonl(write(tmp_path / "t.jsonl", *many(4)), equal, split={"feedback": 1.0})
    with pytest.raises(TaskError, match=r"no test question \(found: feedback 4, grade 0, test 0\)"):
        task.questions("test")


@pytest.mark.parametrize("returned", [1.5, -0.1, math.nan, math.inf, "1", None, [1], {"score": 1}])
async def test_a_scorer_that_breaks_its_contract(tmp_path, returned):
    task = from_jsonl(write(tmp_path / "t.jsonl", *many(20)), lambda item, answer: returned)
    with pytest.raises(TaskError, match=r"on item .* returned .*expected a"):
        await task.score(task.questions("test")[0], "x")


async def test_numbers_of_all_kinds_are_scores(tmp_path):
    for returned, value in [(True, 1.0), (0, 0.0), (0.25, 0.25), (Score(0.5, "near"), 0.5)]:
        task = from_jsonl(write(tmp_path / "t.jsonl", *many(20)), lambda item, answer, r=returned: r)
        assert (await task.score(task.questions("test")[0], "x")).value == value


async def test_an_answer_that_breaks_the_scorer_scores_nothing(tmp_path):
    task = from_jsonl(write(tmp_path / "t.jsonl", *many(20)), lambda item, answer: float(int(answer) > 0))
    score = await task.score(task.questions("test")[0], "junk")
    assert (score.value, score.detail) == (0.0, "scorer_error")
    assert "ValueError" in score.extra["message"]


async def test_a_scorer_that_fails_on_the_right_answer_is_named(tmp_path):
    task = from_jsonl(write(tmp_path / "t.jsonl", *many(20)), lambda item, answer: item["gold"] == answer)
    with pytest.raises(TaskError, match=r"fails on the right answer of item .*KeyError: 'gold'"):
        await task.score(task.questions("test")[0], "x")


async def test_a_scorer_that_hangs_on_the_right_answer_is_named(tmp_path):
    task = load_folder(
        folder(tmp_path / "t", score="def score(item, answer):\n    while True:\n        pass\n")
    )
    with pytest.raises(ScorerFailed, match=r"fails on the right answer of item .*scorer_timeout: used more"):
        await task.score(task.questions("test")[0], "x")
    await task.close()


async def test_a_right_answer_further_on_that_breaks_the_scorer_is_named_when_it_is_met(tmp_path):
    broken = []

    def scorer(item, answer):
        return 0.5 if item["id"] not in broken else item["gold"]

    task = from_jsonl(write(tmp_path / "t.jsonl", *many(20)), scorer)
    first, *_, last = task.questions("test")
    broken.append(last.id)
    assert (await task.score(first, "x")).value == 0.5
    with pytest.raises(ScorerFailed, match=f"right answer of item '{last.id}': scorer_error: KeyError"):
        await task.score(last, "x")


async def test_the_scorer_is_tried_on_the_first_right_answer_that_is_text_or_a_number(tmp_path):
    items = [{"id": i, "question": f"{i}?", "answer": [i] if i % 2 else i} for i in range(40)]
    tried = []

    def scorer(item, answer):
        tried.append((item["answer"], answer))
        return 0.0

    task = from_jsonl(write(tmp_path / "t.jsonl", *items), scorer)
    await task.score(task.questions("test")[0], "x")
    (target, answer), _ = tried
    assert answer == str(target)


async def test_a_folder_is_a_task(tmp_path):
    toml = (
        'name = "sums"\nitems = "i.jsonl"\nscorer = "score.py:score"\ndescription = "Add one."\n'
        'seed_harness = "retrieval"\ntools = ["score.py:double"]\nsplit = { train = 0.5, test = 0.5 }\n'
    )
    score = (
        "def score(item, answer):\n    return item['answer'] == answer\n\ndef double(n):\n    return 2 * n\n"
    )
    task = load_folder(folder(tmp_path / "t", toml, score))
    assert (task.name, task.description, task.seed_harness) == ("sums", "Add one.", "retrieval")
    question = task.questions("test")[0]
    assert (await task.score(question, question.target)).value == 1.0
    assert (await task.score(question, "x")).value == 0.0
    assert await task.tools["double"](n=21) == 42
    with pytest.raises(ValueError, match="double: TypeError"):
        await task.tools["double"](m=1)
    await task.close()
    await task.close()


@pytest.mark.parametrize(
    ("source", "called"),
    [
        (
            'def look(code: str, *, deep=False) -> dict:\n    """The order.\n\n    More."""\n',
            "look(code: str, *, deep=False) -> dict: The order.",
        ),
        ("async def look(code='a'): ...\n", "look(code='a')"),
        ("from other import look\n", "look(...)"),
        ("def look(\n", "look(...)"),
        ("raise SystemExit\ndef look(a): ...\n", "look(a)"),
    ],
)
def test_a_tool_says_how_it_is_called_and_its_file_is_not_run(tmp_path, source, called):
    toml = 'name = "x"\nitems = "i.jsonl"\nscorer = "score.py:score"\ntools = ["tools.py:look"]\n'
    made = folder(tmp_path / "t", toml)
    (made / "tools.py").write_text(source)
    brief = brief_of("x", "", load_folder(made).tools)
    assert brief.tool_help == {"look": called}
    assert "look" in brief.tools


def test_a_function_says_how_it_is_called_itself():
    async def look(code: str) -> dict[str, str]:
        """The order of this code."""
        return {}

    brief = brief_of("x", "", {"look": look, "odd": print})
    assert brief.tool_help["look"] == "look(code: str) -> dict[str, str]: The order of this code."
    assert brief.tool_help["odd"].startswith("odd(")


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('name = "x"\nitems = "i.jsonl"\nscorer = "score.py:score"\nsplits = {}\n', "did you mean 'split'"),
        ('name = "x"\nitems = "i.jsonl"\nscorer = "score.py:score"\nzzz = 1\n', "expected name, items"),
        ('name = "x"\nitems = "i.jsonl"\n', "no 'scorer'"),
        ('name = 3\nitems = "i.jsonl"\nscorer = "score.py:score"\n', "expected 'name' as text; found 3"),
        (
            'name = "x"\nitems = "i.jsonl"\nscorer = "score.py:score"\ntools = "a"\n',
            "expected 'tools' as a list",
        ),
        ('name = "x"\nitems = "i.jsonl"\nscorer = "score.py:score"\nsplit = 3\n', "'split' as a table"),
        ('name = "x"\nitems = "i.jsonl"\nscorer = "score.py"\n', "expected FILE.py:FUNCTION"),
        ('name = "x"\nitems = "i.jsonl"\nscorer = "gone.py:score"\n', "gone.py, which is no file"),
        ('name = "x"\nitems = "gone.jsonl"\nscorer = "score.py:score"\n', "gone.jsonl: No such file"),
        ("name = \n", "task.toml: Invalid value"),
    ],
)
def test_a_wrong_folder_is_refused(tmp_path, toml, words):
    with pytest.raises(TaskError, match=words):
        load_folder(folder(tmp_path / "t", toml))


def test_a_folder_without_its_file(tmp_path):
    with pytest.raises(TaskError, match=r"cannot read .*task\.toml: No such file"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "b", "question": "q", "answer": NaN}', "line 2: expected a JSON object; NaN is no JSON"),
        ('{"id": "b", "question": "q", "answer": [-Infinity]}', "line 2: .*-Infinity is no JSON"),
        ('{"id": "b", "question": "q", "answer": 1e999}', "line 2: .*1e999 is too large"),
        ('{"id": "b", "question": "\\ud83d", "answer": "x"}', "line 2: .*half of a surrogate pair"),
    ],
)
def test_json_that_only_python_reads_is_refused_with_its_place(tmp_path, line, words):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + line + "\n")
    with pytest.raises(TaskError, match=words):
        from_jsonl(path, equal)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps([GOOD, GOOD], indent=1), "one JSON array of 2 items"),
        (json.dumps([GOOD]), "one JSON array of 1 items"),
        (json.dumps({"data": [GOOD]}, indent=1), "one JSON object over several lines"),
        ("id,question,answer\n1,2+2?,4\n", "a table with commas .*loriner tasks new NAME --from FILE.csv"),
        ('"question"\t"answer"\n2+2?\t4\n', "a table with tabs"),
    ],
)
def test_a_file_of_another_shape_is_named_as_what_it_is(tmp_path, text, words):
    path = tmp_path / "t.jsonl"
    path.write_text(text)
    with pytest.raises(TaskError, match=words):
        from_jsonl(path, equal)


async def test_a_scorer_cannot_change_the_items(tmp_path):
    def spoils(item, answer):
        right = item["answer"].pop("at")
        item["question"] = ""
        return float(str(right) == answer)

    items = [{"id": i, "question": f"{i}?", "answer": {"at": i}} for i in range(40)]
    task = from_jsonl(write(tmp_path / "t.jsonl", *items), spoils)
    question = task.questions("test")[0]
    scores = [(await task.score(question, question.id)).value for _ in range(3)]
    assert scores == [1.0, 1.0, 1.0]
    assert task.questions("test")[0] == question
