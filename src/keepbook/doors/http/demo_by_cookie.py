"""The demo beside your own book: on this machine you can look at it in the same window and come back.

With a cookie, which the first page can set, a browser's requests go to a second application with the demo's book. That
is made at the first such request. It works only for requests straight from this machine; a demo for others is served by
`keepbook demo --public`.
"""

import asyncio
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie

from starlette.types import ASGIApp, Receive, Scope, Send

from keepbook.doors.http.gate import comes_straight, read_headers

COOKIE = "keepbook_demo"


class DemoByCookie:
    """Plain ASGI around the application; `make` makes the demo's book and its application."""

    def __init__(self, app: ASGIApp, make: Callable[[], ASGIApp]) -> None:
        self._app = app
        self._make = make
        self._demo: ASGIApp | None = None
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _asked_for(scope):
            await self._app(scope, receive, send)
            return
        async with self._making:
            if self._demo is None:
                self._demo = await asyncio.to_thread(self._make)
        await self._demo(scope, receive, send)


def _asked_for(scope: Scope) -> bool:
    if not any(name == b"cookie" for name, _ in scope["headers"]):
        return False
    headers = read_headers(scope)
    if "authorization" in headers or not comes_straight(scope, headers):
        return False
    try:
        return COOKIE in SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return False
