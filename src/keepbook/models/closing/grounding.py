"""Checks whether a model's candidate is said in the turns it cites: its names, its numbers, and most of its words.

Words are compared by stem; number words equal digits; dates that can be derived from a turn's time count. An
assistant's turn counts too if the cited turn agrees to it. If line and turn are in different languages, only names and
numbers are compared.
"""

import re
from collections.abc import Sequence
from datetime import date

from keepbook.book.text.language import same_language
from keepbook.book.text.words import STOP_WORDS, numbers, stem, tokens
from keepbook.models.model import Candidate, ClosingChat, DialogueTurn
from keepbook.patterns import regex

MOST = 0.5
"""The share of a line's content words that the turns must have, at least."""
_AGREES = regex(
    r"\W*(?:yes|yeah|yep|yup|sure|ok(?:ay)?|right|correct|exactly|please do|do that|sounds good|perfect|agreed|fine|ja|"
    r"sí|oui|si|是|对|好|ใช่)\b",
    re.IGNORECASE,
    anchored=True,
)
_OURS = frozenset(
    stem(word)
    for words in (
        "user person prefers wants likes lives works has is are uses plans needs named called years old since also",
        "their they",
    )
    for word in words.split()
)
"""Words with which a model words a line about a person; they need not have been said."""
_CALENDAR = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november"),
    *("december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
)
_NAME = regex(r"(?<!^)(?<![.!?:] )\b[A-ZÀ-Þ][\w'’-]+")


def is_grounded(candidate: Candidate, reading: ClosingChat) -> bool:
    """Whether the cited turns say what the candidate says."""
    cited = {str(turn) for turn in candidate.turn_ids}
    said = _evidence(reading.turns, cited)
    text = " ".join(turn.text for turn in said)
    if not text.strip():
        return False
    if not _numbers_said(candidate.content, text, said):
        return False
    words = {stem(word) for word in tokens(text)}
    names = {stem(word.lower().removesuffix("'s").removesuffix("’s")) for word in _NAME.findall(candidate.content)}
    if not names <= words | _OURS | _calendar(said):
        return False
    if not same_language(candidate.content, text):
        return True
    content = {stem(word) for word in tokens(candidate.content) if word not in STOP_WORDS} - _OURS - names
    content = {word for word in content if not word[0].isdecimal()}
    return not content or len(content & words) / len(content) >= MOST


def _evidence(turns: Sequence[DialogueTurn], cited: set[str]) -> list[DialogueTurn]:
    """The person's cited turns, and the assistant's turn before one that agrees to it."""
    found: list[DialogueTurn] = []
    for at, turn in enumerate(turns):
        if turn.role != "user" or str(turn.id) not in cited:
            continue
        agrees = bool(_AGREES.match(turn.text)) or len(turn.text.split()) < 4
        if at and agrees and turns[at - 1].role == "assistant":
            found.append(turns[at - 1])
        found.append(turn)
    return found


def _numbers_said(content: str, text: str, said: Sequence[DialogueTurn]) -> bool:
    kept = [turn for turn in said if turn.at]
    days = {part for turn in kept for part in _days(turn)}
    return numbers(content) <= numbers(text) | days


def _days(turn: DialogueTurn) -> set[str]:
    """The years, months and days of dates around a turn, which words like "yesterday" or "next month" may mean."""
    assert turn.at is not None
    said = turn.at.toordinal()
    around = map(date.fromordinal, range(max(1, said - 400), min(date.max.toordinal(), said + 400) + 1))
    return {str(number) for day in around for number in (day.year, day.month, day.day)}


def _calendar(said: Sequence[DialogueTurn]) -> set[str]:
    if any(turn.at for turn in said):
        return {stem(word) for word in _CALENDAR}
    return set()
