"""The word index: which active memory has which term, and with what weight.

A term's weight is its frequency with BM25's saturation, reduced a little in long texts. It is computed when the memory
is written, so recall needs no other statistics than how rare the term is in this owner's book. A compound is also
indexed backwards, to be found by its last word. A few more keys let near-duplicates find each other. Only active
memories are indexed. When one is forgotten, its terms are removed in the same transaction; which ones, is found by
analysing its text again. One key stays, by which the same words are recognised.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import BindParameter, Select, Table, and_, bindparam, delete, func, insert, select, update

from keepbook.book.text.for_models.lookalikes import as_latin
from keepbook.book.text.for_models.unseen import drop_unseen
from keepbook.book.text.opposites import matter_of
from keepbook.book.text.quotation import bare_words
from keepbook.book.text.words import compounds, fold_text, numbers, polarity, tokens
from keepbook.book.text.words import terms as analyse
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForEach, PreparedStatement
from keepbook.storage.tables.memory import likeness, terms
from keepbook.storage.tables.upkeep import vector_spaces, vectors

# BM25's saturation with weak length normalisation; forty words on both sides keep short facts comparable.
K1, B, USUAL, PAD = 0.6, 0.75, 12, 40
BACKWARDS = "<"
"""Stands before a compound that is indexed backwards; no word begins with it."""
BODY_SHARE = 0.5
"""The weight of a word of the body: the content says more about a memory."""


class IndexedText(NamedTuple):
    """The indexed texts of a memory."""

    category: str | None
    subject: str | None
    content: str
    summary: str | None
    body: str | None


# Rules


def term_weights(said: IndexedText) -> dict[str, float]:
    counts: dict[str, float] = {}
    for term in analyse(" ".join(filter(None, (said.content, said.subject, said.summary)))):
        counts[term] = counts.get(term, 0) + 1
    for term in analyse(said.body) if said.body else ():
        counts[term] = counts.get(term, 0) + BODY_SHARE
    damp = K1 * (1 - B + B * (sum(counts.values()) + PAD) / (USUAL + PAD))
    kept = [text for text in (said.content, said.body) if text]
    ends = [backwards(word) for text in kept for word in compounds(text)]
    return {term: round(count / (count + damp), 4) for term, count in counts.items()} | dict.fromkeys(ends, 0.0)


def backwards(word: str) -> str:
    """The backwards form of a compound in the index, so that compounds with the same end stand together."""
    return BACKWARDS + word[::-1]


@lru_cache(maxsize=256)
def likeness_keys(content: str, category: str | None) -> tuple[str, ...]:
    """Keys by which near-duplicates find each other: any two of a category share one. Texts with the same words, and
    opposites, share the last key in any category.

    Each of the first words of a text, in a fixed order, makes one key. If two texts have four fifths of their words in
    common, one of these is among the first fifth and one of each. A key also has what near-duplicates must have in
    common anyway (category, polarity, numbers); long words come first, since they are rarer.
    """
    words = sorted(set(tokens(content)), key=lambda word: (-len(word), word)) or [fold_text(content)]
    first = len(words) - -(-4 * len(words) // 5) + 1
    counted = " ".join(sorted(numbers(content)))
    alike = f"{category}|{polarity(content)}|{counted}"
    about = " ".join(sorted(matter_of(content))) or fold_text(content)
    keys = [f"{word}|{alike}" for word in words[:first]] + [f"={about}|{counted}"]
    return tuple(hashlib.blake2b(key.encode(), digest_size=8).hexdigest() for key in keys)


def put_away_key(content: str) -> str:
    """The key by which the words of a memory that was put away are recognised, whatever list, heading or quotation they
    stand in, and however they are disguised."""
    seen = as_latin(drop_unseen(content))
    words = bare_words(_without_marks_around(seen) or seen)
    return hashlib.blake2b(f"-{words}".encode(errors="replace"), digest_size=8).hexdigest()


def _without_marks_around(text: str) -> str:
    """The words without a bullet, number or quotation mark before them, and without closing marks after them."""
    places = [at for at, sign in enumerate(text) if sign.isalnum()]
    inner = ""
    if places:
        inner = text[places[0] : places[-1] + 1]
    number, _, rest = inner.partition(" ")
    is_numbered = number[-1:] in (".", ")", ":") and (number[:-1].isdigit() or len(number) == 2)
    if rest and is_numbered:
        return _without_marks_around(rest)
    return inner


# Operations


def put_words(tx: Tx, memory_id: str, said: IndexedText) -> None:
    key = {"owner": tx.owner, "memory_id": memory_id}
    found = [{**key, "term": term, "weight": weight} for term, weight in sorted(term_weights(said).items())]
    alike = [{**key, "key": word} for word in likeness_keys(said.content, said.category)]
    for statement, rows in ((_PUT_TERM, found), (_PUT_KEY, alike)):
        statement.run_many(tx.conn, rows)


def take_words(tx: Tx, memory_id: str, said: IndexedText) -> None:
    """Remove the terms of a text from the index. The same text gives the same terms, so no index by memory is
    needed."""
    for statement, words in (
        (_TAKE_TERM, sorted(term_weights(said))),
        (_TAKE_KEY, likeness_keys(said.content, said.category)),
    ):
        statement.run_many(tx.conn, [{"owner": tx.owner, "word": word, "memory_id": memory_id} for word in words])
    take_vectors(tx, "memory", memory_id)


def mark_put_away(tx: Tx, memory_id: str, content: str) -> None:
    """Add the key of a memory that is no longer active. Only the same words are found by it."""
    _PUT_KEY.run(tx.conn, {"owner": tx.owner, "key": put_away_key(content), "memory_id": memory_id})


def unmark_put_away(tx: Tx, memory_id: str, content: str) -> None:
    _TAKE_KEY.run(tx.conn, {"owner": tx.owner, "word": put_away_key(content), "memory_id": memory_id})


def take_vectors(tx: Tx, kind: str, item: str, *, since: int = 0) -> None:
    """Remove the vectors of a memory or a chat, or of its turns `since` one, in every space."""
    mine = and_(vectors.c.owner == tx.owner, vectors.c.kind == kind, vectors.c.item == item, vectors.c.part >= since)
    for (space,) in _SPACES.tuples(tx.conn, {"owner": tx.owner}):
        if tx.conn.execute(delete(vectors).where(mine, vectors.c.space == space)).rowcount:
            here = and_(vector_spaces.c.owner == tx.owner, vector_spaces.c.space == space)
            tx.conn.execute(update(vector_spaces).where(here).values(removed=vector_spaces.c.removed + 1))


# Queries


def counts_up_to(tx: Tx, wanted: Sequence[str], most: int) -> dict[str, int]:
    """How many active memories have each term, counted up to `most`, so that a common word does not cost more."""
    return counts_in(_COUNTS, tx, wanted, most)


def counts_in(index: PreparedForEach, tx: Tx, wanted: Sequence[str], most: int) -> dict[str, int]:
    """The same for any index of words."""
    words = list(dict.fromkeys(wanted))
    found = dict(index.tuples(tx.conn, words, {"owner": tx.owner, "most": most}))
    return {word: found[word] for word in words}


_SPACES = PreparedStatement(select(vector_spaces.c.space).where(vector_spaces.c.owner == bindparam("owner")))


def count_each(table: Table) -> PreparedForEach:
    """The query for how often each of some terms is in an index, counted up to a limit."""
    here = table.c

    def count(term: BindParameter[str]) -> Select[str, int]:
        some = select(here.term).where(here.owner == bindparam("owner"), here.term == term).limit(bindparam("most"))
        return select(term.label("term"), func.count().label("count")).select_from(some.subquery())

    return PreparedForEach(count)


_COUNTS = count_each(terms)


def _put(table: Table) -> PreparedStatement:
    return PreparedStatement(insert(table), table.c.keys())


def _take(table: Table, word: str) -> PreparedStatement:
    return PreparedStatement(
        delete(table).where(
            table.c.owner == bindparam("owner"),
            table.c[word] == bindparam("word"),
            table.c.memory_id == bindparam("memory_id"),
        )
    )


_PUT_TERM, _TAKE_TERM = _put(terms), _take(terms, "term")
_PUT_KEY, _TAKE_KEY = _put(likeness), _take(likeness, "key")
