"""The parts a report is made of, and the one self-contained HTML file that they become.

The file refers to nothing outside itself and runs no script; its content security policy says so.
Text from models and programs is data: it goes through `text.plain` and the template's escaping.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from loriner import __version__

Cell = str | int | Markup | None

_FIGURE = re.compile(r"(?:< )?[+-]?[\d.,]+(?: s| \[[^\]]*\])?\Z|–?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    caption: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Cell]]
    """The first cell of a row names it. None shows as a dash."""

    @property
    def figure_columns(self) -> frozenset[int]:
        """The columns of figures, which stand to the right."""
        columns = range(1, len(self.columns))
        return frozenset(n for n in columns if all(_is_figure(row[n]) for row in self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Something long that opens on demand."""

    title: str
    body: Markup
    open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart with the same figures as a table."""

    caption: str
    chart: Markup
    table: PageTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    text: tuple[str, ...] = ()
    """Paragraphs."""
    figures: tuple[Figure, ...] = ()
    tables: tuple[PageTable, ...] = ()
    folds: tuple[Fold, ...] = ()

    @property
    def id(self) -> str:
        """Its anchor."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    @property
    def empty(self) -> bool:
        return not (self.text or self.figures or self.tables or self.folds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    title: str
    verdict: str
    """One sentence: the first thing that is read."""
    remarks: tuple[str, ...] = ()
    """What qualifies the verdict, a sentence each."""
    facts: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = field(default=())


def html(page: Page, *, live: str = "") -> str:
    """The page as one HTML document.

    `live` is a nonce: the document then holds one script, which fetches itself again while the run works.
    """
    sections = [section for section in page.sections if not section.empty]
    return _template("report.html").render(page=page, sections=sections, live=live, version=__version__)


def part(template: str, **values: object) -> Markup:
    """A piece of a page, from a template of its own."""
    return Markup(_template(template).render(**values))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("loriner.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def _template(name: str) -> Template:
    return _environment().get_template(name)


def _is_figure(cell: Cell) -> bool:
    return cell is None or isinstance(cell, int) or bool(_FIGURE.match(str(cell)))
