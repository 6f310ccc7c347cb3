"""`/journal`: replies that were bookmarked and notes of one's own, to read, change, find and delete.

A note is no memory: no agent is given it. Deleting one is answered with the page itself, whose toast holds the whole
note: nothing else does any more, so Undo writes it back from there.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.chats.notes import Note
from keepbook.book.chats.threads import Thread
from keepbook.book.ground.when import instant, parse_stamp
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Invalid, NotFound

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/journal"
PAGE = 50


def journal_page(
    visit: Visit,
    *,
    editing: str | None = None,
    typed: str | None = None,
    wrong: Invalid | None = None,
    deleted: Note | None = None,
    status: int = 200,
) -> Response:
    """The journal. `editing` names the note that is open for it, or is `new`; `typed` is what stands in its field."""
    asked = visit.request.query_params
    q = asked.get("q", "").strip()[:500]
    found = visit.book.notes.list(q or None)
    number = asked.get("page", "1")
    if number.isascii() and number.isdecimal():
        first = (min(max(int(number), 1), 10_000) - 1) * PAGE
    else:
        first = 0
    told: dict[str, Any] = {
        "q": q,
        "notes": found[first : first + PAGE],
        "total": len(found),
        "page": first // PAGE + 1,
        "pages": -(-len(found) // PAGE),
        "chats": _chats(visit),
        "editing": editing or asked.get("edit"),
        "typed": typed,
        "wrong": wrong,
        "deleted": deleted,
        "outcome": {"kept": "Kept.", "saved": "Saved.", "back": "It is back."}.get(asked.get("did", "")),
    }
    return visit.page("notes.html", status, **told)


def _chats(visit: Visit) -> dict[str, Thread]:
    """The chats that notes lead back to, those in the trash too: they say so."""
    chats = visit.book.threads
    return {chat.id: chat for trash in (True, False) for chat in chats.list(trash=trash, limit=10_000)}


def _unix_line_ends(text: str) -> str:
    """As it was typed: a form sends each line's end as two characters."""
    return text.replace("\r\n", "\n")


@router.get(HOME)
def show(visit: Visiting) -> Response:
    return journal_page(visit)


@router.post(HOME)
def write(visit: Changing, text: Annotated[str, Form()] = "") -> Response:
    book = visit.writing()
    try:
        note = book.notes.write(_unix_line_ends(text))
    except Invalid as error:
        return journal_page(visit, editing="new", typed=text, wrong=error, status=422)
    return visit.back(f"{HOME}#n-{note.id}", did="kept")


@router.post(f"{HOME}/undo")
def put_back(
    visit: Changing,
    text: Annotated[str, Form()] = "",
    thread_id: Annotated[str, Form()] = "",
    turn: Annotated[str, Form()] = "",
    created_at: Annotated[str, Form()] = "",
    updated_at: Annotated[str, Form()] = "",
) -> Response:
    created, updated = instant(created_at, field="created_at"), instant(updated_at, field="updated_at")
    if created is None or updated is None:
        raise Invalid("this note has lost its dates; write it anew", field="created_at")
    place = None
    if turn.isascii() and turn.isdecimal() and len(turn) < 10:
        place = int(turn)
    dates = {"created_at": parse_stamp(created), "updated_at": parse_stamp(updated)}
    note = Note(id="", text=_unix_line_ends(text), thread_id=thread_id or None, turn=place, **dates)
    return visit.back(f"{HOME}#n-{visit.writing().notes.put_back(note).id}", did="back")


@router.post(f"{HOME}/{{id}}")
def edit(visit: Changing, id: str, text: Annotated[str, Form()] = "") -> Response:
    book = visit.writing()
    try:
        book.notes.edit(id, _unix_line_ends(text))
    except Invalid as error:
        return journal_page(visit, editing=id, typed=text, wrong=error, status=422)
    return visit.back(f"{HOME}#n-{id}", did="saved")


@router.post(f"{HOME}/{{id}}/delete")
def delete(visit: Changing, id: str) -> Response:
    try:
        return journal_page(visit, deleted=visit.writing().notes.delete(id))
    except NotFound:  # the page was loaded again: it is gone already
        return visit.back(HOME)
