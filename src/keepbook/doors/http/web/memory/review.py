"""Are these right? Yes, No, and the answers of questions with choices. ("Not quite" is an edit, see `forms`.)"""

from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import Response

from keepbook.book.memory import review
from keepbook.doors.http.web.frame.visit import Changing
from keepbook.doors.http.web.memory.listing import PATH, list_filter_of

router = APIRouter(include_in_schema=False)

BackField = Annotated[str, Form(max_length=2000)]


@router.post("/review/memory/{id}/yes")
def right(visit: Changing, id: str, back: BackField = PATH) -> Response:
    """What was read between the lines becomes the person's own word."""
    return visit.back(list_filter_of(back).address(), undo=visit.writing().promote(visit.book.get(id).id).event)


@router.post("/review/memory/{id}/no")
def wrong(visit: Changing, id: str, back: BackField = PATH) -> Response:
    written = visit.writing().forget(visit.book.get(id).id, "user_corrected")
    return visit.back(list_filter_of(back).address(), undo=written.event)


@router.post("/review/proposal/{id}/yes")
def accept(visit: Changing, id: str, back: BackField = PATH, both: Annotated[bool, Query()] = False) -> Response:
    event = visit.writing().proposals.accept(id, both).event
    return visit.back(list_filter_of(back).address(), answered=id, event=event)


@router.post("/review/proposal/{id}/no")
def decline(visit: Changing, id: str, back: BackField = PATH) -> Response:
    visit.writing().proposals.decline(id)
    return visit.back(list_filter_of(back).address(), answered=id)


@router.post("/review/proposal/{id}/answer")
def answer(visit: Changing, id: str, choice: Annotated[str, Query(max_length=200)], back: BackField = PATH) -> Response:
    """One of the choices of a question."""
    event = getattr(visit.writing().proposals.answer(id, choice), "event", None)
    return visit.back(list_filter_of(back).address(), answered=id, event=event)


@router.post("/review/link/{id}/both")
def both_hold(visit: Changing, id: str, back: BackField = PATH) -> Response:
    """Two lines that looked like opposites are both right."""
    return visit.back(list_filter_of(back).address(), undo=visit.writing().unlink(id).event)


@router.post("/review/proposal/{id}/reopen")
def reopen(
    visit: Changing, id: str, event: Annotated[str, Form(max_length=16)] = "", back: BackField = PATH
) -> Response:
    """Take the answer back, and with it what accepting wrote."""
    book = visit.writing()
    with book.transaction():
        if event.isascii() and event.isdecimal():
            book.undo(int(event))
        review.reopen_answered(book, id)
    return visit.back(list_filter_of(back).address())
