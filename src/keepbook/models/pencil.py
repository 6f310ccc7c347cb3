"""The pencil lines of an open chat, from the local reader whatever model closes it."""

from keepbook.book.book import Book
from keepbook.book.chats.pencil import Pencil, key_of
from keepbook.book.chats.threads import standing
from keepbook.book.ground.opened import Opened
from keepbook.models.lines.people import with_relation
from keepbook.models.model import Known
from keepbook.models.noted import Noted, reader
from keepbook.models.offline.extraction import SURE, tied
from keepbook.models.orders.obey import as_said, at_hand


def pencil(opened: Opened, thread_id: str) -> list[Pencil]:
    """What closing would keep or propose of this chat; empty where it is closed, incognito, or memory is off."""
    book = Book.of(opened)
    chat = book.threads.get(thread_id)
    if chat.thread.state != "active" or chat.thread.deleted_at is not None:
        return []
    known, noted = at_hand(book, chat)
    said = as_said(standing(chat.messages()))
    at = {one.turn: number for number, one in enumerate(said)}
    read = reader()
    found = []
    for one in noted:
        how, target, likely = tied(known, one, said, read, at[one.place.turn])
        if how != "repeats" or target is None:
            found.append(_line(one, target, likely))
    return found


def _line(one: Noted, target: Known | None, likely: float) -> Pencil:
    """As sure as closing will be of it."""
    key = key_of(one.place.turn, one.content)
    sure = one.sure and (target is None or (not target.protected and likely >= SURE))
    content = one.content if target is None else with_relation(one.content, target.content)
    return Pencil(
        key, one.place.turn, content, one.category, "update" if target else "add", target.id if target else None,
        one.score, sure,
    )  # fmt: skip
