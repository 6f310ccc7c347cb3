"""The wording of a memory on a page: its mark, whether new chats get it, when it is true, where it was said.

Pure: `Teller` is given what it needs of the whole book (chats, block, the owner's zone), and then words each memory.
Times stay instants; the template formats them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from keepbook.book.ground.when import in_zone
from keepbook.book.memory.block import days_above_floor
from keepbook.book.memory.history.traces import ChatName
from keepbook.book.memory.listing import Brief, Overview
from keepbook.book.memory.memories import Memory, Version
from keepbook.book.text import quotation
from keepbook.book.upkeep.importers.incoming import source_of_session
from keepbook.errors import Invalid
from keepbook.patterns import regex
from keepbook.presets import Preset

SOON = timedelta(days=60)
"""The row of a memory says that it fades if it will leave new chats within this time."""


class SourceMark(NamedTuple):
    """The mark that shows whose words a memory has: its CSS class, its icon and its word."""

    kind: str
    glyph: str
    words: str


class ChatPlace(NamedTuple):
    """The chat in which something was said; without an address if it is not stored any more."""

    title: str
    address: str | None
    turn: str | None


class MemoryFootnote(NamedTuple):
    """Everything that is shown with a memory."""

    mark: SourceMark
    place: str
    in_block: bool
    since: datetime | None
    fades: datetime | None
    new: bool
    where: ChatPlace | None
    only_said: bool
    shown: Markup
    """The line as HTML."""
    bracket: bool
    """Whether a value in it was exchanged, which is shown in brackets."""


class SourcedText(Protocol):
    """A memory or a version of one."""

    @property
    def source(self) -> str: ...
    @property
    def thread_id(self) -> str | None: ...
    @property
    def turn_ids(self) -> tuple[str, ...]: ...
    @property
    def valid_from(self) -> datetime: ...


SAID, GUESSED, WAITS = "said", "guessed", "waits"
"""The three states of a line: the person's words; worded by software, and in the book; and waiting for a yes."""


def mark_of(said: Memory | Version, confidence: str) -> SourceMark:
    if said.quoted:
        return SourceMark("said", "ink", SAID)
    if confidence == "asserted":
        return SourceMark("said", "ink", _whose_word(said))
    return SourceMark("guess", "inf", GUESSED)


def _whose_word(line: Memory | Version) -> str:
    """What the mark of an asserted line says: an agent's is `by` that agent until the person confirms it."""
    confirmed = line.last_confirmed_at if isinstance(line, Memory) else None
    if quotation.is_an_agents(line.source, line.written_by, confirmed):
        return f"by {line.written_by}"
    return SAID


def has_exchange(line: Memory | Version) -> bool:
    return any(span.kind == "exchanged" for span in quotation.spans_of(line.spans))


def shown_line(line: Memory) -> Markup:
    """A line as HTML; an exchanged value is marked."""
    shown = quotation.shown_text(line)
    if not has_exchange(line):
        return escape(shown)
    parts = [
        Markup('<span class="bracket">{}</span>').format(part[1:-1]) if _BRACKET.fullmatch(part) else escape(part)
        for part in _BRACKET.split(shown)
    ]
    return Markup("").join(parts)


_BRACKET = regex(r"(\[[^\[\]]*\])")

WAITING = SourceMark("due", "ext", WAITS)


def kind_of(memory: Brief) -> str:
    """The state of a memory, as `mark_of` shows it."""
    if memory.said:
        return SAID
    return GUESSED


def fades_on(memory: Memory, preset: Preset) -> datetime | None:
    """When a memory that software found leaves new chats, if nobody confirms it; None if it does not fade."""
    fading = memory.source == "extracted" and memory.confidence == "inferred"
    if not fading or memory.score is None or not 0 < preset.floor <= memory.score:
        return None
    since = max(memory.recorded_at, memory.last_confirmed_at or memory.recorded_at)
    try:
        return since + timedelta(days=days_above_floor(memory.score, preset))
    except OverflowError:
        return None


@dataclass(frozen=True, slots=True)
class Teller:
    """Words memories; holds what it needs of the whole book."""

    preset: Preset
    all: Overview
    chats: Mapping[str, ChatName]
    zone: ZoneInfo
    now: datetime
    memory_on: bool = True
    waiting_mark = WAITING

    def line(self, memory: Memory) -> MemoryFootnote:
        return MemoryFootnote(
            self.mark(memory), self.place(memory), self.in_block(memory), self.true_from(memory), self.fades(memory),
            self.is_new(memory), self.where(memory), self.only_said(memory), shown_line(memory), has_exchange(memory),
        )  # fmt: skip

    def mark(self, memory: Memory) -> SourceMark:
        return mark_of(memory, memory.confidence)

    def place(self, memory: Memory) -> str:
        """A sentence on whether new chats get it, and if not, why."""
        if memory.state != "active":
            return ""
        if not self.memory_on:
            return "Memory is switched off, so no chat knows it"
        if memory.scope is not None:
            return f"Only {memory.scope} knows it"
        fate = self.all.fates.get(memory.id)
        if not memory.current and (fate is None or fate.place != "in_block"):
            return "" if memory.valid_until else "No chat knows it yet"
        if fate is None:
            return ""
        if fate.place == "recall_only":
            return "A chat knows it when it is asked for"
        if fate.place == "cut":
            return "New chats have no room for it; it is found when it is asked for"
        if memory.current:
            return "Every new chat knows it"
        return "New chats know what it said before"

    def in_block(self, memory: Memory) -> bool:
        fate = self.all.fates.get(memory.id)
        return fate is not None and fate.place == "in_block"

    def true_from(self, memory: Memory) -> datetime | None:
        """Since when it is true; None if that is the day on which it was recorded."""
        since, told = memory.valid_from, memory.recorded_at
        if since == told or self.day(since) == self.day(told):
            return None
        return since

    def fades(self, memory: Memory) -> datetime | None:
        """When it leaves new chats, if that is within SOON; else None."""
        leaves = None
        if memory.state == "active" and self.in_block(memory):
            leaves = fades_on(memory, self.preset)
        if leaves is not None and self.now < leaves < self.now + SOON:
            return leaves
        return None

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
        if chat.in_trash:
            return ChatPlace(f"{chat.title} (in the trash)", place, turn)
        return ChatPlace(chat.title, place, turn)

    def only_said(self, said: SourcedText) -> bool:
        """Whether its date is only when it was said: so in an imported chat, unless its words name the day. A day that
        words name begins at midnight."""
        chat = self.chats.get(said.thread_id or "")
        imported = chat is not None and source_of_session(chat.session) is not None
        return imported and in_zone(said.valid_from, self.zone).time() != time.min

    def day(self, moment: datetime) -> date:
        return in_zone(moment, self.zone).date()


# Dates of a form: a day in the owner's zone.


def parse_day_start(text: str, zone: ZoneInfo, field: str) -> datetime | None:
    """The first instant of a day; None if the field is empty."""
    if not text.strip():
        return None
    try:
        return datetime.combine(date.fromisoformat(text.strip()), time.min, zone)
    except (ValueError, OverflowError):
        raise Invalid(f"{text[:40]!r} is not a date; write it like 2026-03-05", field=field) from None


def parse_day_end(text: str, zone: ZoneInfo, field: str) -> datetime | None:
    """The last instant of a day, because what is true until the 28th is true on the 28th; None if the field is
    empty."""
    first = parse_day_start(text, zone, field)
    try:
        after = first and datetime.combine(first.date() + timedelta(days=1), time.min, zone)
    except OverflowError:
        raise Invalid("there is no calendar after the year 9999; leave it empty instead", field=field) from None
    return after and after - timedelta(microseconds=1)
