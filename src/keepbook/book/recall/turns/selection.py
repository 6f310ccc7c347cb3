"""Chooses what is shown of the turns that answer: within a room, half of it the person's, spread out where asked for.

What answers little beside the best is left out. Where the person's own turns answer at all they have at least half of
the places: a reply is longer, and often only says again what the person said first.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

FLOOR = 0.2
"""What answers less than this share of what the best does is left out. Of what happened on a matter the first twenty
have .78 at this floor and .59 at .35, where one turn answers much more than the others; single turns are found alike.
"""


class ChatCandidate(NamedTuple):
    """A turn that may be shown: its number among those found, how well it answers, whose it is and where."""

    nth: int
    relevance: float
    is_persons: bool
    chat: str


# Rules


def worth_showing(found: Sequence[ChatCandidate], floor: float) -> list[ChatCandidate]:
    """Those that answer enough beside the best."""
    least = floor * max((one.relevance for one in found), default=0.0)
    return [one for one in found if one.relevance >= least]


def choose_candidates(
    ordered: Sequence[ChatCandidate], room: int, most: int, size: Callable[[ChatCandidate], int]
) -> list[ChatCandidate]:
    """The first candidates that there is room for, best first; what does not fit makes way for what does. The first of
    all is always taken."""
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
    """The same, so that of any number of the first at least half are the person's, as long as there are any."""
    own = [one for one in found if one.is_persons][::-1]
    others = [one for one in found if not one.is_persons][::-1]
    ordered: list[ChatCandidate] = []
    ahead = 0
    while own and others:
        takes_own = ahead <= 0 or own[-1].nth < others[-1].nth
        if takes_own:
            ahead += 1
        else:
            ahead += -1
        if takes_own:
            ordered.append(own.pop())
        else:
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
    """Which of the hits goes first where there is too little room: the last one, but none of the person's while there
    are fewer of them than of others."""
    last = len(persons) - 1
    if 2 * sum(persons) > len(persons) or not persons[last] or all(persons):
        return last
    return last - [*reversed(persons)].index(False)
