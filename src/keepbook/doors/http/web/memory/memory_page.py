"""`/memory/{id}`: one memory with all its versions on both clocks, its links, its entries, and who has seen it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response

from keepbook.book.book import Book, MemoryDetail
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory.history.traces import chats_named, sessions_that_saw
from keepbook.book.memory.links import RELATIONS
from keepbook.book.memory.memories import Memory, Version
from keepbook.book.text import quotation
from keepbook.doors.http.web.frame.charts import Spell, clocks
from keepbook.doors.http.web.frame.diff import word_diff
from keepbook.doors.http.web.frame.times import moment_in_words
from keepbook.doors.http.web.frame.visit import Visit, Visiting
from keepbook.doors.http.web.memory.listing import MemoryDraft, begin_edit, categories, teller_of
from keepbook.doors.http.web.memory.wording import SourceMark, Teller, mark_of, parse_day_end
from keepbook.errors import Invalid, KeepbookError, NotFound
from keepbook.presets.group_names import group_name

router: APIRouter = APIRouter(include_in_schema=False)

SEEN = 8
DID = {
    "remember": "remembered",
    "end": "ended",
    "forget": "archived",
    "delete": "put into the trash",
    "restore": "restored",
    "confirm": "confirmed",
    "promote": "became your own word",
    "demote": "is no longer your own word",
    "link": "linked",
    "unlink": "link removed",
    "configure": "set",
    "set": "set",
    "purge": "deleted for good",
    "import": "imported",
    "mend": "rows were set aside: the book was mended",
}
WHO = {"person": "You", "agent": "An agent", "extractor": "Closing a chat", "job": "A job"}


@dataclass(frozen=True, slots=True)
class VersionView:
    """A version as the page shows it: with the text before it, and how many days after it became true it was
    recorded."""

    version: Version
    before: str | None
    mark: SourceMark
    late_days: int


@dataclass(frozen=True, slots=True)
class TwoDayQuestion:
    """A question what was known on one day about another, and the answers of the book: `then`, and `now` if it
    differs."""

    known: str
    valid: str
    then: str | None = None
    now: str | None = None
    told_at: datetime | None = None
    error: KeepbookError | None = None


@router.get("/memory/{id}")
def one(visit: Visiting, id: str, edit: str = "") -> Response:
    try:
        memory = visit.book.get(id)
    except NotFound:
        return purged_page(visit, id)
    if edit == "1":
        return memory_page(visit, memory.id, begin_edit(visit, id))
    return memory_page(visit, memory.id, None)


def purged_page(visit: Visit, id: str) -> Response:
    """The page of a memory that was deleted for good: its text is gone, but the ledger says when. If there was no such
    memory, 404."""
    entries = visit.book.ledger(memory=id, limit=None)
    purged = next((entry for entry in entries if entry.action == "purge" and entry.memory_id == id), None)
    if purged is None:
        raise NotFound(f"there is no memory {id[:40]!r} in this book", field="id")
    return visit.page("memory_gone.html", 410, id=id, purged=purged, entries=[entry_row(entry) for entry in entries])


def memory_page(
    visit: Visit,
    id: str,
    draft: MemoryDraft | None = None,
    status: int = 200,
    *,
    unlinked: KeepbookError | None = None,
    link_to: str = "",
) -> Response:
    book = visit.book
    memory = book.get(id)
    teller = _teller(visit, memory)
    seen = sessions_that_saw(book, id)
    return visit.page(
        "memory_one.html",
        status,
        memory=memory,
        teller=teller,
        draft=draft,
        preset=teller.preset,
        categories=categories([memory], teller.preset),
        group=group_name(memory.category, teller.preset),
        group_name=group_name,
        told=[version_view(memory, version) for version in reversed(memory.versions)],
        clocks=clocks(spells(memory), visit.now, visit.zone),
        in_words=chart_in_words(memory, visit),
        asked=two_day_question(visit, memory),
        linked=_link_views(book, memory),
        relations=RELATIONS,
        unlinked=unlinked,
        link_to=link_to,
        entries=entry_rows(book.ledger(memory=id, limit=None)),
        seen=seen[:SEEN],
        sessions=len({sighting.session for sighting in seen}),
    )


@router.get("/memory/{id}/times.txt")
def times(visit: Visiting, id: str) -> Response:
    """All instants of a memory to the microsecond, as plain text, because a tooltip cannot be copied on a phone."""
    memory = visit.book.get(id)
    lines = [f"memory {memory.id}", f"created {stamp(memory.created_at)}", f"last changed {stamp(memory.updated_at)}"]
    for version in memory.versions:
        until = stamp(version.valid_until) if version.valid_until else "open"
        retired = stamp(version.retired_at) if version.retired_at else "still"
        lines += ["", f"version {version.version}: {quotation.shown_text(version) or '(deleted for good)'}"]
        lines += [f"  true from {stamp(version.valid_from)} until {until}"]
        lines += [f"  kept from {stamp(version.recorded_at)} until {retired}"]
    lines += ["", "ledger"]
    for entry in visit.book.ledger(memory=id, limit=None):
        lines += [f"  {entry.event} {stamp(entry.at)} {entry.actor} {entry.door} {entry.action} {entry.hash}"]
    return PlainTextResponse("\n".join(lines) + "\n")


# Versions


def version_view(memory: MemoryDetail, version: Version) -> VersionView:
    before = None
    if version.version > 1:
        before = quotation.shown_text(memory.versions[version.version - 2])
    if version.version == memory.version:
        confidence = memory.confidence
    else:
        confidence = _confidence(version)
    late = max((version.recorded_at - version.valid_from).days, 0)
    return VersionView(version, before, mark_of(version, confidence), late)


def _confidence(version: Version) -> str:
    if version.source in ("extracted", "inferred"):
        return "inferred"
    return "asserted"


def spells(memory: MemoryDetail) -> list[Spell]:
    return [
        Spell(
            f"v{version.version}",
            gist(memory.versions, number),
            version.valid_from,
            version.valid_until,
            version.recorded_at,
            version.retired_at,
        )
        for number, version in enumerate(memory.versions)
    ]


def gist(versions: Sequence[Version], number: int) -> str:
    """A few words that distinguish a version: what it added, or for the first, what the second has removed."""
    content = versions[number].content or ""
    if number > 0:
        kind, pieces = "new", word_diff(versions[number - 1].content or "", content)
    elif len(versions) > 1:
        kind, pieces = "gone", word_diff(content, versions[1].content or "")
    else:
        kind, pieces = "", []
    own = " … ".join(piece.text.strip() for piece in pieces if piece.kind == kind and piece.text.strip(" .,;:"))
    if len(own) > 2:
        words = own
    else:
        words = content
    if len(words) <= 60:
        return words
    return f"{words[:59].rstrip()}…"


def chart_in_words(memory: MemoryDetail, visit: Visit) -> str:
    """The chart as sentences, for people who cannot see it."""

    def day(moment: datetime) -> str:
        return moment_in_words(moment, "date", visit.zone, visit.now)

    sentences = []
    for version in memory.versions:
        true = f"true from {day(version.valid_from)}" + (
            f" until {day(version.valid_until)}" if version.valid_until else ""
        )
        kept = f"kept {'from' if version.retired_at else 'since'} {day(version.recorded_at)}"
        if version.retired_at:
            kept += f" to {day(version.retired_at)}"
        sentences.append(f"Version {version.version}, {gist(memory.versions, version.version - 1)}: {true}, {kept}.")
    return " ".join(sentences)


# Ask the book


def two_day_question(visit: Visit, memory: MemoryDetail) -> TwoDayQuestion:
    """The question in the address, as `?known=2026-10-01&valid=2026-09-15`: what was known on one day about another.
    Days count to their end."""
    query = visit.request.query_params
    today = str(visit.now.astimezone(visit.zone).date())
    known, valid = query.get("known", "")[:20] or today, query.get("valid", "")[:20] or today
    if "known" not in query and "valid" not in query:
        return TwoDayQuestion(known, valid, memory.content if memory.current and memory.state == "active" else None)
    try:
        then = min(parse_day_end(known, visit.zone, "known") or visit.now, visit.now)
        about = parse_day_end(valid, visit.zone, "valid") or visit.now
    except Invalid as error:
        return TwoDayQuestion(known, valid, error=error)
    said, says = (
        _memory_as_of(visit.book, memory.id, then, about),
        _memory_as_of(visit.book, memory.id, visit.now, about),
    )
    differs = says is not None and (said is None or says.content != said.content)
    now = None
    if says and differs:
        now = says.content
    told_at = None
    if says and differs:
        told_at = says.recorded_at
    return TwoDayQuestion(
        known,
        valid,
        said.content if said else None,
        now,
        told_at,
    )


def _memory_as_of(book: Book, id: str, known: datetime, valid: datetime) -> Memory | None:
    return next((memory for memory in book.as_of(known, valid) if memory.id == id), None)


# Links and entries


@dataclass(frozen=True, slots=True)
class LinkView:
    link_id: str
    words: str
    id: str
    content: str


def _link_views(book: Book, memory: MemoryDetail) -> list[LinkView]:
    found = []
    for link in memory.links:
        outward = link.from_id == memory.id
        if outward:
            other = link.to_id
        else:
            other = link.from_id
        words = link.relation.replace("_", " ")
        found.append(
            LinkView(
                link.id, words if outward else f"{words} (from there)", other, quotation.shown_text(book.get(other))
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A line of the ledger in words; it can be undone if it is the `newest` about its memory or link."""

    entry: Entry
    who: str
    what: str
    newest: bool


def entry_rows(entries: Sequence[Entry]) -> list[EntryRow]:
    """The entries in words, newest first, as the ledger gives them."""
    spoken: set[str | None] = set()
    rows = []
    for entry in entries:
        thing = entry.link_id or entry.memory_id
        rows.append(entry_row(entry, newest=thing not in spoken and entry.action not in ("purge", "mend")))
        spoken.add(thing)
    return rows


def entry_row(entry: Entry, *, newest: bool = False) -> EntryRow:
    what = DID.get(entry.action, entry.action)
    if entry.action == "update" and entry.after:
        what = f"updated to version {entry.after['version']}"
    elif entry.action == "undo":
        back = _is_there(entry.after) and not _is_there(entry.before)
        gone = _is_there(entry.before) and not _is_there(entry.after)
        what = f"{'put back: ' if back else 'taken out again: ' if gone else ''}undid № {entry.undoes}"
    return EntryRow(entry, f"{WHO.get(entry.actor, entry.actor)}, {entry.door}", what, newest)


def _is_there(state: Mapping[str, Any] | None) -> bool:
    """Whether a memory was in the book in this state: not archived, and not in the trash."""
    return state is not None and not state.get("archived_at") and not state.get("trashed_at")


def _teller(visit: Visit, memory: MemoryDetail) -> Teller:
    """A `Teller` that knows the titles of all chats that any version came from."""
    found = teller_of(visit, [memory])
    chats = chats_named(visit.book, [version.thread_id for version in memory.versions if version.thread_id])
    return Teller(found.preset, found.all, chats, found.zone, found.now, found.memory_on)
