"""What the answers to questions wrote, for the slips beside the turns that asked.

An answer by button is no turn of the chat, and a line that it ends or changes may come from another chat; the ledger
says what was written when the question was decided.
"""

from collections.abc import Iterable, Sequence

from keepbook.book.book import Book
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory.proposals import Proposal


def answered_events(book: Book, thread_id: str, entries: Sequence[Entry], known: set[int]) -> dict[int, list[int]]:
    """The ledger entries that answers to a turn's questions wrote, by turn, without those `known` to be the turn's
    own."""
    found: dict[int, list[int]] = {}
    for one in book.proposals.list("accepted"):
        if one.thread_id != thread_id or one.decided_at is None or not (one.turn_ids and one.turn_ids[-1].isdecimal()):
            continue
        events = [event for event in _events(one, entries) if event not in known]
        found.setdefault(int(one.turn_ids[-1]), []).extend(events)
    return {turn: events for turn, events in found.items() if events}


def _events(one: Proposal, entries: Iterable[Entry]) -> list[int]:
    """The first entry of each line that a question was about, since it was decided."""
    meant = {one.memory_id, *(choice.memory_id for choice in one.choices)} - {None}
    first: dict[str, int] = {}
    for entry in sorted(entries, key=lambda entry: entry.event):
        decided = one.decided_at is not None and entry.at >= one.decided_at
        if decided and entry.memory_id in meant and entry.memory_id is not None:
            first.setdefault(entry.memory_id, entry.event)
    return list(first.values())
