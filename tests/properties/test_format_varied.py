"""Every frame gives its question back, every contract its answer; a breach is told from a wrong answer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loriner.tasks.check import check
from loriner.tasks.reasoning_gym.task import open_family
from loriner.tasks.varied.contracts import FORMS, Contract, extract, write
from loriner.tasks.varied.frames import FRAMES, carries
from loriner.tasks.varied.task import PLACES, VariedTask, render, vary

LINES = st.lists(
    st.text(st.characters(exclude_characters="\n")) | st.sampled_from(["```", "> x", "]]>", "", "  "])
)
QUESTIONS = st.builds("\n".join, LINES).filter(lambda text: "ab12" not in text)
ANSWERS = QUESTIONS.map(str.strip).filter(
    lambda text: not any(c in text for c in "{}") and "final>" not in text and "\r" not in text
)


@pytest.mark.parametrize(("frame", "place"), list(itertools.product(FRAMES, PLACES)))
@given(question=QUESTIONS)
def test_every_frame_gives_the_question_back(frame, place, question):
    if carries(frame, question):
        assert render(question, frame, Contract("tag", "ab12"), place).question == question


@given(question=QUESTIONS, family=st.sampled_from(["maze", "codeio"]), index=st.integers(0, 999))
def test_every_variant_gives_the_question_back(question, family, index):
    varied = vary(question, family=family, index=index, salt="test")
    assert varied.question == question
    assert varied == vary(question, family=family, index=index, salt="test")
    assert not (family == "codeio" and varied.contract.kind == "boxed")


@pytest.mark.parametrize("kind", FORMS)
@given(answer=ANSWERS)
def test_every_contract_gives_the_answer_back(kind, answer):
    contract = Contract(kind, "ab12")
    assert extract(contract, write(contract, answer)) == answer


@pytest.mark.parametrize("kind", [kind for kind in FORMS if kind not in ("bare", "json", "json_key")])
@given(answer=ANSWERS, before=st.text("abc \n"), after=st.text("abc \n"))
def test_words_around_a_delimited_answer_do_no_harm(kind, answer, before, after):
    contract = Contract(kind, "ab12")
    assert extract(contract, f"{before}\n{write(contract, answer)}\n{after}") == answer


@pytest.mark.parametrize("kind", [kind for kind in FORMS if kind != "bare"])
@given(answer=st.text("abc 123", min_size=1))
def test_a_bare_answer_and_two_answers_break_every_other_contract(kind, answer):
    contract = Contract(kind, "ab12")
    assert extract(contract, answer) is None
    reply = write(contract, answer)
    assert extract(contract, f"{reply}\n{reply}") is None


@given(reply=st.text(), kind=st.sampled_from(sorted(FORMS)))
def test_no_reply_raises(reply, kind):
    assert isinstance(extract(Contract(kind, "ab12"), reply), str | None)


@pytest.mark.parametrize(
    ("kind", "reply", "answer"),
    [
        ("json", '{"answer": 5}', None),
        ("json", '{"answer": "5", "why": ""}', None),
        ("json", '```json\n{"answer": "5"}\n```', None),
        ("json", ' {"answer": "5"}\n', "5"),
        ("json", "[" * 100_000, None),
        ("json_key", '{"answer": "5"}', None),
        ("json_key", '{"ab12": "5"}', "5"),
        ("tag", "</final>5<final>", None),
        ("tag", "<final>1\n2</final>", "1\n2"),
        ("boxed", "so \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("boxed", "\\boxed{5", None),
        ("fence", "```answer\r\n5\r\n```\r\n", "5"),
        ("fence", "```\n5\n```", None),
        ("fence", "````answer\n```\n````", "```"),
        ("hash", "so\n#### a\\nb\\\\n", "a\nb\\n"),
        ("hash", "####5", None),
        ("sentinel", "BEGIN ab12\r\n5\r\nEND ab12\r\n", "5"),
        ("sentinel", "BEGIN ab13\n5\nEND ab13", None),
        ("sentinel", "BEGIN ab12 5 END ab12", None),
    ],
)
def test_what_a_reader_takes(kind, reply, answer):
    assert extract(Contract(kind, "ab12"), reply) == answer


def test_variants_are_spread_and_differ_between_splits():
    def variants(salt: str) -> list[tuple[str, str, str]]:
        drawn = [vary("q", family="maze", index=i, salt=salt) for i in range(2000)]
        return [(each.frame, each.contract.kind, each.place) for each in drawn]

    assert len(set(variants("test"))) == 160
    same = sum(a == b for a, b in zip(variants("test"), variants("tt_grade"), strict=True))
    assert same < 60
    bare = sum(kind == "bare" for _, kind, _ in variants("test")) / 2000
    assert 0.08 < bare < 0.18


def test_the_frame_survives_real_readers():
    yaml = pytest.importorskip("yaml")
    for question in ["a\n  b\n\nc", "a: b\n", " lead\nx", "grid\n1 2\n3 4\n\n"]:
        framed = FRAMES["yaml"].wrap(question, "12ab")
        assert yaml.safe_load(framed)["prompt"] == question


async def test_a_varied_family_counts_breaches_apart(tmp_path):
    pytest.importorskip("reasoning_gym")
    task = VariedTask(open_family("count_primes", home=tmp_path, n=12))
    assert task.name == "rg:count_primes+varied"
    question = next(q for q in task.questions("test") if task._inner[q.id][1].contract.kind != "bare")
    assert (await task.score(question, task.right_reply(question))).value == 1.0
    miss = await task.score(question, question.target)
    assert (miss.value, miss.detail) == (0.0, "format_miss")
    assert (await check(task, limit=5)).passed
    await task.close()
