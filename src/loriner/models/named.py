"""From the name of a model to the model.

The chat client is imported where it is opened: aiohttp takes a quarter of a second, which a command about
the store or the registry should not pay.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from loriner.errors import ConfigError
from loriner.models.base import Model
from loriner.models.llama import LlamaModel
from loriner.models.prices import Price, price_of
from loriner.models.pull import find, packaged
from loriner.models.scripted import SCRIPTS, scripted
from loriner.models.waiting import WAIT_S
from loriner.models.weights import ADAPTERS, CATALOGUE, Adapter

LENT = "python:"
"""What the names of objects begin with that a caller lent; settings that hold one cannot open it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model as the configuration describes it: an endpoint, or weights on this disk."""

    base_url: str | None = None
    """Address of an OpenAI-compatible endpoint, such as `http://localhost:8000/v1`."""
    model: str | None = None
    """What the endpoint calls the model."""
    api_key_env: str | None = None
    """The environment variable that holds the API key."""
    price: Price | None = None
    """USD per million tokens: `{ input = 0.05, output = 0.20 }`."""
    timeout_s: float = 600.0
    """Seconds that one request may take."""
    wait_s: float = WAIT_S
    """Seconds that a call may wait in all where the endpoint asks for it, or while it loads the model."""
    extra_body: Mapping[str, Any] | None = None
    """Further fields of each request."""
    gguf: str | None = None
    """Path of a GGUF file, or the name of pulled weights."""
    adapter: str | None = None
    """A LoRA adapter of these weights: the path of a GGUF file, or `trained`."""
    n_threads: int | None = None
    """Threads for such weights; default: the number of cores that are idle when they are loaded."""
    n_parallel: int = 8
    """Requests that such weights answer at the same time."""
    n_ctx_per_slot: int = 2048
    """Tokens of prompt and reply together, per request, for such weights."""
    context_tokens: int | None = None
    """Tokens of prompt and reply together that the endpoint takes, if known."""
    prompt_tokens: int | None = None
    """Tokens of the longest prompt that it is shown as a proposer."""
    completion_tokens: int | None = None
    """Tokens of the longest reply that it is asked for as a proposer."""

    def describe(self) -> str:
        """What it is, in a few words for a table."""
        if self.gguf and self.adapter:
            return f"{self.gguf} with {self.adapter}"
        return self.gguf or f"{self.model} at {self.base_url}"


def _shipped(adapter: Adapter) -> ModelSpec:
    """An adapter of the package on its weights, in one slot: its prompts are long, and one slot is exact."""
    return ModelSpec(
        gguf=adapter.base.name,
        adapter=adapter.name,
        n_parallel=1,
        n_ctx_per_slot=adapter.prompt_tokens + adapter.completion_tokens + 136,
        prompt_tokens=adapter.prompt_tokens,
        completion_tokens=adapter.completion_tokens,
    )


KNOWN = {
    **{name: ModelSpec(gguf=name) for name in CATALOGUE},
    **{name: _shipped(adapter) for name, adapter in ADAPTERS.items()},
}
"""What the names of pinned weights and of the package's adapters stand for."""


def spec_of(name: str, specs: Mapping[str, ModelSpec]) -> ModelSpec | None:
    """What a name stands for: the user's own come first. None for `scripted:NAME` and unknown ones."""
    if name in specs or name in KNOWN:
        return specs.get(name) or KNOWN[name]
    kind, _, rest = name.partition(":")
    if kind == "gguf" and rest:
        return ModelSpec(gguf=rest)
    base_url, _, model = name.rpartition("::")
    return ModelSpec(base_url=base_url, model=model) if "://" in base_url and model else None


def open_model(
    name: str, *, specs: Mapping[str, ModelSpec], models_dir: Path, offline: bool = False
) -> Model:
    """The model called `name`: one of `specs`, pinned weights, `trained`, `gguf:PATH`, `URL::MODEL` or
    `scripted:NAME`.

    Nothing is fetched, loaded or sent yet.

    Raises:
        ConfigError: no such model, weights that were not pulled, an adapter that is damaged, or an endpoint
            elsewhere while `offline`.
        MissingExtra: weights, without the extra `[local]`.
    """
    if (spec := spec_of(name, specs)) is not None:
        return _from_spec(name, spec, models_dir, offline)
    kind, _, rest = name.partition(":")
    if kind == "scripted" and rest:
        return scripted(rest)
    if name.startswith(LENT):
        raise ConfigError(f"{name} is an object of the Python program that began the run: go on from there")
    raise ConfigError(_unknown(name, specs))


def price_named(name: str, specs: Mapping[str, ModelSpec]) -> Price | None:
    """What the model called `name` costs, found without opening it: 0 on this machine, None where unknown, as
    for an object that a caller lent.

    Raises:
        ConfigError: no such model.
    """
    if name.startswith(LENT):
        return None
    spec = spec_of(name, specs)
    if spec is not None and spec.base_url is not None:
        return spec.price or price_of(spec.base_url, spec.model or "")
    if spec is None and name.partition(":")[0] != "scripted":
        raise ConfigError(_unknown(name, specs))
    return Price(0.0, 0.0)


def context_of(name: str, specs: Mapping[str, ModelSpec]) -> int | None:
    """Tokens of prompt and reply together that the model called `name` takes; None where not known."""
    spec = spec_of(name, specs) or ModelSpec()
    return spec.n_ctx_per_slot if spec.gguf else spec.context_tokens


def _from_spec(name: str, spec: ModelSpec, models_dir: Path, offline: bool) -> Model:
    if spec.gguf and not spec.base_url:
        return _local(spec, models_dir)
    if spec.base_url and spec.model and not spec.gguf:
        return _endpoint(spec, offline)
    raise ConfigError(f"the model {name} needs either base_url and model, or gguf")


def _local(spec: ModelSpec, models_dir: Path) -> LlamaModel:
    gguf = spec.gguf or ""
    pinned = gguf in CATALOGUE
    path = find(gguf, models_dir) if pinned else Path(gguf).expanduser()
    if path is None:
        raise ConfigError(f"the weights of {gguf} are not in {models_dir}: loriner models pull {gguf}")
    return LlamaModel(
        path,
        name=_name_of(spec) if pinned else None,
        adapter=_adapter(spec.adapter),
        n_threads=spec.n_threads,
        n_parallel=spec.n_parallel,
        n_ctx_per_slot=spec.n_ctx_per_slot,
    )


def _name_of(spec: ModelSpec) -> str:
    """The name of pinned weights, with their digest where an adapter's follows it."""
    weights = CATALOGUE[spec.gguf or ""]
    return f"{weights.name}@{weights.sha256[:12]}" if spec.adapter else weights.name


def _adapter(name: str | None) -> Path | None:
    if name is None:
        return None
    return packaged(ADAPTERS[name]) if name in ADAPTERS else Path(name).expanduser()


def _endpoint(spec: ModelSpec, offline: bool) -> Model:
    from loriner.models.chat import ChatModel

    base_url, model = spec.base_url or "", spec.model or ""
    if spec.api_key_env and not os.environ.get(spec.api_key_env):
        raise ConfigError(
            f"{model} at {base_url} needs a key: set the environment variable {spec.api_key_env}"
        )
    chat = ChatModel(
        base_url,
        model,
        api_key_env=spec.api_key_env,
        price=spec.price or price_of(base_url, model),
        timeout_s=spec.timeout_s,
        extra_body=spec.extra_body,
        wait_s=spec.wait_s,
    )
    if offline and urlsplit(base_url).hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ConfigError(f"{base_url} is not on this machine, and --offline forbids to call it")
    return chat


def _unknown(name: str, specs: Mapping[str, ModelSpec]) -> str:
    names = [*specs, *KNOWN, *(f"scripted:{script}" for script in SCRIPTS)]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return (
        f"no model is called {name!r}"
        + (f"; did you mean {near[0]}?" if near else ".")
        + f" There are {', '.join([*specs, *KNOWN])}, gguf:PATH and URL::MODEL"
        + " (such as http://localhost:8000/v1::my-model)"
    )
