"""What a form has written, named in the next page's address, so that one Undo takes all of it back.

Entries of one transaction have numbers in a row: `first-last` names them.
"""

from collections.abc import Callable, Sequence

from keepbook.book.book import Book
from keepbook.book.ledger.ledger import Entry
from keepbook.errors import Conflict, KeepbookError

MOST_AT_ONCE = 5_000
"""So many writes have one Undo."""


def entries_written(book: Book, act: Callable[[], object]) -> list[Entry]:
    """The ledger entries that this act writes, the newest first."""
    newest = book.ledger(limit=1)
    before = 0
    if newest:
        before = newest[0].event
    act()
    return list(book.ledger(after=before, limit=None))


def name_events(events: Sequence[int]) -> str | None:
    """The numbers of these entries in an address; None if there are none."""
    if events:
        return f"{min(events)}-{max(events)}"
    return None


def read_events(text: str) -> tuple[int, int]:
    """The first and the last number that an address names."""
    first, _, last = text.partition("-")
    known = first.isascii() and first.isdecimal() and last.isascii() and last.isdecimal()
    if not (known and len(text) < 24 and 0 < int(first) <= int(last) < int(first) + MOST_AT_ONCE):
        raise Conflict("these entries cannot be taken back together; undo them one by one")
    return int(first), int(last)


def entries_named(book: Book, events: str) -> list[Entry]:
    """The entries that an address names, the newest first; none if it names none."""
    try:
        first, last = read_events(events)
    except KeepbookError:
        return []
    return list(book.ledger(after=first - 1, before=last + 1, limit=None))


def undo_events(book: Book, events: str) -> list[int | None]:
    """Take back the entries that an address names, in one transaction. Returns the entries of that."""
    first, last = read_events(events)
    with book.transaction():
        return [book.undo(event).event for event in range(last, first - 1, -1)]
