"""How many questions the notebook answers, of those with an answer in the book and of those without one.

    python -m training.answer_floor FILE...

A file has a book a line: its lines, and questions with the numbers of the lines that answer, or none. Each file is
played with and without the embedder; the floors are those of `reply/lookup.py`, found on one file and held against
another.
"""

import json
import sys
from collections import Counter
from pathlib import Path

from keepbook import Keepbook
from keepbook.models.notebook.reply.lookup import find_answers


def count_answers(path: Path, embedder: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    with Keepbook(":memory:", embedder=embedder) as kb:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            book = kb.book(row["id"])
            ids = [book.remember(line, force=True).id for line in row["lines"]]
            book.reindex()
            for one in row["questions"]:
                wanted = {ids[number] for number in one["answer"]}
                hits = book.recall(one["q"], limit=8)
                found = find_answers(one["q"], hits, (), (), sense=book.meaning)
                counts[_outcome(wanted, {line.id for line in found.lines})] += 1
    return counts


def _outcome(wanted: set[str], told: set[str]) -> str:
    if not wanted:
        return "in vain" if told else "nothing, rightly"
    if wanted & told:
        return "right"
    return "another line" if told else "missed"


def main() -> None:
    for embedder in ("auto", "none"):
        for path in map(Path, sys.argv[1:]):
            print(embedder, path.name, dict(count_answers(path, embedder)))


if __name__ == "__main__":
    main()
