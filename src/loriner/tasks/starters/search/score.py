import re


def score(item, answer):
    """1 for the right words, whatever their case, articles and signs. `item` is the line of items.jsonl."""
    return float(plain(answer) == plain(item["answer"]))


def plain(text):
    words = re.findall(r"\w+", text.lower())
    return [word for word in words if word not in ("a", "an", "the")]
