"""The wording of a memory on a page: its mark, whether the next chat is given it, when it is true, where it was said.

Pure: `Teller` reads what concerns the whole book once (its chats, the block, the owner's zone) and then words each
memory. Times stay instants; the template writes them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from keepbook.book.ground.when import in_zone
from keepbook.book.memory.block import days_above_floor
from keepbook.book.memory.history.traces import ChatName
from keepbook.book.memory.listing import Brief, Overview
from keepbook.book.memory.memories import AUTOMATIC, Memory, Version
from keepbook.book.memory.proposals import WAITING_DAYS
from keepbook.book.memory.review import ReviewQuestion
from keepbook.book.upkeep.importers.incoming import source_of_session
from keepbook.errors import Invalid
from keepbook.presets import Preset

SOON = timedelta(days=60)
"""How long before a memory fades out of new chats its row begins to say so."""


class SourceMark(NamedTuple):
    """Who said it: the class of the mark, its glyph, its words, and a score where software found it."""

    kind: str
    glyph: str
    words: str
    score: str = ""


class ChatPlace(NamedTuple):
    """The chat something was said in; without an address if it is not stored any more."""

    title: str
    address: str | None
    turn: str | None


class MemoryFootnote(NamedTuple):
    """Everything shown under a memory, computed once because a list shows many."""

    mark: SourceMark
    place: str
    in_block: bool
    since: datetime | None
    fades: datetime | None
    new: bool
    where: ChatPlace | None
    only_said: bool


class SourcedText(Protocol):
    """A memory or a version of one."""

    @property
    def source(self) -> str: ...
    @property
    def thread_id(self) -> str | None: ...
    @property
    def turn_ids(self) -> tuple[str, ...]: ...


FOUND = "Found in what you said"
_WORDS = {"profile": "You typed it", "chat": "You said it", "imported": "Imported"}
_PLACES = {
    "over the token budget": "left out of new chats: over the token budget",
    "over the number of lines": "left out of new chats: over the number of lines",
}


def mark_of(said: Memory | Version, confidence: str, score: float | None) -> SourceMark:
    source = said.source
    if confidence == "asserted":
        found = source in AUTOMATIC or (source == "profile" and said.made_by is not None)
        return SourceMark("ink", "ink", "You confirmed it" if found else _WORDS[source])
    if said.quoted:
        return SourceMark("ink", "ink", _WORDS["chat"])
    if source == "extracted":
        return SourceMark("extracted", "ext", FOUND, shown_score(score))
    return SourceMark("inferred", "inf", "Inferred" if source == "inferred" else "Not your own word")


def shown_score(score: float | None) -> str:
    """A score in whole percents: more would pretend to know. Cut, not rounded: .699 must not pass for a floor of
    .70."""
    return "" if score is None else f"{math.floor(score * 100 + 1e-9)}\u00a0% sure"


def kind_of(memory: Brief) -> str:
    """The kind that the head of the page counts a memory as: said, found or inferred, as `mark_of` says it."""
    if memory.said:
        return "said"
    return "found" if memory.found else "inferred"


def group_name(category: str | None, preset: Preset) -> str:
    if category is None:
        return "Without a category"
    return preset.titles.get(category) or category.replace("_", " ").capitalize()


def fades_on(memory: Memory, preset: Preset) -> datetime | None:
    """When what software found leaves new chats, if nobody confirms it."""
    fading = memory.source == "extracted" and memory.confidence == "inferred"
    if not fading or memory.score is None or not 0 < preset.floor <= memory.score:
        return None
    since = max(memory.recorded_at, memory.last_confirmed_at or memory.recorded_at)
    try:
        return since + timedelta(days=days_above_floor(memory.score, preset))
    except OverflowError:
        return None


class QuestionKind(NamedTuple):
    """One kind of question in Review: its name, its explanation with what happens if it is not answered, and its
    questions."""

    name: str
    words: str
    questions: list[ReviewQuestion]


def asked_by_kind(asked: Sequence[ReviewQuestion], preset: Preset) -> list[QuestionKind]:
    """The waiting questions by kind, under headings that are true of all of them."""
    fades = "Unanswered, it fades and then leaves new chats." if preset.floor else "Unanswered, it stays."
    kinds = {
        "conflict": ("Against your word", "A chat said it otherwise. Your word stands unless you say Yes; the question "
                     f"is gone after {WAITING_DAYS} days."),
        "proposal": ("Not kept yet", "Found in what you said, and kept only if you say Yes; the question is gone after "
                     f"{WAITING_DAYS} days."),
        "question": ("Which is right?", "You are asked because it was not sure. Nothing changes unless you answer; the "
                     f"question is gone after {WAITING_DAYS} days."),
        "opposites": ("Against each other", "Two lines of your book that say opposite things. Both stay until you say "
                      "which holds."),
        "extracted": ("In your book, not confirmed", f"Found in what you said. {fades}"),
        "inferred": ("Read between the lines", "In your book, and not said by you. Unanswered, it stays."),
    }  # fmt: skip
    found: dict[str, list[ReviewQuestion]] = {kind: [] for kind in kinds}
    for one in asked:
        found[_kind_of(one)].append(one)
    return [QuestionKind(*kinds[kind], some) for kind, some in found.items() if some]


def _kind_of(one: ReviewQuestion) -> str:
    if one.proposal is not None:
        return "question" if one.proposal.question in ("over", "change", "which") else one.proposal.nature
    if one.link is not None:
        return "opposites"
    read = one.memory is not None and one.memory.source == "extracted"
    return "extracted" if read else "inferred"


@dataclass(frozen=True, slots=True)
class Teller:
    """What a page knows of the whole book to word one memory."""

    preset: Preset
    all: Overview
    chats: Mapping[str, ChatName]
    zone: ZoneInfo
    now: datetime
    memory_on: bool = True

    def line(self, memory: Memory) -> MemoryFootnote:
        return MemoryFootnote(
            self.mark(memory), self.place(memory), self.in_block(memory), self.true_from(memory), self.fades(memory),
            self.is_new(memory), self.where(memory), self.only_said(memory),
        )  # fmt: skip

    def mark(self, memory: Memory) -> SourceMark:
        return mark_of(memory, memory.confidence, memory.effective_score)

    def place(self, memory: Memory) -> str:
        """Whether the next chat is given it, and if not, why."""
        if memory.state != "active":
            return ""
        if not self.memory_on:
            return "in no chat: memory is switched off"
        if memory.scope is not None:
            return f"only for {memory.scope}"
        fate = self.all.fates.get(memory.id)
        if not memory.current and (fate is None or fate.place != "in_block"):
            return "not true yet" if memory.valid_from > self.now else "no longer true, so not in new chats"
        if fate is None:
            return ""
        if fate.place == "recall_only":
            return f"recall only: {fate.reason}"
        if fate.place == "cut":
            return _PLACES.get(fate.reason, f"left out of new chats: {fate.reason}")
        return "in new chats" if memory.current else "in new chats as an earlier version said it"

    def in_block(self, memory: Memory) -> bool:
        fate = self.all.fates.get(memory.id)
        return fate is not None and fate.place == "in_block"

    def true_from(self, memory: Memory) -> datetime | None:
        """Since when it is true, unless that is simply the day it was recorded."""
        since, told = memory.valid_from, memory.recorded_at
        return None if since == told or self.day(since) == self.day(told) else since

    def fades(self, memory: Memory) -> datetime | None:
        """When it leaves new chats, if that is soon."""
        leaves = fades_on(memory, self.preset) if memory.state == "active" and self.in_block(memory) else None
        return leaves if leaves is not None and self.now < leaves < self.now + SOON else None

    def unused_days(self, memory: Memory) -> int:
        return (self.now - memory.last_referenced_at).days

    def is_new(self, memory: Memory) -> bool:
        return self.day(memory.created_at) == self.day(self.now)

    def where(self, said: SourcedText) -> ChatPlace | None:
        if said.thread_id is None:
            return None
        turn = next(iter(said.turn_ids), None)
        chat = self.chats.get(said.thread_id)
        if chat is None:
            return ChatPlace("a chat that is not here any more", None, turn)
        place = f"/chat/{said.thread_id}" + (f"#turn-{turn}" if turn else "")
        return ChatPlace(f"{chat.title} (in the trash)" if chat.in_trash else chat.title, place, turn)

    def only_said(self, said: SourcedText) -> bool:
        """Whether its date is when it was said, in an imported chat, and not since when it is true."""
        chat = self.chats.get(said.thread_id or "")
        return chat is not None and source_of_session(chat.session) is not None

    def day(self, moment: datetime) -> date:
        return in_zone(moment, self.zone).date()


# Dates as a form has them: a day in the owner's zone.


def parse_day_start(text: str, zone: ZoneInfo, field: str) -> datetime | None:
    """The first instant of a day, or nothing where nothing was filled in."""
    if not text.strip():
        return None
    try:
        return datetime.combine(date.fromisoformat(text.strip()), time.min, zone)
    except (ValueError, OverflowError):
        raise Invalid(f"{text[:40]!r} is not a date; write it like 2026-03-05", field=field) from None


def parse_day_end(text: str, zone: ZoneInfo, field: str) -> datetime | None:
    """The last instant of a day: what is true until the 28th is true on the 28th."""
    first = parse_day_start(text, zone, field)
    try:
        after = first and datetime.combine(first.date() + timedelta(days=1), time.min, zone)
    except OverflowError:
        raise Invalid("there is no calendar after the year 9999; leave it empty instead", field=field) from None
    return after and after - timedelta(microseconds=1)
