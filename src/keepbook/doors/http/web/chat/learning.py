"""The pencil lines of a chat's page: what closing would do with each, and what the person left out.

Reading a long chat for the first time takes seconds, so no page waits for it: the script asks for the pencil lines when
the page is shown; without script there is a link. The answer to a form includes them, because the chat has been read by
then.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from keepbook.book.chats.pencil import Pencil
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.view import declined_pencil_lines
from keepbook.book.text.quotation import as_shown, shown_text
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.errors import NotFound
from keepbook.models.notebook.reply.say import Voice, describe_deeds
from keepbook.models.notebook.values import from_parts
from keepbook.presets import Preset


class PencilLine(NamedTuple):
    """A pencil line. `before` is the line that it would replace; `out` is when the person left it out."""

    key: str
    turn: int
    content: str
    category: str | None
    sure: bool
    before: str | None = None
    out: datetime | None = None
    question: str | None = None
    """The id of the question that asks for it already; None if none does."""


@dataclass(frozen=True, slots=True)
class ChatLearning:
    """What closing would keep of a chat; `lines` are empty until the chat was `read`."""

    lines: Sequence[PencilLine] = ()
    read: bool = True
    beside: bool = True
    """Whether the lines are shown beside their turns; not if the preset saves silently."""

    def of(self, turn: int) -> list[PencilLine]:
        """The lines beside a turn; an offered line is asked as a question."""
        if self.beside:
            return [line for line in self.lines if line.turn == turn and line.question is None]
        return []

    def kept_in_silence(self) -> set[str]:
        """The questions whose line closing keeps, though nobody answers."""
        return {line.question for line in self.lines if line.question is not None and line.sure}


def is_open(visit: Visit, thread: Thread) -> bool:
    """Whether closing would read anything in this chat."""
    waits = thread.state == "active" and thread.deleted_at is None and thread.turns > thread.extracted_through
    return waits and not thread.incognito and visit.book.choices.memory


def chat_learning(visit: Visit, thread: Thread, preset: Preset) -> ChatLearning:
    """Read a chat for its pencil lines, which takes seconds for a long one that was not read yet."""
    if not is_open(visit, thread):
        return ChatLearning()
    proposes = preset.on_close == "propose"
    waiting = [_waiting_line(visit, one, proposes=proposes) for one in visit.book.threads.get(thread.id).pencil()]
    out = [
        PencilLine(one.key, one.turn_id, one.content, None, False, out=one.at)
        for one in declined_pencil_lines(visit.book, thread)
    ]
    return ChatLearning([*waiting, *out], beside=preset.consent != "silent")


def _waiting_line(visit: Visit, one: Pencil, *, proposes: bool) -> PencilLine:
    words = as_shown(one.content, one.spans, None) if one.spans else one.content
    sure, before = one.sure and not proposes, _line_of(visit, one.target)
    return PencilLine(one.key, one.turn_id, words, one.category, sure, before, question=one.proposal)


def _line_of(visit: Visit, memory: str | None) -> str | None:
    """The text of the memory that a line would replace; None if there is none."""
    try:
        if memory:
            return shown_text(visit.book.get(memory))
        return None
    except NotFound:  # deleted for good a moment ago
        return None


def order_result(message: Message) -> str:
    """What an order did, in words, if no slip shows it: a model's reply may not say it."""
    deeds = from_parts(message.parts) if message.role == "user" else ()
    unseen = [deed for deed in deeds if not (deed.event or deed.withdrawn or deed.proposal or deed.topics)]
    return describe_deeds(unseen, Voice("en"))


def banned_topics(message: Message) -> list[str]:
    """The topics that a turn asked never to keep."""
    if message.role == "user":
        deeds = from_parts(message.parts)
    else:
        deeds = ()
    kept = [deed for deed in deeds if deed.act == "never" and not deed.failed]
    return [topic for deed in kept for topic in deed.topics]


def asks_off(message: Message) -> bool:
    """Whether a turn asks to stop remembering."""
    return message.role == "user" and any(deed.act == "off" for deed in from_parts(message.parts))


def withdrawn_lines(message: Message) -> list[str]:
    """What the person said and then took back with this turn: no line is written of it."""
    if message.role == "user":
        deeds = from_parts(message.parts)
    else:
        deeds = ()
    taken = [deed for deed in deeds if deed.act == "withdraw" and deed.withdrawn and not deed.event]
    return [deed.content for deed in taken if deed.content]
