"""`/profile/facts`, "What I know about you": every memory, in groups, with buttons for what can be done with it.

The page depends on its address (`ListFilter`) and, if a form was refused, on what was typed into it (`MemoryDraft`).
The script asks for the same page without its frame, so an edit in place and a plain form give the same.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter
from fastapi.responses import Response

from keepbook.book.book import Book
from keepbook.book.ground.open_book import viewing
from keepbook.book.ground.when import in_zone
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory import review
from keepbook.book.memory.history.traces import chats_named
from keepbook.book.memory.history.verbatim import SaidLine, verbatim_words
from keepbook.book.memory.listing import Brief, count_older, in_brief, in_full, overview
from keepbook.book.memory.memories import Memory
from keepbook.book.memory.proposals import Proposal
from keepbook.book.recall.people import lines_of_person, people_of_rows
from keepbook.doors.http.web.frame.sidebar import write_to_undo
from keepbook.doors.http.web.frame.visit import Visit, Visiting, own_path
from keepbook.doors.http.web.frame.written import entries_named
from keepbook.doors.http.web.memory.facts_rows import (
    OUT,
    cards_of_people,
    listed_questions,
    state_chips,
    waiting_lines,
)
from keepbook.doors.http.web.memory.review_words import answer_told, card_asked
from keepbook.doors.http.web.memory.rows import RowCache
from keepbook.doors.http.web.memory.wording import GUESSED, SAID, WAITS, Teller, kind_of
from keepbook.errors import Conflict, KeepbookError
from keepbook.presets import Preset
from keepbook.presets.group_names import group_name

router: APIRouter = APIRouter(include_in_schema=False)

One = TypeVar("One", Brief, Memory)

PATH = "/profile/facts"
ROWS = 100
"""How many memories one form may change, and one Undo take back."""
DONE = dict.fromkeys(("forget", "delete"), "taken out") | dict.fromkeys(("restore", "undo"), "put back")
DONE["confirm"] = "still true"


@dataclass(frozen=True, slots=True)
class ListFilter:
    """The filters and the state of the page, from its address."""

    q: str = ""
    category: str = ""
    show: str = ""
    """Only lines in this state: said, guessed, waits, or out (taken out)."""
    person: str = ""
    """Only lines about this person."""
    select: bool = False
    people: bool = False
    """Whether all persons have a card, and not only the most frequent."""
    page: int = 1
    # What is open on the page; gone after the next form.
    edit: str = ""
    add: bool = False
    block: bool = False

    @staticmethod
    def read(query: Mapping[str, str]) -> "ListFilter":
        given: dict[str, Any] = {}
        for each in fields(ListFilter):
            value = query.get(each.name, "").strip()[:200]
            if each.type in (bool, "bool"):
                given[each.name] = value == "1"
            elif each.name == "page":
                given["page"] = int(value) if value.isascii() and value.isdecimal() and len(value) < 6 else 1
            else:
                given[each.name] = value
        return ListFilter(**given)

    def address(self, **other: Any) -> str:
        """The address of the page with these filters, changed by `other`."""
        lasting = {"q", "category", "show", "person", "select", "page"}
        told = {name: getattr(self, name) for name in lasting} | other
        order = [each.name for each in fields(ListFilter)]
        known = {
            name: 1 if told[name] is True else told[name]
            for name in order
            if told.get(name) and (name, told[name]) != ("page", 1)
        }
        return PATH + (f"?{urlencode(known)}" if known else "")

    @property
    def filtered(self) -> bool:
        return bool(self.q or self.category or self.show or self.person)


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What a person has typed and is not in the book yet: an edit of the memory `id`, or without one a new memory."""

    id: str = ""
    content: str = ""
    category: str = ""
    valid_from: str = ""
    valid_until: str = ""
    correction: bool = False
    expect_version: int = 0
    proposal: str = ""
    error: KeepbookError | None = None
    similar: Sequence[Memory] = ()

    @property
    def overtaken(self) -> bool:
        """Whether a newer version was written meanwhile."""
        return isinstance(self.error, Conflict) and self.error.code == "version"

    @property
    def never_topic(self) -> str:
        """The topic that the person asked never to keep, if the draft was refused for it; else ""."""
        asked = self.error is not None and self.error.code == "against_topic"
        if asked and self.error:
            return str(self.error.details["topic"])
        return ""


@dataclass(frozen=True, slots=True)
class MemoryGroup(Generic[One]):
    name: str
    rows: list[One] = field(default_factory=list)
    waiting: list[Proposal] = field(default_factory=list)
    """Proposals that would add to this group; shown on the last page of the group."""


@router.get("/memory")
def lead_here(visit: Visiting) -> Response:
    """Redirects the address that people type."""
    return visit.back(PATH)


@router.get(PATH)
def facts(visit: Visiting) -> Response:
    with viewing(visit.book):
        if visit.request.query_params.get("print") == "1":
            return print_page(visit)
        wanted = ListFilter.read(visit.request.query_params)
        if wanted.edit:
            draft = begin_edit(visit, wanted.edit)
        elif wanted.add:
            draft = begin_add(visit)
        else:
            draft = None
        return listing_page(visit, wanted, draft)


def listing_page(
    visit: Visit, wanted: ListFilter, draft: MemoryDraft | None = None, status: int = 200, refused: str = ""
) -> Response:
    """The page; `refused` says what a form could not do."""
    book, preset = visit.book, visit.book.preset()
    all = overview(book, people_of_rows)
    groups = filtered_groups(visit, wanted)
    page, pages, chosen = page_of_groups(groups, wanted.page, draft.id if draft else "")
    shown = groups_with_memories(book, chosen)
    visit.waiting = review.count_waiting(book, len(all.unconfirmed))  # for the sidebar too, which would count them anew
    waiting = listed_questions(visit) if wanted.show == WAITS else []
    if not wanted.filtered and page == pages:
        add_waiting(shown, waiting_lines(visit, preset))
    memories = [memory for group in shown for memory in group.rows]
    asked: list[SaidLine] = [*memories, *(one.proposal for one in waiting if one.proposal)]
    teller = teller_of(visit, memories, waiting, [one for group in shown for one in group.waiting])
    kinds, dropped = count_by_state(all.kept), sum(all.dropped.values())
    return visit.page(
        "memory.html",
        status,
        wanted=wanted,
        draft=draft,
        refused=refused,
        preset=preset,
        teller=teller,
        rows=RowCache(book.owner, teller, wanted.address(page=page), wanted.select),
        words=verbatim_words(book, asked),
        groups=shown,
        page=page,
        pages=pages,
        kept=len(all.kept),
        kinds=kinds,
        chips=state_chips(kinds, visit.waiting, dropped),
        cards=cards_of_people(visit, wanted.people),
        categories=categories(all.kept, preset),
        used=used_categories(all.kept, preset),
        dropped=dropped,
        fitting=sum(len(group.rows) for group in groups),
        block_text=book.block() if wanted.block else "",
        waiting=waiting,
        to_ask=visit.waiting,
        group_name=group_name,
        many=done_to_many(visit),
        answered=answered_proposal(visit),
        card_asked=card_asked,
        entry=write_to_undo(visit),
        in_sight={memory.id for memory in memories},
    )


def print_page(visit: Visit) -> Response:
    """The page for printing: all memories, one line each, without buttons."""
    book, preset = visit.book, visit.book.preset()
    kept = in_full(book, [memory.id for memory in in_brief(book)])
    return visit.page(
        "memory_print.html", groups=group_by_category(kept, preset), teller=teller_of(visit, kept), kept=len(kept)
    )


def begin_add(visit: Visit) -> MemoryDraft:
    """An empty form, or one with a proposal that the person wants to reword."""
    asked = _proposal_to_edit(visit)
    if asked:
        return MemoryDraft(content=asked.content, category=asked.category or "", proposal=asked.id)
    return MemoryDraft()


def begin_edit(visit: Visit, id: str) -> MemoryDraft:
    """The form for editing a memory, with its present text or that of a proposal."""
    memory = visit.book.get(id)
    asked = _proposal_to_edit(visit)
    zone = visit.zone
    if asked and asked.op == "update":
        content = asked.content
    else:
        content = memory.content
    return MemoryDraft(
        id=memory.id,
        content=content,
        category=memory.category or "",
        valid_from=str(in_zone(memory.valid_from, zone).date()) if memory.valid_from > visit.now else "",
        valid_until=str(in_zone(memory.valid_until, zone).date()) if memory.valid_until else "",
        expect_version=memory.version,
        proposal=asked.id if asked else "",
    )


def _proposal_to_edit(visit: Visit) -> Proposal | None:
    """The proposal that the form answers with "not quite"."""
    id = visit.request.query_params.get("proposal", "")[:20]
    if id:
        return visit.book.proposals.get(id)
    return None


def list_filter_of(back: str) -> ListFilter:
    """The filters of the list that a form was on, from the address that it returns to."""
    parts = urlsplit(own_path(back))
    return ListFilter.read(dict(parse_qsl(parts.query)) if parts.path == PATH else {})


# What the page shows


def filtered_groups(visit: Visit, wanted: ListFilter) -> list[MemoryGroup[Brief]]:
    """The memories that fit the filters, in their groups."""
    book, preset = visit.book, visit.book.preset()
    if wanted.show == WAITS:
        return []
    if wanted.show == OUT:
        gone = [memory for state in ("archived", "trash") for memory in in_brief(book, state, wanted.q)]
        found = filter_memories(gone, wanted, None)
    else:
        listed = in_brief(book, q=wanted.q) if wanted.q else overview(book).kept
        about = lines_of_person(book, wanted.person) if wanted.person else None
        found = filter_memories(_with_just_out(visit, listed, wanted), wanted, about)
    return group_by_category(found, preset)


def filter_memories(memories: Sequence[Brief], wanted: ListFilter, about: Collection[str] | None) -> list[Brief]:
    """The memories that fit the filters; `about` are the ids of those about a person."""
    states = (wanted.show,) if wanted.show in (SAID, GUESSED) else (SAID, GUESSED)
    return [
        memory
        for memory in memories
        if (not wanted.category or (memory.category or "-") == wanted.category)
        and kind_of(memory) in states
        and (about is None or memory.id in about)
    ]


def just_taken_out(visit: Visit) -> Entry | None:
    """The write that led to this page, if it took out a line. That line is shown struck through in its place."""
    entry = write_to_undo(visit)
    if entry is not None and entry.action in ("forget", "delete") and entry.memory_id:
        return entry
    return None


def _with_just_out(visit: Visit, listed: Sequence[Brief], wanted: ListFilter) -> Sequence[Brief]:
    """The lines, with the one that was just taken out in its old place, so that no other line moves under the
    pointer."""
    entry = just_taken_out(visit)
    if entry is None or entry.memory_id is None or wanted.q or wanted.person:
        return listed
    gone = (one for state in ("archived", "trash") for one in in_brief(visit.book, state))
    found = [one for one in gone if one.id == entry.memory_id]
    place = count_older(visit.book, entry.memory_id)
    return [*listed[:place], *found, *listed[place:]]


def count_by_state(memories: Sequence[Brief]) -> dict[str, int]:
    """How many were said and how many guessed."""
    found = {SAID: 0, GUESSED: 0}
    for said, count in Counter(map(attrgetter("said"), memories)).items():  # few kinds of many
        found[SAID if said else GUESSED] += count
    return found


def add_waiting(groups: list[MemoryGroup[Memory]], waiting: Mapping[str, list[Proposal]]) -> None:
    """Add waiting proposals to their groups; groups without other lines are added at the end."""
    here = {group.name: group for group in groups}
    for name, lines in waiting.items():
        if name not in here:
            here[name] = MemoryGroup(name)
            groups.append(here[name])
        here[name].waiting.extend(lines)


def categories(memories: Iterable[Brief | Memory], preset: Preset) -> list[str]:
    """The categories of the preset in its order, then others that are in use."""
    used = set(map(attrgetter("category"), memories)) - {None, "", *preset.categories}
    return [*preset.categories, *sorted(used)]


def used_categories(memories: Iterable[Brief], preset: Preset) -> list[str]:
    """The categories that are in use, in their order."""
    used = set(map(attrgetter("category"), memories))
    return [name for name in categories([], preset) if name in used] + sorted(
        name for name in used if name and name not in preset.categories
    )


def group_by_category(memories: Sequence[One], preset: Preset) -> list[MemoryGroup[One]]:
    """The memories by category, in the order of the preset; those without a category come last."""
    heaps: dict[str | None, list[One]] = {}
    for memory in memories:
        heaps.setdefault(memory.category, []).append(memory)
    order = [*categories(memories, preset), None]
    return [MemoryGroup(group_name(name, preset), heaps[name]) for name in order if name in heaps]


def page_of_groups(
    groups: Sequence[MemoryGroup[Brief]], asked: int, editing: str
) -> tuple[int, int, list[MemoryGroup[Brief]]]:
    """The number of the page (the asked one, or that of the memory being edited), the number of pages, and the groups
    on it."""
    places = [(group, memory) for group in groups for memory in group.rows]
    pages = max(-(-len(places) // ROWS), 1)
    page = min(max(asked, 1), pages)
    if editing:
        page = next((nth // ROWS + 1 for nth, (_, memory) in enumerate(places) if memory.id == editing), page)
    shown: list[MemoryGroup[Brief]] = []
    for group, memory in places[(page - 1) * ROWS : page * ROWS]:
        if not shown or shown[-1].name != group.name:
            shown.append(MemoryGroup(group.name))
        shown[-1].rows.append(memory)
    return page, pages, shown


def groups_with_memories(book: Book, groups: Sequence[MemoryGroup[Brief]]) -> list[MemoryGroup[Memory]]:
    """The groups with whole memories in place of the brief ones."""
    whole = iter(in_full(book, [memory.id for group in groups for memory in group.rows]))
    return [MemoryGroup(group.name, [next(whole) for _ in group.rows]) for group in groups]


def teller_of(
    visit: Visit,
    memories: Sequence[Memory],
    asked: Sequence[review.ReviewQuestion] = (),
    waiting: Sequence[Proposal] = (),
) -> Teller:
    threads = [memory.thread_id for memory in memories] + [one.thread_id for one in waiting]
    threads += [one.proposal.thread_id for one in asked if one.proposal]
    every = [memory for one in asked for memory in (one.memory, one.against)]
    threads += [memory.thread_id for memory in every if memory]
    chats = chats_named(visit.book, [id for id in threads if id])
    on = visit.book.choices.memory
    return Teller(visit.book.preset(), overview(visit.book), chats, visit.zone, visit.now, on)


# What was just done, and how to undo it


@dataclass(frozen=True, slots=True)
class Many:
    """Several writes at once: words for them, and their ledger entries as `first-last`."""

    words: str
    events: str
    redo: bool


def done_to_many(visit: Visit) -> Many | None:
    events = visit.request.query_params.get("events", "")
    entries = entries_named(visit.book, events)
    if not entries:
        return None
    count = len({entry.memory_id for entry in entries})
    words = f"{count} {'line' if count == 1 else 'lines'} {DONE.get(entries[0].action, 'changed')}."
    return Many(words, events, entries[0].action == "undo")


@dataclass(frozen=True, slots=True)
class AnsweredProposal:
    """A question that was just answered: what the answer did, and the entries that it wrote."""

    id: str
    words: str
    events: str


def answered_proposal(visit: Visit) -> AnsweredProposal | None:
    query = visit.request.query_params
    id = query.get("answered", "")[:20]
    if not id:
        return None
    try:
        status = visit.book.proposals.get(id).status
    except KeepbookError:
        return None
    if status not in ("accepted", "declined"):
        return None
    events = query.get("events", "")[:30]
    told = answer_told(visit.book, id, entries_named(visit.book, events))
    return AnsweredProposal(id, " ".join(filter(None, told)), events)
