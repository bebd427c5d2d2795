"""DSPy: its language model as ours."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from loriner.bridges import framework
from loriner.errors import ConfigError, ModelUnavailable, PromptRefused
from loriner.models.base import ModelReply, ModelRequest

dspy = framework("dspy", "dspy", "3.4.1", "LM", "lm15.Request", "lm15.Config", "lm15.Message")


class LMModel:
    """A `dspy.LM` as a solver: keys, retries, callbacks and history stay DSPy's."""

    def __init__(self, lm: Any) -> None:
        if lm is None:
            raise ConfigError("DSPy has no language model: dspy.configure(lm=dspy.LM(...))")
        self.name = f"dspy:{lm.model}"
        self._lm = lm
        self._context = contextvars.copy_context()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply. A prompt that is too long is refused; any other error of the LM is infrastructure."""
        asked = self._request(request)
        try:
            said = await asyncio.to_thread(self._context.copy().run, self._lm, asked)
        except Exception as error:
            kind = PromptRefused if "context" in type(error).__name__.lower() else ModelUnavailable
            raise kind(f"{self.name} raised {type(error).__name__}: {error}") from error
        usage = said.usage
        return ModelReply(
            text=said.text or "",
            finish_reason=str(said.finish_reason),
            prompt_tokens=usage.input_tokens or 0,
            completion_tokens=usage.output_tokens or 0,
        )

    def _request(self, request: ModelRequest) -> Any:
        system = "\n".join(each.content for each in request.messages if each.role == "system")
        turns = [each for each in request.messages if each.role != "system"]
        sampling = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        return dspy.lm15.Request(
            model=self._lm.model,
            messages=tuple(getattr(dspy.lm15.Message, each.role)(each.content) for each in turns),
            system=system or None,
            config=dspy.lm15.Config(**sampling, stop=request.stop, seed=request.seed),
        )

    async def close(self) -> None:
        """The LM is DSPy's to close."""
