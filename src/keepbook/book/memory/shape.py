"""A memory's shape: first as JSON has it, straight from its rows; from that as Python has it.

A door that gives memories on needs only the first. What a list makes a thousand times stands here.
"""

from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from keepbook.book.ground import stored
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.memory.block import effective_score
from keepbook.book.memory.labels import told_metadata
from keepbook.book.memory.memories import Memory
from keepbook.presets import Preset

STALE_DAYS = 60


def told_memory(
    state: Any,
    version: Any,
    references: tuple[int, str | None],
    *,
    id: str,
    updated_at: str,
    now: str,
    preset: Preset,
) -> dict[str, Any]:
    """Put a memory's JSON shape together from its state (or a row that has it), one version, and how often and when it
    was injected."""
    count, last_injected = references
    edited, confirmed, recorded = state.edited_at, state.last_confirmed_at, version.recorded_at
    referenced = edited
    if confirmed is not None and confirmed > referenced:
        referenced = confirmed
    if last_injected is not None and last_injected > referenced:
        referenced = last_injected
    since, until = version.valid_from, version.valid_until
    score = faded = version.score
    if faded is not None and state.confidence == "inferred":  # promoted, it is the person's word and stays
        faded = effective_score(faded, max(recorded, confirmed or ""), now, preset.half_life_days)
    return {
        "id": id,
        "category": state.category,
        "subject": state.subject,
        "scope": state.scope,
        "content": version.content,
        "summary": version.summary,
        "body": version.body,
        "metadata": {} if version.metadata is None else told_metadata(version.metadata),
        "tags": [] if version.tags is None else stored.loads(version.tags),
        "version": version.version,
        "source": version.source,
        "confidence": state.confidence,
        "score": score,
        "effective_score": faded,
        "importance": state.importance,
        "state": "trash" if state.trashed_at else "archived" if state.archived_at else "active",
        "current": since <= now and (until is None or now < until),
        "valid_from": since,
        "valid_until": until,
        "recorded_at": recorded,
        "created_at": state.created_at,
        "updated_at": updated_at,
        "last_confirmed_at": confirmed,
        "last_referenced_at": referenced,
        "reference_count": count,
        "archived_at": state.archived_at,
        "archived_reason": state.archived_reason,
        "thread_id": version.thread_id,
        "turn_ids": [] if version.turn_ids == "[]" else stored.loads(version.turn_ids),
        "made_by": version.made_by,
        "stale": referenced < now and referenced <= _stale_until(now),  # what was just written, without a look
    }


_TIMES = (
    "valid_from", "valid_until", "recorded_at", "created_at", "updated_at", "last_confirmed_at", "last_referenced_at",
    "archived_at",
)  # fmt: skip


@lru_cache(maxsize=1024)
def _stale_until(now: str) -> str:
    """What was last referenced by then is stale now; at the beginning of the calendar nothing is."""
    try:
        return stamp(parse_stamp(now) - timedelta(days=STALE_DAYS))
    except OverflowError:
        return ""


def timed(told: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a memory as Python has them."""
    found = dict(told)
    for name in _TIMES:
        found[name] = None if told[name] is None else parse_stamp(told[name])
    found["tags"], found["turn_ids"] = tuple(told["tags"]), tuple(told["turn_ids"])
    return found


def as_memory(told: Mapping[str, Any]) -> Memory:
    return Memory(**timed(told))


def to_memory(
    state: Any,
    version: Any,
    references: tuple[int, str | None],
    *,
    id: str,
    updated_at: str,
    now: str,
    preset: Preset,
) -> Memory:
    return as_memory(told_memory(state, version, references, id=id, updated_at=updated_at, now=now, preset=preset))


def told(row: Any, now: str, preset: Preset) -> dict[str, Any]:
    """The memory of a row of `WHOLE`, as JSON has it."""
    return told_memory(
        row, row, (row.nth or 0, row.injected_at), id=row.id, updated_at=row.updated_at, now=now, preset=preset
    )


def shaped(row: Any, now: str, preset: Preset) -> Memory:
    return as_memory(told(row, now, preset))
