"""Plays written dialogues against the notebook and judges the end state of the book by program.

    python -m training.judge_dialogues FILE [--show] [--embedder none]

A dialogue has a book, the person's turns, and what must hold at the end: lines that hold, lines that ended, were
forgotten, or must never appear, and words of the last reply. It is `right` where all of it holds, `wrong` where the
book says or lost something it should not have, `asked` where the missing part waits as a question, and else `missed`.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keepbook import Book, Keepbook
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.memory.changes import Statement
from keepbook.models.model import TextDelta

VERDICTS = ("right", "asked", "missed", "wrong")


@dataclass
class Played:
    """A dialogue after its last turn."""

    case: dict[str, Any]
    holding: list[str] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    offered: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)
    reply: str = ""
    replies: list[str] = field(default_factory=list)

    def verdict(self) -> tuple[str, list[str]]:
        """How it ended, and what did not hold."""
        wrong, missing = self._wrong(), self._missing()
        if wrong:
            return "wrong", [*wrong, *missing]
        if not missing:
            return "right", []
        return ("asked" if self.offered else "missed"), missing

    def _wrong(self) -> list[str]:
        expect = self.case["expect"]
        said = [*self.holding, *self.offered]
        found = [f"should not be there: {pieces}" for pieces in expect.get("absent", ()) if _any(said, pieces)]
        if expect.get("unchanged"):
            found += [f"vanished: {line}" for line in self.before if line not in self.holding]
        lost = [pieces for pieces in expect.get("holds", ()) if _any(self.before, pieces)]
        found += [f"lost: {pieces}" for pieces in lost if not _any(self.holding, pieces)]
        found += [f"reply says {piece}" for piece in expect.get("answer_not", ()) if piece in self.reply.lower()]
        return found

    def _missing(self) -> list[str]:
        expect = self.case["expect"]
        found = [f"not kept: {pieces}" for pieces in expect.get("holds", ()) if not _any(self.holding, pieces)]
        for name in ("ended", "gone"):
            found += [f"not {name}: {pieces}" for pieces in expect.get(name, ()) if _any(self.holding, pieces)]
        found += [f"reply lacks {piece}" for piece in expect.get("answer", ()) if piece not in self.reply.lower()]
        return found


def _any(lines: Sequence[str], pieces: Sequence[str]) -> bool:
    return any(all(piece in line.lower() for piece in pieces) for line in lines)


def play(kb: Keepbook, case: dict[str, Any]) -> Played:
    book = kb.book(case["id"])
    for one in case["book"]:
        _put(book, one)
    played = Played(case, before=_holding(book))
    chat = book.threads.start(preset=case["preset"])
    for text in case["turns"]:
        played.reply = asyncio.run(_say(kb, chat, text))
        played.replies.append(played.reply)
    played.holding = _holding(book)
    played.offered = [one.content for one in book.proposals.list()]
    return played


def _put(book: Book, one: dict[str, str]) -> None:
    if one.get("by") == "person":
        book.remember(one["content"], force=True)
        return
    with book.writing() as (tx, preset):
        origin = Origin("extractor", "close", source="extracted")
        changes.remember(tx, origin, preset, Statement(one["content"], force=True, score=0.9))


def _holding(book: Book) -> list[str]:
    return [memory.content for memory in book.list(limit=1000) if memory.current]


async def _say(kb: Keepbook, chat: Any, text: str) -> str:
    parts = [event.text async for event in kb.talk(chat).say(text) if isinstance(event, TextDelta)]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true", help="print every dialogue that is not right")
    parser.add_argument("--embedder", default="auto")
    chosen = parser.parse_args()
    cases = [json.loads(line) for line in chosen.file.read_text(encoding="utf-8").splitlines() if line.strip()]
    counts: Counter[tuple[str, str]] = Counter()
    with Keepbook(":memory:", embedder=chosen.embedder) as kb:
        for case in cases:
            played = play(kb, case)
            verdict, why = played.verdict()
            counts[case["kind"], verdict] += 1
            if chosen.show and verdict != "right":
                print(json.dumps({"id": case["id"], "verdict": verdict, "why": why}, ensure_ascii=False))
    report(counts)


def report(counts: Counter[tuple[str, str]]) -> None:
    kinds = sorted({kind for kind, _ in counts})
    print(f"{'':12}" + "".join(f"{name:>10}" for name in VERDICTS))
    for kind in [*kinds, "all"]:
        row = [sum(n for (k, v), n in counts.items() if v == name and kind in (k, "all")) for name in VERDICTS]
        total = sum(row) or 1
        print(f"{kind:12}" + "".join(f"{n:>4} {n / total:4.0%}" + " " for n in row))


if __name__ == "__main__":
    main()
