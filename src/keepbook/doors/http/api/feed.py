"""`/api/events`: the owner's feed of changes, so that a host can refresh what it cached.

Ids and actions only: who may read the contents asks for them. As a stream it goes on until the client or the server
leaves; `Last-Event-ID` or `after` says from where.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.book.book import Book
from keepbook.book.ground.limits import LARGEST
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.doors.http.stream import DESCRIBED, MEDIA_TYPE, REST, event

router: APIRouter = APIRouter(prefix="/api", tags=["events"], responses=USUAL, route_class=FastRoute)

Following = Annotated[Call, permitted_call("ledger.follow")]

LOOK_EVERY = 0.5
REST_EVERY = 15.0
LAST_EVENT = LARGEST


@dataclass(frozen=True)
class FeedChange:
    event: int
    at: datetime
    actor: str
    action: str
    memory_id: str | None
    thread_id: str | None
    link_id: str | None


@dataclass(frozen=True)
class Feed:
    """`next` is what to send as `after`."""

    events: list[FeedChange]
    next: int


@router.get(
    "/events",
    response_model=Feed,
    responses={200: {"description": "What changed", "content": DESCRIBED}},
)
async def list_events(
    call: Following,
    request: Request,
    after: Annotated[int, Query(ge=0, le=LAST_EVENT)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    accept: Annotated[str | None, Header()] = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> Response:
    """Changes after an event, oldest first; as a stream for who accepts `text/event-stream`."""
    if last_event_id is not None and last_event_id.isdecimal():
        after = min(int(last_event_id), LAST_EVENT)  # a number that no entry has yet: there is nothing after it
    book = call.book
    if MEDIA_TYPE in (accept or ""):
        return call.stream(_follow(request, book, after))
    found = await run_in_threadpool(_since, book, after, limit)
    return json_response(Feed(found, found[-1].event if found else after))


def _since(book: Book, after: int, limit: int) -> list[FeedChange]:
    """Entries are numbered without gaps: a page is a range of numbers."""
    return [
        FeedChange(entry.event, entry.at, entry.actor, entry.action, entry.memory_id, entry.thread_id, entry.link_id)
        for entry in reversed(book.ledger(after=after, before=min(after + limit + 1, LAST_EVENT), limit=None))
    ]


async def _follow(request: Request, book: Book, after: int) -> AsyncIterator[bytes]:
    stopping: asyncio.Event = request.app.state.stopping
    rested = 0.0
    while not stopping.is_set():
        found = await run_in_threadpool(_since, book, after, 500)
        for change in found:
            yield event("change", change, change.event)
            after = change.event
        if not found:
            rested = rested + LOOK_EVERY
        else:
            rested = 0.0
        if rested >= REST_EVERY:
            rested = 0.0
            yield REST
        await asyncio.sleep(LOOK_EVERY)
