"""Executes a run with Keepbook's own models. The session is what earlier runs said, as it is stored.

Requests only grow at their end until the session is too long for the budget. Then the oldest runs are replaced, in what
is sent, by a summary that stays the same; the stored runs stay complete. A run is never cut in half, so no tool call is
separated from its answer.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from keepbook.book.book import Book
from keepbook.extensions.agents.book.agents import SessionLease as Held
from keepbook.extensions.agents.models.adapter import Execution, ExecutionResult, SessionPast, from_lines
from keepbook.extensions.agents.tools import MY_DECISIONS
from keepbook.models.choose import Models
from keepbook.models.compress import KEPT, SUMMARY_CHARS, Budget, fixed_tokens_of, size
from keepbook.models.model import (
    Conversation,
    DialogueTurn,
    PromptMessage,
    ReplyEvent,
    ReplyFinished,
    ToolCall,
    ToolCalled,
    Usage,
)
from keepbook.models.unfinished_replies import going_on

_EARLIER = "What came before in your session, in short:"


@dataclass(frozen=True, slots=True)
class SessionStep:
    """The messages that one earlier run added to the session."""

    number: int
    said: tuple[PromptMessage, ...]

    @property
    def size(self) -> int:
        return sum(map(size, self.said))


class Native:
    """The adapter for Keepbook's own models."""

    name = "native"

    def __init__(self, book: Book, models: Models, *, budget: Budget) -> None:
        self._book = book
        self._models = models
        self._budget = budget

    async def execute(self, order: Execution) -> AsyncIterator[ReplyEvent | ExecutionResult]:
        """Send the session and the prompt to the model, and yield its events; the last one is the result."""
        model = self._models.named(order.model)
        past, summary_cost = await self._past_to_send(order)
        said = [order.prompt]
        if order.review and order.after is None:
            if order.limits is not None:
                order.limits.count_call()
            call = await asyncio.to_thread(_review_decisions, order)
            said.append(PromptMessage("assistant", "", calls=(call,)))
            yield ToolCalled(call)
        sent = _with_summary((*past.said, *said), past.summary)
        conversation = Conversation(
            order.system, sent, order.card, view=order.view, block=order.block, extensions=self._book.extensions,
            limits=order.limits,
        )  # fmt: skip
        if order.begun is not None:
            conversation = going_on(conversation, order.begun)
        async for event in model.reply(conversation, order.tools):
            yield event
            if isinstance(event, ReplyFinished):
                whole = event if order.begun is None else order.begun.join(event)
                said.append(PromptMessage("assistant", whole.text, calls=whole.calls))
                usage = event.usage + summary_cost
                yield ExecutionResult(whole.text, tuple(said), f"s_{secrets.token_hex(6)}", usage, model.name, past)

    async def _past_to_send(self, order: Execution) -> tuple[SessionPast, Usage]:
        """What is sent before this run's prompt, and the cost of a summary that had to be made for it."""
        if order.after is not None and order.after.past is not None:
            before = order.after.past
            return replace(before, said=before.said + order.after.said), Usage()
        if order.held is None:
            return SessionPast(order.earlier), Usage()
        held, summary, spent = order.held, order.held.compressed, Usage()
        steps = await asyncio.to_thread(self._steps, held)
        around = fixed_tokens_of(order.system, order.tools.schemas("openai")) + size(order.prompt)
        if around + sum(step.size for step in steps) > self._budget.room:
            oldest = _steps_to_summarise(steps, int((self._budget.room - around) * KEPT))
            if oldest:
                made = await self._models.summarise(summary, _turns(oldest))
                summary, spent = made.text[:SUMMARY_CHARS], made.usage
                await asyncio.to_thread(self._book.agents.compress, held, oldest[-1].number, summary)
                steps = steps[len(oldest) :]
        return SessionPast(tuple(one for step in steps for one in step.said), summary), spent

    def _steps(self, held: Held) -> list[SessionStep]:
        return [SessionStep(step, from_lines(lines)) for step, _, lines in self._book.runs.carried(held)]


def _steps_to_summarise(steps: Sequence[SessionStep], keep: int) -> Sequence[SessionStep]:
    """The steps to summarise: all before the latest ones that fit into `keep` tokens."""
    kept = 0
    for at in range(len(steps) - 1, -1, -1):
        kept += steps[at].size
        if kept > keep:
            return steps[: at + 1]
    return ()


def _turns(steps: Sequence[SessionStep]) -> list[DialogueTurn]:
    every = [one for step in steps for one in step.said]
    said = [one for one in every if one.text.strip()]
    return [DialogueTurn(number, one.role, one.text) for number, one in enumerate(said, 1)]


def _with_summary(said: tuple[PromptMessage, ...], summary: str | None) -> tuple[PromptMessage, ...]:
    """The messages, with the summary of older ones as hidden context of the first."""
    if not summary:
        return said
    first, *rest = said
    hidden = "\n\n".join(filter(None, [f"{_EARLIER}\n{summary}", first.hidden]))
    return (replace(first, hidden=hidden), *rest)


def _review_decisions(order: Execution) -> ToolCall:
    """Call the tool for the agent's last decisions on its behalf."""
    arguments = {"limit": 5}
    answer = order.tools.call(MY_DECISIONS, arguments)
    # A random id, because no two calls in a session may have the same.
    return ToolCall(f"review_{secrets.token_hex(4)}", MY_DECISIONS, arguments, answer.text)
