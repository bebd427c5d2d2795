"""Asks the harness one question: `python run_me.py "question"`. Standard library only.

The model is any server that speaks the OpenAI protocol, named by the environment: OPENAI_BASE_URL, MODEL and,
if it wants one, OPENAI_API_KEY. For anything else, rewrite `ask`.
"""

import json
import os
import sys
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from harness import solve


def ask(messages: Sequence[dict[str, str]], **parameters: Any) -> str:
    """One reply of the model."""
    url = os.environ.get("OPENAI_BASE_URL", "http://localhost:8000/v1") + "/chat/completions"
    body = json.dumps({"model": os.environ.get("MODEL", "default"), "messages": messages, **parameters})
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', '')}",
    }
    with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers), timeout=300) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"] or "")


class Model:
    """What the harness calls: `model(prompt)`, `model.chat(messages)`, `model.batch(prompts)`."""

    def __call__(self, prompt: str, *, system: str | None = None, **parameters: Any) -> Any:
        first = [] if system is None else [{"role": "system", "content": system}]
        return self.chat([*first, {"role": "user", "content": prompt}], **parameters)

    def chat(
        self,
        messages: Sequence[dict[str, str]],
        *,
        temperature: float = 0.0,
        max_tokens: int = 512,
        stop: str | Sequence[str] | None = None,
        n: int = 1,
    ) -> Any:
        parameters: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens}
        if stop:
            parameters["stop"] = [stop] if isinstance(stop, str) else list(stop)
        replies = [ask(messages, **parameters) for _ in range(n)]
        return replies[0] if n == 1 else replies

    def batch(self, prompts: Sequence[str], **parameters: Any) -> list[Any]:
        with ThreadPoolExecutor(max_workers=8) as pool:
            return list(pool.map(lambda prompt: self(prompt, **parameters), prompts))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit('usage: python run_me.py "question"')
    print(solve(Model(), sys.argv[1]))
