"""The move reader that needs nothing installed: a linear model on hashed word features, in plain Python.

It recognises explicit orders, and finds the lines they mean by shared words. It is not accurate enough to change or end
a line: its thresholds for these acts are never reached, so that at most a question is asked.
"""

import json
import math
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property

from keepbook.models.reader import model_files
from keepbook.models.reader.features import feature_row, split_words
from keepbook.models.reader.linear import softmax
from keepbook.models.reader.move_reader.move_signs import MoveRequest, content_stems
from keepbook.models.reader.moves import MOST_LINES, MOVES, RESTS, Move, MoveBars, MoveLine
from keepbook.models.reader.values import ReaderTurn

ROWS = 1 << 14
OUTPUTS = len(MOVES) + 1
"""The acts, and one more: whether a withdrawal is about what is being said."""
LONGEST, AROUND = 40, 16
"""How many words are read of a piece, and of the pieces beside it."""
_BACK = frozenset({"that", "this", "it", "those", "these", "last"})
"""Words that refer to what was said just before."""


class LinearMoveReader:
    name = "linear"

    def __init__(self, weights: bytes | None = None) -> None:
        self._given = weights

    @cached_property
    def bars(self) -> MoveBars:
        return model_files.chosen_moves("moves_linear").bars

    @cached_property
    def _weights(self) -> tuple[list[float], list[float], "array[int]"]:
        if self._given is not None:
            file = self._given
        else:
            file = model_files.read_pinned("moves.bin")
        line, _, rest = file.partition(b"\n")
        head = json.loads(line)
        return head["bias"], head["scale"], array("b", rest)

    def moves(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> list[Move]:
        asked = MoveRequest(turns[: at + 1], at, pieces, lines[:MOST_LINES])
        return [self._move(asked, which) for which in range(len(pieces))]

    def scores(self, rows: Sequence[int]) -> list[float]:
        """The score of each output."""
        bias, scale, table = self._weights
        size = math.sqrt(len(rows))
        columns = zip(*(table[at * OUTPUTS : at * OUTPUTS + OUTPUTS] for at in rows), strict=True)
        return [one + by * sum(column) / size for one, by, column in zip(bias, scale, columns, strict=True)]

    def _move(self, asked: MoveRequest, which: int) -> Move:
        start, end = asked.pieces[which]
        scores = self.scores(piece_rows(asked, which))
        acts = dict(zip(MOVES, softmax(scores[: len(MOVES)]), strict=True))
        ahead = 1 / (1 + math.exp(-scores[len(MOVES)]))
        rest = dict.fromkeys(RESTS, 1 / len(RESTS))
        points = points_by_words(asked, which)
        return Move(start, end, acts, points, 0.0, ahead, 0.5, 0.0, rest, {}, None, (), None)


def points_by_words(asked: MoveRequest, which: int) -> dict[str, float]:
    """The probability that each line is meant: the share of the piece's content words that the line has, and more if
    these are all words of the line. If the piece has no content word of its own ("scrap that"), the last line that was
    said is meant."""
    text = asked.words(which)
    own = content_stems(text) - _ORDERING
    found = {}
    for line in asked.lines:
        there = content_stems(line.content)
        same = len(own & there)
        if same:
            found[line.id] = min(0.98, same / max(1, len(own)) + 0.3 * (same == len(there)))
        else:
            found[line.id] = 0.02
    said = [line.id for line in asked.lines if line.kind in ("said", "offered")]
    if not own and said and _BACK & set(split_words(text)):
        found[said[-1]] = 0.6
    return found


_ORDERING = frozenset({
    "about", "anymor", "back", "bin", "bit", "cross", "delet", "dont", "drop", "eras", "ever", "forget", "keep", "kept",
    "memori", "mention", "never", "note", "part", "pleas", "put", "record", "rememb", "remov", "save", "scrap", "store",
    "strike", "take", "thing", "took", "undo", "what", "write", "written", "wrote",
})  # fmt: skip
"""Stems of words that give an order and do not name its matter."""


def piece_rows(asked: MoveRequest, which: int) -> list[int]:
    """The rows of a piece, each once."""
    return sorted({feature_row(name, ROWS) for name in _names(asked, which)})


def _names(asked: MoveRequest, which: int) -> Iterator[str]:
    piece = split_words(asked.words(which))[:LONGEST]
    yield f"long {min(8, len(piece) // 2)}"
    yield from (f"w {word}" for word in piece)
    yield from (f"p {word[:5]}" for word in piece if len(word) > 5)
    for one, two in zip(["^", *piece], [*piece, "$"], strict=True):
        yield f"b {one} {two}"
    for one, two in zip(piece, piece[2:], strict=False):
        yield f"s {one} {two}"
    for at in range(len(piece) - 2):
        yield f"t {' '.join(piece[at : at + 3])}"
    yield f"open {' '.join(piece[:2])}"
    yield f"opens {' '.join(piece[:3])}"
    yield from _context_features(asked, which)


def _context_features(asked: MoveRequest, which: int) -> Iterator[str]:
    if which:
        before = split_words(asked.words(which - 1))[-AROUND:]
    else:
        before = []
    if which + 1 < len(asked.pieces):
        after = split_words(asked.words(which + 1))[:4]
    else:
        after = []
    yield f"place {which == 0} {which + 1 == len(asked.pieces)}"
    yield from (f"< {word}" for word in before[-4:])
    yield from (f"> {word}" for word in after)
    last = ""
    if asked.at:
        last = asked.turns[asked.at - 1].text
    yield f"asked {last.rstrip().endswith('?')} {which == 0}"
    yield f"question {any(line.kind == 'question' for line in asked.lines)} {which == 0}"
    own = content_stems(asked.words(which))
    most = max((len(own & content_stems(line.content)) for line in asked.lines), default=0)
    yield f"shared {min(3, most)}"
