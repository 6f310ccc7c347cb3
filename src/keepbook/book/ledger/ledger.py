"""The ledger: one entry for every write, each chained to the one before it.

An entry says who did what, through which door, in which chat, and holds the memory's state before and after. The text
itself is stored once, in the version that the entry made. A salted digest binds entry and text together. The chain of
hashes covers the digests, not the texts: if a text and its salt are erased, the chain still holds, and the text cannot
be guessed from the digest. The owner's name is in no hash, since a book may be imported under another name.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, and_, bindparam, func, insert, literal, or_, select, true

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import clean_whole, shown_number, sought
from keepbook.book.ground.system_clock import ServerClock, utc_now
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger.clock_check import check_clock, clock_fault
from keepbook.errors import NotFound
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import threads
from keepbook.storage.tables.choices import choices
from keepbook.storage.tables.cover import covers
from keepbook.storage.tables.ledger import ledger, owners
from keepbook.storage.tables.memory import BOOKKEEPING, versions

AUTOMATIC_ACTORS = ("extractor", "job")
AGENT, READER, IMPORT = "agent", "reader", "import"
"""The names of writers that have no name of their own."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who makes a write, through which door, in which chat."""

    actor: str
    door: str
    thread_id: str | None = None
    source: str | None = None
    """If set, the source of everything written, whatever it is: `extracted`, `imported`."""
    for_person: bool = False
    """Whether an agent's tool in one of our own chats carries out what the person said at this turn."""
    name: str | None = None
    """The name of the agent or program, as lines that it wrote show it."""

    @property
    def is_agent(self) -> bool:
        """Whether an agent acts on its own, not on what the person said at this turn."""
        return self.actor == "agent" and not self.for_person

    def writer(self, made_by: str | None = None) -> str | None:
        """Who chose the words of a write; None: the person. `made_by` is the reader that found them in a chat."""
        if self.source == "imported":
            return self.name or IMPORT
        if self.actor in AUTOMATIC_ACTORS:
            return made_by or self.name or READER
        if self.is_agent:
            return self.name or AGENT
        return None

    def source_for(self, confidence: str) -> str:
        """The source of a write: `profile` if the person writes; if an agent does, `chat` for what the person said and
        `inferred` for its own reading."""
        if self.source is not None:
            return self.source
        if self.actor == "person":
            return "profile"
        if confidence == "asserted":
            return "chat"
        return "inferred"


class Head(NamedTuple):
    """The end of a ledger: its last entry, and the hash that the next link continues."""

    seq: int
    at: str
    hash: str
    link: int
    sealed: int
    """How many seals the chain covers."""
    newest: str = ""
    """When its last link was made, be it an entry or a cover."""
    server: datetime | None = None
    """What the database server's clock said then."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger, as a person reads it."""

    event: int
    at: datetime
    actor: str
    door: str
    thread_id: str | None
    action: str
    memory_id: str | None
    other_id: str | None
    link_id: str | None
    undoes: int | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    hash: str


# Rules


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """The canonical JSON of a value, for hashing and export."""
    return _ENCODER.encode(value)


def digest_of(salt: str, before: str | None, after: str | None, version: Mapping[str, Any] | None) -> str:
    """The digest that binds what an entry changed, and the text it made, to the chain."""
    return hashlib.sha256(canonical_json([salt, before, after, version]).encode()).hexdigest()


VERSION_TEXT = (
    "version", "content", "summary", "body", "source", "score", "made_by", "thread_id", "turn_ids",
    "valid_from", "valid_until", "restored_from", "correction",
)  # fmt: skip
"""The columns of a version that its entry's digest covers."""
_UNDIGESTED = set(BOOKKEEPING) - {"restored_from", "correction"}
VERSION_YOUNGER = tuple(column.name for column in versions.c if column.name not in (*VERSION_TEXT, *_UNDIGESTED))
"""Columns that were added later (labels, quotations). The digest covers those that are not empty, so that older entries
still fit theirs."""

CHAINED = (
    "previous", "seq", "at", "actor", "door", "thread_id", "action", "memory_id", "other_id", "link_id",
    "undoes", "digest",
)  # fmt: skip
"""The columns of an entry that its hash covers."""


def digest_fields(version: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a version that its entry's digest covers."""
    always = {name: version[name] for name in VERSION_TEXT}
    return always | {name: version[name] for name in VERSION_YOUNGER if version[name] not in (None, 0)}


def entry_hash(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json([row[name] for name in CHAINED]).encode()).hexdigest()


def next_instant(last: str, now: datetime) -> str:
    """Now, but always after the last entry: a clock that jumps back must not reorder the book."""
    at = stamp(now)
    if at > last:
        return at
    return stamp(parse_stamp(last) + timedelta(microseconds=1))


# Operations


def chain_head(tx: Tx) -> Head:
    if tx.head is None:  # read once per transaction: nobody else can add to it meanwhile
        tx.head = _read_head(tx)
    last: Head = tx.head
    return last


def present(tx: Tx) -> str:
    """Now, but never before the book's last entry, whichever clock wrote it."""
    return max(chain_head(tx).at, stamp(_read_clock(tx)))


def begin_entry(tx: Tx) -> str:
    """The instant of the entry about to be written."""
    return next_instant(chain_head(tx).at, _read_clock(tx))


def _read_clock(tx: Tx) -> datetime:
    """What the clock says. In a write its first reading is checked against the newest link of the ledger."""
    last, now = chain_head(tx), tx.clock()
    if tx.writes and not tx.clock_checked:
        check_clock(tx, now, last.newest, last.server)
        tx.clock_checked = True
    return now


def held_against_clock(tx: Tx) -> tuple[datetime, str, str | None]:
    """What the clock says, when the last link was made, and why a write would be refused now (None: it would not)."""
    last, now = chain_head(tx), tx.clock()
    return now, last.newest, clock_fault(now, last.newest, last.server, is_machines=tx.clock is utc_now)


def append(
    tx: Tx,
    origin: Origin,
    action: str,
    at: str,
    *,
    memory_id: str | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    version: Mapping[str, Any] | None = None,
    other_id: str | None = None,
    link_id: str | None = None,
    undoes: int | None = None,
    sealed: bool = True,
) -> int:
    """Write the next entry and return its number. An entry that is not `sealed` (a purge) has no text and no salt."""
    last = chain_head(tx)
    before_text = None
    if before is not None:
        before_text = canonical_json(before)
    after_text = None
    if after is not None:
        after_text = canonical_json(after)
    salt = secrets.token_hex(16)
    text = None
    if version is not None:
        text = digest_fields(version)
    row: dict[str, Any] = {
        "owner": tx.owner, "seq": last.seq + 1, "link": last.link + 1, "at": at, "actor": origin.actor,
        "door": origin.door, "thread_id": origin.thread_id, "action": action, "memory_id": memory_id,
        "other_id": other_id, "link_id": link_id, "undoes": undoes, "before": before_text, "after": after_text,
        "salt": salt if sealed else None, "digest": digest_of(salt, before_text, after_text, text),
        "previous": last.hash,
    }  # fmt: skip
    row["hash"] = entry_hash(row)
    _INSERT.run(tx.conn, row)
    tx.count("writes", action)
    tx.head = last._replace(seq=last.seq + 1, at=at, hash=row["hash"], link=last.link + 1)
    return last.seq + 1


# Queries

_INSERT = PreparedStatement(insert(ledger), ledger.c.keys())


def _greatest(number: Column[int]) -> ColumnElement[bool]:
    """A condition: the row has the owner's highest `number`. Written in this way it is looked up in the index; ORDER BY
    with LIMIT would store a list first, which costs more than the rest of the query."""
    mine = number.table.alias("every").c
    last = select(func.max(mine[number.name])).where(mine.owner == bindparam("owner")).scalar_subquery()
    return and_(number.table.c.owner == bindparam("owner"), number == last)


_entry_at_the_end = (
    select(ledger.c.seq, ledger.c.at, ledger.c.hash, ledger.c.link).where(_greatest(ledger.c.seq)).subquery("entry")
)
_cover_at_the_end = (
    select(
        covers.c.hash.label("cover_hash"),
        covers.c.link.label("cover_link"),
        covers.c.last,
        covers.c.at.label("cover_at"),
    )
    .where(_greatest(covers.c.link))
    .subquery("cover")
)
_own_preset = select(owners.c.preset).where(owners.c.owner == bindparam("owner")).scalar_subquery().label("own_preset")
_switches = [
    select(choices.c.value)
    .where(choices.c.owner == bindparam("owner"), choices.c.name == name)
    .scalar_subquery()
    .label(f"chosen_{name}")
    for name in ("memory", "never")
]
_HEAD = PreparedStatement(
    select(_entry_at_the_end, _cover_at_the_end, *_switches, _own_preset, ServerClock()).select_from(
        select(literal(1).label("one"))
        .subquery("always")
        .outerjoin(_entry_at_the_end, true())
        .outerjoin(_cover_at_the_end, true())
    )
)


def _read_head(tx: Tx) -> Head:
    """The newest entry, and the newest link, be it an entry or a cover. The same query reads the person's switches and
    preset, so that they cost no query of their own."""
    ((seq, at, hash, link, cover_hash, cover_link, sealed, cover_at, memory, never, preset, server),) = _HEAD.tuples(
        tx.conn, {"owner": tx.owner}
    )
    tx.switches, tx.own_preset = (memory, never), (preset,)
    if (cover_link or 0) > (link or 0):
        hash, link = cover_hash, cover_link
    newest = max(at or "", cover_at or "")
    return Head(seq or 0, at or "", hash or "", link or 0, sealed or 0, newest, server)


def get_row(tx: Tx, event: int) -> Any:
    exists = 0 < event <= chain_head(tx).seq
    query = select(ledger).where(ledger.c.owner == tx.owner, ledger.c.seq == event)
    row = None
    if exists:
        row = tx.conn.execute(query).first()
    if row is None:
        raise NotFound(f"there is no entry {shown_number(event)} in this ledger", field="event")
    return row


def last_by_person(tx: Tx, memory_id: str, actions: tuple[str, ...]) -> str | None:
    """The last of these actions that the person did on a memory and that nothing has undone."""
    taken_back = select(ledger.c.undoes).where(ledger.c.owner == tx.owner, ledger.c.undoes.isnot(None))
    query = (
        select(ledger.c.action)
        .where(ledger.c.owner == tx.owner, ledger.c.memory_id == memory_id, ledger.c.actor == "person")
        .where(ledger.c.action.in_(actions), ledger.c.seq.notin_(taken_back))
        .order_by(ledger.c.seq.desc())
        .limit(1)
    )
    return tx.conn.execute(query).scalar()


def last_actor(tx: Tx, memory_id: str, actions: tuple[str, ...]) -> str | None:
    """Who did the last of these actions on a memory."""
    mine = (ledger.c.owner == tx.owner, ledger.c.memory_id == memory_id, ledger.c.action.in_(actions))
    return tx.conn.execute(select(ledger.c.actor).where(*mine).order_by(ledger.c.seq.desc()).limit(1)).scalar()


AWAY_OR_BACK = ("forget", "delete", "undo", "restore")
"""The actions that put a memory away or bring it back."""


def is_put_away_by_person(tx: Tx, memory_id: str) -> bool:
    """Whether the person put a memory away last (forgot, deleted), themselves or by a tool in one of our own chats."""
    mine = (ledger.c.owner == tx.owner, ledger.c.memory_id == memory_id, ledger.c.action.in_(AWAY_OR_BACK))
    last = select(ledger.c.actor, ledger.c.thread_id).where(*mine).order_by(ledger.c.seq.desc()).limit(1)
    row = tx.conn.execute(last).first()
    return row is not None and is_by_person(tx, row.actor, row.thread_id)


def is_by_person(tx: Tx, actor: str, thread_id: str | None) -> bool:
    """Whether the actor is the person, or an agent's tool in one of our own chats, which acts for them."""
    if actor == "person" or thread_id is None:
        return actor == "person"
    return is_our_chat(tx, thread_id)


def is_our_chat(tx: Tx, thread_id: str) -> bool:
    """Whether a chat is one of our own, not an outside agent's session."""
    ours = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.session.is_(None))
    return tx.conn.execute(ours.where(threads.c.id == thread_id)).first() is not None


def newer_touch(tx: Tx, event: int, memory_id: str | None, link_id: str | None) -> Any:
    """The last later entry that stands about the same link, or else about the same memory; None if there is none."""
    if link_id:
        same = ledger.c.link_id == link_id
    else:
        same = (ledger.c.memory_id == memory_id) & ledger.c.link_id.is_(None)
    query = select(ledger).where(ledger.c.owner == tx.owner, ledger.c.seq > event, same).order_by(ledger.c.seq)
    return last_standing(tx.conn.execute(query))


def last_standing(rows: Iterable[Any]) -> Any:
    """Of entries about one thing, oldest first, the last that none of them took back. An entry and its undo leave the
    thing as it was, so neither is in the way of what is older; an undo that is undone has the entry stand again."""
    first: dict[int, int] = {}
    """Of each entry, the one that it and the undos before it go back to."""
    standing: dict[int, Any] = {}
    for row in rows:
        origin = row.seq
        if row.undoes is not None:
            origin = first.get(row.undoes, row.undoes)
        first[row.seq] = origin
        if standing.pop(origin, None) is None:
            standing[origin] = row
    return next(reversed(standing.values()), None)


def entries(
    tx: Tx,
    *,
    memory_id: str | None = None,
    thread_id: str | None = None,
    actor: str | None = None,
    after: int = 0,
    before: int | None = None,
    limit: int | None = None,
) -> list[Entry]:
    """Entries, newest first, with the contents of the versions before and after."""
    clean_whole(after, "after", 0)
    for name, number in (("before", before), ("limit", limit)):
        if number is not None:
            clean_whole(number, name, 0)
    query = select(ledger).where(ledger.c.owner == tx.owner, ledger.c.seq > after).order_by(ledger.c.seq.desc())
    if memory_id is not None:
        query = query.where(or_(ledger.c.memory_id == sought(memory_id), ledger.c.other_id == sought(memory_id)))
    if thread_id is not None:
        query = query.where(ledger.c.thread_id == sought(thread_id))
    if actor is not None:
        query = query.where(ledger.c.actor == sought(actor))
    if before is not None:
        query = query.where(ledger.c.seq < before)
    rows = tx.conn.execute(query.limit(limit) if limit is not None else query).all()
    texts = _texts(tx, {row.memory_id for row in rows if row.memory_id and not row.link_id})
    return [_entry(row, texts) for row in rows]


def walk_entries(tx: Tx) -> Iterator[Any]:
    """Every row, oldest first."""
    yield from tx.conn.execute(select(ledger).where(ledger.c.owner == tx.owner).order_by(ledger.c.seq))


def _texts(tx: Tx, memory_ids: set[str]) -> dict[tuple[str, int], str | None]:
    found: dict[tuple[str, int], str | None] = {}
    wanted = sorted(memory_ids)
    for start in range(0, len(wanted), 500):
        query = select(versions.c.memory_id, versions.c.version, versions.c.content).where(
            versions.c.owner == tx.owner, versions.c.memory_id.in_(wanted[start : start + 500])
        )
        found.update({(row[0], row[1]): row[2] for row in tx.conn.execute(query)})
    return found


def _entry(row: Any, texts: Mapping[tuple[str, int], str | None]) -> Entry:
    def with_content(state: str | None) -> dict[str, Any] | None:
        if state is None:
            return None
        known: dict[str, Any] = stored_json.load_json(state)
        if row.link_id is None and "version" in known:
            known["content"] = texts.get((row.memory_id, known["version"]))
        return known

    return Entry(
        event=row.seq, at=parse_stamp(row.at), actor=row.actor, door=row.door, thread_id=row.thread_id,
        action=row.action, memory_id=row.memory_id, other_id=row.other_id, link_id=row.link_id, undoes=row.undoes,
        before=with_content(row.before), after=with_content(row.after), hash=row.hash,
    )  # fmt: skip
