"""Writes what an importer has read into a book.

A memory comes in as `imported` with the source's date as the time it holds from; the time it was recorded is that of
the import. Secrets, and what the person never wants kept, stay out and are reported. A second import of the same file
changes nothing, also where the person has changed or forgotten what came in; what the source has worded anew since
becomes the next version; what was removed with a load that was taken back comes in again. A chat keeps its own times
and is left open: reading it for memories is a step of its own (`upkeep/chat_reading.py`), and no model is asked because
a file came in.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import and_, select

from keepbook.book.chats import learned_memories, threads
from keepbook.book.ground import due
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import labels
from keepbook.book.memory.changes import Statement, remember, restore_memory, update
from keepbook.book.memory.likeness.similar import find_alike
from keepbook.book.memory.memories import Memory, find_row
from keepbook.book.memory.proposals import FORGOTTEN
from keepbook.book.owners import owners
from keepbook.book.owners.choices import get_choices
from keepbook.book.recall.forgotten import ForgottenMatters, forgotten
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import near_duplicate
from keepbook.book.upkeep.importers.incoming import (
    Enough,
    Incoming,
    IncomingChat,
    IncomingMemory,
    LeftOut,
    program_name,
)
from keepbook.errors import KeepbookError, LimitReached, NotAllowed
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.memory import memories, versions

NEW, CHANGED, THERE, TRASHED = "new", "changed", "there", "trash"
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """One memory or chat, and what became of it: `new`, `changed`, `there` already, or, of a chat, there in the
    `trash`."""

    outcome: str
    what: str
    text: str
    category: str | None = None
    since: str | None = None
    repeats: str | None = None
    """What the book says already: where it is `there`, and where it is new but nearly the same."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What the import of another program's file did in one book."""

    came: tuple[ImportedItem, ...]
    refused: tuple[LeftOut, ...]
    chats: Mapping[str, int] = field(default_factory=dict)
    """The new chats by their ids, each with its turns."""
    grown: tuple[str, ...] = ()
    """The chats that were here and have more turns now."""

    def count(self, what: str, *outcomes: str) -> int:
        return sum(one.what == what and one.outcome in outcomes for one in self.came)


def write_incoming(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    incoming: Incoming,
    *,
    sense: Sense | None = None,
    progress: Progress = lambda _: None,
    looks: bool = False,
) -> ImportResult:
    """Write one person's things into their book, in the caller's transaction. If `progress` raises `Enough`, what has
    come in until then stays and the rest is left."""
    choices = get_choices(tx)
    if incoming.memories and not choices.memory:
        raise NotAllowed("memory is switched off in this book; switch it on to import memories", code="memory_off")
    importing = replace(origin, source="imported", name=program_name(incoming.source))
    writer = _Writer(tx, importing, preset, incoming.source, choices.never, sense, looks=looks)
    came: list[ImportedItem] = []
    refused = list(incoming.refused)
    steps: list[IncomingMemory | IncomingChat] = [*incoming.memories, *incoming.chats]
    for done, one in enumerate(steps, 1):
        try:
            came.append(writer.keep(one) if isinstance(one, IncomingMemory) else writer.chat(one))
        except _StaysOut as out:
            refused.append(LeftOut(one.where or one.key, str(out)))
        except LimitReached:
            raise
        except KeepbookError as error:
            text = one.text if isinstance(one, IncomingMemory) else one.title
            refused.append(LeftOut(one.where or one.key, error.message, text))
        try:
            progress(done)
        except Enough:
            break
    return ImportResult(tuple(came), tuple(refused), writer.chats, tuple(writer.grown))


class _StaysOut(Exception):
    """What is not even told again."""


class _Writer:
    def __init__(
        self,
        tx: Tx,
        origin: Origin,
        preset: Preset,
        source: str,
        never: tuple[str, ...],
        sense: Sense | None,
        *,
        looks: bool,
    ) -> None:
        self._looks = looks
        self._tx, self._origin, self._preset = tx, origin, preset
        self._source, self._never, self._sense = source, never, sense
        self._forgotten = forgotten(tx)
        self._known = _came_before(tx, source, self._forgotten)
        self._gone = _taken_back(tx)
        self.chats: dict[str, int] = {}
        self.grown: list[str] = []

    # Memories

    def keep(self, one: IncomingMemory) -> ImportedItem:
        said = self._statement(one)
        self._refuse("\n".join(filter(None, (said.content, said.body, one.subject, said.summary))))
        before = self._known.get(said.made_by or "")
        if not one.wanted and (
            self._forgotten.is_forgotten(one.text, one.since or "") if before is None else before.forgotten
        ):
            raise _StaysOut(FORGOTTEN)
        outcome, repeats = self._anew(one, said) if before is None else self._again(before, said)
        return ImportedItem(outcome, "memory", said.content, said.category, one.since, repeats)

    def _anew(self, one: IncomingMemory, said: Statement) -> tuple[str, str | None]:
        first, *rest = [*self._earlier(one, said), said]
        written = remember(self._tx, self._origin, self._preset, first)
        self._known[said.made_by or ""] = _Before(written.id, said.content)
        if written.unchanged:
            return THERE, written.content
        for later in rest:
            update(self._tx, self._origin, self._preset, written.id, later)
        alike = (near.content for near in written.similar if near_duplicate(first.content, near.content))
        return NEW, next(alike, None) or (self._under_another_heading(written) if self._looks else None)

    def _under_another_heading(self, new: Memory) -> str | None:
        """Who only looks is told of what stands in another category too: to a person it is the same line."""
        for category in self._preset.categories:
            if category != new.category:
                now = stamp(self._tx.clock())
                near = find_alike(self._tx, new.content, category, None, new.scope, now, apart_from=new.id).similar
                if near:
                    return str(near[0].content)
        return None

    def _again(self, before: "_Before", said: Statement) -> tuple[str, str | None]:
        """Known from an earlier import: only what the source says otherwise since, and nobody has touched here."""
        if before.forgotten or (not before.untouched and before.memory_id in self._gone):
            back = restore_memory(self._tx, self._origin, self._preset, before.memory_id)
            if back.content != said.content:
                update(self._tx, self._origin, self._preset, before.memory_id, said)
            return NEW, None
        if not before.untouched or before.content == said.content:
            return THERE, before.content
        update(self._tx, self._origin, self._preset, before.memory_id, said)
        return CHANGED, before.content

    def _earlier(self, one: IncomingMemory, said: Statement) -> Iterator[Statement]:
        for wording in one.earlier:
            content, body = _split_line_and_body(wording.text, self._preset.content_max)
            self._refuse(wording.text)
            yield replace(said, content=content, body=body, valid_from=wording.since, valid_until=None)

    def _statement(self, one: IncomingMemory) -> Statement:
        content, body = _split_line_and_body(one.text, self._preset.content_max)
        closed = self._preset.categories
        category = one.category if one.category and (not closed or one.category in closed) else None
        return Statement(
            content, category=category and category[:40], subject=one.subject, scope=one.scope, summary=one.summary,
            body=one.body or body, importance=one.importance, valid_from=one.since, valid_until=one.until,
            made_by=f"{self._source} {one.key}"[:200], force=True, tags=_tags(one), metadata=_metadata(one),
        )  # fmt: skip

    def _refuse(self, text: str) -> None:
        if secrets := find_secrets(text):
            raise _StaysOut(f"it holds a secret ({secrets[0].kind})")
        if topics := find_topics(text, self._never, self._sense):
            raise _StaysOut(f"you asked never to keep anything about {topics[0]}")

    # Chats

    def chat(self, one: IncomingChat) -> ImportedItem:
        now = stamp(self._tx.clock())
        owners.make_known(self._tx, now)  # who only chats has a book too
        began = next((turn.at for turn in one.turns if turn.at), None) or now
        session = f"{self._source}:{one.key}"[:200]
        thread = threads.start_thread(self._tx, began, self._preset.name, session=session)
        back = thread.deleted_at is not None and thread.id in self._gone
        if back:
            self._put_back(thread.id)
        elif thread.deleted_at is not None:  # the person's own doing: nothing brings it back but their word
            return ImportedItem(TRASHED, "chat", thread.title or one.turns[0].text[:60], since=began)
        new = one.turns[thread.turns :]
        outcome = NEW if back or not thread.turns else CHANGED if new else THERE
        at = began if not thread.turns else stamp(thread.touched_at)
        for turn in new:
            at = max(turn.at or at, at)
            speaker = program_name(self._source) if turn.role == "assistant" else None
            threads.add_message(
                self._tx, thread.id, turn.role, turn.text, at, speaker=speaker, recorded_by=self._origin.writer()
            )
        if new or back:
            due.cancel(self._tx, due.CLOSE, thread.id)  # the person says when, and which model reads it
        if outcome == NEW:
            self.chats[thread.id] = thread.turns + len(new)
        elif new:
            self.grown.append(thread.id)
        if one.title and thread.title is None:
            threads.rename(self._tx, thread.id, one.title[: threads.TITLE_LIMIT], by="rules")
        return ImportedItem(outcome, "chat", one.title or one.turns[0].text[:60], since=began)

    def _put_back(self, thread_id: str) -> None:
        """A chat that went with a load that was taken back, and what had been read out of it."""
        threads.restore_thread(self._tx, thread_id)
        for id in learned_memories.learned_from(self._tx, thread_id):
            row = find_row(self._tx, id)
            if id in self._gone and not self._forgotten.put_away(row, row.content):
                restore_memory(self._tx, self._origin, self._preset, id)


# Rules


def _split_line_and_body(text: str, most: int) -> tuple[str, str | None]:
    """A memory is one line; of a longer text the line is its beginning, and the whole becomes the body."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line, None
    cut = line[: most - 1].rsplit(" ", 1)[0] or line[: most - 1]
    return f"{cut}…", text


def _tags(one: IncomingMemory) -> list[str] | None:
    """As many as there is a place for; none keeps what is there."""
    kept = dict.fromkeys(" ".join(tag.split())[: labels.TAG_CHARS] for tag in one.tags if tag.strip())
    return list(kept)[: labels.MOST] or None


def _metadata(one: IncomingMemory) -> dict[str, str] | None:
    named = {" ".join(name.split()): value for name, value in one.metadata.items()}
    fits = {name: value for name, value in named.items() if 1 <= len(name) <= labels.KEY_CHARS}
    return {name: value[: labels.VALUE_CHARS] for name, value in list(fits.items())[: labels.MOST]} or None


# Queries


@dataclass(frozen=True, slots=True)
class _Before:
    memory_id: str
    content: str | None
    untouched: bool = True
    forgotten: bool = False


def _came_before(tx: Tx, source: str, lost: ForgottenMatters) -> dict[str, _Before]:
    """What came from this source before, by its name there; whether it still stands as it came in, and whether the
    person wanted it forgotten."""
    joined = versions.join(memories, and_(memories.c.owner == versions.c.owner, memories.c.id == versions.c.memory_id))
    query = (
        select(
            versions.c.made_by, versions.c.memory_id, versions.c.content, versions.c.version,
            memories.c.version.label("newest"), memories.c.archived_at, memories.c.trashed_at,
            memories.c.purged_at, memories.c.last_confirmed_at, memories.c.archived_reason, memories.c.edited_at,
        )
        .select_from(joined)
        .where(versions.c.owner == tx.owner, versions.c.source == "imported", versions.c.made_by.like(f"{source} %"))
        .order_by(versions.c.memory_id, versions.c.version)
    )  # fmt: skip
    found: dict[str, _Before] = {}
    for row in tx.conn.execute(query):
        away = not _is_active(row) and row.content is not None and lost.put_away(row, row.content)
        found[row.made_by] = _Before(row.memory_id, row.content, _stands(row), away)
    return found


def _taken_back(tx: Tx) -> frozenset[str]:
    """The memories and chats that went when a load was taken back, without the chats that a later one brought again."""
    gone, again = set[str](), set[str]()
    for one in loads.list_loads(tx, loads.MOST, what=loads.MEMORIES):
        if one.gone is None:
            again.update(one.brought.get("chats", ()))
        else:
            gone.update({*one.gone["memories"], *one.gone["chats"], *one.gone.get("deleted", ())} - again)
    return frozenset(gone)


def _is_active(row: Any) -> bool:
    return row.archived_at is None and row.trashed_at is None and row.purged_at is None


def _stands(row: Any) -> bool:
    return _is_active(row) and row.version == row.newest and row.last_confirmed_at is None
