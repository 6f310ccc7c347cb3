"""Recall: from a question to the memories that answer it, best first, each with its reasons.

The rarest words of the question choose the candidates, under a cap; common words only help to order them, and are
looked up only where they could still decide. So the cost follows the question, not the size of the book, and the row
and reasons of a hit are made for the hits alone. A word that occurs nowhere is tried as a typo of words that do. For a
past instant the same rules read the book as it was.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, not_, or_, select

from keepbook.book.ground.limits import check_question, clean_count, sought
from keepbook.book.ground.to_json import LazyValues
from keepbook.book.ledger import ledger
from keepbook.book.memory.history.as_of import PastMemory, by_instant, past_memories
from keepbook.book.memory.labels import NOTHING, bound, has
from keepbook.book.memory.labels import LabelFilter as Labels
from keepbook.book.memory.listing import ListingPlace, active_in
from keepbook.book.memory.memories import IS_ACTIVE, SHOWN, Memory, fits_scope, indexed_text_of, is_valid_at
from keepbook.book.memory.memory_json import json_to_fields, memory_to_json
from keepbook.book.recall.backlog import MEMORY
from keepbook.book.recall.bounded_cache import BoundedCache
from keepbook.book.recall.nearest import Likeness
from keepbook.book.recall.query_terms import (
    Key,
    QueryTerm,
    expand_terms,
    full_score,
    idf,
    related_in,
    related_words,
    score_terms,
    vocabulary,
)
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.indexes.word_index import counts_up_to, term_weights
from keepbook.book.text.time_hints import NamedTime, asked_stretch
from keepbook.book.text.words import query_terms
from keepbook.errors import Invalid, ModelFailed
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedForKeys, PreparedStatement
from keepbook.storage.tables.memory import memories, terms

COUNTED = 2000
"""Terms and books are counted no further than this; beyond it a word is simply common."""
CANDIDATES = 400
FEW = 5000
"""Up to so many in a category or scope, nothing outside can hide one of them from a question."""
ALIKE, ALIKE_FROM = 1.0, 2 / 3
"""What the likeness of meaning counts against the words, both from 0 to 1; and from which part of the embedder's floor
on it counts: a question is less like its answer than two texts are that say the same."""
SAYS_MUCH = 0.75
"""A memory that has this share of the question has all the words can say; one that has less and is the best of a poor
lot does not outdo what means the same."""
TIMELY = 1.25
"""How much more a memory counts that is of the time the question names; so many times the hits are looked at then."""
LOOKED_AT = 5
TOTALS = 1000
"""Of so many owners the size of their book is kept in mind."""
ABOUT = 100
"""So many lines of a large book are held against each text that is read for what to keep."""
MOST_HITS = 200
"""So many are asked for at once, and so far the pages of a question go."""
NONE_BESIDE: Mapping[str, Mapping[str, float]] = {}
SAME = 0.0001
"""Relevances that differ by less are the same, and other things order them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Memory):
    """A memory that answers, how well (0 to 1), why, and how like the question it is by meaning."""

    relevance: float
    reasons: tuple[str, ...]
    likeness: float = 0.0


class RankedHit(NamedTuple):
    """What a hit is ordered by, and what it is made of."""

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
    """The best hits, and those less than `slack` behind the last of them."""
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
    """The order of hits: by relevance; among equals by the time the question names, then true now, weightier, newer."""
    newest = sorted(sorted(placed, key=lambda one: one.id), key=lambda one: one.recorded_at, reverse=True)
    return sorted(newest, key=lambda one: (-one.relevance, not one.timely, not one.current, -one.importance))


def page_after(placed: Sequence[RankedHit], cursor: str | None, limit: int) -> Sequence[RankedHit]:
    """Of hits in order, as many as are asked for: the first ones, or those behind the one that `cursor` names."""
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
    here, bound_to = _having(place), bound(labels)
    rows: dict[str, Any] = {}
    # Few books have scopes: first as if there were none, and once more among those asked for if there are.
    for having in (_ANYWHERE, here) if category is None and labels is NOTHING else (here,):
        words = WordScores(tx, asked, having, bound_to, query)
        among = None if having is _ANYWHERE or alike is None else _few(tx, place, bound_to)
        ranked = _rank(words, alike, max(most, CANDIDATES) if having is here and alike else most, among)
        rows = _rows(tx, list(ranked), place, bound_to)
        if len(rows) == len(ranked):
            break
    placed = page_after(
        best_first(_rank_row(row, ranked[id][0], now, named) for id, row in rows.items()), cursor, limit
    )
    floor = alike.floor * ALIKE_FROM if alike else math.inf
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
    """The same for a past instant. What has not changed since is found through the index of now; what has is read as
    it was."""
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
    words = WordScores(tx, query_terms(query), _having_since(place), here, query, changed)
    ranked = _rank(words, None, len(words.scores) if cursor else limit, None)
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
        hits.append(memory | {"relevance": one.relevance, "reasons": [*reasons]})
    return LazyValues(hits, _as_hit)


def lines_about(tx: Tx, texts: Iterable[str]) -> set[str] | None:
    """The memories whose words these texts share most; None in a book that is small enough to be read whole."""
    if _total(tx) < COUNTED:
        return None
    found: set[str] = set()
    for text in dict.fromkeys(texts):
        words = WordScores(tx, query_terms(text), _ANYWHERE, {}, text)
        words.settle(leading(words.scores, ABOUT, words.slack))
        found.update(leading(words.scores, ABOUT, 0.0))
    return found


def _rank(
    words: "WordScores", alike: Likeness | None, most: int, among: Sequence[str] | None
) -> dict[str, tuple[float, float]]:
    """The best, with all that are as good as the last of them: each one's relevance and likeness of meaning."""
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
    relevance = min(1.0, round(relevance * TIMELY, 4)) if timely else relevance
    current = is_valid_at(row.valid_from, row.valid_until, now)
    return RankedHit(row.id, relevance, timely, current, row.importance, row.recorded_at, row)


def _as_hit(found: Mapping[str, Any]) -> Hit:
    return Hit(**json_to_fields(found) | {"reasons": tuple(found["reasons"])})


def _alike(tx: Tx, meaning: Meaning | None, query: str) -> tuple[Likeness | None, str | None]:
    """How like the question the owner's memories are, or what to say where that cannot be told."""
    if meaning is None:
        return None, None
    try:
        return meaning.alike(tx, MEMORY, query), None
    except ModelFailed as error:
        return None, f"words alone: {error.message}"


# Queries


class WordScores:
    """The scores of memories by the words of a question. `scores` are lower bounds, `slack` is the most that may be
    missing, `full` the score of a memory with every word, including words that occur nowhere. A memory with a rare term
    is a candidate; a commoner term is looked up only while there is room, and then only for the candidates. `values`
    holds the weight of each term at each memory.
    """

    wanted: list[QueryTerm]

    def __init__(
        self,
        tx: Tx,
        asked: Sequence[str],
        having: PreparedStatement,
        bound_to: Mapping[str, str],
        query: str,
        beside: Mapping[str, Mapping[str, float]] = NONE_BESIDE,
    ) -> None:
        """`beside` are the weights of texts that are not in the index."""
        self._tx = tx
        self._beside = {id for at in beside.values() for id in at}
        self._asked = {"owner": tx.owner, "most": CANDIDATES, **bound_to}
        self._settled: set[str] = set()
        read = {term: self._read(having, term) for term in asked}
        full = [term for term, rows in read.items() if having is not _ANYWHERE or len(rows) == CANDIDATES]
        counts = {term: len(rows) for term, rows in read.items()} | counts_up_to(tx, full, COUNTED)
        total = _total(tx)
        made_of = related_words(tx, terms, query)
        if beside is not NONE_BESIDE:  # of a past instant: words said since are no words of it
            counts = {term: count for term, count in counts.items() if read[term] or term in beside}
        for term in beside.keys() & set(asked):
            counts[term] = max(counts.get(term, 0), len(beside[term]))
        made_of |= related_in(beside, query)
        self.wanted = expand_terms(asked, counts, total, lambda term: [*vocabulary(tx, terms, term), *beside], made_of)
        self.full = sum(idf(counts.get(term, 0), total) for term in asked)
        self.values: dict[str, dict[str, float]] = {}
        found: set[str] = set()
        common: dict[str, float] = {}
        self._common: list[str] = []
        for want in sorted(self.wanted, key=lambda want: (-want.idf * want.share, want.term)):
            rows = read[want.term] if want.term in read else self._read(having, want.term)
            room = len(found) < CANDIDATES
            self.values[want.term] = {id: weight for id, weight in rows if room or id in found}
            if room:
                found.update(self.values[want.term])
            self.values[want.term] |= beside.get(want.term, {})
            if len(rows) == CANDIDATES:
                self._common.append(want.term)
                common[want.asked] = max(common.get(want.asked, 0.0), want.idf * want.share)
        self.slack = sum(common.values())
        self.scores: dict[str, float] = score_terms(self.wanted, self.values)

    def settle(self, ids: Iterable[str]) -> None:
        """Look up the common terms for these memories."""
        new = [id for id in ids if id not in self._settled] if self._common else []
        if not new:
            return
        self._settled.update(new)
        for term in self._common:
            held = self.values[term]
            open_ = [id for id in new if id not in held and id not in self._beside]
            found = _WEIGHT.tuples(self._tx.conn, [(id,) for id in open_], {"owner": self._tx.owner, "term": term})
            held.update((id, weight) for id, weight in found if id is not None)
        some = {term: {id: held[id] for id in new if id in held} for term, held in self.values.items()}
        self.scores |= score_terms(self.wanted, some)

    def _read(self, having: PreparedStatement, term: str) -> list[tuple[str, float]]:
        return having.tuples(self._tx.conn, {**self._asked, "term": term})


_totals: BoundedCache[tuple[str, str], int] = BoundedCache(TOTALS)


def _total(tx: Tx) -> int:
    """How many memories are active, counted no further than `COUNTED`. It holds for as long as nothing is written, so
    it is kept by the hash of the owner's last entry, which no other state of any book has."""
    key = (tx.owner, ledger.chain_head(tx).hash)
    total = _totals.get(key)
    if total is None:
        total = int(_ACTIVE.first(tx.conn, {"owner": tx.owner, "most": COUNTED}).count)
        _totals.put(key, total)
    return total


def _rows(tx: Tx, ids: Sequence[str], place: ListingPlace, bound_to: Mapping[str, str]) -> dict[str, Any]:
    """Of these memories the active ones, in the place that is asked for."""
    return {row.id: row for row in _whole(place).rows(tx.conn, ids, {"owner": tx.owner, **bound_to})}


def _few(tx: Tx, place: ListingPlace, bound_to: Mapping[str, str]) -> Sequence[str] | None:
    """All there is in a place, each to be held against the question; None if that is very much."""
    query = select(memories.c.id).where(memories.c.owner == bindparam("owner"), active_in(place)).limit(FEW + 1)
    found = list(tx.conn.execute(query, {"owner": tx.owner, **bound_to}).scalars())
    return found if len(found) <= FEW else None


@lru_cache(maxsize=64)
def _whole(place: ListingPlace) -> PreparedForIds:
    here = active_in(place)
    return PreparedForIds(lambda ids: SHOWN.where(memories.c.id.in_(ids), here))


@lru_cache(maxsize=64)
def _having(place: ListingPlace) -> PreparedStatement:
    """The entries of a term that are in the place that is asked for."""
    return PreparedStatement(_entries_in(active_in(place)).limit(bindparam("most")))


@lru_cache(maxsize=64)
def _having_since(place: ListingPlace) -> PreparedStatement:
    """The same of the memories that say now what they said at an instant."""
    return PreparedStatement(_entries_in(and_(active_in(place), not_(_changed))).limit(bindparam("most")))


def _entries_in(which: ColumnElement[bool]) -> Select[Any]:
    return _ENTRIES.join(memories, and_(memories.c.owner == terms.c.owner, memories.c.id == terms.c.memory_id, which))


_changed = or_(memories.c.updated_at > bindparam("known"), memories.c.version > 1)
_CHANGED = PreparedStatement(
    select(memories.c.id)
    .where(memories.c.owner == bindparam("owner"), memories.c.created_at <= bindparam("known"), _changed)
    .order_by(memories.c.id)
)
"""What was there at an instant and is not as it was: touched since, or of several versions, of which another may have
held."""


_of_term = and_(terms.c.owner == bindparam("owner"), terms.c.term == bindparam("term"))
_ENTRIES = select(terms.c.memory_id, terms.c.weight).where(_of_term).order_by(terms.c.memory_id)
_ANYWHERE = PreparedStatement(_ENTRIES.limit(bindparam("most")))
"""The entries of a term as the index has them: of active memories only, whatever their scope."""
_WEIGHT = PreparedForKeys(
    lambda keys: select(terms.c.memory_id, terms.c.weight).select_from(
        keys.outerjoin(terms, and_(_of_term, terms.c.memory_id == keys.c.key_0))
    ),
    terms.c.memory_id,
)
_ACTIVE = PreparedStatement(
    select(func.count().label("count")).select_from(
        select(memories.c.id)
        .where(memories.c.owner == bindparam("owner"), IS_ACTIVE)
        .limit(bindparam("most"))
        .subquery()
    )
)
