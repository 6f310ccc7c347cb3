"""Where an endpoint meets a caller: `may("memories.write")` gives it the caller's book, if the table of
`owners.authority` allows.

An answer is made by our one JSON shape, not by the framework: the same bytes at every door. A write that carries an
`Idempotency-Key` happens once: its answer is kept in the same transaction and given again to whoever sends it again.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Annotated, Any, Self

from fastapi import Depends, Header, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.ground import idempotency
from keepbook.book.ground.to_json import to_json
from keepbook.book.owners.authority import OPERATIONS, READ, TABLE
from keepbook.doors.auth import Caller, gives_memory
from keepbook.doors.http.stream import MEDIA_TYPE, Streams

KEYED = ("memories.inject", "tools.list")
"""What needs no more than reading and yet may write."""

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value of the book as JSON; 204 has no body."""
    body = b"" if status == 204 else _ENCODE(to_json(value)).encode()
    return Response(body, status, headers, None if status == 204 else "application/json")


class Call:
    """One request: who asks, and in which installation."""

    def __init__(self, request: Request, operation: str, key: str | None = None) -> None:
        self.request = request
        self.kb: Keepbook = request.state.kb
        self.caller: Caller = request.state.caller
        self.operation = operation
        self._body = b""
        self._key = key

    async def admitted(self, own: bool) -> Self:
        caller, given = self.caller, False
        if caller.agent is not None and not own:
            given = await run_in_threadpool(lambda: gives_memory(self.book, caller))
        caller.ask(self.operation, agent=caller.agent if own else None, given=given)
        if self._key is not None:  # a key is compared with all that was sent under it
            self._body = await self.request.body()
        return self

    # What a token for one agent may reach

    def agent(self, ref: str) -> str:
        """The id of an agent that this caller may ask about; of another one a bound token learns nothing."""
        id = self.book.agents.get(ref).id
        self.caller.ask(self.operation, agent=id)
        return id

    def run(self, run_id: str) -> str:
        self.caller.ask(self.operation, agent=self.book.runs.get(run_id).agent_id)
        return run_id

    def scope(self, asked: str | None) -> str | None:
        """The scope to read memories by: a bound token's is its agent's."""
        return self.caller.agent or asked

    def own(self, ref: str | None) -> str | None:
        """For a list: the agent asked for; a bound token's own where none is."""
        return self.agent(ref) if ref is not None else self.caller.agent

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
        hand = self.caller.hand  # what one agent was answered, another does not get to see by its key
        who = f"{hand.kind} {hand.agent or ''}".rstrip()
        sent = b"\n".join(
            (who.encode(), self.request.method.encode(), url.path.encode(), url.query.encode(), self._body)
        )
        with book.writing() as (tx, _):
            found = idempotency.find(tx, self._key, sent)
            if found is not None:
                return Response(found.body, found.status, {"Idempotency-Replayed": "true"}, "application/json")
            made = self._answered(do(book), status, headers)
            idempotency.keep(tx, self._key, sent, idempotency.Answer(made.status_code, bytes(made.body).decode()))
            return made

    def stream(self, pieces: AsyncIterator[bytes]) -> Response:
        """Server-sent events for as long as the caller's key opens, one of so many at a time."""
        streams: Streams = self.request.app.state.streams
        who: str = self.request.state.who
        streams.enter(who)
        held = streams.held(who, pieces, self.stands)
        return StreamingResponse(held, media_type=MEDIA_TYPE)

    def stands(self) -> bool:
        """Whether what this request was let in with still opens something."""
        if self.caller.session is not None:
            return self.kb.tokens.of_session(self.caller.session) is not None
        return self.kb.demo or self.kb.tokens.stands(self.caller.token_id)

    @staticmethod
    def _answered(
        value: Any, status: int | Callable[[Any], int], headers: Callable[[Any], Mapping[str, str]] | None
    ) -> Response:
        return answer(value, status if isinstance(status, int) else status(value), headers(value) if headers else None)


Key = Annotated[str | None, Header(max_length=200, description="Sent again with the same key, a write happens once.")]


def may(operation: str, *, own: bool = False) -> Any:
    """The call of an endpoint that does this: asked once, before anything of the request is read. With `own` it is
    about one agent, and the endpoint says which with `call.agent`, `call.run` or `call.own`."""

    async def reading(request: Request) -> Call:
        return await Call(request, operation).admitted(own)

    async def writing(request: Request, idempotency_key: Key = None) -> Call:
        return await Call(request, operation, idempotency_key).admitted(own)

    reads = TABLE[OPERATIONS[operation]].scope == READ and operation not in KEYED
    return Depends(reading if reads else writing)
