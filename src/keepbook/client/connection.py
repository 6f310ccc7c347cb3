"""The connection to a server: it sends requests, repeats them if necessary, and runs the steps of an operation.

If the connection breaks, or the server answers that it is busy or away, a request is sent again, if it may be. A write
has a key, so that it happens only once, however often it arrives. Each operation is a generator of requests (`Steps`),
written once; `Connection` runs it blocking, `AsyncConnection` with `await`.
"""

import random
import secrets
import ssl
from asyncio import sleep as rest_async
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from time import sleep as rest
from typing import Any, Self, TypeVar

import httpx

from keepbook.client.address import check_address
from keepbook.client.refusals import error_from_problem
from keepbook.errors import KeepbookError, keepbook_closed
from keepbook.forking import OncePerProcess

Value = TypeVar("Value")
PATIENCE = 30.0
"""For how many seconds a call is repeated: a server that restarts is back by then."""
PAUSE = 0.2
"""Seconds before the second try; doubled for each further one, up to `LONGEST_PAUSE`."""
LONGEST_PAUSE = 2.0
LONGEST = 20.0
"""How many seconds at a time a busy server may ask the client to wait; if it asks for more, this is taken."""
TIMEOUT = 120.0
"""After how many seconds without an answer a request fails."""
AGAIN = frozenset({429, 502, 503, 504})
"""The HTTP statuses after which a request is sent again."""
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `again` says whether it may be sent twice: a read, or a write that the server recognises by its
    key."""

    verb: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    text: bytes | None = None
    again: bool = True
    headers: dict[str, str] = field(default_factory=dict)


Steps = Generator[Request, Any, Value]
"""An operation: a generator that yields requests, receives their answers, and returns its value."""


@dataclass(frozen=True, slots=True)
class Try:
    """One attempt to send a request, as the arguments of httpx."""

    method: str
    url: str
    more: dict[str, Any]


class Carrier:
    """The common part of both connections: the address, who asks, the form of a request, and how often it is repeated.

    `_doing` is a generator that yields what to do next: an attempt, whose response or error is sent back into it, or a
    number of seconds to wait. `Connection` does this blocking, `AsyncConnection` with `await`.
    """

    def __init__(self, address: str, token: str | None, patience: float) -> None:
        self.address: str = check_address(address)
        self._patience = patience
        self._said: dict[str, str | bytes] = {"Authorization": f"Bearer {token}"} if token else {}

    def speaking(self, owner: str, by: str) -> Self:
        """The same connection for one owner's book, as the person or as an agent."""
        other = copy(self)
        other._said = {**self._said, "X-Keepbook-Owner": owner.encode(), "X-Keepbook-Actor": by}
        return other

    def stream(self, request: Request) -> AsyncIterator[str]:
        """The lines of a stream. It is always read with `await`, even if a blocking connection opened the book."""
        return stream_lines(self._try(request))

    def _doing(self, steps: Steps[Value]) -> Generator[Try | float, Any, Value]:
        go_on: Callable[[], Request] = partial(next, steps)
        while True:
            try:
                request = go_on()
            except StopIteration as done:
                value: Value = done.value
                return value
            try:
                answer = yield from self._try_request(request)
            except KeepbookError as refusal:  # the steps may know what to do about it
                go_on = partial(steps.throw, refusal)
            else:
                go_on = partial(steps.send, answer)

    def _try_request(self, request: Request) -> Generator[Try | float, Any, Any]:
        one = self._try(request)
        if request.again:
            pauses = _pauses(self._patience)
        else:
            pauses = _pauses(0)
        while True:
            pause = next(pauses, None)
            came = yield one
            if isinstance(came, httpx.TransportError):
                if pause is None or is_untrusted(came):
                    raise unreachable(self.address, came) from came
                yield pause
                continue
            wait = turned_away(came)
            if wait is None or pause is None:
                return read_answer(came)
            yield max(wait, pause)

    def _try(self, request: Request) -> Try:
        headers: dict[str, str | bytes] = {"Accept": JSON, **self._said, **request.headers}
        if request.verb != "GET" and request.again:
            headers["Idempotency-Key"] = secrets.token_hex(16)
        told: dict[str, Any] = {"params": list(request.query), "headers": headers}
        if request.text is not None:
            told["content"] = request.text
        elif request.body is not None:
            told["json"] = request.body
        return Try(request.verb, self.address + request.path, told)


def _pauses(patience: float) -> Iterator[float]:
    """The seconds to wait before each further try, varied at random, so that clients that were turned away together do
    not all come back at once."""
    began, paused, pause = monotonic(), 0.0, PAUSE
    while max(paused, monotonic() - began) < patience:
        chosen = pause * random.uniform(0.75, 1.25)
        yield chosen
        paused += chosen
        pause = min(2 * pause, LONGEST_PAUSE)


def read_answer(response: httpx.Response) -> Any:
    """The body of an answer: JSON, text, or nothing. A refusal is raised."""
    kind = response.headers.get("content-type", "").partition(";")[0]
    if response.is_success:
        if response.status_code == 204:
            return None
        if kind == JSON:
            return response.json()
        return response.text
    told = None
    if kind.endswith("json"):
        told = response.json()
    raise error_from_problem(response.status_code, told)


def turned_away(response: httpx.Response) -> float | None:
    """How many seconds to wait if the server was busy or away; None if it has answered."""
    busy = response.status_code == 409 and '"code":"busy"' in response.text.replace(" ", "")
    if response.status_code not in AGAIN and not busy:
        return None
    asked = response.headers.get("retry-after", "")
    if asked.isdecimal():
        return min(float(asked), LONGEST)
    return 0.0


def is_untrusted(error: BaseException | None) -> bool:
    """Whether a connection failed since the server's certificate is not trusted, which waiting does not change."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error is not None


def unreachable(address: str, error: Exception) -> KeepbookError:
    why = str(error) or type(error).__name__
    if is_untrusted(error):
        return KeepbookError(
            f"{address} shows a certificate that is not trusted here ({why}); for one of your own authority name its "
            "certificate in SSL_CERT_FILE",
            code="unavailable",
        )
    return KeepbookError(f"{address} cannot be reached ({why}); is it running?", code="unavailable")


class Connection(Carrier):
    """Runs requests blocking."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        client: httpx.Client | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(address, token, patience)
        self._client = OncePerProcess(lambda: client or httpx.Client(timeout=TIMEOUT))

    def run(self, steps: Steps[Value]) -> Value:
        doing, came = self._doing(steps), None
        while True:
            try:
                came = self._perform(doing.send(came))
            except StopIteration as done:
                value: Value = done.value
                return value

    def _perform(self, one: Try | float) -> Any:
        if isinstance(one, float):
            return rest(one)
        client = self._client.get()
        if client.is_closed:
            raise keepbook_closed()
        try:
            return client.request(one.method, one.url, **one.more)
        except httpx.TransportError as error:
            return error

    def close(self) -> None:
        self._client.get().close()


class AsyncConnection(Carrier):
    """Runs requests with `await`."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        client: httpx.AsyncClient | None = None,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(address, token, patience)
        self._client = OncePerProcess(lambda: client or httpx.AsyncClient(timeout=TIMEOUT))

    async def run(self, steps: Steps[Value]) -> Value:
        doing, came = self._doing(steps), None
        while True:
            try:
                came = await self._perform(doing.send(came))
            except StopIteration as done:
                value: Value = done.value
                return value

    async def _perform(self, one: Try | float) -> Any:
        if isinstance(one, float):
            return await rest_async(one)
        client = self._client.get()
        if client.is_closed:
            raise keepbook_closed()
        try:
            return await client.request(one.method, one.url, **one.more)
        except httpx.TransportError as error:
            return error

    async def close(self) -> None:
        await self._client.get().aclose()


async def stream_lines(one: Try) -> AsyncIterator[str]:
    one.more["headers"]["Accept"] = "text/event-stream"
    try:
        async with (
            httpx.AsyncClient(timeout=TIMEOUT) as client,
            client.stream(one.method, one.url, **one.more) as response,
        ):
            if not response.is_success:
                await response.aread()
                read_answer(response)
            async for line in response.aiter_lines():
                yield line
    except httpx.TransportError as error:
        raise unreachable(str(one.url), error) from error
