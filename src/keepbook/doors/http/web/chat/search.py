"""`/search`: anything, in groups; and the chats that the sidebar does not list."""

from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import Response

from keepbook.doors.http.web.chat.palette import AT_ONCE, ON_A_PAGE, find_all, marked_words
from keepbook.doors.http.web.frame.diff import DiffPiece
from keepbook.doors.http.web.frame.visit import Changing, Visiting, templates
from keepbook.patterns import regex

router: APIRouter = APIRouter(include_in_schema=False)

TRASH = "/search?trash=1"
FOUND = 50
LISTED = 500
_MARKED = regex("(⟦[^⟦⟧]*⟧)")


def mark_snippet(snippet: str) -> list[DiffPiece]:
    """A snippet in pieces: `hit` for what was looked for."""
    parts = (part for part in _MARKED.split(snippet) if part)
    return [DiffPiece("hit", part[1:-1]) if _MARKED.fullmatch(part) else DiffPiece("same", part) for part in parts]


templates.globals.update(marked=mark_snippet, marked_words=marked_words)


@router.get("/search")
def search(
    visit: Visiting,
    q: Annotated[str, Query(max_length=500)] = "",
    all: bool = False,
    archived: bool = False,
    trash: bool = False,
) -> Response:
    threads, asked = visit.book.threads, q.strip()
    if all:
        view = "all"
    elif archived:
        view = "archived"
    elif trash:
        view = "trash"
    else:
        view = "found"
    if view == "found" and visit.partial:
        return visit.page("found.html", q=asked, found=find_all(visit, asked, AT_ONCE))
    if view == "found":
        if asked:
            turns = threads.search(asked, FOUND)
        else:
            turns = []
        return visit.page(
            "search.html", q=asked, found=find_all(visit, asked, ON_A_PAGE), turns=turns, chats=[], view=view
        )
    state = None
    if archived:
        state = "archived"
    chats = threads.list(trash=trash, state=state, limit=LISTED)
    return visit.page("search.html", q=asked, turns=[], chats=[chat for chat in chats if chat.turns], view=view)


@router.get("/chat/{id}/purge")
def ask_to_purge(visit: Visiting, id: str) -> Response:
    """The one question: this cannot be undone."""
    told = visit.book.threads.get(id).thread.title or "A chat without a title"
    words = "The chat goes with every word in it. What was kept from it stays in your book."
    return visit.page("purge.html", nav="chat", told=told, words=words, at=f"/chat/{id}/purge", back=TRASH)


@router.post("/chat/{id}/purge")
def purge(visit: Changing, id: str, sure: Annotated[str, Form(max_length=10)] = "") -> Response:
    if sure != "yes":
        return visit.back(f"/chat/{id}/purge")
    visit.writing("chats.purge").threads.delete(id, forever=True)
    return visit.back(TRASH)
