"""Split the question, answer the parts in turn, each with what is known so far, then put them together.

When: a question holds several smaller ones. Parts are looked up where `search` is granted.
Cost: up to 5 model calls and 3 searches.
"""

import re

try:
    from tools import search
except ImportError:
    search = None

PARTS = 3


def extract(reply):
    found = re.findall(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    return (found[-1] if found else reply).strip().strip("*`").strip()


def split(model, question):
    reply = model(
        question
        + "\n\nDo not answer yet. Which smaller questions must be answered first? One a line, at most "
        + str(PARTS)
        + ".",
        max_tokens=150,
    )
    lines = (re.sub(r"^\s*(?:[-*•]|\d+[.)])\s*", "", line).strip() for line in reply.splitlines())
    return [line for line in lines if len(line) > 3][:PARTS]


def solve(model, question):
    notes = []
    for part in split(model, question):
        found = search(part, k=3) if search else []
        context = "\n".join([each["title"] + ": " + each["text"][:500] for each in found] + notes)
        reply = model(
            context + "\n\nFor the task:\n" + question + "\n\nAnswer only this, in one sentence: " + part,
            max_tokens=200,
        )
        notes.append("- " + part + " " + reply.strip())
    prompt = question + "\n\nKnown so far:\n" + "\n".join(notes)
    return extract(
        model(prompt + "\n\nWrite the final answer between <answer> and </answer>.", max_tokens=768)
    )
