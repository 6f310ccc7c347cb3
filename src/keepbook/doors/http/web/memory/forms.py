"""What the memory pages write: add, edit, confirm, archive, delete, restore, many at once, and the way back.

Every form names the page it stands on (`back`) and is answered with that page, which then offers Undo. One that cannot
be done shows the same form again with what was typed still in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.book import Book, MemoryDetail
from keepbook.book.ground.when import in_zone
from keepbook.book.memory import changes
from keepbook.book.memory.memories import Memory, Written
from keepbook.doors.http.problems import status_of
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, own_path
from keepbook.doors.http.web.frame.written import MOST_AT_ONCE, name_events, undo_events
from keepbook.doors.http.web.memory import memory_page
from keepbook.doors.http.web.memory.listing import (
    PATH,
    MemoryDraft,
    filtered_groups,
    list_filter_of,
    listing_page,
)
from keepbook.doors.http.web.memory.wording import parse_day_end, parse_day_start
from keepbook.errors import Conflict, Invalid, KeepbookError

router: APIRouter = APIRouter(include_in_schema=False)

TextField = Annotated[str, Form(max_length=5000)]
ShortField = Annotated[str, Form(max_length=200)]
BackField = Annotated[str, Form(max_length=2000)]


def end_now(book: Book, id: str) -> Written:
    """It held until now: its words stay in the history, and in no new chat."""
    with book.writing() as (tx, preset):
        return changes.end(tx, book.origin, preset, id, book.now)


ACTS: dict[str, Callable[[Book, str], Written | None]] = {
    "archive": lambda book, id: book.forget(id),
    "over": end_now,
    "restore": lambda book, id: book.restore(id),
    "confirm": lambda book, id: book.confirm(id),
    "promote": lambda book, id: book.promote(id),
    "demote": lambda book, id: book.demote(id),
    "delete": lambda book, id: book.delete(id),
}


class Similar(Exception):
    """Something like it is in the book already: taken back, until the person has chosen."""

    def __init__(self, similar: tuple[Memory, ...]) -> None:
        super().__init__()
        self.similar = similar


# One memory


@router.post(PATH)
def add(
    visit: Changing,
    content: TextField = "",
    category: ShortField = "",
    valid_from: ShortField = "",
    valid_until: ShortField = "",
    keep_both: ShortField = "",
    proposal: ShortField = "",
    back: BackField = PATH,
) -> Response:
    """Add by hand. Something close to it is shown first, whatever the preset would do."""
    book = visit.writing()
    draft = MemoryDraft("", content, category, valid_from, valid_until, proposal=proposal)
    try:
        with book.transaction():
            written = book.remember(
                content.strip(),
                category=category or None,
                valid_from=parse_day_start(valid_from, visit.zone, "valid_from"),
                valid_until=parse_day_end(valid_until, visit.zone, "valid_until"),
                force=bool(keep_both),
            )
            if written.similar and not keep_both:
                raise Similar(written.similar)
            if proposal:
                book.proposals.decline(proposal)
    except (Similar, Conflict) as found:
        if isinstance(found, Conflict) and found.code == "against_topic":
            return listing_page(visit, list_filter_of(back), replace(draft, error=found), 409)
        if not found.similar:
            raise
        return listing_page(visit, list_filter_of(back), replace(draft, similar=tuple(found.similar)), 409)
    except Invalid as error:
        return listing_page(visit, list_filter_of(back), replace(draft, error=error), status_of(error))
    if written.unchanged:
        return listing_page(visit, list_filter_of(back), refused="You have this already; nothing was added.")
    return visit.back(list_filter_of(back).address(), undo=written.event)


@router.post("/memory/{id}")
def edit(
    visit: Changing,
    id: str,
    content: TextField = "",
    category: ShortField = "",
    valid_from: ShortField = "",
    valid_until: ShortField = "",
    correction: ShortField = "",
    expect_version: Annotated[int, Form(ge=0, le=2**31 - 1)] = 0,
    keep_anyway: ShortField = "",
    proposal: ShortField = "",
    back: BackField = PATH,
) -> Response:
    """A new version. Who had an older one before them sees both texts and chooses."""
    book = visit.writing()
    before = book.get(id)
    draft = MemoryDraft(id, content, category, valid_from, valid_until, bool(correction), expect_version, proposal)
    try:
        with book.transaction():
            written = book.update(
                id,
                content.strip(),
                category=None if category == before.category else category or None,
                valid_from=parse_day_start(valid_from, visit.zone, "valid_from"),
                valid_until=_until(visit, before, valid_until),
                correction=draft.correction,
                expect_version=expect_version or None,
                force=bool(keep_anyway),
            )
            if proposal:
                book.proposals.decline(proposal)
    except (Invalid, Conflict) as error:
        return _again(visit, back, replace(draft, error=error, expect_version=book.get(id).version), status_of(error))
    return visit.back(_list_of(back), undo=written.event)


def _until(visit: Visit, before: MemoryDetail, day: str) -> Any:
    """The end that was there stays to the microsecond if its day was not touched; none is said with an empty text."""
    had = before.valid_until
    if had is not None and day.strip() == str(in_zone(had, visit.zone).date()):
        return had
    return parse_day_end(day, visit.zone, "valid_until") or ""


def _again(visit: Visit, back: str, draft: MemoryDraft, status: int) -> Response:
    if urlsplit(own_path(back)).path == f"/memory/{draft.id}":
        return memory_page.memory_page(visit, draft.id, draft, status)
    return listing_page(visit, list_filter_of(back), draft, status)


def _list_of(back: str) -> str:
    """Where to go after a form: a memory's own page, time travel, or the list with its filters."""
    path = own_path(back)
    if path.startswith("/time"):
        return path
    if path.startswith("/memory/"):
        return path.partition("?")[0]
    return list_filter_of(path).address()


@router.get("/memory/{id}/purge")
def ask_to_purge(visit: Visiting, id: str, back: str = PATH) -> Response:
    """The one question: this cannot be undone."""
    words = (
        "It goes with all its history, and the chats that were given it lose it. A blank line is left where it stood."
    )
    told, at = visit.book.get(id).content, f"/memory/{id}/purge"
    return visit.page("purge.html", nav="memory", told=told, words=words, at=at, back=_list_of(back))


@router.post("/memory/{id}/purge")
def purge(visit: Changing, id: str, sure: ShortField = "", back: BackField = PATH) -> Response:
    if sure != "yes":
        return visit.back(f"/memory/{id}/purge")
    visit.writing().delete(visit.book.get(id).id, forever=True)
    here = _list_of(back)
    if here.startswith("/memory/"):
        return visit.back(PATH + "?show=out")
    return visit.back(here)


@router.post("/memory/{id}/links")
def link(visit: Changing, id: str, to: TextField = "", relation: ShortField = "relates_to") -> Response:
    """Join it to another memory, named by its id or a piece of what it says."""
    book = visit.writing()
    try:
        return visit.back(f"/memory/{id}", undo=book.link(book.get(id).id, to, relation).event)
    except KeepbookError as error:
        return memory_page.memory_page(visit, id, status=status_of(error), unlinked=error, link_to=to)


@router.post("/memory/{id}/links/{link_id}/remove")
def unlink(visit: Changing, id: str, link_id: str) -> Response:
    return visit.back(f"/memory/{id}", undo=visit.writing().unlink(link_id).event)


def _address(act: str, does: Callable[[Book, str], Written | None]) -> None:
    """`POST /memory/{id}/archive` and the like."""

    @router.post(f"/memory/{{id}}/{act}", name=act)
    def change(visit: Visiting, id: str, back: BackField = PATH) -> Response:
        written = does(visit.writing(), visit.book.get(id).id)
        here = _list_of(back)
        if here.startswith(PATH) and not visit.partial:
            here = f"{here.partition('#')[0]}#m-{id}"
        return visit.back(here, undo=written.event if written else None)


for _name, _does in ACTS.items():
    _address(_name, _does)


@router.post("/undo")
def undo(visit: Changing, event: Annotated[int, Form()], back: Annotated[str, Form()] = "/") -> Response:
    """Take back one entry of the ledger and look again at the page it was undone from."""
    return visit.back(own_path(back), undo=visit.writing().undo(event).event)


# Many at once


@router.post(PATH + "/many/{act}")
def change_many(
    visit: Changing,
    act: str,
    id: Annotated[list[str], Form(default_factory=list)],
    every: ShortField = "",
    back: BackField = PATH,
) -> Response:
    """All or none of them, and one Undo for all. `every`: what the filters let through, on whichever page it stands."""
    wanted = list_filter_of(back)
    if every:
        id = [memory.id for group in filtered_groups(visit, wanted) for memory in group.rows]
    if act not in ("confirm", "archive", "delete", "restore"):
        raise Invalid("several memories can be confirmed, archived, restored or deleted", field="act")
    if not id:
        return listing_page(visit, replace(wanted, select=True), status=422, refused="Choose at least one line first.")
    if len(id) > MOST_AT_ONCE:
        raise Invalid(f"at most {MOST_AT_ONCE:,} at once; filter them, and do the rest after that", field="id")
    book = visit.writing()
    with book.transaction():
        written = [ACTS[act](book, book.get(each).id) for each in dict.fromkeys(id)]
    return visit.back(wanted.address(), events=_events([each.event for each in written if each is not None]))


@router.post(PATH + "/undo")
def undo_many(visit: Changing, events: ShortField, back: BackField = PATH) -> Response:
    undone = undo_events(visit.writing(), events)
    return visit.back(list_filter_of(back).address(), events=_events(undone))


def _events(written: Sequence[int | None]) -> str | None:
    return name_events([event for event in written if event is not None])
