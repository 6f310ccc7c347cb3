"""Entries about things that an extension keeps beside memories: who set what, and undo like that of any other write.

An entry names its thing in `other_id`, as `kind:id`, and holds only what it changed, before and after; words that have
versions of their own are held by their numbers. The extension's `upkeep` module sets them back (`THINGS`, `set_thing`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from keepbook.book.ground import stored_json
from keepbook.book.ledger import ledger as chain
from keepbook.book.ledger.ledger import Origin, last_standing
from keepbook.errors import Conflict
from keepbook.extension import load_part, loaded_extensions
from keepbook.storage.database import Tx
from keepbook.storage.tables.ledger import ledger

SET = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingSet:
    """A thing of an extension's after its entry was undone; `event` undoes that."""

    what: str
    id: str
    event: int | None = None


# Rules


def is_about_thing(row: Any) -> bool:
    """Whether an entry of the ledger is about a thing of an extension's."""
    return row.memory_id is None and row.link_id is None and ":" in (row.other_id or "")


# Operations


def record_thing(
    tx: Tx, origin: Origin, what: str, id: str, before: Mapping[str, Any], after: Mapping[str, Any],
    undoes: int | None = None,
) -> int:  # fmt: skip
    """Write the entry of a change; returns its number."""
    return chain.append(
        tx, origin, SET if undoes is None else "undo", chain.begin_entry(tx), other_id=f"{what}:{id}", before=before,
        after=after, undoes=undoes,
    )  # fmt: skip


def undo_thing(tx: Tx, origin: Origin, row: Any) -> ThingSet:
    """Set back what an entry changed, by the extension that knows the thing."""
    what, _, id = row.other_id.partition(":")
    before, after = (stored_json.load_json(text) for text in (row.before, row.after))
    for one in loaded_extensions():
        part = None
        if one.upkeep is not None:
            part = load_part(one.upkeep)
        if what in getattr(part, "THINGS", ()):
            part.set_thing(tx, origin, what, id, before)  # type: ignore[union-attr]
            return ThingSet(what=what, id=id, event=record_thing(tx, origin, what, id, after, before, row.seq))
    raise Conflict(f"entry {row.seq} cannot be undone here: the extension that knows a {what} is not there")


# Queries


def newer_change_of_thing(tx: Tx, row: Any) -> Any:
    """The last later entry that stands and set any of what this one did."""
    mine = stored_json.load_json(row.after).keys()
    query = select(ledger).where(ledger.c.owner == tx.owner, ledger.c.seq > row.seq, ledger.c.other_id == row.other_id)
    later = tx.conn.execute(query.order_by(ledger.c.seq))
    return last_standing(one for one in later if stored_json.load_json(one.after).keys() & mine)
