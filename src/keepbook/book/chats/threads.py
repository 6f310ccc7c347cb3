"""Chats: threads of messages, stored whole, and how they are closed.

A thread is active, idle (closed, recent) or archived, and apart from that may lie in the trash. Closing reads only what
came after the watermark, under a lease, so that two closers read once and a crashed one is taken over. Compression
changes what a model is sent, never what is stored here.
"""

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Integer, bindparam, insert, select

from keepbook.book.chats.in_view import in_view
from keepbook.book.ground import due, stored_json
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import TRASH_DAYS, clean_line, clean_optional, clean_whole, sought
from keepbook.book.ground.when import later, parse_stamp, stamp
from keepbook.book.owners import switches
from keepbook.book.owners.allowance import room_for_chat
from keepbook.book.owners.choices import get_choices
from keepbook.errors import Conflict, NotAllowed, NotFound
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns
from keepbook.storage.tables.chats import IS_GOING, messages, threads

ARCHIVE_DAYS = 30  # after which an idle chat is archived
MOST_FAILURES = 5  # of closing a chat, after which it is parked
ROLES = ("user", "assistant", "tool", "system")
MESSAGE_LIMIT = 200_000  # characters
TITLE_LIMIT = 120  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn. `hidden` is sent to the model and shown nowhere; `parts` holds tool calls and their answers. `model` is
    the model that made a reply, `tokens_in` and `tokens_out` what it used. The turn replaces those from `instead_of` up
    to itself. If a reply is incomplete, `broke_off` says why: stopped by the person, left by the listener, failed by
    its model. `recorded_by` names the agent or program that recorded it, whatever its role; None if it was said or
    answered in one of our own chats."""

    turn: int
    role: str
    speaker: str | None
    text: str
    at: datetime
    tokens: int
    hidden: str | None = None
    parts: Any = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    instead_of: int | None = None
    broke_off: str | None = None
    recorded_by: str | None = None

    @property
    def recorders(self) -> tuple[str, ...]:
        """Names of others than the person and our own model whose words it has: who recorded it, or passages that it
        looked up."""
        if self.recorded_by is not None:
            return (self.recorded_by,)
        return tuple(name for call in self.calls for name in call.get("others", ()))

    @property
    def calls(self) -> Sequence[dict[str, Any]]:
        """The tool calls of a reply that was made here. The `parts` of a turn that a program recorded do not count."""
        if self.recorded_by is None and isinstance(self.parts, list):
            return self.parts
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A chat as it stands; `failure` says why its last closing did not work."""

    id: str
    session: str | None
    agent: str | None
    preset: str
    title: str | None
    titled_by: str | None
    state: str
    incognito: bool
    tier: str | None
    mode: str | None
    focus: str | None
    created_at: datetime
    touched_at: datetime
    deleted_at: datetime | None
    turns: int
    summary: str | None
    extracted_through: int
    failures: int
    failure: str | None
    compressed_through: int
    compressed: str | None
    out_of_view: tuple[int, ...] = ()
    """The turns that the person took out of what a model is sent."""

    @property
    def parked(self) -> bool:
        """Whether closing failed too often; the chat waits for a person (or a new message)."""
        return self.failures >= MOST_FAILURES


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to close a chat while the lease lasts, and the turns to read."""

    thread: Thread
    token: str
    turns: tuple[Message, ...] = ()


# Rules


def estimate(text: str) -> int:
    """An estimate of tokens: characters / 4, rounded up."""
    return -(-len(text) // 4)


def current_messages(messages: Sequence[Message]) -> list[Message]:
    """The messages of a chat without the turns that a later turn replaced. Those stay stored and readable."""
    kept: list[Message] = []
    for message in messages:
        while message.instead_of and kept and kept[-1].turn >= message.instead_of:
            kept.pop()
        kept.append(message)
    return kept


# Operations


def start_thread(
    tx: Tx,
    now: str,
    preset: str,
    *,
    session: str | None = None,
    agent: str | None = None,
    incognito: bool = False,
    mode: str | None = None,
    focus: str | None = None,
    begun_by: str | None = None,
) -> Thread:
    """Begin a chat, or return the one that this session of an outside agent has begun. `begun_by` names the agent or
    program that asks; None: the person."""
    if session is not None:
        session = clean_line(session, "session", 1, 200)
        _give_name_to_person(tx, session, begun_by)
        if found := find_session(tx, session):
            return _as_private(found, incognito)
    room_for_chat(tx)
    row = {
        "owner": tx.owner, "id": new_id(), "session": session, "agent": clean_optional(agent, "agent", 200),
        "preset": preset, "state": "active", "incognito": int(incognito), "tier": get_choices(tx).tier, "mode": mode,
        "focus": clean_optional(focus, "focus", 2000), "begun_by": begun_by,
        "created_at": now, "touched_at": now, "turns": 0,
        "extracted_through": 0, "failures": 0, "compressed_through": 0,
    }  # fmt: skip
    tx.conn.execute(insert(threads), row)
    return get_thread(tx, str(row["id"]))


def is_begun_by_person(tx: Tx, id: str) -> bool:
    """Whether the person began a chat, and no agent or program."""
    mine = select(threads.c.begun_by).where(threads.c.owner == tx.owner, threads.c.id == id)
    return tx.conn.execute(mine).scalar() is None


def _give_name_to_person(tx: Tx, session: str, begun_by: str | None) -> None:
    """If the person asks for a session that a program began incognito, that chat gets another name. Else what the
    person says there would not be remembered, because of somebody else's wish."""
    if begun_by is not None:
        return
    theirs = threads.c.session == session, threads.c.incognito == 1, threads.c.begun_by.isnot(None)
    query = select(threads.c.id).where(threads.c.owner == tx.owner, *theirs)
    for id in tx.conn.execute(query).scalars().all():
        _set(tx, id, session=f"{session[:MOST_OF_SESSION]} ({id})")


MOST_OF_SESSION = 180


def _as_private(thread: Thread, incognito: bool) -> Thread:
    if incognito and not thread.incognito:
        why = f"session {thread.session!r} began as a chat that is remembered; use another for an incognito one"
        raise Conflict(why, code="not_incognito")
    return thread


def find_session(tx: Tx, session: str) -> Thread | None:
    """The chat of an outside program's session, if it has begun."""
    row = tx.conn.execute(select(threads).where(threads.c.owner == tx.owner, threads.c.session == session)).first()
    if row:
        return to_thread(row)
    return None


def rename(tx: Tx, thread_id: str, title: str, *, by: str = "person") -> Thread:
    """Set the title of a chat. A model's title never replaces one given by the person, and is not set if it is about a
    topic that is never to be kept."""
    thread, title = get_thread(tx, thread_id), clean_line(title, "title", 1, TITLE_LIMIT)
    if by != "person" and (thread.titled_by == "person" or switches.touched_topics(tx, switches.Told(labels=(title,)))):
        return thread
    return _set(tx, thread_id, title=title, titled_by=by)


def archive(tx: Tx, thread_id: str) -> Thread:
    thread = get_thread(tx, thread_id)
    if thread.state == "active" and thread.turns > thread.extracted_through:
        raise Conflict(f"chat {thread_id} is open; close it first", code="active")
    due.cancel(tx, due.ARCHIVE, thread_id)
    return _set(tx, thread_id, state="archived")


def trash(tx: Tx, thread_id: str, now: str, *, by_person: bool = True) -> Thread:
    """Move a chat to the trash for 30 days; then it is removed for good. A chat that anybody but the person moved there
    stays there. Memories learned from it stay."""
    get_thread(tx, thread_id)
    if by_person:
        due.remind(tx, due.PURGE_CHAT, thread_id, later(now, days=TRASH_DAYS))
    return _set(tx, thread_id, deleted_at=now)


def refuse_restoring(tx: Tx, thread_id: str, *, by_person: bool) -> None:
    """Refuse anybody else to bring a chat back that the person put into the trash."""
    if not by_person and due.reminded_at(tx, due.PURGE_CHAT, thread_id) is not None:
        raise NotAllowed(f"the person deleted chat {thread_id}; only they bring it back", code="person_only")


def restore_thread(tx: Tx, thread_id: str, *, close_after_hours: float = 6.0, by_person: bool = True) -> Thread:
    """Bring a chat back from the trash, or from the archive if it lies only there."""
    thread = get_thread(tx, thread_id)
    if thread.deleted_at is None and thread.state == "archived":
        due.remind(tx, due.ARCHIVE, thread_id, later(stamp(tx.clock()), days=ARCHIVE_DAYS))
        return _set(tx, thread_id, state="idle")
    refuse_restoring(tx, thread_id, by_person=by_person)
    due.cancel(tx, due.PURGE_CHAT, thread_id)
    if thread.state == "active" and thread.turns and not thread.parked:
        # A sweep that found it in the trash has dropped its reminder.
        due.remind(tx, due.CLOSE, thread_id, later(stamp(thread.touched_at), hours=close_after_hours))
    return _set(tx, thread_id, deleted_at=None)


def claim_closing(tx: Tx, thread_id: str, now: str, *, lease_seconds: float) -> Claim | None:
    """Take the lease to close a chat. None if the chat is not open, or somebody else is closing it."""
    row = _row(tx, thread_id)
    thread = to_thread(row)
    if thread.state != "active" or thread.deleted_at is not None:
        return None
    lease_ends = row.closing_until or ""
    if now < lease_ends <= later(now, days=1):  # a longer lease was taken by a clock that ran ahead, and does not count
        return None
    token = secrets.token_hex(8)
    _set(tx, thread_id, closing_until=later(now, seconds=lease_seconds), closing_by=token)
    return Claim(thread, token)


def claimed_turns(tx: Tx, held: Claim) -> tuple[Message, ...]:
    """The turns that whoever closes a chat has to read: none that was said while memory was off."""
    thread = held.thread
    unkept = unkept_turns(tx, thread.id)
    new = messages_of(tx, thread.id, after=thread.extracted_through)
    said = [one for one in new if one.turn <= thread.turns and one.turn not in unkept]
    return tuple(in_view(current_messages(said), thread.out_of_view))


def still_mine(tx: Tx, held: Claim) -> bool:
    """Whether nobody else took the lease and the watermark has not moved. Only then the result of a closing is written.

    A lease that has expired but that nobody took still counts: else a slow model would be asked again for ever.
    """
    row = _find(tx, held.thread.id)
    return bool(
        row is not None
        and row.closing_by == held.token
        and row.extracted_through == held.thread.extracted_through
        and row.deleted_at is None
    )


def finish(tx: Tx, held: Claim, now: str, *, summary: str | None) -> Thread:
    """Close a chat: the watermark moves to what was read. If more was said meanwhile, the chat stays open."""
    tx.count("closes", "closed")
    summary = summary and switches.keepable_summary(tx, summary)
    through = held.thread.turns
    row = _row(tx, held.thread.id)
    newer = row.turns > through
    erased = held.thread.summary is not None and row.summary is None  # by a purge, while the model was reading
    if newer:
        state = "active"
    else:
        state = "idle"
        due.cancel(tx, due.CLOSE, held.thread.id)
        due.remind(tx, due.ARCHIVE, held.thread.id, later(now, days=ARCHIVE_DAYS))
    return _set(
        tx, held.thread.id, extracted_through=through, summary=None if erased else summary or row.summary,
        state=state, closing_until=None, closing_by=None, failures=0, failure=None,
    )  # fmt: skip


def leave_closing(tx: Tx, held: Claim, now: str) -> None:
    """Give the lease back before the chat was read to its end, as if nobody had begun; the next sweep closes it."""
    row = _find(tx, held.thread.id)
    if row is not None and row.closing_by == held.token:
        due.remind(tx, due.CLOSE, held.thread.id, now)
        _set(tx, held.thread.id, closing_until=None, closing_by=None)


def release_closing(tx: Tx, held: Claim, now: str, failure: str, *, retry_minutes: float) -> Thread | None:
    """Record that closing failed: the chat is as before, to be tried again. After five failures it is parked."""
    row = _find(tx, held.thread.id)
    if row is None or row.closing_by != held.token:
        return None
    failures = row.failures + 1
    if failures == MOST_FAILURES:
        tx.count("closes", "parked")
    else:
        tx.count("closes", "failed")
    if failures >= MOST_FAILURES:
        due.cancel(tx, due.CLOSE, held.thread.id)
    else:
        due.remind(tx, due.CLOSE, held.thread.id, later(now, minutes=retry_minutes * 2 ** (failures - 1)))
    return _set(tx, held.thread.id, closing_until=None, closing_by=None, failures=failures, failure=failure[:500])


def set_out_of_view(tx: Tx, thread_id: str, turns: Sequence[int]) -> Thread:
    """Set which turns a model is not sent. If that changes turns which the compressed summary covers, the summary is
    dropped, to be made anew."""
    thread = get_thread(tx, thread_id)
    changed = set(turns) ^ set(thread.out_of_view)
    out_of_view = None
    if turns:
        out_of_view = json.dumps(sorted(turns))
    kept: dict[str, Any] = {"out_of_view": out_of_view}
    if any(turn <= thread.compressed_through for turn in changed):
        kept |= {"compressed_through": 0, "compressed": None}
    if changed:
        return _set(tx, thread_id, **kept)
    return thread


def keep_compression(tx: Tx, thread_id: str, through: int, summary: str) -> Thread:
    kept = switches.keepable_summary(tx, summary) or "(not summed up)"
    return _set(tx, thread_id, compressed_through=through, compressed=kept)


# Queries


def get_thread(tx: Tx, thread_id: str) -> Thread:
    return to_thread(_row(tx, thread_id))


def _row(tx: Tx, thread_id: str) -> Any:
    row = _find(tx, thread_id)
    if row is None:
        raise no_chat(thread_id)
    return row


def _find(tx: Tx, thread_id: str) -> Any:
    return _ONE.first(tx.conn, {"owner": tx.owner, "id": sought(thread_id)})


def no_chat(thread_id: str) -> NotFound:
    return NotFound(f"there is no chat {thread_id!r} in this book", field="thread")


def refuse_trash(thread: Thread) -> None:
    if thread.deleted_at is not None:
        raise Conflict(f"chat {thread.id} is in the trash; restore it first", code="trash")


def list_threads(tx: Tx, *, state: str | None = None, trash: bool = False, limit: int = 100) -> Sequence[Thread]:
    """Chats, the last touched first."""
    told = {"owner": tx.owner, "limit": clean_whole(limit, "limit", 0)} | ({} if state is None else {"state": state})
    return [to_thread(row) for row in _listing(state is not None, trash).rows(tx.conn, told)]


@cache
def _listing(by_state: bool, trash: bool) -> PreparedStatement:
    query = select(threads).where(threads.c.owner == bindparam("owner"))
    if trash:
        query = query.where(threads.c.deleted_at.isnot(None), ~IS_GOING)
    else:
        query = query.where(threads.c.deleted_at.is_(None))
    if by_state:
        query = query.where(threads.c.state == bindparam("state"))
    newest = query.order_by(threads.c.touched_at.desc(), threads.c.id)
    return PreparedStatement(newest.limit(bindparam("limit", type_=Integer)))


def messages_of(tx: Tx, thread_id: str, *, after: int = 0) -> Sequence[Message]:
    rows = _SAID.rows(tx.conn, {"owner": tx.owner, "thread_id": thread_id, "after": after})
    return [to_message(row._mapping) for row in rows]


def unkept_turns(tx: Tx, thread_id: str) -> set[int]:
    """The turns of a chat that were said while memory was off."""
    found = _UNKEPT.rows(tx.conn, {"owner": tx.owner, "thread_id": thread_id})
    return {row.turn for row in found}


def to_thread(row: Any) -> Thread:
    known = {name: getattr(row, name) for name in Thread.__dataclass_fields__}
    for name in ("created_at", "touched_at", "deleted_at"):
        if known[name] is not None:
            known[name] = parse_stamp(known[name])
        else:
            known[name] = None
    known["out_of_view"] = tuple(stored_json.load_json(known["out_of_view"] or "[]"))
    return Thread(**{**known, "incognito": bool(known["incognito"])})


def to_message(row: Any) -> Message:
    parts = None
    if row["parts"]:
        parts = stored_json.load_json(row["parts"])
    return Message(
        turn=row["turn"], role=row["role"], speaker=row["speaker"], text=row["text"], at=parse_stamp(row["at"]),
        tokens=row["tokens"], hidden=row["hidden"], parts=parts,
        model=row["model"], tokens_in=row["tokens_in"], tokens_out=row["tokens_out"], instead_of=row["instead_of"],
        broke_off=row["broke_off"], recorded_by=row["recorded_by"],
    )  # fmt: skip


def _set(tx: Tx, thread_id: str, **values: Any) -> Thread:
    set_columns(tx.conn, threads, {"owner": tx.owner, "id": thread_id}, values)
    return get_thread(tx, thread_id)


_ONE = PreparedStatement(
    select(threads).where(threads.c.owner == bindparam("owner"), threads.c.id == bindparam("id"), ~IS_GOING)
)
_OF_THREAD = (messages.c.owner == bindparam("owner"), messages.c.thread_id == bindparam("thread_id"))
_AFTER = messages.c.turn > bindparam("after")
_SAID = PreparedStatement(select(messages).where(*_OF_THREAD, _AFTER).order_by(messages.c.turn))
_UNKEPT = PreparedStatement(select(messages.c.turn).where(*_OF_THREAD, messages.c.unkept.is_not(None)))
