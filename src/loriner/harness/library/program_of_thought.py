"""Let the model write a Python program that prints the answer, run it, return its last line.

When: the answer can be computed (counting, sorting, arithmetic, search, string work). Small models write such
programs far better than they reckon. Cost: 1 model call and 1 run; at most 3 calls and 2 runs, when the
program fails: it is shown its error once, then the question is asked directly.
"""

import re

from tools import run_python

ASK = """Write a Python program that solves this task and prints only the answer.

Task:
{question}

Reply with one ```python block."""
REPAIR = "The program failed:\n{error}\n\nReply with the whole corrected program in one ```python block."
DIRECT = "\n\nGive your final answer between <answer> and </answer>."


def code_in(reply):
    found = re.search(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", reply, re.DOTALL)
    return found.group(1) if found else reply


def run(code):
    """The last line that the program printed, and its error (either may be empty)."""
    lines = [line.strip() for line in run_python(code).splitlines() if line.strip()]
    if not lines:
        return "", "It printed nothing: use print()."
    if lines[-1].startswith("Error: "):
        return "", lines[-1]
    return lines[-1], ""


def solve(model, question):
    messages = [{"role": "user", "content": ASK.format(question=question)}]
    for _ in range(2):
        reply = model.chat(messages, max_tokens=700)
        answer, error = run(code_in(reply))
        if answer:
            return answer
        messages.append({"role": "assistant", "content": reply})
        messages.append({"role": "user", "content": REPAIR.format(error=error)})
    reply = model(question + DIRECT)
    found = re.search(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    return found.group(1).strip() if found else reply.strip()
