"""How a run is executed, whoever executes it.

An adapter is given an order, complete: what comes first, what came before, and the run's own prompt as the last word.
It answers with the text, with what was said on the way, and with the name that the session has from here on. It writes
nothing of the book's: whether the session moves is decided when the run is kept, so one that fails moves nothing.
"""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from keepbook.book.ground.limits import MOST_DEEP
from keepbook.book.ground.to_json import DEEPEST, writable
from keepbook.book.text.block_lines import BlockLine
from keepbook.extensions.agents.book.agents import Agent, SessionLease
from keepbook.extensions.agents.book.cards import CardType
from keepbook.extensions.agents.book.runs import TEXT_LIMIT, TranscriptTurn
from keepbook.models.model import PromptMessage, ReplyEvent, ToolCall, Usage
from keepbook.models.notebook.reply.view import View
from keepbook.models.reply_limits import ReplyLimits, storable_text
from keepbook.models.unfinished_replies import ReplyPiece
from keepbook.tools.catalogue import ToolSet


@dataclass(frozen=True, slots=True)
class SessionPast:
    """What was sent before a run's prompt, with the summary of what is no longer sent."""

    said: tuple[PromptMessage, ...] = ()
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of an execution. `said` is what it adds to the session: the prompt first, the answer last."""

    text: str
    said: tuple[PromptMessage, ...]
    session: str
    usage: Usage
    model: str
    past: SessionPast | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """The input of one execution. `held` is the lease on the shared session, if there is one. `earlier` is the past of
    a chat without a session. `after` is what this run has added so far."""

    agent: Agent
    system: str
    prompt: PromptMessage
    tools: ToolSet
    held: SessionLease | None = None
    earlier: tuple[PromptMessage, ...] = ()
    after: ExecutionResult | None = None
    begun: ReplyPiece | None = None
    """What there is of the answer, where it broke off and is to be gone on with."""
    card: CardType | None = None
    model: str | None = None
    review: bool = False
    """Whether it is to look at its own last decisions before anything else."""
    blind: bool = False
    """Whether it may see no decision, no position and no memory: a specialist."""
    block: tuple[BlockLine, ...] = ()
    """The lines of the block that stands in `system`."""
    view: View | None = None
    """In a chat that the notebook answers: what the turn did, and what recall brought for it."""
    limits: ReplyLimits | None = None


class Adapter(Protocol):
    """Whatever executes a run. The last thing it yields is a `ExecutionResult`; a failure is `ModelFailed`."""

    name: str

    def execute(self, order: Execution) -> AsyncIterator[ReplyEvent | ExecutionResult]: ...


# What was said, as a run keeps it


def message_to_parts(one: PromptMessage) -> dict[str, Any] | None:
    """What a message holds beside its text."""
    parts: dict[str, Any] = {}
    if one.hidden:
        parts = {"hidden": one.hidden}
    if one.calls:
        parts["calls"] = [{name: getattr(call, name) for name in ToolCall.__slots__} for call in one.calls]
    return writable(_storable(parts), DEEPEST - MOST_DEEP + 1) or None


def _storable(value: Any) -> Any:
    """The same as far as a book can keep it: names and ids of calls are whatever a model wrote."""
    if isinstance(value, str):
        return storable_text(value, TEXT_LIMIT)
    if isinstance(value, dict):
        return {_storable(name): _storable(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_storable(each) for each in value]
    return value


def from_lines(lines: Iterable[TranscriptTurn]) -> tuple[PromptMessage, ...]:
    return tuple(_to_message(one) for one in lines if one.role in ("user", "assistant"))


def _to_message(one: TranscriptTurn) -> PromptMessage:
    parts = one.parts or {}
    return PromptMessage(
        one.role, one.text, parts.get("hidden"), tuple(ToolCall(**call) for call in parts.get("calls", ()))
    )
