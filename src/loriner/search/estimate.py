"""An estimate before a run starts: trials, calls, tokens, money and minutes.

The least and the most follow from the plan and from assumptions on what a trial asks the model. The
assumptions are printed with the result. The likely amount uses the rates of earlier runs, if there are any.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from loriner.config import ProposeSettings, Settings
from loriner.errors import ConfigError
from loriner.models.meter import Budget
from loriner.models.named import price_named
from loriner.models.prices import Price, cost
from loriner.records import Question
from loriner.search.completions import N_REDRAWS
from loriner.search.cost_rates import assumed, of_earlier_runs
from loriner.search.plan import Plan
from loriner.search.trial_counts import TrialCounts
from loriner.tasks.base import SPLITS, Task


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    def times(self, rate: float) -> Range:
        return Range(self.low * rate, self.high * rate)


CALLS_PER_TRIAL = Range(1, 5)
"""Solver calls of a trial: one in the minimal program, five in a program that votes."""
TOKENS_PER_CHARACTER = Range(0.15, 0.5)
INSTRUCTION_TOKENS = Range(0, 600)
"""What a program puts around the question."""
REPLY_TOKENS = Range(1, 512)
"""Of one solver call; 512 is what a program gets unless it asks for another length."""
PROPOSER_PROMPT_TOKENS = 500
"""The least; the most is the setting `propose.prompt_tokens`."""
PROPOSER_REPLY_TOKENS = 20
"""The least; the most is the setting `propose.completion_tokens`."""
ASSUMED = {
    "solver calls a trial": CALLS_PER_TRIAL,
    "tokens a character of a question": TOKENS_PER_CHARACTER,
    "prompt tokens around it": INSTRUCTION_TOKENS,
    "tokens of a solver's reply": REPLY_TOKENS,
}


WIDTH = 4.0
"""The likely most is at most so many times the likely least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Likely:
    """What a run usually takes."""

    trials: Range
    calls: Range
    prompt_tokens: Range
    completion_tokens: Range
    usd: Range | None
    """None where a price is unknown."""
    minutes: Range | None
    """None where no earlier run has timed the solver."""
    source: str
    """Where the rates come from, in words."""

    def __add__(self, other: Likely) -> Likely:
        return Likely(
            trials=self.trials + other.trials,
            calls=self.calls + other.calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            usd=None if self.usd is None or other.usd is None else self.usd + other.usd,
            minutes=None if self.minutes is None or other.minutes is None else self.minutes + other.minutes,
            source=self.source if self.source == other.source else f"{self.source}; {other.source}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """The smallest caps that leave room for one revision and the sealed scores of seed and best."""

    trials: int
    calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would take."""

    trials: Range
    calls: Range
    """Of solver and proposer."""
    prompt_tokens: Range
    completion_tokens: Range
    usd: Range | None
    """None where a price is unknown."""
    likely: Likely | None = None
    """None for a comparison."""
    least: Least | None = None
    """None for a run that has no revisions."""
    warnings: tuple[str, ...] = ()
    """Differences that the run is too small to show, and caps that end it early."""


def of_adaptation(settings: Settings, task: Task, plan: Plan) -> Estimate:
    """What an episode would take, from a seed that is right at once to a revision accepted in each round.

    Raises:
        ConfigError: a cap leaves no room for one revision, or money is capped and a price is unknown.
    """
    feedback, grade, test = (_n(task.questions(split), getattr(plan, split)) for split in SPLITS)
    counts = TrialCounts(plan, {"feedback": len(task.questions("feedback")), "grade": grade, "test": test})
    asks = settings.adapt.proposer != "catalogue"
    needed = 2 * grade + feedback + 2 * test
    least = Least(trials=needed, calls=needed + asks)
    _require_workable(settings.budget, least, f"{feedback} feedback, {grade} grade and {test} sealed")
    require_priced(settings)
    completions = Range(0, plan.n_looks * (1 + N_REDRAWS) if asks else 0)
    shown = [question for split in SPLITS for question in task.questions(split)[: getattr(plan, split)]]
    hopeless = plan.never_accepts(grade)
    found = _summed(settings, _bounds(counts), shown, completions, least)
    written = Range(plan.candidates, plan.n_looks) if asks else Range(0, 0)
    likely = _likely(settings, task.name, _as_a_rule(counts), shown, written)
    warnings = [*filter(None, [hopeless]), *_cut_short(settings.budget, likely)]
    return replace(found, likely=likely, warnings=tuple(warnings))


def _cut_short(budget: Budget, likely: Likely) -> Iterator[str]:
    """A sentence for each cap that a run usually reaches before its end."""
    for name, cap, taken in (
        ("trials", budget.trials, likely.trials),
        ("calls", budget.calls, likely.calls),
        ("minutes", budget.minutes, likely.minutes),
    ):
        if cap is not None and taken is not None and cap < taken.high:
            usual = f"{taken.low:,.0f} to {taken.high:,.0f} {name}"
            yield f"--max-{name} {cap:g} may end the search early: as a rule it takes {usual}"


def _bounds(counts: TrialCounts) -> Range:
    """Trials from a seed that is right at once to a version accepted in each round, and a third program."""
    rounds, n = counts.plan.rounds, counts.n
    least = counts.first + counts.window + counts.ending(1, counts.first)
    most = n["grade"] + rounds * (n["feedback"] + counts.contested) + counts.ending(3, n["grade"])
    return Range(least, most)


def _as_a_rule(counts: TrialCounts) -> Range:
    """Trials of a search that ends after a third of its rounds, to one that walks them all.

    Most leaders are refused early: at most, one round in three takes its leader through all questions.
    """
    rounds, n = counts.plan.rounds, counts.n
    refused, contested = counts.window + counts.chosen, counts.window + counts.contested
    least = counts.first + math.ceil(rounds / 3) * refused + counts.ending(1, counts.first)
    often = math.ceil(rounds / 3)
    most = counts.first + (rounds - often) * refused + often * contested + counts.ending(2, n["grade"])
    return Range(max(least, most / WIDTH), most)


def of_evaluation(settings: Settings, task: str, questions: Sequence[Question]) -> Estimate:
    """What scoring a harness on these questions of a task would take. Raises as `of_adaptation`."""
    require_priced(settings)
    n = len(questions) * settings.evaluate.samples
    likely = _likely(settings, task, Range(n, n), questions, Range(0, 0))
    return replace(_summed(settings, Range(n, n), questions, Range(0, 0), None), likely=likely)


def total(parts: Sequence[Estimate]) -> Estimate:
    """What several runs would take together."""
    nothing = Range(0, 0)
    usd = [each.usd for each in parts if each.usd is not None]
    likely = [each.likely for each in parts if each.likely is not None]
    return Estimate(
        trials=sum((each.trials for each in parts), nothing),
        calls=sum((each.calls for each in parts), nothing),
        prompt_tokens=sum((each.prompt_tokens for each in parts), nothing),
        completion_tokens=sum((each.completion_tokens for each in parts), nothing),
        usd=sum(usd, nothing) if len(usd) == len(parts) else None,
        likely=reduce(add, likely) if likely else None,
        warnings=tuple(dict.fromkeys(warning for each in parts for warning in each.warnings)),
    )


def of_comparison(episodes: Sequence[Estimate], n_arms: int) -> Estimate:
    """What a comparison would take, if each arm gets the calls of one episode on every task.

    The least: one arm pays on each task, and the others find its replies in the cache. The most: the others
    spend their calls on trials of one call.
    """
    one, share = total(episodes), Range(1, n_arms)
    return Estimate(
        trials=Range(one.trials.low, one.trials.high + (n_arms - 1) * one.calls.high),
        calls=one.calls * share,
        prompt_tokens=one.prompt_tokens * share,
        completion_tokens=one.completion_tokens * share,
        usd=None if one.usd is None else one.usd * share,
        warnings=one.warnings,
    )


def _likely(
    settings: Settings, task: str, trials: Range, questions: Sequence[Question], completions: Range
) -> Likely:
    length = sum(len(question.text) for question in questions) / max(1, len(questions))
    rates = of_earlier_runs(settings, task) or assumed(length)
    solver, proposer = _prices(settings)
    prompt, reply = trials.times(rates.prompt_tokens), trials.times(rates.completion_tokens)
    table = settings.propose
    asked, written = (
        completions.times(table.prompt_tokens / 2),
        completions.times(table.completion_tokens / 4),
    )
    bills = [_usd(solver, prompt, reply), _usd(proposer, asked, written)]
    return Likely(
        trials=trials,
        calls=trials.times(rates.calls) + completions,
        prompt_tokens=prompt + asked,
        completion_tokens=reply + written,
        usd=None if bills[0] is None or bills[1] is None else bills[0] + bills[1],
        minutes=None if rates.seconds is None else trials.times(rates.seconds / 60),
        source=rates.source,
    )


def _n(questions: Sequence[Question], most: int) -> int:
    return min(len(questions), most)


def _summed(
    settings: Settings,
    trials: Range,
    questions: Sequence[Question],
    completions: Range,
    least: Least | None,
) -> Estimate:
    calls = trials * CALLS_PER_TRIAL
    length = sum(len(question.text) for question in questions) / max(1, len(questions))
    prompt = calls * (TOKENS_PER_CHARACTER * Range(length, length) + INSTRUCTION_TOKENS)
    reply = calls * REPLY_TOKENS
    asked, written = _asked(completions, settings.propose)
    solver, proposer = _prices(settings)
    bills = [_usd(solver, prompt, reply), _usd(proposer, asked, written)]
    return Estimate(
        trials=trials,
        calls=calls + completions,
        prompt_tokens=prompt + asked,
        completion_tokens=reply + written,
        usd=None if bills[0] is None or bills[1] is None else bills[0] + bills[1],
        least=least,
    )


def _asked(completions: Range, table: ProposeSettings) -> tuple[Range, Range]:
    """Tokens of the proposer's prompts and replies."""
    prompt = completions * Range(min(PROPOSER_PROMPT_TOKENS, table.prompt_tokens), table.prompt_tokens)
    reply = completions * Range(min(PROPOSER_REPLY_TOKENS, table.completion_tokens), table.completion_tokens)
    return prompt, reply


def _usd(price: Price | None, prompt: Range, reply: Range) -> Range | None:
    low = cost(price, int(prompt.low), int(reply.low))
    high = cost(price, int(prompt.high), int(reply.high))
    return None if low is None or high is None else Range(low, high)


def _prices(settings: Settings) -> tuple[Price | None, Price | None]:
    """Of solver and proposer; 0 where there is none to ask."""
    names = (settings.adapt.solver, settings.adapt.proposer)
    solver, proposer = (
        Price(0.0, 0.0) if name in (None, "catalogue") else price_named(name or "", settings.models)
        for name in names
    )
    return solver, proposer


def _require_workable(budget: Budget, least: Least, of: str) -> None:
    for name, cap, needed in (
        ("trials", budget.trials, least.trials),
        ("calls", budget.calls, least.calls),
    ):
        if cap is not None and cap < needed:
            raise ConfigError(
                f"--max-{name} {cap} fits no revision: to score the seed and one revision ({of} questions) "
                f"takes {needed} {name} at least. Give --max-{name} {needed} or more, or fewer questions"
            )


def require_priced(settings: Settings) -> None:
    """Raises `ConfigError` if money is capped and a model's price is not known."""
    if settings.budget.usd is None:
        return
    solver, proposer = _prices(settings)
    for name, price in ((settings.adapt.solver, solver), (settings.adapt.proposer, proposer)):
        if price is None:
            raise ConfigError(
                f"--max-usd {settings.budget.usd:g} cannot be kept: {name} has no known price. Name it in "
                "loriner.toml with price = { input = 0.05, output = 0.20 } (USD a million tokens), install "
                "loriner[prices] for list prices of hosted models, or give --max-calls or --max-tokens"
            )
