"""Chooses which messages of a long chat are sent to a model.

Stored messages are never changed. When a chat has filled a share of the budget, its older turns are replaced, in what
is sent, by a summary, which stays the same until the next compression. Until then requests only grow at their end, so a
provider's cache of the prefix keeps working. The cut is always before a message of the person, so no tool call is
separated from its answer. The summary is sent with the first remaining message, so system prompt and block stay the
same.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keepbook.book.chats.threads import Message, estimate
from keepbook.models.model import PromptMessage, ToolCall, with_hidden
from keepbook.models.recorded_turns import hidden_beside, marked

SUMMARY_CHARS = 4_000
KEPT = 0.5
"""The share of the room that a compression leaves filled; the chat may then fill the rest until the next one."""
ORDER = "order"
"""The tool name under which a reply stores what the person's order wrote; no real tool has it."""
_EARLIER = "What was said earlier in this chat, in short:"
_OPENING = "What you said before the person first wrote:"


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens a request may have, and past which share of them older turns are summarised."""

    tokens: int = 32_000
    compress_at: float = 0.8

    @property
    def room(self) -> int:
        return int(self.tokens * self.compress_at)


@dataclass(frozen=True, slots=True)
class SendPlan:
    """The messages to send now, about how many tokens they have, and which turns to summarise first, if any."""

    said: tuple[PromptMessage, ...]
    tokens: int
    due: tuple[Message, ...] = ()

    @property
    def through(self) -> int | None:
        """The last turn that the new summary will cover."""
        if self.due:
            return self.due[-1].turn
        return None


def plan_messages(
    messages: Sequence[Message],
    *,
    compressed_through: int = 0,
    summary: str | None = None,
    fixed_tokens: int = 0,
    budget: Budget = Budget(),  # noqa: B008 - frozen
) -> SendPlan:
    """Which of these messages to send, and whether some should be summarised first; `fixed_tokens` as by
    `fixed_tokens_of`."""
    open_turns = [message for message in messages if message.turn > compressed_through]
    said = _messages_to_send(open_turns, summary)
    tokens = fixed_tokens + sum(map(size, said))
    if tokens <= budget.room:
        return SendPlan(said, tokens)
    return SendPlan(said, tokens, _due(open_turns, int((budget.room - fixed_tokens) * KEPT)))


def _due(messages: Sequence[Message], keep: int) -> tuple[Message, ...]:
    """The messages to summarise: all before the latest turns that fit into `keep` tokens. The turns that stay begin
    with a message of the person, and there is at least one."""
    cut, kept_tokens = 0, 0
    for at in range(len(messages) - 1, 0, -1):
        said = to_said(messages[at])
        if said:
            kept_tokens += size(said)
        if kept_tokens > keep and cut:
            break
        if messages[at].role == "user":
            cut = at
    return tuple(messages[:cut])


def size(said: PromptMessage) -> int:
    """The tokens of one message: characters / 4."""
    calls = sum(estimate(call.name + json.dumps(call.arguments) + (call.answer or "")) for call in said.calls)
    return estimate(with_hidden(said)) + calls


def fixed_tokens_of(system: str, tools: Sequence[Mapping[str, Any]]) -> int:
    """The tokens that are sent with every request: the system prompt with its block, and the tools."""
    return estimate(system) + estimate(json.dumps(tools))


# Messages as a model is sent them


def _messages_to_send(messages: Sequence[Message], summary: str | None) -> tuple[PromptMessage, ...]:
    """The turns of the person and the assistant. Providers and many models require that the person begins; so what the
    assistant said before that, and the summary, are sent as hidden context of the first message."""
    told = []
    if summary and summary.strip():
        told.append(f"{_EARLIER}\n{summary.strip()[:SUMMARY_CHARS]}")
    said: list[PromptMessage] = []
    for message in messages:
        one = to_said(message)
        if one is None:
            continue
        if said or one.role == "user":
            said.append(one)
        else:
            told.append(f"{_OPENING}\n{one.text}")
    if said and told:
        hidden = "\n\n".join([*told, *filter(None, [said[0].hidden])])
        said[0] = replace(said[0], hidden=hidden)
    return tuple(said)


def to_said(message: Message) -> PromptMessage | None:
    """A stored message in the form in which it is sent; None if there is nothing in it for a model."""
    calls = tuple(ToolCall(**part) for part in message.calls if part["name"] != ORDER)
    if message.role not in ("user", "assistant") or not (message.text.strip() or calls):
        return None
    is_part = message.recorded_by is not None
    return PromptMessage(message.role, marked(message), hidden_beside(message), calls, is_part)


def calls_to_parts(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Tool calls in the form that a message stores in its `parts`."""
    return [
        {name: getattr(call, name) for name in ToolCall.__slots__ if name != "others" or call.others} for call in calls
    ]
