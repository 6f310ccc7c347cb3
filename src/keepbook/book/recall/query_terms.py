"""Turns a question into weighted search terms, using the words that occur in the owner's book.

A word that occurs nowhere is tried as a typo of words that do. A compound is found by its last part, and its last part
by the compound. A single character of a script without spaces is found by the pairs of characters that contain it.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Select, Table, and_, bindparam, func, select, union_all

from keepbook.book.text.indexes.word_index import BACKWARDS, backwards
from keepbook.book.text.words import COMPOUND, close_terms, compound_heads, endings, may_be_typo
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement

RELATED_SHARE = 0.8
"""The weight of a compound if its last word was asked for, or the other way round."""
TYPO_SHARE = 0.7
"""The weight of a word that is only similar to the one that was asked for."""
RELATED = 10
"""How many compounds of a word are looked for."""
LAST = "\uffff"
"""A character that sorts after every character of a term."""
MOST_GUESSED = 3
"""How many words that occur nowhere are tried as typos: the longest. Each is compared with all similar words."""

Key = TypeVar("Key", bound=Hashable)


class QueryTerm(NamedTuple):
    """A term to look up in the index."""

    term: str
    asked: str
    """The word of the question that it stands for."""
    share: float
    """Its weight from 0 to 1: less than 1 if it is only related or similar to that word."""
    idf: float
    """Its rarity in the book, as in BM25."""
    typo: bool = False
    """Whether it is a guess for a misspelt word."""


# Rules


def idf(count: int, total: int) -> float:
    """The rarity of a word that `count` of `total` texts have, as in BM25."""
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def expand_terms(
    asked: Sequence[str],
    counts: Mapping[str, int],
    total: int,
    vocabulary: Callable[[Sequence[str]], Iterable[str]],
    related: Mapping[str, Sequence[str]],
) -> list[QueryTerm]:
    """Each word of the question with the words that count as the same (`related`). A word that occurs nowhere is
    replaced by similar words that occur."""
    wanted: list[QueryTerm] = []
    unknown = [term for term in asked if not counts.get(term, 0) and not related.get(term) and may_be_typo(term)]
    guessed = sorted(unknown, key=len, reverse=True)[:MOST_GUESSED]
    known = list(vocabulary(guessed))
    for term in asked:
        if counts.get(term, 0):
            wanted.append(QueryTerm(term, term, 1.0, idf(counts[term], total)))
        others = related.get(term, ())
        wanted.extend(QueryTerm(other, term, RELATED_SHARE, idf(counts.get(other, 1), total)) for other in others)
        if term not in guessed:
            continue
        wanted.extend(
            QueryTerm(close, term, TYPO_SHARE, idf(counts.get(close, 1), total), typo=True)
            for close in close_terms(term, [one for one in known if one[0] == term[0]])[:3]
        )
    return wanted


def score_terms(wanted: Iterable[QueryTerm], values: Mapping[str, Mapping[Key, float]]) -> dict[Key, float]:
    """The score of each text: for every word of the question the best of its terms, summed. `values` has the weight of
    each term at each text."""
    groups: dict[str, list[QueryTerm]] = {}
    for want in wanted:
        groups.setdefault(want.asked, []).append(want)
    scores: dict[Key, float] = {}
    for group in groups.values():
        if len(group) == 1:
            worth = group[0].idf * group[0].share
            for key, value in values.get(group[0].term, {}).items():
                scores[key] = scores.get(key, 0.0) + value * worth
            continue
        best: dict[Key, float] = {}
        for want in group:
            worth = want.idf * want.share
            for key, value in values.get(want.term, {}).items():
                if value * worth > best.get(key, 0.0):
                    best[key] = value * worth
        for key, value in best.items():
            scores[key] = scores.get(key, 0.0) + value
    return scores


def full_score(wanted: Sequence[QueryTerm]) -> float:
    """The score of a text that contains every word of the question and nothing else; 1.0 without words."""
    best: dict[str, float] = {}
    for want in wanted:
        if not want.typo:
            best[want.asked] = max(best.get(want.asked, 0.0), want.idf)
    return sum(best.values()) or sum(want.idf for want in wanted) or 1.0


# Queries


def vocabulary(tx: Tx, table: Table, words: Sequence[str]) -> list[str]:
    """The owner's terms that begin with the first letter of one of a few words: typos seldom change it."""
    letters = sorted({word[0] for word in words})
    if not letters:
        return []
    asked = {"owner": tx.owner, **dict.fromkeys(_FIRST, ""), **dict.fromkeys(_AFTER, "")}
    asked |= zip(_FIRST, letters, strict=False)
    asked |= zip(_AFTER, [chr(ord(letter) + 1) for letter in letters], strict=False)
    return [found for (found,) in _beginning(table).tuples(tx.conn, asked)]


def related_words(tx: Tx, table: Table, question: str) -> dict[str, list[str]]:
    """For each word of a question that is not English, the words of the book that end in it; if there are none, the
    longest word of the book that it ends in. For a single character of a script without spaces, the pairs that contain
    it."""

    def stretch(first: str, after: str, most: int = RELATED) -> list[str]:
        asked = {"owner": tx.owner, "first": first, "after": after, "most": most}
        return [term for (term,) in _between(table).tuples(tx.conn, asked)]

    found: dict[str, list[str]] = {}
    for word in endings(question):
        end = backwards(word)
        made = [term[:0:-1] for term in stretch(end + " ", end + LAST)]
        if len(word) == 1:
            made += stretch(word + " ", word + LAST)
        made = made or next(([head] for head in compound_heads(word) if stretch(head, head + " ", 1)), [])
        if made:
            found[word] = made
    return found


def related_in(values: Mapping[str, Any], question: str) -> dict[str, list[str]]:
    """The same as `related_words` for the terms of a past instant."""
    found = {}
    for word in endings(question):
        if len(word) == 1:
            made = [term for term in values if len(term) == 2 and word in term and BACKWARDS not in term]
        else:
            made = [term for term in values if term != word and len(term) >= COMPOUND and term.endswith(word)]
        if made := sorted(made)[: 2 * RELATED] or [head for head in compound_heads(word) if head in values][:1]:
            found[word] = made
    return found


@lru_cache
def _between(table: Table) -> PreparedStatement:
    here = table.c
    within = and_(here.owner == bindparam("owner"), here.term >= bindparam("first"), here.term < bindparam("after"))
    return PreparedStatement(select(here.term).where(within).distinct().order_by(here.term).limit(bindparam("most")))


_FIRST = tuple(f"first_{at}" for at in range(MOST_GUESSED))
_AFTER = tuple(f"after_{at}" for at in range(MOST_GUESSED))


@lru_cache
def _beginning(table: Table) -> PreparedStatement:
    """The query for the different terms in a few ranges; one without a beginning is empty. Each term is found by a jump
    in the index behind the one before it, so the cost depends on how many terms there are, not on how often they
    occur."""
    ranges = [_different_terms(table, first, after) for first, after in zip(_FIRST, _AFTER, strict=True)]
    return PreparedStatement(union_all(*ranges))


def _different_terms(table: Table, first: str, after: str) -> Select[tuple[str]]:
    mine = select(func.min(table.c.term).label("term"))
    mine = mine.where(table.c.owner == bindparam("owner"), table.c.term < bindparam(after))
    known = mine.where(table.c.term >= bindparam(first)).cte(f"known_{first}", recursive=True)
    following = mine.where(table.c.term > known.c.term).correlate(known).scalar_subquery()
    known = known.union_all(select(following).where(known.c.term.isnot(None)))
    return select(known.c.term).where(known.c.term.isnot(None))
