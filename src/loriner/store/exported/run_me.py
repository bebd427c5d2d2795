"""Asks the harness one question: `python run_me.py "question"`. Standard library only.

The model is any server that speaks the OpenAI protocol, named by the environment: OPENAI_BASE_URL, MODEL and,
if it wants one, OPENAI_API_KEY. For anything else, rewrite `ask`.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from typing import Any

from harness import solve

ADVICE = (
    "OPENAI_BASE_URL must be the address of a running OpenAI-compatible server, as http://localhost:8000/v1; "
    "MODEL a model that it has; OPENAI_API_KEY its key, if it wants one"
)


class NoReply(RuntimeError):
    """The server gave no reply of a model: what was asked, what came, and what to do."""


class Reply(str):
    """The text of a reply, and what came beside it, where that was asked for."""

    logprobs: list[Any]
    tool_calls: list[dict[str, str]]


def ask(messages: Sequence[dict[str, Any]], **parameters: Any) -> Reply:
    """One reply of the model.

    Raises:
        NoReply: the server is down, refuses, or speaks another protocol.
    """
    url = os.environ.get("OPENAI_BASE_URL", "http://localhost:8000/v1") + "/chat/completions"
    model = os.environ.get("MODEL", "default")
    body = json.dumps({"model": model, "messages": messages, **parameters})
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '').strip()}",
    }
    asked = f"asked {url} for a reply of {model!r}"
    try:
        status, text = post(url, body.encode(), headers)
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", error)
        raise NoReply(f"{asked}, got none: {why or type(error).__name__}. {ADVICE}.") from error
    try:
        return reply_of(json.loads(text)["choices"][0])
    except (ValueError, LookupError, TypeError):
        shown = " ".join(text[:2000].decode(errors="replace").split())[:200]
        raise NoReply(f"{asked}, got status {status} and no chat completion: {shown!r}. {ADVICE}.") from None


def reply_of(choice: Any) -> Reply:
    """The reply that a choice of a chat completion holds."""
    reply = Reply(choice["message"].get("content") or "")
    reply.logprobs = (choice.get("logprobs") or {}).get("content") or []
    calls = [(each["id"], each["function"]) for each in choice["message"].get("tool_calls") or ()]
    reply.tool_calls = [
        {"id": id_, "name": function["name"], "arguments": function["arguments"]} for id_, function in calls
    ]
    return reply


def sent(message: dict[str, Any]) -> dict[str, Any]:
    """The message as servers take it: calls of tools in their form."""
    calls = [sent_call(each) for each in message.get("tool_calls") or ()]
    return {**message, "tool_calls": calls} if calls else message


def sent_call(call: dict[str, Any]) -> dict[str, Any]:
    """The call of a tool as servers take it."""
    if "function" in call:
        return call
    function = {"name": call["name"], "arguments": call["arguments"]}
    return {"id": call["id"], "type": "function", "function": function}


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """The status and the body of what the server answers."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=300) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read()


class Model:
    """What the harness calls: `model(prompt)`, `model.chat(messages)`, `model.batch(prompts)`."""

    def __call__(self, prompt: str, *, system: str | None = None, **parameters: Any) -> Any:
        first = [] if system is None else [{"role": "system", "content": system}]
        return self.chat([*first, {"role": "user", "content": prompt}], **parameters)

    def chat(
        self,
        messages: Sequence[dict[str, Any]],
        *,
        temperature: float = 0.0,
        max_tokens: int = 512,
        stop: str | Sequence[str] | None = None,
        n: int = 1,
        logprobs: int | None = None,
        **further: Any,
    ) -> Any:
        parameters: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        parameters |= {name: value for name, value in further.items() if value is not None}
        if logprobs is not None:
            parameters |= {"logprobs": True, "top_logprobs": logprobs}
        if stop:
            parameters["stop"] = [stop] if isinstance(stop, str) else list(stop)
        replies = [ask([sent(each) for each in messages], **parameters) for _ in range(n)]
        return replies[0] if n == 1 else replies

    def batch(self, prompts: Sequence[str], **parameters: Any) -> list[Any]:
        with ThreadPoolExecutor(max_workers=8) as pool:
            return list(pool.map(lambda prompt: self(prompt, **parameters), prompts))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python run_me.py "question"')
    try:
        print(solve(Model(), sys.argv[1]))
    except NoReply as error:
        sys.exit(str(error))
