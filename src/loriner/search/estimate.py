"""What a run would take, before a model is opened: trials, calls, tokens and money, at least and at most.

The counts of trials follow from the plan. What a trial asks is the program's affair and not known before: the
rates below are assumptions, and are printed with the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loriner.config import ProposeTable, Settings
from loriner.errors import ConfigError
from loriner.models.meter import Budget
from loriner.models.named import price_named
from loriner.models.prices import Price, cost
from loriner.records import Question
from loriner.search.episode import Plan
from loriner.tasks.base import SPLITS, Task


@dataclass(frozen=True, slots=True)
class Range:
    """At least and at most."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)


CALLS_PER_TRIAL = Range(1, 5)
"""Solver calls: one in the minimal program, five where a program votes."""
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
    least: Least | None = None
    """None for a run that has no revisions."""
    warnings: tuple[str, ...] = ()
    """What the run could not show, whatever it spent."""


def of_adaptation(settings: Settings, task: Task, plan: Plan) -> Estimate:
    """What an episode would take, from a seed that is right at once to a revision accepted in each round.

    Raises:
        ConfigError: a cap leaves no room for one revision, or money is capped and a price is unknown.
    """
    feedback, grade, test = (_n(task.questions(split), getattr(plan, split)) for split in SPLITS)
    asks = settings.adapt.proposer != "catalogue"
    needed = 2 * grade + feedback + 2 * test
    least = Least(trials=needed, calls=needed + asks)
    _require_workable(settings.budget, least, f"{feedback} feedback, {grade} grade and {test} sealed")
    require_priced(settings)
    # Grade questions are sampled twice for seed and best: to choose, and afresh at the end.
    search = plan.rounds * (feedback + plan.candidates * grade)
    trials = Range(2 * grade + test, 3 * grade + 2 * test + search)
    completions = Range(0, plan.n_looks if asks else 0)
    shown = [question for split in SPLITS for question in task.questions(split)[: getattr(plan, split)]]
    hopeless = plan.never_accepts(grade)
    found = _summed(settings, trials, shown, completions, least)
    return replace(found, warnings=(hopeless,)) if hopeless else found


def of_evaluation(settings: Settings, questions: Sequence[Question]) -> Estimate:
    """What scoring a harness on these questions would take. Raises as `of_adaptation`, for the price."""
    require_priced(settings)
    n = len(questions) * settings.evaluate.samples
    return _summed(settings, Range(n, n), questions, Range(0, 0), None)


def total(parts: Sequence[Estimate]) -> Estimate:
    """What several runs would take together."""
    nothing = Range(0, 0)
    usd = [each.usd for each in parts if each.usd is not None]
    return Estimate(
        trials=sum((each.trials for each in parts), nothing),
        calls=sum((each.calls for each in parts), nothing),
        prompt_tokens=sum((each.prompt_tokens for each in parts), nothing),
        completion_tokens=sum((each.completion_tokens for each in parts), nothing),
        usd=sum(usd, nothing) if len(usd) == len(parts) else None,
        warnings=tuple(dict.fromkeys(warning for each in parts for warning in each.warnings)),
    )


def of_comparison(episodes: Sequence[Estimate], n_arms: int) -> Estimate:
    """What arms would take that are each given the calls of one episode, on every task.

    At least: one arm a task pays, and the others find its replies in the cache. At most: the others spend
    their calls on trials of one call.
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


def _asked(completions: Range, table: ProposeTable) -> tuple[Range, Range]:
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
