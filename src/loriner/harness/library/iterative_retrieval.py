"""Search, let the model say what is still missing, search for that, then answer from all passages.

When: questions whose second fact can only be looked up once the first is known (`search` is granted).
Without `search` the hops are left out. Cost: up to 3 model calls and 3 searches.
"""

import re

try:
    from tools import search
except ImportError:
    search = None

HOPS = 3
KEEP = 8


def shown(passages):
    return "\n\n".join(each["title"] + "\n" + each["text"][:700] for each in passages)


def next_query(model, question, passages):
    """The next search query, or empty text when nothing is missing."""
    reply = model(
        shown(passages)
        + "\n\nQuestion: "
        + question
        + "\nWhich fact is still missing? Reply with one short search query, or DONE if none is.",
        max_tokens=40,
    )
    lines = reply.strip().splitlines()
    query = re.sub(r"^(search )?query:\s*", "", lines[0], flags=re.IGNORECASE).strip("\"'` ") if lines else ""
    return "" if query.upper().startswith("DONE") else query


def gather(model, question):
    passages, query = [], question
    for hop in range(HOPS):
        passages += [each for each in search(query, k=4) if each not in passages]
        query = next_query(model, question, passages[-KEEP:]) if hop + 1 < HOPS else ""
        if not query:
            break
    return passages[-KEEP:]


def solve(model, question):
    passages = gather(model, question) if search else []
    prompt = (
        shown(passages)
        + "\n\nQuestion: "
        + question
        + "\nGive a short answer between <answer> and </answer>."
    )
    reply = model(prompt.strip())
    found = re.search(r"<answer>(.*?)(?:</answer>|\Z)", reply, re.DOTALL)
    return found.group(1).strip() if found else reply.strip()
