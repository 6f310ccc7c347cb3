"""Hears whether a turn tells a feeling of the moment, whether a bad one, and whether it is despair of life.

Feeling and despair are quadratic readings of a direction: "I want to die" and "my phone died" lie near each other, and
what comes together in a sentence decides. They were learned for the embedder that comes with Keepbook
(`training/feelings_fit.py`); with another one, or none, no feeling is heard.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from keepbook.book.text.topic_meaning import Sense

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Feeling = Literal["low", "glad"]
WEIGHTS = Path(__file__).parent / "feelings.npz"
LONGEST = 300
"""Letters of a turn that is heard as one."""


class Quadratic(NamedTuple):
    """A reading of a direction: squares of what it has along some axes, and its own numbers; the last weight of `own`
    is the bias."""

    axes: "Floats"
    squares: "Floats"
    own: "Floats"

    def hears(self, direction: "Floats") -> bool:
        along = self.axes @ direction
        return float(along**2 @ self.squares + _linear(direction, self.own)) >= 0


class FeelingWeights(NamedTuple):
    """What was learned, for the embedder of this space."""

    space: str
    felt: Quadratic
    despair: Quadratic
    low: "Floats"


def feeling_of(text: str, sense: Sense | None) -> Feeling | None:
    """The person's feeling that a turn tells, if it tells one."""
    direction = _direction_of(text, sense)
    if sense is None or direction is None:
        return None
    return feeling_of_direction(direction, sense.space)


def feeling_of_direction(direction: "Floats", space: str) -> Feeling | None:
    weights = load_weights()
    if weights.space != space:
        return None
    if weights.despair.hears(direction):
        return "low"
    if not weights.felt.hears(direction):
        return None
    if _linear(direction, weights.low) >= 0:
        return "low"
    return "glad"


def is_despair(text: str, sense: Sense | None) -> bool:
    """Whether somebody who says this may not want to live: never a fact to keep."""
    direction = _direction_of(text, sense)
    if sense is None or direction is None:
        return False
    weights = load_weights()
    return weights.space == sense.space and weights.despair.hears(direction)


def _direction_of(text: str, sense: Sense | None) -> "Floats | None":
    words = " ".join(text.split())
    if sense is None or not words or len(words) > LONGEST:
        return None
    return sense.direction(words)


@cache
def load_weights() -> FeelingWeights:
    import numpy as np  # comes with the embedder

    with np.load(WEIGHTS) as kept:
        felt, despair = (Quadratic(*(kept[f"{name}_{part}"] for part in Quadratic._fields)) for name in QUADRATIC)
        return FeelingWeights(str(kept["space"]), felt, despair, kept["low"])


QUADRATIC = ("felt", "despair")


def _linear(direction: "Floats", weights: "Floats") -> float:
    return float(direction @ weights[:-1] + weights[-1])
