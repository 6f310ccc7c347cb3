"""A memory and its versions: their fields, the rules of what they may say, and how they are read.

A memory has a state (category, confidence, archived…) that only ever changes together with a ledger entry, and
versions, one of them current. Nothing here writes; `changes.py` does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, func, not_, or_, select, true

from keepbook.book.ground import stored_json
from keepbook.book.ground.ids import ID_LENGTH
from keepbook.book.ground.limits import sought
from keepbook.book.ground.when import parse_stamp
from keepbook.book.memory.labels import told_metadata, told_tags
from keepbook.book.text.indexes.word_index import IndexedText
from keepbook.book.text.quotation import text_without_marks
from keepbook.book.text.words import fold_text
from keepbook.errors import Ambiguous, Invalid, NotFound
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.memory import injected, memories, versions

AUTOMATIC = ("extracted", "inferred")
REASONS = ("user_deleted", "user_corrected", "agent_forget", "undone")
STATES = ("active", "archived", "trash")
EVERY_SCOPE = "*"
"""Given as the `scope` to read: unscoped memories and those of every scope that is not set apart."""
BELOW = ".*"
"""At the end of the `scope` to read: only memories of that scope and of scopes below it (`scope.…`)."""
APART = "lesson:"
"""Scopes that begin with this are set apart: their memories are read only by callers that name the scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One remembered thing as it stands: the shape every door gives out."""

    id: str
    category: str | None
    subject: str | None
    scope: str | None
    content: str
    summary: str | None
    body: str | None
    metadata: dict[str, str]
    tags: tuple[str, ...]
    version: int
    source: str
    confidence: str
    score: float | None
    effective_score: float | None
    importance: float
    state: str
    current: bool
    valid_from: datetime
    valid_until: datetime | None
    recorded_at: datetime
    created_at: datetime
    updated_at: datetime
    last_confirmed_at: datetime | None
    last_referenced_at: datetime
    reference_count: int
    archived_at: datetime | None
    archived_reason: str | None
    thread_id: str | None
    turn_ids: tuple[str, ...]
    made_by: str | None
    stale: bool
    quoted: bool = False
    """Whether the content is the person's own words; `spans` says which, each as turn, from, to, kind."""
    spans: tuple[tuple[int | str, ...], ...] = ()
    said_on: str | None = None
    """The day on which the words were said, if they count days from it ("tomorrow")."""
    written_by: str | None = None
    """Who chose these words; None: the person."""

    def __str__(self) -> str:
        """What a program prints of it: its id and what it says."""
        return f"{self.id} {self.content}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a memory said, from when to when, on both clocks."""

    version: int
    content: str | None
    summary: str | None
    body: str | None
    metadata: dict[str, str]
    tags: tuple[str, ...]
    source: str
    score: float | None
    made_by: str | None
    thread_id: str | None
    turn_ids: tuple[str, ...]
    valid_from: datetime
    valid_until: datetime | None
    recorded_at: datetime
    retired_at: datetime | None
    restored_from: int | None
    correction: bool
    quoted: bool = False
    spans: tuple[tuple[int | str, ...], ...] = ()
    said_on: str | None = None
    written_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written(Memory):
    """A memory as a write left it. `event` undoes that write; it is empty when nothing was written. `capped` says that
    it was given more importance than an agent may give."""

    event: int | None
    unchanged: bool = False
    similar: tuple[Memory, ...] = ()
    notice: str | None = None
    """A sentence to show beside the answer: that the book's last entry lies in the future."""
    capped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The fields of a memory that a ledger entry holds before and after."""

    category: str | None
    subject: str | None
    scope: str | None
    confidence: str
    importance: float
    version: int
    created_at: str
    edited_at: str
    last_confirmed_at: str | None = None
    archived_at: str | None = None
    archived_reason: str | None = None
    trashed_at: str | None = None

    @property
    def name(self) -> str:
        return state_name(self)


STATE_FIELDS = tuple(field.name for field in fields(State))


# Rules


def standing_on(chain: Mapping[int, Any], version: int) -> int:
    """The number of the version that holds when this one does not: usually the one before. A correction hides the
    version that it corrects, and a restored copy stands for its original."""
    while True:
        row = chain[version]
        if row.restored_from is not None:
            version = row.restored_from
        elif row.correction and version > 1:
            version -= 1
        else:
            return version - 1


def holding_at(chain: Mapping[int, Any], newest: int, valid: str) -> Any:
    """The version, of those up to `newest`, that was true in the world at the instant `valid`, if any."""
    version = newest
    while version >= 1:
        row = chain[version]
        if is_valid_at(row.valid_from, row.valid_until, valid):
            return row
        if valid >= row.valid_from and replaced_for_good(chain, version):
            return None
        version = standing_on(chain, version)
    return None


def replaced_for_good(chain: Mapping[int, Any], version: int) -> bool:
    """Whether the version before does not hold again after this one. It does if this change was for a limited time from
    the start; not if it had no end at first and was ended later."""
    while chain[version].restored_from is not None or (chain[version].correction and version > 1):
        version = chain[version].restored_from or version - 1
    return chain[version].valid_until is None


def is_valid_at(valid_from: str, valid_until: str | None, at: str) -> bool:
    return valid_from <= at and (valid_until is None or at < valid_until)


def is_protected(source: str, state: Any) -> bool:
    """Whether this is a person's word, which automation may not overrule (guards of the database refuse it too)."""
    return source not in AUTOMATIC or state.confidence == "asserted" or state.last_confirmed_at is not None


def state_name(state: Any) -> str:
    """The state in one word. A memory that is archived and in the trash counts as in the trash."""
    if state.trashed_at:
        return "trash"
    if state.archived_at:
        return "archived"
    return "active"


def to_version(row: Any) -> Version:
    return Version(**{name: read(getattr(row, name)) for name, read in _VERSION_READERS.items()})


def to_state(row: Any) -> State:
    """The state from a row of `memories` (a joined row has its version as `memory_version`)."""
    if hasattr(row, "memory_version"):
        version = row.memory_version
    else:
        version = row.version
    return State(version=version, **{name: getattr(row, name) for name in OF_STATE})


def indexed_text_of(state: Any, version: Any) -> IndexedText:
    """The text of a memory that the word index takes."""
    return IndexedText(state.category, state.subject, version.content, version.summary, version.body)


def state_fields(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in STATE_FIELDS}


def _told_turns(held: str) -> tuple[Any, ...]:
    if held == "[]":
        return ()
    return tuple(stored_json.load_json(held))


def told_spans(kept: str | None) -> tuple[tuple[int | str, ...], ...]:
    if kept is None:
        return ()
    return tuple(tuple(one) for one in stored_json.load_json(kept))


def _when(text: str | None) -> datetime | None:
    if text is None:
        return None
    return parse_stamp(text)


def _as_it_is(value: Any) -> Any:
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "metadata": told_metadata,
    "tags": told_tags,
    "turn_ids": _told_turns,
    "spans": told_spans,
}
_READERS_BY_TYPE: dict[Any, Callable[[Any], Any]] = {datetime: parse_stamp, datetime | None: _when, bool: bool}
_VERSION_READERS = {
    field.name: _READERS.get(field.name) or _READERS_BY_TYPE.get(field.type, _as_it_is) for field in fields(Version)
}
"""How each field of a version is read from its column."""


# Queries

IS_ACTIVE = and_(memories.c.archived_at.is_(None), memories.c.trashed_at.is_(None), memories.c.purged_at.is_(None))
IN_STATE: dict[str, ColumnElement[bool]] = {
    "active": IS_ACTIVE,
    "archived": and_(
        memories.c.archived_at.isnot(None), memories.c.trashed_at.is_(None), memories.c.purged_at.is_(None)
    ),
    "trash": and_(memories.c.trashed_at.isnot(None), memories.c.purged_at.is_(None)),
    "all": memories.c.purged_at.is_(None),
}
_newest_injection = (
    select(func.max(injected.c.nth))
    # The owner is compared with the parameter, not with the outer row: else a cluster asks every node.
    .where(injected.c.owner == bindparam("owner"), injected.c.memory_id == memories.c.id)
    .correlate(memories)
    .scalar_subquery()
)
OF_STATE = tuple(name for name in STATE_FIELDS if name != "version")
_BOOKKEEPING = ("retired_at", "restored_from", "correction")
OF_VERSION = tuple(field.name for field in fields(Version) if field.name not in _BOOKKEEPING)
"""The columns of its current version that a memory shows. `memory_to_json` relies on this order."""
_shown = (
    *(memories.c[name] for name in OF_STATE), memories.c.id, memories.c.updated_at,
    *(versions.c[name] for name in OF_VERSION), injected.c.nth, injected.c.at.label("injected_at"),
)  # fmt: skip
WHOLE = (
    select(
        *_shown,
        memories.c.version.label("memory_version"),
        memories.c.event.label("memory_event"),
        *(versions.c[name] for name in ("retired_at", "restored_from", "correction", "event")),
    )
    .select_from(
        memories.join(
            versions,
            and_(
                versions.c.owner == memories.c.owner,
                versions.c.memory_id == memories.c.id,
                versions.c.version == memories.c.version,
            ),
        ).outerjoin(
            injected,
            and_(
                injected.c.owner == memories.c.owner,
                injected.c.memory_id == memories.c.id,
                injected.c.nth == _newest_injection,
            ),
        )
    )
    .where(memories.c.owner == bindparam("owner"))
)
"""A memory with its newest version and its newest injection, in one row."""

SHOWN = WHOLE.with_only_columns(*_shown)
"""The part of it that `memory_to_json` needs, in the order that it relies on; for queries that read many."""

_ONE = PreparedStatement(WHOLE.where(memories.c.id == bindparam("id"), memories.c.purged_at.is_(None)))
_NAMED = PreparedStatement(
    select(memories.c.scope).where(
        memories.c.owner == bindparam("owner"), memories.c.id == bindparam("id"), memories.c.purged_at.is_(None)
    )
)
_EVERY_VERSION = PreparedStatement(
    select(versions)
    .where(versions.c.owner == bindparam("owner"), versions.c.memory_id == bindparam("id"))
    .order_by(versions.c.version)
)


def in_scope(scope: str | None) -> ColumnElement[bool]:
    """A condition: unscoped memories and those of the given scope, or of every scope (`EVERY_SCOPE`). If the scope ends
    in `BELOW`, only memories in it and below it."""
    if scope is not None and scope.endswith(BELOW):
        return in_or_below(scope.removesuffix(BELOW))
    unscoped = memories.c.scope.is_(None)
    if scope == EVERY_SCOPE:
        return or_(unscoped, memories.c.scope.notlike(f"{APART}%"))
    if scope is None:
        return unscoped
    return or_(unscoped, memories.c.scope == sought(scope))


def in_or_below(scope: str) -> ColumnElement[bool]:
    # A range of all texts that begin with the scope and a dot: "/" follows "." and both engines sort by code point.
    return or_(
        memories.c.scope == sought(scope),
        and_(memories.c.scope >= sought(scope) + ".", memories.c.scope < sought(scope) + "/"),
    )


def fits_scope(own: str | None, scope: str | None) -> bool:
    """Whether a memory of scope `own` is among those that `in_scope` selects."""
    if scope is not None and scope.endswith(BELOW):
        return own is not None and f"{own}.".startswith(scope.removesuffix("*"))
    return own is None or own == scope or (scope == EVERY_SCOPE and not own.startswith(APART))


def find_row(tx: Tx, id: str) -> Any:
    """A memory's row by its exact id: archived and trashed memories are found too, purged ones are not."""
    row = _ONE.first(tx.conn, {"owner": tx.owner, "id": sought(id)})
    if row is None or (tx.reach is not None and row.scope not in (None, tx.reach)):
        raise NotFound(f"there is no memory {id!r} in this book", field="id")
    return row


def resolve(tx: Tx, ref: object, *, put_away: bool = False) -> str:
    """The id behind a reference: an exact id, or a piece of what exactly one active memory says. With `put_away`,
    archived and trashed memories are searched first."""
    if not isinstance(ref, str) or not ref.strip():
        raise Invalid("name the memory: its id, or a piece of what it says", field="ref")
    piece = ref.strip()
    if len(piece) == ID_LENGTH and piece.isalnum():
        exact = _NAMED.first(tx.conn, {"owner": tx.owner, "id": piece})
        if exact is not None and (tx.reach is None or exact.scope in (None, tx.reach)):
            return piece
    wanted = fold_text(text_without_marks(piece)) or fold_text(piece)
    query = (
        select(memories.c.id, versions.c.content)
        .join(
            versions,
            and_(
                versions.c.owner == memories.c.owner,
                versions.c.memory_id == memories.c.id,
                versions.c.version == memories.c.version,
            ),
        )
        .where(memories.c.owner == tx.owner, not_(IS_ACTIVE) if put_away else IS_ACTIVE, within_reach(tx))
        .where(versions.c.content.isnot(None))  # what was purged says nothing
        .order_by(memories.c.created_at, memories.c.id)
    )
    matches = [(id_, content) for id_, content in tx.conn.execute(query) if wanted in _references(content)]
    if not matches and put_away:
        try:
            return resolve(tx, ref)
        except NotFound:
            told = f"no memory has the id {piece!r} or says {piece!r}, put away or not"
            raise NotFound(told, field="ref", put_away=True) from None
    if not matches:
        raise NotFound(
            f"no active memory has the id {piece!r} or says {piece!r}",
            field="ref",
        )
    if len(matches) > 1:
        shown = "; ".join(f"{id_} {_cut(content)}" for id_, content in matches[:8])
        more = ""
        if len(matches) > 8:
            more = f"; and {len(matches) - 8} more"
        told = f"{piece!r} fits {len(matches)} memories; name one by its id: {shown}{more}"
        raise Ambiguous(told, matches[:MOST_CANDIDATES])
    return str(matches[0][0])


MOST_CANDIDATES = 100
"""So many of the memories that a reference fits are named."""


def _references(content: str) -> str:
    """The text of a line in which a reference is looked for: without the marks it is shown with, and folded."""
    return fold_text(text_without_marks(content)) or fold_text(content)


def within_reach(tx: Tx) -> ColumnElement[bool]:
    """A condition: the memories that this caller may name. That is every memory, or for a token of one agent the
    unscoped ones and that agent's own."""
    if tx.reach is None:
        return true()
    return or_(memories.c.scope.is_(None), memories.c.scope == tx.reach)


def version_rows(tx: Tx, id: str) -> Sequence[Any]:
    """All versions of a memory, oldest first."""
    return _EVERY_VERSION.rows(tx.conn, {"owner": tx.owner, "id": id})


def _cut(text: str, length: int = 60) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1] + "…"
