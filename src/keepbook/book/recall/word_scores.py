"""Scores memories by the words of a question, from the word index: rare words choose the candidates, common ones only
order them. What is needed of all words is looked up in one statement, not word by word.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Select, and_, bindparam, func, not_, or_, select

from keepbook.book.ledger import ledger
from keepbook.book.memory.listing import ListingPlace, active_in
from keepbook.book.memory.memories import IS_ACTIVE
from keepbook.book.recall.bounded_cache import BoundedCache
from keepbook.book.recall.query_terms import (
    QueryTerm,
    expand_terms,
    idf,
    related_in,
    related_words,
    score_terms,
    vocabulary,
)
from keepbook.book.text.indexes.word_index import counts_up_to
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForEach, PreparedForKeys, PreparedStatement
from keepbook.storage.tables.memory import memories, terms

COUNTED = 2000
"""Memories are counted up to this number; a word that more of them have is simply common."""
CANDIDATES = 400
"""How many memories are candidates, and how many entries of a term are read at first."""
TOTALS = 1000
"""For how many owners the size of their book is cached."""
NONE_BESIDE: Mapping[str, Mapping[str, float]] = {}


class WordScores:
    """The scores of memories by the words of a question.

    Memories that have a rare term are candidates; a more common term is looked up only while there is room for more,
    and otherwise only for candidates. So `scores` are lower bounds, and `slack` is the most that may be missing. `full`
    is the score of a memory with every word, including words that occur nowhere. `values` has the weight of each term
    at each memory.
    """

    wanted: list[QueryTerm]

    def __init__(
        self,
        tx: Tx,
        asked: Sequence[str],
        having: PreparedForEach,
        bound_to: Mapping[str, str],
        query: str,
        beside: Mapping[str, Mapping[str, float]] = NONE_BESIDE,
    ) -> None:
        """`beside` has the weights of texts that are not in the index, by term and memory."""
        self._tx = tx
        self._beside = {id for at in beside.values() for id in at}
        self._asked = {"owner": tx.owner, "most": CANDIDATES, **bound_to}
        self._settled: set[str] = set()
        read = self._read(having, asked)
        full = [term for term, rows in read.items() if having is not ANYWHERE or len(rows) == CANDIDATES]
        counts = {term: len(rows) for term, rows in read.items()} | counts_up_to(tx, full, COUNTED)
        total = count_active(tx)
        made_of = related_words(tx, terms, query)
        if beside is not NONE_BESIDE:  # a past instant: words that only later texts have do not count
            counts = {term: count for term, count in counts.items() if read[term] or term in beside}
        for term in beside.keys() & set(asked):
            counts[term] = max(counts.get(term, 0), len(beside[term]))
        made_of |= related_in(beside, query)
        self.wanted = expand_terms(
            asked, counts, total, lambda words: [*vocabulary(tx, terms, words), *beside], made_of
        )
        self.full = sum(idf(counts.get(term, 0), total) for term in asked)
        self.values: dict[str, dict[str, float]] = {}
        found: set[str] = set()
        common: dict[str, float] = {}
        self._common: list[str] = []
        read |= self._read(having, [want.term for want in self.wanted if want.term not in read])
        for want in sorted(self.wanted, key=lambda want: (-want.idf * want.share, want.term)):
            rows = read[want.term]
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
        """Make the scores of these memories exact, by looking up the common terms for them."""
        if self._common:
            new = [id for id in ids if id not in self._settled]
        else:
            new = []
        if not new:
            return
        self._settled.update(new)
        values = [(term, self.values[term]) for term in self._common]
        pairs = [(id, term) for term, held in values for id in new if id not in held and id not in self._beside]
        for term, id, weight in _WEIGHTS.tuples(self._tx.conn, pairs, {"owner": self._tx.owner}):
            if id is not None:
                self.values[term][id] = weight
        some = {term: {id: held[id] for id in new if id in held} for term, held in self.values.items()}
        self.scores |= score_terms(self.wanted, some)

    def _read(self, having: PreparedForEach, asked: Iterable[str]) -> dict[str, list[tuple[str, float]]]:
        """The entries of each term, in one statement."""
        read: dict[str, list[tuple[str, float]]] = {term: [] for term in asked}
        for term, id, weight in having.tuples(self._tx.conn, list(read), self._asked):
            read[term].append((id, weight))
        return read


_totals: BoundedCache[tuple[str, str], int] = BoundedCache(TOTALS)


def count_active(tx: Tx) -> int:
    """How many memories are active, counted up to `COUNTED`. It is cached under the hash of the owner's last entry,
    which changes with every write."""
    key = (tx.owner, ledger.chain_head(tx).hash)
    total = _totals.get(key)
    if total is None:
        total = int(_ACTIVE.first(tx.conn, {"owner": tx.owner, "most": COUNTED}).count)
        _totals.put(key, total)
    return total


@lru_cache(maxsize=64)
def entries_at(place: ListingPlace) -> PreparedForEach:
    """The query for the entries of each term in this place."""
    return PreparedForEach(partial(entries_of, which=active_in(place)))


@lru_cache(maxsize=64)
def entries_unchanged_since(place: ListingPlace) -> PreparedForEach:
    """The same for memories that have not changed since an instant."""
    return PreparedForEach(partial(entries_of, which=and_(active_in(place), not_(CHANGED_SINCE))))


def entries_of(term: BindParameter[str], which: ColumnElement[bool] | None = None) -> Select[Any]:
    found = select(terms.c.term, terms.c.memory_id, terms.c.weight)
    if which is not None:
        here = and_(memories.c.owner == terms.c.owner, memories.c.id == terms.c.memory_id, which)
        found = found.join(memories, here)
    found = found.where(terms.c.owner == bindparam("owner"), terms.c.term == term)
    return found.order_by(terms.c.memory_id).limit(bindparam("most"))


CHANGED_SINCE = or_(memories.c.updated_at > bindparam("known"), memories.c.version > 1)
ANYWHERE = PreparedForEach(entries_of)
"""The query for all entries of each term: those of active memories of any scope."""
_WEIGHTS = PreparedForKeys(
    lambda keys: select(keys.c.key_1, terms.c.memory_id, terms.c.weight).select_from(
        keys.outerjoin(
            terms,
            and_(terms.c.owner == bindparam("owner"), terms.c.term == keys.c.key_1, terms.c.memory_id == keys.c.key_0),
        )
    ),
    terms.c.memory_id,
    terms.c.term,
)
_ACTIVE = PreparedStatement(
    select(func.count().label("count")).select_from(
        select(memories.c.id)
        .where(memories.c.owner == bindparam("owner"), IS_ACTIVE)
        .limit(bindparam("most"))
        .subquery()
    )
)
