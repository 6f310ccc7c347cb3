"""The interface of the move readers: what a person's clause does to the book.

A move reader is given a turn that is cut into pieces and the lines that a clause may point at. It says for every piece
its act, the lines it means and the words that are exchanged, with how likely each answer is. It decides nothing:
`MoveBars` has the thresholds from which an answer counts as sure or as likely, chosen by training on left-out writers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from keepbook.models.reader.values import ReaderTurn

MOVES = ("say", "change", "end", "withdraw", "never", "keep", "undo", "ask", "answer", "off", "talk")
"""States something; says what holds instead; says that it is over; takes it back; never that topic; asks to keep it;
takes an order back; asks the notebook; answers a question of the notebook; asks to stop remembering; does nothing."""
KINDS = ("memory", "offered", "said", "question", "choice")
"""What a line is: in the book; proposed; said in this chat; an open question; one of the answers it offers."""
RESTS = ("stays", "falls", "ask")
"""Of a line that says more than what changes, the rest."""


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A line that a clause may point at."""

    id: str
    """A memory, a proposal, or `turn:start` of a piece said in this chat; of a choice `question/choice`."""
    content: str
    kind: str


@dataclass(frozen=True, slots=True)
class Need:
    """Words that a piece cannot be understood without. In an assistant's turn: its question is needed."""

    turn: int
    start: int
    end: int
    likely: float


@dataclass(frozen=True, slots=True)
class Move:
    """What one piece of a turn does, as far as a reader can tell.

    `points` has every line that was given, and every other piece of the same turn as `turn:start`: "no sorry, March"
    may mean the clause just before it.
    """

    start: int
    end: int
    acts: Mapping[str, float]
    """Probabilities over `MOVES`."""
    points: Mapping[str, float]
    """By line: the probability that it is meant. Several may be."""
    mistake: float
    """A change: the person calls it a slip."""
    ahead: float
    """A withdrawal: it speaks of what is being said."""
    own: float
    """It is about the person."""
    unsure: float
    """A careful listener would ask."""
    rest: Mapping[str, float]
    """Probabilities over `RESTS`."""
    old: Mapping[str, tuple[int, int, float]]
    """By line: its stretch that is exchanged (letters of the line), and how likely."""
    new: tuple[int, int, float] | None
    """The stretch of this turn that takes its place, and how likely."""
    needs: tuple[Need, ...]
    who: str | None
    """The words of the turn that name whom it is about; None for the person, or if unknown."""

    @property
    def act(self) -> str:
        """The likeliest act."""
        return max(self.acts, key=lambda name: self.acts[name])


@dataclass(frozen=True, slots=True)
class MoveVerdict:
    """What becomes of a move: `done`, `asked` about, or `nothing`."""

    how: str
    act: str
    lines: tuple[str, ...]
    """The lines that are meant, the likeliest first."""


@dataclass(frozen=True, slots=True)
class MoveBars:
    """Thresholds from which an answer counts, chosen on left-out writers."""

    sure: Mapping[str, float]
    """By act: it may be done."""
    likely: Mapping[str, float]
    """By act: it may be asked about."""
    point_sure: float
    point_likely: float
    stretch_sure: float
    """Both stretches of an exchange."""
    need_sure: float
    mistake_sure: float
    ahead_sure: float
    own_sure: float
    unsure_most: Mapping[str, float]
    """By act: from here on it is not done without asking. A ban that sweeps nothing may be less sure than an end."""

    def verdict(self, move: Move) -> MoveVerdict:
        """`done` if act and pointer are sure, `asked` if the act is likely and something is missing."""
        act = max(DEEDS, key=lambda name: move.acts[name])
        lines = self.lines_meant(move, act)
        if move.acts[act] >= self.sure[act] and move.unsure < self.unsure_most[act] and self._certain(move, act):
            return MoveVerdict("done", act, lines)
        if move.acts[act] >= self.likely[act]:
            return MoveVerdict("asked", act, lines or self.lines_meant(move, act, self.point_likely))
        return MoveVerdict("nothing", act, ())

    def lines_meant(self, move: Move, act: str, least: float | None = None) -> tuple[str, ...]:
        """The lines that an act of this kind can mean and that are likely enough, the likeliest first."""
        if least is None:
            bar = self.point_sure
        else:
            bar = least
        found = [name for name, likely in move.points.items() if likely >= bar]
        return tuple(sorted(found, key=lambda name: -move.points[name]))

    def _certain(self, move: Move, act: str) -> bool:
        """Whether it is clear what is meant: nothing is only likely, and it is one line where two make no sense."""
        sure = self.lines_meant(move, act)
        if act in ("never", "off", "undo"):
            return True  # an undo takes back what was done last
        if act == "withdraw" and move.ahead >= self.ahead_sure:
            return True
        if act == "keep" and not self.lines_meant(move, act, self.point_likely):
            return True  # what is being said
        doubtful = len(self.lines_meant(move, act, self.point_likely)) > len(sure)
        if act == "answer":
            return sum("/" in name for name in sure) == 1
        if act in ("change", "end"):
            return len(sure) == 1 and not doubtful
        return bool(sure) and not doubtful


DEEDS = ("change", "end", "withdraw", "never", "keep", "undo", "answer", "off")
"""The acts that do something to the book."""


class Heat(NamedTuple):
    """The calibration of the scores: above 1 they were too timid."""

    act: float = 1.0
    point: float = 1.0
    stretch: float = 1.0
    need: float = 1.0
    flag: float = 1.0


class MoveReader(Protocol):
    """The interface of both move readers; `moves` is a function of its arguments alone."""

    name: str

    @property
    def bars(self) -> MoveBars: ...

    def moves(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> list[Move]:
        """A move for each of the pieces (from, until, in letters) of the person's turn `at`. Later turns are not read,
        nor more than `MOST_LINES` of the lines, those of choices included."""
        ...


MOST_LINES = 16


def idle_move(start: int, end: int) -> Move:
    """The move of a piece without a word: it does nothing."""
    acts = dict.fromkeys(MOVES, 0.0) | {"talk": 1.0}
    rest = dict.fromkeys(RESTS, 1 / len(RESTS))
    return Move(start, end, acts, {}, 0.0, 0.0, 0.0, 0.0, rest, {}, None, (), None)
