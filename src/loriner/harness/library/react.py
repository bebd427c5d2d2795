"""Think, act, observe, in turns: the model may run Python, and search where that is granted.

When: it is not known beforehand which tool a question needs. Cost: up to 6 model calls and 5 tool calls.
"""

import re

from tools import run_python

try:
    from tools import search
except ImportError:
    search = None

TURNS = 5
RULES = "Work in turns. In each turn do one of these:\n- run Python: write one ```python block that prints\n"
RULES += "- search: write one line SEARCH: <query>\n" if search else ""
RULES += "- finish: write the final answer between <answer> and </answer>\n"


def answer_in(reply):
    found = re.findall(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    return found[-1].strip() if found else ""


def act(reply):
    """What the action in the reply brought to light."""
    code = re.search(r"```(?:python|py)?[ \t]*\n(.*?)(?:```|\Z)", reply, re.DOTALL)
    if code:
        return "Output:\n" + (run_python(code.group(1)).strip()[-1500:] or "(it printed nothing)")
    query = re.search(r"SEARCH:\s*(.+)", reply)
    if query and search:
        passages = search(query.group(1).strip(), k=3)
        return "Found:\n" + "\n".join(each["title"] + ": " + each["text"][:500] for each in passages)
    return "No action was found. Write one action, or finish."


def solve(model, question):
    messages = [{"role": "system", "content": RULES}, {"role": "user", "content": question}]
    for _ in range(TURNS):
        reply = model.chat(messages, max_tokens=600)
        answer = answer_in(reply)
        if answer:
            return answer
        messages.append({"role": "assistant", "content": reply})
        messages.append({"role": "user", "content": act(reply)})
    messages.append(
        {"role": "user", "content": "Finish now: write the final answer between <answer> and </answer>."}
    )
    reply = model.chat(messages, max_tokens=200)
    return answer_in(reply) or reply.strip()
