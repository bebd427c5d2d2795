"""Write a program yourself, score it, and see why its trials fail.

python examples/own_program.py [MODEL] [TASK]
"""

import sys
from collections import Counter
from pathlib import Path

import loriner as lo

MODEL = sys.argv[1] if len(sys.argv) > 1 else "qwen2.5-coder-0.5b"
TASK = sys.argv[2] if len(sys.argv) > 2 else "primes"
PROGRAM = """
import re

from tools import run_python


def solve(model, question):
    reply = model(f"{question}\\nWrite a short Python program in a ```python block that prints the answer.")
    block = re.search(r"```python\\n(.*?)```", reply, re.DOTALL)
    return run_python(block.group(1)) if block else reply
"""

Path("program.py").write_text(PROGRAM)
found = lo.evaluate(lo.Task.named(TASK), "program.py", MODEL, limit=12)
print(f"mean score {found.mean_score:.2f} on {len(found.trials)} questions")
print(dict(Counter(str(trial.status) for trial in found.trials)))
for trial in found.trials[:3]:
    print(f"{trial.question_id}: {trial.status}, answered {trial.answer!r}")
