"""Recall: from a question to the memories that answer it, best first, each with its reasons.

The rarest words of the question choose the candidates, up to a limit. Common words only help to order them, and are
looked up only for candidates whose place they could still change. So the cost depends on the question and not on the
size of the book; full rows and reasons are made for the hits alone. A word that occurs nowhere is tried as a typo of
words that do. For a past instant the same rules read the book as it was.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select

from keepbook.book.ground.limits import check_question, clean_count, sought
from keepbook.book.ground.to_json import LazyValues
from keepbook.book.memory.history.as_of import PastMemory, by_instant, past_memories
from keepbook.book.memory.labels import NOTHING, bound, has
from keepbook.book.memory.labels import LabelFilter as Labels
from keepbook.book.memory.listing import ListingPlace, active_in
from keepbook.book.memory.memories import SHOWN, Memory, fits_scope, indexed_text_of, is_valid_at
from keepbook.book.memory.memory_json import json_to_fields, memory_to_json
from keepbook.book.recall.backlog import MEMORY
from keepbook.book.recall.nearest import Likeness
from keepbook.book.recall.query_terms import (
    Key,
    QueryTerm,
    full_score,
)
from keepbook.book.recall.vectors import Meaning
from keepbook.book.recall.word_scores import (
    ANYWHERE,
    CANDIDATES,
    CHANGED_SINCE,
    COUNTED,
    WordScores,
    count_active,
    entries_at,
    entries_unchanged_since,
)
from keepbook.book.text.indexes.word_index import term_weights
from keepbook.book.text.time_hints import NamedTime, asked_stretch
from keepbook.book.text.words import query_terms
from keepbook.errors import Invalid, ModelFailed
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.memory import memories

FEW = 5000
"""If a category or scope has at most this many memories, all of them are compared by meaning."""
ALIKE, ALIKE_FROM = 1.0, 2 / 3
"""The weight of likeness in meaning against that of the words, both scaled to 0…1; and the part of the embedder's floor
from which likeness counts: a question is less like its answer than two texts are that say the same."""
SAYS_MUCH = 0.75
"""Word scores are scaled so that this share of the full score counts as 1, if no memory has more. So the best of
several poor matches by words does not outrank a match by meaning."""
TIMELY = 1.25
"""The factor for memories of the time that the question names."""
LOOKED_AT = 5
"""If the question names a time, the wanted number of hits times this are looked at."""
ABOUT = 100
"""How many lines of a large book are compared with each text, when a chat is read for what to keep."""
MOST_HITS = 200
"""How many hits may be asked for at once, and how many all pages of a question have together."""
SAME = 0.0001
"""Relevances that differ by less count as equal; other things decide the order then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Memory):
    """A memory that answers, how well (0 to 1), why, and how like the question it is by meaning."""

    relevance: float
    reasons: tuple[str, ...]
    likeness: float = 0.0


class RankedHit(NamedTuple):
    """The values that a hit is ordered by, and the row (or past memory) it is made of."""

    id: str
    relevance: float
    timely: bool
    current: bool
    importance: float
    recorded_at: str
    held: Any


# Rules


def check_query(query: object, limit: object) -> None:
    check_question(query)
    clean_count(limit, "limit", MOST_HITS)


def leading(scores: Mapping[Key, float], most: int, slack: float) -> list[Key]:
    """The `most` best keys, and those whose score is at most `slack` below the last of them."""
    if len(scores) <= most:
        return list(scores)
    least = nlargest(most, scores.values())[-1] - slack
    return [key for key, score in scores.items() if score >= least]


def words_said(id: str, wanted: Iterable[QueryTerm], values: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """The words of a question that a memory has, as reasons for finding it."""
    best: dict[str, tuple[float, QueryTerm]] = {}
    for want in wanted:
        value = values.get(want.term, {}).get(id, 0.0) * want.idf * want.share
        if value > best.get(want.asked, (0.0, want))[0]:
            best[want.asked] = (value, want)
    exact = [want.term for _, want in best.values() if not want.typo]
    typos = [f"“{want.asked}” read as “{want.term}”" for _, want in best.values() if want.typo]
    return (*([f"words: {', '.join(exact)}"] if exact else []), *typos)


def best_first(placed: Iterable[RankedHit]) -> list[RankedHit]:
    """The hits in order: by relevance; among equals first those of the time that the question names, then those that
    are true now, then the more important, then the newer."""
    newest = sorted(sorted(placed, key=lambda one: one.id), key=lambda one: one.recorded_at, reverse=True)
    return sorted(newest, key=lambda one: (-one.relevance, not one.timely, not one.current, -one.importance))


def page_after(placed: Sequence[RankedHit], cursor: str | None, limit: int) -> Sequence[RankedHit]:
    """The next `limit` of the hits in order: the first ones, or those after the one that `cursor` names."""
    if cursor is None:
        return placed[:limit]
    ids = [one.id for one in placed]
    if cursor not in ids:
        raise Invalid(f"no answer to this question has the id {cursor!r}; ask without a cursor", field="cursor")
    start = ids.index(cursor) + 1
    return placed[start : start + limit]


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
    labels: Labels = NOTHING,
    cursor: str | None = None,
    meaning: Meaning | None = None,
) -> Sequence[Hit]:
    """The active memories that answer a question, as the book stands now."""
    check_query(query, limit)
    asked, named = query_terms(query), asked_stretch(query, now)
    alike, failure = _alike(tx, meaning, query)
    most = (limit if cursor is None else MOST_HITS) * (1 if named is None else LOOKED_AT)
    place = ListingPlace(category and sought(category), scope and sought(scope), labels.count)
    here, bound_to = entries_at(place), bound(labels)
    rows: dict[str, Any] = {}
    # Few books have scopes. So the first search is in the whole index, and only if it found memories of another scope
    # there is a second one, in the wanted scope alone.
    for having in (ANYWHERE, here) if category is None and labels is NOTHING else (here,):
        words = WordScores(tx, asked, having, bound_to, query)
        among = None
        if not (having is ANYWHERE or alike is None):
            among = _few(tx, place, bound_to)
        if having is here and alike:
            ranked = _rank(words, alike, max(most, CANDIDATES), among)
        else:
            ranked = _rank(words, alike, most, among)
        rows = _rows(tx, list(ranked), place, bound_to)
        if len(rows) == len(ranked):
            break
    placed = page_after(
        best_first(_rank_row(row, ranked[id][0], now, named) for id, row in rows.items()), cursor, limit
    )
    if alike:
        floor = alike.floor * ALIKE_FROM
    else:
        floor = math.inf
    hits = []
    for one in placed:
        likeness = ranked[one.id][1]
        reasons = (
            *words_said(one.id, words.wanted, words.values),
            *((f"meaning: {likeness:.2f}",) if likeness >= floor else ()),
            *((failure,) if failure else ()),
            *(() if one.current else ("not true now",)),
            *((f"time: {named.said}",) if named and one.timely else ()),
        )
        told = {"relevance": one.relevance, "reasons": [*reasons], "likeness": round(max(0.0, likeness), 2)}
        hits.append(memory_to_json(one.held, now, preset) | told)
    return LazyValues(hits, _as_hit)


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
    labels: Labels = NOTHING,
    cursor: str | None = None,
) -> Sequence[Hit]:
    """The same for a past instant. Memories that have not changed since are found through the present index; the others
    are read as they were then."""
    check_query(query, limit)
    place = ListingPlace(category and sought(category), scope and sought(scope), labels.count)
    here = {**bound(labels), "known": known}

    def read(ids: Sequence[str]) -> dict[str, PastMemory]:
        return {
            item.id: item for item in past_memories(tx, by_instant(known), valid, ids)
            if item.state.name == "active" and (category is None or item.state.category == category)
            and fits_scope(item.state.scope, scope) and has(item.version, labels)
        } if ids else {}  # fmt: skip

    past = read([id for (id,) in _CHANGED.tuples(tx.conn, {"owner": tx.owner, "known": known})])
    changed: dict[str, dict[str, float]] = {}
    for id, item in past.items():
        for term, weight in term_weights(indexed_text_of(item.state, item.version)).items():
            changed.setdefault(term, {})[id] = weight
    words = WordScores(tx, query_terms(query), entries_unchanged_since(place), here, query, changed)
    if cursor:
        ranked = _rank(words, None, len(words.scores), None)
    else:
        ranked = _rank(words, None, limit, None)
    past |= read([id for id in ranked if id not in past])
    if len(past.keys() & ranked.keys()) < min(limit, len(words.scores)):  # some did not hold then
        ranked = _rank(words, None, len(words.scores), None)
        past |= read([id for id in ranked if id not in past])
    placed = []
    for id in ranked.keys() & past.keys():
        state, version = past[id].state, past[id].version
        current = is_valid_at(version.valid_from, version.valid_until, valid)
        placed.append(RankedHit(id, ranked[id][0], False, current, state.importance, version.recorded_at, past[id]))
    hits = []
    for one in page_after(best_first(placed), cursor, limit):
        memory = one.held.to_json_fields(valid, preset)
        reasons = (*words_said(one.id, words.wanted, words.values), *(() if one.current else ("not true now",)))
        hits.append(memory | {"relevance": one.relevance, "reasons": [*reasons], "likeness": 0.0})
    return LazyValues(hits, _as_hit)


def lines_about(tx: Tx, texts: Iterable[str]) -> set[str] | None:
    """The ids of the memories that share most words with these texts; None if the book is small enough to take all."""
    if count_active(tx) < COUNTED:
        return None
    found: set[str] = set()
    for text in dict.fromkeys(texts):
        words = WordScores(tx, query_terms(text), ANYWHERE, {}, text)
        words.settle(leading(words.scores, ABOUT, words.slack))
        found.update(leading(words.scores, ABOUT, 0.0))
    return found


def _rank(
    words: "WordScores", alike: Likeness | None, most: int, among: Sequence[str] | None
) -> dict[str, tuple[float, float]]:
    """Relevance and likeness in meaning of the best memories, with all that are as good as the last of them."""
    if alike is None:
        full = full_score(words.wanted)
        words.settle(leading(words.scores, most, words.slack + SAME * full))
        best = leading(words.scores, most, SAME * full)
        return _foremost({id: (min(1.0, round(words.scores[id] / full, 4)), 0.0) for id in best}, most)
    words.settle(leading(words.scores, 1, words.slack))
    scale = max(words.full * SAYS_MUCH, *words.scores.values(), SAME)
    said = {id: score / scale for id, score in words.scores.items()}
    near = alike.blend(said, ALIKE, alike.floor * ALIKE_FROM, most, words.slack / scale + SAME, among)
    words.settle([id for id in near if id in said])
    found = {}
    for id, (score, likeness) in near.items():
        exact = score + (words.scores[id] / scale - said[id] if id in said else 0.0)
        found[id] = (round(exact / (1 + ALIKE), 4), likeness)
    return _foremost(found, most)


def _foremost(found: Mapping[str, tuple[float, float]], most: int) -> dict[str, tuple[float, float]]:
    kept = set(leading({id: relevance for id, (relevance, _) in found.items()}, most, 0.0))
    return {id: value for id, value in found.items() if id in kept}


def _rank_row(row: Any, relevance: float, now: str, named: NamedTime | None) -> RankedHit:
    timely = named is not None and named.covers(row.recorded_at, row.valid_from)
    if timely:
        relevance = min(1.0, round(relevance * TIMELY, 4))
    current = is_valid_at(row.valid_from, row.valid_until, now)
    return RankedHit(row.id, relevance, timely, current, row.importance, row.recorded_at, row)


def _as_hit(found: Mapping[str, Any]) -> Hit:
    return Hit(**json_to_fields(found) | {"reasons": tuple(found["reasons"])})


def _alike(tx: Tx, meaning: Meaning | None, query: str) -> tuple[Likeness | None, str | None]:
    """The likeness of the owner's memories to the question; or None, and a reason to show if the embedder failed."""
    if meaning is None:
        return None, None
    try:
        return meaning.alike(tx, MEMORY, query), None
    except ModelFailed as error:
        return None, f"words alone: {error.message}"


# Queries


def _rows(tx: Tx, ids: Sequence[str], place: ListingPlace, bound_to: Mapping[str, str]) -> dict[str, Any]:
    """The rows of those memories that are active and in this place, by id."""
    return {row.id: row for row in _whole(place).rows(tx.conn, ids, {"owner": tx.owner, **bound_to})}


def _few(tx: Tx, place: ListingPlace, bound_to: Mapping[str, str]) -> Sequence[str] | None:
    """The ids of all memories in a place, to compare each with the question; None if there are more than `FEW`."""
    query = select(memories.c.id).where(memories.c.owner == bindparam("owner"), active_in(place)).limit(FEW + 1)
    found = list(tx.conn.execute(query, {"owner": tx.owner, **bound_to}).scalars())
    if len(found) <= FEW:
        return found
    return None


@lru_cache(maxsize=64)
def _whole(place: ListingPlace) -> PreparedForIds:
    here = active_in(place)
    return PreparedForIds(lambda ids: SHOWN.where(memories.c.id.in_(ids), here))


_CHANGED = PreparedStatement(
    select(memories.c.id)
    .where(memories.c.owner == bindparam("owner"), memories.c.created_at <= bindparam("known"), CHANGED_SINCE)
    .order_by(memories.c.id)
)
"""The memories that existed at an instant and may have changed since: they were updated since, or have several
versions, of which another may have held then."""
