"""From which relevance on the notebook answers a question: the least at which few questions without an answer get one.

    python -m training.answer_floor FIT [JUDGE]

A file has a book a line: its lines, and questions with the numbers of the lines that answer, or none. The floor is
found on the first file, with and without the embedder, and held against the second.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from keepbook import Keepbook
from keepbook.models.notebook.reply.lookup import is_about, rank_hits

MOST_WRONG = 2 / 40
"""The share of questions without an answer that may get one."""


class Asked(NamedTuple):
    """A question: the best relevance of a line about whom it asks, whether it has an answer, and got the right one."""

    relevance: float
    answerable: bool
    right: bool


def asked(path: Path, embedder: str) -> Iterator[Asked]:
    with Keepbook(":memory:", embedder=embedder) as kb:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            book = kb.book(row["id"])
            ids = [book.remember(line, force=True).id for line in row["lines"]]
            book.reindex()
            for one in row["questions"]:
                hits = [hit for hit in book.recall(one["q"], limit=8) if is_about(hit, one["q"])]
                told = [hit.id for hit in rank_hits(hits)][:4]
                wanted = {ids[number] for number in one["answer"]}
                best = max((hit.relevance for hit in hits), default=0.0)
                yield Asked(best, bool(wanted), bool(wanted & set(told)))


def floor_of(rows: list[Asked]) -> float:
    """The least floor at which no more than the allowed share is answered in vain."""
    vain = sorted((one.relevance for one in rows if not one.answerable), reverse=True)
    allowed = int(MOST_WRONG * len(vain))
    return round(vain[allowed] + 0.001, 3)


def figures(rows: list[Asked], floor: float) -> str:
    told = [one for one in rows if one.relevance >= floor]
    vain = sum(not one.answerable for one in told)
    right = sum(one.right for one in told if one.answerable)
    having = sum(one.answerable for one in rows)
    return f"right {right} of {having}, answered in vain {vain} of {len(rows) - having}"


def main() -> None:
    fit, *judge = map(Path, sys.argv[1:])
    for embedder in ("auto", "none"):
        rows = list(asked(fit, embedder))
        floor = floor_of(rows)
        print(f"{embedder}: floor {floor}; fit: {figures(rows, floor)}")
        for path in judge:
            print(f"  {path.name}: {figures(list(asked(path, embedder)), floor)}")


if __name__ == "__main__":
    main()
