"""Turns findings into lessons: a reflection adds, rewords, restores and withdraws them.

Each of these is a write to a memory like any other, and can be undone. A lesson that a person has pinned or retired
stays as it is; the reflection only reports what it would have written.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update

from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_body, clean_line
from keepbook.book.ground.when import parse_stamp, stamp, zone_named
from keepbook.book.ledger.ledger import Origin, begin_entry, canonical_json
from keepbook.book.memory.memories import State, find_row, is_protected, to_state
from keepbook.book.memory.write_path import Change, VersionText, change_of
from keepbook.book.owners import owners
from keepbook.book.owners.allowance import room_for_memory, room_for_text
from keepbook.extensions.trading.book import days, former, skills, trades
from keepbook.extensions.trading.book.chance import FEWEST_CLOSING_DAYS, FIRST_TRADES, judged_trades
from keepbook.extensions.trading.book.findings import FEWEST, Finding, Findings, TradeGroups, find_effects, gather
from keepbook.extensions.trading.book.lessons import END, FIGURES, Lesson, LessonTarget, is_withdrawn, lessons_as_of
from keepbook.extensions.trading.tables import lessons
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.memory import WORDS

CATEGORY = "lesson"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one finding. `says` is what the trades say now, None where they support nothing any more.

    `what` is new, changed, back (withdrawn before), unchanged, withdrawn, pinned or retired (a person's word stands, so
    nothing was written), unsupported (pinned, and no longer found), or not_kept (a later reflection has spoken
    already). Only the last has no lesson.
    """

    what: str
    lesson: Lesson | None
    says: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """What came of looking at the first `judged` of `trades` closed trades, in `tried` groups; they were closed on so
    many `days`, or weeks: `unit` says which."""

    skill_id: str
    deployment_id: str | None
    known_at: datetime
    window_from: datetime | None
    trades: int
    judged: int
    days: int
    unit: str
    tried: int
    outcomes: tuple[Outcome, ...]
    words: str


class LessonStep(NamedTuple):
    """What is to be done about one finding (see `Outcome.what`); `id` is its lesson, if it has one."""

    what: str
    id: str | None
    finding: Finding | None

    @property
    def speaks(self) -> bool:
        """Whether a text is to be written."""
        return self.what in ("new", "changed", "back")


# Rules


def reflection_in_words(trades: int, tried: int, outcomes: Sequence[Outcome]) -> str:
    """A reflection in a sentence or two."""
    counts: defaultdict[str, int] = defaultdict(int)
    for outcome in outcomes:
        counts[outcome.what] += 1
    judged = judged_trades(trades)
    if judged in (0, trades):
        first = ""
    else:
        first = f" the first {judged} judged,"
    looked = f"{trades} closed trades,{first} {tried} groups of at least {FEWEST} tried"
    if not outcomes and not tried:
        enough = f"{FIRST_TRADES} trades on, closed on {FEWEST_CLOSING_DAYS} days or more (weeks, if held for days)"
        return f"{trades} closed trades: there is something to learn from {enough}."
    if not outcomes:
        return f"{looked}: nothing stands out that chance would not explain."
    if counts["not_kept"]:
        return f"{looked}: {counts['not_kept']} found, none kept, since a later reflection has spoken already."
    named = {
        "new": "new", "changed": "changed", "back": "back again", "unchanged": "as before",
        "withdrawn": "no longer supported and withdrawn", "pinned": "left as you pinned it",
        "unsupported": "no longer supported but left as you pinned it",
        "retired": "found again but left retired, as you wanted",
    }  # fmt: skip
    return f"{looked}: " + ", ".join(f"{counts[what]} {word}" for what, word in named.items() if counts[what]) + "."


def _same_figures(row: Any, finding: Finding) -> bool:
    """Whether a lesson has the figures of a finding. `tried` does not count: it changes with other trades."""
    return all(getattr(row, name) == getattr(finding, name) for name in FIGURES if name != "tried")


def _fitting(text: str, preset: Preset) -> str:
    if len(text) <= preset.content_max:
        return text
    return text[: preset.content_max - 1] + "…"


# Operations


def keep_findings(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    target: LessonTarget,
    found: Findings,
    *,
    closed: int,
    known_at: str,
    window_from: str | None,
    texts: Mapping[str, str],
) -> Reflection:
    """Write the lessons of findings; `texts` has other words for some findings, by their key."""
    reading = replace(origin, source="inferred")
    done: list[tuple[LessonStep, int | None]] = []
    for step in plan_lessons(tx, target, found, known_at):
        id, event = step.id, None
        if step.finding is not None and step.speaks:
            text = _fitting(texts.get(step.finding.key, step.finding.text), preset)
            id, event = _say(tx, reading, preset, target, step.id, step.finding, text, known_at)
            _store_figures(tx, id, target, step.finding, known_at, window_from or found.first)
        elif id is not None and step.what == "withdrawn":
            event = _withdraw(tx, reading, preset, id, known_at)
        done.append((step._replace(id=id), event))
    standing = {
        one.id: one for one in lessons_as_of(tx, END, ids=[step.id for step, _ in done if step.id], state="all")
    }
    outcomes = tuple(
        Outcome(
            what=step.what,
            lesson=None if step.id is None else replace(standing[step.id], event=event),
            says=None if step.finding is None else step.finding.text,
        )
        for step, event in done
    )
    return Reflection(
        skill_id=target.skill_id,
        deployment_id=target.deployment_id,
        known_at=parse_stamp(known_at),
        window_from=None if window_from is None else parse_stamp(window_from),
        trades=closed,
        judged=found.trades,
        days=found.days,
        unit=found.unit,
        tried=found.tried,
        outcomes=outcomes,
        words=reflection_in_words(closed, found.tried, outcomes),
    )


def _say(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    target: LessonTarget,
    id: str | None,
    finding: Finding,
    text: str,
    known_at: str,
) -> tuple[str, int | None]:
    """Write a new lesson, or the next version of one, which restores it if it was withdrawn. Returns its id and the
    ledger entry."""
    said = VersionText(
        content=clean_line(text, "content", 1, preset.content_max), summary=None, body=clean_body(finding.details),
        metadata=None, tags=None, source="inferred", score=None, made_by=None, thread_id=origin.thread_id,
        turn_ids=canonical_json([]), valid_from=known_at, valid_until=None,
    )  # fmt: skip
    if id is None:  # not with `remember`, which would take a similar lesson for the same
        room_for_memory(tx, f"{text}{finding.details}")
        change = Change(tx, origin, preset, "remember", begin_entry(tx), new_id())
        after = State(
            category=CATEGORY if CATEGORY in preset.categories or not preset.categories else preset.default_category,
            subject=clean_line(finding.subject[:200], "subject", 1, 200), scope=target.scope, confidence="inferred",
            importance=0.5, version=1, created_at=change.at, edited_at=change.at,
        )  # fmt: skip
    else:
        room_for_text(tx, f"{text}{finding.details}")
        change = change_of(tx, origin, preset, "update", id, learning=True)
        state = to_state(change.row)
        labels = (name for name in WORDS if name not in ("content", "summary", "body", "spans"))
        said = replace(said, **{name: getattr(change.row, name) for name in labels})
        after = replace(
            state, version=state.version + 1, edited_at=change.at, archived_at=None, archived_reason=None
        )  # fmt: skip
    written = change.to(after, said)
    return written.id, written.event


def _withdraw(tx: Tx, origin: Origin, preset: Preset, id: str, known_at: str) -> int | None:
    """Archive a lesson, as of the instant that the reflection is about."""
    change = change_of(tx, origin, preset, "forget", id, learning=True)
    newest = select(func.max(lessons.c.version)).where(lessons.c.owner == tx.owner, lessons.c.memory_id == id)
    figures = (lessons.c.owner == tx.owner, lessons.c.memory_id == id, lessons.c.version == newest.scalar_subquery())
    tx.conn.execute(update(lessons).where(*figures).values(withdrawn_at=known_at))
    gone = replace(to_state(change.row), archived_at=known_at, archived_reason="agent_forget")
    return change.to(gone).event


def _store_figures(
    tx: Tx, id: str, target: LessonTarget, finding: Finding, known_at: str, window_from: str | None
) -> None:
    row = {
        "owner": tx.owner, "memory_id": id, "version": find_row(tx, id).version, "finding": finding.key,
        "skill_id": target.skill_id, "deployment_id": target.deployment_id, "known_at": known_at,
        "window_from": window_from, "window_until": known_at, "withdrawn_at": None,
    }  # fmt: skip
    tx.conn.execute(insert(lessons), row | {name: getattr(finding, name) for name in FIGURES})


# Queries


def find_lessons(
    tx: Tx, target: LessonTarget, deployment_ids: Sequence[str], known_at: str, since: str | None = None
) -> tuple[int, Findings]:
    """How many trades were closed by then, and the findings in them: new ones from the trades up to the last look,
    known ones from all."""
    zone, count = zone_named(owners.zone_name(tx)), days.count_trades(tx, deployment_ids, known_at)
    look = judged_trades(count)

    def closed(most: int | None) -> TradeGroups:
        told = islice(trades.known_trades(tx, deployment_ids, known_at), most)
        return gather((one for one in told if since is None or one.exit_time >= since), zone)

    judged = closed(look)
    if look == count:
        every = judged
    else:
        every = closed(None)
    keys = select(lessons.c.finding).where(lessons.c.owner == tx.owner, *_about(target)).distinct()
    known = set(tx.conn.execute(keys.where(lessons.c.known_at <= known_at)).scalars())
    return count, find_effects(judged, look, every=every, known=known)


def check_support(tx: Tx, found: Sequence[Lesson], known_at: str) -> list[Lesson]:
    """The lessons, with `supported` set to False if trades were corrected since and no longer support them."""
    still: dict[LessonTarget, dict[str, float]] = {}
    checked = []
    for lesson in found:
        target = LessonTarget(lesson.skill_id, lesson.deployment_id)
        if lesson.deployment_id is None:
            ids = [one.id for one in skills.list_deployments(tx, lesson.skill_id)]
        else:
            ids = [lesson.deployment_id]
        corrected = lesson.state == "active" and former.corrected_days(tx, ids, stamp(lesson.known_at))
        if corrected and target not in still:
            still[target] = {one.key: one.mean for one in find_lessons(tx, target, ids, known_at)[1].findings}
        # It is supported if the group is still a finding, with a mean of the same sign.
        is_supported = not corrected or still[target].get(lesson.finding, 0.0) * lesson.mean_pct > 0
        if is_supported:
            checked.append(lesson)
        else:
            checked.append(replace(lesson, supported=False))
    return checked


def plan_lessons(tx: Tx, target: LessonTarget, found: Findings, known_at: str) -> list[LessonStep]:
    """What keeping these findings would do, finding by finding, and then the lessons that are no longer found.

    Lessons go forward only: as of an instant before the last reflection nothing is written, because older knowledge
    must not take back what was learnt since.
    """
    rows = tx.conn.execute(
        select(lessons)
        .where(lessons.c.owner == tx.owner, *_about(target))
        .order_by(lessons.c.known_at, lessons.c.version)
    ).all()
    if any(max(row.known_at, row.withdrawn_at or "") > known_at for row in rows):
        return [LessonStep("not_kept", None, finding) for finding in found.findings]
    known: defaultdict[str, list[Any]] = defaultdict(list)
    for row in rows:
        known[row.finding].append(row)
    steps = [_step(tx, known.pop(finding.key, []), finding) for finding in found.findings]
    for key in sorted(known):
        id = known[key][-1].memory_id
        memory = find_row(tx, id)
        if to_state(memory).name == "active":
            is_pinned = is_protected(memory.source, to_state(memory))
            what = "unsupported" if is_pinned else "withdrawn"
            steps.append(LessonStep(what, id, None))
    return steps


def _step(tx: Tx, rows: Sequence[Any], finding: Finding) -> LessonStep:
    if not rows:
        return LessonStep("new", None, finding)
    last = rows[-1]
    memory = find_row(tx, last.memory_id)
    state = to_state(memory)
    if _same_figures(last, finding):
        what = "unchanged"
    else:
        what = "changed"
    if state.name != "active":
        if is_withdrawn(state, rows) or state.archived_reason == "undone":
            what = "back"
        else:
            what = "retired"
    elif is_protected(memory.source, state):
        what = "pinned"
    return LessonStep(what, last.memory_id, finding)


def _about(target: LessonTarget) -> tuple[Any, ...]:
    deployment = lessons.c.deployment_id
    which = deployment.is_(None) if target.deployment_id is None else deployment == target.deployment_id
    return lessons.c.skill_id == target.skill_id, which
