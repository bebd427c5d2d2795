"""A revision that reads short answers out of passages by the kind of thing that the question asks for.

A small model finds the right passage hard to read where it names several days, amounts or persons. The words
of an English question say which of these is wanted; the span of that kind which stands nearest to the words
of the question is often the answer. A question whose words say nothing is left to the program as it was.
"""

from __future__ import annotations

from statistics import median

from loriner.propose.catalogue_entry import CatalogueEntry
from loriner.propose.facts import UNKNOWN, Facts
from loriner.propose.snippets.rank_passages import passage_parts
from loriner.propose.splicing import answered_first, with_tool
from loriner.records import Fault

LONGEST = 6
"""Words of a usual right answer up to which it is likely to be a span of a passage."""

SPANS = r"""
COUNT = (
    r"(?:\d[\d.,]*\d|\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen"
    r"|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty"
    r"|forty|fifty|a hundred|half an?|an?)(?: and a half)?"
)
TIME_SPAN = r"(?:second|minute|hour|day|night|week|month|year)s?"
MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
DAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?"
CLOCK = r"(?:\d{1,2}:\d\d(?: ?[ap]m)?|\d{1,2} ?(?:am|pm|o'clock)|noon|midnight)"
DATE = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {MONTH}(?: \d{{4}})?|{MONTH} \d{{1,2}}(?:, \d{{4}})?|\d{{4}})"
DAYS = rf"(?:{DATE}|{DAY}|{MONTH}|the \d{{1,2}}(?:st|nd|rd|th))"
CURRENCY = r"(?:euros?|dollars?|pounds?|cents?|percent|EUR|USD|GBP)"
MONEY = rf"(?:[\d.,]*\d {CURRENCY}|[\d.,]*\d ?[%€]|[€$£] ?[\d.,]*\d|(?<=and )[\d.,]*\d(?= for))"
MEASURE = rf"\b{COUNT} [\w/%°]+"
NAME = r"(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? [A-Z][\w'-]+(?: [A-Z][\w'-]+)*|[A-Z][\w'-]+(?: [A-Z][\w'-]+)+)"
THING = (
    r"(?:the |an? )?[\w'-]+(?: [\w'-]+)*?(?=[,.;:)]|$| (?:and|or|but|in|on|at|by|to|for|from|with|within"
    r"|before|after|who|which|as|not|between|until)\b)"
)
ROLE = (
    r"(?:[Tt]he )?(?:[\w-]+ )?(?:lead|leader|head|council|office|department|director|manager|doctor"
    r"|officer|captain|board|committee|president)(?: of (?:the )?[\w-]+)?"
)
ROOM = r"\b(?:hall|room|building|gate|floor|house|street|hut) [A-Z]?\d+"
PLACE = "|".join(
    rf"(?<=\b{word} )(?!{DAYS}|\d|(?:most|least|all|once|first|last)\b){THING}"
    for word in ("in", "at", "behind", "beside", "near", "into", "outside", "under", "opposite", "to", "on")
)
COLOUR = r"\b(?:red|orange|yellow|green|blue|purple|violet|pink|brown|black|white|grey|gray|silver|gold)\b"
UNITS = r"weight|length|height|width|depth|size|age|speed|distance|temperature|pressure|strength"
AMOUNTS = r"price|cost|fee|amount|sum|bonus|allowance|rate|supplement|share|discount|fine|salary|budget"
PAYING = r"get|costs?|pay|paid|add|contribute|refund|worth|charge|earn|save"
"""
ASKED = r'''
def asked_for(question):
    """Patterns of what a question asks for, the most telling first; none where its words do not say."""
    asked = question.lower()
    named = re.search(r"\b(?:which|what|how many) (?:more )?([\w-]+)(?: ([\w-]+))?", asked)
    nouns = [stem(word) for word in (named.groups() if named else ()) if word and word not in COMMON]
    noun = "(?i:" + ("|".join(map(re.escape, nouns)) or "(?!)") + r")\w*"
    span = rf"\b{COUNT} (?:\w+ )?{TIME_SPAN}"
    kinds = (
        (r"how many", [rf"\b{COUNT}(?= (?:[\w-]+ )?{noun})", rf"\b{COUNT}\b"]),
        (
            r"how often",
            [r"(?:once|twice|\w+ times)(?: (?:an?|every|each|per|in) (?:\w+ )?\w+)?|\bevery (?:\w+ )?\w+"],
        ),
        (r"how (?:quickly|soon|fast)", [rf"within {COUNT} (?:\w+ )?{TIME_SPAN}|the same {TIME_SPAN}", span]),
        (r"how (?:long|old|early|late)|(?:what|which|how much) (?:\w+ )?(?:notice|period|time off)", [span]),
        (r"how (?:much|high|large|big|great)", [MONEY, MEASURE]),
        (rf"(?:what|which) (?:(?:is|are|was) )?(?:the |my |an? )?(?:\w+ )?(?:{AMOUNTS})", [MONEY, MEASURE]),
        (rf"what (?:do|does|did|is|will|would|must) .*\b(?:{PAYING})", [MONEY, MEASURE]),
        (r"how (?:far|tall|deep|heavy|wide|warm|cold|hot|strong)", [MEASURE]),
        (r"(?:which|what) (?:\w+ )?(?:days?|date)", [DAYS]),
        (r"(?:which|what) (?:\w+ )?month", [MONTH]),
        (r"(?:which|what) (?:\w+ )?(?:colours?|colors?)", [COLOUR]),
        (r"(?:which|what) (?:\w+ )?year", [r"\b[12]\d{3}\b"]),
        (
            r"until when|by when|when at the latest",
            [rf"(?:(?<=\bto )|(?<=until )|(?<=\bby )){CLOCK}|(?<= and )\d+(?=[.,;])", CLOCK, DAYS, span],
        ),
        (r"when|(?:what|which) (?:time|hour)", [rf"{CLOCK}|(?<=between )\d+", DAYS, span]),
        (r"whom?|whose", [NAME, rf"(?<=\bby )(?:the \w+ of the \w+|{THING})", ROLE]),
        (r"where", [ROOM, PLACE]),
        (rf"(?:which|what|how many) (?:percent\w*|{UNITS})", [MONEY, MEASURE]),
        (r"what (?:is|are) .*\b(?:called|named)", [r"(?<=[a-z] )(?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+)*"]),
        (r"(?:above|below|over|under|from|up to|beyond) (?:what|which)", [MONEY, MEASURE]),
        (
            r"(?:which|what) \w+",
            [rf"{noun} [A-Z]?\d+", rf"(?:the )?[\w-]+ {noun}", r"(?<=\bis )[A-Z][\w'-]+"],
        ),
    )
    hits = [(re.search(rf"\b(?:{words})\b", asked), patterns) for words, patterns in kinds]
    places = [(hit.start(), patterns) for hit, patterns in hits if hit]
    return min(places, key=lambda each: each[0])[1] if places else []
'''
NEAR = r'''
def nearness(sentence, hit, asked):
    """How much of what is asked stands in a sentence, the more the nearer it is to a hit."""
    points = 0.0
    for word in asked:
        places = [found for found in re.finditer(r"\w+", sentence) if stem(found[0].lower()) == word]
        gaps = [max(found.start() - hit.end(), hit.start() - found.end(), 0) for found in places]
        points += 0.5 + 1 / (1 + min(gaps) / 20) if gaps else 0.0
    return points
'''
KINDRED = r'''
def kindred(question, passages):
    """(points, span) for what in passages is of the kind asked for, the nearest to the question first."""
    asked, found = stems(question), {}
    for points, passage in passages:
        for sentence in re.split(r"(?<=[.;:!?])(?<!\b[DM]r\.)(?<!\bMrs\.)\s+", passage["text"]):
            for rank, pattern in enumerate(asked_for(question)):
                for hit in re.finditer(pattern, sentence):
                    span = hit[0].strip(" ,.;")
                    if not span or span.split()[-1] in COMMON or (stems(span) and stems(span) <= asked):
                        continue
                    worth = points + nearness(sentence, hit, asked) - 2 * rank
                    found[span] = max(found.get(span, worth), worth)
    return sorted(((worth, span) for span, worth in found.items()), key=lambda each: -each[0])
'''
WORDS = r'''
def words_in(text):
    """The words, numbers and times of a text in small letters, without articles."""
    return [word for word in re.findall(r"[\w:.,]*\w", text.lower()) if word not in ("the", "a", "an")]
'''
BY_KIND = r'''
def by_kind(model, question):
    """What is of the kind asked for and stands nearest; the model says which where several are near."""
    passages = [each for each in weighed(question)[:2] if each[0] > 0]
    found = kindred(question, passages)
    near = [span for worth, span in found if worth > found[0][0] - 1.5]
    if len(near) < 2:
        return near[0] if near else ""
    texts = [passage["title"] + "\n" + passage["text"][:900] for _, passage in passages[::-1]]
    asked = "Question: " + question + "\nGive a short answer between <answer> and </answer>."
    reply = model("\n\n".join([*texts, asked]), max_tokens=48)
    said = set(words_in(re.sub(r"<[^>]*>", " ", reply)))
    named = [span for span in near if said.issuperset(words_in(span))]
    return max(named, key=len) if named else near[0]
'''


def _by_kind(source: str, facts: Facts) -> str | None:
    parts = (*passage_parts(), SPANS, ASKED, NEAR, KINDRED, WORDS, BY_KIND)
    revised = answered_first(source, "by_kind", parts)
    return None if revised is None else with_tool(revised, "search")


def _worth(facts: Facts) -> float:
    """Nothing where usual answers are longer than a span."""
    lengths = [len(answer.split()) for _, answer in facts.examples] or [LONGEST + 1]
    short = facts.shape in ("line", "date", "number", "integer") and median(lengths) <= LONGEST
    read = facts.share(*UNKNOWN, Fault.EXTRACTION, Fault.FORMAT)
    return facts.fresh * float(facts.searches and short) * read


ENTRIES = (
    CatalogueEntry(
        "answer_by_kind",
        "Take from the two best passages what is of the kind that the question asks for, such as a name, a "
        "time or an amount; ask the model which where several are near, and as before where nothing is.",
        _by_kind,
        lambda facts: 0.97 * _worth(facts),
        tools=("search",),
    ),
)
