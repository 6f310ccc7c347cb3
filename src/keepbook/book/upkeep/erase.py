"""Erases memories for good: the chain keeps blank lines and stays whole. A whole book: `hidden/erase_book.py`."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select

from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.memories import find_row, to_state, version_rows
from keepbook.book.memory.proposals import alike
from keepbook.book.memory.write_path import refuse_guarded
from keepbook.errors import NotAllowed
from keepbook.storage.database import Tx
from keepbook.storage.tables.choices import proposals
from keepbook.storage.tables.memory import erasures, memories


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased and when, and what no erasure can reach."""

    owner: str
    at: datetime
    counts: dict[str, int]
    beyond_reach: tuple[str, ...]


AT_ONCE = 200
BEYOND_REACH = ("backups and archived write-ahead logs made earlier",)


def purge(tx: Tx, origin: Origin, id: str) -> None:
    """Delete a memory for good: the text, the index, the blocks that showed it. The chain keeps a blank line."""
    row = find_row(tx, id)
    if origin.actor in ledger.AUTOMATIC_ACTORS and to_state(row).name != "trash":
        raise NotAllowed(f"memory {id} is not in the trash; only a person may delete it for good", code="protected")
    refuse_guarded(tx, origin, id)
    at = ledger.begin_entry(tx)
    event = ledger.append(tx, origin, "purge", at, memory_id=id, sealed=False)
    _remove_offers_of(tx, id)
    tx.conn.execute(insert(erasures), {"owner": tx.owner, "memory_id": id, "at": at, "event": event})
    tx.compact = True


def _remove_offers_of(tx: Tx, id: str) -> None:
    """Remove the proposals that say what the memory said, whether they wait or were decided. The one whose yes wrote it
    does not name it, and a no keeps its words too. Those that name the memory go with the erasure itself."""
    said = {row.content for row in version_rows(tx, id) if row.content is not None}
    theirs = select(proposals.c.id, proposals.c.content).where(proposals.c.owner == tx.owner)
    same = [one.id for one in tx.conn.execute(theirs) if any(alike(one.content, text) for text in said)]
    for start in range(0, len(same), AT_ONCE):
        these = proposals.c.id.in_(same[start : start + AT_ONCE])
        tx.conn.execute(delete(proposals).where(proposals.c.owner == tx.owner, these))


def purge_due(tx: Tx, origin: Origin) -> int:
    """Purge what the person moved to the trash 30 days ago; returns how many."""
    due = due_for_purge(tx, stamp(tx.clock() - timedelta(days=TRASH_DAYS)))
    for id in due:
        purge(tx, origin, id)
    return len(due)


def due_for_purge(tx: Tx, trashed_before: str) -> list[str]:
    """The memories that a person moved to the trash before that time; what an agent moved there waits for the
    person."""
    query = select(memories.c.id).where(
        memories.c.owner == tx.owner, memories.c.trashed_at <= trashed_before, memories.c.purged_at.is_(None)
    )
    found = tx.conn.execute(query.order_by(memories.c.id)).scalars().all()
    return [id for id in found if ledger.last_actor(tx, id, ("delete", "undo")) == "person"]
