"""Pencil: what closing would keep of an open chat, shown beside the turn that said it, with No and Keep now.

It is read from the turns each time and stored nowhere. Only the person's word on it is: a No is a declined fact, which
closing heeds whatever model reads the chat; a Keep is written at once, as the person.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import Written
from keepbook.errors import NotFound
from keepbook.presets import Preset
from keepbook.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Pencil:
    """One line in pencil. `key` stays while its turn stands; `op` is add or update (of `target`); `sure` says that
    closing would keep it, else it would be proposed."""

    key: str
    turn_id: int
    content: str
    category: str | None
    op: str
    target: str | None
    score: float
    sure: bool


@dataclass(frozen=True, slots=True)
class Declined:
    """A line that the person said No to while the chat was open; `key` is the one it had."""

    id: str
    key: str
    turn_id: int
    content: str
    at: datetime


# Rules


def key_of(turn: int, content: str) -> str:
    """Names a line for as long as its turn stands."""
    return f"{turn}-{zlib.crc32(content.lower().encode()):08x}"


def of_key(lines: Sequence[Pencil], key: str) -> Pencil:
    found = next((one for one in lines if one.key == key), None)
    if found is None:
        raise NotFound(f"there is no pencil line {key!r} in this chat (any more)", field="key")
    return found


# Operations


def decline(tx: Tx, thread_id: str, one: Pencil) -> Pencil:
    """The person says no: it is not kept from this chat, and not proposed again."""
    turns = (str(one.turn_id),)
    proposals.note_declined(tx, stamp(tx.clock()), one.content, thread_id=thread_id, turn_ids=turns)
    return one


def take_back(tx: Tx, thread_id: str, key: str) -> Declined:
    """The person takes a No back: the line stands in pencil again."""
    found = next((one for one in declined(tx, thread_id) if one.key == key), None)
    if found is None:
        raise NotFound(f"no pencil line {key!r} of this chat was left out", field="key")
    proposals.take_back_no(tx, found.id, stamp(tx.clock()))
    return found


def keep(tx: Tx, origin: Origin, preset: Preset, thread_id: str, one: Pencil, *, both: bool = False) -> Written:
    """The person says yes: written now, as theirs; with `both` beside the line that it would have changed."""
    said = replace(origin, actor="person", thread_id=thread_id, source="chat")
    turns = (str(one.turn_id),)
    if one.op == "update" and one.target is not None and not both:
        return changes.update(tx, said, preset, one.target, Statement(one.content, turn_ids=turns))
    category = one.category if not preset.categories or one.category in preset.categories else None
    return changes.remember(tx, said, preset, Statement(one.content, category=category, turn_ids=turns, force=True))


# Queries


def declined(tx: Tx, thread_id: str) -> list[Declined]:
    """What the person left out of a chat, line by line; what was declined elsewhere names no turn of it."""
    found = proposals.listed(tx, status="declined", thread_id=thread_id)
    turns = ((one, int(one.turn_ids[0])) for one in found if len(one.turn_ids) == 1 and one.turn_ids[0].isdecimal())
    return [
        Declined(one.id, key_of(turn, one.content), turn, one.content, one.decided_at or one.created_at)
        for one, turn in turns
    ]
