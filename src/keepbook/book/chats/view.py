"""What a page shows of a chat beside its messages: the block it was given, what was left out of it by the person, and
when its closing is tried again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepbook.book.chats import pencil
from keepbook.book.chats.face import Chat
from keepbook.book.chats.in_view import in_view
from keepbook.book.chats.pencil import DeclinedLine
from keepbook.book.chats.threads import Message, Thread, current_messages, estimate, unkept_turns
from keepbook.book.ground import due
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import parse_stamp
from keepbook.book.memory import injections
from keepbook.book.memory.block import Fate
from keepbook.book.text.block_lines import BlockLine
from keepbook.presets import Preset
from keepbook.storage.database import Tx


@dataclass(frozen=True, slots=True)
class ChatBlock:
    """A block with the time it was rendered; it stays the same for as long as its chat lasts."""

    at: datetime
    text: str
    lines: tuple[BlockLine, ...]

    @property
    def tokens(self) -> int:
        return estimate(self.text)


@dataclass(frozen=True, slots=True)
class GivenBlock:
    """The text of the block that a chat was given, also an empty one; None where it was erased."""

    at: datetime
    block: str | None


# Operations


def kept_in_view(chat: Chat) -> Sequence[Message]:
    """The messages that stand, that a model may be sent, and that were not said while memory was off."""
    with chat.book.reading() as (tx, _, _):
        unkept = unkept_turns(tx, chat.id)
    stands = in_view(current_messages(chat.messages()), chat.thread.out_of_view)
    return [one for one in stands if one.turn not in unkept]


def take_back_pencil_no(book: OpenBook, thread_id: str, key: str) -> DeclinedLine:
    """Put a pencil line that was declined back in pencil."""
    book.ask("proposals.answer")
    with book.writing() as (tx, _):
        return pencil.take_back_decline(tx, thread_id, key)


# Queries


def declined_pencil_lines(book: OpenBook, thread: Thread) -> Sequence[DeclinedLine]:
    """The pencil lines of a chat that the person said No to."""
    with book.reading() as (tx, _, _):
        return pencil.declined_lines(tx, thread.id)


def chat_block(book: OpenBook, thread: Thread) -> ChatBlock | None:
    """The block a chat was given. None if it was given none, or if the block was erased since."""
    with book.reading() as (tx, _, _):
        kept = _injection_of(tx, thread)
    if kept is None or not kept.block:
        return None
    return ChatBlock(parse_stamp(kept.at), *injections.injection_of(kept))


def given_block(book: OpenBook, thread: Thread) -> GivenBlock | None:
    """What a chat was given of the book. None if no model has answered in it, or memory was off or not wanted there."""
    with book.reading() as (tx, _, _):
        kept = _injection_of(tx, thread)
    if kept is None:
        return None
    return GivenBlock(parse_stamp(kept.at), kept.block)


def left_out_of_block(book: OpenBook, thread: Thread, preset: Preset) -> Mapping[Fate, Sequence[str]]:
    """The memories that the block of a chat left out, by why: as the book stood then, rendered again."""
    with book.reading() as (tx, _, _):
        kept = _injection_of(tx, thread)
        if kept is None or not kept.block:
            return {}
        fates = injections.replay(tx, lambda _: preset, kept.session, space=kept.space).fates
    found: dict[Fate, list[str]] = {}
    for id, fate in fates.items():
        if fate.place != "in_block":
            found.setdefault(fate, []).append(id)
    return found


def block_of(tx: Tx, thread: Thread) -> tuple[BlockLine, ...]:
    """The lines of the block this chat was given, if it was given one."""
    kept = _injection_of(tx, thread)
    if kept is None:
        return ()
    return injections.injection_of(kept).lines


def _injection_of(tx: Tx, thread: Thread) -> Any:
    session, space = injections.key_of_chat(tx, thread.id, thread.session, thread.preset, thread.agent)
    kept = injections.find_injection(tx, session, space)
    if kept is None and thread.session is not None:
        return injections.find_injection(tx, thread.session)
    return kept


def tried_again_at(book: OpenBook, thread: Thread) -> datetime | None:
    """When a sweep will look at an open chat again."""
    with book.reading() as (tx, _, _):
        at = due.reminded_at(tx, due.CLOSE, thread.id)
    if at is None:
        return None
    return parse_stamp(at)
