def score(item, answer):
    """1 for the right label. `item` is the line of items.jsonl."""
    label = answer.strip().lower()
    if label == item["answer"].lower():
        return 1.0
    return {"value": 0.0, "detail": f"{label[:40]!r} is the wrong label"}
