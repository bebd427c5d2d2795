"""Small records for tests."""

from __future__ import annotations

from loriner.harness.contract import from_library
from loriner.records import Call, Context, Fault, FeedbackTrial, Harness, PastRevision, Status, Trial


def trial(**facts: object) -> Trial:
    """A wrong trial with one model call."""
    known: dict[str, object] = {
        "harness_id": "0" * 64,
        "task": "sums",
        "question_id": "q1",
        "status": Status.WRONG,
        "answer": "13",
        "score": 0.0,
        "calls": (
            Call(
                kind="model",
                request={"messages": [{"role": "user", "content": "What is 6 plus 6?"}]},
                reply="I think it is 13",
                finish_reason="stop",
                prompt_tokens=9,
                completion_tokens=5,
                usd=0.0,
            ),
        ),
    }
    return Trial(**{**known, **facts})  # type: ignore[arg-type]


def feedback(
    fault: Fault | None = Fault.REASONING,
    target: str = "12",
    question: str = "What is 6 plus 6?",
    evidence: str = "",
    **facts: object,
) -> FeedbackTrial:
    return FeedbackTrial(
        question=question, target=target, trial=trial(**facts), fault=fault, evidence=evidence
    )


def context(
    *shown: FeedbackTrial,
    harness: Harness | None = None,
    tools: tuple[str, ...] = ("run_python",),
    history: tuple[PastRevision, ...] = (),
    round: int = 1,
    **facts: object,
) -> Context:
    return Context(
        id="c0ffee",
        task="sums",
        description="Sums of two numbers. The answer is a number.",
        tools=tools,
        round=round,
        harness=harness or from_library("minimal"),
        feedback=shown or (feedback(),),
        history=history,
        **facts,  # type: ignore[arg-type]
    )
