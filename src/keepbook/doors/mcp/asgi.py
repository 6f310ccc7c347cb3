"""MCP over streamable HTTP, as an ASGI endpoint that a larger app puts at `/mcp`.

No state is kept between two requests, so any worker may answer any of them. The host and origin of each are checked
against DNS rebinding. The app around it authenticates the caller, and turns the errors raised here into answers.

The MCP library is loaded with the first request: it is a third of all code that a server loads, and few servers use it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from keepbook.app import Keepbook
from keepbook.doors.auth import LOOPBACK, Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

LOOPBACK_HOSTS = tuple(f"[{name}]{port}" if ":" in name else name + port for name in LOOPBACK for port in ("", ":*"))
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
    """The endpoint, and a context that the app around it must be in while it serves: `async with lifespan(): …`.

    Hosts are `name`, `name:port` or `name:*`; origins the same behind `http://` or `https://`. `allowed_hosts=None`
    means that the app around it checks both. The lifespan can be entered once. Give the endpoint a route of its own,
    `Route("/mcp", endpoint)`: a mount would redirect to `/mcp/`.
    """

    def open_sessions() -> "StreamableHTTPSessionManager":
        # Loaded with the first request, see the module.
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        from keepbook.doors.mcp.server import build_server  # it speaks the protocol

        checks = TransportSecuritySettings(
            enable_dns_rebinding_protection=allowed_hosts is not None,
            allowed_hosts=list(allowed_hosts or ()),
            allowed_origins=list(allowed_origins),
        )
        return StreamableHTTPSessionManager(
            build_server(kb, _caller_of),
            json_response=True,
            stateless=True,
            security_settings=checks,
            max_request_body_size=body_bytes,
        )

    endpoint = _Endpoint(open_sessions, caller_of)
    return endpoint, endpoint.lifespan


def _caller_of(request: Request | None) -> Caller:
    assert request is not None  # every message over HTTP comes with its request
    caller: Caller = request.scope["state"][_CALLER]
    return caller


class _Endpoint:
    """Authenticates the caller before the body is read, and passes the request on to the library. It is a class because
    a route would take a function for an endpoint of its own kind."""

    def __init__(
        self, open_sessions: "Callable[[], StreamableHTTPSessionManager]", caller_of: Callable[[Request], Caller]
    ) -> None:
        self._open_sessions = open_sessions
        self._caller_of = caller_of
        self._asked = asyncio.Event()
        self._opened: asyncio.Future[StreamableHTTPSessionManager]

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        self._opened = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving

    async def _serve(self) -> None:
        """Open the library's sessions at the first request, and close them at the end of the lifespan. In its own task,
        because they must be closed in the task that opened them."""
        await self._asked.wait()
        try:
            sessions = await asyncio.to_thread(self._open_sessions)
        except Exception as error:  # noqa: BLE001  each request raises it
            self._opened.set_exception(error)
            return
        async with sessions.run():
            self._opened.set_result(sessions)
            await asyncio.Event().wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = self._caller_of(Request(scope))
        if scope["method"] != "POST":
            # GET would open a stream for messages of the server, and DELETE end a session. We have neither.
            refusal = PlainTextResponse("Send messages with POST.", status_code=405, headers={"Allow": "POST"})
            await refusal(scope, receive, send)
            return
        # A copy: the state of the app around it may be one object for all requests.
        state = {**scope.get("state", {}), _CALLER: caller}
        self._asked.set()
        sessions = await asyncio.shield(self._opened)
        await sessions.handle_request({**scope, "state": state}, receive, send)
