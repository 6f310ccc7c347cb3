"""Mends a whole database, owner by owner, once a backup was made and proved: `keepbook db mend`.

Each step is a function of its own, so that the door can ask between them. What is done to a book stands in
`book/upkeep/mend.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keepbook.book.upkeep.mend import mend_books
from keepbook.copies import CopyVerification, prove
from keepbook.errors import KeepbookError
from keepbook.installation import Installation
from keepbook.settings import load_settings
from keepbook.storage.engines.unguarded import refuse_in_use


@dataclass(frozen=True, slots=True)
class MendedBook:
    """Whose book was mended: the entry that says so, how many rows were set aside, and into which file."""

    owner: str
    event: int
    rows: int
    file: str


def refuse_open_elsewhere(db: str) -> None:
    """Refuse a database that another program has open; PostgreSQL is asked as its administrator."""
    refuse_in_use(db)


def prove_same(db: str, file: Path) -> list[str]:
    """Open a backup aside and find in it what the book holds, owner by owner; returns the owners whose ledger does not
    hold. A copy that differs is refused."""
    copied = prove(db, file)
    with Installation(db, settings=load_settings(db=db).but(allow_bypass_login=True), embedder="none") as kb:
        held = [(one.owner, kb.book(one.owner).verify()) for one in copied]
    found = [CopyVerification(owner, one.ok, one.entries, one.links, one.why) for owner, one in held]
    if found != copied:
        raise KeepbookError("the copy is not what the book is; nothing was changed, try again", code="copy_failed")
    return [one.owner for one in found if not one.ok]


def mend(db: str, backup: Path, owners: Sequence[str]) -> list[MendedBook]:
    """Move what does not fit in these owners' books into files beside the backup, all or nothing. The backup must have
    been made and proved, and nobody else may have the database open."""
    return [MendedBook(owner, *told) for owner, told in mend_books(db, backup, owners).items()]
