"""Text from models and programs in a report is data, whatever it holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from loriner.records import Status, Trial
from loriner.report.page import html
from loriner.report.pages import facts_of, page_of
from loriner.report.text import line, plain
from loriner.store.database import Store
from recorded import LOOP, record, trial

ATTACKS = [
    "<script>document.title='owned'</script>",
    "</pre></details></main><img src=x onerror=alert(1)>",
    "</style><style>body{display:none}</style>",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- --><svg/onload=alert(1)>",
    "javascript:alert(1)",
    '" onmouseover="alert(1)" x="',
    "]]><![CDATA[",
]
ANSI = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J plain"


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def attack(n: int, text: str) -> Trial:
    """A slow trial that says the text wherever it can."""
    made = trial(LOOP, "test", 1000 + n, right=False, reply=text, seconds=50.0)
    return Trial(
        task="t",
        harness_id=LOOP.id,
        question_id=f"q{n}{text[:40]}",
        status=Status.CRASHED,
        detail=text[:80],
        answer=text,
        score=0.0,
        calls=made.calls,
        seconds=50.0 + n,
        stdout=text,
        error=text,
    )


async def page(home: Path, texts: list[str], note: str) -> str:
    store = Store.open(home)
    run_id = await record(store, note=note, more=[attack(n, text) for n, text in enumerate(texts)])
    made = html(page_of(facts_of(store, run_id)))
    store.close()
    return made


async def test_no_text_becomes_an_element_an_attribute_or_a_script(tmp_path: Path) -> None:
    for number in range(0, len(ATTACKS), 4):
        made = Elements(await page(tmp_path / str(number), ATTACKS[number : number + 4], ATTACKS[number]))
        names = {tag for tag, _ in made.found}
        assert not names & {"script", "img", "iframe", "object", "embed", "link", "form", "input", "base"}
        assert [tag for tag, _ in made.found].count("style") == 1
        assert not any(name.startswith("on") for _, attributes in made.found for name, _ in attributes)
        said = "".join(made.text)
        for each in ATTACKS[number : number + 4]:
            assert each in said


async def test_terminal_codes_and_turning_characters_are_shown_or_gone(tmp_path: Path) -> None:
    made = await page(tmp_path, [ANSI, "safe\u202eexe.txt", "nul\x00bell\x07"], ANSI)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made)
    assert "red plain" in made


async def test_a_huge_trial_does_not_make_a_huge_report(tmp_path: Path) -> None:
    small = await page(tmp_path / "small", ["x"] * 3, "short")
    large = await page(tmp_path / "large", ["word " * 400_000] * 3, "note " * 50_000)
    assert len(large) < len(small) + 120_000
    assert "characters left out" in large


@given(st.text(max_size=300), st.integers(20, 200))
def test_plain_text_is_short_visible_and_the_same_a_second_time(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit + 60
    assert plain(shown, 1_000) == shown
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", shown)
    assert "\n" not in line(text) and len(line(text, limit)) <= limit
    shown.encode()
