"""The gate: everything that is decided about a request before anybody reads it.

Which host it was sent to (against DNS rebinding), how large it is, whether a browser sent it from another site, who
sends it, and how often. A page that needs a caller and has none may ask for a token; the API answers at once. The gate
also writes the security headers of every answer. Plain ASGI, so that streams pass through it untouched.
"""

import asyncio
import ipaddress
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.app import Keepbook
from keepbook.doors.auth import OWNER_HEADER, Caller, caller_for
from keepbook.doors.http.problems import response
from keepbook.errors import Invalid, KeepbookError, LimitReached, NotAllowed

COOKIE = "keepbook_token"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
ANY_ADDRESS = "any address"
"""Among the hosts: every address in numbers. A name is what an attacker can choose; numbers are not."""
GUARDED = ("/api/", "/mcp", "/metrics")
"""What answers 401 by itself; pages ask for a token instead."""
SAFE = ("GET", "HEAD", "OPTIONS")

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; manifest-src 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


@dataclass(slots=True)
class Bucket:
    """Requests a caller may still send: filled evenly, emptied one by one."""

    left: float
    at: float


@dataclass(slots=True)
class Meter:
    """How often each caller knocks, in this process. The busiest are few; the others are forgotten when it is full."""

    per_minute: int
    buckets: dict[str, Bucket] = field(default_factory=dict)

    def knock(self, who: str) -> None:
        if not self.per_minute:
            return
        now = time.monotonic()
        if len(self.buckets) > 10_000:
            self.buckets.clear()
        bucket = self.buckets.setdefault(who, Bucket(self.per_minute, now))
        bucket.left = min(self.per_minute, bucket.left + (now - bucket.at) * self.per_minute / 60)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, round((1 - bucket.left) * 60 / self.per_minute))
            raise LimitReached(f"too many requests; wait {wait} s", code="rate", retry_after=wait)
        bucket.left -= 1


Opens = Callable[[Headers], Keepbook]
"""The installation that a request is for: always the same one, but for a demo with a book for each visitor."""


class Gate:
    def __init__(
        self, app: ASGIApp, opens: Opens, *, hosts: Sequence[str], local: bool, max_body: int, per_minute: int
    ) -> None:
        self._app = app
        self._opens = opens
        self._hosts = {host.lower() for host in hosts}
        self._local = local
        self._max_body = max_body
        self._meter = Meter(per_minute)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        send = _with_headers(send)
        try:
            self._check(scope, headers)
            await self._admit(scope, headers)
            receive = self._counted(receive)
        except KeepbookError as error:
            await response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = _host(headers.get("host", ""))
        if host not in self._hosts and not (ANY_ADDRESS in self._hosts and _in_numbers(host)):
            raise Invalid(
                f"this server does not answer to {host[:100]!r}; name it in KEEPBOOK_ALLOWED_HOSTS", code="wrong_host"
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_body:
            raise self._too_large()
        if scope["method"] not in SAFE and "authorization" not in headers:
            _refuse_other_sites(headers)

    async def _admit(self, scope: Scope, headers: Headers) -> None:
        state = scope.setdefault("state", {})
        state["kb"] = kb = self._opens(headers)
        path = scope["path"]
        if path == "/health" or path.startswith("/static/"):
            return
        try:
            caller = await asyncio.to_thread(self._caller, kb, scope, headers)
            self._meter.knock(caller.token_id or caller.owner)
            state["caller"] = caller
        except KeepbookError as error:
            if path.startswith(GUARDED) or error.code == "rate":
                raise
            state["refusal"] = error

    def _caller(self, kb: Keepbook, scope: Scope, headers: Headers) -> Caller:
        client = scope.get("client")
        local = self._local and (client is None or client[0] in LOOPBACK)
        return caller_for(kb, _secret(headers), _named(scope), local=local, anyone=scope["path"] == "/metrics")

    def _counted(self, receive: Receive) -> Receive:
        """A body without a length is counted as it comes."""
        seen = 0

        async def counting() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_body:
                raise self._too_large()
            return message

        return counting

    def _too_large(self) -> Invalid:
        return Invalid(f"a request may have {self._max_body:,} bytes; send less at a time", code="too_large")


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


def _host(header: str) -> str:
    """Without the port; an IPv6 address without its brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _in_numbers(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse_other_sites(headers: Headers) -> None:
    """A browser says where a request comes from; whoever says nothing is no browser."""
    site = headers.get("sec-fetch-site", "same-origin")
    origin = headers.get("origin")
    elsewhere = origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()
    if elsewhere or site not in ("same-origin", "none"):
        raise NotAllowed("another site may not write here; open Keepbook itself", code="other_site")


def _secret(headers: Headers) -> str | None:
    sent = headers.get("authorization")
    if sent is not None:
        kind, _, secret = sent.partition(" ")
        return secret.strip() if kind.lower() == "bearer" else ""
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return cookie.value if cookie else None


def _named(scope: Scope) -> str | None:
    """The owner a request names. Header bytes are UTF-8, so that every name can be said."""
    wanted = OWNER_HEADER.lower().encode()
    for name, value in scope["headers"]:
        if name == wanted:
            try:
                return bytes(value).decode()
            except UnicodeDecodeError:
                raise Invalid(f"{OWNER_HEADER} is not UTF-8", field=OWNER_HEADER) from None
    return None
