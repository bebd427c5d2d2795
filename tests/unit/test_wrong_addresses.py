"""An address that answers, and is not the endpoint's; a name that the endpoint does not know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from endpoint import REQUEST, completion
from loriner.errors import ModelRefused, ModelUnavailable
from loriner.models.chat import ChatModel

HOME = "<html><body>Welcome</body></html>"
REFUSALS: list[tuple[int, Any]] = [
    (404, {"error": {"message": "model 'small' not found, try pulling it first"}}),
    (404, {"error": {"message": "The model `small` does not exist.", "code": "model_not_found"}}),
    (400, {"error": {"message": "small is not a valid model ID"}}),
    (400, {"error": "could not find real modelID for small: no such model"}),
]


@dataclass
class Server:
    """Serves the API under one path, and something else everywhere else."""

    api: str = "/v1"
    elsewhere: tuple[int, str] = (404, "404 page not found")
    models: tuple[str, ...] = ("smollm", "qwen-small")
    refusal: tuple[int, Any] | None = None
    root: str = ""
    asked: list[str] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path}")
        self.keys.add(request.headers.get("Authorization"))
        if request.path == f"{self.api}/models":
            return web.json_response({"object": "list", "data": [{"id": each} for each in self.models]})
        if request.path == f"{self.api}/chat/completions" and request.method == "POST":
            if self.refusal:
                return web.json_response(self.refusal[1], status=self.refusal[0])
            return web.json_response(completion())
        status, text = self.elsewhere
        return web.Response(status=status, text=text, content_type="text/html")

    @property
    def n_posts(self) -> int:
        return sum(each.startswith("POST") for each in self.asked)


@asynccontextmanager
async def running(server: Server) -> AsyncIterator[Server]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


async def refused(server: Server, path: str, model: str = "smollm") -> str:
    chat = ChatModel(server.root + path, model)
    try:
        with pytest.raises(ModelRefused) as caught:
            await chat.complete(REQUEST)
    finally:
        await chat.close()
    return str(caught.value)


@pytest.mark.parametrize(
    "elsewhere",
    [
        (404, "404 page not found"),
        (405, "Method Not Allowed"),
        (200, HOME),
        (200, "Ollama is running"),
        (200, json.dumps({"error": "Unexpected endpoint or method. (POST /chat/completions)"})),
    ],
    ids=["404", "405", "a page", "a word", "an error"],
)
@pytest.mark.parametrize("path", ["", "/", "/v1/chat/completions", "/v1/models", "/v2", "/openai"])
async def test_an_address_beside_the_endpoint_is_corrected_after_one_request(
    path: str, elsewhere: tuple[int, str]
) -> None:
    async with running(Server(elsewhere=elsewhere)) as server:
        told = await refused(server, path)
        assert f"An endpoint is at {server.root}/v1: change the address to that" in told
        assert server.n_posts == 1


async def test_calls_beside_each_other_end_soon_as_well() -> None:
    async with running(Server(elsewhere=(200, HOME))) as server:
        chat = ChatModel(server.root, "smollm")
        got = await asyncio.gather(*(chat.complete(REQUEST) for _ in range(3)), return_exceptions=True)
        await chat.close()
        assert [type(each) for each in got] == [ModelRefused] * 3
        assert server.n_posts == 3, "15 before"


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda each: str(each[0]))
async def test_an_unknown_model_is_told_with_those_that_there_are(refusal: tuple[int, Any]) -> None:
    async with running(Server(refusal=refusal)) as server:
        told = await refused(server, "/v1", "small")
        assert "It does not serve 'small' but smollm, qwen-small" in told
        assert server.n_posts == 1


async def test_of_many_models_the_near_ones_are_named() -> None:
    many = tuple(f"other/{i}" for i in range(500))
    async with running(Server(models=(*many, "qwen2.5"), refusal=REFUSALS[0])) as server:
        told = await refused(server, "/v1", "qwen2.6")
    assert "but qwen2.5, other/0," in told and "and 491 more" in told
    assert len(told) < 500


async def test_an_address_where_nothing_is_an_endpoint_is_doubted_and_not_the_server() -> None:
    async with running(Server(api="/nowhere", elsewhere=(200, HOME))) as server:
        chat = ChatModel(server.root, "m")
        with pytest.raises(ModelUnavailable, match="check that the address is an endpoint's") as caught:
            await chat.complete(REQUEST)
        await chat.close()
    assert "Check that the server runs" not in str(caught.value)


async def test_a_list_of_models_that_is_none_is_no_reason_to_fail_otherwise() -> None:
    for listed in ("[[[", '{"data": 5}', "[" * 100_000, '{"data": [{"name": "x"}]}'):
        refusal = (404, {"error": {"message": "model 'small' not found"}})
        async with running(Server(api="/v1", elsewhere=(200, listed), refusal=refusal)) as server:
            server.models = ()
            told = await refused(server, "/v1", "small")
        assert "Check the address" in told


async def test_the_key_goes_to_the_same_server_and_into_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WRONG_ADDRESS_KEY", "sk-secret-123")
    async with running(Server()) as server:
        chat = ChatModel(server.root, "smollm", api_key_env="WRONG_ADDRESS_KEY")
        with pytest.raises(ModelRefused) as caught:
            await chat.complete(REQUEST)
        await chat.close()
    assert "sk-secret-123" not in str(caught.value)
    assert server.keys == {"Bearer sk-secret-123"}
