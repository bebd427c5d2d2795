"""A small adaptation written into a store as the engine would: for reports, which read nothing but stores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

from loriner.events import Attempt, Name, Round, Standing, Start
from loriner.records import Call, Edit, Failure, Harness, Revision, Rollout, Status, Trial
from loriner.search.history import tell
from loriner.store.database import Store

SEED = Harness("def solve(model, question):\n    reply = model(question)\n    return reply\n")
LOOP = Harness(
    "import re\n\n\ndef solve(model, question):\n    for _ in range(3):\n        reply = model(question)\n"
    '        found = re.search(r"\\d+", reply)\n        if found:\n            return found.group()\n'
    "    return reply\n"
)
WIDE = Harness(
    "def clean(text):\n    return text.strip()\n\n\n"
    "def solve(model, question):\n    reply = model(question)\n    return clean(reply)\n"
)
PLAN = {
    "rounds": 3,
    "candidates": 1,
    "accept": "paired",
    "revise": "current",
    "feedback": 4,
    "grade": 20,
    "test": 30,
    "allowance": None,
    "oracle": False,
}

Solves = Callable[[Harness, str, int], bool]
"""Whether a harness gets the n-th question of a split right."""


def third(harness: Harness, split: str, n: int) -> bool:
    """The seed is right on every fifth question, the wide one on every fourth, the loop on two of three."""
    if harness == LOOP:
        return n % 3 != 0
    return n % (4 if harness == WIDE else 5) == 0


def trial(
    harness: Harness,
    split: str,
    n: int,
    *,
    right: bool,
    sample: int = 0,
    reply: str = "",
    seconds: float = 0.1,
) -> Trial:
    text = reply or ("42" if right else f"I think it is {n}.")
    call = Call(
        kind="model",
        request={"messages": [{"role": "user", "content": f"{split} question {n}"}], "temperature": 0.0},
        reply=text,
        finish_reason="stop",
        prompt_tokens=30 + n,
        completion_tokens=8,
        usd=None,
        seconds=0.05 + n / 1000,
    )
    return Trial(
        task="t",
        harness_id=harness.id,
        question_id=f"{split}{n}",
        sample=sample,
        status=Status.OK if right else Status.WRONG,
        answer=text,
        score=float(right),
        calls=(call,),
        seconds=seconds + n / 100,
    )


async def record(
    store: Store,
    *,
    solves: Solves = third,
    note: str = "Try again until a number is found.",
    seed: int = 0,
    parent: str | None = None,
    finished: bool = True,
    more: Sequence[Trial] = (),
) -> str:
    """The run id of an adaptation: a refused edit, an accepted loop, a broader program that is refused."""
    run_id = store.start_run(
        "adapt", config={"seed": seed, "adapt": {"task": "sums"}}, seed=seed, parent=parent
    )
    for each in (SEED, LOOP, WIDE):
        await store.add_harness(each)
    await _start(store, run_id, seed)
    await evaluate(store, run_id, SEED, "grade", 20, solves)
    await _round(store, run_id, 1, SEED, None, "edits refused", note, solves)
    await _round(
        store, run_id, 2, SEED, LOOP, "accepted: +0.450 on 20 questions (9 better, 0 worse)", note, solves
    )
    if not finished:
        return run_id
    await _round(store, run_id, 3, LOOP, WIDE, "refused: -0.400 on 20 questions", "Clean the reply.", solves)
    ends: list[tuple[Name, Harness, dict[str, int]]] = [
        ("seed", SEED, {"extraction": 10, "reasoning": 6}),
        ("best", LOOP, {"reasoning": 6, "extraction": 1}),
    ]
    for name, harness, faults in ends:
        await evaluate(store, run_id, harness, "grade", 20, solves, sample=1)
        await evaluate(store, run_id, harness, "test", 30, solves)
        await tell(store, run_id, _standing(store, run_id, name, harness, faults))
    for each_trial in more:
        await store.add_trial(run_id, "test", each_trial)
    store.finish_run(run_id, "done", {"task": "sums"})
    return run_id


async def evaluate(
    store: Store, run_id: str, harness: Harness, split: str, n: int, solves: Solves, sample: int = 0
) -> None:
    for number in range(n):
        right = solves(harness, split, number)
        await store.add_trial(run_id, split, trial(harness, split, number, right=right, sample=sample))


def _standing(store: Store, run_id: str, name: Name, harness: Harness, faults: Mapping[str, int]) -> Standing:
    def scores(split: str, sample: int = 0) -> dict[str, float]:
        found = store.trials(run_id, harness_id=harness.id, purpose=split)
        return {each.question_id: each.score or 0.0 for each in found if each.sample == sample}

    return Standing(
        name=name,
        harness_id=harness.id,
        grade=scores("grade"),
        fresh=scores("grade", 1),
        test=scores("test"),
        faults=faults,
        calls_a_question=1.0,
    )


async def _start(store: Store, run_id: str, seed: int) -> None:
    scores = {f"test{n}": float(n == 0) for n in range(30)}
    start = Start(
        run_id=run_id,
        task="sums",
        solver="scripted:small",
        proposer="scripted:writer",
        mode="sequential",
        seed=seed,
        harness_id=SEED.id,
        plan=PLAN,
        n_questions={"feedback": 4, "grade": 20, "test": 30},
        constant="7",
        constant_scores=scores,
        copied_scores={f"test{n}": float(n < 3) for n in range(30)},
    )
    await tell(store, run_id, start)


async def _round(
    store: Store,
    run_id: str,
    number: int,
    parent: Harness,
    candidate: Harness | None,
    reason: str,
    note: str,
    solves: Solves,
) -> None:
    context = hashlib.sha256(f"{number}".encode()).hexdigest()[:16]
    call = Call(
        kind="model",
        request={"messages": []},
        reply=note,
        prompt_tokens=900,
        completion_tokens=120,
        seconds=1.5,
    )
    rollout = Rollout(
        context_id=context,
        index=0,
        completion=note,
        revision=None if candidate is None else Revision(edits=(Edit("a", "b"),), note=note),
        candidate=candidate,
        failure=Failure("not_found", "SEARCH block 1 does not occur in the program")
        if candidate is None
        else None,
        calls=(call,),
    )
    await store.add_rollout(run_id, rollout)
    if candidate is not None:
        await evaluate(store, run_id, candidate, "grade", 20, solves)
    accepted = reason.startswith("accepted")
    current = candidate if accepted and candidate else parent
    attempt = Attempt(
        context_id=context,
        index=0,
        harness_id=candidate.id if candidate else None,
        note=note if candidate else "",
        code="" if candidate else "not_found",
        message="" if candidate else "SEARCH block 1 does not occur in the program",
        accepted=accepted,
        reason=reason if candidate else "",
    )
    made = Round(
        number=number,
        parent_id=parent.id,
        current_id=current.id,
        grade=None,
        n_calls=20 * (number + 1),
        attempts=(attempt,),
    )
    await tell(store, run_id, made)
