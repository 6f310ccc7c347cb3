"""How far a text means a group of topics, by the embedder: one layer on its directions.

For the embedder that comes with Keepbook the layer is shipped (`topics.json`); for any other it is learned on the spot,
once for each group, from the sentences in `topics.jsonl`.
"""

import base64
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from keepbook.book.text.topic_words import weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

STRENGTH, FROM_ELSEWHERE, MEANT_ELSEWHERE = 10.0, 0.1, 0.03
"""How free the layer is, and what sentences of other groups count in it: near misses, and what is meant there, which
may well be about both."""
EVERY = 4
"""Of other groups every so many-th sentence is taken, where the layer is learned on the spot."""


class Sense(Protocol):
    """An embedder at work."""

    @property
    def space(self) -> str: ...

    def direction(self, text: str) -> "Floats | None":
        """Where a text points to; nothing where the embedder cannot say."""

    def directions(self, texts: Sequence[str]) -> "Floats | None":
        """The same for many, a row each."""


class Told(NamedTuple):
    group: str
    text: str
    meant: bool


@cache
def told() -> tuple[Told, ...]:
    """Sentences that are meant, and that only sound like it."""
    lines = (Path(__file__).parent / "topics.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(Told(**json.loads(line)) for line in lines)


def score(text: str, group: str, sense: Sense) -> float | None:
    """How much the meaning speaks for a group; nothing where the embedder cannot say."""
    import numpy as np  # comes with the embedder, like all of this

    towards = sense.direction(text)
    layer = _shipped(sense.space, group)
    if layer is None and towards is not None:
        layer = _learned(sense, group)
    return None if towards is None or layer is None else float(np.dot(towards, layer[:-1]) + layer[-1])


@cache
def _shipped(space: str, group: str) -> "Floats | None":
    import numpy as np  # as above

    known = weights()["meaning"]
    if known["space"] != space:
        return None
    return np.frombuffer(base64.b64decode(known["groups"][group]), dtype="<f2").astype(np.float32)


_LEARNED: dict[tuple[str, str], "Floats"] = {}


def _learned(sense: Sense, group: str) -> "Floats | None":
    key = (sense.space, group)
    if key not in _LEARNED:
        chosen = [one for at, one in enumerate(told()) if one.group == group or at % EVERY == 0]
        rows = sense.directions([one.text for one in chosen])
        if rows is None:
            return None
        _LEARNED[key] = layer_of(chosen, rows, group)
    return _LEARNED[key]


def layer_of(sentences: Sequence[Told], directions: "Floats", group: str) -> "Floats":
    """The layer of one group; the last number is where it begins."""
    import numpy as np  # as above

    meant = np.array([one.group == group and one.meant for one in sentences], float)
    counts = [1.0 if one.group == group else MEANT_ELSEWHERE if one.meant else FROM_ELSEWHERE for one in sentences]
    return logistic(directions.astype(float), meant, np.array(counts), STRENGTH).astype(np.float32)


def logistic(rows: "NDArray[np.float64]", meant: "Floats", counts: "Floats", strength: float) -> "NDArray[np.float64]":
    """Logistic regression by Newton's steps; the last weight is the bias, which is not held back."""
    import numpy as np  # as above

    given = np.hstack([rows, np.ones((len(rows), 1))])
    held = np.eye(given.shape[1]) / strength
    held[-1, -1] = 1e-6
    found = np.zeros(given.shape[1])
    for _ in range(15):
        likely = 1 / (1 + np.exp(-given @ found))
        slope = given.T @ (counts * (likely - meant)) + held @ found
        step = np.linalg.solve((given * (counts * likely * (1 - likely))[:, None]).T @ given + held, slope)
        found -= step
        if np.abs(step).max() < 1e-5:
            break
    return found
