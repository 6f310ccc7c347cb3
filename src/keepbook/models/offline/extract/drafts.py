"""Lines on their way from what was said to what may be kept, and the state of one reading.

A draft remembers the words it came from, how sure it is and from which turns; later turns may mend it,
take its place or withdraw it. Nothing here decides whether something is worth keeping.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from keepbook.models.closing import rules
from keepbook.models.model import Known, TurnId
from keepbook.models.offline.extract.people import Person
from keepbook.models.offline.extract.third_person import line

# Words that open a rewritten line ("Is…", "Wants…") or a phrase; anything else may be a name.
_PLAIN_START = re.compile(
    r"(?:is|has|have|had|was|does|doesn't|don't|would|will|won't|can|can't|the|an?|no|not|nothing|"
    r"never|always|only|around|"
    r"about|roughly|some|in|on|at|with|from|for|to|by|just|every|each|any|all|both|two|three|four|"
    r"five|wants|keeps?|uses?|"
    r"gets?|needs?|puts?|pays?|trades?|anything|adding|max|wife|husband|son|daughter|their|they)",
    re.IGNORECASE,
)


@dataclass
class Draft:
    """A line on its way: as said (`text`), how sure, from which turns."""

    text: str
    weight: float
    features: tuple[str, ...]
    turn_ids: list[TurnId]
    number: int
    content: str | None = None
    he: str | None = None
    subject: str | None = None
    hedged: bool = False
    target: Known | None = None
    valid_from: str | None = None

    def line(self) -> str:
        return self.content if self.content is not None else line(self.text, he=self.he)


@dataclass
class Reading:
    """State of one pass."""

    existing: Sequence[Known]
    zone: str
    never: tuple[str, ...]
    drafts: list[Draft] = field(default_factory=list)
    skipped: list[tuple[str, str, TurnId]] = field(default_factory=list)
    forgotten: list[tuple[Known, TurnId]] = field(default_factory=list)
    declined: list[set[str]] = field(default_factory=list)
    person: Person | None = None
    heading: str | None = None
    tongue: str = "en"
    mending: bool = False
    weak: Draft | None = None
    asked: str = ""
    answered: str = ""
    user_turns: list[int] = field(default_factory=list)


def lower(text: str) -> str:
    """The line as it goes on after a heading; a name keeps its capital."""
    first = re.match(r"[\w']+", text)
    if first is None or not _PLAIN_START.fullmatch(first.group(0)):
        return text
    return text[0].lower() + text[1:]


def barred(state: Reading, text: str) -> bool:
    low = text.lower()
    if any(topic in low for topic in state.never):
        return True
    said = rules.words(text)
    return any(len(said & gone) >= max(1, min(len(gone), len(said)) * 0.6) for gone in state.declined if gone and said)
