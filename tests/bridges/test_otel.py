"""Spans out, with the real SDK."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import loriner as lo
import toy
from loriner.bridges.otel import export_spans
from loriner.errors import LorinerError

pytestmark = pytest.mark.filterwarnings("ignore")


def exported(run_id: str, home: Path, **more: Any) -> list[Any]:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    n = export_spans(run_id, provider, home=home, **more)
    spans = list(kept.get_finished_spans())
    assert n == len(spans)
    return spans


def test_trials_are_traces_with_calls_inside_and_texts_only_when_asked(tmp_path: Path) -> None:
    run = lo.adapt(toy.task(tmp_path), toy.say, home=tmp_path / "home", rounds=1, feedback=4, grade=8, test=8)
    spans = exported(run.id, tmp_path / "home")
    roots = [each for each in spans if each.parent is None]
    scores = [each.events[0].attributes["gen_ai.evaluation.score.value"] for each in roots]
    assert set(scores) == {0.0, 1.0}
    by_id = {each.context.span_id: each for each in roots}
    for each in spans:
        if each.parent is not None:
            root = by_id[each.parent.span_id]
            assert root.start_time <= each.start_time <= each.end_time <= root.end_time + 1e6
    assert {each.name.partition(" ")[0] for each in spans} == {"invoke_agent", "chat", "execute_tool"}
    shown = repr([dict(each.attributes) for each in spans])
    assert "ninety" not in shown and "Words:" not in shown
    shown = repr([dict(each.attributes) for each in exported(run.id, tmp_path / "home", texts=True)])
    assert "ninety" in shown and "Words:" in shown


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    lo.evaluate(toy.task(tmp_path), "library:minimal", toy.say, home=tmp_path / "home", limit=1)
    with pytest.raises(LorinerError, match="20990101"):
        exported("20990101-000000-aaaa", tmp_path / "home")
