"""Recall: from a question to the memories that answer it, best first, each with its reasons.

The rarest words of the question choose the candidates, under a cap; common words only help to order them. So
the cost follows the question, not the size of the book. A word nobody wrote is tried as a misspelling of one
somebody did. For a past instant the same rules read the book as it was.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Table, bindparam, func, select

from keepbook.book.asof import past_of
from keepbook.book.index import counts_up_to, term_weights
from keepbook.book.limits import clean_count, sought
from keepbook.book.memories import EVERY_SCOPE, IS_ACTIVE, WHOLE, Memory, in_scope, said_by, shaped, to_memory
from keepbook.book.timehints import Stretch, asked_stretch
from keepbook.book.vectors import MEMORY, Alike, Meaning
from keepbook.book.when import stamp
from keepbook.book.words import close_terms, query_terms
from keepbook.errors import Invalid, ModelFailed
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared import Prepared
from keepbook.storage.tables import memories, terms

COUNTED = 2000
"""Terms and books are counted no further than this; beyond it a word is simply common."""
CANDIDATES = 400
ALIKE = 1.0
"""What the likeness of meaning counts against the words, both from 0 to 1."""
TYPO_SHARE = 0.7
"""What a word counts when it is only close to the one that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Memory):
    """A memory that answers, how well (0 to 1), and why."""

    relevance: float
    reasons: tuple[str, ...]


class Wanted(NamedTuple):
    """A term to look for: the word as asked, its share, how much finding it says; a guessed one is a `typo`."""

    term: str
    asked: str
    share: float
    idf: float
    typo: bool = False


Key = TypeVar("Key")


# Rules


def idf(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def check_query(query: object, limit: object) -> None:
    if not isinstance(query, str) or not query.strip():
        raise Invalid("ask something: the query is empty", field="query")
    clean_count(limit, "limit", 200)


def rank(
    found: Mapping[Key, Mapping[str, float]], wanted: Sequence[Wanted]
) -> list[tuple[Key, float, tuple[str, ...]]]:
    """(id, relevance, reasons) for each candidate, given the weight of every term it has."""
    whole = sum(want.idf for want in wanted if not want.typo) or sum(want.idf for want in wanted)
    ranked = []
    for id, weights in found.items():
        best: dict[str, tuple[float, Wanted]] = {}
        for want in wanted:
            if want.term in weights:
                value = weights[want.term] * want.idf * want.share
                if value > best.get(want.asked, (0.0, want))[0]:
                    best[want.asked] = (value, want)
        if not best:
            continue
        score = sum(value for value, _ in best.values())
        ranked.append((id, min(1.0, round(score / whole, 4)) if whole else 0.0, _reasons(best)))
    return ranked


def fused(
    ranked: Iterable[tuple[str, float, tuple[str, ...]]], near: Mapping[str, tuple[float, float]], floor: float
) -> list[tuple[str, float, tuple[str, ...]]]:
    """Words, scaled by the best of them, and meaning, scaled over the whole book, in one order."""
    by_words = {id: (relevance, reasons) for id, relevance, reasons in ranked}
    most = max((relevance for relevance, _ in by_words.values()), default=0.0)
    found = []
    for id in {**by_words, **near}:
        relevance, reasons = by_words.get(id, (0.0, ()))
        share, likeness = near.get(id, (0.0, 0.0))
        if likeness >= floor:
            reasons = (*reasons, f"meaning: {likeness:.2f}")
        words = relevance / most if most else 0.0
        if reasons:
            found.append((id, round((words + ALIKE * share) / (1 + ALIKE), 4), reasons))
    return found


def _reasons(best: Mapping[str, tuple[float, Wanted]]) -> tuple[str, ...]:
    exact = [want.term for _, want in best.values() if not want.typo]
    typos = [f"“{want.asked}” read as “{want.term}”" for _, want in best.values() if want.typo]
    return (*([f"words: {', '.join(exact)}"] if exact else []), *typos)


def foremost(
    ranked: Iterable[tuple[Key, float, tuple[str, ...]]], limit: int
) -> list[tuple[Key, float, tuple[str, ...]]]:
    """The best `limit`, with all that are as good as the last of them: what orders equals is looked at later."""
    ordered = sorted(ranked, key=lambda hit: -hit[1])
    return [hit for hit in ordered if hit[1] >= ordered[min(limit, len(ordered)) - 1][1]]


# Operations


def recall(
    tx: Tx,
    preset: Preset,
    now: str,
    query: str,
    *,
    limit: int = 10,
    category: str | None = None,
    scope: str | None = None,
    meaning: Meaning | None = None,
) -> list[Hit]:
    """The active memories that answer a question, as the book stands now."""
    check_query(query, limit)
    wanted = _wanted(tx, query_terms(query))
    candidates = _found(tx, wanted, category, scope)
    ranked = rank(candidates, wanted)
    alike, failure = _alike(tx, meaning, query)
    if alike is not None:
        near = alike.near(candidates, CANDIDATES)
        allowed = _allowed(tx, near.keys() - set(candidates), category, scope).union(candidates)
        ranked = fused(ranked, {id: value for id, value in near.items() if id in allowed}, alike.floor)
    if failure:
        ranked = [(id, relevance, (*reasons, failure)) for id, relevance, reasons in ranked]
    ranked = foremost(ranked, limit)
    rows = _rows(tx, [id for id, _, _ in ranked])
    hits = [_hit(shaped(rows[id], now, preset), relevance, reasons) for id, relevance, reasons in ranked if id in rows]
    return best_first(hits, asked_stretch(query, now))[:limit]


def recall_past(
    tx: Tx,
    preset: Preset,
    known: str,
    valid: str,
    query: str,
    *,
    limit: int = 10,
    category: str | None = None,
    scope: str | None = None,
) -> list[Hit]:
    """The same for a past instant: rare, so it reads everything that was known then."""
    check_query(query, limit)
    past = [
        item for item in past_of(tx, known, valid)
        if item.state.name == "active" and (category is None or item.state.category == category)
        and (item.state.scope is None or scope in (EVERY_SCOPE, item.state.scope))
    ]  # fmt: skip
    weights = {item.id: term_weights(said_by(item.state, item.version)) for item in past}
    counts: dict[str, int] = {}
    for held in weights.values():
        for term in held:
            counts[term] = counts.get(term, 0) + 1
    wanted = spelled(query_terms(query), counts, len(past), lambda _: counts)
    by_id = {item.id: item for item in past}
    hits = []
    for id, relevance, reasons in rank(weights, wanted):
        item = by_id[id]
        memory = to_memory(
            item.state,
            item.version,
            item.references,
            id=id,
            updated_at=item.changed_at,
            now=valid,
            preset=preset,
        )
        hits.append(_hit(memory, relevance, reasons))
    return best_first(hits)[:limit]


def best_first(hits: Iterable[Hit], named: Stretch | None = None) -> list[Hit]:
    """By relevance; among equals what is of the time the question names, the weightier and newer first, what is not
    true now last."""
    if named is not None:
        hits = [
            replace(hit, reasons=(*hit.reasons, f"time: {named.said}"))
            if named.covers(stamp(hit.recorded_at), stamp(hit.valid_from))
            else hit
            for hit in hits
        ]
    return sorted(
        hits,
        key=lambda hit: (
            -hit.relevance,
            named is not None and not hit.reasons[-1].startswith("time: "),
            not hit.current,
            -hit.importance,
            -hit.recorded_at.timestamp(),
            hit.id,
        ),
    )


def _hit(memory: Memory, relevance: float, reasons: tuple[str, ...]) -> Hit:
    values = {name: getattr(memory, name) for name in Memory.__dataclass_fields__}
    if not memory.current:
        reasons = (*reasons, "not true now")
    return Hit(**values, relevance=relevance, reasons=reasons)


def spelled(asked: Sequence[str], counts: Mapping[str, int], total: int, vocabulary: Any) -> list[Wanted]:
    """Each word as asked; one that stands nowhere as the close words that do."""
    wanted = []
    for term in asked:
        if counts.get(term, 0):
            wanted.append(Wanted(term, term, 1.0, idf(counts[term], total)))
            continue
        wanted.extend(
            Wanted(close, term, TYPO_SHARE, idf(counts.get(close, 1), total), typo=True)
            for close in close_terms(term, vocabulary(term))[:3]
        )
    return wanted


def _alike(tx: Tx, meaning: Meaning | None, query: str) -> tuple[Alike | None, str | None]:
    """How like the question the owner's memories are, or what to say where that cannot be told."""
    if meaning is None:
        return None, None
    try:
        return meaning.alike(tx, MEMORY, query), None
    except ModelFailed as error:
        return None, f"words alone: {error.message}"


# Queries


def _wanted(tx: Tx, asked: Sequence[str]) -> list[Wanted]:
    counts = counts_up_to(tx, asked, COUNTED)
    some = select(memories.c.id).where(memories.c.owner == tx.owner, IS_ACTIVE).limit(COUNTED).subquery()
    total = tx.conn.execute(select(func.count()).select_from(some)).scalar() or 0
    return spelled(asked, counts, total, lambda term: vocabulary(tx, terms, term))


def vocabulary(tx: Tx, table: Table, term: str) -> list[str]:
    """The owner's terms that begin like this one: typos seldom touch the first letter.

    Each is found by a jump behind the one before it, so that it costs as much as there are words, not as often as
    they were said.
    """
    first, after = term[0], chr(ord(term[0]) + 1)
    mine = select(func.min(table.c.term).label("term")).where(table.c.owner == tx.owner, table.c.term < after)
    known = mine.where(table.c.term >= first).cte("known", recursive=True)
    following = mine.where(table.c.term > known.c.term).correlate(known).scalar_subquery()
    known = known.union_all(select(following).where(known.c.term.isnot(None)))
    return list(tx.conn.execute(select(known.c.term).where(known.c.term.isnot(None))).scalars())


def _found(tx: Tx, wanted: Sequence[Wanted], category: str | None, scope: str | None) -> dict[str, dict[str, float]]:
    """What has the rarest terms, with the weight of every term it has; a commoner term is asked only while there is
    room, and then of these alone."""
    query = _HAVING if category is None and scope is None else _having(category, scope)
    found: dict[str, dict[str, float]] = {}
    common = []
    for want in sorted(wanted, key=lambda want: (-want.idf * want.share, want.term)):
        room = len(found) < CANDIDATES
        rows = query.rows(tx.conn, {"owner": tx.owner, "term": want.term, "most": CANDIDATES}) if room else []
        for row in rows:
            found.setdefault(row.memory_id, {})[want.term] = row.weight
        if not room or len(rows) == CANDIDATES:
            common.append(want.term)
    for id, weights in (_weights(tx, list(found), common) if common else {}).items():
        found[id] |= weights
    return found


def _having(category: str | None, scope: str | None) -> Prepared:
    query = (
        select(terms.c.memory_id, terms.c.weight)
        .join(memories, (memories.c.owner == terms.c.owner) & (memories.c.id == terms.c.memory_id))
        .where(terms.c.owner == bindparam("owner"), terms.c.term == bindparam("term"), IS_ACTIVE, in_scope(scope))
        .order_by(terms.c.memory_id)
        .limit(bindparam("most"))
    )
    return Prepared(query if category is None else query.where(memories.c.category == sought(category)))


_HAVING = _having(None, None)


def _allowed(tx: Tx, ids: Iterable[str], category: str | None, scope: str | None) -> set[str]:
    """Of these the active ones, in the category and scope that are asked for."""
    query = select(memories.c.id).where(
        memories.c.owner == tx.owner, memories.c.id.in_(sorted(ids)), IS_ACTIVE, in_scope(scope)
    )
    if category is not None:
        query = query.where(memories.c.category == sought(category))
    return set(tx.conn.execute(query).scalars())


def _weights(tx: Tx, ids: Sequence[str], wanted: Sequence[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for start in range(0, len(ids), 500):
        query = select(terms.c.memory_id, terms.c.term, terms.c.weight).where(
            terms.c.owner == tx.owner,
            terms.c.term.in_(wanted),
            terms.c.memory_id.in_(ids[start : start + 500]),
        )
        for id, term, weight in tx.conn.execute(query):
            found.setdefault(id, {})[term] = weight
    return found


def _rows(tx: Tx, ids: Sequence[str]) -> dict[str, Any]:
    query = WHOLE.where(memories.c.id.in_(ids), IS_ACTIVE)
    return {row.id: row for row in tx.conn.execute(query, {"owner": tx.owner})}
