"""Undo: any write can be taken back, as long as nothing newer stands on it.

Taking back is itself a write, so it can be taken back too: undo of an undo is redo.
"""

from keepbook.book.ground import stored_json
from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.changes import revert
from keepbook.book.memory.links import Link, set_removed
from keepbook.book.memory.memories import State, Written
from keepbook.errors import Conflict, Invalid, NotAllowed
from keepbook.presets import Preset
from keepbook.storage.database import Tx


def undo(tx: Tx, origin: Origin, preset: Preset, event: int) -> Written | Link:
    if isinstance(event, bool) or not isinstance(event, int):
        raise Invalid("name the entry to undo by its number, as the write answered it", field="event")
    row = ledger.get_row(tx, event)
    if row.salt is None:
        raise Conflict(f"entry {event} cannot be undone: what it was about has been deleted for good", code="purged")
    if row.actor == "person" and origin.actor != "person" and not origin.for_person:
        raise NotAllowed(f"entry {event} is the person's own; only they take it back", code="person_only")
    newer = ledger.newer_touch(tx, event, row.memory_id, row.link_id)
    if newer is not None:
        what = "link" if row.link_id else "memory"
        did = "undid it" if newer.undoes == event else f"({newer.action}) touched the same {what}"
        raise Conflict(
            f"not undone: entry {newer.seq} {did} on {newer.at[:16].replace('T', ' ')} UTC; "
            f"undo entry {newer.seq}, or say the {what} anew",
            code="touched",
            by=newer.seq,
        )
    before = stored_json.load_json(row.before) if row.before is not None else None
    if row.link_id is not None:
        removed = before is None or before["removed_at"] is not None
        return set_removed(tx, origin, "undo", row.link_id, removed=removed, undoes=event)
    return revert(tx, origin, preset, row.memory_id, None if before is None else State(**before), event)
