def score(item, answer):
    """From 0 (wrong) to 1 (right). `item` is the line of items.jsonl."""
    return float(answer.strip().lower() == item["answer"].lower())
