"""How many questions the notebook answers, of those with an answer in the book and of those without one.

    python -m training.answer_floor FILE... [--half seen|kept] [--tell]

A file has a book a line: its lines, and questions with the numbers of the lines that answer, or none. Each file is
played with and without the embedder. A question belongs to one of two halves by its hash: the weights and floors of
`reply/answer_weights.py` are learned from the half that is `seen` (`training/answer_fit.py`), and held against the one
that is `kept`. `--tell` names each question that went wrong; of the kept half nobody looks at it.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from zlib import crc32

from keepbook import Keepbook
from keepbook.models.notebook.reply.lookup import LookupResult, find_answers


def half_of(book: str, question: str) -> str:
    """The half that a question belongs to."""
    return ("seen", "kept")[crc32(f"{book} {question}".encode()) % 2]


def count_answers(path: Path, embedder: str, halves: tuple[str, ...], tell: bool = False) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {half: Counter() for half in halves}
    with Keepbook(":memory:", embedder=embedder) as kb:
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            book = kb.book(row["id"])
            ids = [book.remember(line, force=True).id for line in row["lines"]]
            book.reindex()
            for one in row["questions"]:
                half = half_of(row["id"], one["q"])
                if half not in counts:
                    continue
                wanted = {ids[number] for number in one["answer"]}
                hits = book.recall(one["q"], limit=8)
                found = find_answers(one["q"], hits, (), (), sense=book.meaning)
                outcome = _outcome(wanted, found)
                counts[half][outcome] += 1
                if tell and outcome not in ("right", "nothing, rightly"):
                    told = [line.content for line in found.lines]
                    print(f"  {outcome}: {one['q']} → {told}, nearest: {found.nearest and found.nearest.content}")
    return counts


def _outcome(wanted: set[str], found: LookupResult) -> str:
    told = [line.id for line in found.lines]
    if not wanted and not told:
        return "nearest shown" if found.nearest else "nothing, rightly"
    if not wanted:
        return "in vain"
    if told and told[0] in wanted:
        return "right"
    if wanted & set(told):
        return "right, not first"
    if found.nearest and found.nearest.id in wanted:
        return "shown as the nearest"
    return "another line" if told or found.nearest else "missed"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--half", choices=("seen", "kept"))
    parser.add_argument("--embedder", choices=("auto", "none"))
    parser.add_argument("--tell", action="store_true")
    told = parser.parse_args()
    halves = (told.half,) if told.half else ("seen", "kept")
    for embedder in (told.embedder,) if told.embedder else ("auto", "none"):
        for path in told.files:
            for half, counts in count_answers(path, embedder, halves, told.tell).items():
                print(embedder, path.name, half, dict(sorted(counts.items())))


if __name__ == "__main__":
    main()
