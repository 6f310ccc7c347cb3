"""An import as a whole: which importer reads a file, one transaction for each book, and rolling back a dry run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import chain_head
from keepbook.book.upkeep.export_lines import altered_file
from keepbook.book.upkeep.import_answer import Imported, to_imported
from keepbook.book.upkeep.importers.incoming import Incoming, who_text
from keepbook.book.upkeep.importers.read_file import ReadImport, read_import
from keepbook.book.upkeep.importers.write import Progress, write_incoming
from keepbook.book.upkeep.reading_apart import limits_in
from keepbook.book.upkeep.transfer import import_lines
from keepbook.errors import Conflict, Invalid, KeepbookError
from keepbook.storage.database import Tx


class _OnlyLooked(Exception):
    """Takes back what a dry run brought in."""

    def __init__(self, taken: Imported) -> None:
        self.taken = taken


def import_texts(book: OpenBook, stream: Iterable[str], *, merge: bool, dry_run: bool, theirs: str | None) -> Imported:
    """Import the lines of a file into one book: an export of ours, or another program's file."""
    return import_read(book, read_for(book, _joined(stream)), merge=merge, dry_run=dry_run, theirs=theirs)


def import_read(
    book: OpenBook, read: ReadImport, *, merge: bool = False, dry_run: bool = False, theirs: str | None = None
) -> Imported:
    """Import a file that was read."""
    book.ask("book.import")
    if read.incoming is None:
        return _import_ours(book, read.ours or (), merge=merge, dry_run=dry_run)
    return import_incoming(book, only_person(read.incoming, theirs), dry_run=dry_run)


def read_for(book: OpenBook, sent: bytes, name: str = "file") -> ReadImport:
    """Read what was sent, before the book is opened for writing: `import_read` takes what comes of it."""
    return read_import(sent, limits_in(book.settings), name)


def _joined(stream: Iterable[str]) -> bytes:
    """Lines come with their ends or without."""
    whole = bytearray()
    try:
        for text in stream:
            whole += text.encode()
            if not text.endswith("\n"):
                whole += b"\n"
    except UnicodeError:
        raise Invalid("the file is not text in UTF-8; nothing was imported", field="file") from None
    return bytes(whole)


def only_person(incoming: Incoming, theirs: str | None) -> Incoming:
    """The things of one person of a file. A file with several people is refused unless `theirs` names one."""
    people = incoming.people
    if theirs is not None:
        if (theirs or None) not in people:
            named = ", ".join(map(who_text, people)) or "nobody"
            raise Invalid(f"{theirs!r} is nobody in this file; it has: {named}", field="theirs", code="unknown_person")
        return incoming.only_of([theirs or None])
    if len(people) > 1:
        raise Conflict(
            f"this file holds {len(people)} people ({', '.join(map(who_text, people))}); say with theirs which of them "
            "this book is about. Nothing was imported",
            code="several_people",
            people=[who or "" for who in people],
        )
    return incoming


def import_incoming(
    book: OpenBook, incoming: Incoming, *, dry_run: bool = False, progress: Progress = lambda _: None
) -> Imported:
    """Write what an importer has read into one book."""
    book.ask("book.import")
    try:
        with book.writing() as (tx, preset):
            first = chain_head(tx).seq + 1
            brought = write_incoming(
                tx, book.origin, preset, incoming, sense=book.meaning, progress=progress, looks=dry_run
            )
            taken = to_imported(brought, incoming.source, book.owner, dry_run=dry_run)
            if dry_run:
                raise _OnlyLooked(taken)
            held = {"chats": brought.chats, "grown": list(brought.grown)}
            return _record_load(tx, book, taken, first, held, incoming.file)
    except _OnlyLooked as looked:
        return looked.taken


def _record_load(tx: Tx, book: OpenBook, taken: Imported, first: int, held: Mapping[str, Any], file: str) -> Imported:
    """With the number of the load, where something came in."""
    last = chain_head(tx).seq
    if last < first and not any(held.values()):
        return taken
    told = {
        "file": file[:200], "memories": taken.memories, "chats": taken.chats, "unchanged": taken.unchanged,
        "refused": len(taken.refused),
    }  # fmt: skip
    brought = {"first": first, "last": last, **held}
    return replace(
        taken, load=loads.record_load(tx, book.origin, loads.MEMORIES, taken.source, brought=brought, told=told)
    )


def _import_ours(book: OpenBook, lines: Sequence[tuple[int, str]], *, merge: bool, dry_run: bool) -> Imported:
    try:
        with book.writing() as (tx, preset):
            first = chain_head(tx).seq + 1
            taken = import_lines(tx, book.origin, preset, lines, merge=merge, hand=book.hand)
            if dry_run:
                raise _OnlyLooked(taken)
            return (
                _record_load(tx, book, taken, first, {}, "") if merge else taken
            )  # a restored book is the book that it was
    except _OnlyLooked as looked:
        return replace(looked.taken, dry_run=True)
    except KeepbookError as error:
        if error.code in ("guard", "refused"):  # the database would not have it
            raise altered_file(error.message) from error
        raise
