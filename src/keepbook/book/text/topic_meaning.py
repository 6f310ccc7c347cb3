"""Tells by the embedder how much a text is about a group of topics: a weighted sum of how near its vector is to known
vectors.

The known vectors are those of sentences in `topics.jsonl`; their weights for a group are learned from all of them. For
the embedder that comes with Keepbook both are shipped (`topics.npz`); for any other they are learned at run time, once
for each group.
"""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

STRENGTH, FROM_ELSEWHERE, MEANT_ELSEWHERE = 20.0, 0.3, 0.1
"""Settings of the learning: how little the weights are held back, the weight of sentences of other groups that are near
misses there, and of those that are meant there, which may be about both groups."""
WIDTH, KNOWN, APART = 3.0, 600, 0.01
"""How fast nearness falls with distance, how many known vectors there are, and below which eigenvalue directions count
as the same."""
EVERYDAY = "everyday"
"""Sentences that people say of themselves, judged for every group."""
EVERY = 4
"""When weights are learned at run time, only every fourth sentence of other groups is used."""


class Sense(Protocol):
    """An embedder, as this module uses it."""

    @property
    def space(self) -> str: ...

    def direction(self, text: str) -> "Floats | None":
        """The vector of a text; None if the embedder fails."""

    def directions(self, texts: Sequence[str]) -> "Floats | None":
        """The vectors of many texts, a row each; None if the embedder fails, or somebody would wait for so many."""


class OneByOne:
    """An embedder for writes: it embeds single texts, and never the hundreds of sentences of a group, which would make
    the writer wait."""

    def __init__(self, sense: Sense) -> None:
        self._sense = sense

    @property
    def space(self) -> str:
        return self._sense.space

    def direction(self, text: str) -> "Floats | None":
        return self._sense.direction(text)

    def directions(self, _: Sequence[str]) -> None:
        return None


class Layer(NamedTuple):
    """Known vectors, and the weight of nearness to each for a group; the last number is the bias."""

    known: "Floats"
    weights: "Floats"


class TopicExample(NamedTuple):
    group: str
    text: str
    meant: bool = False
    about: tuple[str, ...] = ()
    """The groups that a sentence of EVERYDAY is about; of all others it is known that it is not about them."""

    def is_about(self, group: str) -> bool:
        return group in self.about or (self.meant and self.group == group)

    def is_judged_for(self, group: str) -> bool:
        """Whether somebody has said if it is about the group."""
        return self.group in (group, EVERYDAY)


@cache
def topic_examples() -> tuple[TopicExample, ...]:
    """Sentences that belong to a topic, and sentences that only sound like it."""
    lines = (Path(__file__).parent / "topics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = map(json.loads, lines)
    return tuple(TopicExample(**row | {"about": tuple(row.get("about", ()))}) for row in rows)


def meaning_score(text: str, group: str, sense: Sense) -> float | None:
    """How much the meaning speaks for a group; None if the embedder fails."""
    import numpy as np  # comes with the embedder, like all of this

    towards = sense.direction(text)
    layer = _load_layer(sense.space, group)
    if layer is None and towards is not None:
        layer = _learn_layer(sense, group)
    if towards is None or layer is None:
        return None
    return float(np.dot(near(towards, layer.known), layer.weights[:-1]) + layer.weights[-1])


@cache
def _load_layer(space: str, group: str) -> Layer | None:
    import numpy as np  # as above

    with np.load(Path(__file__).parent / "topics.npz") as kept:
        if str(kept["space"]) == space:
            return Layer(directions_of(kept["known"]), kept[group])
        return None


_LEARNED: dict[tuple[str, str], Layer] = {}
_WANTED: set[tuple[str, str]] = set()
"""Spaces and groups whose weights are still to be learned, since a writer could not wait for them."""


def learn_what_was_wanted(sense: Sense) -> None:
    """Learn the weights that writers could not wait for. Until then, topics are found by words alone."""
    for space, group in sorted(_WANTED):
        if space == sense.space:
            _WANTED.discard((space, group))
            _learn_layer(sense, group)


def _learn_layer(sense: Sense, group: str) -> Layer | None:
    key = (sense.space, group)
    if key not in _LEARNED:
        chosen = [one for at, one in enumerate(topic_examples()) if one.group == group or at % EVERY == 0]
        rows = sense.directions([one.text for one in chosen])
        if rows is None:
            _WANTED.add(key)
            return None
        _LEARNED[key] = layer_of(chosen, rows, spread(rows), group)
    return _LEARNED[key]


def spread(rows: "Floats") -> "Floats":
    """A sample of many vectors, evenly spaced."""
    return rows[:: max(1, -(-len(rows) // KNOWN))]


def to_int8(rows: "Floats") -> "NDArray[np.int8]":
    """Vectors in the shipped form: a byte for each number."""
    import numpy as np  # as above

    sized: NDArray[np.int8] = np.round(rows / np.abs(rows).max(axis=1, keepdims=True) * 127).astype(np.int8)
    return sized


def directions_of(kept: "NDArray[np.int8]") -> "Floats":
    import numpy as np  # as above

    rows: Floats = kept.astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def near(towards: "Floats", known: "Floats") -> "Floats":
    """The nearness of one vector, or each of many, to each known one: 1 if it is the same."""
    import numpy as np  # as above

    found: Floats = np.exp(WIDTH * (towards @ known.T - 1))
    return found


def layer_of(sentences: Sequence[TopicExample], directions: "Floats", known: "Floats", group: str) -> Layer:
    """The known vectors and their weights for one group."""
    import numpy as np  # as above

    meant = np.array([one.is_about(group) for one in sentences], float)
    counts = [_count_for(group, one) for one in sentences]
    sizes, turn = np.linalg.eigh(near(known, known).astype(float))
    apart = (turn / np.sqrt(sizes.clip(APART))) @ turn.T  # so that known vectors close to each other count once
    found = logistic(near(directions, known).astype(float) @ apart, meant, np.array(counts), STRENGTH)
    return Layer(known, np.append(apart @ found[:-1], found[-1]).astype(np.float32))


def _count_for(group: str, one: TopicExample) -> float:
    """How much a sentence counts while a group is learned."""
    if one.is_judged_for(group):
        return 1.0
    if one.meant:
        return MEANT_ELSEWHERE
    return FROM_ELSEWHERE


def logistic(rows: "NDArray[np.float64]", meant: "Floats", counts: "Floats", strength: float) -> "NDArray[np.float64]":
    """Logistic regression by Newton's method. The last weight is the bias, which is not regularised."""
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
