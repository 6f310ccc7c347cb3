"""The interface of whatever executes a run.

An adapter is given a complete order: the system prompt, the earlier messages, and the run's own prompt as the last
message. It returns the answer, the messages on the way, and the new name of the session. It writes nothing to the book:
the session changes only when the run is stored, so a run that fails leaves it as it was.
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
    """The messages that are sent before a run's prompt, and the summary of older ones that are not sent any more."""

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
    """The piece of an answer that broke off and is to be continued."""
    card: CardType | None = None
    model: str | None = None
    review: bool = False
    """Whether the agent should look at its own last decisions before anything else."""
    blind: bool = False
    """Whether it may see no decision, no position and no memory, as a specialist must not."""
    block: tuple[BlockLine, ...] = ()
    """The lines of the block that is part of `system`."""
    view: View | None = None
    """For the notebook, in a chat that it answers: what the turn did, and what recall brought for it."""
    limits: ReplyLimits | None = None


class Adapter(Protocol):
    """Executes runs. The last thing that `execute` yields is an `ExecutionResult`; a failure is `ModelFailed`."""

    name: str

    def execute(self, order: Execution) -> AsyncIterator[ReplyEvent | ExecutionResult]: ...


# Messages as a transcript stores them


def message_to_parts(one: PromptMessage) -> dict[str, Any] | None:
    """The parts of a message beside its text, as JSON: its hidden context and its calls."""
    parts: dict[str, Any] = {}
    if one.hidden:
        parts = {"hidden": one.hidden}
    if one.calls:
        parts["calls"] = [{name: getattr(call, name) for name in ToolCall.__slots__} for call in one.calls]
    return writable(_storable(parts), DEEPEST - MOST_DEEP + 1) or None


def _storable(value: Any) -> Any:
    """The value with every text made storable: a model may write anything as the name or id of a call."""
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
