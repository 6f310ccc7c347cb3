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
"""Among the hosts: allows every IP address written as numbers. DNS rebinding needs a name."""
API = "/api/"
VERSIONED = "/api/v1/"
GUARDED = ("/api/", "/mcp", "/metrics")
"""Paths that answer 401 to a caller without a key; every other path shows the page that asks for one."""
SAFE = ("GET", "HEAD", "OPTIONS")
PROXIED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
"""Headers that proxies add. Behind a proxy every request comes from loopback, so loopback proves nothing. A proxy with
the barest configuration adds none of them, but speaks HTTP/1.0, which no browser does: `comes_straight` asks both."""
SAID_BY_BROWSERS = ("origin", "sec-fetch-site")
"""Every browser sends one of these with the request of a page's script; other programs send neither."""
SMALL = 64 * 1024
"""Bytes. The server reads this much ahead of the app, so a body up to this size cannot keep a worker waiting."""
BODY_SECONDS = 30.0
"""How long a client may take to send a body of the usual largest size; an import gets longer in proportion."""
WRONG_A_MINUTE = 10
"""How many wrong keys one address may send in a minute, counted over all workers; after that it must wait."""

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
"""Added to HEADERS when the request came over TLS."""
_RAW = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


NOWHERE = regex(r"(?!)")
"""Matches no path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRules:
    """What the gate should know about the paths of one part of the server.

    imports: paths to which a person uploads a file; it may be larger than other requests
    command: the command that imports a file which is too large even for these paths
    of_nobody: whether the request with this path and query is about no owner's book
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
"""The headers of a request, by their names in lower case."""
Opens = Callable[[RequestHeaders], Keepbook]
"""Returns the installation that a request is for: always the same one, except in a demo with a book per visitor."""


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
        """`hosts` are the server's own names, from which local access is allowed; `further` are other names it answers
        to. `local` says whether there is local access at all. `refuse` turns an error into an answer; `paths` are the
        rules of all parts of the server; `buckets` hold the counts, shared when there are several workers."""
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
            caller_check = self._prepare_caller_check(scope, headers)
            if caller_check.is_pending and not _can_check_later(scope, headers, min(SMALL, self._max_body)):
                await WORKER_THREADS.do(caller_check)
        except KeepbookError as error:
            await (await self._refuse(scope, error))(scope, receive, send)
            return
        command = self._import_command(scope["path"])
        is_known = "caller" in scope["state"]  # not yet set if the check is still to come, but then the body is small
        if command is not None and is_known:
            most = self._max_import
        else:
            most = self._max_body
        seconds = BODY_SECONDS * most / self._max_body
        reading = _BodyReader(
            receive, send, max_body=most, seconds=seconds, command=command, caller_check=caller_check
        )  # fmt: skip
        await self._app(scope, reading.receive, reading.send)
        if reading.refused is not None:
            await (await self._refuse(scope, reading.refused))(scope, receive, send)

    def _check(self, scope: Scope, headers: RequestHeaders) -> None:
        host = _host(headers.get("host", ""))
        is_allowed = host in self._hosts or (ANY_ADDRESS in self._hosts and _is_ip_address(host))
        if not is_allowed:
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
        """The command that can import instead of this path; None if files are not imported at this path."""
        return next((one.command for one in self._paths if one.imports.fullmatch(path)), None)

    def _prepare_caller_check(self, scope: Scope, headers: RequestHeaders) -> "_CallerCheck":
        """Note in the state what the routes need, and return the check, which has not run yet."""
        state = scope["state"]
        state["kb"] = self._opens(headers)
        state["max_import"] = self._max_import
        state["sender"] = lambda: (_secret(headers)[0], headers.get(OWNER_HEADER.lower()))
        state["wrong_key"] = lambda: self._wrong.count_attempt(_address(scope))
        path = scope["path"]
        is_open_to_all = path == "/health" or path.startswith("/static/")
        if is_open_to_all:
            caller_check = _CallerCheck(None)
        else:
            caller_check = _CallerCheck(lambda: self._admit(scope, headers))
        state["caller_check"] = caller_check
        return caller_check

    def _admit(self, scope: Scope, headers: RequestHeaders) -> None:
        """Authenticate and count the caller. Asks the database: call it in a worker thread.

        The state then has either `caller`, or the `refusal` that a page turns into a form that asks for a token."""
        state, path = scope["state"], scope["path"]
        kb = state["kb"]
        try:
            caller = self._caller(kb, scope, headers)
            state["who"] = caller.token_id or f"{caller.owner} {id(kb):x}"  # in a demo all visitors are one owner
            self._count(scope, caller.counted_as or caller.token_id or _address(scope))
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
        """Count a request, and note the headers that say how many are left."""
        scope["state"]["rate"] = self._meter.headers(0)  # for a refusal: counting raises, and its answer needs them too
        scope["state"]["rate"] = self._meter.headers(self._meter.count_attempt(who))

    def _caller(self, kb: Keepbook, scope: Scope, headers: RequestHeaders) -> Caller:
        local = self._local and comes_straight(scope, headers, self._own) and not _from_elsewhere(headers)
        scope["state"]["local"] = local
        secret, page = _secret(headers)
        named, acts = _owner_named(scope), headers.get(ACTOR_HEADER.lower())
        query = parse_qs(scope["query_string"].decode("latin-1"))
        needs_no_owner = any(one.of_nobody(scope["path"], query) for one in self._paths)
        caller = caller_for(kb, secret, named, local=local, anyone=needs_no_owner, acts=acts, page=page)
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
    """Authenticates the caller of one request, or raises. Called again, it does nothing."""

    def __init__(self, admit: Callable[[], None] | None) -> None:
        self._admit = admit

    def __call__(self) -> None:
        admit = self._admit
        if admit is not None:
            self._admit = None
            admit()

    @property
    def is_pending(self) -> bool:
        """Whether there is something to check, and nobody has called it yet."""
        return self._admit is not None


def _can_check_later(scope: Scope, headers: RequestHeaders, small: int) -> bool:
    """Whether the check can be left to the worker thread that answers, which saves a switch of threads.

    It can for a route of the API, which checks before it does anything, if the whole body has come with the request.
    `_BodyReader.send` sees to it that no answer leaves before the check."""
    is_api = scope["path"].startswith("/api/")
    is_body_here = int(headers.get("content-length", "0")) <= small and "transfer-encoding" not in headers
    return is_api and is_body_here


class _BodyReader:
    """Reads the body of one request within a size and a time limit. If a limit is exceeded, that error is the answer,
    even if the route answers otherwise. Sends no answer before the caller was checked."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        *,
        max_body: int,
        seconds: float,
        command: str | None,
        caller_check: _CallerCheck,
    ) -> None:
        """`command` could import what is too large here, or is None."""
        self._receive, self._send, self._max_body, self._command = receive, send, max_body, command
        self._caller_check = caller_check
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._bytes_read = 0
        self._has_all, self._has_answered = False, False
        self.refused: KeepbookError | None = None
        """The error that is to be answered; the gate does it when the app has returned."""

    async def receive(self) -> Message:
        if self._has_all:
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.01, self._until - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            too_slow = Invalid(f"the request did not come within {self._seconds:g} s", code="too_slow")
            self._answer_with(too_slow)
            raise too_slow from None
        self._bytes_read += len(message.get("body", b""))
        self._has_all = not message.get("more_body", False)
        if self._bytes_read > self._max_body:
            too_large = _too_large(self._max_body, self._command)
            self._answer_with(too_large)
            raise too_large
        return message

    async def send(self, message: Message) -> None:
        if self._caller_check.is_pending:  # no route has checked, as when the answer is a 404
            try:
                await WORKER_THREADS.do(self._caller_check)
            except KeepbookError as error:
                self.refused = error
        if self.refused is None or self._has_answered:
            self._has_answered = True
            await self._send(message)
        # else the app's answer is dropped: the gate answers with `refused`

    def _answer_with(self, error: Invalid) -> None:
        if not self._has_answered:
            self.refused = error


def _too_large(max_body: int, command: str | None) -> Invalid:
    """The error of a body over the limit; `command` could import it, if it is a file to import."""
    if command is not None:
        most = f"a file that is brought in here may have {max_body / 1e6:g} MB"
        return Invalid(f"{most}; a larger one comes in with {command}", code="too_large")
    return Invalid(f"a request may have {max_body:,} bytes; send less at a time", code="too_large")


def _drop_version(scope: Scope) -> None:
    """Route `/api/v1/…` as `/api/…`: there is one version, and programs may name it."""
    if scope["path"].startswith(VERSIONED):
        scope["path"] = API + scope["path"].removeprefix(VERSIONED)
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
    """Add `Secure` to a cookie, whoever sets it: one that was set over TLS is never sent without."""
    name, value = header
    if name != b"set-cookie" or b"; secure" in value.lower():
        return header
    return name, value + b"; Secure"


def _host(header: str) -> str:
    """The host alone: without its port, an IPv6 address without its brackets; "" if it cannot be read."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _from_elsewhere(headers: RequestHeaders) -> bool:
    """Whether the Origin header names another site. Such a request may use a token, but never local access."""
    origin = headers.get("origin")
    if origin is None:
        return False
    try:
        site = urlsplit(origin).netloc
    except ValueError:  # no address at all, which no page of ours sends
        return True
    return site.lower() != headers.get("host", "").lower()


def _refuse_other_sites(headers: RequestHeaders) -> None:
    """Raise if a browser says that another site sent this. A request without these headers is not a browser's."""
    site = headers.get("sec-fetch-site", "same-origin")
    if _from_elsewhere(headers) or site not in ("same-origin", "none"):
        raise NotAllowed("another site may not write here; open Keepbook itself", code="other_site")


def _secret(headers: RequestHeaders) -> tuple[str | None, bool]:
    """The key that was sent, and whether it is the session of a page. None if there is no key; "" if one was sent that
    cannot be read, which is refused like a wrong one."""
    sent = headers.get("authorization")
    if sent is not None:
        kind, _, secret = sent.partition(" ")
        if kind.lower() == "bearer":
            return secret.strip(), False
        return "", False
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None, False
    if cookie:
        return cookie.value, True
    return None, False


def _address(scope: Scope) -> str:
    """The address that is counted. The demo moves the client from the scope to the state, so both are asked."""
    client = scope["state"].get("client") or scope.get("client")
    if client:
        return network_of(str(client[0]))
    return ""


def _owner_named(scope: Scope) -> str | None:
    """The owner that a request names. Read from the raw header as UTF-8, because names are not only Latin-1."""
    wanted = OWNER_HEADER.lower().encode()
    for name, value in scope["headers"]:
        if name == wanted:
            try:
                return bytes(value).decode()
            except UnicodeDecodeError:
                raise Invalid(f"{OWNER_HEADER} is not UTF-8", field=OWNER_HEADER) from None
    return None
