"""What the revised programs do: each is run beside a small `tools.py` and a model whose replies are given."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from loriner.harness.contract import from_library
from loriner.harness.edits import revise
from loriner.propose.catalogue import offered
from loriner.records import Context
from makers import context, feedback

TOOLS = """
PAIRS = {pairs!r}
PASSAGES = [
    {{
        "title": "Mill",
        "text": "The mill was opened in 1890 and is looked after by Ida Brandt. Millers may come between 5 "
        "and 7. It is locked at 18:30.",
    }},
    {{
        "title": "Inn",
        "text": "The inn has nine rooms; a room is 45 euros. Guests stay for two weeks at most, and put "
        "bicycles into the old stable. It is shut on Monday.",
    }},
    {{"title": "Dock", "text": "The dock behind hall 5 is cleaned twice a year."}},
]


def examples(query=None, k=5):
    return [{{"question": question, "answer": answer}} for question, answer in PAIRS[:k]]


def search(query, k=5):
    return PASSAGES[:k]


def run_python(code):
    return "42\\n"
"""
DRIVER = """
import json, sys
from harness import solve

replies, question = json.loads(sys.argv[1])
asked = []


class Model:
    def chat(self, messages, **options):
        asked.append([[each["role"], each["content"]] for each in messages])
        return replies[min(len(asked), len(replies)) - 1]

    def __call__(self, prompt, *, system=None, n=1, **options):
        head = [{"role": "system", "content": system}] if system else []
        said = [self.chat([*head, {"role": "user", "content": prompt}]) for _ in range(n)]
        return said if n > 1 else said[0]

    def batch(self, prompts, **options):
        return [self(prompt, **options) for prompt in prompts]


print(json.dumps([str(solve(Model(), question)), asked]))
"""
CHOICE = [
    ("cold radiator", "heating"),
    ("key broke", "locks"),
    ("no warmth", "heating"),
    ("door jams", "locks"),
]
OBJECT = [
    ("trip of 3 May", '{"day": "2026-05-03", "km": 12, "boat": "Tern"}'),
    ("trip of 4 May", '{"day": "2026-05-04", "km": 7.5, "boat": "Gull"}'),
]
DATE = [("first?", "2026-05-03"), ("second?", "2026-05-04")]
NUMBER = [("how far?", "1.5"), ("how wide?", "3.25")]
FACT = [("Who rows?", "Ida Brandt"), ("Who steers?", "Tom Wieland")]
GRID = [("grid?", "1 2\n3 4"), ("and?", "5 6\n7 8")]


@dataclass(frozen=True)
class Ran:
    answer: str
    asked: list[list[tuple[str, str]]]

    @property
    def prompts(self) -> str:
        return "\n".join(text for talk in self.asked for _, text in talk)


def given(pairs: list[tuple[str, str]], library: str) -> Context:
    shown = [replace(feedback(target=target), question=question) for question, target in pairs]
    tools = ("examples", "run_python", "search") if library == "retrieval" else ("examples", "run_python")
    seen = context(*shown, harness=from_library(library), tools=tools)
    return replace(seen, description="Messages of {tenants}: which 'team'?")


def run(
    folder: Path,
    entry: str,
    pairs: list[tuple[str, str]],
    *replies: str,
    library: str = "minimal",
    then: str = "",
    question: str = "the radiator hums",
) -> Ran:
    """The program that an entry makes of a library harness (and then another entry of it), run once."""
    seen = given(pairs, library)
    for name in filter(None, (entry, then)):
        text = next(text for each, text in offered(seen) if each.name == name)
        seen = replace(seen, harness=revise(seen.harness, text)[1])
    (folder / "harness.py").write_text(seen.harness.source)
    (folder / "tools.py").write_text(TOOLS.format(pairs=pairs))
    (folder / "driver.py").write_text(DRIVER)
    command = [sys.executable, "driver.py", json.dumps([replies, question])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    answer, asked = json.loads(done.stdout)
    return Ran(answer, [[(role, text) for role, text in talk] for talk in asked])


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("heating", "heating"),
        ("Heating.", "heating"),
        ("It goes to LOCKS, I think", "locks"),
        ("heatin", "heating"),
    ],
)
def test_the_nearest_option_is_returned(tmp_path: Path, reply: str, answer: str) -> None:
    ran = run(tmp_path, "options_named", CHOICE, reply)
    assert ran.answer == answer
    assert "- heating\n- locks" in ran.prompts and "Messages of {tenants}" in ran.prompts
    assert run(tmp_path, "nearest_option", CHOICE, f"<answer>{reply}</answer>").answer == answer


def test_a_reply_that_names_no_option_leaves_it_to_the_program_as_it_was(tmp_path: Path) -> None:
    ran = run(tmp_path, "options_named", CHOICE, "no idea", "<answer>locks</answer>")
    assert ran.answer == "locks"
    assert len(ran.asked) == 2


@pytest.mark.parametrize("entry", ["nearest_examples", "fixed_examples"])
def test_examples_are_turns_of_a_talk_that_the_question_ends(tmp_path: Path, entry: str) -> None:
    ran = run(tmp_path, entry, CHOICE, "Locks")
    (talk,) = ran.asked
    assert ran.answer == "locks"
    assert talk[0][0] == "system" and talk[-1] == ("user", "the radiator hums")
    assert {(talk[i][1], talk[i + 1][1]) for i in range(1, len(talk) - 1, 2)} == set(CHOICE)
    assert {role for role, _ in talk[2:-1:2]} == {"assistant"}


def test_the_nearest_example_comes_last(tmp_path: Path) -> None:
    for entry in ("nearest_examples", "examples_in_prompt"):
        prompts = run(tmp_path, entry, CHOICE, "locks").prompts
        assert (
            prompts.index("door jams") < prompts.index("cold radiator") < prompts.index("the radiator hums")
        )


def test_the_nearest_answer_needs_no_model(tmp_path: Path) -> None:
    assert run(tmp_path, "answer_of_the_nearest", CHOICE, "locks") == Ran("heating", [])


def test_an_answer_without_the_shape_falls_back_on_the_nearest_example(tmp_path: Path) -> None:
    assert run(tmp_path, "nearest_as_fallback", CHOICE, "who knows").answer == "heating"
    assert run(tmp_path, "nearest_as_fallback", CHOICE, "Locks!").answer == "locks"


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ('{"day": "2026-05-03", "km": 12, "boat": "Tern"}', {"day": "2026-05-03", "km": 12, "boat": "Tern"}),
        (
            '```json\n{"Day": "3 May 2026", "km": "12,5 km", "extra": 1}\n```',
            {"day": "2026-05-03", "km": 12.5},
        ),
        ('{"day": "May 3rd, 2026", "km": "1,200", "boat": "Te', {"day": "2026-05-03", "km": 1200}),
        (
            "{'day': '03.05.2026', 'km': 7.5, 'boat': 'Gull'}",
            {"day": "2026-05-03", "km": 7.5, "boat": "Gull"},
        ),
    ],
)
def test_an_object_is_repaired_field_by_field(tmp_path: Path, reply: str, wanted: dict[str, object]) -> None:
    for entry in ("keys_named", "object_repaired", "nearest_examples"):
        found = json.loads(run(tmp_path, entry, OBJECT, reply).answer)
        assert list(found) == ["day", "km", "boat"]
        assert wanted.items() <= found.items()


def test_keys_and_types_are_named(tmp_path: Path) -> None:
    prompts = run(tmp_path, "keys_named", OBJECT, "{}").prompts
    assert '- "day": a date written as YYYY-MM-DD\n- "km": a number\n- "boat": a text' in prompts


def test_each_key_can_be_asked_for_alone(tmp_path: Path) -> None:
    ran = run(tmp_path, "field_by_field", OBJECT, "3 May 2026", "12 km", "Tern")
    assert json.loads(ran.answer) == {"day": "2026-05-03", "km": 12, "boat": "Tern"}
    assert len(ran.asked) == 3


@pytest.mark.parametrize(
    ("pairs", "reply", "answer"),
    [
        (DATE, "It was on 4 May 2026.", "2026-05-04"),
        (NUMBER, "about 3,25 m", "3.25"),
        (NUMBER, "none", "none"),
    ],
)
def test_a_typed_answer_is_written_as_right_ones_are(
    tmp_path: Path, pairs: list[tuple[str, str]], reply: str, answer: str
) -> None:
    assert run(tmp_path, "typed_answer", pairs, reply).answer == answer


CODES = [("which?", "AB-12"), ("and?", "C-407"), ("then?", "XYZ-9")]


@pytest.mark.parametrize("reply", ["Take KL-77, please.", "(C-1) or rather KL-77", "`KL-77`"])
def test_what_is_written_as_right_answers_are_is_returned(tmp_path: Path, reply: str) -> None:
    assert run(tmp_path, "pattern_of_answers", CODES, reply).answer == "KL-77"
    assert run(tmp_path, "pattern_of_answers", CODES, "none of those").answer == "none of those"


def test_a_vote_is_taken_over_talks_too(tmp_path: Path) -> None:
    replies = ("locks", "heating", "locks", "heating", "locks")
    ran = run(tmp_path, "nearest_examples", CHOICE, *replies, then="self_consistency")
    assert (ran.answer, len(ran.asked)) == ("locks", 5)


def test_the_answer_alone_is_asked_for(tmp_path: Path) -> None:
    ran = run(tmp_path, "answer_only", FACT, "Answer: **Ida Brandt**.")
    assert ran.answer == "Ida Brandt"
    assert len(ran.asked) == 1 and "with the answer only" in ran.prompts


def test_the_description_stands_before_the_question_or_in_the_system_message(tmp_path: Path) -> None:
    ((_, prompt),) = run(tmp_path, "description_first", GRID, "x").asked[0]
    assert prompt.startswith("Messages of {tenants}: which 'team'?\n\nthe radiator hums")
    ((_, prompt),) = run(tmp_path, "description_first", FACT, "x", library="retrieval").asked[0]
    assert prompt.startswith("Messages of {tenants}: which 'team'?\n\nMill\n")
    talk = run(tmp_path, "description_as_system", GRID, "x").asked[0]
    assert talk[0] == ("system", "Messages of {tenants}: which 'team'?")


def test_a_program_that_holds_the_description_is_not_told_twice(tmp_path: Path) -> None:
    for entry in ("description_first", "description_as_system"):
        with pytest.raises(StopIteration):
            run(tmp_path, "nearest_examples", GRID, "x", then=entry)


def test_a_second_look_keeps_or_replaces_the_answer(tmp_path: Path) -> None:
    assert run(tmp_path, "second_look", CHOICE, "locks", "Yes").answer == "locks"
    assert run(tmp_path, "second_look", CHOICE, "locks", "No.", "Heating").answer == "heating"


def test_few_passages_are_read_with_the_best_one_last(tmp_path: Path) -> None:
    ran = run(tmp_path, "few_passages_best_last", FACT, "Ida", library="retrieval")
    assert ran.answer == "Ida"
    places = [ran.prompts.index(title) for title in ("Inn\n", "Mill\n", "Question:")]
    assert places == sorted(places)


def test_passages_come_with_examples_of_the_form(tmp_path: Path) -> None:
    ran = run(tmp_path, "passages_and_examples", FACT, "Ida", library="retrieval")
    assert "Question: Who rows?\nAnswer: Ida Brandt" in ran.prompts and "Mill\n" in ran.prompts


def test_the_answer_is_read_in_the_quote(tmp_path: Path) -> None:
    ran = run(tmp_path, "quote_first", FACT, "The inn has nine rooms.", "nine", library="retrieval")
    assert ran.answer == "nine"
    assert "Quoted\nThe inn has nine rooms." in ran.asked[1][0][1] and "Mill" not in ran.asked[1][0][1]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who looks after the mills?", "Ida Brandt"),
        ("When is the mill locked?", "18:30"),
        ("Until when may a miller come?", "7"),
        ("In which year was the mill opened?", "1890"),
        ("How many rooms are in the inn?", "nine"),
        ("What does a room of the inn cost?", "45 euros"),
        ("How long is a guest's stay in the inn at most?", "two weeks"),
        ("Where are bicycles of guests put?", "the old stable"),
        ("On which day is the inn shut?", "Monday"),
        ("Behind which hall is the dock?", "hall 5"),
        ("How often is the dock cleaned?", "twice a year"),
    ],
)
def test_an_answer_is_read_by_the_kind_of_the_question(tmp_path: Path, question: str, answer: str) -> None:
    ran = run(tmp_path, "answer_by_kind", FACT, "asked", library="retrieval", question=question)
    assert ran.answer == answer
    assert all("Question: " + question in talk[-1][1] for talk in ran.asked)  # asked only where it doubts


def test_the_model_says_which_of_several_near_spans(tmp_path: Path) -> None:
    question = "When is the mill locked?"
    ran = run(tmp_path, "answer_by_kind", FACT, "From 5 on.", library="retrieval", question=question)
    assert (ran.answer, len(ran.asked)) == ("5", 1)
    ran = run(tmp_path, "answer_by_kind", FACT, "never", library="retrieval", question=question)
    assert ran.answer == "18:30"


@pytest.mark.parametrize("question", ["Is the inn open?", "Wer mahlt?", "Who swims?", "", "\x00 which (?["])
def test_a_question_of_no_kind_goes_to_the_model(tmp_path: Path, question: str) -> None:
    ran = run(tmp_path, "answer_by_kind", FACT, "asked", library="retrieval", question=question)
    assert ran.answer == "asked"


def test_several_queries_and_a_rerank_choose_the_passages(tmp_path: Path) -> None:
    ran = run(tmp_path, "several_queries", FACT, "inn rooms", "nine", library="retrieval")
    assert ran.answer == "nine" and len(ran.asked) == 2
    ran = run(tmp_path, "passages_reranked", FACT, "no", "Yes.", "no", "nine", library="retrieval")
    assert ran.answer == "nine"
    assert "Inn\n" in ran.asked[3][0][1] and "Mill" not in ran.asked[3][0][1]


@pytest.mark.parametrize("then", ["step_by_step", "nearest_option", "nearest_as_fallback", "second_look"])
def test_what_is_added_works_with_what_is_there(tmp_path: Path, then: str) -> None:
    ran = run(tmp_path, "nearest_examples", CHOICE, "Locks", "yes", then=then)
    assert ran.answer == "locks"
