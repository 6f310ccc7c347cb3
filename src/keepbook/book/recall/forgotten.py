"""What the person asked to forget and chats still say: recall quotes those turns no longer.

A chat stays as it was said, readable and found by search; to be rid of its words, the person deletes it. Which turns
are meant is kept as an accepted proposal that forgets no memory (`memory/proposals.py`), so that it can be taken back
and moves house with the book.
"""

import re
from collections import defaultdict
from typing import Any

from sqlalchemy import and_, select

from keepbook.book.ground import stored
from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import query_terms
from keepbook.storage.database import Tx
from keepbook.storage.tables import messages, proposals, threads, turn_terms

MOST = 2000
"""A word that more turns say than this names no matter."""

# Queries


def saying(tx: Tx, matter: str) -> list[Any]:
    """The turns that have all words of a matter, the newest first: rows of `messages` with the title of the chat."""
    words = query_terms(matter)
    held: set[tuple[str, int]] | None = None
    for word in words:
        where = (turn_terms.c.owner == tx.owner, turn_terms.c.term == word)
        query = select(turn_terms.c.thread_id, turn_terms.c.turn).where(*where).limit(MOST)
        having = {(row.thread_id, row.turn) for row in tx.conn.execute(query)}
        held = having if held is None else held & having
    turns = defaultdict(list)
    for thread_id, turn in sorted(held or ()):
        turns[thread_id].append(turn)
    found = [row for id in turns for row in _said(tx, id, turns[id]) if _names(matter, row.text)]
    return sorted(found, key=lambda row: (row.at, row.thread_id, row.turn), reverse=True)


def _said(tx: Tx, thread_id: str, turns: list[int]) -> list[Any]:
    query = (
        select(messages, threads.c.title)
        .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
        .where(messages.c.owner == tx.owner, messages.c.thread_id == thread_id, messages.c.turn.in_(turns))
        .where(threads.c.deleted_at.is_(None))
    )
    return list(tx.conn.execute(query))


def _names(matter: str, text: str) -> bool:
    """Mark is somebody, to mark is not; who writes everything small means him too."""
    return text == text.lower() or all(re.search(rf"\b{name}", text) for name in _NAME.findall(matter))


_NAME = regex(r"\b[A-ZÀ-Þ][\w-]+")


def unquoted(tx: Tx) -> dict[str, dict[int, str]]:
    """The turns that recall leaves out, by chat, each with the matter that was to be forgotten."""
    mine = (proposals.c.owner == tx.owner, proposals.c.status == "accepted", proposals.c.op == "forget")
    query = select(proposals.c.thread_id, proposals.c.turn_ids, proposals.c.content)
    found: dict[str, dict[int, str]] = {}
    for row in tx.conn.execute(query.where(*mine, proposals.c.memory_id.is_(None))):
        turns = (
            int(turn) for turn in stored.loads(row.turn_ids) if turn.isdecimal()
        )  # of another's book it may be a name
        found.setdefault(row.thread_id, {}).update(dict.fromkeys(turns, row.content))
    return found
