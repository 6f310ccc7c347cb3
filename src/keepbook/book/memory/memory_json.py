"""Turns rows of memories into JSON, and that JSON into `Memory` values.

Doors that answer with JSON use only the first step. Both run once per memory of a list, so they are written for speed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any

from keepbook.book.ground import stored_json
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.memory.block import effective_score
from keepbook.book.memory.labels import told_metadata
from keepbook.book.memory.memories import OF_STATE, OF_VERSION, Memory
from keepbook.presets import Preset

STALE_DAYS = 60  # without use, after which a memory is stale


def memory_to_json(row: Sequence[Any], now: str, preset: Preset) -> dict[str, Any]:
    """A row of the queries `SHOWN` or `WHOLE` as the JSON object of a memory."""
    (
        category, subject, scope, confidence, importance, created, edited, confirmed, archived, reason, trashed,
        id, updated, version, content, summary, body, metadata, tags, source, score, made_by, thread_id, turn_ids,
        since, until, recorded, quoted, spans, said_on, written_by, count, injected, *_,
    ) = row  # fmt: skip
    referenced = edited
    if confirmed is not None and confirmed > referenced:
        referenced = confirmed
    if injected is not None and injected > referenced:
        referenced = injected
    faded = score
    if faded is not None and confidence == "inferred":  # a promoted memory is the person's word and does not fade
        faded = effective_score(faded, max(recorded, confirmed or ""), now, preset.half_life_days)
    return {
        "id": id,
        "category": category,
        "subject": subject,
        "scope": scope,
        "content": content,
        "summary": summary,
        "body": body,
        "metadata": {} if metadata is None else told_metadata(metadata),
        "tags": [] if tags is None else stored_json.load_json(tags),
        "version": version,
        "source": source,
        "confidence": confidence,
        "score": score,
        "effective_score": faded,
        "importance": importance,
        "state": "trash" if trashed else "archived" if archived else "active",
        "current": since <= now and (until is None or now < until),
        "valid_from": since,
        "valid_until": until,
        "recorded_at": recorded,
        "created_at": created,
        "updated_at": updated,
        "last_confirmed_at": confirmed,
        "last_referenced_at": referenced,
        "reference_count": count or 0,
        "archived_at": archived,
        "archived_reason": reason,
        "thread_id": thread_id,
        "turn_ids": [] if turn_ids == "[]" else stored_json.load_json(turn_ids),
        "made_by": made_by,
        "stale": referenced < now and referenced <= _stale_until(now),  # the first test spares the second on writes
        "quoted": bool(quoted),
        "spans": [] if spans is None else stored_json.load_json(spans),
        "said_on": said_on,
        "written_by": written_by,
    }


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
    """The JSON object of a memory from a state, one version, and how often and when it was injected."""
    return memory_to_json((*_of_state(state), id, updated_at, *_of_version(version), *references), now, preset)


_of_state, _of_version = attrgetter(*OF_STATE), attrgetter(*OF_VERSION)


_TIMES = tuple(field.name for field in fields(Memory) if field.type in (datetime, datetime | None))


@lru_cache(maxsize=1024)
def _stale_until(now: str) -> str:
    """A memory that was last referenced at or before this instant is stale now. At the beginning of the calendar, none
    is."""
    try:
        return stamp(parse_stamp(now) - timedelta(days=STALE_DAYS))
    except OverflowError:
        return ""


def json_to_fields(told: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Memory` from its JSON: times as datetimes, lists as tuples."""
    found = dict(told)
    for name in _TIMES:
        if told[name] is not None:
            found[name] = parse_stamp(told[name])
        else:
            found[name] = None
    found["tags"], found["turn_ids"] = tuple(told["tags"]), tuple(told["turn_ids"])
    found["spans"] = tuple(tuple(span) for span in told["spans"])
    return found


def as_memory(told: Mapping[str, Any]) -> Memory:
    return Memory(**json_to_fields(told))


def row_to_memory(row: Any, now: str, preset: Preset) -> Memory:
    return as_memory(memory_to_json(row, now, preset))
