"""The interface of a language model, whichever it is.

A model answers a chat turn (streaming, with tools), reads a chat that closes, summarises and titles. Everything it is
given and returns is a value here; no provider's types are used above this module. A model that fails raises
`ModelFailed` and has changed nothing: the caller decides what happens next.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
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
    """From when on it holds."""
    quoted: bool = False
    """Whether it stands in the person's own words."""
    thread_id: str | None = None
    turn_ids: frozenset[str] = frozenset()
    """Where it was said."""
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
    """What is only likely becomes a proposal, whatever the preset does with the rest."""
    spans: tuple[Span, ...] = ()
    """Of a quotation: the stretches of the chat it is made of."""
    said_on: str | None = None
    valid_until: str | None = None
    question: str | None = None
    """What the person is to be asked, where it is more than whether to keep it."""
    ordered: bool = False
    """Whether the person asked to remember it in so many words."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call cost, in tokens."""

    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


class WorkLimits(Protocol):
    """What a reply that nobody watches may use (`ReplyLimits` is one), asked on its way; `spent` is told to it."""

    spent: Usage

    def count_call(self) -> None: ...

    def check_tokens(self) -> None: ...

    def wait_before_retry(self, error: ModelFailed, tries: int) -> float | None: ...


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
    """Those who recorded what the answer quotes."""


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """One message in the form that the model is sent. `hidden` is sent before a user's text."""

    role: str  # user, assistant
    text: str
    hidden: str | None = None
    calls: tuple[ToolCall, ...] = ()


BREAK = "\n\n"
"""What parts the texts before and after a round of calls within one reply."""


def with_hidden(said: PromptMessage) -> str:
    """A message as one text: the hidden context first, in its own part, then what the person wrote."""
    text = beside_parts(said.text)
    if said.hidden:
        return f"{as_part('context', said.hidden)}\n\n{text}"
    return text


class AnswerForm(Protocol):
    """The form that an answer must have. Whoever asks for one knows what is in it; here it has a name and a JSON
    schema, to which a provider that can is asked to bind the answer."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Conversation:
    """Everything that a reply is made from. `system` and `said` up to the last message are a stable prefix.

    `form` is the form that the answer must have; the words of the system prompt or of the last message ask for it.
    `preset` and `view` (what the last message did, and what recall brought for it) are for the notebook; a remote model
    gets them as hidden context. `extensions` are those that are on: the notebook asks them for an answer.
    """

    system: str
    said: tuple[PromptMessage, ...]
    form: AnswerForm | None = None
    preset: Preset | None = None
    view: View | None = None
    block: tuple[BlockLine, ...] = ()
    """The lines of the block that stands in `system`."""
    extensions: tuple[Extension, ...] = ()
    limits: WorkLimits | None = None
    """Where nobody watches the reply: what it may use."""


# What happens while a model replies, in order of time.


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
    """A chat to be closed, as the extractor gets it: the new turns and the summary of the earlier ones."""

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
    """By turn, what it did to the book as far as that stands."""
    kept: frozenset[TurnId] = frozenset()
    """Turns whose lines were kept when they were said: they are read for the summary only."""
    written: Mapping[TurnId, tuple[str, ...]] = field(default_factory=dict)
    """By turn that was said here, what the reply to it wrote with tools."""
    thread_id: str = ""
    preset: Preset | None = None
    sense: Sense | None = None
    extensions: tuple[Extension, ...] = ()
    """Those that are on."""
    elsewhere: bool = False
    """Whether the chat came in from another program: what was said in it holds since then, not since it was read."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a model read out of a chat: candidates (targets are ids of `known`) and the new running summary."""

    candidates: tuple[Candidate, ...]
    summary: str
    made_by: str
    usage: Usage = field(default_factory=Usage)


class Toolbox(Protocol):
    """The tools of a reply: their schemas, and how to call one. `ToolSet` of the tools package is one."""

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
