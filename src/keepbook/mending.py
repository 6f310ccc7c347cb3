"""Mends a whole database, owner by owner, after a backup was made and proved: `keepbook db mend`.

Each step is a function of its own, so that the command can ask the person between them. `book/upkeep/mend.py` has what
is done to a book.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keepbook.book.upkeep.mend import mend_books
from keepbook.copies import prove, verify_each
from keepbook.errors import KeepbookError
from keepbook.installation import Installation
from keepbook.settings import load_settings
from keepbook.storage.engines.unguarded import refuse_in_use


@dataclass(frozen=True, slots=True)
class MendedBook:
    """What was done to one book.

    event: the ledger entry that says so
    rows: how many rows were set aside
    file: the file they were moved to
    """

    owner: str
    event: int
    rows: int
    file: str


def refuse_open_elsewhere(db: str) -> None:
    """Refuse a database that another program has open; on PostgreSQL call it as the administrator."""
    refuse_in_use(db)


def prove_same(db: str, file: Path) -> list[str]:
    """Verify every ledger in a backup and in the database, and refuse a backup for which the two results differ.
    Returns the owners whose ledger does not hold."""
    copied = prove(db, file)
    with Installation(db, settings=load_settings(db=db).but(allow_bypass_login=True), embedder="none") as kb:
        found = verify_each(kb, [one.owner for one in copied])
    if found != copied:
        raise KeepbookError("the copy is not what the book is; nothing was changed, try again", code="copy_failed")
    return [one.owner for one in found if not one.ok]


def mend(db: str, backup: Path, owners: Sequence[str]) -> list[MendedBook]:
    """Move what does not fit in these owners' books into files beside the backup, all or nothing. The backup must have
    been made and proved, and nobody else may have the database open."""
    return [MendedBook(owner, *told) for owner, told in mend_books(db, backup, owners).items()]
