"""A scorer that gives partial credit and says what is wrong: the best feedback that a proposer can get.

    python examples/score_in_words.py

No model is called. `loriner tasks check` checks a task in the same way before you spend anything.
"""

import asyncio
import json
from pathlib import Path

import loriner as lo

FIELDS = ("vendor", "date", "total")
ITEM = {"vendor": "Ost & Sohn", "date": "2026-11-02", "total": 118.5}


def score(item, answer):
    """A third for each right field."""
    try:
        found = json.loads(answer)
    except ValueError:
        return lo.Score(0.0, "the answer is not JSON")
    wrong = [name for name in FIELDS if found.get(name) != item["answer"][name]]
    return lo.Score(1 - len(wrong) / len(FIELDS), f"wrong: {', '.join(wrong)}" if wrong else "")


rows = [{"id": str(n), "question": f"Invoice {n}: …", "answer": ITEM} for n in range(20)]
Path("invoices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
task = lo.Task.from_jsonl("invoices.jsonl", scorer=score)
question = task.questions("feedback")[0]

for answer in (json.dumps(ITEM), json.dumps(ITEM | {"total": "118.50"}), "Ost & Sohn, 118.50"):
    verdict = asyncio.run(task.score(question, answer))
    print(f"{verdict.value:.2f}  {verdict.detail or 'right'}")
