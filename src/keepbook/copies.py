"""Copies of a whole database: makes them, and proves them by opening each as a database of its own."""

from dataclasses import dataclass
from pathlib import Path

from keepbook.installation import Installation
from keepbook.settings import load_settings
from keepbook.storage.backups import copy as copy_database
from keepbook.storage.backups import open_copy


@dataclass(frozen=True, slots=True)
class CopyVerification:
    """Whether one owner's ledger holds in a backup."""

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
            found = [(owner, kb.book(owner).verify()) for owner in owners]
    return [CopyVerification(owner, one.ok, one.entries, one.links, one.why) for owner, one in found]
