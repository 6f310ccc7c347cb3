"""Notes: replies that a person bookmarked. They are never injected and outlive the chat."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from keepbook.book.chats.threads import MESSAGE_LIMIT
from keepbook.book.ground.idempotency import forget_answers
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_text, clean_whole
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.text.words import fold_text
from keepbook.errors import Invalid, NotFound
from keepbook.storage.database import Tx
from keepbook.storage.tables.chats import messages, notes


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note; `thread_id` and `turn` lead back to where it was said, while that is there."""

    id: str
    text: str
    thread_id: str | None
    turn: int | None
    created_at: datetime
    updated_at: datetime


# Rules


def clean_note(text: object) -> str:
    cleaned = clean_text(text, "text", MESSAGE_LIMIT).strip()
    if not cleaned:
        raise Invalid("a note needs a text", field="text")
    return cleaned


# Operations


def write_note(tx: Tx, now: str, text: str, *, thread_id: str | None = None, turn: int | None = None) -> Note:
    text = clean_note(text)
    row = {"owner": tx.owner, "id": new_id(), "text": text, "thread_id": thread_id, "turn": turn}
    tx.conn.execute(insert(notes), row | {"created_at": now, "updated_at": now})
    return get_note(tx, str(row["id"]))


def bookmark(tx: Tx, now: str, thread_id: str, turn: int) -> Note:
    """Store the text of a turn as a note. The same turn again returns the note that exists."""
    clean_whole(turn, "turn", 0)
    there = select(notes).where(notes.c.owner == tx.owner, notes.c.thread_id == thread_id, notes.c.turn == turn)
    row = tx.conn.execute(there).first()
    if row is not None:
        return _to_note(row)
    return write_note(tx, now, get_text(tx, thread_id, turn), thread_id=thread_id, turn=turn)


def edit(tx: Tx, now: str, id: str, text: str) -> Note:
    get_note(tx, id)
    changed = update(notes).where(notes.c.owner == tx.owner, notes.c.id == id)
    tx.conn.execute(changed.values(text=clean_note(text), updated_at=now))
    return get_note(tx, id)


def delete_note(tx: Tx, id: str) -> Note:
    note = get_note(tx, id)
    tx.conn.execute(delete(notes).where(notes.c.owner == tx.owner, notes.c.id == id))
    forget_answers(tx)
    tx.compact = True
    return note


def restore_note(tx: Tx, note: Note) -> Note:
    """Store a removed note again. It points to its turn only if the turn still exists."""
    said = select(messages.c.turn).where(
        messages.c.owner == tx.owner, messages.c.thread_id == note.thread_id, messages.c.turn == note.turn
    )
    thread_id = turn = None
    if note.turn is not None and tx.conn.execute(said).first() is not None:
        thread_id, turn = note.thread_id, note.turn
    row = {
        "owner": tx.owner, "id": new_id(), "text": clean_note(note.text),
        "thread_id": thread_id, "turn": turn,
        "created_at": stamp(note.created_at), "updated_at": stamp(note.updated_at),
    }  # fmt: skip
    tx.conn.execute(insert(notes), row)
    return get_note(tx, str(row["id"]))


# Queries


def get_text(tx: Tx, thread_id: str, turn: int) -> str:
    """What was said at a turn, as a note would keep it."""
    query = select(messages.c.text).where(
        messages.c.owner == tx.owner, messages.c.thread_id == thread_id, messages.c.turn == clean_whole(turn, "turn", 0)
    )
    text = tx.conn.execute(query).scalar()
    if text is None:
        raise NotFound(f"chat {thread_id!r} has no turn {turn}", field="turn")
    return clean_note(text)


def get_note(tx: Tx, id: str) -> Note:
    row = tx.conn.execute(select(notes).where(notes.c.owner == tx.owner, notes.c.id == id)).first()
    if row is None:
        raise NotFound(f"there is no note {id!r} in this journal", field="note")
    return _to_note(row)


def list_notes(tx: Tx, query: str | None = None) -> Sequence[Note]:
    """The notes, newest first; with a query those that contain it."""
    rows = tx.conn.execute(
        select(notes).where(notes.c.owner == tx.owner).order_by(notes.c.created_at.desc(), notes.c.id)
    )
    found = [_to_note(row) for row in rows]
    if not query:
        return found
    return [note for note in found if fold_text(query) in fold_text(note.text)]


def _to_note(row: Any) -> Note:
    return Note(
        id=row.id, text=row.text, thread_id=row.thread_id, turn=row.turn,
        created_at=parse_stamp(row.created_at), updated_at=parse_stamp(row.updated_at),
    )  # fmt: skip
