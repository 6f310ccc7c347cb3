"""A book in memory for each visitor, gone with the visit.

The story is opened once and copied for whoever comes, with a clock that begins where it ends.
A visitor is known by a cookie that we chose. Whoever has not been seen for half an hour has left. When all places are
taken, those make room first who never came back with the cookie, of these those whose address holds most places, and
of these the one longest away: a crowd of requests without cookies throws out itself. A visitor with a request under way
is never thrown out.
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
"""How the turnstile tells the gate who came; whatever a client sends under this name is dropped."""
IDLE_SECONDS = 30 * 60
MOST = 100
FULL = "The demo is full at the moment. Try again in a few minutes, or run your own: keepbook demo\n"


@dataclass(slots=True)
class Visitor:
    key: str
    kb: Keepbook
    seen: float
    address: str = ""
    came_back: bool = False
    """Whether the cookie was ever shown."""
    requests: int = 0
    """Under way at this moment."""


class Visitors:
    """Everybody who is looking at the demo. `clock` counts seconds; `opens_story` makes the book that is copied."""

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
        """The visitor behind a key; with none, or one that has gone, a new one. `leave` ends the request."""
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
        """The installation that a request is for: the visitor's own, or for what is nobody's the story itself."""
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
    """Plain ASGI around the application: lets a visitor in, hands a new one the cookie, sees them out."""

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
    """The request with the visitor's key in it. Wherever it comes from, in this book the visitor is at home."""
    headers = [(name, value) for name, value in scope["headers"] if name != HEADER]
    state = {**scope.get("state", {}), "client": scope.get("client")}  # by which its requests are counted
    return {**scope, "client": None, "state": state, "headers": [*headers, (HEADER, key.encode())]}


def _with_cookie(send: Send, key: str | None, scheme: str) -> Send:
    if key is None:
        return send
    secure = ""
    if scheme == "https":
        secure = "; Secure"

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            cookie = f"{COOKIE}={key}; Path=/; HttpOnly; SameSite=Lax{secure}"  # for as long as the browser is open
            MutableHeaders(scope=message).append("Set-Cookie", cookie)
        await send(message)

    return sending
