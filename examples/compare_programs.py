"""Score several programs on the same questions, with intervals.

    python examples/compare_programs.py [MODEL] [TASK]

The programs are those of the library: one call, step by step, a vote over five answers.
"""

import sys

import loriner as lo

MODEL = sys.argv[1] if len(sys.argv) > 1 else "qwen2.5-coder-0.5b"
TASK = sys.argv[2] if len(sys.argv) > 2 else "primes"
PROGRAMS = ("minimal", "chain_of_thought", "program_of_thought")

for name in PROGRAMS:
    found = lo.evaluate(lo.Task.named(TASK), f"library:{name}", MODEL, limit=12)
    calls = sum(len(trial.calls) for trial in found.trials)
    print(f"{name:20} mean {found.mean_score:.2f}  n={len(found.trials)}  calls={calls}")
