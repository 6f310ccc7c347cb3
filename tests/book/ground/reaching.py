"""Texts that lead a pattern into each of its repeats, again and again, and then fail it.

A pattern is walked as it was parsed. For each repeat there is what stands before it (so that it is reached), the unit
that it repeats (short, and with all that is optional in it), and an end that nothing in the pattern can take.
"""

import re._constants as ops  # the parser of the standard library is the only one that knows what a pattern means
import re._parser as parser
from collections.abc import Iterator
from typing import Any, NamedTuple

ENDLESS = 200
"""From so many times on a repeat counts as one without a bound."""
ENDS = ("\x00", "!", "")
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
_LETTERS = "a1 A.-_'\",:\n\té东😀\x00(<[`>=/#*"
_CATEGORIES = {
    ops.CATEGORY_DIGIT: str.isdecimal,
    ops.CATEGORY_NOT_DIGIT: lambda letter: not letter.isdecimal(),
    ops.CATEGORY_SPACE: str.isspace,
    ops.CATEGORY_NOT_SPACE: lambda letter: not letter.isspace(),
    ops.CATEGORY_WORD: lambda letter: letter.isalnum() or letter == "_",
    ops.CATEGORY_NOT_WORD: lambda letter: not (letter.isalnum() or letter == "_"),
}


class Reach(NamedTuple):
    """What leads to a repeat, what it repeats, and what fails it then."""

    before: str
    unit: str
    end: str
    nested: bool
    """Whether the repeat stands in another one, or has one in it."""

    def text(self, letters: int) -> str:
        times = max(1, letters // max(1, len(self.unit)))
        return self.before + self.unit * times + self.end


def reaches(pattern: str, flags: int) -> list[Reach]:
    """The texts that reach the repeats of a pattern, once each."""
    tree = parser.parse(pattern, flags)
    found = dict.fromkeys(
        reach
        for full in (False, True)
        for before, repeated, nested in _repeats(list(tree), "", full)
        for unit in _units(repeated)
        for end in ENDS
        # Reached once and repeated; and reached again with each time.
        for reach in (Reach(before, unit, end, nested), Reach("", before + unit, end, nested))
    )
    return list(found)


def _units(repeated: Any) -> Iterator[str]:
    """What a repeat may take, in a few ways: each of its alternatives, short and in full."""
    found = [_written(repeated, full) for full in (False, True)]
    for _, arguments in _branches(repeated):
        found += [_written(branch, True) for branch in arguments[1][:4]]
    yield from dict.fromkeys(unit for unit in found if unit)


def _branches(items: Any) -> Iterator[tuple[Any, Any]]:
    for op, argument in items:
        if op is ops.BRANCH:
            yield op, argument
        elif op is ops.SUBPATTERN:
            yield from _branches(argument[-1])
        elif op is ops.ATOMIC_GROUP:
            yield from _branches(argument)


def _repeats(items: Any, before: str, full: bool, inside: bool = False) -> Iterator[tuple[str, Any, bool]]:
    """Each repeat without a bound, with a text that leads to it, and whether it is nested."""
    for op, argument in items:
        endless = op in _REPEATS and argument[1] >= ENDLESS
        if endless:
            least, _, body = argument
            nested = inside or any(True for _ in _repeats(body, "", full))
            yield before + _written(body, full) * int(least), body, nested
        for inner in _inner(op, argument):
            yield from _repeats(inner, before, full, inside or endless)
        before += _written([(op, argument)], full)


def _inner(op: Any, argument: Any) -> list[Any]:
    if op in _REPEATS:
        return [argument[2]]
    if op is ops.SUBPATTERN:
        return [argument[-1]]
    if op is ops.BRANCH:
        return list(argument[1])
    if op in (ops.ASSERT, ops.ASSERT_NOT):
        return [argument[1]]
    if op is ops.ATOMIC_GROUP:
        return [argument]
    if op is ops.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


def _written(items: Any, full: bool) -> str:
    """A text that the items take: with nothing that is optional, or with all of it once."""
    return "".join(_one(op, argument, full) for op, argument in items)


def _one(op: Any, argument: Any, full: bool) -> str:
    if op is ops.LITERAL:
        return chr(argument)
    if op in (ops.NOT_LITERAL, ops.IN, ops.ANY):
        return _letter(op, argument)
    if op in _REPEATS:
        least, most, body = argument
        times = max(int(least), min(int(most), 1)) if full else int(least)
        return _written(body, full) * times
    if op is ops.BRANCH:
        return _written(argument[1][-1 if full else 0], full)
    return "".join(_written(inner, full) for inner in _inner(op, argument) if op is not ops.ASSERT_NOT)


def _letter(op: Any, argument: Any) -> str:
    if op is ops.ANY:
        return "a"
    if op is ops.NOT_LITERAL:
        return "a" if argument != ord("a") else "b"
    tests = [(kind, value) for kind, value in argument if kind is not ops.NEGATE]
    negated = len(tests) < len(argument)
    known = [chr(value if kind is ops.LITERAL else value[0]) for kind, value in tests if kind is not ops.CATEGORY]
    candidates = [*_LETTERS, *known]
    return next((one for one in candidates if any(_fits(one, *test) for test in tests) != negated), "a")


def _fits(letter: str, kind: Any, value: Any) -> bool:
    if kind is ops.LITERAL:
        return ord(letter) == value
    if kind is ops.RANGE:
        return bool(value[0] <= ord(letter) <= value[1])
    return bool(_CATEGORIES[value](letter))
