"""A run while it is performed: its transcript so far, its cost, and what of it a failure leaves."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from keepbook.errors import KeepbookError, ModelFailed
from keepbook.extensions.agents.book.agents import Agent, SessionLease
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.models.adapter import Execution
from keepbook.models.model import Conversation, PromptMessage, Usage, with_hidden
from keepbook.models.reply_limits import ReplyLimits
from keepbook.models.unfinished_replies import ReplyPiece, estimate_usage


@dataclass(slots=True)
class RunInProgress:
    """A run that is being performed: its transcript so far, and what it has cost.

    held: the lease on the agent's session, if it has one
    said: the messages so far
    started: whether this process has set the run to running
    """

    run: Run
    agent: Agent
    held: SessionLease | None = None
    said: list[PromptMessage] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    started: bool = False
    limits: ReplyLimits = field(init=False)

    def __post_init__(self) -> None:
        agent = self.agent
        most_tokens = agent.run_tokens
        if self.run.kind == "chat":  # the person sees what it does, and can stop it
            most_tokens = None
        self.limits = ReplyLimits(agent.run_seconds, agent.run_tool_calls, most_tokens)

    def count(self, usage: Usage) -> None:
        self.usage += usage
        self.limits.finish_reply(usage)


def given_texts(one: PromptMessage) -> Iterator[str]:
    """The texts of a message that the model was given: prompts with their hidden context, and answers of tools."""
    if one.role == "user":
        yield with_hidden(one)
    yield from (call.answer or "" for call in one.calls)


def failure_code(error: KeepbookError) -> str:
    """The stable code of a failure. The cause of a model's failure says more than its code, so it is taken if there is
    one."""
    return str(error.details.get("cause") or error.code)


def spent_on_failure(order: Execution, error: BaseException, piece: ReplyPiece) -> Usage:
    """What a failed execution has cost: as counted by the provider or the limits, else estimated from its length."""
    details = error.details if isinstance(error, KeepbookError) else {}
    counted = Usage(*(int(details.get(name, 0)) for name in ("tokens_in", "tokens_out")))
    if counted == Usage() and order.limits is not None:
        counted = order.limits.spent
    if counted == Usage() and piece and not isinstance(error, ModelFailed):
        return estimate_usage(Conversation(order.system, (*order.earlier, order.prompt)), piece)
    return counted
