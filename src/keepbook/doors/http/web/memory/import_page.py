"""`/import/7`: what came in with a file, and its Undo, now and later; its chats, read for what to remember.

The same page for memories, chats and trades. What reading found stands in it line by line, each with a tick: nothing is
kept that is not shown, and a tick taken away takes its line back.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path
from fastapi.responses import Response, StreamingResponse

from keepbook.book.ledger.loads import MEMORIES
from keepbook.book.upkeep import chat_reading, take_back
from keepbook.book.upkeep.importers.incoming import program_name
from keepbook.doors.http.web.frame.extension_pages import load_pages
from keepbook.doors.http.web.frame.loading import LoadUnderWay
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, templates
from keepbook.errors import KeepbookError

router: APIRouter = APIRouter(include_in_schema=False)

PATH = "/import"
SHOWN = 50
"""How many earlier loads are listed."""
HERE = "here"
Number = Annotated[int, Path(ge=1, le=10**9)]
ShortField = Annotated[str, Form(max_length=400)]


def address(nth: int) -> str:
    return f"{PATH}/{nth}"


def earlier_loads(visit: Visit, what: str | None = None) -> list[Any]:
    """What was brought in before, the newest first."""
    return [one for one in take_back.list_all_loads(visit.book, SHOWN) if what in (None, one.what)]


def readers(visit: Visit) -> tuple[str | None, bool]:
    """The model that could read chats instead of this machine's reader, if there is one; whether memory is on."""
    models = visit.kb.models
    reader = models.extractor
    return None if reader is models.offline else models.called(reader.name), visit.book.choices.memory


@router.get(f"{PATH}/{{nth}}")
def show(visit: Visiting, nth: Number, saved: str = "") -> Response:
    changed = None
    if saved.isascii() and saved.isdecimal() and len(saved) < 6:
        changed = int(saved)
    return _load_page(visit, nth, saved=changed)


def _load_page(visit: Visit, nth: int, status: int = 200, **changed: Any) -> Response:
    """The page of a load; what an extension took in is shown by its template."""
    told = _load_context(visit, nth) | changed
    theirs = load_pages(visit).get(told["load"].what)
    if theirs is None:
        return visit.page("load.html", status, **told)
    return visit.page(theirs.template, status, **told)


def _load_context(visit: Visit, nth: int) -> dict[str, Any]:
    load = take_back.get_arrival(visit.book, nth)
    remote, memory = readers(visit)
    mine = load.what == MEMORIES and load.undone_at is None
    return {
        "load": load,
        "name": program_name(load.title),
        "remote": remote,
        "memory": memory,
        "saved": None,
        "wrong": None,
        "unread": chat_reading.unread(visit.book, nth) if mine else [],
        "running": None,
        "found": chat_reading.found_lines(visit.book, nth) if mine else [],
    }


@router.post(f"{PATH}/{{nth}}/undo")
def undo(visit: Changing, nth: Number) -> Response:
    """Take a load back: what came in with it and nobody has touched since."""
    try:
        take_back.take_back_load(visit.writing(), nth)
    except KeepbookError as error:
        return _load_page(visit, nth, 422, wrong=error)
    return visit.back(address(nth))


@router.post(f"{PATH}/{{nth}}/keep")
def keep(visit: Changing, nth: Number, tick: Annotated[list[str] | None, Form()] = None) -> Response:
    """Keep what is ticked of what was found, and leave out the rest."""
    changed = chat_reading.keep_ticked(visit.writing("proposals.answer"), nth, frozenset(tick or ()))
    return visit.back(address(nth), saved=changed)


@router.post(f"{PATH}/{{nth}}/read")
def read(visit: Changing, nth: Number, by: ShortField = HERE) -> Response:
    """Read the chats of a load for what to remember, as far as nobody has."""
    book, chats = visit.writing("chats.write"), chat_reading.unread(visit.book, nth)
    if not chats:
        return visit.back(address(nth))
    load = LoadUnderWay(
        visit.caller.owner, len(chats),
        lambda progress: chat_reading.read_chats(book, nth, offline=by == HERE, progress=progress),
    )  # fmt: skip
    return StreamingResponse(_reading(visit, nth, load), media_type="text/html")


def _reading(visit: Visit, nth: int, load: LoadUnderWay) -> Iterator[str]:
    """The page, as far as it has come: the count moves while chats are read."""
    told = _load_context(visit, nth) | {"found": [], "running": load}
    load.begin()
    page = templates.get_template("load.html")
    yield from page.generate(visit=visit, zone=visit.zone, now=visit.now, **told)
