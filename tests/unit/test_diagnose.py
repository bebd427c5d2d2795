"""Each fault is told from the others, by its evidence."""

import pytest

from loriner.diagnosis.faults import bottleneck, diagnose, profile
from loriner.records import Call, Fault, Status, Trial

QUESTION = "How many primes are there between 2 and 40?"


def call(
    reply: str, *, kind: str = "model", cut: bool = False, error: str = "", prompt: str = QUESTION
) -> Call:
    reason = "" if kind != "model" else "length" if cut else "stop"
    return Call(kind=kind, request={"messages": [prompt]}, reply=reply, finish_reason=reason, error=error)


def trial(
    answer: str = "", *calls: Call, status: Status = Status.WRONG, detail: str = "", error: str = ""
) -> Trial:
    if status is Status.WRONG and not answer:
        status = Status.NO_ANSWER
    return Trial(
        task="t",
        harness_id="h",
        question_id="q",
        status=status,
        answer=answer,
        score=0.0,
        calls=calls,
        detail=detail,
        error=error,
    )


def fault(found: Trial, target: str = "12") -> Fault | None:
    diagnosis = diagnose(found, target, QUESTION)
    return diagnosis.fault if diagnosis else None


def crash(last: str, source: str = "return int(reply)", detail: str = "ValueError") -> Trial:
    error = (
        f'Traceback (most recent call last):\n  File "harness.py", line 7, in solve\n    {source}\n{last}\n'
    )
    return trial("", call("I think so."), status=Status.CRASHED, detail=detail, error=error)


def test_right_trials_and_our_own_failures_have_no_fault() -> None:
    assert fault(trial("12", status=Status.OK)) is None
    assert fault(trial(status=Status.INFRA_ERROR)) is None


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("12", "12."),
        ("12", "**12**"),
        ("12", "12.0"),
        ("12", "twelve"),
        ("12", "The answer is 12."),
        ("12", "12 primes"),
        ("12", "There are 12 prime numbers"),
        ("12", "```\n12\n```"),
        ("12", "<answer>12</answer>"),
        ("12", r"\boxed{12}"),
        ("12", "Let me see. 2, 3, 5, ... So there are many.\nAnswer: 12"),
        ("1234", "1,234"),
        ("-4", "\u22124"),
        ("0.5", "1/2"),
        ("Paris", "paris"),
        ("Paris", "It is Paris, I believe"),
        ("olleh", "o l l e h"),
        ("['1', '2', '10']", "1, 2, 10"),
        ("mother-in-law", "mother in law"),
    ],
)
def test_the_target_in_another_dress_is_format(target: str, answer: str) -> None:
    assert fault(trial(answer, call(answer)), target) is Fault.FORMAT


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        ("12", "120"),
        ("12", "-12"),
        ("12", "12, 13, 14"),
        ("12", "1.2"),
        ("A", "A cat sat on the mat"),
        ("3", "There are 3 candidates but the answer is 5"),
        ("['1', '2', '10']", "['10', '2', '1']"),
    ],
)
def test_a_near_miss_is_not_format(target: str, answer: str) -> None:
    assert fault(trial(answer, call(answer)), target) is Fault.REASONING


@pytest.mark.parametrize(
    ("target", "reply"),
    [
        ("12", "2, 3, 5 and so on.\nSo the answer is 12."),
        ("12", "I count them one by one.\n\n12"),
        ("12", "We have 7 below 20 and 5 above, which makes 12."),
        ("12", '```json\n{"why": "counted 5 and 7", "answer": "12"}\n```'),
        ("12", r"Thus $\boxed{12}$ primes up to 40."),
        ("12", "#### 12"),
        ("48291", "First 48291, then we add nothing, so we stop after 2 steps."),
        ("ainomma", "Reversed it reads ainomma, which has 7 letters."),
    ],
)
def test_a_target_stated_in_a_reply_but_not_in_the_answer_is_extraction(target: str, reply: str) -> None:
    found = diagnose(trial("7", call(reply)), target, QUESTION)
    assert found is not None and found.fault is Fault.EXTRACTION
    assert found.where.startswith("call 1 (model), line ")
    assert repr(target) in found.evidence


@pytest.mark.parametrize(
    ("target", "reply"),
    [
        ("3", "There are 3 steps. First count. The answer is 7."),
        ("3", "3. Then add.\n4. The total is 7"),
        ("A", "A prime is a number with two divisors, so 7."),
        ("40", "The primes between 2 and 40 number 7."),
        ("48291", "48291 is too large. Final answer: 7"),
    ],
)
def test_a_target_that_stands_there_by_chance_is_not_extraction(target: str, reply: str) -> None:
    assert fault(trial("7", call(reply)), target) is Fault.REASONING


def test_extraction_names_the_call_and_the_line() -> None:
    found = diagnose(trial("9", call("plan: count"), call("2 3 5\n7 11\nAnswer: 12")), "12", QUESTION)
    assert found is not None
    assert found.where == "call 2 (model), line 3"
    assert "'Answer: 12'" in found.evidence and "'9'" in found.evidence


def test_any_accepted_form_of_the_target_will_do() -> None:
    found = diagnose(trial("the big apple", call("New York City")), ["NYC", "New York City"], "Where?")
    assert found is not None and found.fault is Fault.EXTRACTION


def test_a_tool_output_counts_as_a_reply() -> None:
    assert fault(trial("7", call("code"), call("12\n", kind="run_python"))) is Fault.EXTRACTION
    passage = "Marie Curie was born in Warsaw in 1867."
    assert fault(trial("Paris", call(passage, kind="search")), "Warsaw") is Fault.EXTRACTION


def test_what_was_found_and_not_understood_is_told_from_what_was_not_found() -> None:
    found = call('[{"title": "Curie", "text": "She was born in Warsaw in 1867."}]', kind="search")
    other = call('[{"title": "Curie", "text": "She won two prizes."}]', kind="search")
    wrong, no = call("Paris", prompt=other.reply), call("no", prompt=other.reply)
    assert fault(trial("Paris", found, wrong), "Warsaw") is Fault.MISREAD
    assert fault(trial("Paris", found, call("It is Warsaw")), "Warsaw") is Fault.EXTRACTION
    assert fault(trial("Paris", other, wrong), "Warsaw") is Fault.NOT_RETRIEVED
    assert fault(trial("no", other, no), "yes") is Fault.REASONING  # too short to look for
    seen = diagnose(trial("Paris", other, other, wrong), ["Warsaw", "Warszawa"], QUESTION)
    assert seen is not None
    assert seen.evidence == "no passage of 2 searches states the target 'Warsaw'"


@pytest.mark.parametrize(
    ("answer", "expected", "words"),
    [
        ('{"day": "2026-01-02", "n": 4}', Fault.WRONG_FIELDS, "1 of 2 fields wrong: n (value): '4' for '3'"),
        (
            '{"day": "02.01.2026", "n": 3}',
            Fault.FORMAT,
            "day (format): '02.01.2026' for '2026-01-02'",
        ),
        ('{"n": 3, "total": 1}', Fault.WRONG_FIELDS, "1 of 2 fields wrong: day missing; total extra"),
        ("day 2, three of them", Fault.FORMAT, "is no JSON object"),
    ],
)
def test_objects_are_compared_field_by_field(answer: str, expected: Fault, words: str) -> None:
    found = diagnose(trial(answer, call(answer)), '{"day": "2026-01-02", "n": 3}', QUESTION)
    assert found is not None
    assert found.fault is expected
    assert words in found.evidence


def test_an_option_taken_for_another_is_named() -> None:
    options = {"heating", "locks", "lift"}
    found = diagnose(trial("Locks.", call("Locks.")), "lift", QUESTION, options=options)
    assert found is not None
    assert (found.fault, found.evidence) == (Fault.WRONG_CHOICE, "took 'locks' for 'lift'")
    other = diagnose(trial("doors", call("doors")), "lift", QUESTION, options=options)
    assert other is not None
    assert other.evidence == "the answer 'doors' is none of the 3 seen, 'lift' is right"
    assert fault(trial("doors", call("doors")), "lift") is Fault.REASONING


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([call("")], "empty"),
        ([call("First we list the primes: 2, 3, 5, 7", cut=True)], "max_tokens"),
        ([call("", cut=True)], "truncated_thinking"),
        ([call("<think>hm, let me", cut=True)], "truncated_thinking"),
        ([call("code"), call("", kind="run_python")], "empty"),
        ([call("code"), call("NameError: name 'x' is not defined", kind="run_python")], "NameError"),
        ([call("q"), call("[]", kind="search"), call("I do not know, 7")], "empty"),
        ([call("This prints 7."), call("19", kind="run_python")], "nothing of its output"),
    ],
)
def test_a_call_that_was_not_heard_is_communication(calls: list[Call], words: str) -> None:
    found = diagnose(trial("7", *calls), "12", QUESTION)
    assert found is not None and found.fault is Fault.COMMUNICATION
    assert words in found.evidence


def test_a_dropped_reply_is_communication() -> None:
    assert fault(trial("", call("I would say about eleven"))) is Fault.COMMUNICATION
    assert fault(trial("unknown", call("It is 11."))) is Fault.COMMUNICATION


def test_a_cut_behind_the_conclusion_does_no_harm() -> None:
    assert (
        fault(trial("11", call("Answer: 11\n\nExplanation: the primes are 2, 3", cut=True)))
        is Fault.REASONING
    )


def test_one_lost_vote_of_five_is_no_communication() -> None:
    votes = [call("so 11"), call("I count", cut=True), call("so 11"), call("so 9"), call("so 11")]
    assert fault(trial("11", *votes)) is Fault.REASONING


def test_a_short_verdict_that_only_steers_is_not_unused() -> None:
    assert fault(trial("11", call("11"), call("Yes, correct."))) is Fault.REASONING


@pytest.mark.parametrize(
    ("last", "source"),
    [
        ("TypeError: the model has no argument 'max_token'; it takes system, n", "model(q, max_token=9)"),
        ("TypeError: Model.__call__() takes 2 positional arguments but 3 were given", "model(q, 3)"),
        ("TypeError: the prompt must be text, not list; use model.batch", "model([q])"),
        ("ValueError: max_tokens must be an integer of at least 1, not -1", "model(q, max_tokens=-1)"),
        ("ImportError: the task does not grant the tool 'calc'; granted: none", "from tools import calc"),
        ("AttributeError: 'str' object has no attribute 'text'", "return model(q).text"),
        ("AttributeError: 'Model' object has no attribute 'generate'", "return model.generate(q)"),
        ("TypeError: string indices must be integers, not 'str'", "return reply['content']"),
    ],
)
def test_breaking_the_contract_of_a_call_is_api_misuse(last: str, source: str) -> None:
    assert fault(crash(last, source)) is Fault.API_MISUSE


@pytest.mark.parametrize(
    ("last", "source"),
    [
        ("ValueError: invalid literal for int() with base 10: 'I think so.'", "return int(model(q))"),
        ("IndexError: list index out of range", "return found[0]"),
        ("TypeError: clean() missing 1 required positional argument: 'text'", "return clean()"),
        ("TypeError: string indices must be integers, not 'str'", "total += row"),
        ("json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)", "json.loads(reply)"),
    ],
)
def test_any_other_exception_is_a_crash_and_names_its_line(last: str, source: str) -> None:
    found = diagnose(crash(last, source), "12", QUESTION)
    assert found is not None and found.fault is Fault.CRASH
    assert found.where == f"harness.py, line 7 in solve: {source}"


def test_a_crash_is_a_crash_even_with_the_target_at_hand_and_says_so() -> None:
    error = (
        'Traceback (most recent call last):\n  File "harness.py", line 3, in solve\nIndexError: list index'
    )
    found = diagnose(trial("", call("Answer: 12"), status=Status.CRASHED, error=error), "12", QUESTION)
    assert found is not None and found.fault is Fault.CRASH
    assert "the target was at hand in call 1 (model), line 1" in found.evidence


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.TIMEOUT, Fault.TIMEOUT),
        (Status.BUDGET_EXCEEDED, Fault.BUDGET),
        (Status.BAD_ANSWER, Fault.API_MISUSE),
        (Status.DENIED, Fault.API_MISUSE),
        (Status.MEMORY_LIMIT, Fault.CRASH),
        (Status.SKIPPED_AFTER_CRASH, Fault.CRASH),
    ],
)
def test_how_it_ended_comes_first(status: Status, expected: Fault) -> None:
    assert fault(trial("", call("Answer: 12"), status=status)) is expected


def test_calls_refused_and_swallowed_keep_their_reason() -> None:
    spent = call("", error="refused: this run may make 24 calls")
    assert fault(trial("unknown", spent)) is Fault.BUDGET
    assert fault(trial("unknown", call("", error="n must be an integer of at least 1"))) is Fault.API_MISUSE
    assert fault(trial("7")) is Fault.REASONING


def test_profile_counts_and_shows_an_example_of_each() -> None:
    trials = [
        trial("12", status=Status.OK),
        trial("7", call("Answer: 12")),
        trial("12.", call("12.")),
        trial("9", call("so the answer is 12")),
        trial(status=Status.INFRA_ERROR),
    ]
    found = profile((each, diagnose(each, "12", QUESTION)) for each in trials)
    assert (found.n_trials, found.n_right) == (4, 1)
    assert found.counts == {Fault.EXTRACTION: 2, Fault.FORMAT: 1}
    assert found.examples[Fault.EXTRACTION][0] is trials[1]
    assert bottleneck(found) == (
        "In 3 of 3 wrong trials the answer was at hand and lost in extraction or format."
    )


def test_bottleneck_tells_the_algorithm_from_the_interface() -> None:
    wrong = trial("7", call("Answer: 7"))
    right = trial("12", status=Status.OK)
    hard = profile((each, diagnose(each, "12", QUESTION)) for each in [wrong, wrong, right])
    assert bottleneck(hard) == (
        "In 2 of 2 wrong trials the right answer never appears in any reply of the model."
    )
    assert bottleneck(profile([(right, None)])) == "All 1 trials were right."
    slow = trial(status=Status.TIMEOUT)
    assert "timeout (1 of 1" in bottleneck(profile([(slow, diagnose(slow, "12", QUESTION))]))
