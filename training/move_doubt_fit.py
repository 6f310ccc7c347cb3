"""Fitting what a deed can be trusted (`move_reader.move_doubt`) on the readings of left-out hands."""

from collections.abc import Sequence

import numpy as np

from keepbook.models.reader.move_reader import move_doubt
from keepbook.models.reader.move_reader.move_pairs import with_pairs
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from training.judge_moves import Reading, how_right, names_of

LEAST = 0.25
"""The chance of an act from which on it is learned from."""
DECAY, ROUNDS = 30.0, 25

Row = tuple[str, str, list[float], bool]
"""Hand, act, numbers, and whether it is not wrong."""
Fitted = dict[str, list[float]]


def rows(readings: Sequence[Reading]) -> list[Row]:
    found = []
    for case, moves, pairs in readings:
        asked = MoveRequest(case.turns, case.at, [(move.start, move.end) for move in moves], case.lines)
        same = names_of(case, moves)
        for which, first in enumerate(moves):
            told = pairs[which] if pairs else {}
            move = with_pairs(first, told)
            done = move_doubt.deed(move)
            if done is None or move.acts[done[0]] < LEAST:
                continue
            act, lines = done
            right = how_right(case, move, act, frozenset(same.get(name, name) for name in lines)) != "wrong"
            found.append((case.hand, act, move_doubt.doubt_features(asked, which, move, act, lines, told), right))
    return found


def fit(given: Sequence[Row]) -> Fitted:
    """Logistic regression by Newton's method: no chance in it."""
    raw = np.array([numbers for _, _, numbers, _ in given])
    found: Fitted = {"middle": raw.mean(0).tolist(), "wide": (raw.std(0) + 1e-3).tolist()}
    x = np.array([[*move_doubt.scale_features(numbers, act, found), 1.0] for _, act, numbers, _ in given])
    y = np.array([right for *_, right in given], float)
    w = np.zeros(x.shape[1])
    keep = np.full(len(w), DECAY)
    keep[-1] = 1e-3
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-(x @ w)))
        slope = x.T @ (y - p) - keep * w
        bend = (x * (p * (1 - p))[:, None]).T @ x + np.diag(keep)
        w += np.linalg.solve(bend, slope)
    return found | {"weights": w[:-1].tolist(), "bias": [float(w[-1])]}
