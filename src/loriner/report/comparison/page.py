"""The report on a comparison of modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loriner.report.charts import Bar, IntervalRow, bars, intervals
from loriner.report.comparison.results import SEED, Comparison, Contrast, Method
from loriner.report.comparison.rounds import by_round, by_task
from loriner.report.comparison.verdicts import progress, remarks, verdict
from loriner.report.diffs import diff
from loriner.report.evidence import configuration, costs, duration, moment, money
from loriner.report.facts import SHORT, Episode, Spent
from loriner.report.page import Cell, Figure, Fold, Page, PageTable, Section
from loriner.report.revisions import invalid, structure
from loriner.report.text import line
from loriner.report.verdicts import difference_text, interval_text, outcome


def comparison_page(comparison: Comparison) -> Page:
    """The report on a comparison."""
    candidates = [each for episode in comparison.episodes for each in episode.candidates]
    return Page(
        title=f"{', '.join(map(line, comparison.tasks))}: comparison {comparison.run_id}",
        verdict=verdict(comparison),
        remarks=remarks(comparison),
        facts=_facts(comparison),
        sections=(
            methods(comparison),
            contrasts(comparison),
            by_round(comparison),
            by_task(comparison),
            faults(comparison),
            structure(candidates),
            invalid(candidates),
            costs(_spent(comparison.episodes), _statuses(comparison.episodes)),
            arms(comparison),
            configuration(comparison.config),
        ),
    )


def methods(comparison: Comparison) -> Section:
    """Each mode's sealed score and what it cost."""
    caption = "Sealed score of each mode, over all tasks and seeds"
    chart = [IntervalRow(each.name, each.test, number) for number, each in enumerate(comparison.methods)]
    columns = (
        "mode",
        "sealed score",
        "gain over the seed",
        "solver calls",
        "tokens",
        "USD",
        "proposer calls",
        "calls a question",
        "accepted",
        "seeds",
    )
    rows = [_method(each) for each in comparison.methods]
    if not rows:
        return Section(title="Modes at equal cost")
    return Section(
        title="Modes at equal cost",
        text=(
            f"Each search may use as many {_unit(comparison.unit)} as the first mode did on the same task "
            "and seed; a last candidate that goes beyond is paid for and does not count. Scoring the winner "
            "on sealed questions is no part of the search; sampling spends its share there, on votes.",
            "The oracle sees the sealed scores: it is a ceiling, not a method. Calls, tokens and money are "
            "means of an arm; USD says cached where replies came from the cache, which cost nothing.",
        ),
        figures=(
            Figure(
                caption=caption,
                chart=intervals(caption, chart, bounds=(0.0, 1.0)),
                table=PageTable(caption="The same figures, with the price", columns=columns, rows=rows),
            ),
        ),
    )


def _method(each: Method) -> tuple[Cell, ...]:
    n = max(1, each.n_arms)
    tokens = (each.search.prompt_tokens + each.search.completion_tokens) / n
    spent = each.name != SEED
    return (
        each.name,
        interval_text(each.test),
        difference_text(each.gain.difference) if each.gain else None,
        f"{each.solver_calls:,.0f}" if spent else None,
        f"{tokens:,.0f}" if spent else None,
        _paid(each) if spent else None,
        f"{each.proposer_calls:,.0f}" if spent else None,
        None if each.served is None else f"{each.served:.1f}",
        f"{each.accepted:.1f}" if spent else None,
        each.n_seeds,
    )


def _paid(each: Method) -> str:
    """The mean of an arm. An unknown price is said first; a sum without the cached replies would mislead."""
    if each.search.usd is None or not each.n_cached:
        return money(each.search.usd and each.search.usd / max(1, each.n_arms))
    return "cached"


def faults(comparison: Comparison) -> Section:
    """Failed grade trials by fault: of the seed program, and of the best of each mode."""
    searches = [each for each in comparison.episodes if each.seed and each.best]
    modes = tuple(dict.fromkeys(each.start.mode for each in searches))
    found = {mode: Counter[str]() for mode in modes}
    before = Counter[str]()
    for each in searches:
        assert each.seed and each.best
        found[each.start.mode].update(each.best.faults)
        if each.start.mode == modes[0]:
            before.update(each.seed.faults)
    counts = {
        name: (before[name], *(found[mode][name] for mode in modes)) for name in _commonest(found, before)
    }
    if not counts:
        return Section(title="Faults before and after")
    caption = "Failed grade trials by fault, all tasks and seeds"
    rows: list[Sequence[Cell]] = [(name, *each) for name, each in counts.items()]
    return Section(
        title="Faults before and after",
        figures=(
            Figure(
                caption=caption,
                chart=bars(caption, (SEED, *modes), [Bar(name, each) for name, each in counts.items()]),
                table=PageTable(caption="The same figures", columns=("fault", SEED, *modes), rows=rows),
            ),
        ),
    )


def _commonest(found: Mapping[str, Counter[str]], before: Counter[str]) -> list[str]:
    total = sum(found.values(), before)
    return [name for name, _ in total.most_common()]


def contrasts(comparison: Comparison) -> Section:
    """Every two modes on the same questions."""
    if not comparison.contrasts:
        return Section(title="Every two modes")
    caption = "Difference of sealed scores, paired by question and seed"
    chart = [
        IntervalRow(_versus(each), each.paired.difference, 0 if each.told else 5)
        for each in comparison.contrasts
    ]
    rows = [
        (
            _versus(each),
            difference_text(each.paired.difference),
            _chance(each.paired.p_value),
            _chance(each.p_adjusted),
            "told apart" if each.told else "not told apart",
            each.paired.n,
        )
        for each in comparison.contrasts
    ]
    columns = ("first less second", "difference", "p", "p, adjusted", "verdict", "n")
    return Section(
        title="Every two modes",
        text=("Intervals cover new questions and new seeds. Adjusted p values are Holm's, over all rows.",),
        figures=(
            Figure(
                caption=caption,
                chart=intervals(caption, chart, zero=True),
                table=PageTable(caption="The same figures", columns=columns, rows=rows),
            ),
        ),
    )


def arms(comparison: Comparison) -> Section:
    """Each arm with its outcome, and what its best program changed."""
    rows = [
        (
            f"{arm.task}, {arm.mode}, seed {arm.seed}",
            arm.run_id,
            None if episode is None else episode.status,
            arm.allowance or "sets the allowance",
            "not begun" if episode is None else outcome(episode),
        )
        for arm, episode in comparison.arms
    ]
    folds = [fold for episode in comparison.episodes if (fold := _change(episode)) is not None]
    table = PageTable(
        caption="Each is a run of its own: loriner report RUN",
        columns=("arm", "run", "status", "allowance", "outcome"),
        rows=rows,
    )
    return Section(title="Arms", tables=(table,), folds=tuple(folds))


def _change(episode: Episode) -> Fold | None:
    seed, best = episode.seed, episode.best
    if seed is None or best is None or seed.harness_id == best.harness_id:
        return None
    start = episode.start
    label = f"{line(start.task)}, {start.mode}, seed {start.seed}: the best program against the seed program"
    body = diff(
        label, seed.harness_id[:SHORT], best.harness_id[:SHORT], episode.source(seed), episode.source(best)
    )
    return Fold(title=label, body=body)


def _facts(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    first = next(iter(comparison.episodes), None)
    n_seeds = len({arm.seed for arm, _ in comparison.arms})
    found = [
        ("tasks", ", ".join(map(line, comparison.tasks))),
        ("modes", ", ".join(dict.fromkeys(arm.mode for arm, _ in comparison.arms))),
        ("seeds", str(n_seeds)),
        ("held equal", _unit(comparison.unit)),
        ("status", progress(comparison)),
        ("started", moment(comparison.started)),
        ("wall time", duration(comparison.seconds)),
    ]
    if first is not None:
        found[2:2] = [
            ("frozen solver", line(first.start.solver)),
            ("proposer", line(first.start.proposer)),
            ("questions", ", ".join(f"{n} {split}" for split, n in first.start.n_questions.items())),
        ]
    return tuple(found)


def _spent(episodes: Sequence[Episode]) -> tuple[Spent, ...]:
    """The parts added up over all arms. Latencies are left to the arms' own reports."""
    parts: dict[str, list[Spent]] = {}
    for episode in episodes:
        for each in episode.spent:
            parts.setdefault(f"{each.part}, {episode.start.mode}", []).append(each)
    return tuple(
        Spent(
            part=name,
            usage=sum((each.usage for each in found[1:]), found[0].usage),
            n_cached=sum(each.n_cached for each in found),
            p50_s=None,
            p95_s=None,
        )
        for name, found in parts.items()
    )


def _statuses(episodes: Sequence[Episode]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for episode in episodes:
        for status, n in episode.statuses.items():
            counts[status] = counts.get(status, 0) + n
    return counts


def _chance(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _versus(each: Contrast) -> str:
    return f"{each.first} less {each.second}"


def _unit(unit: str) -> str:
    return {"calls": "solver calls", "tokens": "tokens of solver and proposer"}.get(unit, "US dollars")
