"""Answer, let the model check its answer, and answer again when the check finds a mistake.

When: mistakes are easier to see than to avoid. Cost: 2 model calls, 3 when the check objects.
"""

import re

ASK = "\n\nThink step by step. Then write the final answer between <answer> and </answer>."


def extract(reply):
    found = re.findall(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    lines = [line for line in reply.splitlines() if line.strip()]
    text = found[-1] if found else (lines[-1] if lines else "")
    return text.strip().strip("*`").strip()


def solve(model, question):
    messages = [{"role": "user", "content": question + ASK}]
    reply = model.chat(messages, max_tokens=768)
    first = extract(reply)
    critique = model(
        question
        + "\n\nProposed solution:\n"
        + reply.strip()
        + "\n\nCheck each step. Reply with the one word CORRECT, or name the first mistake in one sentence.",
        max_tokens=200,
    )
    if re.match(r"\W*correct\b", critique, re.IGNORECASE):
        return first
    messages.append({"role": "assistant", "content": reply})
    messages.append(
        {"role": "user", "content": "A check says: " + critique.strip() + "\nSolve it again." + ASK}
    )
    return extract(model.chat(messages, max_tokens=768)) or first
