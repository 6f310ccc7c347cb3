"""The call of an endpoint: with `permitted_call("memories.write")` an endpoint gets the caller's book, if the table of
`owners.authority` allows the operation.

Answers are in our own JSON form, not the framework's, so that every door gives the same bytes. A write with an
`Idempotency-Key` happens once: its answer is stored in the same transaction, and returned when it is sent again.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Annotated, Any, Self

import orjson
from fastapi import Depends, Header, Request
from fastapi.responses import Response, StreamingResponse
from starlette.concurrency import run_in_threadpool

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.ground import idempotency
from keepbook.book.ground.open_book import MemoryUse, beside_memory, noting_memory_use
from keepbook.book.ground.to_json import to_json, writable
from keepbook.book.owners import switches
from keepbook.book.owners.authority import READ, row_of
from keepbook.doors.auth import Caller, gives_memory
from keepbook.doors.http.stream import MEDIA_TYPE, OpenStreams
from keepbook.tools import bound

METADATA = "metadata."
KEYED = ("memories.inject", "tools.list")
"""Operations for which the right to read is enough, although they may write: so they take an `Idempotency-Key`."""


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value of the book as JSON; 204 has no body."""
    if status == 204:
        return Response(b"", status, headers)
    shape = to_json(value)
    try:
        body = orjson.dumps(shape)
    except TypeError:  # rare: allowing for it each time would take half as long again
        body = _rare_json(shape)
    return Response(body, status, headers, "application/json")


def _rare_json(shape: Any) -> bytes:
    """JSON for what `orjson` refuses by default: keys that are numbers, and values that only older versions stored,
    such as a number of more than 64 bits."""
    try:
        return orjson.dumps(shape, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        return orjson.dumps(writable(shape), option=orjson.OPT_NON_STR_KEYS)


class Call:
    """One request: who asks, and in which installation."""

    def __init__(self, request: Request, operation: str) -> None:
        """The gate has authenticated the caller before."""
        self.request = request
        self.kb: Keepbook = request.state.kb
        self.caller: Caller = request.state.caller
        self.operation = operation
        self._body = b""
        self._key: str | None = None

    def require_permission(self, own: bool) -> Self:
        """Raise `NotAllowed` unless this caller may do the operation."""
        caller, given = self.caller, False
        if caller.agent is not None and not own:
            given = gives_memory(self.book, caller)
        agent = None
        if own:
            agent = caller.agent
        caller.ask(self.operation, agent=agent, given=given)
        return self

    def with_idempotency_key(self, key: str | None, body: bytes) -> Self:
        """Note the key of a write, and its body: a second request with the same key must be the same in every byte."""
        self._key, self._body = key, body
        return self

    @property
    def metadata(self) -> dict[str, str]:
        """The pairs of the query string that begin with `metadata.`; of a repeated key the last counts."""
        given = self.request.query_params.multi_items()
        return {name.removeprefix(METADATA): value for name, value in given if name.startswith(METADATA)}

    # What a token for one agent may reach

    def agent(self, ref: str) -> str:
        """The id of an agent that this caller may ask about. A bound token learns nothing of another agent."""
        id = bound.agent_id(self.book, ref)
        self.ask_about(id)
        return id

    def ask_about(self, agent_id: str) -> None:
        """Raise `NotAllowed` unless this caller may ask about what is this agent's."""
        self.caller.ask(self.operation, agent=agent_id)

    def scope(self, asked: str | None) -> str | None:
        """The scope to read memories by; for a bound token its agent's."""
        return self.caller.agent or asked

    def own(self, ref: str | None) -> str | None:
        """The agent that a list is filtered by; for a bound token its own if none is given."""
        if ref is not None:
            return self.agent(ref)
        return self.caller.agent

    @property
    def book(self) -> Book:
        return self.caller.book(self.kb, "http")

    def write(
        self,
        do: Callable[[Book], Any],
        status: int | Callable[[Any], int] = 200,
        headers: Callable[[Any], Mapping[str, str]] | None = None,
    ) -> Response:
        """Do the write and answer; with a key, once. The status may depend on the result. What needs no lock is done
        before there is one, with a key and without."""

        def respond() -> Response:
            return self._to_response(do(self.book), status, headers)

        if self._key is None:
            return respond()
        sent = self._all_that_was_sent()
        found = self._stored_answer(sent)
        if found is not None:
            return self._answer_again(found, respond)
        made: list[Response] = []

        def answer() -> idempotency.StoredAnswer:
            if not made:
                made.append(respond())
            return _stored(made[0], use)

        with noting_memory_use() as use:
            found = idempotency.answer_once(beside_memory(self.book), self._key, sent, answer)
        if found is None:
            return made[0]
        return self._answer_again(found, respond)

    def write_in_pieces(self, do: Callable[[Book, idempotency.Keyed | None], Any], status: int = 200) -> Response:
        """The same of what has transactions of its own: the answer is stored in the last of them."""

        def respond() -> Response:
            return self._to_response(do(self.book, None), status, None)

        if self._key is None:
            return respond()
        sent = self._all_that_was_sent()
        found = self._stored_answer(sent)
        if found is not None:
            return self._answer_again(found, respond)
        keyed = idempotency.Keyed(self._key, sent, lambda done: _stored(self._to_response(done, status, None), use))
        try:
            with noting_memory_use() as use:
                return self._to_response(do(self.book, keyed), status, None)
        except idempotency.AnsweredMeanwhile as answered:
            return self._answer_again(answered.answer, respond)

    def _all_that_was_sent(self) -> bytes:
        """All that makes two requests with one key the same. The token is part of it, so that nobody gets another's
        answer."""
        url, hand = self.request.url, self.caller.as_actor
        who = f"{hand.kind} {hand.agent or ''} {self.caller.token_id or ''}"
        return b"\n".join(
            (who.encode(), self.request.method.encode(), url.path.encode(), url.query.encode(), self._body)
        )

    def _stored_answer(self, sent: bytes) -> idempotency.StoredAnswer | None:
        with beside_memory(self.book).reading() as (tx, _, _):
            return idempotency.find_answer(tx, self._key or "", sent)

    def _answer_again(self, found: idempotency.StoredAnswer, respond: Callable[[], Response]) -> Response:
        """The stored answer, unless a program may not read it any more because memory was switched off since."""
        if not found.beside_memory and self.book.hand.is_program:
            with beside_memory(self.book).reading() as (tx, _, _):
                is_block = self.operation == "memories.inject" or self.request.url.path.endswith("/inject")
                if not is_block:
                    switches.refuse_memory_off(tx)
                is_on = switches.is_memory_on(tx)
            if not is_on:
                return respond()  # the block, which is empty now
        return Response(found.body, found.status, {"Idempotency-Replayed": "true"}, "application/json")

    def stream(self, pieces: AsyncIterator[bytes]) -> Response:
        """Server-sent events, until the caller's token is not valid any more. Raises if too many streams are open."""
        streams: OpenStreams = self.request.app.state.streams
        who: str = self.request.state.who
        streams.enter(who)
        held = streams.hold(who, pieces, self.stands)
        return StreamingResponse(held, media_type=MEDIA_TYPE)

    def stands(self) -> bool:
        """Whether the token or session of this request is still valid."""
        if self.caller.session is not None:
            return self.kb.tokens.of_session(self.caller.session) is not None
        return self.kb.demo or self.kb.tokens.stands(self.caller.token_id)

    @staticmethod
    def _to_response(
        value: Any, status: int | Callable[[Any], int], headers: Callable[[Any], Mapping[str, str]] | None
    ) -> Response:
        return json_response(
            value, status if isinstance(status, int) else status(value), headers(value) if headers else None
        )


def _stored(response: Response, use: MemoryUse) -> idempotency.StoredAnswer:
    return idempotency.StoredAnswer(response.status_code, bytes(response.body).decode(), not use.asked)


IdempotencyKey = Annotated[
    str | None, Header(max_length=200, description="Sent again with the same key, a write happens once.")
]


class May:
    """The dependency that gives an endpoint its call. It checks the permission before anything is done; at most a small
    body has been read by then."""

    def __init__(self, operation: str, own: bool) -> None:
        self._operation, self._own = operation, own
        self.reads: bool = row_of(operation).scope == READ and operation not in KEYED

    def at_once(self, request: Request, body: bytes = b"", idempotency_key: str | None = None) -> Call:
        """The call, made in a worker thread. The caller is authenticated here if the gate has put that off."""
        request.state.caller_check()
        return Call(request, self._operation).require_permission(self._own).with_idempotency_key(idempotency_key, body)

    async def __call__(self, request: Request) -> Call:
        caller: Caller | None = getattr(request.state, "caller", None)
        if caller is not None and (self._own or caller.agent is None):  # then the database need not be asked
            return Call(request, self._operation).require_permission(self._own)
        return await run_in_threadpool(self.at_once, request)


class MayWrite(May):
    async def __call__(self, request: Request, idempotency_key: IdempotencyKey = None) -> Call:
        call = await super().__call__(request)
        if idempotency_key is None:
            return call
        return call.with_idempotency_key(idempotency_key, await request.body())


def permitted_call(operation: str, *, own: bool = False) -> Any:
    """The call of an endpoint, if the caller may do the operation. With `own` it is about one agent, and the endpoint
    says which with `call.agent`, `call.ask_about` or `call.own`."""
    asked = May(operation, own)
    if asked.reads:
        return Depends(asked)
    return Depends(MayWrite(operation, own))
