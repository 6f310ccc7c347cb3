"""How well a reader does on chats it has not read.

Each prediction is a piece with its probabilities, beside the label of the part of the chat it lies in (the one it
shares most letters with). Two ways of cutting: the writer's own parts, and the reader's. The bars are chosen on these
predictions: as many kept as a precision and a number of harmed chats allow, and proposals where F1 is best.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keepbook.models.reader.linear import softmax
from keepbook.models.reader.values import LABELS, RISKS, KeepThresholds
from training.chats import Chat


@dataclass(frozen=True)
class Guess:
    """A piece as read: where it lies, and what the reader thought of each label.

    `beside` is what speaks for each label in the linear reader's opinion of the same piece.
    """

    chat: str
    turn: int
    start: int
    end: int
    probabilities: tuple[float, ...]
    beside: tuple[float, ...] = ()

    def weighed(self, own: float, beside: float) -> "Guess":
        """As it is with these weights of the two opinions."""
        scores = [own * math.log(max(one, 1e-9)) for one in self.probabilities]
        if beside:
            scores = [one + beside * other for one, other in zip(scores, self.beside, strict=True)]
        return replace(self, probabilities=tuple(softmax(scores)))

    @property
    def keep(self) -> float:
        return self.probabilities[0]

    @property
    def risk(self) -> float:
        return sum(self.probabilities[LABELS.index(name)] for name in RISKS)


@dataclass(frozen=True)
class Figures:
    precision: float
    recall: float
    harmed: float
    """Chats of a hundred in which something harmful was kept."""
    kinds: dict[str, int]

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def as_dict(self) -> dict[str, Any]:
        return {
            "precision": round(self.precision, 3), "recall": round(self.recall, 3), "f1": round(self.f1, 3),
            "harmed_per_100": round(self.harmed, 1), "kept_by_mistake": self.kinds,
        }  # fmt: skip


class Truth:
    """The writers' labels, to look pieces up in."""

    def __init__(self, chats: Iterable[Chat]) -> None:
        self.parts: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
        self.chats = 0
        for chat in chats:
            self.chats += 1
            for turn, said in enumerate(chat.turns):
                if said.role == "user":
                    begin, found = 0, []
                    for part in said.parts:
                        found.append((begin, begin + len(part.text), part.label))
                        begin += len(part.text)
                    self.parts[chat.id, turn] = found
        self.keeps = sum(label == "keep" for parts in self.parts.values() for _, _, label in parts)

    def label(self, guess: Guess) -> str:
        parts = self.parts[guess.chat, guess.turn]
        return max(parts, key=lambda part: min(part[1], guess.end) - max(part[0], guess.start))[2]

    def figures(self, taken: Sequence[Guess]) -> Figures:
        """A part that is worth keeping is found where at least half of its letters are in what was taken."""
        labels = [self.label(guess) for guess in taken]
        kinds = Counter(label for label in labels if label != "keep")
        harmed = {guess.chat for guess, label in zip(taken, labels, strict=True) if label in RISKS}
        covered: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        for guess in taken:
            covered[guess.chat, guess.turn].append((guess.start, guess.end))
        found = sum(
            2 * sum(max(0, min(end, to) - max(begin, at)) for at, to in covered[where]) >= end - begin
            for where, parts in self.parts.items()
            for begin, end, label in parts
            if label == "keep"
        )
        precision = labels.count("keep") / len(labels) if labels else 1.0
        return Figures(precision, found / max(1, self.keeps), 100 * len(harmed) / max(1, self.chats), dict(kinds))


def weights(truth: Truth, guesses: Sequence[Guess], two: bool) -> tuple[float, float]:
    """How much the reader's own word and the linear reader's should count: where the right label is likeliest."""
    right = np.array([LABELS.index(truth.label(guess)) for guess in guesses])
    mine = np.log(np.maximum([guess.probabilities for guess in guesses], 1e-9))
    other = np.array([guess.beside for guess in guesses]) if two else np.zeros_like(mine)

    def doubt(tried: tuple[float, float]) -> float:
        scores = tried[0] * mine + tried[1] * other
        scores -= np.log(np.exp(scores).sum(1, keepdims=True))
        return -float(scores[np.arange(len(right)), right].mean())

    ways = [(own / 20, beside / 20) for own in range(8, 33) for beside in (range(21) if two else (0,))]
    return min(ways, key=doubt)


def taken(guesses: Iterable[Guess], bars: KeepThresholds, proposed: bool = False) -> list[Guess]:
    wanted = ("keep", "propose") if proposed else ("keep",)
    return [one for one in guesses if bars.verdict(dict(zip(LABELS, one.probabilities, strict=True))) in wanted]


def choose(truth: Truth, guesses: Sequence[Guess], precision: float, harmed: float) -> KeepThresholds:
    """The bars with the best recall of what is kept alone, at no less precision and no more harm."""
    best, found = -1.0, KeepThresholds(0.95, 0.05, 0.5)
    for sure in (at / 100 for at in range(40, 98, 2)):
        for risk in (0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 1.0):
            got = truth.figures([one for one in guesses if one.keep >= sure and one.risk <= risk])
            if got.precision >= precision and got.harmed <= harmed and got.recall > best:
                best, found = got.recall, KeepThresholds(sure, risk, 0.5)
    f1 = {at / 50: truth.figures([one for one in guesses if one.keep >= at / 50]).f1 for at in range(8, 41)}
    return KeepThresholds(found.sure, found.risk, max(f1, key=lambda at: (f1[at], at)))
