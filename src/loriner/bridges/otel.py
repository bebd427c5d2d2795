"""OpenTelemetry: the trials of a stored run as spans, in the GenAI conventions.

A trial is a trace: `invoke_agent TASK` around `chat MODEL` and `execute_tool NAME`; its score is an event.
Source: the semantic conventions for generative AI 0.66b2, whose names are still under development.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from loriner.bridges import framework
from loriner.errors import ConfigError
from loriner.records import Call, Trial
from loriner.store.database import Store

trace = framework("opentelemetry.trace", "opentelemetry-sdk", "1.45.2", "set_span_in_context")


def export_spans(run_id: str, provider: Any, *, home: str | Path = ".loriner", texts: bool = False) -> int:
    """How many spans the tracer provider was given. Prompts, replies and answers only with `texts`.

    Raises:
        ConfigError: there is no such run, or it has no trials.
    """
    store = Store.existing(Path(home))
    try:
        row = store.run(run_id)
        trials = store.trials(row.id, with_calls=True)
    finally:
        store.close()
    if not trials:
        raise ConfigError(f"run {run_id} has no trials to export")
    solver = str(row.config.get("adapt", {}).get("solver"))
    begun = datetime.fromisoformat(row.started).timestamp()
    tracer = provider.get_tracer("loriner")
    return sum(_Export(tracer, row.id, solver, begun, texts).trial(each) for each in trials)


class _Export:
    """Writes the spans of one run."""

    def __init__(self, tracer: Any, run_id: str, solver: str, begun: float, texts: bool) -> None:
        self._tracer, self._run_id, self._solver, self._begun, self._texts = (
            tracer,
            run_id,
            solver,
            begun,
            texts,
        )

    def trial(self, trial: Trial) -> int:
        """The number of spans written. A trial without a time of its own starts with the run."""
        start = self._begun if trial.started is None else trial.started
        ends = [each.started + each.seconds for each in trial.calls if each.started is not None]
        end = max(start + trial.seconds, *ends, start)
        facts = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": trial.task,
            "gen_ai.agent.id": trial.harness_id,
            "loriner.run": self._run_id,
            "loriner.question": trial.question_id,
            "loriner.status": str(trial.status),
            **({"loriner.answer": trial.answer} if self._texts else {}),
        }
        root = self._tracer.start_span(f"invoke_agent {trial.task}", start_time=_ns(start), attributes=facts)
        inside = trace.set_span_in_context(root)
        for call in trial.calls:
            self._call(call, inside, start)
        if trial.score is not None:
            root.add_event("gen_ai.evaluation.result", _result(trial), _ns(end))
        root.end(_ns(end))
        return 1 + len(trial.calls)

    def _call(self, call: Call, inside: Any, default: float) -> None:
        start = default if call.started is None else call.started
        is_model = call.kind == "model"
        name = f"chat {self._solver}" if is_model else f"execute_tool {call.kind}"
        facts = self._chat(call) if is_model else self._tool(call)
        span = self._tracer.start_span(name, context=inside, start_time=_ns(start), attributes=facts)
        if call.error:
            span.set_attribute("error.type", call.error.partition(":")[0][:80])
        span.end(_ns(start + call.seconds))

    def _chat(self, call: Call) -> dict[str, Any]:
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": self._solver,
            "gen_ai.request.temperature": float(call.request.get("temperature", 0.0)),
            "gen_ai.request.max_tokens": int(call.request.get("max_tokens", 0)),
            "gen_ai.usage.input_tokens": call.prompt_tokens,
            "gen_ai.usage.output_tokens": call.completion_tokens,
            "gen_ai.response.finish_reasons": [call.finish_reason],
        }
        if self._texts:
            asked = [_message(each["role"], each["content"]) for each in call.request["messages"]]
            said = _message("assistant", call.reply) | {"finish_reason": call.finish_reason}
            facts["gen_ai.input.messages"] = json.dumps(asked)
            facts["gen_ai.output.messages"] = json.dumps([said])
        return facts

    def _tool(self, call: Call) -> dict[str, Any]:
        facts = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": call.kind}
        if self._texts:
            facts["gen_ai.tool.call.arguments"] = json.dumps(dict(call.request), default=str)
            facts["gen_ai.tool.call.result"] = call.reply
        return facts


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _result(trial: Trial) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": trial.task,
        "gen_ai.evaluation.score.value": trial.score,
        "gen_ai.evaluation.score.label": str(trial.status),
    }


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
