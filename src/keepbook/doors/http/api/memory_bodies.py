"""What `/api/memory` is sent, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from keepbook.book.ground.limits import MOST_PARTS, is_mass
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory.memories import REASONS, Memory, Version, Written
from keepbook.book.recall.memories import Hit
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.recall.turns.topic_events import TimelineLine


class RequestBody(BaseModel):
    """A request's body: what is not known is refused by name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_masses(cls, sent: Any) -> Any:
        """Pydantic notes every fault before it answers, and nobody else is answered meanwhile."""
        if is_mass(sent):
            raise ValueError(f"a body has at most {MOST_PARTS:,} parts")
        return sent


SINCE = "True since when: ISO 8601 or plain words (last Friday), in the owner's zone."
UNTIL = "True until when, said in the same ways."
VALID_FROM = "The older name of `since`: ISO 8601 alone, in UTC where it names no offset."
FORCE = "Keep it although something like it is there, or its topic is one never to be kept."


class NewMemory(RequestBody):
    content: str
    category: str | None = None
    subject: str | None = None
    summary: str | None = None
    body: str | None = None
    metadata: dict[str, str] | None = Field(None, description="What a program notes with it: at most 32 strings.")
    tags: list[str] | None = Field(None, description="Words to file it under: at most 32.")
    confidence: str | None = Field(None, description="asserted or inferred")
    importance: float | None = None
    since: str | None = Field(None, description=SINCE)
    until: str | None = Field(None, description=UNTIL)
    valid_from: str | None = Field(None, description=VALID_FROM)
    valid_until: str | None = None
    scope: str | None = None
    thread_id: str | None = None
    turn_ids: list[str | int] = []
    force: bool = Field(False, description=FORCE)


class ChangedMemory(RequestBody):
    content: str
    summary: str | None = None
    body: str | None = None
    category: str | None = None
    subject: str | None = None
    metadata: dict[str, str] | None = Field(None, description="Left out, it stays as it is; {} empties it.")
    tags: list[str] | None = Field(None, description="Left out, they stay as they are; [] takes them away.")
    confidence: str | None = None
    importance: float | None = None
    since: str | None = Field(None, description=SINCE)
    until: str | None = Field(None, description=f"{UNTIL} Empty, it takes an end away.")
    valid_from: str | None = Field(None, description=VALID_FROM)
    valid_until: str | None = None
    correction: bool = Field(False, description="As it should have been from the start.")
    expect_version: int | None = None
    thread_id: str | None = None
    turn_ids: list[str | int] = []
    force: bool = Field(False, description="Keep it although its topic is one never to be kept.")


class ForgetRequest(RequestBody):
    reason: str = Field("user_deleted", description=", ".join(REASONS[:-1]))
    expect_version: int | None = None


class RestoreRequest(RequestBody):
    expect_version: int | None = None


class InjectRequest(RequestBody):
    session: str
    preset: str | None = None
    scope: str | None = None


class NewLink(RequestBody):
    from_id: str
    to_id: str
    relation: str


@dataclass(frozen=True)
class MemoryPage:
    memories: list[Memory]
    total: int
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedMemory(Written):
    """A memory after its update, and what it said before and says now."""

    old: str
    new: str


@dataclass(frozen=True)
class Block:
    """The text for a system prompt, and the preset it was made by."""

    block: str
    preset: str


@dataclass(frozen=True)
class MemoryFate:
    """Where a memory ended up (in_block, recall_only or cut), and why where it is not in the block."""

    place: str
    reason: str


@dataclass(frozen=True)
class RenderedBlock:
    """The block, what it shows as pairs of id and version, and what became of each memory."""

    text: str
    shown: list[tuple[str, int]]
    fates: dict[str, MemoryFate]


@dataclass(frozen=True)
class FoundMemory:
    """The memory that a reference means."""

    id: str


@dataclass(frozen=True)
class Versions:
    versions: list[Version]


@dataclass(frozen=True)
class Hits:
    memories: Sequence[Hit]
    notice: str | None = None


@dataclass(frozen=True)
class ChatHits:
    turns: list[ChatHit]
    notice: str | None = None


@dataclass(frozen=True)
class TimelineLines:
    lines: list[TimelineLine]


@dataclass(frozen=True)
class Entries:
    entries: list[Entry]


@dataclass(frozen=True)
class Memories:
    memories: list[Memory]
