import re


def score(item, answer):
    """1 for one of the accepted wordings, 0 for anything else."""
    return float(plain(answer) in map(plain, [item["answer"], *item.get("also", [])]))


def plain(text):
    """Lower case, without articles, with no punctuation but that inside a number, a time or a date."""
    words = re.sub(r"[^\w%/:.,]+|[.,:](?!\d)", " ", text.casefold()).split()
    return " ".join(word for word in words if word not in {"a", "an", "the"})
