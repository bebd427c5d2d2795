"""Search once, show the passages, ask once. The seed for question answering over documents.

When: the answer stands in documents (`search` is granted); without it, this is one plain call.
Cost: 1 model call, 1 search.
"""

import re

try:
    from tools import search
except ImportError:
    search = None


def solve(model, question):
    passages = search(question, k=5) if search else []
    context = "\n\n".join(passage["title"] + "\n" + passage["text"] for passage in passages)
    prompt = context + "\n\nQuestion: " + question + "\nGive a short answer between <answer> and </answer>."
    reply = model(prompt.strip())
    found = re.search(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    return found.group(1).strip() if found else reply.strip()
