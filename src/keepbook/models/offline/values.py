"""What goes into and comes out of the offline reader: turns, known memories, candidates.

Plain frozen values without a database. A candidate is a suggestion: the caller still checks ids,
trust, lengths, categories and declined facts before anything is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Op = Literal["add", "update", "forget", "skip"]
TurnId = int | str


@dataclass(frozen=True)
class Turn:
    id: TurnId
    role: str
    text: str
    at: datetime | None = None
    speaker: str | None = None


@dataclass(frozen=True)
class Known:
    """A memory that is already in the book; `protected` means a person's own word."""

    id: str
    category: str | None
    subject: str | None
    content: str
    source: str
    score: float | None = None
    protected: bool = False


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
