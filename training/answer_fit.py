"""Learns what each thing seen in a question and a line weighs: writes `reply/answer_weights.toml`.

    python -m training.answer_fit

From the half of `b.jsonl`, `c.jsonl` and `d.jsonl` that is `seen`: what `answering.py` says of them was learned from
others (`a.jsonl`, `training/answers_fit.py`). Logistic regression by Newton's steps, which always ends at the same
weights.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from keepbook import Keepbook
from keepbook.book.recall.people import names_of_relations
from keepbook.models.embedders.bundled import find_bundled
from keepbook.models.notebook.reply.answer_score import WEIGHTS, features_of, learned_of, parse_question
from keepbook.models.notebook.reply.lookup import ADDRESSING, likenesses_of
from training.answer_floor import half_of

FOLDER = Path(__file__).parent / "answers"
FILES = ("b", "c", "d")
HELD_BACK = 2.0
"""How far the weights are held back towards nothing."""


class Pair(NamedTuple):
    """A question held against a line, as the notebook sees it."""

    seen: dict[str, float]
    answers: bool


def pairs_of(embedder: str) -> Iterator[Pair]:
    with Keepbook(":memory:", embedder=embedder) as kb:
        for name in FILES:
            for row in map(json.loads, (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()):
                asked = [q for q in row["questions"] if half_of(row["id"], q["q"]) == "seen"]
                yield from (Pair(seen, answers) for seen, answers in _pairs_of_book(kb.book(row["id"]), row, asked))


def _pairs_of_book(book: Any, row: Any, asked: list[Any]) -> Iterator[tuple[dict[str, float], bool]]:
    number = {book.remember(line, force=True).id: at for at, line in enumerate(row["lines"])}
    book.reindex()
    called = names_of_relations(row["lines"])
    for one in asked:
        question = parse_question(one["q"], called, ADDRESSING)
        hits = book.recall(one["q"], limit=8)
        likenesses = likenesses_of(question, hits, (), book.meaning)
        for at, hit in enumerate(hits):
            rival = max((likeness for place, likeness in enumerate(likenesses) if place != at), default=0.0)
            learned = learned_of(one["q"], hit.content, book.meaning)
            seen = features_of(question, hit.content, hit.subject, likenesses[at], rival, learned)
            yield seen, number[hit.id] in one["answer"]


def learn(pairs: list[Pair]) -> dict[str, float]:
    """The weights, and `base`, at which the weighted likelihood of the pairs is greatest, held back a little."""
    names = sorted({name for pair in pairs for name in pair.seen})
    seen = np.array([[pair.seen.get(name, 0.0) for name in names] for pair in pairs])
    answers = np.array([pair.answers for pair in pairs], float)
    middle, spread = seen.mean(0), seen.std(0) + 1e-6
    scaled = np.c_[(seen - middle) / spread, np.ones(len(seen))]
    held = np.eye(len(names) + 1) * HELD_BACK
    held[-1, -1] = 0.0
    found = np.zeros(len(names) + 1)
    for _ in range(30):
        likely = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ (likely - answers) + held @ found
        bend = (scaled * (likely * (1 - likely))[:, None]).T @ scaled + held
        found -= np.linalg.solve(bend, slope)
    each = found[:-1] / spread
    told = {name: round(float(value), 3) for name, value in zip(names, each, strict=True)}
    return {"base": round(float(found[-1] - middle @ each), 3), **told}


def main() -> None:
    pairs = list(pairs_of("auto"))
    found = find_bundled()
    assert found is not None
    learned = learn(pairs)
    lines = [
        "# Written by training/answer_fit.py.",
        f'space = "{found.space}"',
        f"base = {learned.pop('base')}",
        "",
        "[weights]",
    ]
    lines += [f'"{name}" = {value}' for name, value in learned.items()]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
