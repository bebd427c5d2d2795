import json


def score(item, answer):
    """The share of fields that are right, and in words which are not. `item` is the line of items.jsonl."""
    right = item["answer"]
    try:
        found = json.loads(answer)
    except ValueError:
        return {"value": 0.0, "detail": "not JSON"}
    if not isinstance(found, dict):
        return {"value": 0.0, "detail": "not a JSON object"}
    wrong = [field for field in right if same(found.get(field)) != same(right[field])]
    detail = f"wrong: {', '.join(wrong)}" if wrong else ""
    return {"value": 1 - len(wrong) / len(right), "detail": detail}


def same(value):
    """A value without what does not matter: case, and blanks around it."""
    return str(value).strip().lower()
