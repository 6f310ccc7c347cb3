"""A reader of moves that says what a test tells it to: by words of a clause, what the clause does."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from keepbook.book.text.sentences import sentences
from keepbook.models.reader.moves import MOVES, RESTS, Move, MoveBars, MoveLine, Need
from keepbook.models.reader.values import PieceVerdict, ReaderPiece, ReaderTurn

BARS = MoveBars(
    sure=dict.fromkeys(MOVES, 0.8), likely=dict.fromkeys(MOVES, 0.5), point_sure=0.8, point_likely=0.5,
    stretch_sure=0.8, need_sure=0.5, mistake_sure=0.5, ahead_sure=0.5, own_sure=0.5,
    unsure_most=dict.fromkeys(MOVES, 0.5),
)  # fmt: skip


@dataclass
class Scripted:
    """`script` maps words of a clause to its act, or to what `_move` takes; any other clause says something."""

    script: Mapping[str, Any] = field(default_factory=dict)
    name: str = "scripted"
    bars: MoveBars = BARS

    def moves(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> list[Move]:
        text = turns[at].text
        own = [MoveLine(f"{at}:{start}", text[start:end], "said") for start, end in pieces]
        said = [(number, one.text) for number, one in enumerate(turns[: at + 1]) if one.role == "user"]
        return [self._move(text, said, piece, [*lines, *own]) for piece in pieces]

    def _move(
        self, text: str, said: Sequence[tuple[int, str]], piece: tuple[int, int], lines: Sequence[MoveLine]
    ) -> Move:
        words = text[slice(*piece)]
        told = next((told for key, told in self.script.items() if key in words), "say")
        told = {"act": told} if isinstance(told, str) else told
        points = {line.id: self._chance(line, told) for line in lines}
        old, new = told.get("old"), told.get("new")
        return Move(
            *piece,
            acts=dict.fromkeys(MOVES, 0.0) | {"talk": told.get("talk", 0.0)} | {told["act"]: told.get("likely", 0.95)},
            points=points,
            mistake=told.get("mistake", 0.0),
            ahead=told.get("ahead", 0.0),
            own=told.get("own", 1.0),
            unsure=told.get("unsure", 0.0),
            rest=dict.fromkeys(RESTS, 0.0),
            old={line.id: _stretch(line.content, old) for line in lines if old and old in line.content},
            new=_stretch(text, new) if new else None,
            needs=tuple(
                Need(turn, *_stretch(words, need)[:2], told.get("needed", 0.95))
                for turn, words, need in _needed(told, said)
            ),
            who=told.get("who"),
        )

    def _chance(self, line: MoveLine, told: Mapping[str, Any]) -> float:
        wanted = told.get("points", ())
        wanted = [wanted] if isinstance(wanted, str) else wanted
        return told.get("surely", 0.95) if any(one in line.content for one in wanted) else 0.0


@dataclass
class Sentences:
    """A reader that takes every sentence for a piece to keep; `verdicts` maps words of one to what it is instead."""

    verdicts: Mapping[str, PieceVerdict] = field(default_factory=dict)
    name: str = "sentences"

    def read(self, turns: Sequence[ReaderTurn], only: int | None = None) -> list[ReaderPiece]:
        spoken = [at for at, turn in enumerate(turns) if turn.role == "user" and only in (None, at)]
        return [self._piece(at, turns[at].text, *span) for at in spoken for span in sentences(turns[at].text)]

    def _piece(self, at: int, text: str, start: int, end: int) -> ReaderPiece:
        words = text[start:end]
        verdict = next((one for key, one in self.verdicts.items() if key in words), "keep")
        return ReaderPiece(at, start, end, words, "keep", {"keep": 0.9, "talk": 0.1}, {}, None, verdict)


def _stretch(text: str, words: str) -> tuple[int, int, float]:
    start = text.index(words)
    return start, start + len(words), 0.95


def _needed(told: Mapping[str, Any], said: Sequence[tuple[int, str]]) -> list[tuple[int, str, str]]:
    need = told.get("need")
    return [(at, text, need) for at, text in said if need and need in text][-1:]
