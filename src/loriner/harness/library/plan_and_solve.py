"""Ask for a short plan, then carry it out, then answer in tags.

When: tasks of several stages in which a model that starts at once forgets one. Cost: 2 model calls.
"""

import re


def extract(reply):
    found = re.findall(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    lines = [line for line in reply.splitlines() if line.strip()]
    text = found[-1] if found else (lines[-1] if lines else "")
    return text.strip().strip("*`").strip()


def solve(model, question):
    plan = model(
        question + "\n\nDo not answer yet. List the steps to the answer, at most five, one short line each.",
        max_tokens=200,
    )
    reply = model(
        question
        + "\n\nPlan:\n"
        + plan.strip()
        + "\n\nCarry out the plan step by step. Then write the final answer between <answer> and </answer>.",
        max_tokens=1024,
    )
    return extract(reply)
