"""The interface of every language model, and the values that go in and come out.

A model answers a chat turn (streaming, with tools), reads a chat that closes, summarises, and makes titles. Everything
it is given and returns is a type of this module; only `providers/` uses the types of a provider's library. A model that
fails raises `ModelFailed` and has changed nothing: the caller decides what happens next.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from keepbook.book.text.block_lines import BlockLine
from keepbook.book.text.for_models.prompt_part import as_part, beside_parts
from keepbook.book.text.quotation import Span
from keepbook.book.text.topic_meaning import Sense
from keepbook.errors import ModelFailed
from keepbook.extension import Extension
from keepbook.models.notebook.reply.view import View
from keepbook.models.notebook.values import Deed
from keepbook.presets import Preset

Op = Literal["add", "update", "forget", "skip"]
TurnId = int | str


@dataclass(frozen=True)
class DialogueTurn:
    id: TurnId
    role: str
    text: str
    at: datetime | None = None
    speaker: str | None = None


@dataclass(frozen=True)
class KnownMemory:
    """A memory that is already in the book; `protected` means a person's own word."""

    id: str
    category: str | None
    subject: str | None
    content: str
    source: str
    score: float | None = None
    protected: bool = False
    since: str | None = None
    """The instant from which on it holds."""
    quoted: bool = False
    """Whether it is a quotation: the person's own words."""
    thread_id: str | None = None
    turn_ids: frozenset[str] = frozenset()
    """The chat and the turns in which it was said."""
    recorded_at: str = ""


@dataclass(frozen=True)
class Candidate:
    op: Op
    target: str | None
    category: str | None
    subject: str | None
    content: str
    score: float
    turn_ids: tuple[TurnId, ...]
    valid_from: str | None = None
    reason: str | None = None
    sure: bool = True
    """If it is not sure, it becomes a proposal, whatever the preset says about candidates."""
    spans: tuple[Span, ...] = ()
    """The stretches of the chat that a quotation is made of; empty if it is none."""
    said_on: str | None = None
    valid_until: str | None = None
    question: str | None = None
    """The question (`keep`, `over`, `change` or `which`) to put to the person; None: only whether to keep it."""
    ordered: bool = False
    """Whether the person asked explicitly to remember it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost, in tokens."""

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


class WorkLimits(Protocol):
    """The limits of a reply that nobody watches; `ReplyLimits` implements it. The model sets `spent` on its way."""

    spent: Usage

    def count_call(self) -> None:
        """Count a call of a tool; raises if it is one too many."""

    def check_tokens(self) -> None:
        """Raise if more tokens are spent than allowed."""

    def wait_before_retry(self, error: ModelFailed, tries: int) -> float | None:
        """How many seconds to wait before the request is tried again; None if it is not."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asked for, and (once made) its answer.

    `round` and `at` (how many characters of the reply had been said by then) are where in the reply it happened, so
    that the reply can be sent again later exactly as it was made.
    """

    id: str
    name: str
    arguments: dict[str, Any]
    answer: str | None = None
    memory_event: dict[str, Any] | None = None
    round: int = 0
    at: int = 0
    others: tuple[str, ...] = ()
    """The programs that recorded the turns which the answer quotes."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message in the form that the model is sent. `hidden` is sent before a user's text."""

    role: str  # user, assistant
    text: str
    hidden: str | None = None
    calls: tuple[ToolCall, ...] = ()
    is_part: bool = False
    """Whether the text is a part of its own already, as a recorded turn is."""


BREAK = "\n\n"
"""Stands between the texts before and after a round of calls within one reply."""


def with_hidden(said: PromptMessage) -> str:
    """A message as one text: the hidden context first, in its own part, then what the person wrote."""
    text = said.text
    if not said.is_part:
        text = beside_parts(text)
    if said.hidden:
        return f"{as_part('context', said.hidden)}\n\n{text}"
    return text


class AnswerForm(Protocol):
    """The form that an answer must have: a name and a JSON schema. If the provider can guarantee that an answer fits a
    schema, it is asked to."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything that a reply is made from. The next turn's conversation begins with the same `system` and `said`.

    `form` is the form that the answer must have; the system prompt or the last message also asks for it in words.
    `preset` and `view` (what the last message did, and what recall brought for it) are for the notebook; a remote model
    gets them as hidden context. `extensions` are those that are on: the notebook asks them for an answer.
    """

    system: str
    said: tuple[PromptMessage, ...]
    form: AnswerForm | None = None
    preset: Preset | None = None
    view: View | None = None
    block: tuple[BlockLine, ...] = ()
    """The lines of the block that is part of `system`."""
    extensions: tuple[Extension, ...] = ()
    limits: WorkLimits | None = None
    """Limits of a reply that nobody watches; None while a person does."""


# The events of a reply, in the order in which they come.


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool was called and has answered."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ReplyFinished:
    """The whole reply; always the last event."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage


ReplyEvent = TextDelta | ToolCalled | ReplyFinished


@dataclass(frozen=True, slots=True)
class ClosingChat:
    """What the extractor reads when a chat is closed: its new turns, the summary of the earlier ones, and more."""

    turns: tuple[DialogueTurn, ...]
    known: tuple[KnownMemory, ...]
    categories: tuple[str, ...]
    zone: str
    now: datetime
    summary: str | None = None
    block: tuple[BlockLine, ...] = ()
    """The lines of the block that the chat was given."""
    never: tuple[str, ...] = ()
    deeds: Mapping[TurnId, tuple[Deed, ...]] = field(default_factory=dict)
    """What each turn did to the book and was not undone since."""
    kept: frozenset[TurnId] = frozenset()
    """Turns from which memories were kept as soon as they were said: they are read for the summary only."""
    written: Mapping[TurnId, tuple[str, ...]] = field(default_factory=dict)
    """For each turn that was said here, the lines that the reply to it wrote with tools."""
    thread_id: str = ""
    preset: Preset | None = None
    sense: Sense | None = None
    extensions: tuple[Extension, ...] = ()
    """The extensions that are on."""
    elsewhere: bool = False
    """Whether the chat was imported from another program: then what was said holds since it was said, not since now."""
    go_on: Callable[[], None] = lambda: None
    """Called now and then by who reads for long: raises if the process is told to end."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a model found in a chat: candidates (a target is the id of one in `known`), and the new summary."""

    candidates: tuple[Candidate, ...]
    summary: str
    made_by: str
    usage: Usage = field(default_factory=Usage)


class Toolbox(Protocol):
    """The tools of a reply: their schemas, and how to call one. `ToolSet` of the tools package implements it."""

    def schemas(self, format: Literal["openai", "anthropic", "mcp"]) -> list[dict[str, Any]]: ...

    def call(self, name: str, arguments: Any) -> Any: ...


class Model(Protocol):
    """A language model, or rules in place of one."""

    name: str

    def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        """Answer the last message, calling tools on the way."""

    async def extract(self, reading: ClosingChat) -> Extraction:
        """Read a closing chat, in one call (a second only to repair an answer that does not fit)."""

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        """The summary of a chat so far, for the part of a long chat that is not sent in full any more."""

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        """A title for a chat, three to five words."""
