"""A book in memory for each visitor of the demo, which is deleted when the visitor leaves.

The story is opened once and copied for each visitor, with a clock that begins where the story ends. A visitor is
recognised by a cookie with a random key. After half an hour without a request, a visitor counts as gone. If there are
too many visitors, one is removed: first those who never came back with the cookie, of these first those from the
address with the most visitors, and of these the one not seen for longest. So a flood of requests without cookies
removes only its own visitors. A visitor with a request in progress is never removed.
"""

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.app import Keepbook
from keepbook.demo.packed_story import open_story
from keepbook.demo.stage import from_the_end
from keepbook.errors import LimitReached
from keepbook.models.outward import network_of

COOKIE = "keepbook_visit"
HEADER = b"x-keepbook-visit"
"""The header in which `Turnstile` passes the visitor's key to the gate; a client's own header of this name is
dropped."""
IDLE_SECONDS = 30 * 60
MOST = 100  # visitors at a time
FULL = "The demo is full at the moment. Try again in a few minutes, or run your own: keepbook demo\n"


@dataclass(slots=True)
class Visitor:
    key: str
    kb: Keepbook
    seen: float
    address: str = ""
    came_back: bool = False
    """Whether the cookie was sent with the last request."""
    requests: int = 0
    """How many of its requests are in progress."""


class Visitors:
    """The visitors of the demo. `clock` counts seconds; `opens_story` makes the book that is copied for each."""

    def __init__(
        self,
        *,
        most: int = MOST,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        opens_story: Callable[[], Keepbook] = open_story,
    ) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._visitors: dict[str, Visitor] = {}
        self._lock = threading.Lock()
        self.story: Keepbook = opens_story()

    def __len__(self) -> int:
        return len(self._visitors)

    def enter(self, key: str | None, address: str = "") -> Visitor:
        """The visitor with this key, or a new one if there is none. Call `leave` at the end of the request."""
        with self._lock:
            self._drop_idle()
            known = self._visitors.get(key or "")
            visitor = known or self._welcome(address)
            visitor.came_back = known is not None
            visitor.requests += 1
            visitor.seen = self._clock()
            return visitor

    def leave(self, visitor: Visitor) -> None:
        with self._lock:
            visitor.requests -= 1
            visitor.seen = self._clock()

    def opens(self, headers: Mapping[str, str]) -> Keepbook:
        """The installation that a request is for: the visitor's own, or the story itself if no visitor is named."""
        visitor = self._visitors.get(headers.get(HEADER.decode(), ""))
        if visitor is not None:
            return visitor.kb
        return self.story

    def close(self) -> None:
        with self._lock:
            for visitor in self._visitors.values():
                visitor.kb.close()
            self._visitors.clear()
            self.story.close()

    def _welcome(self, address: str) -> Visitor:
        if len(self._visitors) >= self._most:
            idle = [visitor for visitor in self._visitors.values() if not visitor.requests]
            if not idle:
                raise LimitReached("the demo is full; try again in a few minutes")
            places = Counter([address, *(visitor.address for visitor in self._visitors.values())])
            self._drop(min(idle, key=lambda one: (one.came_back, -places[one.address], one.seen)))
        visitor = Visitor(secrets.token_urlsafe(16), self.story.copied(from_the_end()), self._clock(), address)
        self._visitors[visitor.key] = visitor
        return visitor

    def _drop_idle(self) -> None:
        before = self._clock() - self._idle_seconds
        for visitor in list(self._visitors.values()):
            if not visitor.requests and visitor.seen < before:
                self._drop(visitor)

    def _drop(self, visitor: Visitor) -> None:
        del self._visitors[visitor.key]
        visitor.kb.close()


class Turnstile:
    """Plain ASGI around the application: finds the visitor of a request, and sets the cookie of a new one."""

    def __init__(self, app: ASGIApp, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] == "/health" or scope["path"].startswith("/static/"):
            await self._app(scope, receive, send)
            return
        known, client = _key(Headers(scope=scope)), scope.get("client")
        address = ""
        if client:
            address = network_of(client[0])
        try:
            visitor = await asyncio.to_thread(self._visitors.enter, known, address)
        except LimitReached:
            await PlainTextResponse(FULL, 503, {"Retry-After": "120"})(scope, receive, send)
            return
        try:
            new = None
            if visitor.key != known:
                new = visitor.key
            await self._app(_with_visitor_key(scope, visitor.key), receive, _with_cookie(send, new, scope["scheme"]))
        finally:
            self._visitors.leave(visitor)


def _key(headers: Headers) -> str | None:
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    if cookie:
        return cookie.value
    return None


def _with_visitor_key(scope: Scope, key: str) -> Scope:
    """The request with the visitor's key in it. It has no client, so that it counts as local: a visitor needs no token
    for a book of their own."""
    headers = [(name, value) for name, value in scope["headers"] if name != HEADER]
    state = {**scope.get("state", {}), "client": scope.get("client")}  # requests are counted by it
    return {**scope, "client": None, "state": state, "headers": [*headers, (HEADER, key.encode())]}


def _with_cookie(send: Send, key: str | None, scheme: str) -> Send:
    if key is None:
        return send
    secure = ""
    if scheme == "https":
        secure = "; Secure"

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            cookie = f"{COOKIE}={key}; Path=/; HttpOnly; SameSite=Lax{secure}"  # without an end: until the browser ends
            MutableHeaders(scope=message).append("Set-Cookie", cookie)
        await send(message)

    return sending
