"""Code and words for answers that are JSON objects: names keys and types, and repairs a reply by field."""

from __future__ import annotations

from loriner.propose.facts import Facts
from loriner.propose.snippets.literals import table

READ = r'''
def object_in(reply):
    """The first JSON object in a reply, or the pairs of one that is cut or misspelt."""
    for place in re.finditer(r"\{", reply):
        try:
            return json.JSONDecoder().raw_decode(reply[place.start():])[0]
        except ValueError:
            continue
    pairs = re.findall(r"""['"](\w[\w ]*)['"]\s*:\s*("[^"]*"|'[^']*'|[-+]?[\d.,]+|\w+)""", reply)
    return {key: value.strip("\"'") for key, value in pairs}
'''
REPAIR = r'''
def repaired(found):
    """The object with every key of right answers, each value of its type and in its form."""
    known = {re.sub(r"[\W_]", "", key.lower()): value for key, value in found.items()}
    return {
        name: typed(known.get(re.sub(r"[\W_]", "", name.lower())), kind) for name, kind in FIELDS.items()
    }
'''
TYPED = r'''
def typed(value, kind):
    """A value as its kind: "number", "integer", "boolean", "list", "text", or a date as strftime names it."""
    if value is None or str(value).strip().lower() in ("", "null", "none", "n/a"):
        return [] if kind == "list" else None
    if kind in ("number", "integer"):
        number = as_number(value)
        if number is None:
            return value
        return int(number) if kind == "integer" or number == int(number) else number
    if kind == "boolean":
        return value if isinstance(value, bool) else str(value).strip().lower() in ("true", "yes", "1")
    if kind == "list":
        return value if isinstance(value, list) else [value]
    if "%" in kind:
        return as_date(str(value), kind)
    if kind == "text":
        return value.strip() if isinstance(value, str) else str(value)
    return value
'''
NUMBER = r'''
def as_number(value):
    """The last number in a value, whichever marks part its thousands and decimals; None without one."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    found = re.findall(r"-?\d[\d.,' ]*", str(value))
    if not found:
        return None
    text = re.sub(r"[' ]", "", found[-1]).rstrip(".,")
    mark = max(text.rfind("."), text.rfind(","))
    grouped = mark >= 0 and (text.count(text[mark]) > 1 or (text[mark] == "," and len(text) - mark == 4))
    if mark < 0 or grouped:
        return int(re.sub(r"[.,]", "", text))
    return float(re.sub(r"[.,]", "", text[:mark]) + "." + text[mark + 1:])
'''
DATE = r'''
def as_date(text, form):
    """The first date in a text, written in a form; the text itself where none is read."""
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b|,", "", text).strip()
    pieces = re.findall(r"\d+[-./]\d+[-./]\d+|\d+ [^\W\d]+\.? \d{4}|[^\W\d]+\.? \d+ \d{4}", text) or [text]
    for known in (form.replace("%-", "%").replace(",", ""), *DATES):
        try:
            return datetime.strptime(pieces[0], known).strftime(form)
        except ValueError:
            continue
    return text
'''
DATES = """
DATES = (
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d", "%d.%m.%y", "%d/%m/%y",
    "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y",
)
"""
OBJECT = r'''
def object_text(reply):
    """The JSON object that a reply holds, with every key in its form; an empty string without one."""
    found = object_in(reply)
    return json.dumps(repaired(found), ensure_ascii=False) if found else ""
'''
VALUES = ("import re", "from datetime import datetime", DATES, NUMBER, DATE)


def object_parts(facts: Facts) -> tuple[str, ...]:
    """What `object_text(reply)` needs."""
    kinds = {each.name: each.form or each.kind for each in facts.fields}
    return ("import json", *VALUES, table("FIELDS", kinds), TYPED, READ, REPAIR, OBJECT)


def fields_in_words(facts: Facts) -> str:
    """The instruction to answer with an object of the keys and types seen."""
    lines = "\n".join(f'- "{each.name}": {each.in_words}' for each in facts.fields)
    return f"Answer with one JSON object with exactly these keys, and nothing else:\n{lines}"
