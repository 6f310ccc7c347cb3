"""Writes quotations: lines made of what the person said in a chat.

Only these operations make a quotation. They read the turns in the transaction that writes, check the spans against them
and build the content themselves; no caller sets `quoted`. All spans are of turns of one chat, that of the version. So
if words of this chat replace words in a line from another chat, or in a note, `exchange` leaves a note, which has the
new words in brackets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from sqlalchemy import select

from keepbook.book.ground.when import Moment
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.changes import Statement, remember, update
from keepbook.book.memory.memories import Written, find_row, resolve
from keepbook.book.memory.write_path import QuotedSpans
from keepbook.book.text.quotation import (
    Span,
    check_spans,
    clean_day,
    content_of,
    exchange_in_content,
    exchange_in_spans,
    spans_of,
    spans_to_text,
)
from keepbook.errors import Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.chats import messages

EXTRACTED, CHAT = "extracted", "chat"


class StoredTurns(NamedTuple):
    """Turns of a chat by their numbers: the text of each, its role, and who recorded it (None: the person said it in
    one of our own chats)."""

    texts: Mapping[int, str]
    roles: Mapping[int, str]
    recorders: Mapping[int, str | None]


# Rules


def quoting_origin(origin: Origin) -> Origin:
    """The origin of a quotation: what a reader chose is `extracted`; what the person asked to keep, or accepted, is
    their word in a chat."""
    if origin.source == EXTRACTED:
        return origin
    return replace(origin, source=CHAT)


def cited_turns(spans: Sequence[Span]) -> tuple[str, ...]:
    """The person's turns that a quotation rests on, in order."""
    return tuple(str(turn) for turn in sorted({span.turn for span in spans if span.kind != "question"}))


# Operations


def quote(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    said: Statement,
    thread_id: str,
    spans: Sequence[Span],
    *,
    said_on: date | str | None = None,
) -> Written:
    """Keep a statement in the words that were said. `said` gives everything but content and turns, which the spans
    give."""
    content, recorded_by = _checked_words(tx, thread_id, spans)
    whole = replace(said, content=content, thread_id=thread_id, turn_ids=cited_turns(spans))
    return remember(tx, quoting_origin(origin), preset, whole, _quotation(spans, said_on, recorded_by))


def requote(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    ref: str,
    spans: Sequence[Span],
    *,
    thread_id: str,
    said_on: date | str | None = None,
    correction: bool = False,
    valid_from: Moment = None,
    valid_until: Moment = None,
    expect_version: int | None = None,
    score: float | None = None,
    made_by: str | None = None,
) -> Written:
    """The next version of a memory, in words of a chat: a change from now on, or a correction."""
    content, recorded_by = _checked_words(tx, thread_id, spans)
    whole = Statement(
        content, valid_from=valid_from, valid_until=valid_until, thread_id=thread_id,
        turn_ids=cited_turns(spans), score=score, made_by=made_by,
    )  # fmt: skip
    return update(
        tx, quoting_origin(origin), preset, ref, whole, correction=correction, expect_version=expect_version,
        quotation=_quotation(spans, said_on, recorded_by),
    )  # fmt: skip


def exchange(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    ref: str,
    old: tuple[int, int],
    new: Span,
    *,
    thread_id: str,
    said_on: date | str | None = None,
    correction: bool = False,
    valid_from: Moment = None,
    valid_until: Moment = None,
    expect_version: int | None = None,
    score: float | None = None,
    made_by: str | None = None,
) -> Written:
    """The next version of a memory with one stretch of its content (letters from, to) exchanged for words of a chat.

    A quotation of the same chat stays one. A note, or a quotation of another chat, becomes a note with a bracket.
    """
    dates: dict[str, Any] = {"valid_from": valid_from, "valid_until": valid_until}
    how: dict[str, Any] = {"correction": correction, "expect_version": expect_version}
    row = find_row(tx, resolve(tx, ref))
    if row.quoted and row.thread_id == thread_id:
        before = spans_of(row.spans)
        texts = stored_turns(tx, thread_id, before).texts
        spans = exchange_in_spans(before, texts, *old, new)
        day = said_on or row.said_on
        return requote(
            tx, origin, preset, row.id, spans, thread_id=thread_id, said_on=day, score=score, made_by=made_by,
            **dates, **how,
        )  # fmt: skip
    words = checked_content(tx, thread_id, [new._replace(kind="said")])
    note = Statement(
        exchange_in_content(row.content, *old, words), thread_id=thread_id, turn_ids=cited_turns([new]), score=score,
        made_by=made_by, **dates,
    )  # fmt: skip
    return update(tx, quoting_origin(origin), preset, row.id, note, **how)


def checked_content(tx: Tx, thread_id: str, spans: Sequence[Span]) -> str:
    """The content of these spans, once they are checked to be the person's words."""
    return _checked_words(tx, thread_id, spans)[0]


def _checked_words(tx: Tx, thread_id: str, spans: Sequence[Span]) -> tuple[str, str | None]:
    """The same, and who recorded the words (None: the person said them in one of our own chats)."""
    turns = stored_turns(tx, thread_id, spans)
    check_spans(spans, turns.texts, turns.roles)
    cited = (turns.recorders.get(span.turn) for span in spans if span.kind != "question")
    return content_of(spans, turns.texts), next(filter(None, cited), None)


def _quotation(spans: Sequence[Span], said_on: date | str | None, recorded_by: str | None) -> QuotedSpans:
    return QuotedSpans(spans_to_text(spans), clean_day(said_on), recorded_by)


# Queries


def are_stored(tx: Tx, thread_id: str, spans: Sequence[Span]) -> bool:
    """Whether the chat still has every turn of these spans."""
    texts = stored_turns(tx, thread_id, spans).texts
    return texts.keys() >= {span.turn for span in spans}


def stored_turns(tx: Tx, thread_id: str, spans: Sequence[Span]) -> StoredTurns:
    """The turns of these spans, including the one that is just being stored."""
    wanted = sorted({span.turn for span in spans})
    if not wanted:
        raise Invalid("a quotation has at least one span", field="spans")
    query = select(messages.c.turn, messages.c.role, messages.c.text, messages.c.recorded_by).where(
        messages.c.owner == tx.owner, messages.c.thread_id == thread_id, messages.c.turn.in_(wanted)
    )
    rows: list[tuple[int, str, str, str | None]] = [tuple(row) for row in tx.conn.execute(query)]
    rows += [(turn, *tx.coming[thread_id, turn], None) for turn in wanted if (thread_id, turn) in tx.coming]
    return StoredTurns(
        {turn: text for turn, _, text, _ in rows},
        {turn: role for turn, role, _, _ in rows},
        {turn: name for turn, _, _, name in rows},
    )
