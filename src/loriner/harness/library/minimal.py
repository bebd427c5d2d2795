"""One call: ask, and take what stands in the answer tags. The seed for reasoning tasks; 1 model call."""

import re


def solve(model, question):
    prompt = question + "\n\nGive your final answer between <answer> and </answer>."
    reply = model(prompt)
    found = re.search(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    return found.group(1).strip() if found else reply.strip()
