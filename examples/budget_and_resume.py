"""Cap what a search may spend, and resume it later.

    python examples/budget_and_resume.py [MODEL] [TASK]

A cap ends the search. The best program so far is scored on the sealed questions and returned.
"""

import sys

import loriner as lo

MODEL = sys.argv[1] if len(sys.argv) > 1 else "qwen2.5-coder-0.5b"
TASK = sys.argv[2] if len(sys.argv) > 2 else "primes"
SIZES = {"feedback": 6, "grade": 12, "test": 12}

run = lo.adapt(lo.Task.named(TASK), MODEL, rounds=3, budget=lo.Budget(trials=54), **SIZES)
print(f"stopped: {run.stopped} ({run.why})")
print(f"best so far: {run.best}")

run = lo.adapt(lo.Task.named(TASK), MODEL, rounds=3, budget=lo.Budget(trials=400), resume=run.id)
print(f"stopped: {run.stopped} ({run.why})")
print(f"best: {run.best}")
