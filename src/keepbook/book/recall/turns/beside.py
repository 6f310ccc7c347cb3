"""What stands beside a hit of a chat: what was said around it, and what the same speaker said later that changes it.

Later words are looked for by the rare words of a passage and, where there is an embedder, by its meaning; a model of
the layer above says whether they change, end or correct it. They stand beside the hit, never in its place.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from keepbook.book.ground.when import stamp, zone_named
from keepbook.book.owners.owners import zone_name
from keepbook.book.recall.nearest import Likeness
from keepbook.book.recall.query_terms import QueryTerm, idf
from keepbook.book.recall.turns.choice import dropped_last
from keepbook.book.recall.turns.hits import ChatHit, SaidPassage, passage_fields, recalled_rows
from keepbook.book.recall.turns.passages import find_passage
from keepbook.book.recall.turns.ranking import TurnPlace, count_term, term_places, turn_total
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.storage.database import Tx

LINE = 50
"""So many letters the place of a passage takes, as a model is shown it."""
BESIDE = 400
"""So many letters are shown of a turn that stands beside a hit."""
HELD_AGAINST = 10
"""So many of the first hits are held against what was said later."""
MOST_LATER = 5
RARE, RARE_SHARE = 12, 50
"""A word is rare that so many turns say at most, or one of so many turns."""
WORDS = 10
"""So many rare words of a passage are looked up, the rarest."""
TRIED = 2
"""So many of what was said later are held against a hit: those nearest in meaning."""
PAIRS = 4
"""So many pairs are held against each other for one question: a model reads each."""
NEAR = 0.35
"""What is less like a passage than this speaks of something else."""


# Rules


def size_of(hit: ChatHit, shown: Collection[TurnPlace] = ()) -> int:
    """The letters a hit takes with everything beside it that is not `shown` anyhow."""
    later = [hit.later] if hit.later is not None and (hit.later.thread_id, hit.later.turn) not in shown else []
    return sum(len(one.text) + LINE for one in (hit, *hit.around, *later))


def within_room(hits: Sequence[ChatHit], room: int) -> list[ChatHit]:
    """The hits that there is room for together with what stands beside them; the first always."""
    kept = list(hits)
    shown = {(hit.thread_id, hit.turn) for hit in hits}
    taken = sum(size_of(hit, shown) for hit in kept)
    while len(kept) > 1 and taken > room:
        dropped = kept.pop(dropped_last([one.role == "user" for one in kept]))
        shown.discard((dropped.thread_id, dropped.turn))
        taken = sum(size_of(hit, shown) for hit in kept)
    return kept


def _rare_words(tx: Tx, text: str) -> dict[str, float]:
    """The rare words of a passage, each with its worth."""
    total = turn_total(tx)
    most = max(RARE, total // RARE_SHARE)
    found = {}
    for word in dict.fromkeys(stem(word) for word in tokens(text) if word not in STOP_WORDS):
        count = count_term(tx, word, most + 1)
        if 1 < count <= most:
            found[word] = idf(count, total)
    return dict(sorted(found.items(), key=lambda one: -one[1])[:WORDS])


# Operations


def with_neighbours(tx: Tx, hits: Sequence[ChatHit], many: int, wanted: Sequence[QueryTerm]) -> list[ChatHit]:
    """The hits, each with the turns just before and after it."""
    shown = {(hit.thread_id, hit.turn) for hit in hits}
    places = {(hit.thread_id, hit.turn + step) for hit in hits for step in range(-many, many + 1)}
    rows = recalled_rows(tx, [key for key in places if key not in shown])
    found = []
    for hit in hits:
        keys = [(hit.thread_id, hit.turn + step) for step in range(-many, many + 1)]
        beside = [rows.pop(key) for key in keys if key in rows]
        found.append(replace(hit, around=tuple(_passage_of(row, wanted) for row in beside)))
    return found


def with_later_words(
    tx: Tx, hits: Sequence[ChatHit], likeness: Likeness | None, supersedes: Callable[[str, str], bool]
) -> list[ChatHit]:
    """The hits, some of the first with what the same speaker said later that changes them."""
    found = list(hits)
    zone = zone_named(zone_name(tx))
    pairs = [
        (nth, row)
        for nth, hit in enumerate(hits[:HELD_AGAINST])
        if hit.role == "user"
        for row in _said_later(tx, hit, likeness)
    ]
    marked: set[int] = set()
    for nth, row in pairs[:PAIRS]:
        hit = hits[nth]
        later = _passage_of(row, _as_query(hit.text))
        if nth in marked or len(marked) >= MOST_LATER or not supersedes(hit.text, later.text):
            continue
        marked.add(nth)
        day = f"{later.at.astimezone(zone):%Y-%m-%d}"
        found[nth] = replace(hit, later=later, reasons=(*hit.reasons, f"later: {day}"))
    return found


def _said_later(tx: Tx, hit: ChatHit, likeness: Likeness | None) -> list[Any]:
    """The turns in which the same speaker said something near it later, the nearest first."""
    shared: dict[TurnPlace, float] = {}
    for word, worth in _rare_words(tx, hit.text).items():
        for key in term_places(tx, word):
            shared[key] = shared.get(key, 0.0) + worth
    here = (hit.thread_id, hit.turn)
    keys = [key for key in shared if key != here]
    near = likeness.between(here, keys) if likeness is not None else {}
    if near:
        keys = [key for key in keys if near.get(key, 0.0) >= NEAR]
        shared = near
    rows = recalled_rows(tx, keys)
    after = [key for key, row in rows.items() if _is_later(row, hit)]
    return [rows[key] for key in sorted(after, key=lambda key: (-shared[key], key))[:TRIED]]


def _is_later(row: Any, hit: ChatHit) -> bool:
    if (row.role, row.speaker) != (hit.role, hit.speaker):
        return False
    if row.thread_id == hit.thread_id:
        return bool(row.turn > hit.turn)
    return bool(row.at > stamp(hit.at))


def _as_query(text: str) -> list[QueryTerm]:
    words = dict.fromkeys(stem(word) for word in tokens(text) if word not in STOP_WORDS)
    return [QueryTerm(word, word, 1.0, 1.0) for word in words]


def _passage_of(row: Any, wanted: Sequence[QueryTerm]) -> SaidPassage:
    return SaidPassage(**passage_fields(row, find_passage(row.text, BESIDE, wanted)))
