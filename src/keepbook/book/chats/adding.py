"""Adds turns to a chat: the rows, the state of the chat, and the words by which they are found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import insert

from keepbook.book.chats.threads import (
    MESSAGE_LIMIT,
    ROLES,
    Message,
    Thread,
    estimate,
    get_thread,
    refuse_trash,
    to_message,
)
from keepbook.book.ground import due
from keepbook.book.ground.limits import clean_json, clean_optional, clean_text
from keepbook.book.ground.when import later, stamp
from keepbook.book.owners.allowance import room_for_text
from keepbook.book.owners.switches import is_memory_on
from keepbook.book.text.indexes.turn_index import INDEXED, TurnWords
from keepbook.book.text.indexes.words_behind import index_turns
from keepbook.errors import Invalid
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns
from keepbook.storage.tables.chats import messages, threads


class ModelUse(NamedTuple):
    """The model that made a reply, and its tokens as the model counted them, if it did."""

    model: str
    tokens_in: int | None
    tokens_out: int | None


@dataclass(frozen=True, slots=True)
class ComingTurn:
    """A turn that is about to be stored; the fields are those of `Message`. `words` are its index terms, if they were
    computed before."""

    role: str
    text: str
    at: str
    speaker: str | None = None
    hidden: str | None = None
    parts: Any = None
    made: ModelUse | None = None
    instead_of: int | None = None
    broke_off: str | None = None
    recorded_by: str | None = None
    words: TurnWords | None = None
    is_from_elsewhere: bool = False
    """Whether it was said long ago in another program, and the person brings it in."""


# Rules


def clean_turn(role: str, text: str) -> str:
    if role not in ROLES:
        raise Invalid(f"role is one of {', '.join(ROLES)}, not {role!r}", field="role")
    return clean_text(text, "text", MESSAGE_LIMIT)


# Operations


def announce_turn(tx: Tx, thread_id: str, turn: int, role: str, text: str) -> None:
    """Announce a turn that this transaction will store by `add_message`, so that lines may quote it before."""
    tx.coming[thread_id, turn] = (role, clean_text(text, "text", MESSAGE_LIMIT))


def add_message(
    tx: Tx, thread_id: str, role: str, text: str, at: str, *, close_after_hours: float = 6.0, **more: Any
) -> Message:
    """Add a message to a chat, with `more` of what a `ComingTurn` has."""
    (added,) = add_messages(tx, thread_id, [ComingTurn(role, text, at, **more)], close_after_hours=close_after_hours)
    return added


def add_messages(
    tx: Tx, thread_id: str, coming: Sequence[ComingTurn], *, close_after_hours: float = 6.0
) -> list[Message]:
    """Add messages to a chat, in this order. A closed chat is opened again."""
    texts = [clean_turn(one.role, one.text) for one in coming]
    thread = get_thread(tx, thread_id)
    refuse_trash(thread)
    is_off = not is_memory_on(tx)
    rows = [
        _row(tx, thread_id, thread.turns + nth, one, text) | _unkept(is_off and not one.is_from_elsewhere)
        for nth, (one, text) in enumerate(zip(coming, texts, strict=True), 1)
    ]
    if not rows:
        return []
    room_for_text(tx, sum(map(len, texts)))
    _SAY.run_many(tx.conn, rows)
    touched = max(row["at"] for row in rows)
    if thread.turns:
        touched = max(touched, stamp(thread.touched_at))
    _touch(tx, thread, rows, touched)
    if not thread.incognito:
        words = {row["turn"]: one.words for row, one in zip(rows, coming, strict=True) if one.words is not None}
        found_again = [row for row in rows if row["role"] in INDEXED and not row["unkept"]]
        index_turns(tx, thread_id, found_again, words)
    due.cancel(tx, due.ARCHIVE, thread_id)
    due.remind(tx, due.CLOSE, thread_id, later(touched, hours=close_after_hours))
    return list(map(to_message, rows))


def _row(tx: Tx, thread_id: str, turn: int, one: ComingTurn, text: str) -> dict[str, Any]:
    if tx.coming.pop((thread_id, turn), (one.role, text)) != (one.role, text):
        raise Invalid("the turn that is stored is not the one that was quoted from", field="text")
    return {
        "owner": tx.owner, "thread_id": thread_id, "turn": turn, "role": one.role,
        "speaker": clean_optional(one.speaker, "speaker", 200), "text": text, "at": one.at, "tokens": estimate(text),
        "hidden": clean_text(one.hidden, "hidden", MESSAGE_LIMIT) if one.hidden else None,
        "parts": clean_json(one.parts, "parts") if one.parts else None, "instead_of": one.instead_of,
        "broke_off": one.broke_off, "recorded_by": one.recorded_by,
        **dict(zip(ModelUse._fields, one.made or (None, None, None), strict=True)),
    }  # fmt: skip


def _unkept(is_so: bool) -> dict[str, int | None]:
    if is_so:
        return {"unkept": 1}
    return {"unkept": None}


def _touch(tx: Tx, thread: Thread, rows: Sequence[dict[str, Any]], touched: str) -> None:
    changed: dict[str, Any] = {"turns": rows[-1]["turn"], "state": "active", "touched_at": touched}
    replaced = [row["instead_of"] for row in rows if row["instead_of"] is not None]
    if replaced and min(replaced) <= thread.compressed_through:  # the compressed summary has turns that are replaced
        changed |= {"compressed_through": 0, "compressed": None}
    here = {"owner": tx.owner, "id": thread.id}
    set_columns(tx.conn, threads, here, {"failures": 0, "failure": None, **changed})


_SAY = PreparedStatement(insert(messages), messages.c.keys())
