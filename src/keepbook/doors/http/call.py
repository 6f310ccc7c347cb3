"""Where an endpoint meets a caller: `Reading` and `Writing` give it the caller's book, if the scope allows.

An answer is made by our one JSON shape, not by the framework: the same bytes at every door. A write that carries an
`Idempotency-Key` happens once: its answer is kept in the same transaction and given again to whoever sends it again.
"""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.responses import Response

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.ground import idempotency
from keepbook.book.ground.to_json import to_json
from keepbook.doors.auth import OWNER_HEADER, Caller

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value of the book as JSON; 204 has no body."""
    body = b"" if status == 204 else _ENCODE(to_json(value)).encode()
    return Response(body, status, headers, None if status == 204 else "application/json")


class Call:
    """One request: who asks, and in which installation."""

    def __init__(self, request: Request, body: bytes = b"", key: str | None = None) -> None:
        self.request = request
        self.kb: Keepbook = request.state.kb
        self.caller: Caller = request.state.caller
        self._body = body
        self._key = key

    @property
    def book(self) -> Book:
        return self.caller.book(self.kb, "http")

    def write(
        self,
        do: Callable[[Book], Any],
        status: int | Callable[[Any], int] = 200,
        headers: Callable[[Any], Mapping[str, str]] | None = None,
    ) -> Response:
        """Do it and answer; with a key, once. What was done may decide with which status."""
        book = self.book
        if self._key is None:
            return self._answered(do(book), status, headers)
        url = self.request.url
        sent = b"\n".join((self.request.method.encode(), url.path.encode(), url.query.encode(), self._body))
        with book.writing() as (tx, _):
            found = idempotency.find(tx, self._key, sent)
            if found is not None:
                return Response(found.body, found.status, {"Idempotency-Replayed": "true"}, "application/json")
            made = self._answered(do(book), status, headers)
            idempotency.keep(tx, self._key, sent, idempotency.Answer(made.status_code, bytes(made.body).decode()))
            return made

    @staticmethod
    def _answered(
        value: Any, status: int | Callable[[Any], int], headers: Callable[[Any], Mapping[str, str]] | None
    ) -> Response:
        return answer(value, status if isinstance(status, int) else status(value), headers(value) if headers else None)


Named = Annotated[str | None, Header(alias=OWNER_HEADER, description="Whose book, with a service token.")]
"""Read by the gate; named here so that the OpenAPI document tells of it."""
Key = Annotated[str | None, Header(max_length=200, description="Sent again with the same key, a write happens once.")]


async def reading(request: Request, _: Named = None) -> Call:
    request.state.caller.needs("read")
    return Call(request)


async def calling(request: Request, idempotency_key: Key = None, _: Named = None) -> Call:
    """For what may read or write: the endpoint asks for `write` where it must."""
    request.state.caller.needs("read")
    return Call(request, await request.body() if idempotency_key else b"", idempotency_key)


async def writing(request: Request, idempotency_key: Key = None, _: Named = None) -> Call:
    request.state.caller.needs("write")
    return Call(request, await request.body() if idempotency_key else b"", idempotency_key)


async def governing(request: Request, _: Named = None) -> Call:
    request.state.caller.needs("admin")
    return Call(request)


Reading = Annotated[Call, Depends(reading)]
Calling = Annotated[Call, Depends(calling)]
Writing = Annotated[Call, Depends(writing)]
Governing = Annotated[Call, Depends(governing)]
