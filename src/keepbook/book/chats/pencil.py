"""Pencil: lines of an open chat that are not kept yet, shown beside the turn that said them, with No and Keep now.

Without a model these are the offered lines; with a model, what closing would keep, read from the turns each time. The
person's answer is stored. A No is a declined proposal, which closing respects whatever model reads the chat; a Keep is
written at once, as the person's word.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals, quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import Written
from keepbook.book.text.quotation import spans_of
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
    spans: tuple[tuple[int | str, ...], ...] = ()
    """For a quotation, the stretches of the chat it is made of."""
    proposal: str | None = None
    """The id of the proposal that offers it; None if there is none."""


@dataclass(frozen=True, slots=True)
class DeclinedLine:
    """A line that the person said No to while the chat was open; `key` is its pencil key."""

    id: str
    key: str
    turn_id: int
    content: str
    at: datetime


# Rules


def pencil_key(turn: int, content: str) -> str:
    """The key of a pencil line, the same for as long as its turn stands."""
    return f"{turn}-{zlib.crc32(content.lower().encode()):08x}"


def of_key(lines: Sequence[Pencil], key: str) -> Pencil:
    found = next((one for one in lines if one.key == key), None)
    if found is None:
        raise NotFound(f"there is no pencil line {key!r} in this chat (any more)", field="key")
    return found


# Operations


def decline_pencil(tx: Tx, thread_id: str, one: Pencil) -> Pencil:
    """Record the person's No: the line is not kept from this chat, and not proposed again."""
    if one.proposal is not None:
        proposals.decline_proposal(tx, one.proposal, stamp(tx.clock()))
        return one
    turns = (str(one.turn_id),)
    proposals.note_declined(tx, stamp(tx.clock()), one.content, thread_id=thread_id, turn_ids=turns)
    return one


def take_back_decline(tx: Tx, thread_id: str, key: str) -> DeclinedLine:
    """Take back the person's No: the line stands in pencil again."""
    found = next((one for one in declined_lines(tx, thread_id) if one.key == key), None)
    if found is None:
        raise NotFound(f"no pencil line {key!r} of this chat was left out", field="key")
    now = stamp(tx.clock())
    if proposals.get_proposal(tx, found.id).question is None:
        proposals.take_back_proposal_no(tx, found.id, now)
    else:  # it was asked, and is asked again
        proposals.reopen_proposal(tx, found.id, now)
    return found


def keep_pencil(tx: Tx, origin: Origin, preset: Preset, thread_id: str, one: Pencil, *, both: bool = False) -> Written:
    """Write a pencil line now, as the person's; with `both` beside the line that it would have changed."""
    said = replace(origin, actor="person", thread_id=thread_id, source="chat")
    if one.proposal is not None:
        return proposals.accept(tx, said, preset, one.proposal, stamp(tx.clock()), both=both)
    category = None
    if not preset.categories or one.category in preset.categories:
        category = one.category
    new = one.op != "update" or one.target is None or both
    words = Statement(one.content, category=category if new else None, turn_ids=(str(one.turn_id),), force=True)
    if one.spans and new:
        return quotes.quote(tx, said, preset, words, thread_id, spans_of(one.spans))
    if one.spans and one.target is not None:
        return quotes.requote(tx, said, preset, one.target, spans_of(one.spans), thread_id=thread_id)
    if new or one.target is None:
        return changes.remember(tx, said, preset, words)
    return changes.update(tx, said, preset, one.target, words)


# Queries


def declined_lines(tx: Tx, thread_id: str) -> list[DeclinedLine]:
    """The lines of a chat that the person declined, each with its turn."""
    refused = proposals.list_proposals(tx, status="declined", thread_id=thread_id)
    found = [one for one in refused if one.question not in ("over", "which")]  # a no to these declines no line
    turns = ((one, int(one.turn_ids[0])) for one in found if len(one.turn_ids) == 1 and one.turn_ids[0].isdecimal())
    return [
        DeclinedLine(one.id, pencil_key(turn, one.content), turn, one.content, one.decided_at or one.created_at)
        for one, turn in turns
    ]
