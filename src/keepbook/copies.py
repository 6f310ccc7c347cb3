"""Copies of a whole database: makes them, and proves them by opening each as a database of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keepbook.errors import Conflict
from keepbook.installation import Installation
from keepbook.settings import load_settings
from keepbook.storage.backups import copy as copy_database
from keepbook.storage.backups import open_copy


@dataclass(frozen=True, slots=True)
class CopyVerification:
    """Whether one owner's ledger holds in a backup. `why` says why not, or why it could not be looked at."""

    owner: str
    ok: bool
    entries: int
    links: int
    why: str | None = None


def back_up(db: str, target: Path, *, busy_seconds: float = 30.0) -> None:
    """Copy a whole database with all its owners; on PostgreSQL call it as the administrator."""
    copy_database(db, target, busy_seconds)


def prove(db: str, file: Path) -> list[CopyVerification]:
    """Open a backup as a database of its own, and verify the ledger of every owner in it."""
    with open_copy(db, file) as (place, owners):
        settings = load_settings(db=place).but(allow_bypass_login=True)
        with Installation(place, settings=settings, embedder="none") as kb:
            return verify_each(kb, owners)


def verify_each(kb: Installation, owners: Sequence[str]) -> list[CopyVerification]:
    """Verify the ledgers of these owners. One that was being erased or restored has none to be held against; in the
    place of the book, a sweep ends that."""
    found = []
    for owner in owners:
        try:
            one = kb.book(owner).verify()
            found.append(CopyVerification(owner, one.ok, one.entries, one.links, one.why))
        except Conflict as hidden:
            if hidden.code != "busy":
                raise
            found.append(CopyVerification(owner, True, 0, 0, hidden.message.partition(";")[0]))
    return found
