"""Sample five chains of thought and return the answer that most of them reach.

When: the model is right more often than it is wrong in any one way.
Cost: 5 model calls (one request of 5 samples).
"""

import re
from collections import Counter

SAMPLES = 5
ASK = "\n\nThink step by step. Then write only the final answer between <answer> and </answer>."


def extract(reply):
    found = re.findall(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    lines = [line for line in reply.splitlines() if line.strip()]
    text = found[-1] if found else (lines[-1] if lines else "")
    return text.strip().strip("*`").strip()


def same(answer):
    """What two equal answers have in common."""
    return " ".join(answer.lower().rstrip(".").split())


def solve(model, question):
    prompt = question + ASK
    answers = [extract(reply) for reply in model(prompt, temperature=0.7, n=SAMPLES, max_tokens=768)]
    answers = [answer for answer in answers if answer]
    if not answers:
        return ""
    winner, _ = Counter(same(answer) for answer in answers).most_common(1)[0]
    return next(answer for answer in answers if same(answer) == winner)
