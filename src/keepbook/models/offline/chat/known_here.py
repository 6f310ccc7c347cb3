"""Memories as the chat has them in hand: from a tool's answer, from the block, or from what this chat wrote.

Where the tools can look, what they answer is the truth. Where they cannot, there is the block, fixed when the chat
began, and on top of it every event of this chat.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from keepbook.book.memory.memories import AUTOMATIC
from keepbook.book.text.words import fold
from keepbook.models.model import Conversation, ToolCall

_OURS = (
    "Your memory",
    "Whom you talk to",
    "What this chat is for",
    "On the person's screen when this chat began",
    "What to go by",
)
"""The parts of a system prompt that are no block."""
_SCREEN = re.compile(r"<screen>.*?</screen>", re.DOTALL)
_LINE = re.compile(r"- (?:\[(?:id:)?(?P<id>[A-Za-z0-9]{8})\] )?(?:\[(?P<tag>[^\]]*)\] )?(?P<content>.+)")
_INFERRED = " (inferred)"
_TOLD = re.compile(r"\[(?P<id>[A-Za-z0-9]{8})\] (?P<content>.+?)(?: \((?P<notes>[^()]*)\))?")
_REST = re.compile(r"^(\d+) more can be recalled", re.MULTILINE)


class Held(NamedTuple):
    content: str
    id: str | None = None
    category: str | None = None
    subject: str | None = None
    day: str | None = None
    """When it was noted, as a date."""
    current: bool = True
    inferred: bool = False
    automatic: bool = False
    """No person's word stands behind it."""
    fresh: bool = False
    """Written in this chat."""

    @property
    def ref(self) -> str:
        """What names it in a call: its id, or all it says."""
        return self.id or self.content


def of_data(memory: Mapping[str, Any]) -> Held:
    """From the shape that every memory has in a tool's data."""
    return Held(
        memory["content"],
        memory["id"],
        memory.get("category"),
        memory.get("subject"),
        (memory.get("recorded_at") or "")[:10] or None,
        memory.get("current", True),
        memory.get("confidence") == "inferred",
        memory.get("source") in AUTOMATIC and memory.get("confidence") != "asserted",
    )


def told_in(text: str | None) -> list[Held]:
    """The memories that a tool's answer names, line by line."""
    lines = (_TOLD.fullmatch(line.strip()) for line in (text or "").splitlines())
    return [Held(found["content"], found["id"]) for found in lines if found]


def in_block(system: str) -> list[Held]:
    """The lines of the memory block of a system prompt."""
    held = []
    parts = re.split(r"^## ", _SCREEN.sub("", system), flags=re.MULTILINE)[1:]
    for part in parts:
        if part.split("\n", 1)[0].strip() in _OURS:
            continue
        lines = (_LINE.fullmatch(line) for line in part.splitlines())
        held += [_of_line(found) for found in lines if found]
    return held


def _of_line(found: re.Match[str]) -> Held:
    id, tag, content = found["id"], found["tag"], found["content"]
    if id and id.isalpha() and id.islower() and not tag:
        id, tag = None, id  # a topic of eight letters: ids mix letters and digits
    inferred = content.endswith(_INFERRED)
    return Held(content.removesuffix(_INFERRED), id, tag, tag, inferred=inferred, automatic=inferred)


def left_out(system: str) -> int:
    """How many memories the block says it has no room for."""
    found = _REST.search(system)
    return int(found.group(1)) if found else 0


def at_hand(conversation: Conversation, made: Iterable[ToolCall] = ()) -> list[Held]:
    """The block as this chat has changed it since, the newest last."""
    held = in_block(conversation.system)
    for call in (*(call for said in conversation.said for call in said.calls), *made):
        event = call.memory_event
        if not event or event.get("op") == "link":
            continue
        before, after = event.get("before") or {}, event.get("after") or {}
        gone = {fold(state["content"]) for state in (before, after) if state.get("content")}
        held = [one for one in held if one.id != event["id"] and fold(one.content) not in gone]
        if after.get("state") == "active":
            category, subject = after.get("category"), after.get("subject")
            held.append(Held(after["content"], event["id"], category, subject, fresh=True))
    return held
