"""Chooses which of the turns that answer are shown: those that fit into the room, at least half of them the person's,
taken from many chats if that is asked for.

Turns much less relevant than the best are left out. If turns of the person answer at all, they get at least half of the
places: a reply is longer, and often only repeats what the person said first.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

FLOOR = 0.2
"""Turns with less than this share of the best one's relevance are left out. Measured: of the events on a matter, the
first twenty turns have .78 with this floor and .59 with .35, as one turn is often much more relevant than the others;
questions that a single turn answers are answered alike."""


class ChatCandidate(NamedTuple):
    """A turn that may be shown: its place among those found, its relevance, whether the person said it, and the chat
    and day."""

    nth: int
    relevance: float
    is_persons: bool
    chat: str


# Rules


def worth_showing(found: Sequence[ChatCandidate], floor: float) -> list[ChatCandidate]:
    """The candidates with at least this share of the best one's relevance."""
    least = floor * max((one.relevance for one in found), default=0.0)
    return [one for one in found if one.relevance >= least]


def choose_candidates(
    ordered: Sequence[ChatCandidate], room: int, most: int, size: Callable[[ChatCandidate], int]
) -> list[ChatCandidate]:
    """The candidates that fit into the room, taken in order; one that does not fit is passed over. The first is always
    taken."""
    chosen: list[ChatCandidate] = []
    for one in ordered:
        if len(chosen) >= most or (chosen and room <= 0):
            break
        needed = size(one)
        if needed <= room or not chosen:
            chosen.append(one)
            room -= needed
    return sorted(chosen, key=lambda one: one.nth)


def persons_half(found: Sequence[ChatCandidate]) -> list[ChatCandidate]:
    """The candidates, reordered so that among the first n at least half are the person's, for every n, as long as there
    are enough."""
    own = [one for one in found if one.is_persons][::-1]
    others = [one for one in found if not one.is_persons][::-1]
    ordered: list[ChatCandidate] = []
    ahead = 0
    while own and others:
        takes_own = ahead <= 0 or own[-1].nth < others[-1].nth
        if takes_own:
            ahead += 1
            ordered.append(own.pop())
        else:
            ahead -= 1
            ordered.append(others.pop())
    return ordered + own[::-1] + others[::-1]


def one_of_each_chat(found: Sequence[ChatCandidate]) -> list[ChatCandidate]:
    """The best of each chat and day first, then the second of each, and so on."""
    before: Counter[str] = Counter()
    rounds: list[tuple[int, ChatCandidate]] = []
    for one in found:
        rounds.append((before[one.chat], one))
        before[one.chat] += 1
    return [one for _, one in sorted(rounds, key=lambda two: two[0])]


def dropped_last(persons: Sequence[bool]) -> int:
    """The index of the hit that is dropped first if there is too little room: the last one; but as long as the person's
    are at most half, the last one of the others."""
    last = len(persons) - 1
    if 2 * sum(persons) > len(persons) or not persons[last] or all(persons):
        return last
    return last - [*reversed(persons)].index(False)
