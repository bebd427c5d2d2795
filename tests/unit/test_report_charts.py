"""Charts: golden pieces, and what every chart promises."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from loriner.report.charts import Bar, Dot, IntervalRow, Point, Series, bars, intervals, lines
from loriner.statistics import Interval

GOLDEN = Path(__file__).parent.parent / "golden" / "report"
HALF = Interval(0.5, 0.25, 0.75, 20)


def texts(chart: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(chart).iter("text")]


def test_a_chart_of_intervals_is_as_agreed() -> None:
    made = intervals(
        "Two programs", [IntervalRow("seed", HALF), IntervalRow("best", Interval(0.8, 0.6, 0.95, 20), 1)]
    )
    assert made + "\n" == (GOLDEN / "intervals.svg").read_text(encoding="utf-8")


def test_a_chart_of_lines_is_as_agreed() -> None:
    series = Series("current", (Point(0, HALF), Point(1, Interval(0.7, 0.5, 0.85, 20))))
    made = lines("By round", [series], x="round", y="score", dots=[Dot(1, 0.4, False, "a try")])
    assert made + "\n" == (GOLDEN / "lines.svg").read_text(encoding="utf-8")


def test_a_chart_of_bars_is_as_agreed() -> None:
    made = bars("Faults", ("seed", "best"), [Bar("extraction", (10, 1)), Bar("reasoning", (0, 6))])
    assert made + "\n" == (GOLDEN / "bars.svg").read_text(encoding="utf-8")


def test_without_figures_there_is_no_chart() -> None:
    assert lines("x", [Series("a", ())], x="", y="") == bars("x", ("a",), []) == intervals("x", []) == ""


def test_figures_are_said_in_words_for_those_who_cannot_see_them() -> None:
    root = ElementTree.fromstring(intervals("Two programs", [IntervalRow("seed", HALF)]))
    assert root.get("role") == "img"
    title, description = root.get("aria-labelledby", "").split()
    named = {each.get("id"): each.text for each in root.iter() if each.get("id")}
    assert named[title] == "Two programs"
    assert "0.500 [0.250, 0.750]" in str(named[description])


def test_names_of_series_that_end_together_do_not_overlap() -> None:
    series = [Series(name, (Point(0, HALF), Point(1, HALF))) for name in ("one", "two", "three")]
    root = ElementTree.fromstring(lines("x", series, x="", y=""))
    places = [float(str(each.get("y"))) for each in root.iter("text") if each.text in ("one", "two", "three")]
    assert min(b - a for a, b in zip(sorted(places), sorted(places)[1:], strict=False)) >= 14


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.text(max_size=40)),
        min_size=1,
        max_size=12,
    )
)
def test_any_figures_and_names_make_well_formed_pictures_within_their_frame(
    drawn: list[tuple[float, float, float, str]],
) -> None:
    rows = [IntervalRow(name, Interval(*_ordered(a, b, c), 9), n) for n, (a, b, c, name) in enumerate(drawn)]
    points = tuple(Point(n, row.interval) for n, row in enumerate(rows))
    made = (
        intervals("x", rows, bounds=(0.0, 1.0)),
        intervals("x", rows, zero=True),
        lines("x", [Series(rows[0].name, points)], x="round", y="score"),
        bars("x", ("one",), [Bar(row.name, (row.interval.mean,)) for row in rows]),
    )
    for chart in made:
        root = ElementTree.fromstring(chart)
        _, _, width, height = map(float, str(root.get("viewBox")).split())
        for each in root.iter():
            for name, most in (("x", width), ("cx", width), ("x1", width), ("y", height), ("cy", height)):
                if each.get(name) is not None:
                    assert -0.5 <= float(str(each.get(name))) <= most + 0.5


def _ordered(a: float, b: float, c: float) -> tuple[float, float, float]:
    low, mean, high = sorted((a, b, c))
    return mean, low, high
