"""Think step by step, then answer in tags.

When: questions that need a few steps which fit into one reply. Cost: 1 model call with a long reply.
"""

import re

ASK = "\n\nThink step by step. Then write only the final answer between <answer> and </answer>."


def extract(reply):
    found = re.findall(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    lines = [line for line in reply.splitlines() if line.strip()]
    text = found[-1] if found else (lines[-1] if lines else "")
    text = re.sub(r"^\s*(the )?(final )?answer( is)?\s*:?\s+", "", text, flags=re.IGNORECASE)
    return text.strip().strip("*`").strip()


def solve(model, question):
    prompt = question + ASK
    return extract(model(prompt, max_tokens=1024))
