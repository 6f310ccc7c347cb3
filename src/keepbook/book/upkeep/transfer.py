"""Moves a book: export as JSON Lines, restore from it, or merge its memories into another book.

An export holds every row of the owner, without the owner's name, in one fixed order and spelling. Restoring replays the
ledger through the same guards that every write passes, then exports again and compares: the result is byte for byte the
file, or nothing is kept. The lines are described in `export_lines.py`, other programs' files in `importers/`.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Select, Table, bindparam, literal_column, select, union_all

from keepbook.book.ground import due
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger import batch
from keepbook.book.ledger import ledger as chain
from keepbook.book.ledger.chain import walk_chain
from keepbook.book.ledger.cover import cover, forget_touched
from keepbook.book.ledger.ledger import Origin, canonical_json
from keepbook.book.ledger.owner_settings import is_about_settings
from keepbook.book.ledger.verify import mends_of, since_in_words, verify
from keepbook.book.memory.changes import Statement, remember
from keepbook.book.memory.labels import keys_of, relabel, told_metadata, told_tags
from keepbook.book.memory.memories import (
    EVERY_SCOPE,
    IN_STATE,
    IS_ACTIVE,
    WHOLE,
    fits_scope,
    indexed_text_of,
    state_name,
)
from keepbook.book.owners.authority import ALONE, Actor
from keepbook.book.owners.switches import topics_told
from keepbook.book.recall.forgotten import forgotten
from keepbook.book.recall.rebuild import leave_words
from keepbook.book.text.indexes.turn_index import INDEXED, put_turns
from keepbook.book.text.indexes.word_index import mark_put_away, put_words
from keepbook.book.upkeep import import_checks
from keepbook.book.upkeep.export_lines import (
    BEFORE_COVERS,
    HEADER,
    Closing,
    altered_file,
    broken_line,
    of_ours,
    read_lines,
    respell_lines,
    sorted_by_kind,
)
from keepbook.book.upkeep.hidden.hidden_book import HiddenBook
from keepbook.book.upkeep.hooks import upkeep_hooks
from keepbook.book.upkeep.import_answer import Imported
from keepbook.book.upkeep.importers.incoming import LeftOut
from keepbook.book.upkeep.importers.known import KnownImport, LookedMemories
from keepbook.book.upkeep.importers.write import about_topic, imported_words, open_for_import
from keepbook.book.upkeep.restoring.pieces import abandon, bring_back_left, empty_book, take_steps, touch_tokens
from keepbook.book.upkeep.restoring.replay import replay_steps
from keepbook.errors import Conflict, Invalid, KeepbookError
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.installed import Record
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.memory import (
    WORDS,
)
from keepbook.storage.tables.upkeep import due as reminders
from keepbook.storage.transactions.hidden import RESTORED
from keepbook.storage.twin import twin_of

SMALL_LINES, SMALL_LETTERS = 300, 100_000
"""The lines and letters of a small file. If a file is larger, its words are indexed after the restore; and on an engine
on which all others wait for a writer, the restore is rehearsed before."""


@cache
def _rows(table: Table) -> Select[Any]:
    rows = select(*(column for column in table.c if column.name != "owner")).where(table.c.owner == bindparam("of"))
    if table is reminders:
        rows = rows.where(table.c.work != due.INDEX)  # who restores it writes all words
    return rows.order_by(*table.primary_key.columns).execution_options(yield_per=1000)


@cache
def _held(tables: TableSet) -> PreparedStatement:
    """The kinds of which a book has any rows, asked in one query, since it has none of most."""
    return PreparedStatement(
        union_all(
            *(
                select(literal_column(f"'{kind}'").label("kind")).where(
                    select(table.c.owner).where(table.c.owner == bindparam("of")).exists()
                )
                for kind, table in tables.exported.items()
            )
        )
    )


# Operations


def export_lines(tx: Tx) -> Iterator[str]:
    """The whole book, line by line, without line ends."""
    closing = Closing()
    since = since_in_words(mends_of(tx))
    if since is None:
        value = HEADER
    else:
        value = {**HEADER, "since": since}
    yield (line := canonical_json(value))
    closing.add(line, str(HEADER["kind"]))
    held = {kind for (kind,) in _held(tx.tables).tuples(tx.conn, {"of": tx.owner})}
    for kind, table in tx.tables.exported.items():
        if kind not in held:
            continue
        query = _rows(table)
        names = query.selected_columns.keys()
        for row in tx.conn.execute(query, {"of": tx.owner}):
            told = dict(zip(names, row, strict=True), kind=kind)
            if kind == "seal" and told["what"] in tx.tables.unexported:
                told["salt"] = None
            yield (line := canonical_json(told))
            closing.add(line, kind)
    yield closing.line(chain.chain_head(tx).hash)


@dataclass(frozen=True, slots=True)
class OurFile:
    """An export of ours that was read and checked: its rows by kind, and its lines as we spell them today."""

    found: Mapping[str, list[Any]]
    lines: Sequence[str]

    @property
    def is_large(self) -> bool:
        """Whether others would have to wait long while it is restored."""
        return len(self.lines) > SMALL_LINES or sum(map(len, self.lines)) > SMALL_LETTERS

    @property
    def has_covers(self) -> bool:
        """Whether its rows beside memories are sealed, as they are since the first format."""
        return bool(json.loads(self.lines[0])["format"] != BEFORE_COVERS)


def read_ours(tables: TableSet, numbered: Sequence[tuple[int, str]], hand: Actor = ALONE["person"]) -> OurFile:
    """Read one of our files and check it by itself, while no book is locked. `hand` is the actor who imports."""
    ours = of_ours(read_lines(numbered), tables)
    with _altered():
        found = sorted_by_kind(ours, tables)
        import_checks.check_import(found, hand, tables)
        _check_chain(found, ours[-1].value.get("hash"))
        return OurFile(found, respell_lines(ours, tables))


def restore(tx: Tx, ours: OurFile) -> Imported:
    """Restore one of our files into an empty book."""
    with _altered():
        return _with_hooks(tx, _restore(tx, ours))


def restore_in_pieces(
    book: OpenBook, ours: OurFile, heed: Callable[[Tx], None], answered: Callable[[Tx, Imported], Imported]
) -> Imported:
    """Restore a file that was rehearsed, while others write. `heed` is asked at the beginning, `answered` at the end,
    each in a transaction of the restore."""
    bring_back_left(book._database, book.owner)
    hidden = HiddenBook(book._database, book.owner, RESTORED)
    with book.writing() as (tx, _):
        heed(tx)
        if (same := _same_or_empty(tx, ours)) is not None:
            return answered(tx, same)
        before = list(export_lines(tx))
        empty_book(tx)
        hidden.hide(tx, before)
        steps = replay_steps(tx, ours.found)

    def end(tx: Tx) -> Imported:
        touch_tokens(tx)
        cover(tx)
        leave_words(tx)
        return answered(tx, _with_hooks(tx, Imported(len(ours.found["memory"]))))

    try:
        with _altered():
            hidden.write(steps)
            done: Imported = hidden.end(end)
    except BaseException:
        abandon(book._database, book.owner, hidden)
        raise
    return done


def _with_hooks(tx: Tx, restored: Imported) -> Imported:
    return replace(restored, to_arm=tuple(name for _, after in upkeep_hooks("after_restore") for name in after(tx)))


def rehearse_restore(tx: Tx, record: Record, ours: OurFile) -> Imported | None:
    """The answer that `restore` would give, found by restoring into a book in memory; this one is only read. None if no
    book in memory can be like this one, by its `record` of extensions."""
    with _altered():
        if (same := _same_or_empty(tx, ours)) is not None:
            return same
    rehearsal = twin_of(tx, record)
    if rehearsal is None:
        return None
    try:
        with rehearsal.write(tx.owner) as there:
            restored = restore(there, ours)
            there.afterwards.clear()  # nobody searches it
            return restored
    finally:
        rehearsal.close()


@contextmanager
def _altered() -> Iterator[None]:
    """A context that turns an error about the contents of our own file into the error that the file was altered."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise altered_file(f"{type(error).__name__}: {error}") from error


def _restore(tx: Tx, ours: OurFile) -> Imported:
    """Restore into an empty book, and prove that it reads as the file does. If the book is the file's already, nothing
    changes."""
    found, lines = ours.found, ours.lines
    if (same := _same_or_empty(tx, ours)) is not None:
        return same
    if chain.chain_head(tx).link:  # of the owner's settings and tokens alone: the file's chain takes its place
        empty_book(tx)
    take_steps(tx, replay_steps(tx, found))
    if ours.has_covers:
        forget_touched(tx)
        if list(export_lines(tx)) != lines:
            raise altered_file("restored, it would read differently")
    else:
        batch.seal_all(tx)
    touch_tokens(tx)
    cover(tx)
    if not (result := verify(tx)).ok:
        raise altered_file(f"{result.where}: {result.why}")
    if ours.is_large:
        leave_words(tx)
    else:
        _index(tx, found)
    return Imported(len(found["memory"]))


def _same_or_empty(tx: Tx, ours: OurFile) -> Imported | None:
    """The answer if the book is the file's already; None if it is empty. Any other book is refused."""
    present = list(export_lines(tx))
    if present == ours.lines:
        return Imported(0, len(ours.found["memory"]))
    if not all(_is_of_a_new_book(json.loads(line)) for line in present[1:-1]):
        raise Conflict(
            "this book is not empty; add the file's memories with --merge, or import into another owner",
            code="not_empty",
        )
    return None


def _is_of_a_new_book(line: Mapping[str, Any]) -> bool:
    """Whether a line of an export is one that a new, empty book has too: its owner and settings."""
    return line["kind"] in ("owner", "cover", "seal") or (
        line["kind"] == "entry" and is_about_settings(SimpleNamespace(**line))
    )


def _check_chain(found: Mapping[str, list[Any]], newest: object) -> None:
    rows = {
        kind: [SimpleNamespace(**row, _mapping=row) for row in sorted(found[kind], key=lambda row: row[number])]
        for kind, number in (
            ("entry", "link"),
            ("cover", "link"),
            ("version", "event"),
            ("seal", "nth"),
            ("mend", "link"),
        )
    }
    texts = [row for row in rows["version"] if row.content is not None]
    erased = {row["memory_id"] for row in found["erasure"]}
    walked = walk_chain(rows["entry"], rows["cover"], texts, rows["seal"], erased, mends=rows["mend"])
    if walked.stopped is not None:
        if walked.stopped.event:
            at = f"entry {walked.stopped.event}"
        else:
            at = f"link {walked.stopped.link}"
        raise Invalid(
            f"the file's ledger is broken at {at}: {walked.stopped.why}; nothing was imported",
            field="file",
            code="altered",
        )
    if newest is not None and newest != walked.hash:
        raise altered_file("its newest hash is another than the last line says")


class MergeWriter:
    """Adds the active memories of an export to a book, piece by piece; with `looks` it writes nothing."""

    def __init__(self, book: OpenBook, ours: OurFile, *, looks: bool = False) -> None:
        origin = book.origin
        self._origin = Origin(origin.actor, origin.door, origin.thread_id, source="imported")
        self._sense = book.meaning
        with _altered():
            self._records = _active(ours.found)
        self._looked = None
        if looks:
            self._looked = LookedMemories()
        self._done = self._taken = 0
        self._refused: list[LeftOut] = []
        self.chats: dict[str, int] = {}
        self.grown: list[str] = []

    @property
    def is_done(self) -> bool:
        return self._done >= len(self._records)

    @property
    def imported(self) -> Imported:
        left_out = len(self._refused)
        return Imported(self._taken, self._done - self._taken - left_out, refused=tuple(self._refused))

    def judge_ahead(self, preset: Preset, never: tuple[str, ...], enough: Callable[[], bool]) -> None:
        """Look for topics in the next piece, so that they are known when it is written."""
        for one in self._records[self._done :]:
            if not never or enough():
                break
            topics_told(imported_words(one.statement(preset), preset), never, self._sense)

    def write_piece(self, tx: Tx, preset: Preset, enough: Callable[[], bool], progress: Callable[[int], None]) -> None:
        never, put_away = open_for_import(tx), forgotten(tx)
        while not self.is_done:
            one = self._records[self._done]
            topics = topics_told(imported_words(one.statement(preset), preset), never, self._sense)
            if topics:
                self._refused.append(LeftOut(f"line {one.number}", about_topic(topics[0])))
            elif put_away.is_forgotten(one.fields["content"], one.said_at):
                self._refused.append(LeftOut(f"line {one.number}", "you have put it away since"))
            else:
                self._taken += self._bring(tx, preset, one)
            self._done += 1
            progress(self._done)
            if enough():
                break

    def _bring(self, tx: Tx, preset: Preset, one: "_ActiveMemory") -> bool:
        try:
            return self._keep(tx, preset, one.statement(preset))
        except KeepbookError as error:
            raise broken_line(one.number, f"cannot be kept: {error.message}") from error

    def _keep(self, tx: Tx, preset: Preset, said: Statement) -> bool:
        """Keep one memory; returns whether it is new."""
        if self._looked is not None and self._looked.same(said) is not None:
            return False
        written = remember(tx, self._origin, preset, said)
        if self._looked is not None and not written.unchanged:
            self._looked.add(said, KnownImport(written.id, said.content))
        return not written.unchanged


@dataclass(frozen=True, slots=True)
class _ActiveMemory:
    """A memory of an export: the line it stands on, when it was said, and the fields for `remember`."""

    number: int
    said_at: str
    fields: dict[str, Any]

    def statement(self, preset: Preset) -> Statement:
        """What is kept of it, without a category that this book's preset does not have."""
        fields = dict(self.fields)
        if preset.categories and fields.get("category") not in preset.categories:
            fields.pop("category", None)
        return Statement(**fields, force=True)


def _active(found: Mapping[str, list[Any]]) -> list[_ActiveMemory]:
    """The active memories of an export, oldest first."""
    current = {(row["memory_id"], row["version"]): row for row in found["version"]}
    first_line = 2 + len(found["owner"]) + len(found["entry"])
    records = []
    for position, row in enumerate(found["memory"]):
        if row["archived_at"] or row["trashed_at"] or row["purged_at"]:
            continue
        if not fits_scope(row["scope"], EVERY_SCOPE):  # a lesson without its trades would be hearsay
            continue
        version = current[row["id"], row["version"]]
        record = {name: row[name] for name in ("category", "subject", "scope", "importance") if row[name] is not None}
        said = (*WORDS, "valid_from", "valid_until")
        record |= {name: version[name] for name in said if version[name] is not None and name != "spans"}
        record |= {"metadata": told_metadata(version["metadata"]), "tags": told_tags(version["tags"])}
        records.append((row["created_at"], _ActiveMemory(first_line + position, version["recorded_at"], record)))
    return [one for _, one in sorted(records, key=lambda item: (item[0], item[1].number))]


def _index(tx: Tx, found: Mapping[str, list[Any]]) -> None:
    """Index the words of chats and memories, which an export does not have."""
    incognito = {row["id"] for row in found["thread"] if row["incognito"]}
    said = (row for row in found["message"] if row["role"] in INDEXED and not row.get("unkept"))
    put_turns(tx, (row for row in said if row["thread_id"] not in incognito))
    for row in tx.conn.execute(WHOLE.where(IS_ACTIVE), {"owner": tx.owner}).all():
        put_words(tx, row.id, indexed_text_of(row, row))
    for row in tx.conn.execute(WHOLE.where(IN_STATE["all"]), {"owner": tx.owner}).all():
        relabel(tx, row.id, set(), keys_of(row.metadata, row.tags))
        if state_name(row) != "active":
            mark_put_away(tx, row.id, row.content)
