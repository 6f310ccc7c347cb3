"""The person's own words behind a line: the turns it was made of, with the letters that were kept marked.

A quotation names the letters it was made of. If somebody else worded the line, only its turns are known, and no letters
are marked. Turns of a chat that is no longer stored are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sqlalchemy import and_, bindparam, select

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import parse_stamp
from keepbook.book.text.quotation import Span, spans_of
from keepbook.storage.prepared_statement import PreparedForKeys
from keepbook.storage.tables.chats import messages

MOST_TURNS = 3
"""How many turns of a line are shown: the newest."""
AROUND = 160
"""How many letters of a turn are shown on each side of those that were kept."""


class SaidLine(Protocol):
    """A memory, or a proposal of one."""

    @property
    def id(self) -> str: ...
    @property
    def thread_id(self) -> str | None: ...
    @property
    def turn_ids(self) -> tuple[str, ...]: ...
    @property
    def spans(self) -> object: ...


class WordPiece(NamedTuple):
    text: str
    kept: bool
    """Whether these letters are in the line."""


class Verbatim(NamedTuple):
    """What the person said in one turn."""

    thread_id: str
    turn: int
    at: datetime
    pieces: Sequence[WordPiece]


# Rules


def verbatim_turns(memory: SaidLine) -> list[int]:
    """The turns a line is made of, the newest first."""
    said = {span.turn for span in spans_of(memory.spans) if span.kind != "question"}
    named = {int(turn) for turn in memory.turn_ids if turn.isascii() and turn.isdecimal()}
    return sorted(said or named, reverse=True)[:MOST_TURNS]


def cut_around(text: str, spans: Iterable[Span]) -> list[WordPiece]:
    """A turn in pieces, with those marked that were kept. A long turn is cut to the letters around them, or if there
    are none, to its beginning."""
    kept = sorted((span.start, span.end) for span in spans)
    if kept:
        first = _blank_near(text, kept[0][0] - AROUND)
        last = _blank_near(text, kept[-1][1] + AROUND)
    else:
        first = 0
        last = _blank_near(text, 2 * AROUND)
    if first:
        pieces = [WordPiece("… ", kept=False)]
    else:
        pieces = []
    place = first
    for begin, end in kept:
        start = max(begin, place)
        pieces += [WordPiece(text[place:start], kept=False), WordPiece(text[start:end], kept=True)]
        place = max(end, place)
    pieces += [WordPiece(text[place:last], kept=False), WordPiece(" …" if last < len(text) else "", kept=False)]
    return [piece for piece in pieces if piece.text]


def _blank_near(text: str, place: int) -> int:
    """The next place from here on at which no word is cut: a space, or an end of the text."""
    if place <= 0:
        return 0
    found = text.find(" ", place)
    if found < 0:
        return len(text)
    return found


# Queries


def verbatim_words(book: OpenBook, lines: Sequence[SaidLine]) -> Mapping[str, Sequence[Verbatim]]:
    """The words behind each of these lines, by its id."""
    kept = [one for one in lines if one.thread_id]
    keys = {(one.thread_id, turn) for one in kept for turn in verbatim_turns(one)}
    with book.reading() as (tx, _, _):
        if keys:
            rows = _THESE_TURNS.rows(tx.conn, sorted(keys), {"owner": tx.owner})
        else:
            rows = []
    said = {(row.thread_id, row.turn): row for row in rows}
    return {one.id: _words_of(one, said) for one in lines}


def _words_of(memory: SaidLine, said: Mapping[tuple[str, int], Any]) -> list[Verbatim]:
    found = []
    for turn in verbatim_turns(memory):
        row = said.get((memory.thread_id or "", turn))
        if row is None or row.role != "user" or row.hidden:
            continue
        spans = [one for one in spans_of(memory.spans) if one.turn == turn and one.kind != "question"]
        inside = [one for one in spans if one.end <= len(row.text)]
        found.append(Verbatim(row.thread_id, row.turn, parse_stamp(row.at), cut_around(row.text, inside)))
    return found


_THESE_TURNS = PreparedForKeys(
    lambda keys: select(messages.c.thread_id, messages.c.turn, messages.c.role, messages.c.text, messages.c.at,
                        messages.c.hidden).select_from(
        keys.join(messages, and_(
            messages.c.owner == bindparam("owner"), messages.c.thread_id == keys.c.key_0,
            messages.c.turn == keys.c.key_1,
        ))
    ),
    messages.c.thread_id, messages.c.turn,
)  # fmt: skip
