"""The results of recall in chats: passages of turns, each with its place, its reasons and the turns around it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import and_, select, tuple_

from keepbook.book.ground.when import parse_stamp
from keepbook.book.owners.choices import get_choices
from keepbook.book.recall.forgotten import turns_not_recalled
from keepbook.book.recall.turns.passage_search import Stretch
from keepbook.book.recall.turns.ranking import TurnPlace
from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import content_words
from keepbook.storage.database import Tx
from keepbook.storage.tables.chats import messages, threads

LOOKED_THROUGH = 2000
"""How many letters of a turn are looked through for topics before a passage of it is chosen: twice a passage, and more
than most turns have. Looking takes up to 25 ms for a thousand letters and topics of eight groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidPassage:
    """A passage of a turn, and where it stands in it."""

    thread_id: str
    turn: int
    role: str
    speaker: str | None
    text: str
    start: int
    length: int
    """How many letters the whole turn has."""
    at: datetime
    recorded_by: str | None = None
    """Who recorded it; None if it was said or answered in one of our own chats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHit(SaidPassage):
    """The passage of a turn that answers, how well (0 to 1), and why."""

    session: str | None
    title: str | None
    relevance: float
    reasons: tuple[str, ...]
    around: tuple[SaidPassage, ...] = ()
    """The turns before and after it, in order, if they were asked for."""


# Rules


def passage_fields(row: Any, passage: Stretch) -> dict[str, Any]:
    return {
        "thread_id": row.thread_id, "turn": row.turn, "role": row.role, "speaker": row.speaker,
        "text": row.text[passage.start : passage.end], "start": passage.start, "length": len(row.text),
        "at": parse_stamp(row.at), "recorded_by": row.recorded_by,
    }  # fmt: skip


# Queries


def turn_rows(tx: Tx, keys: Iterable[TurnPlace]) -> dict[TurnPlace, Any]:
    """The rows of these turns, with title and session of their chat. Chats in the trash are left out, and what was said
    while memory was off."""
    listed = sorted(keys)
    rows = {}
    for start in range(0, len(listed), 400):
        query = (
            select(messages, threads.c.title, threads.c.session)
            .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
            .where(messages.c.owner == tx.owner)
            .where(tuple_(messages.c.thread_id, messages.c.turn).in_(listed[start : start + 400]))
            .where(messages.c.role.in_(("user", "assistant")), threads.c.deleted_at.is_(None))
            .where(messages.c.unkept.is_(None))
        )
        rows.update({(row.thread_id, row.turn): row for row in tx.conn.execute(query)})
    return rows


def recalled_rows(tx: Tx, keys: Iterable[TurnPlace]) -> dict[TurnPlace, Any]:
    """The same without what the person asked to forget, and without topics never to be remembered. Only the beginning
    of a long turn is looked through; `names_topic` looks at the passage of it that would be shown."""
    silent = turns_not_recalled(tx)
    rows = turn_rows(tx, [key for key in keys if key[1] not in silent.get(key[0], ())])
    never = get_choices(tx).never
    if not never:
        return rows
    return {key: row for key, row in rows.items() if not find_topics(row.text[:LOOKED_THROUGH], never)}


def names_topic(tx: Tx, passage: str, length: int) -> bool:
    """Whether a passage of a turn of so many letters names a topic never to be remembered. Short turns have been looked
    through whole."""
    never = get_choices(tx).never
    if not never or length <= LOOKED_THROUGH:
        return False
    return any(find_topics(passage[at : at + LOOKED_THROUGH], never) for at in range(0, len(passage), LOOKED_THROUGH))


def without_topics(tx: Tx, hits: Sequence[ChatHit]) -> list[ChatHit]:
    """The hits, and of the turns around them those, whose passage names no topic never to be remembered."""
    found = []
    for hit in hits:
        if not names_topic(tx, hit.text, hit.length):
            around = tuple(one for one in hit.around if not names_topic(tx, one.text, one.length))
            found.append(replace(hit, around=around))
    return found


def without_withdrawn_titles(tx: Tx, hits: Sequence[ChatHit]) -> list[ChatHit]:
    """The hits, without titles that were made of what the person asked to forget, or that name a topic never to be
    remembered."""
    if not any(hit.title for hit in hits):
        return list(hits)
    silent, never = turns_not_recalled(tx), get_choices(tx).never

    def speaks(hit: ChatHit) -> bool:
        said = set(content_words(hit.title or ""))
        matters = silent.get(hit.thread_id, {}).values()
        return any(not said.isdisjoint(content_words(matter)) for matter in matters) or bool(
            never and find_topics(hit.title or "", never)
        )

    return [replace(hit, title=None) if hit.title and speaks(hit) else hit for hit in hits]
