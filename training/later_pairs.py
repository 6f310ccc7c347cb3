"""Scores the later words of recall on pairs of turns: which later turns are marked beside the earlier ones.

Each line of the file has `kind` (`update` or `lookalike`), `flavour`, `earlier` and `later` (`speaker`, `date`,
`text`), `context` (turns said in between) and a `question` whose first hit should be the earlier turn. Every pair is a
book of its own. Run: `python -m training.later_pairs FILE`.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keepbook import Keepbook
from keepbook.book.book import Book


def store_pair(book: Book, pair: Mapping[str, Any]) -> None:
    """Put the turns of a pair into a book, a chat for each day."""
    said = [pair["earlier"], *pair["context"], pair["later"]]
    for nth, turn in enumerate(said):
        book.thread(f"{nth} {turn['date']}").add("user", turn["text"], turn["date"], turn["speaker"])
    book.reindex()


def outcome_of(book: Book, pair: Mapping[str, Any]) -> str:
    """`marked`, `missed`, or `unfound` where the earlier turn is not among the first hits at all."""
    hits = book.recall_chats(pair["question"])
    mine = [hit for hit in hits[:10] if hit.text in pair["earlier"]["text"]]
    if not mine:
        return "unfound"
    later = mine[0].later
    return "marked" if later is not None and later.text in pair["later"]["text"] else "missed"


def main(path: str) -> None:
    pairs = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    found: Counter[tuple[str, str]] = Counter()
    flavours: Counter[tuple[str, str, str]] = Counter()
    with Keepbook(":memory:") as kb:
        for nth, pair in enumerate(pairs):
            book = kb.book(f"pair {nth}")
            store_pair(book, pair)
            outcome = outcome_of(book, pair)
            found[pair["kind"], outcome] += 1
            flavours[pair["kind"], pair["flavour"], outcome] += 1
    for kind in ("update", "lookalike"):
        many = sum(count for (one, _), count in found.items() if one == kind)
        told = ", ".join(f"{outcome} {found[kind, outcome]}" for outcome in ("marked", "missed", "unfound"))
        print(f"{kind:10} {found[kind, 'marked'] / max(1, many):.3f} of {many} ({told})")
    for (kind, flavour, outcome), count in sorted(flavours.items()):
        print(f"  {kind:10} {flavour:24} {outcome:8} {count}")


if __name__ == "__main__":
    main(sys.argv[1])
