"""How the notebook hears a feeling: `python -m training.feelings_fit` writes `feelings.npz` in
`src/keepbook/models/notebook/`.

Readings of the bundled embedder's direction: quadratic ones of whether a turn tells the person's feeling of the moment
and whether that is despair of life, and a linear one of whether it is a bad feeling. Learned from `feelings/a.jsonl`
and `b.jsonl`, and from turns of the training chats as what is none. `feelings/judge.jsonl` has people of its own and is
only judged on. Doing it again gives the same file.
"""

import json
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from keepbook.book.text.topic_meaning import logistic
from keepbook.models.embedders.bundled import find_bundled
from keepbook.models.notebook import feelings
from training.chats import by_writer

HERE = Path(__file__).parent
SCALE, STRENGTH = 3.0, 3.0
"""How far vectors are spread for the linear reading, and how free its weights are."""
FREE, FELT_COUNTS = 3.0, 3.0
"""How free the quadratic reading is, and how many others a turn with a feeling counts."""
AXES = 32
"""Of its 384 axes so many are shipped: those that bend it most."""


def turns_of_every_day() -> list[str]:
    """Turns with something to keep, from chats that were written for other ends."""
    found = []
    for chats in by_writer().values():
        for said in (one for chat in chats for one in chat.turns if one.role == "user"):
            text = " ".join(said.text.split())
            if len(text) <= feelings.LONGEST and any(part.label == "keep" for part in said.parts):
                found.append(text)
    return found[::2]


def rows_of(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (HERE / "feelings" / name).read_text(encoding="utf-8").splitlines()]


def main() -> None:
    embedder = find_bundled()
    if embedder is None:
        raise SystemExit("needs keepbook[embed]")
    of_b, judged = rows_of("b.jsonl"), rows_of("judge.jsonl")
    taught = [*rows_of("a.jsonl"), *of_b]
    every_day = turns_of_every_day()
    of_taught, of_days = np.array(embedder.embed([row["text"] for row in taught])), np.array(embedder.embed(every_day))
    felt = np.array([row["kind"] != "none" for row in taught])
    bad = np.array([row["kind"] in ("low", "despair") for row in taught], float)[felt]
    dark = np.array([row["kind"] == "despair" for row in taught])
    # A low feeling of the first set may be despair: nobody has told the two apart there.
    told_apart = np.array([row["kind"] != "low" or row in of_b for row in taught])
    none = np.zeros(len(of_days), bool)
    any_feeling = quadratic(np.vstack([of_taught, of_days]), np.append(felt, none))
    despair = quadratic(np.vstack([of_taught[told_apart], of_days]), np.append(dark[told_apart], none))
    low = logistic(SCALE * of_taught[felt], bad, np.ones(int(felt.sum())), STRENGTH)
    parts = {
        f"{name}_{part}": weights
        for name, reading in zip(feelings.QUADRATIC, (any_feeling, despair), strict=True)
        for part, weights in reading._asdict().items()
    }
    np.savez_compressed(feelings.WEIGHTS, space=embedder.space, low=shipped(low), **parts)
    feelings.load_weights.cache_clear()
    judge(judged, np.array(embedder.embed([row["text"] for row in judged])), embedder.space)
    fired = sum(feelings.feeling_of_direction(row, embedder.space) is not None for row in of_days)
    print("turns of every day that are taken for one, seen in training:", fired, "of", len(every_day))


def quadratic(rows: np.ndarray, felt: np.ndarray) -> feelings.Quadratic:
    """Kernel ridge regression with the kernel (1 + x·y)², whose reading is at most quadratic in x."""
    held_back = np.diag(1 / (FREE * np.where(felt, FELT_COUNTS, 1.0)))
    shares = np.linalg.solve((1 + rows @ rows.T) ** 2 + held_back, np.where(felt, 1.0, -1.0))
    squares, axes = np.linalg.eigh((rows * shares[:, None]).T @ rows)
    most = np.argsort(-np.abs(squares))[:AXES]
    own = np.append(2 * shares @ rows, shares.sum())
    return feelings.Quadratic(*(part.astype(np.float32) for part in (axes[:, most].T, squares[most], own)))


def shipped(weights: np.ndarray) -> np.ndarray:
    """Weights for vectors that are not spread; the bias stays."""
    return np.append(SCALE * weights[:-1], weights[-1]).astype(np.float32)


def judge(rows: list[dict[str, str]], directions: "np.ndarray", space: str) -> None:
    found = [feelings.feeling_of_direction(direction, space) for direction in directions]
    told = [(row["kind"], one) for row, one in zip(rows, found, strict=True)]
    taken = [pair for pair in told if pair[1] is not None]
    right = [pair for pair in taken if pair[0] != "none"]
    print("judge: P", round(len(right) / len(taken), 3), "R", round(len(right) / sum(k != "none" for k, _ in told), 3))
    print("low or glad right:", sum(kind == one for kind, one in right), "of", len(right))


if __name__ == "__main__":
    main()
