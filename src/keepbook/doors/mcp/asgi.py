"""MCP over streamable HTTP, as an ASGI endpoint that a larger app puts at `/mcp`.

Nothing is kept between two requests, so any worker may answer any of them. Each is checked for the host it was sent to
and the page it came from: a web page that points its own name at this machine gets nothing. The app around it says who
asks; what it raises on the way is its own to answer.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from keepbook.app import Keepbook
from keepbook.doors.auth import Caller
from keepbook.doors.mcp.server import build

LOOPBACK_HOSTS = tuple(f"{name}{port}" for name in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*"))
LOOPBACK_ORIGINS = tuple(f"http://{host}" for host in LOOPBACK_HOSTS)
BODY_BYTES = 4 * 1024 * 1024

Lifespan = Callable[[], AbstractAsyncContextManager[None]]

_CALLER = "keepbook_caller"


def mount(
    kb: Keepbook,
    caller_of: Callable[[Request], Caller],
    *,
    allowed_hosts: Sequence[str] | None = LOOPBACK_HOSTS,
    allowed_origins: Sequence[str] = LOOPBACK_ORIGINS,
    body_bytes: int = BODY_BYTES,
) -> tuple[ASGIApp, Lifespan]:
    """The endpoint, and what the app around it must hold open while it serves: `async with lifespan(): …`.

    Hosts are `name`, `name:port` or `name:*`; origins the same behind `http://` or `https://`; no hosts at all means
    that the app around it checks both. The lifespan can be entered once. Give the endpoint a route of its own,
    `Route("/mcp", endpoint)`: a mount would redirect to `/mcp/`.
    """
    checks = TransportSecuritySettings(
        enable_dns_rebinding_protection=allowed_hosts is not None,
        allowed_hosts=list(allowed_hosts or ()),
        allowed_origins=list(allowed_origins),
    )
    sessions = StreamableHTTPSessionManager(
        build(kb, _known),
        json_response=True,
        stateless=True,
        security_settings=checks,
        max_request_body_size=body_bytes,
    )
    return _Endpoint(sessions, caller_of), sessions.run


def _known(request: Request | None) -> Caller:
    assert request is not None  # every message over HTTP comes with its request
    caller: Caller = request.scope["state"][_CALLER]
    return caller


class _Endpoint:
    """Finds out who asks before anything is read, and hands the request on. A route takes only objects as ASGI apps."""

    def __init__(self, sessions: StreamableHTTPSessionManager, caller_of: Callable[[Request], Caller]) -> None:
        self._sessions = sessions
        self._caller_of = caller_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._caller_of(Request(scope))
        if scope["method"] != "POST":
            # A stream that the server could speak on first would stay open for ever: without sessions there is nothing
            # to say on it, nor anything to delete.
            refusal = PlainTextResponse("Send messages with POST.", status_code=405, headers={"Allow": "POST"})
            await refusal(scope, receive, send)
            return
        # A copy: the state of the app around it may be one object for all requests.
        state = {**scope.get("state", {}), _CALLER: caller}
        await self._sessions.handle_request({**scope, "state": state}, receive, send)
