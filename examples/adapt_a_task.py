"""Adapt a program to a task of your own: rows, a scorer, a model; then look at what changed.

    python examples/adapt_a_task.py [MODEL]

MODEL is a name that `loriner models list` shows, or URL::NAME of an OpenAI-compatible endpoint.
"""

import json
import random
import sys
from pathlib import Path

import loriner as lo

MODEL = sys.argv[1] if len(sys.argv) > 1 else "qwen2.5-coder-0.5b"


def rows(n):
    """Sums of two numbers; bring your own rows instead."""
    draw = random.Random(0)
    for number in range(n):
        a, b = draw.randint(100, 999), draw.randint(1000, 9999)
        yield {"id": f"q{number}", "question": f"What is {a} plus {b}?", "answer": str(a + b)}


def score(item, answer):
    """1 for the right number. The proposer reads the words."""
    right = answer.strip() == item["answer"]
    return lo.Score(float(right), "" if right else "nothing but the number, please")


Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(100)))
task = lo.Task.from_jsonl("sums.jsonl", scorer=score, description="Add two numbers; the answer is the sum.")
run = lo.adapt(task, MODEL, proposer="catalogue", rounds=2, grade=12, test=12)

print("seed", run.seed)
print("best", run.best)
print(run.best.diff(run.seed))
run.best.save("best.py")
