"""How the notebook hears a feeling: `python -m training.feelings_fit` writes `feelings.npz` in
`src/keepbook/models/notebook/`.

Two linear readings of the bundled embedder's direction: whether a turn tells the person's feeling of the moment, and
whether that is a bad one. Learned from `feelings/a.jsonl`, and from turns of the training chats as what is none.
`feelings/judge.jsonl` has people of its own and is only judged on. Doing it again gives the same file.
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
SCALE, STRENGTH, EVERY_DAY = 3.0, 3.0, 0.5
"""How far vectors are spread, how free the weights are, and what a turn of every day counts."""


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
    taught, judged = rows_of("a.jsonl"), rows_of("judge.jsonl")
    every_day = turns_of_every_day()
    of_taught = SCALE * np.array(embedder.embed([row["text"] for row in taught]))
    of_days = SCALE * np.array(embedder.embed(every_day))
    felt = np.array([row["kind"] != "none" for row in taught], float)
    low = np.array([row["kind"] == "low" for row in taught], float)
    counts = np.append(np.ones(len(taught)), np.full(len(every_day), EVERY_DAY))
    any_feeling = logistic(np.vstack([of_taught, of_days]), np.append(felt, np.zeros(len(every_day))), counts, STRENGTH)
    of_felt = felt > 0
    bad = logistic(of_taught[of_felt], low[of_felt], np.ones(int(felt.sum())), STRENGTH)
    np.savez_compressed(feelings.WEIGHTS, space=embedder.space, felt=shipped(any_feeling), low=shipped(bad))
    feelings.load_weights.cache_clear()
    judge(judged, np.array(embedder.embed([row["text"] for row in judged])), embedder.space)
    fired = sum(feelings.feeling_of_direction(row / SCALE, embedder.space) is not None for row in of_days)
    print("turns of every day that are taken for one, seen in training:", fired, "of", len(every_day))


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
