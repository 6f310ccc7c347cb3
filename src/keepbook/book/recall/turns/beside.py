"""Adds to the hits of a chat the turns before and after them, if these are asked for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from keepbook.book.recall.query_terms import QueryTerm
from keepbook.book.recall.turns.hits import ChatHit, SaidPassage, passage_fields, recalled_rows
from keepbook.book.recall.turns.passage_search import find_passage
from keepbook.book.recall.turns.selection import dropped_last
from keepbook.storage.database import Tx

LINE = 50
"""How many letters a model is shown of a passage's place: its chat, turn and time."""
BESIDE = 400
"""How many letters of a turn beside a hit are shown."""


# Rules


def size_of(hit: ChatHit) -> int:
    """How many letters a hit takes, together with the turns beside it."""
    return sum(len(one.text) + LINE for one in (hit, *hit.around))


def within_room(hits: Sequence[ChatHit], room: int) -> list[ChatHit]:
    """The hits that fit into the room together with the turns beside them; always at least one."""
    kept = list(hits)
    taken = sum(map(size_of, kept))
    while len(kept) > 1 and taken > room:
        dropped = kept.pop(dropped_last([one.role == "user" for one in kept]))
        taken -= size_of(dropped)
    return kept


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


def _passage_of(row: Any, wanted: Sequence[QueryTerm]) -> SaidPassage:
    return SaidPassage(**passage_fields(row, find_passage(row.text, BESIDE, wanted)))
