"""Lessons: findings of a reflection, stored as memories, so that text, versions, ledger and undo are those of the book.

A lesson begins in a scope of its own that no block shows. If a person pins it, it is the person's own word and moves to
the scope of its skill. If a person retires it, later reflections do not bring it back.

For time travel, an entry of the ledger counts from the instant that it is about: for a reflection from its `known_at`,
also if it was computed later; for what a person did, from the moment they did it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from keepbook.book.ground import stored_json
from keepbook.book.ground.when import parse_stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.memory.memories import APART, State, resolve, to_state
from keepbook.book.memory.write_path import change_of
from keepbook.errors import Invalid, NotAllowed, NotFound
from keepbook.extensions.trading.tables import lessons
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import versions

STATES = ("active", "retired", "withdrawn", "all")
END = "~"
"""Sorts after every instant: as of END, a lesson is as it is now."""
FIGURES = ("trades", "wins", "mean", "median", "low", "high", "p", "tried")


class LessonTarget(NamedTuple):
    """The target of a reflection: a skill with all its deployments, or one deployment."""

    skill_id: str
    deployment_id: str | None = None

    @property
    def scope(self) -> str:
        """The scope of its lessons, which no block shows."""
        return f"{APART}{self.deployment_id or self.skill_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonVersion:
    """One version of a lesson with the figures behind it; `*_pct` are fractions, the interval is of the mean."""

    version: int
    text: str
    known_at: datetime
    window_from: datetime | None
    window_until: datetime | None
    trades: int
    wins: int
    mean_pct: float
    median_pct: float
    low_pct: float
    high_pct: float
    p: float
    tried: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson(LessonVersion):
    """A lesson as it stood: `active`, `retired` by a person, or `withdrawn` since the trades support it no longer.

    `earlier` tells how it changed, oldest first. `supported` is false where trades that were corrected since no longer
    bear it out, also of one that a person pinned. `event` undoes the write that answered with this; reads have none.
    """

    id: str
    subject: str
    finding: str
    skill_id: str
    deployment_id: str | None
    state: str
    pinned: bool
    earlier: tuple[LessonVersion, ...]
    supported: bool = True
    event: int | None = None


# Rules


def refuse_others(origin: Origin, verb: str) -> None:
    if origin.actor != "person":
        raise NotAllowed(f"only the person {verb} a lesson", code="person_only")


def is_withdrawn(state: State, rows: Iterable[Any]) -> bool:
    """Whether a reflection archived it, and not a person or an agent's own forgetting."""
    return state.name == "archived" and any(row.withdrawn_at == state.archived_at for row in rows)


def _figures_behind(version: int, made: Mapping[int, Any], figures: Mapping[int, Any]) -> Any:
    """The figures of a version. A copy made by an undo has those of the version it restores, and a version that a
    person worded has those of the version before."""
    while version not in figures:
        version = made[version].restored_from or version - 1
    return figures[version]


# Operations


def pin(tx: Tx, origin: Origin, preset: Preset, ref: str) -> Lesson:
    """Make a lesson the person's own word, for every chat in the scope of the skill."""
    refuse_others(origin, "pins")
    lesson = get_lesson(tx, ref)
    change = change_of(tx, origin, preset, "promote", lesson.id)
    change.refuse_dropped("pinned")
    state = to_state(change.row)
    after = replace(state, confidence="asserted", scope=lesson.skill_id)
    event = None
    if after != state:
        event = change.to(replace(after, edited_at=change.at)).event
    return replace(get_lesson(tx, lesson.id), event=event)


def unpin(tx: Tx, origin: Origin, preset: Preset, ref: str) -> Lesson:
    """Make a lesson a reading again, out of the skill's scope; the next reflection may reword it."""
    refuse_others(origin, "unpins")
    lesson = get_lesson(tx, ref)
    change = change_of(tx, origin, preset, "demote", lesson.id)
    change.refuse_dropped("unpinned")
    state = to_state(change.row)
    after = replace(state, confidence="inferred", scope=LessonTarget(lesson.skill_id, lesson.deployment_id).scope)
    event = None
    if after != state:
        event = change.to(after).event
    return replace(get_lesson(tx, lesson.id), event=event)


def retire(tx: Tx, origin: Origin, preset: Preset, ref: str) -> Lesson:
    """Put a lesson away. It is not found again until it is restored."""
    refuse_others(origin, "retires")
    id = get_lesson(tx, ref).id
    event = changes.forget(tx, origin, preset, id).event
    return replace(get_lesson(tx, id), event=event)


def restore_lesson(tx: Tx, origin: Origin, preset: Preset, ref: str) -> Lesson:
    refuse_others(origin, "restores")
    id = get_lesson(tx, ref).id
    event = changes.restore_memory(tx, origin, preset, id).event
    return replace(get_lesson(tx, id), event=event)


# Queries


def get_lesson(tx: Tx, ref: str) -> Lesson:
    """A lesson in its present state, whatever that is."""
    id = resolve(tx, ref)
    found = lessons_as_of(tx, END, ids=[id], state="all")
    if not found:
        raise NotFound(f"memory {id} is no lesson; lessons come from reflecting on trades", field="lesson")
    return found[0]


def lessons_as_of(
    tx: Tx,
    known_at: str,
    *,
    skill_id: str | None = None,
    deployment_id: str | None = None,
    ids: Sequence[str] | None = None,
    state: str = "active",
) -> list[Lesson]:
    """The lessons at an instant, pinned ones first, then the best supported.

    For a skill also those of its deployments.
    """
    if state not in STATES:
        raise Invalid(f"state is one of {', '.join(STATES)}, not {str(state)[:40]!r}", field="state")
    wanted = [lessons.c.known_at <= known_at]
    if skill_id is not None:
        wanted += [lessons.c.skill_id == skill_id]
    if deployment_id is not None:
        wanted += [lessons.c.deployment_id == deployment_id]
    if ids is not None:
        wanted += [lessons.c.memory_id.in_(list(ids))]
    figures: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for row in tx.conn.execute(_mine(tx, *wanted)):
        figures[row.memory_id][row.version] = row
    made, entries = _versions(tx, figures), _entries(tx, figures)
    found = [_as_of(id, known_at, made[id], figures[id], entries[id]) for id in figures]
    shown = [lesson for lesson in found if lesson is not None and state in (lesson.state, "all")]
    return sorted(shown, key=lambda lesson: (not lesson.pinned, lesson.p, -abs(lesson.mean_pct), lesson.finding))


def _as_of(
    id: str, known_at: str, made: Mapping[int, Any], figures: Mapping[int, Any], entries: Sequence[Any]
) -> Lesson | None:
    """The lesson after the last entry that counts at an instant; None if there is none yet."""
    by_event = {row.event: row for row in made.values()}

    def counts_from(entry: Any, after: Mapping[str, Any]) -> str:
        version = by_event.get(entry.seq)
        if version is not None and version.version in figures:
            return str(figures[version.version].known_at)
        if entry.action == "forget":
            return str(after["archived_at"])
        return str(entry.at)

    after = None
    for entry in entries:
        told = stored_json.load_json(entry.after)
        if counts_from(entry, told) <= known_at and (told["version"] in figures or after is not None):
            after = told
    if after is None:
        return None
    state = State(**after)
    row = _figures_behind(state.version, made, figures)
    put_away = "withdrawn" if is_withdrawn(state, figures.values()) else "retired"
    current = made[state.version]
    known_since = row.known_at if state.version in figures else current.recorded_at
    return Lesson(
        **_version_fields(row, current),
        known_at=parse_stamp(known_since),
        id=id,
        subject=state.subject or row.finding,
        finding=row.finding,
        skill_id=row.skill_id,
        deployment_id=row.deployment_id,
        state="active" if state.name == "active" else put_away,
        supported=state.name == "active" or put_away == "retired",
        pinned=state.confidence == "asserted" and state.scope == row.skill_id,
        earlier=tuple(
            LessonVersion(
                **_version_fields(figures[version], made[version]), known_at=parse_stamp(figures[version].known_at)
            )
            for version in sorted(figures)
            if version < state.version
        ),
    )


def _version_fields(row: Any, version: Any) -> dict[str, Any]:
    window_from = None
    if row.window_from is not None:
        window_from = parse_stamp(row.window_from)
    window_until = None
    if row.window_until is not None:
        window_until = parse_stamp(row.window_until)
    return {
        "version": version.version,
        "text": version.content,
        "window_from": window_from,
        "window_until": window_until,
        "trades": row.trades,
        "wins": row.wins,
        "mean_pct": row.mean,
        "median_pct": row.median,
        "low_pct": row.low,
        "high_pct": row.high,
        "p": row.p,
        "tried": row.tried,
    }


def _mine(tx: Tx, *wanted: Any) -> Any:
    return select(lessons).where(lessons.c.owner == tx.owner, *wanted)


def _versions(tx: Tx, ids: Iterable[str]) -> Mapping[str, dict[int, Any]]:
    found: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for few in _by_hundreds(ids):
        query = select(versions).where(versions.c.owner == tx.owner, versions.c.memory_id.in_(few))
        for row in tx.conn.execute(query):
            found[row.memory_id][row.version] = row
    return found


def _entries(tx: Tx, ids: Iterable[str]) -> Mapping[str, list[Any]]:
    """The ledger entries of each lesson, oldest first."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    columns = (ledger.c.memory_id, ledger.c.seq, ledger.c.at, ledger.c.action, ledger.c.after)
    for few in _by_hundreds(ids):
        query = select(*columns).where(ledger.c.owner == tx.owner, ledger.c.memory_id.in_(few))
        query = query.where(ledger.c.link_id.is_(None), ledger.c.after.isnot(None))
        for row in tx.conn.execute(query.order_by(ledger.c.seq)):
            found[row.memory_id].append(row)
    return found


def _by_hundreds(ids: Iterable[str]) -> list[list[str]]:
    every = sorted(ids)
    return [every[start : start + 100] for start in range(0, len(every), 100)]
