"""`/search`: what was said in all chats, and the chats that the sidebar does not list."""

import re
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from keepbook.doors.http.web.frame.diff import Piece
from keepbook.doors.http.web.frame.visit import Visiting, templates

router = APIRouter(include_in_schema=False)

FOUND = 50
LISTED = 500
_MARKED = re.compile("(⟦.*?⟧)", re.DOTALL)


def marked(snippet: str) -> list[Piece]:
    """A snippet in pieces: `hit` for what was looked for."""
    parts = (part for part in _MARKED.split(snippet) if part)
    return [Piece("hit", part[1:-1]) if _MARKED.fullmatch(part) else Piece("same", part) for part in parts]


templates.globals["marked"] = marked


@router.get("/search")
def search(
    visit: Visiting,
    q: Annotated[str, Query(max_length=500)] = "",
    all: bool = False,
    archived: bool = False,
    trash: bool = False,
) -> Response:
    threads, asked = visit.book.threads, q.strip()
    view = "all" if all else "archived" if archived else "trash" if trash else "found"
    if view == "found":
        return visit.page(
            "search.html", q=asked, found=threads.search(asked, FOUND) if asked else [], chats=[], view=view
        )
    chats = threads.list(trash=trash, state="archived" if archived else None, limit=LISTED)
    return visit.page("search.html", q=asked, found=[], chats=[chat for chat in chats if chat.turns], view=view)
