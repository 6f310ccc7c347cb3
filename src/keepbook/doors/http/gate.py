"""The gate: everything that is decided about a request before a route reads it.

It checks the host it was sent to (against DNS rebinding), its size, whether a browser sent it from another site, the
caller, and the rate. A page without a caller may ask for a token; the API answers at once. The gate also writes the
security headers of every answer. Plain ASGI, so that streams pass through it untouched.
"""

import asyncio
import ipaddress
import re
import time
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.app import Keepbook
from keepbook.doors.auth import ACTOR_HEADER, LOOPBACK, OWNER_HEADER, Caller, caller_for, is_local
from keepbook.doors.http.rate_limit import Buckets, Meter, OwnBuckets
from keepbook.doors.http.worker_threads import WORKER_THREADS
from keepbook.errors import Invalid, KeepbookError, NotAllowed
from keepbook.models.outward import network_of
from keepbook.patterns import regex

COOKIE = "keepbook_session"
ANY_ADDRESS = "any address"
"""Among the hosts: every address in numbers. A name is what an attacker can choose; numbers are not."""
VERSIONED = "/api/v1/"
GUARDED = ("/api/", "/mcp", "/metrics")
"""What answers 401 by itself; pages ask for a token instead."""
SAFE = ("GET", "HEAD", "OPTIONS")
PROXIED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""What a proxy adds: behind one, loopback is the proxy, and who asks may be anybody. One that is set up with nothing
but an address adds none of this and speaks HTTP/1.0, which no browser does."""
SAID_BY_BROWSERS = ("origin", "sec-fetch-site")
"""Where a request comes from, as every browser says when a script of a page sends it; a program says nothing."""
SMALL = 64 * 1024
"""A body that the server has in hand with the request: it reads that much ahead of whoever asks for it."""
BODY_SECONDS = 30.0
"""How long a request may take to send what it has to say."""
WRONG_A_MINUTE = 10
"""So many wrong keys from one address are answered in a minute, by all workers together; after that it waits."""

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
HSTS = (b"strict-transport-security", b"max-age=31536000")
"""Beside them where the request came over TLS."""
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


NOWHERE = regex(r"(?!)")
"""Fits no path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRules:
    """What the gate should know about the paths of one part of the server.

    imports: where a file of the person's comes in: it may be larger than other requests
    command: what brings in a file that is too large for that
    of_nobody: whether a request, by its path and what its query says, is about no owner's book
    """

    imports: re.Pattern[str] = NOWHERE
    command: str = ""
    of_nobody: Callable[[str, Mapping[str, list[str]]], bool] = lambda _path, _query: False


CORE_PATHS = PathRules(
    imports=regex(r"(?:/api)?/import"),
    command="keepbook import FILE",
    of_nobody=lambda path, _query: path == "/metrics",  # figures of the server
)

RequestHeaders = Mapping[str, str]
"""What the head of a request says, by names in small letters."""
Opens = Callable[[RequestHeaders], Keepbook]
"""The installation that a request is for: always the same one, but for a demo with a book for each visitor."""


def read_headers(scope: Scope) -> RequestHeaders:
    """The headers of a request by lower-case name, decoded once because the gate reads a dozen. Of a repeated header
    the first counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}


class Gate:
    def __init__(
        self,
        app: ASGIApp,
        opens: Opens,
        *,
        hosts: Sequence[str],
        further: Sequence[str] = (),
        local: bool,
        max_body: int,
        max_import: int,
        per_minute: int,
        refuse: Callable[[Scope, KeepbookError], Awaitable[Response]],
        paths: Sequence[PathRules] = (CORE_PATHS,),
        buckets: Buckets | None = None,
    ) -> None:
        """`hosts` are the names of the address itself, `further` those that others use for it; `refuse` turns an error
        into an answer; `paths` are the rules of all parts of the server; `buckets` are where its workers count."""
        self._app = app
        self._opens = opens
        self._own = {host.lower() for host in hosts}
        self._hosts = self._own | {host.lower() for host in further}
        self._local = local
        self._max_body, self._max_import, self._refuse = max_body, max(max_body, max_import), refuse
        self._paths = tuple(paths)
        if buckets is None:
            buckets = OwnBuckets()
        self._meter = Meter("requests", per_minute, buckets)
        self._wrong = Meter("wrong keys", WRONG_A_MINUTE, buckets)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = read_headers(scope)
        scope.setdefault("state", {})
        send = _with_headers(send, scope)
        _drop_version(scope)
        try:
            self._check(scope, headers)
            letting_in = self._at_the_door(scope, headers)
            if letting_in.is_untried and not _at_once(scope, headers, min(SMALL, self._max_body)):
                await WORKER_THREADS.do(letting_in)
        except KeepbookError as error:
            await (await self._refuse(scope, error))(scope, receive, send)
            return
        command = self._import_command(scope["path"])
        brings_in = command is not None and "caller" in scope["state"]  # nobody unknown sends that much
        if brings_in:
            most = self._max_import
        else:
            most = self._max_body
        reading = _BodyReader(receive, send, most, BODY_SECONDS * most / self._max_body, command, letting_in)
        await self._app(scope, reading.receive, reading.send)
        if reading.refused is not None:
            await (await self._refuse(scope, reading.refused))(scope, receive, send)

    def _check(self, scope: Scope, headers: RequestHeaders) -> None:
        host = _host(headers.get("host", ""))
        if host not in self._hosts and not (ANY_ADDRESS in self._hosts and _in_numbers(host)):
            raise Invalid(
                f"this server does not answer to {host[:100]!r}; name it in KEEPBOOK_ALLOWED_HOSTS", code="wrong_host"
            )
        length = headers.get("content-length", "0")
        command = self._import_command(scope["path"])
        if command is None:
            most = self._max_body
        else:
            most = self._max_import
        if not length.isdecimal() or int(length) > most:
            raise _too_large(most, command)
        if scope["method"] not in SAFE and "authorization" not in headers:
            _refuse_other_sites(headers)

    def _import_command(self, path: str) -> str | None:
        """What else brings in the files that come in at this path; None where none do."""
        return next((one.command for one in self._paths if one.imports.fullmatch(path)), None)

    def _at_the_door(self, scope: Scope, headers: RequestHeaders) -> "_CallerCheck":
        state = scope["state"]
        state["kb"] = self._opens(headers)
        state["max_import"] = self._max_import
        state["wrong_key"] = lambda: self._wrong.count_attempt(_address(scope))
        path = scope["path"]
        anybody = path == "/health" or path.startswith("/static/")
        if anybody:
            door = state["let_in"] = _CallerCheck(None)
        else:
            door = state["let_in"] = _CallerCheck(lambda: self._admit(scope, headers))
        return door

    def _admit(self, scope: Scope, headers: RequestHeaders) -> None:
        """Asks the database, so it takes a thread of its own."""
        state, path = scope["state"], scope["path"]
        kb = state["kb"]
        try:
            caller = self._caller(kb, scope, headers)
            state["who"] = caller.token_id or f"{caller.owner} {id(kb):x}"  # each visitor of a demo is alone in theirs
            self._count(scope, caller.token_id or _address(scope))
            state["caller"] = caller
        except KeepbookError as error:
            if error.code == "unauthenticated":
                self._count_stranger(scope, headers)
            if path.startswith(GUARDED) or error.code == "rate":
                raise
            state["refusal"] = error

    def _count_stranger(self, scope: Scope, headers: RequestHeaders) -> None:
        if "authorization" in headers:
            scope["state"]["wrong_key"]()
        self._count(scope, _address(scope))

    def _count(self, scope: Scope, who: str) -> None:
        """Count a request; its answer says how many are left."""
        scope["state"]["rate"] = self._meter.headers(0)
        scope["state"]["rate"] = self._meter.headers(self._meter.count_attempt(who))

    def _caller(self, kb: Keepbook, scope: Scope, headers: RequestHeaders) -> Caller:
        local = self._local and comes_straight(scope, headers, self._own) and not _from_elsewhere(headers)
        scope["state"]["local"] = local
        secret, page = _secret(headers)
        named, acts = _owner_named(scope), headers.get(ACTOR_HEADER.lower())
        query = parse_qs(scope["query_string"].decode("latin-1"))
        anyone = any(one.of_nobody(scope["path"], query) for one in self._paths)
        caller = caller_for(kb, secret, named, local=local, anyone=anyone, acts=acts, page=page)
        from_page = page or (secret is None and any(name in headers for name in SAID_BY_BROWSERS))
        if from_page or not scope["path"].startswith("/api/"):
            return caller
        return replace(caller, remote=True)


def comes_straight(scope: Scope, headers: RequestHeaders, own: Container[str] = LOOPBACK) -> bool:
    """Whether a request was sent from this machine to one of its `own` names, without a proxy."""
    client = scope.get("client")
    proxied = scope.get("http_version") == "1.0" or any(name in headers for name in PROXIED)
    return _host(headers.get("host", "")) in own and not proxied and (client is None or is_local(client[0]))


class _CallerCheck:
    """Authenticates the caller of one request, or raises. A second call returns at once."""

    def __init__(self, admit: Callable[[], None] | None) -> None:
        self._admit = admit

    def __call__(self) -> None:
        if (admit := self._admit) is not None:
            self._admit = None
            admit()

    @property
    def is_untried(self) -> bool:
        """Whether nobody has come to it yet."""
        return self._admit is not None


def _at_once(scope: Scope, headers: RequestHeaders, small: int) -> bool:
    """Whether letting in can be left to the worker that answers: what there is to read has come with the request, every
    route asks who it is before it does anything, and no answer leaves before that."""
    return (
        scope["path"].startswith("/api/")
        and int(headers.get("content-length", "0")) <= small
        and "transfer-encoding" not in headers
    )


class _BodyReader:
    """Reads the body of one request within a size and a time limit. If a limit is exceeded, that error is the answer,
    even if the route answers otherwise. Sends no answer before the caller was checked."""

    def __init__(
        self, receive: Receive, send: Send, max_body: int, seconds: float, command: str | None, letting_in: _CallerCheck
    ) -> None:
        self._receive, self._send, self._max_body, self._command = receive, send, max_body, command
        self._letting_in = letting_in
        self._seconds = seconds
        self._seen, self._whole, self._begun = 0, False, False
        self._until = time.monotonic() + seconds
        self.refused: KeepbookError | None = None

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.01, self._until - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            raise self._refuse(
                Invalid(f"the request did not come within {self._seconds:g} s", code="too_slow")
            ) from None
        self._seen += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._seen > self._max_body:
            raise self._refuse(_too_large(self._max_body, self._command))
        return message

    async def send(self, message: Message) -> None:
        if self._letting_in.is_untried:  # an answer that nobody had to be let in for, as that there is no such address
            try:
                await WORKER_THREADS.do(self._letting_in)
            except KeepbookError as error:
                self.refused = error
        if self.refused is None or self._begun:
            self._begun = True
            await self._send(message)

    def _refuse(self, why: Invalid) -> Invalid:
        if not self._begun:
            self.refused = why
        return why


def _too_large(max_body: int, command: str | None) -> Invalid:
    """`command` brings in larger files, where this request was to bring in one."""
    if command is not None:
        most = f"a file that is brought in here may have {max_body / 1e6:g} MB"
        return Invalid(f"{most}; a larger one comes in with {command}", code="too_large")
    return Invalid(f"a request may have {max_body:,} bytes; send less at a time", code="too_large")


def _drop_version(scope: Scope) -> None:
    """`/api/v1/…` is `/api/…`: there is one version, and programs may name it."""
    if scope["path"].startswith(VERSIONED):
        scope["path"] = "/api/" + scope["path"].removeprefix(VERSIONED)
        scope["raw_path"] = b"/api/" + scope.get("raw_path", b"").removeprefix(VERSIONED.encode())


def _with_headers(send: Send, scope: Scope) -> Send:
    over_tls = scope.get("scheme") == "https"
    if over_tls:
        ours = [*_RAW, HSTS]
    else:
        ours = _RAW

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            if over_tls:
                theirs = list(map(_as_secure, message["headers"]))
            else:
                theirs = message["headers"]
            said = {name for name, _ in theirs}
            rate = scope["state"].get("rate", ())
            message["headers"] = [*theirs, *(pair for pair in ours if pair[0] not in said), *rate]
        await send(message)

    return sending


def _as_secure(header: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    """A cookie that came over TLS never goes back without, whoever sets it."""
    name, value = header
    if name != b"set-cookie" or b"; secure" in value.lower():
        return header
    return name, value + b"; Secure"


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


def _from_elsewhere(headers: RequestHeaders) -> bool:
    """Whether a page of another site sends it, which may be allowed to call the API: with a token, never as nobody."""
    origin = headers.get("origin")
    return origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower()


def _refuse_other_sites(headers: RequestHeaders) -> None:
    """A browser says where a request comes from; whoever says nothing is no browser."""
    site = headers.get("sec-fetch-site", "same-origin")
    if _from_elsewhere(headers) or site not in ("same-origin", "none"):
        raise NotAllowed("another site may not write here; open Keepbook itself", code="other_site")


def _secret(headers: RequestHeaders) -> tuple[str | None, bool]:
    """What was shown as a key, and whether it is a page's session."""
    sent = headers.get("authorization")
    if sent is not None:
        kind, _, secret = sent.partition(" ")
        return (secret.strip() if kind.lower() == "bearer" else ""), False
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None, False
    if cookie:
        return cookie.value, True
    return None, False


def _address(scope: Scope) -> str:
    """Who is counted: the client, also where the demo took it out of the request."""
    client = scope["state"].get("client") or scope.get("client")
    if client:
        return network_of(str(client[0]))
    return ""


def _owner_named(scope: Scope) -> str | None:
    """The owner a request names. Header bytes are UTF-8, so that every name can be said."""
    wanted = OWNER_HEADER.lower().encode()
    for name, value in scope["headers"]:
        if name == wanted:
            try:
                return bytes(value).decode()
            except UnicodeDecodeError:
                raise Invalid(f"{OWNER_HEADER} is not UTF-8", field=OWNER_HEADER) from None
    return None
