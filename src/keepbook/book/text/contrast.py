"""Whether two statements about the same matter point in different directions, from their words alone.

Three things reverse a statement: a denial (`words.polarity`), a word of degree (more and less, often and rarely), and
the order of a comparison (tea over coffee, coffee over tea). Each is recognised by a closed class of function words, so
it does not matter what is compared. Two reversals cancel out: less risky than bonds, and bonds are riskier. The words
are passed in folded and in order; this module does not split texts.
"""

from collections.abc import Sequence
from typing import NamedTuple


def word_set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


UP = word_set("more most always often usually mostly frequently mehr immer oft meist mas siempre mer alltid ofte")
DOWN = word_set("less least fewer fewest rarely seldom hardly barely weniger selten kaum menos mindre sjelden moins")
ABOVE, BELOW = word_set("over above uber"), word_set("under below unter")
"""Words of degree before a number only: "over 50,000", but not "over the weekend"."""
COMPARE = word_set("than als enn instead anstatt")
"""Words that compare what stands before them with what stands after them."""
COMPARE_PREFERRED = word_set("over above before to framfor fremfor foran gegenuber")
"""Words that do so only after a word of preference."""
PREFERENCES = ("prefer", "favor", "favour", "rank", "rather", "foretrekk", "bevorzug", "lieber", "heller", "prefier")
ROUTES = {"from": "to", "von": "nach", "fra": "til"}
"""The words before the origin and the destination of a route."""


class Sides(NamedTuple):
    """The words on the two sides of a comparison or route."""

    before: frozenset[str]
    after: frozenset[str]


def degrees(words: Sequence[str]) -> tuple[bool, ...]:
    """The direction of each word of degree, in order: up or down. "At most" is down and "at least" is up."""
    found = []
    for at, word in enumerate(words):
        sign = _degree(words, at, word)
        if sign is not None:
            found.append(sign)
    return tuple(found)


def _degree(words: Sequence[str], at: int, word: str) -> bool | None:
    limits = at > 0 and words[at - 1] == "at" and word in ("most", "least")
    if limits:
        return word == "least"
    if word in UP or word in DOWN:
        return word in UP
    counts = at + 1 < len(words) and words[at + 1][0].isdecimal()
    if counts and (word in ABOVE or word in BELOW):
        return word in ABOVE
    return None


def compared_sides(words: Sequence[str]) -> Sides | None:
    """The two sides of a comparison, if a text compares anything."""
    preferred: int | None = None
    for at, word in enumerate(words):
        if word.startswith(PREFERENCES):
            preferred = at
        preferring = preferred is not None and at > preferred + 1 and word in COMPARE_PREFERRED
        if at and (word in COMPARE or preferring):
            return Sides(frozenset(words[:at]), frozenset(words[at + 1 :]))
    return None


def route(words: Sequence[str]) -> Sides | None:
    """The origin and destination, if a text says both."""
    for at, word in enumerate(words):
        if word not in ROUTES:
            continue
        rest = words[at + 1 :]
        if ROUTES[word] in rest:
            turn = rest.index(ROUTES[word])
            return Sides(frozenset(rest[:turn]), frozenset(rest[turn + 1 :]))
    return None


def are_sides_swapped(one: Sides | None, other: Sides | None) -> bool:
    """Whether a word of each side stands on the other side in the other text."""
    if one is None or other is None:
        return False
    moved_on = (one.before & other.after) - one.after - other.before
    moved_back = (one.after & other.before) - one.before - other.after
    return bool(moved_on and moved_back)


def turned_by_degree(one: Sequence[bool], other: Sequence[bool]) -> bool:
    """Whether every word of degree is the opposite one in the other text."""
    return bool(one) and len(one) == len(other) and all(a != b for a, b in zip(one, other, strict=True))
