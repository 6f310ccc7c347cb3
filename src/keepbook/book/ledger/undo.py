"""Undo: any write can be taken back, as long as no later write changed the same thing.

An undo is a write itself, so it can be undone too: that is redo.
"""

from typing import Any

from keepbook.book.ground import stored_json
from keepbook.book.ledger import ledger, owner_settings, thing_entries
from keepbook.book.ledger.ledger import Origin
from keepbook.book.ledger.owner_settings import Configured
from keepbook.book.ledger.thing_entries import ThingSet
from keepbook.book.memory.changes import revert
from keepbook.book.memory.links import Link, set_removed
from keepbook.book.memory.memories import State, Written, find_row, to_state, version_rows
from keepbook.book.memory.write_path import PERSONS_WORD, asked_back
from keepbook.errors import Conflict, Invalid, NotAllowed
from keepbook.presets import Preset
from keepbook.storage.database import Tx


def undo(tx: Tx, origin: Origin, preset: Preset, event: int | None) -> Written | Link | Configured | ThingSet:
    if isinstance(event, bool) or not isinstance(event, int):
        raise Invalid("name the entry to undo by its number, as the write answered it", field="event")
    row = ledger.get_row(tx, event)
    if row.action == "mend":
        raise Conflict(f"entry {event} cannot be undone: what it set aside lies in a file", code="set_aside")
    if row.salt is None:
        raise Conflict(f"entry {event} cannot be undone: what it was about has been deleted for good", code="purged")
    if origin.actor != "person" and not origin.for_person and _is_persons(tx, row):
        _refuse_persons(tx, origin, row)
    if owner_settings.is_about_settings(row):
        _refuse_newer(event, owner_settings.newer_change(tx, row), "set the same", "set it anew")
        return owner_settings.undo_settings(tx, origin, row)
    if thing_entries.is_about_thing(row):
        _refuse_newer(event, thing_entries.newer_change_of_thing(tx, row), "set the same", "set it anew")
        return thing_entries.undo_thing(tx, origin, row)
    if row.link_id:
        what = "link"
    else:
        what = "memory"
    newer = ledger.newer_touch(tx, event, row.memory_id, row.link_id)
    _refuse_newer(event, newer, f"touched the same {what}", f"say the {what} anew")
    before = None
    if row.before is not None:
        before = stored_json.load_json(row.before)
    if row.link_id is not None:
        removed = before is None or before["removed_at"] is not None
        return set_removed(tx, origin, "undo", row.link_id, removed=removed, undoes=event)
    reverted = revert(tx, origin, preset, row.memory_id, None if before is None else State(**before), event)
    if reverted.id != row.memory_id:
        raise Conflict(
            f"not undone: the same text stands in {reverted.id} now; forget that one first, or leave it",
            code="stands_elsewhere",
            memory=reverted.id,
        )
    return reverted


def _is_persons(tx: Tx, row: Any) -> bool:
    """Whether the person did this, themselves or by a tool at their turn, which may have changed their own word."""
    return row.actor == "person" or (row.before is not None and ledger.is_by_person(tx, row.actor, row.thread_id))


def _refuse_persons(tx: Tx, origin: Origin, row: Any) -> None:
    """Refuse to take back what the person did. If it is about a memory's words, what the agent wanted is left as a
    proposal."""
    said = f"entry {row.seq} is the person's own; only they take it back"
    wanted = None
    if origin.is_agent and row.memory_id is not None:
        wanted = _wanted_instead(tx, row)
    if wanted is None:
        raise NotAllowed(said, code="person_only")
    raise NotAllowed(said, code=PERSONS_WORD, memory_id=row.memory_id, wanted=wanted)


def _wanted_instead(tx: Tx, row: Any) -> dict[str, Any] | None:
    """The change that the undo would have made, as the fields of a proposal; None if it would not change any words."""
    memory = find_row(tx, row.memory_id)
    target = {"memory_id": memory.id, "category": memory.category, "subject": memory.subject}
    if row.before is None:
        return {"op": "forget", **target, "content": memory.content}
    before = State(**stored_json.load_json(row.before))
    if before.name != "active":
        return {"op": "forget", **target, "content": memory.content}
    (content,) = (version.content for version in version_rows(tx, memory.id) if version.version == before.version)
    if to_state(memory).name != "active":
        return asked_back(content, memory)
    if content == memory.content:
        return None
    return {"op": "update", **target, "content": content}


def _refuse_newer(event: int, newer: Any, did: str, instead: str) -> None:
    """Refuse to undo an entry if a newer one is about the same thing."""
    if newer is None:
        return
    if newer.undoes == event:
        did = "undid it"
    else:
        did = f"({newer.action}) {did}"
    raise Conflict(
        f"not undone: entry {newer.seq} {did} on {newer.at[:16].replace('T', ' ')} UTC; "
        f"undo entry {newer.seq}, or {instead}",
        code="touched",
        by=newer.seq,
    )
