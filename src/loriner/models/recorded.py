"""A model that answers with what an earlier run was told, and with nothing else. It opens nothing."""

from __future__ import annotations

from collections.abc import Iterable

from loriner.errors import NotOnRecord, PromptRefused
from loriner.models.base import ModelReply, ModelRequest, request_of
from loriner.models.cache import key_of
from loriner.records import Call

_SHOWN_CHARS = 160


class RecordedCalls:
    """The model calls of a run by what was asked. Of equal requests the first reply stands."""

    def __init__(self, run_id: str, calls: Iterable[Call]) -> None:
        self.run_id = run_id
        self._calls: dict[str, Call] = {}
        for call in calls:
            if call.kind in ("model", "judge"):
                self._calls.setdefault(key_of("", request_of(call.request)), call)

    def find(self, request: ModelRequest) -> Call | None:
        """The recorded call for a request, or None."""
        return self._calls.get(key_of("", request))


class RecordedModel:
    """A model of a replayed run. Its replies count as cached: they cost and take nothing."""

    def __init__(self, name: str, record: RecordedCalls) -> None:
        self._name = name
        self._record = record

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply of the record.

        Raises:
            NotOnRecord: the run never asked this.
            PromptRefused: it did, and was refused.
        """
        call = self._record.find(request)
        if call is None:
            raise NotOnRecord(self._unknown(request))
        if call.error:
            raise PromptRefused(call.error)
        return ModelReply(
            text=call.reply,
            finish_reason=call.finish_reason,
            prompt_tokens=call.prompt_tokens,
            completion_tokens=call.completion_tokens,
            usd=0.0,
            cached=True,
            further=call.further,
        )

    async def close(self) -> None:
        """Holds nothing."""

    def _unknown(self, request: ModelRequest) -> str:
        prompt = " ".join(request.messages[-1].content.split()) if request.messages else ""
        shown = prompt if len(prompt) <= _SHOWN_CHARS else f"…{prompt[-_SHOWN_CHARS:]}"
        return (
            f"run {self._record.run_id} holds no reply of {self._name} to this call (temperature "
            f"{request.temperature:g}, at most {request.max_tokens} tokens, seed {request.seed}): {shown!r}. "
            "A program, task or seed that changed asks anew: run without --replay, and what is known "
            "comes from the cache"
        )
