"""What a page shows of a chat beside its messages: the block it was given, what was left out of it by the person, and
when its closing is tried again."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepbook.book.chats import pencil
from keepbook.book.chats.pencil import Declined
from keepbook.book.chats.threads import Thread, estimate
from keepbook.book.ground import due
from keepbook.book.ground.opened import Opened
from keepbook.book.ground.when import parse_stamp
from keepbook.book.memory import injections
from keepbook.book.text.block_lines import Line
from keepbook.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Given:
    """A block with the moment it was rendered at; it stays the same for as long as its chat lasts."""

    at: datetime
    text: str
    lines: tuple[Line, ...]

    @property
    def tokens(self) -> int:
        return estimate(self.text)


# Operations


def take_back_no(book: Opened, thread_id: str, key: str) -> Declined:
    """A pencil line that was left out stands in pencil again."""
    book.ask("proposals.answer")
    with book.writing() as (tx, _):
        return pencil.take_back(tx, thread_id, key)


# Queries


def left_out(book: Opened, thread: Thread) -> Sequence[Declined]:
    """The pencil lines of a chat that the person said No to."""
    with book.reading() as (tx, _, _):
        return pencil.declined(tx, thread.id)


def given(book: Opened, thread: Thread) -> Given | None:
    """The block a chat was given, if it was given one that was not erased since."""
    with book.reading() as (tx, _, _):
        kept = _injected(tx, thread)
    return None if kept is None or not kept.block else Given(parse_stamp(kept.at), *injections.given_by(kept))


def block_of(tx: Tx, thread: Thread) -> tuple[Line, ...]:
    """The lines of the block this chat was given, if it was given one."""
    kept = _injected(tx, thread)
    return () if kept is None else injections.given_by(kept).lines


def _injected(tx: Tx, thread: Thread) -> Any:
    space, session = (injections.CHAT, thread.id) if thread.session is None else (injections.OUTSIDE, thread.session)
    return injections.stored(tx, session, space)


def tried_again_at(book: Opened, thread: Thread) -> datetime | None:
    """When a sweep looks at an open chat again."""
    with book.reading() as (tx, _, _):
        at = due.reminded_at(tx, due.CLOSE, thread.id)
    return None if at is None else parse_stamp(at)
