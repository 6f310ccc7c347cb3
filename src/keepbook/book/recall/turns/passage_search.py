"""Finds the passage of a long turn that answers a question best, by words and by meaning.

A turn is split into the passages by which it was embedded. The best one is taken; then the better one of its neighbours
is added to it, as long as there is room.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepbook.book.recall.query_terms import QueryTerm
from keepbook.book.text.passages import passages
from keepbook.book.text.words import stem, tokens
from keepbook.patterns import regex

PASSAGE = 1000
"""How many letters of a turn are shown at most."""
MEANT = 1.0
"""The weight of a passage's likeness to the question against that of all its words."""


class Stretch(NamedTuple):
    """A part of a text: the letters from `start` until before `end`."""

    start: int
    end: int


# Rules


def find_passage(text: str, most: int, wanted: Sequence[QueryTerm], likeness: Sequence[float] = ()) -> Stretch:
    """The part of a text that answers best, at most `most` letters long. `likeness` has a number for each passage."""
    if len(text) <= most:
        return Stretch(0, len(text))
    parts = passage_stretches(text)
    whole = sum({want.asked: want.idf * want.share for want in wanted}.values()) or 1.0
    worth = [words_in(text[one.start : one.end], wanted) / whole for one in parts]
    if len(likeness) == len(parts):
        worth = [said + MEANT * like for said, like in zip(worth, likeness, strict=True)]
    best = max(range(len(parts)), key=lambda at: worth[at])
    if parts[best].end - parts[best].start > most:
        return _around_words(text, parts[best], most, wanted)
    return _grown(parts, worth, best, most)


def passage_stretches(text: str) -> list[Stretch]:
    """The stretches of a text that are its passages."""
    found, at = [], 0
    for passage in passages(text):
        start = max(text.find(passage, at), at)
        at = min(start + len(passage), len(text))
        found.append(Stretch(start, at))
    return found


def _grown(parts: Sequence[Stretch], worth: Sequence[float], best: int, most: int) -> Stretch:
    first = last = best
    while True:
        beside = [at for at in (first - 1, last + 1) if 0 <= at < len(parts)]
        fitting = [at for at in beside if parts[max(last, at)].end - parts[min(first, at)].start <= most]
        if not fitting:
            break
        taken = max(fitting, key=lambda at: worth[at])
        first, last = min(first, taken), max(last, taken)
    return Stretch(parts[first].start, parts[last].end)


def words_in(text: str, wanted: Iterable[QueryTerm]) -> float:
    """The summed weight of the question's words that a text has."""
    said = set(map(stem, tokens(text)))
    best: dict[str, float] = {}
    for want in wanted:
        if want.term in said:
            best[want.asked] = max(best.get(want.asked, 0.0), want.idf * want.share)
    return sum(best.values())


_WORD = regex(r"\w+")


def _around_words(text: str, part: Stretch, most: int, wanted: Iterable[QueryTerm]) -> Stretch:
    """The part of a passage that is too long itself: around the first word of the question, cut at blanks."""
    terms = {want.term for want in wanted}
    spots = (spot.start() for spot in _WORD.finditer(text, part.start, part.end) if _says(spot.group(), terms))
    middle = next(spots, part.start + most // 2)
    start = min(max(part.start, middle - most // 2), part.end - most)
    if start > part.start:
        begin = text.find(" ", start, start + 60) + 1
    else:
        begin = start
    if start + most < part.end:
        end = text.rfind(" ", start + most - 60, start + most)
    else:
        end = start + most
    if end > start:
        return Stretch(begin or start, end)
    return Stretch(begin or start, start + most)


def _says(word: str, terms: set[str]) -> bool:
    return not terms.isdisjoint(map(stem, tokens(word)))
