"""Asks the reward service until it answers: a trainer must stop rather than learn from a 0 that is our fault.

`LORINER_REWARD_URL` names the service, or several with commas between them. Then a context's completions all
go to the same one, where equal candidates share their trials. `LORINER_TOKEN` is sent where it is set.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

URL = "http://127.0.0.1:8081"
PATIENCE_S = 1_800.0
"""How long the service may be away before `NoReward` is raised."""
TIMEOUT_S = 1_000.0
"""How long one reply may take: as long as the service may score."""
PAUSE_S = 5.0


class NoReward(RuntimeError):
    """There is no reward for a completion: the service was away too long, or refused the request."""


def scored(context: str, completion: str, url: str = "", patience_s: float = PATIENCE_S) -> dict[str, Any]:
    """The reward of a completion with its parts. Raises as `scored_all`."""
    return scored_all([(context, completion)], url, patience_s)[0]


def scored_all(
    rows: Sequence[tuple[str, str]], url: str = "", patience_s: float = PATIENCE_S
) -> list[dict[str, Any]]:
    """The rewards of (context, completion) pairs with their parts, in order.

    Raises:
        NoReward: the service refused the request, or was away for `patience_s`.
    """
    urls = url or os.environ.get("LORINER_REWARD_URL", URL)
    places: dict[str, list[int]] = {}
    for place, (context, _) in enumerate(rows):
        places.setdefault(replica(context, urls), []).append(place)
    if not places:
        return []

    def asked(address: str) -> list[dict[str, Any]]:
        batch = [{"context": rows[at][0], "completion": rows[at][1]} for at in places[address]]
        return _persisted(f"{address}/score", json.dumps({"rows": batch}).encode(), patience_s)

    with ThreadPoolExecutor(len(places)) as threads:
        found = dict(zip(places, threads.map(asked, places), strict=True))
    by_place = {at: row for each in places for at, row in zip(places[each], found[each], strict=True)}
    return [by_place[at] for at in range(len(rows))]


def _persisted(address: str, body: bytes, patience_s: float) -> list[dict[str, Any]]:
    end = time.monotonic() + patience_s
    while True:
        found, pause, why = _asked(address, body)
        if found is not None:
            return found
        if time.monotonic() + pause > end:
            raise NoReward(f"{address} gave no reward for {patience_s:g} s: {why}")
        time.sleep(pause)


def replica(context: str, urls: str) -> str:
    """The service for a context, of those with commas between them."""
    each = [url.strip().rstrip("/") for url in urls.split(",") if url.strip()]
    if not each:
        raise NoReward("no address of a reward service: set LORINER_REWARD_URL")
    return each[int.from_bytes(hashlib.sha256(context.encode()).digest()[:8], "big") % len(each)]


def _asked(address: str, body: bytes) -> tuple[list[dict[str, Any]] | None, float, str]:
    """The rows, or None with the seconds to wait and why. Raises `NoReward` for a refusal."""
    headers = {"Content-Type": "application/json"}
    if token := os.environ.get("LORINER_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    try:
        request = urllib.request.Request(address, body, headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:
            return json.loads(reply.read())["rows"], 0.0, ""
    except urllib.error.HTTPError as error:
        with error:
            said = error.read().decode("utf-8", "replace")[:500]
        if error.code != 503:
            raise NoReward(f"{address} refused with {error.code}: {said}") from error
        return None, float(error.headers.get("Retry-After") or PAUSE_S), said
    except (OSError, http.client.HTTPException, ValueError) as error:
        return None, PAUSE_S, f"{type(error).__name__}: {error}"
