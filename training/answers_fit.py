"""Which lines answer a question: `python -m training.answers_fit` writes `answering.npz` in
`src/keepbook/models/notebook/reply/`.

Learned from the books and questions of `answers/a.jsonl`: each question with each of the lines that recall brings. What
is printed first is of books that were left out, a fifth at a time. Doing it again gives the same file.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from keepbook import Keepbook
from keepbook.book.text.topic_meaning import logistic
from keepbook.models.embedders.bundled import find_bundled
from keepbook.models.notebook.reply import answering

HERE = Path(__file__).parent
COORDINATES, SPREAD, STRENGTH, FOLDS = 16, 8.0, 1.0, 5
"""How many coordinates a direction is taken to, how far their products are spread, and how free the weights are."""
PLAIN = 5
"""Features before the products."""


class Asked(NamedTuple):
    """A question, the lines that recall found, and which of them answer."""

    book: int
    question: str
    lines: list[str]
    answers: list[bool]
    answerable: bool


def read_questions(path: Path) -> list[Asked]:
    found = []
    with Keepbook(":memory:") as kb:
        for number, row in enumerate(map(json.loads, path.read_text(encoding="utf-8").splitlines())):
            book = kb.book(row["id"])
            ids = [book.remember(line, force=True).id for line in row["lines"]]
            book.reindex()
            for one in row["questions"]:
                hits = book.recall(one["q"], limit=8)
                wanted = {ids[at] for at in one["answer"]}
                answers = [hit.id in wanted for hit in hits]
                found.append(Asked(number, one["q"], [hit.content for hit in hits], answers, bool(wanted)))
    return found


def directions_of(asked: list[Asked]) -> dict[str, Any]:
    embedder = find_bundled()
    if embedder is None:
        raise SystemExit("needs keepbook[embed]")
    texts = sorted({text for one in asked for text in (one.question, *one.lines)})
    return dict(zip(texts, np.asarray(embedder.embed(texts), np.float32), strict=True))


def bare_weights(asked: list[Asked], directions: dict[str, Any]) -> answering.AnswerWeights:
    """The coordinates: the main axes of questions and lines."""
    rows = np.stack([directions[text] for one in asked for text in (one.question, *one.lines)])[::7]
    center = np.stack([directions[one.question] for one in asked]).mean(0)
    axes = np.linalg.svd(rows - center, full_matrices=False)[2][:COORDINATES]
    embedder = find_bundled()
    assert embedder is not None
    return answering.AnswerWeights(embedder.space, center, axes.astype(np.float32), np.zeros(0, np.float32))


def fit(rows: Any, answers: Any) -> Any:
    """Weights for features as they are; the bias last."""
    spread = np.where(np.arange(rows.shape[1]) < PLAIN, 1.0, SPREAD)
    found = logistic(rows * spread, answers, np.ones(len(rows), np.float32), STRENGTH)
    return np.append(spread * found[:-1], found[-1]).astype(np.float32)


def outcome(one: Asked, scores: Any) -> str:
    told = [right for right, score in zip(one.answers, scores, strict=True) if score >= answering.ANSWERS]
    if not one.answerable:
        return "in vain" if told else "nothing, rightly"
    if any(told):
        return "right"
    return "another line" if told else "missed"


def main() -> None:
    asked = read_questions(HERE / "answers" / "a.jsonl")
    directions = directions_of(asked)
    bare = bare_weights(asked, directions)
    rows = np.stack([
        answering.features(one.question, line, directions[one.question], directions[line], bare)
        for one in asked
        for line in one.lines
    ])  # fmt: skip
    answers = np.array([right for one in asked for right in one.answers], float)
    books = np.array([one.book for one in asked for _ in one.lines])
    scores = np.zeros(len(rows))
    for fold in range(FOLDS):
        out = books % FOLDS == fold
        weights = fit(rows[~out], answers[~out])
        scores[out] = rows[out] @ weights[:-1] + weights[-1]
    counts, at = Counter[str](), 0
    for one in asked:
        counts[outcome(one, scores[at : at + len(one.lines)])] += 1
        at += len(one.lines)
    print("left-out books:", dict(counts))
    np.savez_compressed(
        answering.WEIGHTS, space=bare.space, center=bare.center, axes=bare.axes, weights=fit(rows, answers)
    )


if __name__ == "__main__":
    main()
