"""Charts as inline SVG: lines with bands, intervals on a scale, grouped bars.

Each takes plain figures and returns markup without script, style of its own or reference; colours are classes
of the page's style sheet, and series also differ by dash and marker, so that no chart needs its colours. The
page puts a table with the same figures under each.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from loriner.report.text import line
from loriner.statistics import Interval

WIDTH = 720
ROW = 30
"""Height of a row of a row chart."""
N_STYLES = 6


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: Interval


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """A single try beside the lines."""

    x: float
    y: float
    filled: bool
    label: str


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One interval with its name."""

    name: str
    interval: Interval
    style: int = 0


@dataclass(frozen=True, slots=True)
class Bar:
    """One name with a length for each series of the chart."""

    name: str
    values: tuple[float, ...]


def lines(title: str, series: Sequence[Series], *, x: str, y: str, dots: Sequence[Dot] = ()) -> Markup:
    """Scores over rounds or calls: a line with a band for each series, dots for single tries."""
    shown = [each for each in series if each.points]
    if not shown:
        return Markup("")
    height, left, right, top, bottom = 330, 52, 590, 30, 280
    points = [point for each in shown for point in each.points]
    across = _scale(
        min([p.x for p in points] + [d.x for d in dots]),
        max([p.x for p in points] + [d.x for d in dots]),
        left,
        right,
    )
    floor, ceiling = _reach(
        [p.y.low for p in points] + [d.y for d in dots], [p.y.high for p in points] + [d.y for d in dots]
    )
    up = _scale(floor, ceiling, bottom, top)
    parts = [_levels(floor, ceiling, up, left, right), _foot(points, dots, across, bottom)]
    parts += [_band(each, number, across, up, thin=len(shown) > 2) for number, each in enumerate(shown)]
    parts += [_dot(each, across, up) for each in dots]
    parts += [_line(each, number, across, up) for number, each in enumerate(shown)]
    parts += _names(shown, right + 10, up)
    parts += [
        _text((left + right) / 2, height - 8, x, "axis", "middle"),
        _text(4, 14, y, "axis", "start"),
    ]
    said = "; ".join(f"{each.name}: {_path_in_words(each)}" for each in shown)
    return _picture(title, said, height, parts)


def intervals(
    title: str, rows: Sequence[IntervalRow], *, bounds: tuple[float, float] | None = None, zero: bool = False
) -> Markup:
    """Means with their 95 % intervals, one a row, on one scale; `zero` draws the line of no difference."""
    if not rows:
        return Markup("")
    left, right, top = 220, WIDTH - 130, 8
    height = top + ROW * len(rows) + 34
    lows, highs = [row.interval.low for row in rows], [row.interval.high for row in rows]
    floor, ceiling = bounds or _reach([*lows, 0.0] if zero else lows, [*highs, 0.0] if zero else highs)
    across = _scale(floor, ceiling, left, right)
    base = height - 30
    parts = [_uprights(floor, ceiling, across, top, base)]
    if zero:
        parts.append(_tag("line", x1=across(0), x2=across(0), y1=top, y2=base, class_="zero"))
    for number, row in enumerate(rows):
        parts += _interval_row(row, top + ROW * number + ROW / 2, left, across)
    said = "; ".join(f"{row.name}: {row.interval}" for row in rows)
    return _picture(title, said, height, parts)


def bars(title: str, names: Sequence[str], rows: Sequence[Bar], *, unit: str = "") -> Markup:
    """Grouped bars that run to the right; `names` are the series, as many as each row has values."""
    if not rows:
        return Markup("")
    left, right, top, thick = 290, WIDTH - 90, 8 if len(names) == 1 else 30, 13
    step = thick * len(names) + 12
    height = top + step * len(rows) + 4
    most = max((value for row in rows for value in row.values), default=0) or 1
    across = _scale(0, most, left, right)
    parts = [_legend(names, 10)] if len(names) > 1 else []
    for number, row in enumerate(rows):
        at = top + step * number
        parts.append(_text(left - 10, at + step / 2 - 1, line(row.name, 42), "name", "end"))
        for place, value in enumerate(row.values):
            y = at + thick * place
            width = max(across(value) - left, 1.0 if value else 0.0)
            parts.append(_tag("rect", x=left, y=y, width=width, height=thick - 2, class_=f"bar s{place}"))
            parts.append(_text(left + width + 6, y + thick - 4, f"{value:,.4g}{unit}", "value", "start"))
    said = "; ".join(
        f"{row.name}: "
        + ", ".join(f"{name} {value:,.4g}" for name, value in zip(names, row.values, strict=True))
        for row in rows
    )
    return _picture(title, said, height, parts)


# Below: parts of charts.


def _picture(title: str, said: str, height: float, parts: Sequence[Markup]) -> Markup:
    name = f"chart-{hashlib.sha256(title.encode()).hexdigest()[:8]}"
    head = _tag("title", line(title), id=f"{name}-title") + _tag("desc", line(said, 1_500), id=f"{name}-desc")
    return _tag(
        "svg",
        head + Markup("").join(parts),
        viewBox=f"0 0 {WIDTH} {_short(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="chart",
    )


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    """Maps [low, high] to [start, end]; an empty range maps to the middle."""
    span = high - low
    if span <= 0:
        return lambda value: (start + end) / 2
    return lambda value: start + (value - low) / span * (end - start)


def _reach(lows: Sequence[float], highs: Sequence[float]) -> tuple[float, float]:
    """The range from the least to the most, widened to whole tenths."""
    floor, ceiling = math.floor(min(lows) * 10 + 1e-9) / 10, math.ceil(max(highs) * 10 - 1e-9) / 10
    return (floor, ceiling) if ceiling - floor >= 0.2 else (max(-1.0, floor - 0.1), min(1.0, ceiling + 0.1))


def _ticks(low: float, high: float, most: int = 6) -> list[float]:
    """At most `most` + 1 round values in [low, high]."""
    span = high - low or 1.0
    step = 10.0 ** math.floor(math.log10(span / most))
    step = next(step * each for each in (1, 2, 5, 10, 20) if span / (step * each) <= most)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _levels(floor: float, ceiling: float, up: Callable[[float], float], left: float, right: float) -> Markup:
    made = Markup("")
    for value in _ticks(floor, ceiling):
        made += _tag("line", x1=left, x2=right, y1=up(value), y2=up(value), class_="grid")
        made += _text(left - 8, up(value) + 4, f"{value:.1f}", "tick", "end")
    return made


def _uprights(
    floor: float, ceiling: float, across: Callable[[float], float], top: float, base: float
) -> Markup:
    made = Markup("")
    for value in _ticks(floor, ceiling):
        made += _tag("line", x1=across(value), x2=across(value), y1=top, y2=base, class_="grid")
        made += _text(across(value), base + 18, f"{value:g}", "tick", "middle")
    return made


def _foot(
    points: Sequence[Point], dots: Sequence[Dot], across: Callable[[float], float], bottom: float
) -> Markup:
    places = [point.x for point in points] + [dot.x for dot in dots]
    whole = [value for value in _ticks(min(places), max(places), 10) if value == int(value)]
    made = Markup("")
    for value in whole:
        made += _text(across(value), bottom + 20, f"{value:,.0f}", "tick", "middle")
    return made


def _band(
    series: Series, number: int, across: Callable[[float], float], up: Callable[[float], float], *, thin: bool
) -> Markup:
    kind = "band thin" if thin else "band"
    there = [f"{_short(across(p.x))},{_short(up(p.y.high))}" for p in series.points]
    back = [f"{_short(across(p.x))},{_short(up(p.y.low))}" for p in reversed(series.points)]
    return _tag("polygon", points=" ".join(there + back), class_=f"{kind} s{number % N_STYLES}")


def _line(
    series: Series, number: int, across: Callable[[float], float], up: Callable[[float], float]
) -> Markup:
    style = number % N_STYLES
    places = [(across(p.x), up(p.y.mean)) for p in series.points]
    path = " ".join(f"{_short(x)},{_short(y)}" for x, y in places)
    made = _tag("polyline", points=path, class_=f"line s{style}")
    for point, (x, y) in zip(series.points, places, strict=True):
        made += _marker(x, y, style, f"{series.name}, {point.x:g}: {point.y}")
    return made


def _marker(x: float, y: float, style: int, label: str) -> Markup:
    hint = _tag("title", line(label))
    shape = style % 3
    if shape == 0:
        return _tag("circle", hint, cx=x, cy=y, r=4, class_=f"mark s{style}")
    if shape == 1:
        return _tag("rect", hint, x=x - 4, y=y - 4, width=8, height=8, class_=f"mark s{style}")
    corners = f"{_short(x)},{_short(y - 5)} {_short(x + 5)},{_short(y + 4)} {_short(x - 5)},{_short(y + 4)}"
    return _tag("polygon", hint, points=corners, class_=f"mark s{style}")


def _dot(dot: Dot, across: Callable[[float], float], up: Callable[[float], float]) -> Markup:
    kind = "dot full" if dot.filled else "dot"
    return _tag("circle", _tag("title", line(dot.label)), cx=across(dot.x), cy=up(dot.y), r=5, class_=kind)


def _names(series: Sequence[Series], x: float, up: Callable[[float], float]) -> list[Markup]:
    """Each series' name beside its end, moved down where two would overlap; `x` is the right edge."""
    ends = sorted((up(each.points[-1].y.mean), number) for number, each in enumerate(series))
    made, last = [], -math.inf
    for y, number in ends:
        y = max(y, last + 16)
        last = y
        made.append(_text(x, y + 4, line(series[number].name, 18), f"label s{number % N_STYLES}", "start"))
    return made


def _interval_row(row: IntervalRow, y: float, left: float, across: Callable[[float], float]) -> list[Markup]:
    each, style = row.interval, row.style % N_STYLES
    return [
        _text(left - 12, y + 4, line(row.name, 30), "name", "end"),
        _tag("line", x1=across(each.low), x2=across(each.high), y1=y, y2=y, class_=f"range s{style}"),
        _marker(across(each.mean), y, style, f"{row.name}: {each}"),
        _text(WIDTH - 118, y + 4, f"{each.mean:z.2f} [{each.low:z.2f}, {each.high:z.2f}]", "value", "start"),
    ]


def _legend(names: Sequence[str], left: float) -> Markup:
    made, x = Markup(""), left
    for number, name in enumerate(names):
        made += _tag("rect", x=x, y=6, width=12, height=12, class_=f"bar s{number}")
        made += _text(x + 18, 16, name, "tick", "start")
        x += 40 + 7.5 * len(name)
    return made


def _path_in_words(series: Series) -> str:
    first, last = series.points[0], series.points[-1]
    return f"{first.y.mean:.2f} at {first.x:g}, {last.y.mean:.2f} at {last.x:g}"


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> Markup:
    return _tag("text", line(text), x=x, y=y, class_=kind, text_anchor=anchor)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _tag(name: str, content: Markup | str = "", **attributes: str | float) -> Markup:
    made = Markup("")
    for key, value in attributes.items():
        text = value if isinstance(value, str) else _short(value)
        made += Markup(' {}="{}"').format(Markup(key.rstrip("_").replace("_", "-")), text)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), made, content)
