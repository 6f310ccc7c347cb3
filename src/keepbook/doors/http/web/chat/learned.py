"""Learning, as a chat's page shows it: the lines in pencil, what closing makes of each, and what the person left out.

Reading a long chat for the first time takes seconds, so no page waits for it: script asks for the pencil once the page
stands; without script a link does, and the answer to a form brings it along, since saying something has read the chat.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.view import left_out
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.doors.http.web.memory.wording import group_name
from keepbook.errors import NotFound
from keepbook.models.orders import confirmations
from keepbook.models.orders.values import Place, of_parts
from keepbook.presets import Preset


class Line(NamedTuple):
    """One line in pencil. `before` is what it would take the place of; `out` when the person left it out."""

    key: str
    turn: int
    content: str
    category: str | None
    sure: bool
    before: str | None = None
    out: datetime | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """What closing would make of a chat. Until it was `read`, that is not known."""

    lines: Sequence[Line] = ()
    read: bool = True
    beside: bool = True
    """Whether the lines stand beside their turns; where a preset saves silently they stand in the panel only."""

    @property
    def kept(self) -> int:
        return sum(line.sure and line.out is None for line in self.lines)

    @property
    def noted(self) -> int:
        return sum(line.out is None for line in self.lines)

    @property
    def waits(self) -> int:
        """How many closing puts into the review."""
        return self.noted - self.kept

    @property
    def left_out(self) -> int:
        return sum(line.out is not None for line in self.lines)

    def of(self, turn: int) -> list[Line]:
        return [line for line in self.lines if line.turn == turn] if self.beside else []

    def groups(self, preset: Preset) -> list[tuple[str, list[Line]]]:
        """What closing keeps, in the order of the book; then what will wait, and what was left out."""
        kept = [line for line in self.lines if line.sure and line.out is None]
        order = [*preset.categories, *{line.category: None for line in kept}]
        found = [
            (group_name(one, preset), [line for line in kept if line.category == one]) for one in dict.fromkeys(order)
        ]
        found.append(("Waits in Review", [line for line in self.lines if not line.sure and line.out is None]))
        found.append(("Left out", [line for line in self.lines if line.out is not None]))
        return [(name, lines) for name, lines in found if lines]


def is_open(visit: Visit, thread: Thread) -> bool:
    """Whether closing would read anything here."""
    waits = thread.state == "active" and thread.deleted_at is None and thread.turns > thread.extracted_through
    return waits and not thread.incognito and visit.book.choices.memory


def learned(visit: Visit, thread: Thread, preset: Preset) -> Learned:
    """The chat, read: seconds for a long one that nobody has read yet."""
    if not is_open(visit, thread):
        return Learned()
    proposes = preset.on_close == "propose"
    waiting = [
        Line(one.key, one.turn_id, one.content, one.category, one.sure and not proposes, _said(visit, one.target))
        for one in visit.book.threads.get(thread.id).pencil()
    ]
    out = [Line(one.key, one.turn_id, one.content, None, False, out=one.at) for one in left_out(visit.book, thread)]
    return Learned([*waiting, *out], beside=preset.consent != "silent")


def _said(visit: Visit, memory: str | None) -> str | None:
    try:
        return visit.book.get(memory).content if memory else None
    except NotFound:  # deleted for good a moment ago
        return None


def heeded(message: Message) -> str:
    """What an order did, or what it asks, where no slip shows it: with a model the person would read nothing of it."""
    deeds = of_parts(message.parts) if message.role == "user" else ()
    unseen = [
        deed
        for deed in deeds
        if deed.chats or deed.question or deed.failed or not (deed.events or any(one.content for one in deed.taken))
    ]
    return confirmations.told(unseen)


def skipped(message: Message) -> list[Place]:
    """What the person said and then took back with this turn: closing writes no line of it."""
    deeds = of_parts(message.parts) if message.role == "user" else ()
    return [place for deed in deeds if deed.kind == "withdraw" for place in deed.taken if place.content]
