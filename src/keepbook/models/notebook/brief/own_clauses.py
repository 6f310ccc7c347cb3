"""The clauses that a person said in a chat, in their own words, without those that may not be passed on.

Left out are pasted and quoted text, what was withdrawn, sentences with a secret, orders to the memory, and what such an
order keeps out although nobody carried it out, as in an imported chat. Titles and summaries are made of what is left.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from keepbook.book.text.own_words import own_words
from keepbook.book.text.sentences import sentences
from keepbook.book.text.words import content_words
from keepbook.models.model import DialogueTurn, TurnId
from keepbook.models.notebook.lists.orders import Order, explicit_orders
from keepbook.models.notebook.quote import secrets_of_turn
from keepbook.patterns import regex

Offsets = tuple[int, int]
Withdrawn = Mapping[TurnId, Sequence[Offsets]]
_QUOTATION = regex(r"\"[^\"\n]{20,500}\"|“[^”\n]{20,500}”|«[^»\n]{20,500}»")
_EVERYTHING = frozenset(["everything", "alles", "todo", "alt", "tout"])
_EDGES = " \t\n,;:–—-*•"


class OwnClause(NamedTuple):
    """A stretch of a person's turn: the number of the turn in the chat, and its place in the turn."""

    turn: int
    start: int
    end: int
    text: str


class _Read(NamedTuple):
    """A turn of the person as sentences and the orders in it."""

    number: int
    spans: list[Offsets]
    orders: list[Order]


def own_clauses(turns: Sequence[DialogueTurn], withdrawn: Withdrawn | None = None) -> list[OwnClause]:
    """The clauses of a chat that may be passed on, in order."""
    read = [_read(number, turn.text) for number, turn in enumerate(turns) if turn.role == "user"]
    hushed = _spans_left_out(turns, read)
    found: list[OwnClause] = []
    for one in read:
        turn = turns[one.number]
        taken = [*(withdrawn or {}).get(turn.id, ()), *hushed.get(one.number, ()), *_withheld(turn.text, one)]
        for start, end in one.spans:
            found += _free(one.number, turn.text, (start, end), taken)
    return found


def _read(number: int, text: str) -> _Read:
    spans = [
        (start + first, start + last) for start, end in own_words(text) for first, last in sentences(text[start:end])
    ]
    return _Read(number, spans, explicit_orders(text, spans))


def _withheld(text: str, read: _Read) -> Iterator[Offsets]:
    """Quotations, sentences with a secret, and the orders of a turn; of one to keep something only its own words."""
    yield from (found.span() for found in _QUOTATION.finditer(text))
    secrets = secrets_of_turn(text)
    for start, end in read.spans:
        if any(first < end and start < last for first, last in secrets):
            yield start, end
    for order in read.orders:
        yield (order.start, order.end if order.act in ("keep", "talk") else max(order.end, order.rest_end))


def _spans_left_out(turns: Sequence[DialogueTurn], read: Sequence[_Read]) -> dict[int, list[Offsets]]:
    """The characters of each turn that an order wants left out, whether or not the order was carried out: the statement
    before the order, or every sentence that has all words it names."""
    out: dict[int, list[Offsets]] = {}
    for at, one in enumerate(read):
        for order in one.orders:
            if order.act not in ("withdraw", "never") or order.ahead:
                continue
            named = turns[one.number].text[order.rest_start : order.rest_end]
            if not named:
                number, spans = _said_last(read, at, order)
                out.setdefault(number, []).extend(spans)
                continue
            for earlier in read[: at + 1]:
                text = turns[earlier.number].text
                spans = [span for span in earlier.spans if _names(named, text[span[0] : span[1]])]
                out.setdefault(earlier.number, []).extend(spans)
    return out


def _said_last(read: Sequence[_Read], at: int, order: Order) -> tuple[int, list[Offsets]]:
    """The sentence whose tail the order is, the one before it, or the turn before."""
    one = read[at]
    own = [(start, end) for start, end in one.spans if start < order.start]
    if own:
        return one.number, own[-1:]
    if at:
        before = read[at - 1]
    else:
        before = one
    return before.number, before.spans if at else []


def _names(named: str, sentence: str) -> bool:
    if named.lower().strip() in _EVERYTHING:
        return True
    wanted = set(content_words(named))
    return bool(wanted) and wanted <= set(content_words(sentence))


def _free(number: int, text: str, span: Offsets, taken: Sequence[Offsets]) -> Iterator[OwnClause]:
    """What of a sentence lies outside of what is taken, without blanks and joints at its edges."""
    begin, end = span
    inside = sorted((max(begin, start), min(end, stop)) for start, stop in taken if start < end and begin < stop)
    for start, stop in [*inside, (end, end)]:
        if begin < start and (clause := _trim_clause(number, text, begin, start)) is not None:
            yield clause
        begin = max(begin, stop)


def _trim_clause(number: int, text: str, start: int, end: int) -> OwnClause | None:
    words = text[start:end]
    start += len(words) - len(words.lstrip(_EDGES))
    words = text[start:end].rstrip(_EDGES)
    if not any(letter.isalnum() for letter in words):
        return None
    return OwnClause(number, start, start + len(words), words)
