"""The owner's preset and zone: set by an entry of the ledger, and taken back by one.

Blocks and figures depend on them, so the ledger says who set what. An entry holds only the settings it changed, before
and after, so that each can be undone by itself. Other choices of the person (`owners/choices.py`) may hold their words;
these are not in entries but sealed, so that a removed word is gone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select, update

from keepbook.book.ground import stored_json
from keepbook.book.ledger import ledger as chain
from keepbook.book.ledger.ledger import Origin, last_standing
from keepbook.storage.database import Tx
from keepbook.storage.tables.ledger import ledger, owners

CONFIGURE = "configure"
SETTINGS = ("preset", "zone")
"""The columns of `owners` that change by an entry alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """The owner's own preset and zone after a write; `event` undoes it, and is None where nothing changed."""

    preset: str | None
    zone: str
    event: int | None = None


# Rules


def is_about_settings(row: Any) -> bool:
    """Whether an entry of the ledger, or a line of an export, set something of the owner's."""
    alone = row.memory_id is None and row.link_id is None and row.other_id is None
    return alone and row.action in (CONFIGURE, "undo")


# Operations


def change_settings(
    tx: Tx, origin: Origin, wanted: Mapping[str, str | None], *, undoes: int | None = None
) -> Configured:
    """Set the settings that are to change, with one entry for all of them. The owner's row must exist."""
    row = tx.conn.execute(select(owners).where(owners.c.owner == tx.owner)).one()
    before = {name: getattr(row, name) for name in SETTINGS}
    changed = {name: value for name, value in wanted.items() if value != before[name]}
    if not changed:
        return Configured(**before)
    event = chain.append(
        tx, origin, CONFIGURE if undoes is None else "undo", chain.begin_entry(tx), undoes=undoes,
        before={name: before[name] for name in changed}, after=changed,
    )  # fmt: skip
    tx.conn.execute(update(owners).where(owners.c.owner == tx.owner).values(changed))
    tx.own_preset = None
    return Configured(**before | changed, event=event)


def undo_settings(tx: Tx, origin: Origin, row: Any) -> Configured:
    """Set back what an entry changed."""
    return change_settings(tx, origin, stored_json.load_json(row.before), undoes=row.seq)


# Queries


def newer_change(tx: Tx, row: Any) -> Any:
    """The last later entry that stands and set any of the settings that this one did."""
    mine = stored_json.load_json(row.after).keys()
    return last_standing(one for one in _entries(tx, row.seq) if stored_json.load_json(one.after).keys() & mine)


def settings_drift(tx: Tx) -> int | None:
    """The entry that set a setting last, if its value is no longer the one it set; the earliest of several such."""
    last: dict[str, tuple[str | None, int]] = {}
    for one in _entries(tx, 0):
        last |= {name: (value, one.seq) for name, value in stored_json.load_json(one.after).items()}
    row = tx.conn.execute(select(owners).where(owners.c.owner == tx.owner)).first()
    wrong = [seq for name, (value, seq) in last.items() if name not in SETTINGS or getattr(row, name, None) != value]
    return min(wrong, default=None)


def _entries(tx: Tx, after: int) -> Iterator[Any]:
    """The entries about settings after an entry, oldest first."""
    alone = (ledger.c.memory_id.is_(None), ledger.c.link_id.is_(None), ledger.c.other_id.is_(None))
    about = (*alone, ledger.c.action.in_((CONFIGURE, "undo")))
    query = select(ledger).where(ledger.c.owner == tx.owner, ledger.c.seq > after, *about)
    yield from tx.conn.execute(query.order_by(ledger.c.seq))
