"""The result of closing a chat: what it wrote, what waits for the person, what was left out and why."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SkippedCandidate:
    """A candidate that was not kept, and why."""

    op: str
    content: str
    reason: str


@dataclass(frozen=True, slots=True)
class ClosingResult:
    """How a closing went. `status`: closed, nothing (it was not open), busy, open (more was said), failed."""

    thread_id: str
    status: str
    written: tuple[dict[str, Any], ...] = ()
    proposed: tuple[str, ...] = ()
    skipped: tuple[SkippedCandidate, ...] = ()
    made_by: str | None = None
    notice: str | None = None


def closing_in_words(kept: int, proposed: int, left_out: int, between: str = " · ") -> str:
    """ "3 kept · 1 proposed · 1 left out"; counts of zero are left out."""
    counts = ((kept, "kept"), (proposed, "proposed"), (left_out, "left out"))
    return between.join(f"{count:,} {what}" for count, what in counts if count)
