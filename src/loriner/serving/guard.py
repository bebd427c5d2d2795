"""Who may ask, and how a refusal reads."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from loriner.errors import LorinerError
from loriner.serving import replies
from loriner.serving.asked import BadRequest
from loriner.serving.solver import NotPossible, NotReached

RETRY_S = "2"
MAX_BODY_BYTES = 16 << 20
HOSTS = ("127.0.0.1", "localhost", "[::1]")


def guarded(*, anywhere: bool = False, token: str = "") -> Middleware:
    """Turns what was raised into the protocol's errors, and pages of the web away.

    `anywhere` lets requests name any host; `token` is asked of every request, where there is one.
    """

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        host = _host(request)
        if not anywhere and host not in HOSTS:
            return refused(403, f"requests must name this machine, not {host}", "permission_error")
        given = request.headers.get("Authorization", "").encode()
        if token and not hmac.compare_digest(given, f"Bearer {token}".encode()):
            return refused(
                401, "the token is missing or wrong: send it as a bearer token", "permission_error"
            )
        if request.method == "POST" and request.content_type != "application/json":
            return refused(415, "the body must be sent as application/json", "invalid_request_error")
        try:
            return await handler(request)
        except (BadRequest, NotPossible) as error:
            return refused(400, str(error), "invalid_request_error")
        except (NotReached, LorinerError) as error:
            return refused(503, str(error), "server_error", "unavailable", {"Retry-After": RETRY_S})
        except web.HTTPException as error:
            return refused(error.status, error.reason, "invalid_request_error")

    return guard


def refused(
    status: int, message: str, kind: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A refusal in the shape of the OpenAI protocol."""
    return web.json_response(replies.error(message, kind, code), status=status, headers=headers)


async def read_json(request: web.Request) -> Any:
    """The body. Raises `BadRequest` where it is no JSON."""
    try:
        return json.loads(await request.read())
    except ValueError as error:  # Unicode errors are such
        raise BadRequest(f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise BadRequest("the body is nested too deeply") from error


def _host(request: web.Request) -> str:
    """The host that a request names, without its port."""
    name, _, port = request.host.rpartition(":")
    return name if name and port.isdigit() else request.host
