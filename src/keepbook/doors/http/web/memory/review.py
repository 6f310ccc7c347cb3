"""Are these right? Yes, No, and the answers of questions with choices. ("Not quite" is an edit, see `forms`.)"""

from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import Response

from keepbook.book.memory import review
from keepbook.doors.http.web.frame.visit import Changing
from keepbook.doors.http.web.memory.listing import PATH, came_from

router = APIRouter(include_in_schema=False)

Back = Annotated[str, Form(max_length=2000)]


@router.post("/review/memory/{id}/yes")
def right(visit: Changing, id: str, back: Back = PATH) -> Response:
    """What was read between the lines becomes the person's own word."""
    return visit.back(came_from(back).address(), undo=visit.writing().promote(visit.book.get(id).id).event)


@router.post("/review/memory/{id}/no")
def wrong(visit: Changing, id: str, back: Back = PATH) -> Response:
    written = visit.writing().forget(visit.book.get(id).id, "user_corrected")
    return visit.back(came_from(back).address(), undo=written.event)


@router.post("/review/proposal/{id}/yes")
def accept(visit: Changing, id: str, back: Back = PATH, both: Annotated[bool, Query()] = False) -> Response:
    event = visit.writing().proposals.accept(id, both).event
    return visit.back(came_from(back).address(), answered=id, event=event)


@router.post("/review/proposal/{id}/no")
def decline(visit: Changing, id: str, back: Back = PATH) -> Response:
    visit.writing().proposals.decline(id)
    return visit.back(came_from(back).address(), answered=id)


@router.post("/review/proposal/{id}/answer")
def answer(visit: Changing, id: str, choice: Annotated[str, Query(max_length=200)], back: Back = PATH) -> Response:
    """One of the choices of a question."""
    event = getattr(visit.writing().proposals.answer(id, choice), "event", None)
    return visit.back(came_from(back).address(), answered=id, event=event)


@router.post("/review/link/{id}/both")
def both_hold(visit: Changing, id: str, back: Back = PATH) -> Response:
    """Two lines that looked like opposites are both right."""
    return visit.back(came_from(back).address(), undo=visit.writing().unlink(id).event)


@router.post("/review/proposal/{id}/reopen")
def reopen(visit: Changing, id: str, event: Annotated[str, Form(max_length=16)] = "", back: Back = PATH) -> Response:
    """Take the answer back, and with it what accepting wrote."""
    book = visit.writing()
    with book.transaction():
        if event.isascii() and event.isdecimal():
            book.undo(int(event))
        review.reopen(book, id)
    return visit.back(came_from(back).address())
