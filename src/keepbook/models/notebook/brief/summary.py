"""Running summary of a chat without a model: the person's own clauses, quoted in their order, never reworded.

When it is longer than its bound, the least important clauses are dropped, so that a long chat costs what a short one
does. What may not be passed on (secrets, withdrawn or kept-out matters, pasted text) is not in it.
"""

import re
from collections.abc import Iterator, Sequence

from keepbook.book.text.secrets import redact
from keepbook.book.text.sentences import sentences
from keepbook.book.text.words import tokens
from keepbook.models.model import DialogueTurn
from keepbook.models.notebook.answers.forms import whole_answer
from keepbook.models.notebook.brief.own_clauses import Withdrawn, own_clauses
from keepbook.patterns import regex

LIMIT = 1_000
_LONGEST_PIECE = 160
_FIRST, _EARLIER, _TELLS, _ASKS, _OTHER = 2.5, 1.9, 2.2, 1.6, 0.9
"""How heavy pieces are: what the chat began with, what was kept before, statements of oneself, questions, the rest."""
_OF_ONESELF = regex(
    r"\b(?:i|i'?m|i'?ve|my|we|our|ich|mein\w{0,3}|yo|mi|mis|soy|jeg|min|mitt|je|j'ai|mon|ma)\b", re.IGNORECASE
)
_GREETS = regex(
    r"\W*(?:hi|hello|hey|thanks|thank you|ok|okay|yes|no|sure|great|cool|lol|bye)\b[^.]{0,20}",
    re.IGNORECASE,
    anchored=True,
)
_UNSPACED = regex(r"[぀-ヿ㐀-鿿฀-๿]")
_QUOTED = regex(r"“([^“”]*)”")


def summarise(previous: str | None, turns: Sequence[DialogueTurn], withdrawn: Withdrawn | None = None) -> str:
    """The earlier summary and what these turns add, in at most `LIMIT` letters."""
    weighed = [(_FIRST if number == 0 else _EARLIER, piece) for number, piece in enumerate(_pieces(previous or ""))]
    said = [clause.text for clause in own_clauses(turns, withdrawn) if not _is_talk(clause.text)]
    weighed += [(_weight(text), _in_quotes(text)) for text in said]
    return redact(" ".join(_fitting(weighed)))


def _pieces(summary: str) -> Iterator[str]:
    """The pieces of a summary: its quotations, and the sentences of what a model wrote between them."""
    done = 0
    for found in _QUOTED.finditer(summary):
        yield from _plain_pieces(summary[done : found.start()])
        yield found[0]
        done = found.end()
    yield from _plain_pieces(summary[done:])


def _plain_pieces(text: str) -> Iterator[str]:
    pieces = (text[start:end].strip() for start, end in sentences(text))
    return (_short(piece) for piece in pieces if piece)


def _is_talk(text: str) -> bool:
    """Whether words say nothing that a summary would miss."""
    if whole_answer(text) is not None or _GREETS.fullmatch(text):
        return True
    return len(text.split()) < 3 and not _UNSPACED.search(text) and not _OF_ONESELF.search(text)


def _weight(text: str) -> float:
    if text.rstrip("\"'”’)").endswith(("?", "？")):
        return _ASKS
    if _OF_ONESELF.search(text):
        return _TELLS
    return _OTHER


def _in_quotes(text: str) -> str:
    folded = " ".join(text.split())
    return f"“{_short(folded).replace('“', '‘').replace('”', '’')}”"


def _short(text: str) -> str:
    if len(text) <= _LONGEST_PIECE:
        return text
    return text[:_LONGEST_PIECE].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def _fitting(weighed: Sequence[tuple[float, str]]) -> list[str]:
    """Without repeats, and without the lightest (of equals the latest) until the rest fits; the order stays."""
    once: dict[str, tuple[float, str]] = {}
    for weight, text in weighed:
        once.setdefault(" ".join(tokens(text)), (weight, text))
    once.pop("", None)
    rows = list(once.values())
    total = sum(len(text) + 1 for _, text in rows) - 1
    gone: set[int] = set()
    for at in sorted(range(len(rows)), key=lambda at: (rows[at][0], -at)):
        if total <= LIMIT:
            break
        total -= len(rows[at][1]) + 1
        gone.add(at)
    return [text for at, (_, text) in enumerate(rows) if at not in gone]
