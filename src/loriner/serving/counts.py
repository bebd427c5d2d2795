"""What a server has done since its start, in the text format of Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Upper bounds of the times that are counted apart."""


@dataclass(slots=True)
class Counts:
    """Of requests, by the model that was named and by how they were answered. They hold no text."""

    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    """By model: requests at most as long as each bound, their number, and their time in all."""
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    swaps: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0

    def ended(self, model: str, outcome: str, seconds: float) -> None:
        """Counts a request."""
        self.requests[model, outcome] += 1
        times = self.seconds.setdefault(model, [0.0] * (len(BUCKETS_S) + 2))
        for place, bound in enumerate(BUCKETS_S):
            times[place] += seconds <= bound
        times[-2] += 1
        times[-1] += seconds

    def text(self) -> str:
        """The page of `/metrics`."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# TYPE loriner_requests_total counter"
        for (model, outcome), n_requests in sorted(self.requests.items()):
            yield f'loriner_requests_total{{model="{_safe(model)}",outcome="{_safe(outcome)}"}} {n_requests}'
        yield "# TYPE loriner_request_seconds histogram"
        for model, (*below, n, total) in sorted(self.seconds.items()):
            name = _safe(model)
            for bound, each in zip((*map(str, BUCKETS_S), "+Inf"), (*below, n), strict=True):
                yield f'loriner_request_seconds_bucket{{model="{name}",le="{bound}"}} {each:.0f}'
            yield f'loriner_request_seconds_count{{model="{name}"}} {n:.0f}'
            yield f'loriner_request_seconds_sum{{model="{name}"}} {total:.6f}'
        yield "# TYPE loriner_solver_calls_total counter"
        for model, n_calls in sorted(self.calls.items()):
            yield f'loriner_solver_calls_total{{model="{_safe(model)}"}} {n_calls}'
        yield "# TYPE loriner_tokens_total counter"
        for (model, kind), n_tokens in sorted(self.tokens.items()):
            yield f'loriner_tokens_total{{model="{_safe(model)}",kind="{kind}"}} {n_tokens}'
        yield "# TYPE loriner_swaps_total counter"
        for model, n_swaps in sorted(self.swaps.items()):
            yield f'loriner_swaps_total{{model="{_safe(model)}"}} {n_swaps}'
        yield "# TYPE loriner_requests_in_flight gauge"
        yield f"loriner_requests_in_flight {self.in_flight}"


def _safe(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
