"""Revisions that take a question out of its wrapping, and write the answer in the form that is asked for.

Questions come as JSON, XML, quoted or numbered lines, fenced blocks, or with a sentence on the output format.
A question without any of it stays as it is.
"""

from __future__ import annotations

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.new_solve import WRITES, around
from loriner.records import Fault

SPLIT = r'''def parted(text):
    """A question without the paragraph on its output format, and that paragraph, which may be empty."""
    asks = r"(?i)output format|\b(reply|respond|answer) (only )?with\b|\bput the answer\b|\bend with a line\b"
    parts = text.strip().split("\n\n")
    for place in (-1, 0):
        if len(parts) > 1 and re.search(asks, parts[place]) and len(parts[place]) < 400:
            wanted = parts.pop(place)
            return "\n\n".join(parts), wanted
    return text, ""
'''

BARE = r'''def bare(text):
    """The text inside of the wrapping that a question stands in, or the question as it is."""
    body = text.strip()
    try:
        return max(texts_in(json.loads(re.sub(r"\A\w+ = (?=\")", "", body))), key=len)
    except ValueError:
        pass
    if body.startswith("<"):
        try:
            return "".join(ElementTree.fromstring(body).itertext())
        except ElementTree.ParseError:
            return text
    for inner in (
        r"(?s)\A[^\n]*\n+(`{3,})\w*\n(?P<kept>.*)\n\1",
        r"(?s)\A[^\n]*<<'?(\w+)'?\n(?P<kept>.*)\n\1",
    ):
        found = re.match(inner, body)
        if found:
            return found["kept"]
    lines = body.split("\n")
    for mark in (r"> ?", r"\d+\| ?"):
        if len(lines) > 1 and all(re.match(mark, line) for line in lines[1:]):
            return "\n".join(re.sub("^" + mark, "", line) for line in lines[1:])
    if len(lines) > 2 and re.search(r": \|[\d+-]*$", lines[1]):
        return textwrap.dedent("\n".join(lines[2:]))
    return text


def texts_in(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for each in inner for text in texts_in(each)]
'''

WRITTEN = r'''def written(answer, wanted):
    """An answer in the form that a sentence on the output format asks for, or as it is."""
    between = re.search(r"between (<(\w+)>) and </\2>", wanted)
    lines = re.search(r"between the lines (.+?) and (.+?)\.", wanted)
    labelled = re.search(r"fenced block(?: labelled (\w+))?", wanted)
    key = re.search(r'(?i)json object.*?"(\w+)"', wanted, re.S)
    if key:
        return json.dumps({key[1]: answer})
    if between:
        return between[1] + answer + "</" + between[2] + ">"
    if "\\boxed{" in wanted:
        return "\\boxed{" + answer + "}"
    if lines:
        return lines[1] + "\n" + answer + "\n" + lines[2]
    if labelled:
        return "```" + (labelled[1] or "") + "\n" + answer + "\n```"
    marked = re.search(r'line "(.+?)"', wanted)
    if marked:
        return marked[1] + answer.replace("\\", "\\\\").replace("\n", "\\n")
    return answer
'''

PLAIN = r'''def plain(reply):
    """The answer in a reply without tags, boxes, fences and the words in front of it."""
    text = reply.strip()
    for inside in (r"<(\w+)>(?P<kept>.*?)</\1>", r"\\boxed\{(?P<kept>.*)\}", r"```\w*\n(?P<kept>.*?)\n?```"):
        found = re.search(inside, text, re.S)
        text = found["kept"] if found else text
    return re.sub(r"(?i)^\W*(the )?(final )?answer( is)?\s*:\s*", "", text).strip()
'''

UNWRAPPED = '''def solve(model, question):
    """The answer to the question without its wrapping, in the form that is asked for."""
    body, wanted = parted(question)
    answer = str(wrapped_up(model, bare(body))).strip()
    return written(plain(answer) if wanted else answer, wanted)
'''

RENDERED = '''def solve(model, question):
    """The answer as before, taken out of whatever stands around it, in the form that is asked for."""
    wanted = parted(question)[1]
    answer = str(formless_yet(model, question)).strip()
    return written(plain(answer), wanted) if wanted else answer
'''

COMPUTED = '''def solve(model, question):
    """What a program for the bare question prints, in the form that is asked for; else as before."""
    body, wanted = parted(question)
    printed = printed_by(model(program_prompt(bare(body)), max_tokens=400))
    return written(printed, wanted) if printed else still_wrapped(model, question)
'''

FORM_BY_MODEL = '''def solve(model, question):
    """The answer to the task alone, then written by the model in the form that the question wants."""
    task = model(
        question + "\\n\\nCopy the task out of this text word for word, without any remark on the output "
        + "format. Do not solve it.", max_tokens=700,
    ).strip()
    answer = str(as_it_stands(model, task or question)).strip()
    reply = model(
        question + "\\n\\nThe answer is known: " + answer[:1500] + "\\nWrite it in exactly the output format "
        + "that is asked for above, and nothing else.", max_tokens=400,
    ).strip()
    return reply or answer
'''

_READ = ("import json", "import re", "import textwrap", "from xml.etree import ElementTree", SPLIT, BARE)


def _unwrapped(source: str, facts: Facts) -> str | None:
    return around(source, "wrapped_up", UNWRAPPED, (*_READ, PLAIN, WRITTEN))


def _rendered(source: str, facts: Facts) -> str | None:
    return around(source, "formless_yet", RENDERED, ("import json", "import re", SPLIT, PLAIN, WRITTEN))


def _computed(source: str, facts: Facts) -> str | None:
    return around(source, "still_wrapped", COMPUTED, (*_READ, *WRITES, WRITTEN), ("run_python",))


def _by_model(source: str, facts: Facts) -> str | None:
    return around(source, "as_it_stands", FORM_BY_MODEL)


def _wrapping(facts: Facts) -> float:
    """How many of the questions seen say something of an output format, as a share."""
    said = [question for question, _ in facts.examples if "format" in question[:600] + question[-400:]]
    return len(said) / len(facts.examples) if facts.examples else 0.0


def _lost_to_form(facts: Facts) -> float:
    return (0.2 + 0.8 * _wrapping(facts)) * facts.share(Fault.FORMAT, Fault.EXTRACTION, *UNKNOWN)


ENTRIES = (
    CatalogueEntry(
        "program_unwrapped",
        "Take the question out of its wrapping by code, have the model write a program for it, and write "
        "what that prints in the form asked for.",
        _computed,
        lambda facts: 0.98 * _lost_to_form(facts),
        tools=("run_python",),
    ),
    CatalogueEntry(
        "unwrapped_by_code",
        "Take the question out of its wrapping by code, and write the answer in the form asked for.",
        _unwrapped,
        lambda facts: 0.92 * _lost_to_form(facts),
    ),
    CatalogueEntry(
        "form_by_code",
        "Write the answer by code in the form that the question asks for.",
        _rendered,
        lambda facts: 0.88 * _lost_to_form(facts),
    ),
    CatalogueEntry(
        "form_by_model",
        "Have the model copy the task out of the question, answer it, and write it in the form asked for.",
        _by_model,
        lambda facts: 0.5 * _lost_to_form(facts),
    ),
)
