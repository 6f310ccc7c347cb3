"""Owners: the people the books are about, and which preset is in force for them."""

import unicodedata
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, union

from keepbook.errors import Invalid
from keepbook.patterns import regex
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.ledger import ledger, owners
from keepbook.storage.tables.memory import memories, versions
from keepbook.storage.tables.upkeep import due

_UNSEEN = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that no name may have: controls, surrogates, line and paragraph separators."""


def clean_owner(name: object) -> str:
    """An owner's name, checked. There is no book without an owner, and never a book of all."""
    if not isinstance(name, str) or not name.strip():
        raise Invalid("name the owner: every book belongs to someone", field="owner")
    if (
        name != name.strip()
        or len(name) > 200
        or not (name.isprintable() or all(unicodedata.category(mark) not in _UNSEEN for mark in name))
    ):
        raise Invalid(
            "an owner's name has 1 to 200 characters, no control characters, no spaces at its ends",
            field="owner",
        )
    return name


def everyone(conn: Connection) -> list[str]:
    """All owners in this database. An owner who has only chatted has no row in `owners`, but in `due`."""
    return list(conn.execute(union(select(owners.c.owner), select(due.c.owner)).order_by("owner")).scalars())


def preset_name(tx: Tx) -> str | None:
    """The preset this owner has chosen, if any. It is read together with the end of the ledger, or here."""
    if tx.own_preset is None:
        row = _PRESET.first(tx.conn, {"owner": tx.owner})
        tx.own_preset = (None if row is None else row.preset,)
    return tx.own_preset[0]


def zone_name(tx: Tx) -> str:
    """The owner's time zone: from an active memory with the subject `timezone` in the person's own words, or else as
    configured. Days are counted by it, so words that an agent wrote or recorded cannot set it."""
    told = _ABOUT_TIMEZONE.tuples(tx.conn, {"owner": tx.owner})
    named = (zone for (content,) in told for zone in _ZONES.findall(content))
    for zone in named:
        try:
            return ZoneInfo(zone).key
        except (KeyError, ValueError, OSError):
            continue
    found = _ZONE.first(tx.conn, {"owner": tx.owner})
    return (found and found.zone) or "UTC"


def make_known(tx: Tx, now: str) -> None:
    """Give the owner a row with the settings of a new book, if there is none. Settings are changed by entries
    (`ledger/owner_settings.py`)."""
    known = select(owners.c.owner).where(owners.c.owner == tx.owner)
    if tx.conn.execute(known).first() is None:
        tx.conn.execute(insert(owners), {"owner": tx.owner, "created_at": now})


def clean_zone(zone: str) -> ZoneInfo:
    try:
        return ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise Invalid(f"{zone!r} is no time zone; write it like Europe/Oslo", field="zone") from None


_ZONES = regex(r"\b[A-Z][A-Za-z]+(?:/[A-Za-z_+-]+)+\b|\bUTC\b")
_ABOUT_TIMEZONE = PreparedStatement(
    select(versions.c.content)
    .join(
        memories,
        and_(
            memories.c.owner == versions.c.owner,
            memories.c.id == versions.c.memory_id,
            memories.c.version == versions.c.version,
        ),
    )
    .join(ledger, and_(ledger.c.owner == versions.c.owner, ledger.c.seq == versions.c.event))
    .where(memories.c.owner == bindparam("owner"), memories.c.subject_key == "timezone")
    .where(
        or_(
            ledger.c.actor == "person",
            and_(versions.c.quoted == 1, versions.c.written_by.is_(None), ledger.c.actor != "agent"),
        )
    )
    .where(memories.c.archived_at.is_(None), memories.c.trashed_at.is_(None), memories.c.purged_at.is_(None))
    .order_by(memories.c.updated_at.desc(), memories.c.id)
)
_ZONE = PreparedStatement(select(owners.c.zone).where(owners.c.owner == bindparam("owner")))
_PRESET = PreparedStatement(select(owners.c.preset).where(owners.c.owner == bindparam("owner")))


class Presets:
    """Which preset is in force: the call's, else the installation's, else the owner's own, else `general`."""

    def __init__(self, load: Any, chosen: str | None) -> None:
        self._load = load
        self.chosen = chosen

    def of(self, tx: Tx, asked: str | None = None) -> Preset:
        preset: Preset | None = tx.presets.get((self, asked))
        if preset is None:
            preset = self._load(asked or self.chosen or preset_name(tx) or "general")
            if not tx.writes:  # cached for pages, which ask often; a write may change the choice
                tx.presets[self, asked] = preset
        return preset
