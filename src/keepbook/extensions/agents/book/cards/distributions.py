"""Slots that hold a whole distribution: a probability for each of several classes, or quantiles of a number.

Both are objects in a card: `{"home": 0.5, "draw": 0.3, "away": 0.2}`, `{"0.1": 3, "0.5": 5, "0.9": 8}`. Probabilities
that do not add up to 1, and quantiles that cross, are refused. Classes keep their order.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from keepbook.book.ground.limits import clean_text
from keepbook.errors import Invalid
from keepbook.patterns import regex

SUM_SLACK = 0.005
"""How far the sum of probabilities may be from 1, because they are often rounded."""
MOST_CLASSES = 50  # of a forecast
CLASS_LIMIT = 80  # characters of a class
MOST_LEVELS = 199  # quantiles of a forecast
_NUMBER = regex(r"[+-]?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?")


def read_classes(value: Any, choices: Sequence[str] = ()) -> dict[str, float]:
    """The classes and their probabilities. With `choices`, the classes must be exactly these, and get their order."""
    if not isinstance(value, Mapping) or not 2 <= len(value) <= MOST_CLASSES:
        raise Invalid(f"is an object with a probability for each of 2 to {MOST_CLASSES} classes")
    shares: dict[str, float] = {}
    for name, share in value.items():
        clean = _class_name(name, choices)
        if find_class(shares, clean) is not None:
            raise Invalid(f"has the class {clean!r} twice")
        shares[clean] = _share(clean, share)
    missing = [name for name in choices if name not in shares]
    if missing:
        raise Invalid(f"has no probability for {', '.join(missing)}; say 0 where it cannot be")
    total = math.fsum(shares.values())
    if abs(total - 1) > SUM_SLACK + 1e-12:
        raise Invalid(f"adds up to {total:g}, not to 1")
    return {name: shares[name] for name in choices or shares}


def find_class(classes: Mapping[str, float] | Sequence[str], named: str) -> str | None:
    """The class with this name, whatever its case; None if there is none."""
    if named in classes:
        return named
    return next((one for one in classes if one.casefold() == named.casefold()), None)


def read_quantiles(value: Any) -> dict[str, float]:
    """Quantiles from low to high: for each level between 0 and 1, the number below which the value is with that
    probability."""
    if not isinstance(value, Mapping) or not 1 <= len(value) <= MOST_LEVELS:
        raise Invalid(f'is an object with 1 to {MOST_LEVELS} levels, such as {{"0.1": 3, "0.5": 5, "0.9": 8}}')
    found = sorted((_level(name), _finite(f"the quantile at {name}", number)) for name, number in value.items())
    for (below, first), (above, second) in pairwise(found):
        if below == above:
            raise Invalid(f"has the level {below:g} twice")
        if first > second:
            raise Invalid(f"crosses: {first:g} at {below:g} lies above {second:g} at {above:g}")
    return {f"{level:.12g}": number for level, number in found}


def levels_of(quantiles: Mapping[str, float]) -> dict[float, float]:
    """Quantiles with their levels as numbers."""
    return {float(level): number for level, number in quantiles.items()}


def _class_name(name: Any, choices: Sequence[str]) -> str:
    clean = " ".join(clean_text(str(name), "card", 1000).split())
    if not clean or len(clean) > CLASS_LIMIT:
        raise Invalid(f"has a class without a name, or with one longer than {CLASS_LIMIT} characters")
    if clean.casefold() == "void":
        raise Invalid("has a class `void`, which says that an outcome cannot be told; call it otherwise")
    if not choices:
        return clean
    known = find_class(choices, clean)
    if known is None:
        raise Invalid(f"has the class {clean!r}, which is none of {', '.join(choices)}")
    return known


def _share(name: str, share: Any) -> float:
    number = _finite(f"the probability of {name!r}", share)
    if not 0 <= number <= 1:
        raise Invalid(f"has a probability of {number:g} for {name!r}; it lies from 0 to 1")
    return number


def _level(name: Any) -> float:
    try:
        level = float(str(name))
    except ValueError:
        level = math.nan
    if not 0 < level < 1:
        raise Invalid(f"has the level {str(name)[:40]!r}; levels lie between 0 and 1, such as 0.1")
    return level


def number_in_text(value: Any) -> Any:
    """A number that was written as a text, `"70"`; anything else as it is."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return float(value) if any(mark in value for mark in ".eE") else int(value)
    return value


def _finite(what: str, number: Any) -> float:
    number = number_in_text(number)
    if isinstance(number, bool) or not isinstance(number, int | float) or not abs(number) <= 1e15:
        raise Invalid(f"needs a number as {what}, not {str(number)[:40]!r}")
    return float(number)
