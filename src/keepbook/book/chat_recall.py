"""Finding what was said in chats: full-text search with marked snippets, and recall of the turns that answer.

Both read the word index of chats, which knows nothing of hidden context or incognito chats. Chats in the trash are
left out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import and_, func, select

from keepbook.book.recall import COUNTED, Wanted, check_query, foremost, rank, spelled
from keepbook.book.when import parse_stamp
from keepbook.book.words import query_terms, stem, tokens
from keepbook.storage.database import Tx
from keepbook.storage.tables import messages, threads, turn_terms

CANDIDATES = 2000
NEIGHBOURS = ((-1, 0.55), (-2, 0.4), (1, 0.5), (2, 0.3))
"""What a term said next door counts: a turn answers in the light of the one before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHit:
    """A turn that answers, how well (0 to 1), and why."""

    thread_id: str
    session: str | None
    title: str | None
    turn: int
    role: str
    speaker: str | None
    text: str
    at: datetime
    relevance: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A turn found by search; the words that matched stand between ⟦ and ⟧."""

    thread_id: str
    title: str | None
    turn: int
    role: str
    at: datetime
    text: str


# Rules


def with_neighbours(
    found: Mapping[tuple[str, int], Mapping[str, float]],
) -> dict[tuple[str, int], dict[str, float]]:
    """Per term, a turn's weight is its own or its neighbours' damped, whichever is more."""
    spread: dict[tuple[str, int], dict[str, float]] = {key: dict(weights) for key, weights in found.items()}
    for (thread_id, turn), weights in found.items():
        for step, share in NEIGHBOURS:
            beside = spread.setdefault((thread_id, turn - step), {})
            for term, weight in weights.items():
                if weight * share > beside.get(term, 0.0):
                    beside[term] = weight * share
    return spread


def marked(text: str, wanted: Sequence[str], around: int = 80) -> str:
    """A piece of the text around the first match, with every match marked."""
    spots = [spot.span() for spot in re.finditer(r"\w+", text) if set(map(stem, tokens(spot.group()))) & set(wanted)]
    if not spots:
        return text[: 2 * around]
    start = max(0, spots[0][0] - around)
    end = min(len(text), spots[0][1] + around)
    piece, last = "", start
    for first, after in spots:
        if first >= end:
            break
        piece += f"{text[last:first]}⟦{text[first:after]}⟧"
        last = after
    return ("…" if start else "") + piece + text[last : max(end, last)] + ("…" if end < len(text) else "")


# Operations


def search(tx: Tx, query: str, *, limit: int = 20) -> list[Snippet]:
    """Turns that have all the words, the newest first; failing that, turns that have some, the best first."""
    check_query(query, limit)
    wanted = _wanted(tx, query_terms(query))
    found = _weights(tx, wanted)
    asked = {want.asked for want in wanted}
    whole = [key for key, weights in found.items() if asked <= {want.asked for want in wanted if want.term in weights}]
    rows = _rows(tx, whole)
    keys = sorted(rows, key=lambda key: (rows[key].at, key), reverse=True)
    if not keys:
        ranked = sorted(rank(found, wanted), key=lambda hit: (-hit[1], hit[0]))
        rows = _rows(tx, [id for id, _, _ in ranked])
        keys = [id for id, _, _ in ranked if id in rows]
    words = [want.term for want in wanted]
    return [
        Snippet(
            thread_id=key[0], title=rows[key].title, turn=key[1], role=rows[key].role,
            at=parse_stamp(rows[key].at), text=marked(rows[key].text, words),
        )
        for key in keys[:limit]
    ]  # fmt: skip


def recall_chats(tx: Tx, query: str, *, limit: int = 10) -> list[ChatHit]:
    """The turns that answer a question, read in the light of their neighbours."""
    check_query(query, limit)
    wanted = _wanted(tx, query_terms(query))
    found = with_neighbours(_weights(tx, wanted))
    ranked = foremost(rank(found, wanted), limit)
    rows = _rows(tx, [id for id, _, _ in ranked])
    hits = [_hit(rows[id], relevance, reasons) for id, relevance, reasons in ranked if id in rows]
    return sorted(hits, key=lambda hit: (-hit.relevance, -hit.at.timestamp(), hit.thread_id, hit.turn))[:limit]


def _hit(row: Any, relevance: float, reasons: tuple[str, ...]) -> ChatHit:
    return ChatHit(
        thread_id=row.thread_id, session=row.session, title=row.title, turn=row.turn, role=row.role,
        speaker=row.speaker, text=row.text, at=parse_stamp(row.at), relevance=relevance, reasons=reasons,
    )  # fmt: skip


# Queries


def _wanted(tx: Tx, asked: Sequence[str]) -> list[Wanted]:
    counts = {}
    for term in asked:
        some = select(turn_terms.c.turn).where(turn_terms.c.owner == tx.owner, turn_terms.c.term == term).limit(COUNTED)
        counts[term] = tx.conn.execute(select(func.count()).select_from(some.subquery())).scalar() or 0
    some = select(messages.c.turn).where(messages.c.owner == tx.owner).limit(COUNTED)
    total = tx.conn.execute(select(func.count()).select_from(some.subquery())).scalar() or 0
    return spelled(asked, counts, total, lambda term: _vocabulary(tx, term))


def _vocabulary(tx: Tx, term: str) -> list[str]:
    first, here = term[0], turn_terms.c
    query = select(here.term).where(here.owner == tx.owner, here.term >= first, here.term < chr(ord(first) + 1))
    return list(tx.conn.execute(query.distinct()).scalars())


def _weights(tx: Tx, wanted: Sequence[Wanted]) -> dict[tuple[str, int], dict[str, float]]:
    """The turns that have the rarest terms, with the weight of each term they have."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for want in sorted(wanted, key=lambda want: (-want.idf * want.share, want.term)):
        here = turn_terms.c
        query = (
            select(here.thread_id, here.turn, here.weight)
            .where(here.owner == tx.owner, here.term == want.term)
            .order_by(here.thread_id, here.turn)
            .limit(CANDIDATES)
        )
        for thread_id, turn, weight in tx.conn.execute(query):
            found.setdefault((thread_id, turn), {})[want.term] = weight
    return found


def _rows(tx: Tx, keys: Iterable[tuple[str, int]]) -> dict[tuple[str, int], Any]:
    """What was said at these turns, where the chat is not in the trash."""
    by_thread: dict[str, list[int]] = {}
    for thread_id, turn in keys:
        by_thread.setdefault(thread_id, []).append(turn)
    rows = {}
    for thread_id, turns in by_thread.items():
        query = (
            select(messages, threads.c.title, threads.c.session)
            .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
            .where(messages.c.owner == tx.owner, messages.c.thread_id == thread_id, messages.c.turn.in_(turns))
            .where(messages.c.role.in_(("user", "assistant")), threads.c.deleted_at.is_(None))
        )
        rows.update({(row.thread_id, row.turn): row for row in tx.conn.execute(query)})
    return rows
