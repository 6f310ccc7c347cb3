"""The result of an import, whether the file is an export of ours or another program's."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepbook.book.upkeep.importers.incoming import LeftOut
from keepbook.book.upkeep.importers.write import CHANGED, NEW, THERE, ImportedItem, ImportResult
from keepbook.errors import KeepbookError

OURS = "keepbook"


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did in one book: memories taken, memories that were there already, and the agents that would run
    by themselves or start a program once the person arms them here. From elsewhere: which program's file it was, the
    chats taken, and what stayed out and why. After a dry run nothing of it was kept, and `came` tells each thing.
    `load` is the number by which it is taken back, where something came in."""

    memories: int
    unchanged: int = 0
    to_arm: tuple[str, ...] = ()
    dry_run: bool = False
    source: str = OURS
    owner: str | None = None
    chats: int = 0
    refused: tuple[LeftOut, ...] = ()
    came: tuple[ImportedItem, ...] = ()
    load: int | None = None


def to_imported(brought: ImportResult, source: str, owner: str, *, dry_run: bool) -> Imported:
    """The result for another program's file."""
    if dry_run:
        came = brought.came
    else:
        came = ()
    return Imported(
        memories=brought.count("memory", NEW, CHANGED),
        unchanged=brought.count("memory", THERE),
        dry_run=dry_run,
        source=source,
        owner=owner,
        chats=brought.count("chat", NEW, CHANGED),
        refused=brought.refused,
        came=came,
    )


def say_what_came(error: KeepbookError, done: Sequence[Imported], left: Sequence[str]) -> None:
    """Add to an error what came in before it: an import of several people is written book by book."""
    came = "; ".join(f"{one.owner}: {one.memories} new, {one.unchanged} known, {one.chats} chats" for one in done)
    error.message += (
        f". Already imported: {came}. Not imported: {', '.join(left)}. Run the same import again when that is mended: "
        "what came in is known again, nothing comes in twice"
    )
    error.args = (error.message,)
    error.details |= {"imported": [one.owner for one in done], "left": list(left)}
