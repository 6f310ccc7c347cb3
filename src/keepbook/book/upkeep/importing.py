"""An import as a whole: which way a file takes, one transaction for a book, and taking it back after a dry run."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from keepbook.book.ground.opened import Opened
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import head
from keepbook.book.upkeep.elsewhere import sources
from keepbook.book.upkeep.elsewhere.incoming import Incoming, shown
from keepbook.book.upkeep.elsewhere.write import Progress, write
from keepbook.book.upkeep.export_lines import altered, is_ours
from keepbook.book.upkeep.imported import Imported, told
from keepbook.book.upkeep.transfer import import_lines
from keepbook.errors import Conflict, Invalid, KeepbookError
from keepbook.storage.database import Tx


class _OnlyLooked(Exception):
    """Takes back what a dry run brought in."""

    def __init__(self, taken: Imported) -> None:
        self.taken = taken


def import_texts(book: Opened, stream: Iterable[str], *, merge: bool, dry_run: bool, theirs: str | None) -> Imported:
    """Bring the lines of a file into one book: an export of ours, or what another program kept."""
    try:
        texts = list(stream)
    except UnicodeDecodeError:
        raise Invalid("the file is not text in UTF-8; nothing was imported", field="file") from None
    if is_ours(texts):
        return _import_ours(book, texts, merge=merge, dry_run=dry_run)
    whole = "".join(
        text if text.endswith("\n") else f"{text}\n" for text in texts
    )  # lines come with their ends or without
    return bring_in(book, of_one(sources.look_into(whole), theirs), dry_run=dry_run)


def of_one(incoming: Incoming, theirs: str | None) -> Incoming:
    """What belongs to one person of a file; a file that holds several is nobody's before somebody says so."""
    people = incoming.people
    if theirs is not None:
        if (theirs or None) not in people:
            named = ", ".join(map(shown, people)) or "nobody"
            raise Invalid(f"{theirs!r} is nobody in this file; it has: {named}", field="theirs", code="unknown_person")
        return incoming.of([theirs or None])
    if len(people) > 1:
        raise Conflict(
            f"this file holds {len(people)} people ({', '.join(map(shown, people))}); say with theirs which of them "
            "this book is about. Nothing was imported",
            code="several_people",
            people=[who or "" for who in people],
        )
    return incoming


def bring_in(
    book: Opened, incoming: Incoming, *, dry_run: bool = False, progress: Progress = lambda _: None
) -> Imported:
    """Write what comes from elsewhere into one book."""
    book.ask("book.import")
    try:
        with book.writing() as (tx, preset):
            first = head(tx).seq + 1
            brought = write(tx, book.origin, preset, incoming, sense=book.meaning, progress=progress, looks=dry_run)
            taken = told(brought, incoming.source, book.owner, dry_run=dry_run)
            if dry_run:
                raise _OnlyLooked(taken)
            held = {"chats": brought.chats, "grown": list(brought.grown)}
            return _kept(tx, book, taken, first, held, incoming.file)
    except _OnlyLooked as looked:
        return looked.taken


def _kept(tx: Tx, book: Opened, taken: Imported, first: int, held: Mapping[str, Any], file: str) -> Imported:
    """With the number of the load, where something came in."""
    last = head(tx).seq
    if last < first and not any(held.values()):
        return taken
    told = {
        "file": file[:200], "memories": taken.memories, "chats": taken.chats, "unchanged": taken.unchanged,
        "refused": len(taken.refused),
    }  # fmt: skip
    brought = {"first": first, "last": last, **held}
    return replace(taken, load=loads.keep(tx, book.origin, loads.MEMORIES, taken.source, brought=brought, told=told))


def _import_ours(book: Opened, texts: list[str], *, merge: bool, dry_run: bool) -> Imported:
    try:
        with book.writing() as (tx, preset):
            first = head(tx).seq + 1
            taken = import_lines(tx, book.origin, preset, texts, merge=merge, hand=book.hand)
            if dry_run:
                raise _OnlyLooked(taken)
            return _kept(tx, book, taken, first, {}, "") if merge else taken  # a restored book is the book that it was
    except _OnlyLooked as looked:
        return replace(looked.taken, dry_run=True)
    except KeepbookError as error:
        if error.code in ("guard", "refused"):  # the database would not have it
            raise altered(error.message) from error
        raise
