"""What one reply saw: the lines of the block, what it recalled and looked up, and what that cost.

All of it is read from what was stored with the reply and from the block the chat was given: what a model was sent, not
what the book says by now.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.view import ChatBlock, chat_block
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.doors.http.web.memory.block_groups import BlockGroups, group_block_lines
from keepbook.errors import NotFound
from keepbook.models.compress import ORDER
from keepbook.models.model import ToolCall
from keepbook.models.providers.remote import RemoteModel
from keepbook.patterns import regex
from keepbook.presets import Preset

RECALLS = ("recall", "recall_chats")
_HIT = regex(
    r"^\[(?P<memory>[A-Za-z0-9]{8})\] (?P<text>.*)$"
    r"|^- (?P<where>.*?\(chat (?P<chat>[A-Za-z0-9]{8}), turn (?P<turn>\d+)\)): (?P<said>.*)$"
)
A_MILLION = 1_000_000
LEAST = 0.0001
"""The smallest price that is shown as a figure; a smaller one is described in words."""


class SourceHit(NamedTuple):
    """A line that a recall answered with, and where it leads."""

    text: str
    link: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RecallSource:
    question: str
    hits: list[SourceHit]
    answer: str


@dataclass(frozen=True, slots=True)
class LookedUp:
    asked: str
    answer: str


@dataclass(frozen=True, slots=True)
class ReplySources:
    """Everything that a reply was made from."""

    message: Message
    block: ChatBlock | None
    lines: BlockGroups
    erased: bool
    """The block it was given was erased together with a memory in it; the chat has had another one since."""
    recalled: list[RecallSource]
    looked_up: list[LookedUp]
    model: str
    """Which one answered, as people call it; nothing where it was recorded from elsewhere."""
    cost: str
    asked_model: bool = False
    """Whether a model was sent something for it, which can be shown whole."""

    @property
    def tokens(self) -> int:
        return (self.message.tokens_in or 0) + (self.message.tokens_out or 0)


def reply_sources(visit: Visit, thread: Thread, message: Message) -> ReplySources:
    block = chat_block(visit.book, thread)
    erased = block is not None and block.at > message.at
    if erased:
        block = None
    calls = [ToolCall(**part) for part in message.calls if part["name"] != ORDER]
    preset = visit.book.preset(thread.preset)
    asked = questions(preset)
    model = ""
    if message.model:
        model = visit.kb.models.called(message.model)
    return ReplySources(
        message,
        block,
        group_block_lines(block.lines if block else (), preset),
        erased,
        [_recall_source(call, asked[call.name]) for call in calls if call.name in asked],
        [LookedUp(_call_in_words(call), call.answer or "") for call in calls if call.name not in asked],
        model,
        _cost(visit, message),
        asked_model=message.model is not None and message.model != visit.kb.models.offline.name,
    )


def reply_of(messages: Sequence[Message], turn: int) -> Message:
    found = next((one for one in messages if one.turn == turn and one.role == "assistant"), None)
    if found is None:
        raise NotFound(f"there is no reply at turn {turn} of this chat", field="saw")
    return found


# Rules


def questions(preset: Preset) -> dict[str, str]:
    """The tools that recall, by what the preset says they do, each with the name of the argument that asks."""
    return {
        tool.name: next((name for name, bound in tool.arguments.items() if bound.is_ == "query"), "query")
        for tool in preset.tools
        if tool.does in RECALLS
    }


def _recall_source(call: ToolCall, asks: str) -> RecallSource:
    answer = call.answer or ""
    return RecallSource(str(call.arguments.get(asks, "")), _hits(answer), answer)


def _hits(answer: str) -> list[SourceHit]:
    hits: list[SourceHit] = []
    for line in answer.splitlines():
        found = _HIT.match(line)
        if found and found["memory"]:
            hits.append(SourceHit(found["text"], f"/memory/{found['memory']}"))
        elif found:
            hits.append(SourceHit(found["said"], f"/chat/{found['chat']}#turn-{found['turn']}", found["where"]))
        elif line.startswith("    ") and hits:
            hits[-1] = hits[-1]._replace(detail=line.strip())
    return hits


def _call_in_words(call: ToolCall) -> str:
    """A call in words: name(argument="…")."""
    told = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items())
    return f"{call.name}({', '.join(told)})"


def _cost(visit: Visit, message: Message) -> str:
    """What is known about the price, in a sentence; never a nought that nobody has counted."""
    if message.model is None:
        return "Recorded from elsewhere: what it cost was not told."
    models, settings = visit.kb.models, visit.kb.settings
    if message.broke_off:
        return "It broke off before the model had counted what it took."
    if message.model == models.offline.name:
        return "Your book answered. It runs on this computer and costs nothing."
    if settings.price_in or settings.price_out:
        spent = (message.tokens_in or 0) * settings.price_in + (message.tokens_out or 0) * settings.price_out
        return f"It cost {cost_in_words(spent / A_MILLION)}, at the prices in the settings."
    if models.chat.name == message.model and isinstance(models.chat, RemoteModel) and models.chat.address.here:
        return "Runs on this machine."
    return "What it cost is not known: no prices stand in the settings."


def cost_in_words(cost: float) -> str:
    """An amount of money with as many places as it needs; a smaller one is called smaller."""
    if cost < LEAST:
        return f"less than {LEAST:.4f}"
    if cost >= 0.1:
        return f"{cost:.2f}"
    return f"{cost:.4f}"
