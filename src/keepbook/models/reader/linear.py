"""The reader that needs nothing installed: a linear model on hashed word features, in plain Python.

The same script trained it on the same chats as the encoder, and it has the same interface. It is less accurate, so its
thresholds are higher: it keeps fewer pieces and proposes more.
"""

import json
import math
from array import array
from collections.abc import Mapping, Sequence

from keepbook.models.reader import features, model_files
from keepbook.models.reader.values import (
    ACTS,
    CATEGORIES,
    LABELS,
    KeepThresholds,
    ReaderPiece,
    ReaderTurn,
    TrainedChoice,
)
from keepbook.models.reader.windows import covering

OUTPUTS = len(LABELS) + sum(map(len, CATEGORIES.values())) + len(ACTS)


class Weights:
    """A weights file: a line of JSON; then, for each hashed feature of a piece, a row of int8 with a weight for each
    output; then one int8 for each hashed feature of a place, which says whether a piece begins there."""

    def __init__(self, file: bytes) -> None:
        line, _, rest = file.partition(b"\n")
        head = json.loads(line)
        self.bias: list[float] = head["bias"]
        self.scale: list[float] = head["scale"]
        self.cut_bias: float = head["cut_bias"]
        self.cut_scale: float = head["cut_scale"]
        self.cut_bar: float = head["cut_bar"]
        until = features.ROWS * OUTPUTS
        self.rows: array[int] = array("b", rest[:until])
        self.cuts: array[int] = array("b", rest[until:])


class LinearReader:
    name = "linear"

    def __init__(self, weights: bytes | None = None, chosen: TrainedChoice | None = None) -> None:
        if weights is not None:
            self._weights = Weights(weights)
        else:
            self._weights = Weights(model_files.read_pinned("linear.bin"))
        if chosen is not None:
            self._chosen = chosen
        else:
            self._chosen = model_files.thresholds_of("linear")

    @property
    def bars(self) -> KeepThresholds:
        return self._chosen.bars

    def read(self, turns: Sequence[ReaderTurn], upto: int | None = None, only: int | None = None) -> list[ReaderPiece]:
        given = turns[:upto]
        cut = {at: self.cut(one.text) for at, one in enumerate(given) if one.role == "user" and only in (None, at)}
        return [self._piece(given[at].text, at, stretch, rows) for at, stretch, rows in features.of_chat(given, cut)]

    def tie(self, earlier: str, later: str, before: str = "") -> Mapping[str, float] | None:
        return None

    def score_pieces(
        self, turns: Sequence[ReaderTurn], cut: Mapping[int, Sequence[tuple[int, int]]]
    ) -> list[list[float]]:
        """The label scores for pieces that another reader has cut."""
        return [self.scores(rows)[: len(LABELS)] for _, _, rows in features.of_chat(turns, cut)]

    def cut(self, text: str) -> list[tuple[int, int]]:
        """The pieces of a turn."""
        w = self._weights
        bar = (w.cut_bar - w.cut_bias) / w.cut_scale
        found = (start for start, rows in features.places(text) if sum(w.cuts[row] for row in rows) > bar)
        return covering(found, len(text))

    def scores(self, rows: Sequence[int]) -> list[float]:
        """The score of each output."""
        w = self._weights
        held = (w.rows[row * OUTPUTS : row * OUTPUTS + OUTPUTS] for row in rows)
        size = math.sqrt(len(rows))
        sums = (sum(column) / size for column in zip(*held, strict=True))
        return [bias + scale * one for bias, scale, one in zip(w.bias, w.scale, sums, strict=True)]

    def _piece(self, text: str, turn: int, stretch: tuple[int, int], rows: Sequence[int]) -> ReaderPiece:
        scores = self.scores(rows)
        chances = softmax([self._chosen.own * one for one in scores[: len(LABELS)]])
        probabilities = dict(zip(LABELS, chances, strict=True))
        at = len(LABELS)
        categories = {}
        for vocabulary, names in CATEGORIES.items():
            categories[vocabulary] = most(names, scores[at : at + len(names)])
            at += len(names)
        label = max(probabilities, key=lambda name: probabilities[name])
        act = None
        if label == "order":
            act = most(ACTS, scores[at:])
        start, end = stretch
        verdict = self.bars.verdict(probabilities)
        return ReaderPiece(turn, start, end, text[start:end], label, probabilities, categories, act, verdict)


def most(names: Sequence[str], scores: Sequence[float]) -> str:
    return max(zip(scores, names, strict=True))[1]


def softmax(scores: Sequence[float]) -> list[float]:
    highest = max(scores)
    powers = [math.exp(one - highest) for one in scores]
    total = sum(powers)
    return [one / total for one in powers]
