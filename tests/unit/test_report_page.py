"""The HTML of a report: complete, self-contained, with a table for each chart; and golden pieces of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from loriner.report.diffs import diff, side_by_side
from loriner.report.page import PageTable, html, part
from loriner.report.pages import facts_of, page_of
from loriner.store.database import Store
from recorded import LOOP, SEED, record

GOLDEN = Path(__file__).parent.parent / "golden" / "report"

SECTIONS = [
    "seed-and-best",
    "score-by-round",
    "what-was-tried",
    "what-changed",
    "task-by-round",
    "faults-before-and-after",
    "structure-of-revisions",
    "refused-edits",
    "cost-tokens-latency",
    "slowest-and-most-expensive-trials",
    "configuration-and-versions",
]


class Outline(HTMLParser):
    """The elements of a page, with their attributes, and the text of each cell and heading."""

    VOID = frozenset({"meta", "link", "br", "input", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.inside: list[tuple[str, ...]] = []
        self.feed(text)
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tuple(self.open))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for each, attributes in self.elements if each == tag]


@pytest.fixture
async def page(tmp_path: Path) -> str:
    store = Store.open(tmp_path)
    run_id = await record(store)
    found = facts_of(store, run_id)
    store.close()
    return html(page_of(found))


@pytest.fixture
def outline(page: str) -> Iterator[Outline]:
    yield Outline(page)


def test_every_section_is_there_and_linked(outline: Outline) -> None:
    ids = [each["id"] for each in outline.all("section")]
    assert ids == ["verdict", *SECTIONS]
    assert [each["href"] for each in outline.all("a")] == ["#verdict", *(f"#{name}" for name in SECTIONS)]


def test_nothing_outside_the_file_is_referred_to_and_no_script_runs(page: str, outline: Outline) -> None:
    for tag, attributes in outline.elements:
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        for name in ("src", "href", "srcset", "action", "data", "style"):
            assert attributes.get(name) is None or str(attributes[name]).startswith("#")
    assert not re.search(r"https?://|@import|url\(", page.replace("http://www.w3.org", ""))
    policy = next(each["content"] for each in outline.all("meta") if each.get("http-equiv"))
    assert "default-src 'none'" in str(policy) and "script-src" not in str(policy)


def test_each_chart_stands_in_a_figure_with_its_table(outline: Outline) -> None:
    depth = [
        ("svg", inside)
        for (tag, _), inside in zip(outline.elements, outline.inside, strict=True)
        if tag == "svg"
    ]
    assert len(depth) == 6 and all("figure" in inside for _, inside in depth)
    tags = [tag for tag, _ in outline.elements if tag in ("figure", "svg", "table")]
    text = " ".join(tags)
    assert text.count("figure svg table") == len(outline.all("figure")) == 6


def test_it_can_be_read_without_eyes_and_without_a_mouse(outline: Outline) -> None:
    assert outline.all("html")[0]["lang"] == "en"
    assert len(outline.all("h1")) == 1 and len(outline.all("main")) == 1
    assert len(outline.all("caption")) == len(outline.all("table"))
    assert all(each.get("scope") in ("col", "row") for each in outline.all("th"))
    scrolling = [each for _, each in outline.elements if each.get("class") == "scroll"]
    assert scrolling and all(each["tabindex"] == "0" and each["aria-label"] for each in scrolling)
    ids = [each["id"] for _, each in outline.elements if each.get("id")]
    assert len(ids) == len(set(ids))


def test_not_evaluated_is_not_zero() -> None:
    made = part(
        "heat.html",
        label="By round",
        corner="task",
        columns=["1", "2", "3"],
        rows=[("sums", [0.0, None, 1.0])],
    )
    assert made + "\n" == (GOLDEN / "heat.html").read_text(encoding="utf-8")
    assert '<td class="none" title="not evaluated">' in made and '<td class="h0">0.00</td>' in made


def test_a_diff_is_as_agreed() -> None:
    made = diff("Best against seed", "seed", "best", SEED.source, LOOP.source)
    assert made + "\n" == (GOLDEN / "diff.html").read_text(encoding="utf-8")


def test_a_diff_leaves_unchanged_lines_out_and_keeps_numbers() -> None:
    old = "\n".join(f"line {n}" for n in range(40))
    rows = side_by_side(old, old.replace("line 20", "line twenty"))
    assert rows[0] is None and rows[-1] is None
    shown = [each for each in rows if each]
    assert [each.old_number for each in shown] == list(range(18, 25))
    assert [(each.old, each.new) for each in shown if each.changed] == [("line 20", "line twenty")]
    assert side_by_side(old, old) == []


def test_a_table_is_as_agreed() -> None:
    table = PageTable(
        caption="Parts",
        columns=("part", "calls", "note"),
        rows=[("solver", 1200, "a < b"), ("proposer", None, "")],
    )
    assert part("table_alone.html", each=table) + "\n" == (GOLDEN / "table.html").read_text(encoding="utf-8")


async def test_a_report_can_be_made_while_the_run_works(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    run_id = await record(store, finished=False)
    page = page_of(facts_of(store, run_id))
    store.close()
    assert page.verdict == (
        "Running: round 3 of at most 3; 1 revision accepted in 2 rounds, "
        "from 0.20 to 0.65 on the grade questions."
    )
    Outline(html(page, live="nonce"))
