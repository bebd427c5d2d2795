import json
from decimal import Decimal, InvalidOperation

from loriner.records import Score


def score(item, answer):
    """The share of the fields that are right, with the names of those that are not."""
    try:
        found = json.loads(answer)
    except ValueError:
        return Score(0.0, "not a JSON object: nothing but the object may stand in the answer")
    if not isinstance(found, dict):
        return Score(0.0, f"expected a JSON object, found {type(found).__name__}")
    wanted = item["answer"]
    missing = [key for key in wanted if key not in found]
    wrong = [key for key in wanted if key in found and not same(key, found[key], wanted[key])]
    return Score(1 - (len(missing) + len(wrong)) / len(wanted), in_words(missing, wrong, found))


def same(key, found, wanted):
    """Whether a field is right: truth values as such, amounts as numbers, the rest as text."""
    if key == "paid":
        return found is wanted
    if key == "total":
        return number(found) == number(wanted)
    return plain(found) == plain(wanted)


def number(value):
    """A number, or a text that is nothing but one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return Decimal(str(value).strip())
    except InvalidOperation:
        return None


def plain(value):
    """Text without capitals, blanks and full stops at its ends."""
    return "".join(value.casefold().split()).strip(".") if isinstance(value, str) else value


def in_words(missing, wrong, found):
    """Which fields are missing or wrong, and as what a wrong one was given."""
    parts = [f"missing: {', '.join(missing)}"] if missing else []
    if wrong:
        parts.append("wrong: " + ", ".join(f"{key} ({json.dumps(found[key])[:40]})" for key in wrong))
    return "; ".join(parts)
