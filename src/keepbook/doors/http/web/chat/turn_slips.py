"""The slip under a turn: what it changed in the book, what of that still holds, and its undo.

A slip is made from the entry in the ledger and the two wordings around it, so it says the same after a reload, in
another tab, and after somebody else has undone it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keepbook.book.book import Book, MemoryDetail
from keepbook.book.chats.threads import Message
from keepbook.book.ledger.ledger import Entry
from keepbook.book.text.quotation import Saying, shown_text
from keepbook.errors import NotFound
from keepbook.models.compress import ORDER
from keepbook.models.notebook.values import from_parts

KINDS = {"remember": "New", "update": "Changed", "end": "Ended", "forget": "Archived", "delete": "Deleted",
         "restore": "Restored", "confirm": "Confirmed", "promote": "Promoted", "demote": "Demoted"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A line in which one word was exchanged: what stands around it, the new word and the old."""

    before: str
    new: str
    after: str
    old: str


@dataclass(frozen=True, slots=True)
class Slip:
    """One write. `undone` says that it was undone; `touched` is the newer entry on the same thing."""

    event: int
    kind: str
    memory_id: str
    before: str | None
    after: str | None
    category: str | None
    versions: tuple[int, int] | None
    valid_until: datetime | None
    turn: int | None = None
    """The turn of the person, in the chat `thread_id`, if the change rests on that turn alone."""
    thread_id: str | None = None
    by_person: bool = False
    undone: bool = False
    touched: Entry | None = None
    in_book: bool = True
    """Whether the book says the memory now, in whichever words."""
    is_current: bool = True
    """Whether the book says it in the words of this write still."""
    exchanged: Exchanged | None = None
    newest: int = 0
    """The entry to take back next: itself, the one that took it back, or the one that put it back."""

    @property
    def open(self) -> bool:
        return not self.undone and self.touched is None

    @property
    def can_be_redone(self) -> bool:
        return self.undone and self.touched is None

    @property
    def took_out(self) -> bool:
        return self.kind in ("Archived", "Deleted")

    @property
    def stands(self) -> bool:
        """Whether what it did still holds; for a new line, whether the book still has it."""
        return not self.undone and (self.took_out or self.in_book)


def events_of(message: Message) -> list[int]:
    """The ledger entries that the tools of a reply wrote, or that a turn of the person did by itself."""
    if message.role == "user":
        return [deed.event for deed in from_parts(message.parts) if deed.event]
    calls = [part for part in message.calls if part["name"] != ORDER]  # what its turn did stands under that
    told = (part.get("memory_event") for part in calls)
    return [event["event"] for event in told if event and event.get("event") and event.get("op") in KINDS]


def by_event(book: Book, events: Iterable[tuple[int, str]]) -> dict[int, Slip]:
    """Slips of (event, memory id) pairs; each memory is read once."""
    wanted: dict[str, list[int]] = {}
    for event, memory_id in events:
        wanted.setdefault(memory_id, []).append(event)
    found: dict[int, Slip] = {}
    for memory_id, numbers in wanted.items():
        entries = book.ledger(memory=memory_id, limit=None)
        try:
            memory = book.get(memory_id)
        except NotFound:  # deleted for good: there is nothing left to show or undo
            continue
        found |= {entry.event: _slip(entry, entries, memory) for entry in entries if entry.event in numbers}
    return found


def _slip(entry: Entry, entries: Sequence[Entry], memory: MemoryDetail) -> Slip:
    texts = {version.version: version for version in memory.versions}
    before, after = (state["version"] if state else None for state in (entry.before, entry.after))
    old, new = texts.get(before or 0), texts.get(after or 0)
    later = (other for other in entries if other.event > entry.event and other.memory_id == entry.memory_id)
    newer = [other for other in later if other.link_id is None]  # a link stands beside a memory, not on what it says
    undone, chain = is_taken_back(entry.event, newer), _undo_chain(entry.event, newer)
    others = [other for other in newer if other.event not in chain]
    versions = None
    if before and after and before != after:
        versions = before, after
    valid_until = None
    if new:
        valid_until = new.valid_until
    turn = None
    if new and len(new.turn_ids) == 1 and new.turn_ids[0].isdecimal():
        turn = int(new.turn_ids[0])
    thread_id = None
    if new:
        thread_id = new.thread_id
    exchanged = None
    if old and new:
        exchanged = _exchanged_word(old, new)
    return Slip(
        event=entry.event,
        kind=KINDS.get(entry.action, entry.action.capitalize()),
        memory_id=memory.id,
        before=shown_text(old) or None if old else None,
        after=shown_text(new) or None if new else None,
        category=memory.category,
        versions=versions,
        valid_until=valid_until,
        turn=turn,
        thread_id=thread_id,
        by_person=entry.actor == "person",
        undone=undone,
        touched=max(others, key=lambda other: other.event, default=None),
        in_book=memory.state == "active",
        is_current=after is None or memory.version == after,
        newest=chain[-1],
        exchanged=exchanged,
    )


def _exchanged_word(old: Saying, new: Saying) -> Exchanged | None:
    """The one word in brackets by which a line differs from what it said before."""
    was, now = shown_text(old), shown_text(new)
    if now.count("[") != 1:
        return None
    opening, _, rest = now.partition("[")
    word, _, ending = rest.partition("]")
    fits = was.startswith(opening) and was.endswith(ending) and len(was) > len(opening) + len(ending)
    if fits:
        return Exchanged(opening, word, ending, was[len(opening) : len(was) - len(ending)])
    return None


def _undo_chain(event: int, newer: Sequence[Entry]) -> list[int]:
    """An entry, what took it back, what took that back, and so on."""
    chain = [event]
    for other in sorted(newer, key=lambda other: other.event):
        if other.undoes == chain[-1]:
            chain.append(other.event)
    return chain


def is_taken_back(event: int, entries: Sequence[Entry]) -> bool:
    """Whether an entry is undone as things stand: an undo that was undone itself does not count."""
    return any(other.undoes == event and not is_taken_back(other.event, entries) for other in entries)
