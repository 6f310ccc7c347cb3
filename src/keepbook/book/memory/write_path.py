"""The one path of every write to a memory.

A `Change` knows who acts on which memory and the memory's present state; `to` carries it out in the order the guards
ask for: the ledger entry, the memory's state and the version it made (if any), the word index.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, insert, or_, select, update

from keepbook.book.ground import due
from keepbook.book.ground.limits import TRASH_DAYS, clean_confidence, clean_share, shown_number
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.labels import keys_of, relabel, told_metadata, told_tags
from keepbook.book.memory.likeness.put_away import refuse_words
from keepbook.book.memory.memories import (
    AUTOMATIC,
    State,
    Written,
    find_row,
    indexed_text_of,
    is_protected,
    resolve,
    state_fields,
    to_state,
)
from keepbook.book.memory.memory_json import json_to_fields, memory_to_json, told_memory
from keepbook.book.owners.switches import Told, refuse_incognito, refuse_memory_off
from keepbook.book.text.indexes.word_index import (
    IndexedText,
    mark_put_away,
    put_words,
    take_words,
    unmark_put_away,
)
from keepbook.book.text.words import fold_text
from keepbook.errors import Conflict, NotAllowed
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.declare import rules_of
from keepbook.storage.tables.ledger import ledger as entries
from keepbook.storage.tables.memory import memories, versions


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionText:
    """The text of a new version: the columns of `versions` without the bookkeeping."""

    content: str
    summary: str | None
    body: str | None
    metadata: str | None
    tags: str | None
    source: str
    score: float | None
    made_by: str | None
    thread_id: str | None
    turn_ids: str
    valid_from: str
    valid_until: str | None
    restored_from: int | None = None
    correction: int = 0
    quoted: int = 0
    spans: str | None = None
    said_on: str | None = None
    written_by: str | None = None


class QuotedSpans(NamedTuple):
    """The words of its chat that a version quotes, and the day they were said on, if they count days from it."""

    spans: str
    said_on: str | None
    recorded_by: str | None = None
    """Who recorded them; None if the person said them in one of our own chats."""


PERSONS_WORD, FORGOTTEN_WORD = "persons_word", "forgotten"
"""The codes of refusals after which the wanted change is left as a proposal."""

TEXT_FIELDS = tuple(VersionText.__dataclass_fields__)


def asked_back(content: str, row: Any) -> dict[str, Any]:
    """The fields of the proposal that is left when an agent wants to bring these words back."""
    return {"op": "add", "category": row.category, "subject": row.subject, "content": content}


AGENTS_MOST = 0.7
"""The highest importance that an agent may give a memory."""


def refuse_stale(row: Any, expected: int | None) -> None:
    """Refuse a change by a caller who has not read the current version."""
    if expected is not None and expected != row.version:
        raise Conflict(
            f"memory {row.id} is at version {row.version} now, not {shown_number(expected)}: {row.content!r}; "
            "read it and try again",
            code="version",
            current=row.version,
        )


def chosen_confidence(origin: Origin, asked: str | None) -> str:
    if origin.source in AUTOMATIC:
        return "inferred"
    return clean_confidence(asked or "asserted")


def chosen_importance(origin: Origin, asked: float | None, before: float = 0.5) -> float:
    """The importance of a memory: as asked, but from an agent at most `AGENTS_MOST`; if none is asked, as `before`."""
    if asked is None:
        return before
    share = clean_share(asked, "importance")
    if origin.is_agent:
        return min(share, AGENTS_MOST)
    return share


def with_cap(origin: Origin, asked: float | None, written: Written) -> Written:
    """The answer to a write, marked as `capped` if an agent asked for more importance than it may give."""
    if origin.is_agent and (asked or 0) > AGENTS_MOST:
        return replace(written, capped=True)
    return written


@dataclass(frozen=True, slots=True)
class Change:
    """One write before it is carried out. `row` and `before` are empty for a memory that does not exist yet."""

    tx: Tx
    origin: Origin
    preset: Preset
    action: str
    at: str
    id: str
    row: Any = None
    before: State | None = None

    @property
    def automatic(self) -> bool:
        return self.origin.actor in ledger.AUTOMATIC_ACTORS

    def refuse_dropped(self, verb: str) -> None:
        """Refuse to change an archived or trashed memory before it is restored."""
        if self.before is not None and self.before.name != "active":
            if self.before.name == "trash":
                where = "in the trash"
            else:
                where = "archived"
            raise Conflict(f"memory {self.id} is {where} and cannot be {verb}; restore it first", code=self.before.name)

    def refuse_overruling(self, source: str) -> None:
        """Refuse automation that rewrites what a person said."""
        protected = self.before is not None and is_protected(self.row.source, self.before)
        if protected and (self.automatic or source in AUTOMATIC):
            raise NotAllowed(
                f"memory {self.id} is the person's own word; automation may not change it", code="protected"
            )

    def refuse_over_person(self, *, extracted: bool = False, **wanted: str) -> None:
        """Refuse an agent that changes the person's word, or what was `extracted` from it. The error holds what it
        `wanted`, which is left as a proposal, unless a program catches the error inside a transaction. An agent may
        change what tools saved."""
        if not self.origin.is_agent or not (extracted or is_persons_word(self.tx, self.row, self.before)):
            return
        if extracted:
            whose = "was read from what the person said"
        else:
            whose = "is the person's own word"
        raise NotAllowed(
            f"memory {self.id} {whose}",
            code="persons_word",
            memory_id=self.id,
            wanted={
                "memory_id": self.id,
                "category": self.row.category,
                "subject": self.row.subject,
                "content": self.row.content,
                **wanted,
            },
        )

    def refuse_bringing_back(self) -> None:
        """Refuse an agent that brings back what the person put away. A proposal to keep it is left instead."""
        if self.origin.is_agent and ledger.is_put_away_by_person(self.tx, self.id):
            raise NotAllowed(
                f"the person put memory {self.id} away; only they bring it back",
                code=PERSONS_WORD,
                memory_id=self.id,
                wanted=asked_back(self.row.content, self.row),
            )

    @property
    def is_persons_first_word(self) -> bool:
        """Whether the person acts now on a memory that they had not put away before, but others may have. Then an entry
        is written even if nothing changes: from then on no agent may bring it back."""
        acts = self.origin.actor == "person" or self.origin.for_person
        return acts and not (self.automatic or ledger.is_put_away_by_person(self.tx, self.id))

    def unchanged(self) -> Written:
        return Written(**json_to_fields(memory_to_json(self.row, self.at, self.preset)), event=None, unchanged=True)

    def to(self, after: State, text: VersionText | None = None, *, undoes: int | None = None) -> Written:
        """Carry out the change: the state becomes `after`, and `text` (if given) the next version."""
        if self.origin.actor == "agent":  # also by way of an extension
            refuse_memory_off(self.tx)
        if text is not None and self.origin.is_agent:
            refuse_incognito(self.tx, text.thread_id)
        if text is None:
            self._refuse_weakening(after)
        if text is not None or after.name == "active":
            self._refuse_words(after, text or self.row)
        version = None
        if text is not None:
            version = self._version(after.version, text)
        if version is None:
            said = self.row
        else:
            said = SimpleNamespace(**version)
        event = None
        if not self.tx.looks:
            event = self._write(after, version, said, undoes)
        if self.row is None:
            references = 0, None
        else:
            references = self.row.nth or 0, self.row.injected_at
        memory = told_memory(after, said, references, id=self.id, updated_at=self.at, now=self.at, preset=self.preset)
        return Written(**json_to_fields(memory), event=event, notice=self.tx.notice)

    def _write(self, after: State, version: dict[str, Any] | None, said: Any, undoes: int | None) -> int:
        before = None
        if self.before is not None:
            before = state_fields(self.before)
        event = ledger.append(
            self.tx, self.origin, self.action, self.at, memory_id=self.id, undoes=undoes, version=version,
            before=before, after=state_fields(after),
        )  # fmt: skip
        self._store(after, version, event)
        self._index(after, said)
        self._mind_the_trash(after)
        return event

    def _refuse_weakening(self, after: State) -> None:
        """Refuse automation that would put away the person's word, or change its confidence."""
        before = self.before
        if before is None or not self.automatic or not is_protected(self.row.source, before):
            return
        if (after.name != "active" and before.name == "active") or after.confidence != before.confidence:
            raise NotAllowed(
                f"memory {self.id} is the person's own word; automation may not {self.action} it", code="protected"
            )

    def _refuse_words(self, after: State, said: Any) -> None:
        """Refuse words that only the person may bring in, if somebody else writes them. Words that the memory has
        already are allowed."""
        if self.origin.actor == "person":
            return
        own = self.tx.reach
        told = words_of_line(said, after, self.preset, own=own)
        if self.before is not None and self.before.name == "active":
            told = told.without(words_of_line(self.row, self.before, self.preset, own=own))
        wanted = {"op": "add", "category": after.category, "subject": after.subject, "content": said.content}
        refuse_words(self.tx, self.origin, told, wanted)

    def _version(self, number: int, text: VersionText) -> dict[str, Any]:
        return {name: getattr(text, name) for name in TEXT_FIELDS} | {
            "owner": self.tx.owner, "memory_id": self.id, "version": number, "recorded_at": self.at,
            "retired_at": None,
        }  # fmt: skip

    def _store(self, after: State, version: dict[str, Any] | None, event: int) -> None:
        conn = self.tx.conn
        columns = state_fields(after) | {
            "owner": self.tx.owner, "id": self.id, "updated_at": self.at, "event": event,
            "subject_key": after.subject and fold_text(after.subject),
        }  # fmt: skip
        if self.before is None:
            _NEW_MEMORY.run(conn, columns)
        if version is not None:
            _NEW_VERSION.run(conn, version | {"event": event})
            if self.row is None:
                had = set()
            else:
                had = keys_of(self.row.metadata, self.row.tags)
            relabel(self.tx, self.id, had, keys_of(version["metadata"], version["tags"]))
        if self.before is not None:
            _STATE.run(conn, {f"b_{name}": value for name, value in columns.items()})

    def _mind_the_trash(self, after: State) -> None:
        """Schedule the purge of a memory that goes into the trash, for 30 days later; cancel it if it comes out."""
        was = None
        if self.before is not None:
            was = self.before.trashed_at
        if after.trashed_at not in (None, was):
            due.remind(self.tx, due.PURGE, self.id, stamp(parse_stamp(self.at) + timedelta(days=TRASH_DAYS)))
        elif was is not None and after.trashed_at is None:
            due.cancel(self.tx, due.PURGE, self.id)

    def _index(self, after: State, said: Any) -> None:
        was = None
        if not (self.before is None or self.before.name != "active"):
            was = indexed_text_of(self.before, self.row)
        now: IndexedText | None = None
        if after.name == "active":
            now = indexed_text_of(after, said)
        if was is None and self.before is not None and now is not None:
            unmark_put_away(self.tx, self.id, self.row.content)
        if was == now:
            return
        if was is not None:
            take_words(self.tx, self.id, was)
        if now is not None:
            put_words(self.tx, self.id, now)
        else:
            mark_put_away(self.tx, self.id, said.content)


def change_of(
    tx: Tx, origin: Origin, preset: Preset, action: str, ref: str, *, learning: bool = False, put_away: bool = False
) -> Change:
    """Begin a change of the memory behind a reference; with `put_away` it may be archived or trashed. A memory that an
    extension guards may be changed only by the person, or by that extension, which passes `learning`."""
    row = find_row(tx, resolve(tx, ref, put_away=put_away))
    if not learning:
        refuse_guarded(tx, origin, row.id)
    return Change(tx, origin, preset, action, ledger.begin_entry(tx), row.id, row, to_state(row))


def refuse_guarded(tx: Tx, origin: Origin, id: str) -> None:
    """Refuse an agent that would reword, retire or bring back a memory which has rows of an extension behind it, such
    as the figures of a lesson: only the person does."""
    if origin.actor != "agent":
        return
    for called, query in _guarding_rows(tx.tables).items():
        if query.first(tx.conn, {"owner": tx.owner, "memory_id": id}) is not None:
            raise NotAllowed(f"memory {id} is a {called}; only the person changes it", code="person_only")


def words_of_line(said: Any, state: State, preset: Preset, *, own: str | None = None) -> Told:
    """All words that somebody chose for a line. The `own` scope of an agent's token is left out, as is a category from
    the preset: nobody chose these."""
    scope = None
    if state.scope != own:
        scope = state.scope
    category = None
    if not (preset.categories or state.category == preset.default_category):
        category = state.category
    pairs = [word for pair in told_metadata(said.metadata).items() for word in pair]
    return Told(
        said.content,
        tuple(text for text in (said.summary, said.body) if text),
        (*(text for text in (state.subject, scope, category) if text), *told_tags(said.tags), *pairs),
    )


def is_persons_word(tx: Tx, row: Any, state: State | None) -> bool:
    """Whether the person typed it, in this version or an earlier one that a tool changed for them, or confirmed or
    promoted what somebody else had noted."""
    if _TYPED.first(tx.conn, {"owner": tx.owner, "memory_id": row.id, "version": row.version}) is not None:
        return True
    promoted = row.source in AUTOMATIC and row.confidence == "asserted"
    if state is None or not (promoted or state.last_confirmed_at):
        return False
    return ledger.last_by_person(tx, row.id, ("confirm", "promote", "demote")) in ("confirm", "promote")


def quoting(text: VersionText, row: Any = None, quotation: QuotedSpans | None = None) -> VersionText:
    """The text, marked as a quotation if it is one: if a `quotation` is given, or if the words are those of the current
    version `row` and that one is a quotation. All other text is a note."""
    if quotation is not None:
        return replace(
            text, quoted=1, spans=quotation.spans, said_on=quotation.said_on, written_by=quotation.recorded_by
        )
    if row is None or not row.quoted or row.content != text.content:
        return text
    return replace(
        text, quoted=1, spans=row.spans, said_on=row.said_on, thread_id=row.thread_id, turn_ids=row.turn_ids,
        written_by=row.written_by,
    )  # fmt: skip


def keeping_writer(text: VersionText, row: Any) -> VersionText:
    """The text, ascribed to whoever wrote the same words in the current version."""
    return replace(text, source=row.source, score=row.score, made_by=row.made_by, written_by=row.written_by)


# Queries

_NEW_MEMORY = PreparedStatement(insert(memories), memories.c.keys())
_NEW_VERSION = PreparedStatement(insert(versions), versions.c.keys())
_STATE = PreparedStatement(
    update(memories)
    .where(memories.c.owner == bindparam("b_owner"), memories.c.id == bindparam("b_id"))
    .values(
        {
            column.name: bindparam(f"b_{column.name}")
            for column in memories.c
            if column.name not in ("owner", "id", "created_at", "purged_at")
        }
    )
)

_TYPED = PreparedStatement(
    select(versions.c.version)
    .select_from(versions.join(entries, and_(entries.c.owner == versions.c.owner, entries.c.seq == versions.c.event)))
    .where(versions.c.owner == bindparam("owner"), versions.c.memory_id == bindparam("memory_id"))
    .where(versions.c.version <= bindparam("version"))
    .where(
        or_(
            versions.c.source == "profile",
            and_(versions.c.source == "chat", versions.c.written_by.is_(None), entries.c.actor == "person"),
        )
    )
    .limit(1)
)
"""A version that the person typed, or said in a chat; words that a tool chose have a `written_by`."""


@cache
def _guarding_rows(tables: TableSet) -> dict[str, PreparedStatement]:
    """The queries that find whether a memory has a row by which an extension guards it, by what such a memory is
    called."""
    return {
        rules_of(table).guards_memory: PreparedStatement(
            select(table.c.owner)
            .where(table.c.owner == bindparam("owner"), table.c[rules_of(table).of_memory] == bindparam("memory_id"))
            .limit(1)
        )
        for table in tables.declared
        if rules_of(table).guards_memory
    }
