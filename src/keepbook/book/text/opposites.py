"""Whether two lines say opposite things: the same matter, turned round.

The matter of a line is what is left of its words without those that only turn it: denials, degrees, how often. Two
lines with the same matter and the same numbers are opposites if an odd number of things turns one into the other.
"I trade alts sometimes" and "never trades alts" are; "not less than five" and "more than five" are not.
"""

from functools import lru_cache

from keepbook.book.text.contrast import (
    ABOVE,
    BELOW,
    COMPARE,
    DOWN,
    PREFERENCES,
    UP,
    Sides,
    are_sides_swapped,
    compared_sides,
    degrees,
    turned_by_degree,
    word_set,
)
from keepbook.book.text.words import DENIALS, NUMBER_WORDS, STOP_WORDS, numbers, polarity, stem, tokens
from keepbook.patterns import regex

HOW_OFTEN = word_set("""
    sometimes occasionally regularly ever still really currently anymore longer also now today generally normally
    manchmal gelegentlich noch mehr a veces todavia noen ganger av til fortsatt lenger
    """)
"""Words for how often and how long. They are no part of a line's matter."""
ATTITUDES = word_set("""
    like likes liked liking love loves loved loving enjoy enjoys enjoyed enjoying adore adores
    dislike dislikes disliked disliking hate hates hated hating loathe loathes detest detests
    """)
"""Words of liking and disliking, which count as one: polarity tells them apart."""
PERSON = word_set("user person ich yo jeg eg je")
"""Words for the person of the book: "User smokes" and "I smoke" are about the same person."""
_ATTITUDE = "<attitude>"
_TURNS = STOP_WORDS | DENIALS | UP | DOWN | ABOVE | BELOW | COMPARE | HOW_OFTEN | PERSON
_GIVEN_UP = word_set("stop stops stopped stopping quit quits quitting")


@lru_cache(maxsize=4096)
def matter_of(text: str) -> frozenset[str]:
    """The words that a line is about, without its direction; empty if only its direction is left."""
    words = tokens(text)
    found = set()
    for at, word in enumerate(words):
        after = ""
        if at + 1 < len(words):
            after = words[at + 1]
        if word in _TURNS or word == "without" or (word == "used" and after == "to"):
            continue
        if word[0].isdecimal() or word in NUMBER_WORDS:  # compared apart, however they are written
            continue
        if word in _GIVEN_UP and after.endswith("ing"):
            continue
        if word in ATTITUDES:
            found.add(_ATTITUDE)
        else:
            found.add(stem(word))
    only_attitude = all(word == _ATTITUDE or word.startswith(PREFERENCES) for word in found)
    if only_attitude:
        return frozenset()
    return frozenset(found)


def opposite(one: str, other: str) -> bool:
    """Whether two lines about the same matter cannot both hold."""
    about = matter_of(one)
    if not about or about != matter_of(other) or numbers(one) != numbers(other):
        return False
    turns = (
        polarity(one) != polarity(other),
        turned_by_degree(degrees(tokens(one)), degrees(tokens(other))),
        are_sides_swapped(_compared_stems(one), _compared_stems(other)),
    )
    return sum(turns) % 2 == 1


def _compared_stems(text: str) -> Sides | None:
    sides = compared_sides(tokens(text))
    if sides is None:
        return None
    return Sides(*(frozenset(map(stem, side)) for side in sides))


# The same once more

_LIGHT = word_set("i i'm im me my am is has have their a an the still also that")
"""Words in which only the wording differs, such as that of a quotation and a note of the same matter."""
_BEFORE = word_set("""
    like as i i've we you told said mentioned wrote know remember that before already again earlier yes yeah yep right
    correct exactly that's true so well and ok okay
    """)
"""Words by which people say that they repeat something."""
_AFTER = tuple(map(tokens, ("don't you", "right", "you know", "as always", "as you know")))


def same_saying(one: str, other: str) -> bool:
    """Whether two lines say the same in the same words, in either person: "Lives in Oslo", "as I said, I live in Oslo".
    Tense, denial and order count."""
    return _bare(one) == _bare(other)


_HELPING = word_set("do does did")


_INSTEAD = regex(r"[,;.–—]|\b(?:and|but)\b")
"""Between a denial and what is right instead."""


def denies(one: str, other: str) -> bool:
    """Whether a text says that a line does not hold, in the line's own words and order: "I don't live in Oslo". It may
    go on with what is right instead: ", I live in Bergen"."""
    if _denies_whole(one, other):
        return True
    mark = _INSTEAD.search(one)
    if mark is None or polarity(instead := one[mark.end() :]):
        return False
    return _denies_whole(one[: mark.start()], other) and not set(_bare(instead)).isdisjoint(_bare(other))


def _denies_whole(one: str, other: str) -> bool:
    return polarity(one) and not polarity(other) and _without_denial(one) == _without_denial(other)


def _without_denial(text: str) -> list[str]:
    return [word for word in _bare(text) if word not in DENIALS | HOW_OFTEN | _HELPING]


def _bare(text: str) -> list[str]:
    """The words of a line without those that only say it again, and without its person."""
    words = tokens(_after_preamble(text))
    if words[:2] == ["you", "know"]:
        words = words[2:]
    for end in _AFTER:
        if len(words) > len(end) and words[-len(end) :] == end:
            words = words[: -len(end)]
    return [word.removesuffix("s") for word in words if word not in _LIGHT]


def _after_preamble(text: str) -> str:
    """What follows "Yes, that's right:"."""
    for at, letter in enumerate(text):
        if letter in ",:." and text[at + 1 :].strip():
            if not _BEFORE.issuperset(tokens(text[:at])):
                return text
            return _after_preamble(text[at + 1 :])
    return text
