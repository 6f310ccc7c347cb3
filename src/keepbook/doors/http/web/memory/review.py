"""Answers to what waits, wherever it is shown: yes, no, a choice; and one for all that an import left. The cards are
`deck`; other words are an edit, see `forms`."""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Form, Query
from fastapi.responses import Response

from keepbook.book.memory import review
from keepbook.book.memory.history.traces import chats_named
from keepbook.book.memory.proposals import Proposal
from keepbook.book.upkeep.importers.incoming import program_name, source_of_session
from keepbook.doors.http.web.frame.visit import Changing, Visit, own_path
from keepbook.doors.http.web.frame.written import entries_written, name_events, undo_events
from keepbook.doors.http.web.memory.listing import PATH, list_filter_of

router: APIRouter = APIRouter(include_in_schema=False)

BackField = Annotated[str, Form(max_length=2000)]


@router.post("/review/memory/{id}/yes")
def right(visit: Changing, id: str, back: BackField = PATH) -> Response:
    """What was read between the lines becomes the person's own word."""
    return visit.back(_back_to(back), undo=visit.writing().promote(visit.book.get(id).id).event)


@router.post("/review/memory/{id}/no")
def wrong(visit: Changing, id: str, back: BackField = PATH) -> Response:
    written = visit.writing().forget(visit.book.get(id).id, "user_corrected")
    return visit.back(_back_to(back), undo=written.event)


@router.post("/review/proposal/{id}/yes")
def accept(visit: Changing, id: str, back: BackField = PATH, both: Annotated[bool, Query()] = False) -> Response:
    book = visit.writing()
    return _answered(visit, id, back, lambda: book.proposals.accept(id, both))


@router.post("/review/proposal/{id}/no")
def decline(visit: Changing, id: str, back: BackField = PATH) -> Response:
    book = visit.writing()
    return _answered(visit, id, back, lambda: book.proposals.decline(id))


@router.post("/review/proposal/{id}/answer")
def answer(visit: Changing, id: str, choice: Annotated[str, Query(max_length=200)], back: BackField = PATH) -> Response:
    """One of the choices of a question."""
    book = visit.writing()
    return _answered(visit, id, back, lambda: book.proposals.answer(id, choice))


def _answered(visit: Visit, id: str, back: str, act: Callable[[], object]) -> Response:
    """Carry out an answer; the page then says what it did, with its Undo."""
    with visit.book.transaction():
        written = entries_written(visit.book, act)
    return visit.back(_back_to(back), answered=id, events=name_events([entry.event for entry in written]))


@router.post("/review/link/{id}/both")
def both_hold(visit: Changing, id: str, back: BackField = PATH) -> Response:
    """Two lines that looked like opposites are both right."""
    return visit.back(_back_to(back), undo=visit.writing().unlink(id).event)


@router.post("/review/proposal/{id}/reopen")
def reopen(
    visit: Changing, id: str, events: Annotated[str, Form(max_length=30)] = "", back: BackField = PATH
) -> Response:
    """Take the answer back, and with it what accepting wrote."""
    book = visit.writing()
    with book.transaction():
        if events:
            undo_events(book, events)
        review.reopen_answered(book, id)
    return visit.back(_back_to(back))


def _back_to(back: str) -> str:
    """The list with its filters, or the questions."""
    if own_path(back).startswith("/review"):
        return ALL
    return list_filter_of(back).address()


# All that one program left


ALL = "/review?all=1"
MOST_AT_ONCE = 100
"""How many questions one answer for all of them covers; the next ones are asked after it."""


class BulkSource(NamedTuple):
    """A program that chats came from, and what waits of them."""

    name: str
    waiting: Sequence[Proposal]


def bulk_sources(visit: Visit, asked: Sequence[Proposal]) -> list[BulkSource]:
    """What of these lines comes from chats of other programs, by program; what needs a choice is asked one by one."""
    chats = chats_named(visit.book, [one.thread_id for one in asked if one.thread_id])
    found: dict[str, list[Proposal]] = {}
    for one in asked:
        chat = chats.get(one.thread_id or "")
        source = None
        if chat:
            source = source_of_session(chat.session)
        if source and one.op == "add" and not one.choices and one.nature != "conflict":
            found.setdefault(program_name(source), []).append(one)
    return [BulkSource(name, lines[:MOST_AT_ONCE]) for name, lines in found.items() if len(lines) > 1]


@router.post("/review/from")
def answer_source(
    visit: Changing, source: Annotated[str, Form(max_length=80)], say: Annotated[str, Form(max_length=4)]
) -> Response:
    """Yes or no to all that waits from one program, with one Undo."""
    book = visit.writing()
    waiting = next((one.waiting for one in bulk_sources(visit, book.proposals.list()) if one.name == source), ())
    events: list[int] = []
    with book.transaction():
        for one in waiting:
            if say == "yes":
                event = book.proposals.accept(one.id).event
                if event is not None:
                    events += [event]
            else:
                book.proposals.decline(one.id)
    ids = ".".join(one.id for one in waiting)
    return visit.back(ALL, bulk=ids or None, events=name_events(events))


@router.post("/review/from/undo")
def undo_source(
    visit: Changing,
    ids: Annotated[str, Form(max_length=2000)],
    events: Annotated[str, Form(max_length=30)] = "",
) -> Response:
    """Take that answer back: all of it waits again."""
    book = visit.writing()
    with book.transaction():
        if events:
            undo_events(book, events)
        for id in ids.split("."):
            review.reopen_answered(book, id)
    return visit.back(ALL)
