"""The input and output of the reader: turns, and the pieces they are cut into.

A person's turn is cut into pieces, each with one of ten labels; joined they are the turn, character for character.
`verdict` is what follows from the reader's scores: a piece is kept if it is sure, proposed if it is likely, and else
left. Training chose the thresholds between the three on writers outside its training set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

LABELS = ("keep", "old", "passing", "task", "question", "if", "other", "hush", "talk", "order")
"""In this order: worth keeping; taken back later; true for days only; a task; a question; only supposed; about somebody
else; not to be kept; small talk; an order to the memory."""
RISKS = ("old", "if", "other", "hush")
"""The labels of pieces that do harm if they are kept by mistake."""
CATEGORIES = {
    "advisor": ("profile", "finance_context", "response_style", "fact"),
    "assistant": ("person", "preference", "context", "project"),
}
ACTS = ("forget", "decline", "remember", "undo")
TIES = ("none", "repeats", "corrects", "withdraws")

PieceVerdict = Literal["keep", "propose", "leave"]


@dataclass(frozen=True, slots=True)
class ReaderTurn:
    """One turn of a chat: `role` is user, assistant or tool. Only a user's words become pieces."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class ReaderPiece:
    """A stretch of one user turn: `text` is `turns[turn].text[start:end]`."""

    turn: int
    start: int
    end: int
    text: str
    label: str
    probabilities: Mapping[str, float]
    categories: Mapping[str, str]
    """The category in each vocabulary; without meaning if the piece is not kept."""
    act: str | None
    """What an order asks for: one of ACTS."""
    verdict: PieceVerdict

    @property
    def keep(self) -> float:
        """How likely it is worth keeping."""
        return self.probabilities["keep"]


@dataclass(frozen=True, slots=True)
class KeepThresholds:
    """Thresholds for `keep`: a piece with `sure` is kept, one with `likely` is proposed. It is kept only if the
    probabilities of the harmful labels add up to `risk` at most."""

    sure: float
    risk: float
    likely: float

    def verdict(self, probabilities: Mapping[str, float]) -> PieceVerdict:
        keep = probabilities["keep"]
        if keep >= self.sure and sum(probabilities[name] for name in RISKS) <= self.risk:
            return "keep"
        if keep >= self.likely:
            return "propose"
        return "leave"


@dataclass(frozen=True, slots=True)
class TrainedChoice:
    """The settings that training chose for one reader, on writers outside its training set.

    `own` scales the reader's own scores (above 1: it was too timid), `beside` is the weight of the linear reader,
    `ties` scales the scores of ties.
    """

    bars: KeepThresholds
    own: float = 1.0
    beside: float = 0.0
    ties: float = 1.0


class ChatReader(Protocol):
    """The interface of both readers; `read` is a function of its arguments alone."""

    name: str

    def read(self, turns: Sequence[ReaderTurn], upto: int | None = None, only: int | None = None) -> list[ReaderPiece]:
        """The pieces of every user turn, in order, or of `only` one; with `upto`, as if nothing had been said from that
        turn on."""
        ...

    def tie(self, earlier: str, later: str, before: str = "") -> Mapping[str, float] | None:
        """The relation of `later` to an earlier statement or known line; `before` is what was said just before it.

        None from a reader that was not trained for it.
        """
        ...
