"""Sentences that the same speaker said after a hit and that share its rare words. They may tell what has changed since,
and share no word with the question: "Who is my dentist?" finds "My dentist is Dr Halvorsen", and by that name "Dr
Halvorsen retired".

For each of the first hits, the sentence that answers best is picked, then the later sentence that shares most of its
rare words. Whether the later one changes anything is for the reader to judge.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from keepbook.book.ground.when import stamp
from keepbook.book.recall.query_terms import QueryTerm, idf
from keepbook.book.recall.turns.hits import ChatHit, recalled_rows
from keepbook.book.recall.turns.passage_search import Stretch, words_in
from keepbook.book.recall.turns.ranking import TurnPlace, count_term, term_places, turn_total
from keepbook.book.text.sentences import sentences
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.storage.database import Tx

FIRST = 2
"""How many of the person's hits are followed, from the best. Following more crowded out better hits."""
MAKES_WAY_FROM = 12
"""If fewer hits than this are asked for, later sentences fill free places only; else they replace the last hits."""
RARE, RARE_SHARE = 12, 50
"""A word is rare if at most 12 turns, or at most one turn in 50, have it; whichever is more."""
WORDS = 8
"""How many rare words of a sentence are looked up: the rarest."""
READ = 24
"""How many turns are read for one hit: those that share the most."""
LEAST = 0.3
"""The share of the rare words, weighted by their rarity, that a later sentence must have. One with less speaks of
something else."""
SHOWN = 300
"""How many letters are shown, from the beginning of the sentence."""


class LaterSentence(NamedTuple):
    """A sentence said later that shares rare words with a hit."""

    row: Any
    """The turn it stands in."""
    place: Stretch
    """Where in the turn it stands."""
    worth: float
    """The summed rarity (idf) of the words it shares."""
    reasons: tuple[str, ...]

    @property
    def key(self) -> TurnPlace:
        return self.row.thread_id, self.row.turn


class RareWords(NamedTuple):
    """The rare words of a sentence."""

    again: list[QueryTerm]
    """Those that more than one turn has."""
    whole: float
    """The summed rarity (idf) of all of them."""


# Rules


def best_sentence(text: str, wanted: Sequence[QueryTerm]) -> tuple[Stretch, float]:
    """The sentence of a text that has most of the words, and their worth; the first among equals."""
    parts = [Stretch(start, end) for start, end in sentences(text)] or [Stretch(0, len(text))]
    worth = [words_in(text[part.start : part.end], wanted) for part in parts]
    at = max(range(len(parts)), key=lambda nth: worth[nth])
    return parts[at], worth[at]


def _is_later(row: Any, hit: ChatHit) -> bool:
    if (row.role, row.speaker) != (hit.role, hit.speaker):
        return False
    if row.thread_id == hit.thread_id:
        return bool(row.turn > hit.turn)
    return bool(row.at > stamp(hit.at))


# Queries


def later_words(tx: Tx, hits: Sequence[ChatHit], wanted: Sequence[QueryTerm]) -> list[LaterSentence]:
    """What the person said later in the rare words of their first hits; turns that are hits already are left out."""
    known = {(hit.thread_id, hit.turn) for hit in hits}
    followed = [hit for hit in hits if hit.role == "user"][:FIRST]
    rare = [_rare_words(tx, _answer_of(hit, wanted)) for hit in followed]
    shared = [_sharing(tx, words.again, known) for words in rare]
    rows = recalled_rows(tx, {key for keys in shared for key in keys})
    found: dict[TurnPlace, LaterSentence] = {}
    for hit, words, keys in zip(followed, rare, shared, strict=True):
        best = _best_later([rows[key] for key in keys if key in rows], hit, words)
        if best is not None:
            found.setdefault(best.key, best)
    return list(found.values())


def _answer_of(hit: ChatHit, wanted: Sequence[QueryTerm]) -> str:
    place, _ = best_sentence(hit.text, wanted)
    return hit.text[place.start : place.end]


def _rare_words(tx: Tx, text: str) -> RareWords:
    total = turn_total(tx)
    most = max(RARE, total // RARE_SHARE)
    found = []
    for word in dict.fromkeys(stem(word) for word in tokens(text) if word not in STOP_WORDS):
        count = count_term(tx, word, most + 1)
        if count <= most:
            found.append((QueryTerm(term=word, asked=word, share=1.0, idf=idf(count, total)), count))
    again = sorted((want for want, count in found if count > 1), key=lambda want: -want.idf)
    return RareWords(again[:WORDS], sum(want.idf for want, _ in found))


def _sharing(tx: Tx, words: Sequence[QueryTerm], known: Collection[TurnPlace]) -> list[TurnPlace]:
    """The turns that share most of the words, without those that are known already."""
    shared: dict[TurnPlace, float] = {}
    for want in words:
        for key in term_places(tx, want.term):
            shared[key] = shared.get(key, 0.0) + want.idf
    return sorted(shared.keys() - known, key=lambda key: (-shared[key], key))[:READ]


def _best_later(rows: Sequence[Any], hit: ChatHit, words: RareWords) -> LaterSentence | None:
    """The sentence that shares most of the words, the newest of equals; None if none shares enough."""
    best: LaterSentence | None = None
    later = [row for row in rows if _is_later(row, hit)]
    for row in sorted(later, key=lambda row: (row.at, row.turn), reverse=True):
        place, worth = best_sentence(row.text, words.again)
        if worth >= LEAST * words.whole and (best is None or worth > best.worth):
            shown = Stretch(place.start, min(len(row.text), place.start + SHOWN))
            said = set(map(stem, tokens(row.text[place.start : place.end])))
            reasons = (f"said later: {', '.join(want.term for want in words.again if want.term in said)}",)
            best = LaterSentence(row, shown, worth, reasons)
    return best
