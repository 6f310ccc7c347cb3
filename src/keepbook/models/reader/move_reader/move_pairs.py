"""A second reading of a clause that may be a deed: with one line at a time.

The first reading sees all lines at once and is quick. Here the model says for one line at a time what the clause does
to it, and reads the clause without a line too. The two readings make different mistakes; how far they agree decides
whether a deed is done (`move_doubt`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from keepbook.models.reader.move_reader.head_numbers import gelu, pool_tokens, sigmoid, softmax_array
from keepbook.models.reader.move_reader.move_signs import SIGNS, MoveRequest, move_features
from keepbook.models.reader.move_reader.move_windows import MoveCoder, MoveWindow
from keepbook.models.reader.moves import MOVES, Move, MoveLine

if TYPE_CHECKING:
    import numpy as np

    from keepbook.models.minilm.parts import Arrays

    Floats = np.ndarray[Any, Any]

PAIR_TIES = ("none", "say", "change", "end", "withdraw", "keep", "undo", "ask", "answer")
"""What a clause does to a line: nothing, or one of the acts that mean lines."""
PAIR_FLAGS = ("unsure", "ahead")
PAIR_OUTPUTS = (len(PAIR_TIES), len(MOVES), len(PAIR_FLAGS))
EARLIER = 2
"""How many turns before this one are in the window."""
MOST_CANDIDATES = 3
"""How many lines a clause is read with: the likeliest of the first reading."""


@dataclass(frozen=True, slots=True)
class PairReading:
    """`tie`: the probabilities of what a clause does to one line (without meaning if it was read without a line).
    `acts`: the probabilities of its act."""

    tie: Mapping[str, float]
    acts: Mapping[str, float]
    flags: Mapping[str, float]


def candidates(asked: MoveRequest, move: Move) -> list[str]:
    """The lines and other clauses that a clause is read with."""
    aside = {line.id for line in asked.lines if line.kind in ("question", "choice")}
    ranked = sorted(move.points, key=lambda name: -move.points[name])
    return [name for name in ranked if name not in aside][:MOST_CANDIDATES]


def line_named(asked: MoveRequest, name: str) -> MoveLine:
    """The line with this id, or another clause of the turn as a line."""
    found = next((line for line in asked.lines if line.id == name), None)
    if found is not None:
        return found
    which = next(at for at, (start, _) in enumerate(asked.pieces) if f"{asked.at}:{start}" == name)
    return MoveLine(name, asked.words(which), "said")


def pair_window(coder: MoveCoder, asked: MoveRequest, which: int, line: MoveLine | None) -> MoveWindow | None:
    """A window with a clause and one line, or none. Returns None for a clause without a token."""
    turns = asked.turns[max(0, asked.at - EARLIER) : asked.at + 1]
    if line is not None:
        lines = [line]
    else:
        lines = []
    found = coder.alone(turns, len(turns) - 1, asked.pieces, lines, [which])
    if found:
        return found[0]
    return None


def pair_signs(asked: MoveRequest, which: int) -> dict[str, list[float]]:
    """The features of each line and other clause beside a clause, by name (see `move_signs`)."""
    names = [line.id for line in asked.lines] + [f"{asked.at}:{start}" for start, _ in asked.pieces]
    rows = move_features(asked, range(len(asked.pieces)), [which])[0]
    return dict(zip(names, rows, strict=True))


Pairs = Mapping[str | None, PairReading]
"""The readings of one clause, by line; None for the one without a line."""
LEAST_CHANCE = 1e-4


def with_pairs(move: Move, pairs: Pairs) -> Move:
    """The move with both readings combined: the acts by their geometric mean, the lines by the mean of log-odds."""
    if not pairs:
        return move
    told = mean_acts(pairs)
    both = {act: math.sqrt(max(move.acts[act], LEAST_CHANCE) * max(told[act], LEAST_CHANCE)) for act in MOVES}
    whole = sum(both.values())
    points = {name: _between(chance, pairs.get(name)) for name, chance in move.points.items()}
    ahead = sum(one.flags["ahead"] for one in pairs.values()) / len(pairs)
    return replace(
        move, acts={act: chance / whole for act, chance in both.items()}, points=points, ahead=(move.ahead + ahead) / 2
    )


def mean_acts(pairs: Pairs) -> dict[str, float]:
    """The probabilities of the acts, averaged over all windows of the second reading."""
    return {act: sum(one.acts[act] for one in pairs.values()) / len(pairs) for act in MOVES}


def _between(chance: float, pair: PairReading | None) -> float:
    """The probability that a line is meant, by the mean of the log-odds of both readings."""
    if pair is None:
        return chance
    return 1 / (1 + math.exp(-(log_odds(chance) + log_odds(1 - pair.tie["none"])) / 2))


def log_odds(chance: float) -> float:
    kept = min(max(chance, LEAST_CHANCE), 1 - LEAST_CHANCE)
    return math.log(kept / (1 - kept))


def pair_features(pairs: Pairs, act: str, lines: Sequence[str]) -> list[float]:
    """The features of a deed that come from the second reading."""
    if not pairs:
        return [0.0] * PAIR_FEATURES
    told = mean_acts(pairs)
    least = min(one.acts[act] for one in pairs.values())
    meant = [pairs[name].tie for name in lines if name in pairs]
    others = [one.tie for name, one in pairs.items() if name is not None and name not in lines]
    unsure = sum(one.flags["unsure"] for one in pairs.values()) / len(pairs)
    if None in pairs:
        bare = pairs[None].acts[act]
    else:
        bare = told[act]
    return [
        log_odds(told[act]),
        log_odds(least),
        log_odds(bare),
        log_odds(told["talk"]),
        log_odds(told["say"]),
        log_odds(min((tie.get(act, 0.0) for tie in meant), default=0.5)),
        log_odds(1 - max((tie["none"] for tie in meant), default=0.5)),
        log_odds(1 - min((tie["none"] for tie in others), default=0.5)),
        log_odds(max((tie.get(act, 0.0) for tie in others), default=0.5)),
        float(bool(meant)),
        log_odds(unsure),
    ]


PAIR_FEATURES = 11
NO_SIGNS: Sequence[float] = (0.0,) * SIGNS


class PairReader:
    """Reads clauses with lines; an opened encoder."""

    def __init__(
        self, encode: "Callable[[list[int], list[int]], Floats]", heads: "PairHeads", coder: MoveCoder
    ) -> None:
        self._encode, self._heads, self._coder = encode, heads, coder

    def read(self, asked: MoveRequest, which: int, move: Move) -> dict[str | None, PairReading]:
        """The readings of a clause without a line, and with each of the likeliest lines."""
        signs = pair_signs(asked, which)
        found = {}
        for name in (None, *candidates(asked, move)):
            line = None
            if name is not None:
                line = line_named(asked, name)
            window = pair_window(self._coder, asked, which, line)
            if window is not None:
                hidden = self._encode(window.ids, window.types)
                found[name] = self._heads.read(window, hidden, NO_SIGNS if name is None else signs[name])
        return found


class PairHeads:
    """The head, in numpy: makes a reading of the token vectors of a window."""

    def __init__(self, weights: "Arrays") -> None:
        self._w = weights

    def read(self, window: MoveWindow, hidden: "Floats", signs: Sequence[float]) -> PairReading:
        import numpy as np  # loaded by now

        clause = np.concatenate(pool_tokens(hidden, window.pieces[window.judged[0]][1]))
        if window.lines:
            line = np.concatenate(pool_tokens(hidden, window.lines[0]))
        else:
            line = np.zeros_like(clause)
        seen = np.concatenate([clause, hidden[0], line, np.array(signs, "f4")])
        inside = gelu(self._linear("inside", seen))
        scores = self._linear("told", inside)
        ties, acts = len(PAIR_TIES), len(PAIR_TIES) + len(MOVES)
        return PairReading(
            dict(zip(PAIR_TIES, softmax_array(scores[:ties]).tolist(), strict=True)),
            dict(zip(MOVES, softmax_array(scores[ties:acts]).tolist(), strict=True)),
            dict(zip(PAIR_FLAGS, sigmoid(scores[acts:]).tolist(), strict=True)),
        )

    def _linear(self, name: str, x: "Floats") -> "Floats":
        return x @ self._w[f"head.{name}.weight"].T + self._w[f"head.{name}.bias"]
