"""Features of a clause and a line that are computed without a model: shared words, place and kind.

The move reader gets these numbers in addition to the vectors: a small encoder hardly learns which of ten lines has "the
Volvo" in it, and a comparison of words shows it at once.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from keepbook.book.text.words import STOP_WORDS, numbers, stem, tokens
from keepbook.models.reader.moves import KINDS, MoveLine
from keepbook.models.reader.values import ReaderTurn

SIGNS = 10 + len(KINDS) + 5
"""How many features there are for a piece and a line."""
LETTERS = 2000
"""How many characters at the end of an earlier turn are read."""


class MoveRequest(NamedTuple):
    """The input of the move reader: a turn, its pieces, and the lines that the pieces may refer to."""

    turns: Sequence[ReaderTurn]
    at: int
    pieces: Sequence[tuple[int, int]]
    lines: Sequence[MoveLine]

    def text(self) -> str:
        return self.turns[self.at].text

    def words(self, piece: int) -> str:
        start, end = self.pieces[piece]
        return self.text()[start:end]


@lru_cache(maxsize=4096)
def content_stems(text: str) -> frozenset[str]:
    """The content words of a text, stemmed."""
    return frozenset(stem(word) for word in tokens(text) if word not in STOP_WORDS)


def move_features(asked: MoveRequest, shown: Sequence[int], judged: Sequence[int]) -> list[list[list[float]]]:
    """The features of every pair of a judged piece and a candidate (the lines first, then the pieces in `shown`)."""
    before = _Before(asked)
    texts = [line.content for line in asked.lines] + [asked.words(piece) for piece in shown]
    kinds = [_kind(line) for line in asked.lines] + [[0.0] * len(KINDS)] * len(shown)
    found = []
    for piece in judged:
        place = [[0.0] * 5] * len(asked.lines) + [_place(piece, other) for other in shown]
        rows = [before.shared_words(piece, text) for text in texts]
        rows = [row + _lead(rows, at) for at, row in enumerate(rows)]
        found.append([row + kind + where for row, kind, where in zip(rows, kinds, place, strict=True)])
    return found


class _Before:
    """The words of the turn, and of those before it."""

    def __init__(self, asked: MoveRequest) -> None:
        self._asked = asked
        self._many = 1 / (1 + len(asked.lines))
        earlier = asked.turns[: asked.at]
        said = [turn.text[-LETTERS:] for turn in earlier if turn.role == "user"]
        told = [turn.text[-LETTERS:] for turn in earlier if turn.role != "user"]
        self._said, self._told = (content_stems(one[-1]) if one else frozenset[str]() for one in (said, told))
        self._long_ago = frozenset(word for text in said[-6:-1] for word in content_stems(text))

    def shared_words(self, piece: int, text: str) -> list[float]:
        """How many words of a text are also in the piece, in the rest of the turn, and in earlier turns."""
        words, own = content_stems(text), content_stems(self._asked.words(piece))
        rest = content_stems(self._asked.text()) - own
        size = max(1, len(words))
        same = words & own
        return [
            len(same) / size,
            len(words & rest) / size,
            len(words & self._said) / size,
            len(words & self._told) / size,
            len(words & self._long_ago) / size,
            len(same) / max(1, len(own)),
            min(3, len(same)) / 3,
            float(bool(numbers(text) & numbers(self._asked.words(piece)))),
            self._many,
        ]


def _lead(rows: Sequence[Sequence[float]], at: int) -> list[float]:
    """How much more words this text shares with the piece than the best of the others."""
    best = max((row[6] for other, row in enumerate(rows) if other != at), default=0.0)
    return [rows[at][6] - best]


def _kind(line: MoveLine) -> list[float]:
    return [float(line.kind == kind) for kind in KINDS]


def _place(piece: int, other: int) -> list[float]:
    return [1.0, float(other < piece), float(other > piece), float(other == piece - 1), float(other == piece + 1)]
