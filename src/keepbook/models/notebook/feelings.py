"""Hears whether a turn tells a feeling of the moment, and whether a bad one: two linear readings of its direction.

They were learned for the embedder that comes with Keepbook (`training/feelings_fit.py`); with another one, or none,
no feeling is heard.
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
SURE = 1.0
"""From here on a turn is taken for a feeling: one that is missed is answered like any other turn."""
LONGEST = 300
"""Letters of a turn that is heard as one."""


class FeelingWeights(NamedTuple):
    """The weights of each number of a direction; the last one of each is the bias."""

    space: str
    felt: "Floats"
    low: "Floats"


def feeling_of(text: str, sense: Sense | None) -> Feeling | None:
    """The person's feeling that a turn tells, if it tells one."""
    words = " ".join(text.split())
    if sense is None or not words or len(words) > LONGEST:
        return None
    direction = sense.direction(words)
    if direction is None:
        return None
    return feeling_of_direction(direction, sense.space)


def feeling_of_direction(direction: "Floats", space: str) -> Feeling | None:
    weights = load_weights()
    if weights.space != space or _score(direction, weights.felt) < SURE:
        return None
    if _score(direction, weights.low) >= 0:
        return "low"
    return "glad"


@cache
def load_weights() -> FeelingWeights:
    import numpy as np  # comes with the embedder

    with np.load(WEIGHTS) as kept:
        return FeelingWeights(str(kept["space"]), kept["felt"], kept["low"])


def _score(direction: "Floats", weights: "Floats") -> float:
    return float(direction @ weights[:-1] + weights[-1])
