"""An import as a whole: which importer reads a file, the pieces in which it is written, and the load they make.

Reading a file and judging its texts need no lock. Writing is done in short pieces, so that others need not wait for
long. All pieces are one load, which can be taken back as a whole, and which is taken back by itself if the import
fails. If the process is killed, the load stays in the list as incomplete: it can be taken back there, or completed by
importing the same file again. A dry run leaves nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Protocol

from keepbook.book.ground.idempotency import Keyed, answered, heed_answer
from keepbook.book.ground.in_pieces import PIECE_SECONDS, Gaps
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import chain_head
from keepbook.book.owners.allowance import room_for_all
from keepbook.book.owners.choices import get_choices
from keepbook.book.upkeep.export_lines import altered_file
from keepbook.book.upkeep.import_answer import Imported, to_imported
from keepbook.book.upkeep.importers.incoming import Incoming, named_in_file, several_people, who_text
from keepbook.book.upkeep.importers.read_file import ReadImport, read_import
from keepbook.book.upkeep.importers.source_file import file_or_lines
from keepbook.book.upkeep.importers.write import NEW, ImportWriter, Progress
from keepbook.book.upkeep.reading_apart import limits_in
from keepbook.book.upkeep.take_back import take_back_unfinished
from keepbook.book.upkeep.transfer import MergeWriter, OurFile, read_ours, rehearse_restore, restore, restore_in_pieces
from keepbook.errors import Invalid, KeepbookError, NotFound
from keepbook.presets import Preset
from keepbook.storage.database import Tx


class PieceWriter(Protocol):
    """Something that writes an import piece by piece."""

    chats: dict[str, int]
    grown: list[str]

    @property
    def is_done(self) -> bool: ...

    @property
    def imported(self) -> Imported: ...

    def judge_ahead(self, preset: Preset, never: tuple[str, ...], enough: Callable[[], bool]) -> None: ...

    def write_piece(self, tx: Tx, preset: Preset, enough: Callable[[], bool], progress: Progress) -> None: ...


def import_file(
    book: OpenBook, given: str | PathLike[str] | Iterable[str], *, merge: bool, dry_run: bool, theirs: str | None
) -> Imported:
    """Import a file by its name, or its lines, into one book: an export of ours, or another program's file."""
    read = read_import(file_or_lines(given), limits_in(book.settings))
    return import_read(book, read, merge=merge, dry_run=dry_run, theirs=theirs)


def import_read(
    book: OpenBook, read: ReadImport, *, merge: bool = False, dry_run: bool = False, theirs: str | None = None,
    keyed: Keyed | None = None,
) -> Imported:  # fmt: skip
    """Import a file that was read. The answer to a `keyed` request is stored in the last transaction."""
    book.ask("book.import")
    if read.incoming is None:
        return _import_ours(book, read.ours or (), merge=merge, dry_run=dry_run, keyed=keyed)
    return import_incoming(book, only_person(read.incoming, theirs), dry_run=dry_run, keyed=keyed)


def read_for(book: OpenBook, sent: bytes, name: str = "file") -> ReadImport:
    """Read what was sent, before the book is opened for writing; the result is for `import_read`."""
    return read_import(sent, limits_in(book.settings), name)


def only_person(incoming: Incoming, theirs: str | None) -> Incoming:
    """The things of one person of a file. A file with several people is refused unless `theirs` names one."""
    people = incoming.people
    if theirs is not None:
        if named_in_file(theirs) not in people:
            named = ", ".join(map(who_text, people)) or "nobody"
            raise Invalid(f"{theirs!r} is nobody in this file; it has: {named}", field="theirs", code="unknown_person")
        return incoming.only_of([named_in_file(theirs)])
    if incoming.asks_whose:
        raise several_people(incoming, "say with theirs which of them this book is about")
    return incoming


def import_incoming(
    book: OpenBook, incoming: Incoming, *, dry_run: bool = False, progress: Progress = lambda _: None,
    keyed: Keyed | None = None,
) -> Imported:  # fmt: skip
    """Write what an importer has read into one book. If a limit would be reached, nothing is written."""
    book.ask("book.import")
    if dry_run:
        return _look(book, incoming, progress)
    if book._has_limits:
        _look(book, incoming, lambda _: None)
    return _write_pieces(book, _ForeignWriter(book, incoming), incoming.file, progress, keyed)


class _ForeignWriter(ImportWriter):
    """Another program's file, answered as an import."""

    def __init__(self, book: OpenBook, incoming: Incoming, *, looks: bool = False) -> None:
        super().__init__(book.origin, incoming, book.meaning, looks=looks)
        self._answer = partial(to_imported, source=incoming.source, owner=book.owner, dry_run=looks)

    @property
    def imported(self) -> Imported:
        return self._answer(self.result)


def _look(book: OpenBook, incoming: Incoming, progress: Progress) -> Imported:
    """The answer of an import without writing anything, so that no other writer has to wait."""
    writer = _ForeignWriter(book, incoming, looks=True)

    def check_room(tx: Tx) -> None:
        new = writer.result
        room_for_all(
            tx,
            memories_more=new.count("memory", NEW),
            chats_more=new.count("chat", NEW),
            letters=writer.letters,
        )

    _look_through(book, writer, progress, check_room)
    return writer.imported


def _look_through(
    book: OpenBook, writer: PieceWriter, progress: Progress, at_end: Callable[[Tx], None] = lambda _: None
) -> None:
    """Let a writer go through all pieces without writing; `at_end` is called in the last transaction."""
    while True:
        enough = _judge_ahead(book, writer)
        with book.reading() as (tx, preset, _), _only_looking(tx):
            writer.write_piece(tx, preset, enough(), progress)
            if writer.is_done:
                return at_end(tx)


def _write_pieces(
    book: OpenBook, writer: PieceWriter, file: str, progress: Progress = lambda _: None, keyed: Keyed | None = None
) -> Imported:
    load = _GrowingLoad(file)
    gaps = Gaps()
    try:
        while True:
            enough = _judge_ahead(book, writer)
            gaps.wait()
            with book.writing() as (tx, preset):
                heed_answer(tx, keyed)
                load.begin_piece(tx)
                writer.write_piece(tx, preset, enough(), progress)
                load.end_piece(tx, book, writer)
                if writer.is_done:
                    done = answered(tx, replace(writer.imported, load=load.nth), keyed)
                    break
            gaps.freed()
    except BaseException:
        if load.nth is not None and not book._is_writing:
            with suppress(NotFound):  # erased meanwhile, with all that had come in
                take_back_unfinished(book, load.nth)
        raise
    return done


def _judge_ahead(book: OpenBook, writer: PieceWriter) -> Callable[[], Callable[[], bool]]:
    """Judge the texts of the next piece while nothing is locked. Returns a function that starts the piece's clock and
    returns another, which tells whether its time is up. Inside a transaction of the program there is only one piece."""
    if book._is_writing:
        return lambda: lambda: False
    with book.reading() as (tx, preset, _):
        never = get_choices(tx).never
    writer.judge_ahead(preset, never, _stop_watch())
    return _stop_watch


def _stop_watch() -> Callable[[], bool]:
    until = time.perf_counter() + PIECE_SECONDS
    return lambda: time.perf_counter() > until


@contextmanager
def _only_looking(tx: Tx) -> Iterator[None]:
    """A context in which operations on memories answer what they would do, and write nothing."""
    before = tx.looks
    tx.looks = True
    try:
        yield
    finally:
        tx.looks = before


class _GrowingLoad:
    """The load of an import, recorded again with each piece."""

    def __init__(self, file: str) -> None:
        self._file = file[:200]
        self._pieces: list[list[int]] = []
        self.nth: int | None = None

    def begin_piece(self, tx: Tx) -> None:
        self._first = chain_head(tx).seq + 1

    def end_piece(self, tx: Tx, book: OpenBook, writer: PieceWriter) -> None:
        last = chain_head(tx).seq
        if last >= self._first:
            self._pieces.append([self._first, last])
        if not (self._pieces or writer.chats or writer.grown):
            return
        taken = writer.imported
        told: dict[str, Any] = {
            "file": self._file, "memories": taken.memories, "chats": taken.chats, "unchanged": taken.unchanged,
            "refused": len(taken.refused),
        }  # fmt: skip
        if not writer.is_done:
            told[loads.UNDER_WAY] = True
        brought = {"pieces": self._pieces, "chats": writer.chats, "grown": writer.grown}
        if self.nth is None:
            self.nth = loads.record_load(tx, book.origin, loads.MEMORIES, taken.source, brought=brought, told=told)
        else:
            loads.grow_load(tx, self.nth, brought=brought, told=told)


# Exports of ours


def _import_ours(
    book: OpenBook, lines: Sequence[tuple[int, str]], *, merge: bool, dry_run: bool, keyed: Keyed | None
) -> Imported:
    with book.reading() as (tx, _, _):
        tables = tx.tables
    ours = read_ours(tables, lines, book.hand)
    try:
        if merge:
            return _merge(book, ours, dry_run=dry_run, keyed=keyed)
        if dry_run:
            return replace(_rehearse(book, ours) or _try_in_place(book, ours), dry_run=True)
        if _others_would_wait(book, ours) and _rehearse(book, ours) is not None:
            heed, end = partial(heed_answer, keyed=keyed), partial(answered, keyed=keyed)
            return restore_in_pieces(book, ours, heed, end)
        with book.writing() as (tx, _):  # a restored book is the book that it was: all at once
            heed_answer(tx, keyed)
            return answered(tx, restore(tx, ours), keyed)
    except KeepbookError as error:
        if error.code in ("guard", "refused"):  # the database would not have it
            raise altered_file(error.message) from error
        raise


def _others_would_wait(book: OpenBook, ours: OurFile) -> bool:
    """Whether all writers would wait for this restore, if it were one transaction."""
    return ours.is_large and ours.has_covers and book._database.all_wait and not book._is_writing


def _rehearse(book: OpenBook, ours: OurFile) -> Imported | None:
    with book.reading() as (tx, _, _):
        return rehearse_restore(tx, book._database.record, ours)


def _try_in_place(book: OpenBook, ours: OurFile) -> Imported:
    """The answer of `restore`, which is rolled back."""
    tried: list[Imported] = []
    with suppress(_OnlyTried), book.writing(apart=True) as (tx, _):
        tried.append(restore(tx, ours))
        raise _OnlyTried
    return tried[0]


class _OnlyTried(Exception):
    """Rolls back what was only tried."""


def _merge(book: OpenBook, ours: OurFile, *, dry_run: bool, keyed: Keyed | None) -> Imported:
    """Add the memories of an export. All of it is looked through first, so that a line that is refused is found before
    anything is written."""
    rehearsal = MergeWriter(book, ours, looks=True)
    _look_through(book, rehearsal, lambda _: None)
    if dry_run:
        return replace(rehearsal.imported, dry_run=True)
    return _write_pieces(book, MergeWriter(book, ours), "", keyed=keyed)
