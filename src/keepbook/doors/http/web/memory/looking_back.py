"""Time travel in words: which moment is meant, and what was different then, in three lists.

"Yesterday" and a date mean the end of that day, "last week" the same hour a week ago, "before this chat" the moment it
began. What the lists say is of both clocks at once; whoever needs them apart finds them under Precisely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from keepbook.book.chats.threads import Thread
from keepbook.book.ground.when import in_zone
from keepbook.book.memory.history.traces import MemoryState, states_of
from keepbook.book.memory.memories import Memory
from keepbook.book.text.words import query_terms, terms
from keepbook.doors.http.web.frame.times import moment_in_words
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.errors import Invalid, KeepbookError

LISTED = 30
"""How many lines of each kind are shown."""
EXACTLY = ("known", "valid", "minute", "together", "apart")
"""The parameters of an address that names exact instants."""


class Meant(NamedTuple):
    """A moment that was asked for in words."""

    when: str
    """The key of the moment: now, yesterday, week, chat, or a day such as 2026-11-05."""
    title: str
    at: datetime


class WhenChip(NamedTuple):
    words: str
    address: str
    current: bool


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """A line that said something else; what went has no `now`, what came no `then`."""

    id: str
    then: str
    now: str
    at: datetime
    why: str = ""
    can_return: bool = False


@dataclass(frozen=True, slots=True)
class Differences:
    """What was not told yet, said something else, or is gone; and what is the same. Each list is cut, its count is
    not."""

    new: Sequence[ChangedLine] = ()
    other: Sequence[ChangedLine] = ()
    gone: Sequence[ChangedLine] = ()
    same: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


# Which moment


def read_when(visit: Visit, query: Mapping[str, str]) -> Meant | None:
    """The moment that an address asks for in words; none if it names instants. Without a word it is last week."""
    if any(query.get(name) for name in EXACTLY):
        return None
    day = query.get("day", "").strip()
    when = day or query.get("when", "") or "week"
    if when == "now":
        return Meant(when, "What I know now", visit.now)
    if when == "yesterday":
        return Meant(when, "What I knew yesterday", _end_of(_today(visit) - timedelta(days=1), visit))
    if when == "week":
        return Meant(when, "What I knew last week", visit.now - timedelta(days=7))
    if when == "chat":
        return _before_chat(visit, query.get("chat", ""))
    try:
        chosen = date.fromisoformat(when[:10])
        at = min(_end_of(chosen, visit), visit.now)
    except (ValueError, OverflowError):
        raise Invalid(f"{when[:40]!r} is no day; choose one", field="day") from None
    return Meant(str(chosen), f"What I knew on {moment_in_words(at, 'date', visit.zone, visit.now)}", at)


def _before_chat(visit: Visit, id: str) -> Meant:
    chat = _chat(visit, id[:20])
    if chat is None:
        raise Invalid("there is no such chat; choose a day instead", field="chat")
    title = chat.title or "that chat"
    if id:
        return Meant("chat", f"What I knew before “{title}”", chat.created_at)
    return Meant("chat", "What I knew before the last chat", chat.created_at)


def _chat(visit: Visit, id: str) -> Thread | None:
    if not id:
        return next((chat for chat in visit.book.threads.list(limit=10) if chat.turns), None)
    try:
        return visit.book.threads.get(id).thread
    except KeepbookError:
        return None


def _today(visit: Visit) -> date:
    return in_zone(visit.now, visit.zone).date()


def _end_of(day: date, visit: Visit) -> datetime:
    return datetime.combine(day + timedelta(days=1), time.min, visit.zone) - timedelta(microseconds=1)


def when_chips(visit: Visit, meant: Meant | None, query: Mapping[str, str]) -> list[WhenChip]:
    """The moments one is asked for, each an address; "before this chat" only where one came from it."""
    chat, about = query.get("chat", "")[:20], query.get("q", "")[:200]
    asked = [("Yesterday", {"when": "yesterday"}), ("Last week", {"when": "week"})]
    if _chat(visit, chat) is not None:
        asked.append(("Before this chat" if chat else "Before the last chat", {"when": "chat"}))
    also = {name: value for name, value in (("chat", chat), ("q", about)) if value}
    current = ""
    if meant:
        current = meant.when
    return [WhenChip(words, f"/time?{urlencode(told | also)}", told["when"] == current) for words, told in asked]


# What was different


def differences(visit: Visit, had: Mapping[str, int], has: Mapping[str, int], at: datetime, about: str) -> Differences:
    """How the book of then differs from that of today. With `about`, only lines with these words."""
    changed = [id for id in has if id in had and had[id] != has[id]]
    came, went = [id for id in has if id not in had], [id for id in had if id not in has]
    same = [id for id in has if id in had and had[id] == has[id]]
    counts = {"new": len(came), "other": len(changed), "gone": len(went), "same": len(same)}
    if not about:  # of what is not looked through only what is shown is read
        came, changed, went, same = came[-LISTED:], changed[-LISTED:], went[-LISTED:], same[:LISTED]
    alike = states_of(visit.book, same)
    now = states_of(visit.book, [*came, *changed])
    before = states_of(visit.book, [*changed, *went], at)
    new = [ChangedLine(id, "", now[id].words, now[id].told_at) for id in reversed(came) if id in now]
    other = [
        ChangedLine(id, before[id].words, now[id].words, now[id].told_at)
        for id in reversed(changed)
        if id in now and id in before
    ]
    gone = [_gone(visit, before[id]) for id in reversed(went) if id in before]
    kept = [one.words for one in alike.values() if _says(one.words, about)]
    lists = {"new": new, "other": other, "gone": gone}
    found = {name: [line for line in lines if _says(f"{line.then} {line.now}", about)] for name, lines in lists.items()}
    if about:
        counts = {name: len(lines) for name, lines in found.items()} | {"same": len(kept)}
    shown = {name: lines[:LISTED] for name, lines in found.items()}
    return Differences(shown["new"], shown["other"], shown["gone"], kept[:LISTED], counts)


def _says(words: str, about: str) -> bool:
    return not about or set(query_terms(about)) <= set(terms(words))


def _gone(visit: Visit, was: MemoryState) -> ChangedLine:
    """What was there and is not now: why, since when, and whether it can be put back."""
    try:
        memory = visit.book.get(was.id)
    except KeepbookError:
        return ChangedLine(was.id, was.words, "", was.told_at, "gone for good")
    if memory.state == "active":
        return ChangedLine(was.id, was.words, "", memory.valid_until or memory.updated_at, "not true any more since")
    return ChangedLine(was.id, was.words, "", _left_at(memory), "taken out", can_return=True)


def _left_at(memory: Memory) -> datetime:
    return memory.archived_at or memory.updated_at
