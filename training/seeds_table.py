"""Prints what the notebook makes of sentences: a quotation, a question or nothing, with category and words.

    python -m training.seeds_table FILE > table.md

FILE has one JSON object a line: `preset` and `text`; where a sentence is said to something, also `known` (lines that
the book has) and `before` (what the person said earlier in the same chat). Each row is played in a book of its own, in
memory, without a model.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepbook import Book, Keepbook
from keepbook.book.chats.face import Chat
from keepbook.book.text.quotation import as_shown, shown_text
from keepbook.models.notebook.values import Deed, from_parts

ANSWERED = {"keep": "kept", "change": "changed", "end": "ended", "withdraw": "forgotten", "repeat": "known already"}
"""What the table calls a deed that is no question."""
HEAD = ("preset", "said to", "sentence", "becomes", "category", "words")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    preset: str
    context: str
    text: str
    outcome: str = "nothing"
    category: str = ""
    words: str = ""

    def cells(self) -> tuple[str, ...]:
        return self.preset, self.context, self.text, self.outcome, self.category, self.words


def table(cases: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """The rows of all cases: one for each deed of a sentence, one alone where it has none."""
    for number, case in enumerate(cases):
        with Keepbook(":memory:", preset=case["preset"]) as kb:
            yield from _play(kb, f"person-{number}", case)


def _play(kb: Keepbook, owner: str, case: dict[str, Any]) -> Iterator[Row]:
    book = kb.book(owner)
    known, before = case.get("known", []), case.get("before", [])
    for line in known:
        book.remember(line, category=book.preset().default_category)
    chat = book.threads.start()
    for text in [*before, case["text"]]:
        asyncio.run(_say(kb, chat, text))
    last = next(one for one in reversed(chat.messages()) if one.role == "user")
    row = Row(case["preset"], " / ".join([*known, *before]), case["text"])
    deeds = from_parts(last.parts)
    yield from (_row(book, row, deed) for deed in deeds) if deeds else [row]


async def _say(kb: Keepbook, chat: Chat, text: str) -> None:
    async for _ in kb.talk(chat).say(text):
        pass


def _row(book: Book, row: Row, deed: Deed) -> Row:
    if deed.question and deed.act != "answer" and deed.proposal is not None:
        asked = book.proposals.get(deed.proposal)
        words = as_shown(asked.content, asked.spans, asked.said_on) if asked.quoted else asked.content
        choices = ", ".join(choice.choice for choice in asked.choices) or "yes, no"
        outcome = f"question {asked.question or asked.op} ({choices})"
        return Row(row.preset, row.context, row.text, outcome, asked.category or "", words)
    outcome = ANSWERED.get(deed.act, deed.act) if not deed.failed else f"failed: {deed.failed}"
    if deed.act == "answer":
        outcome = f"answer {deed.choice}"
    if deed.memory is None:
        return Row(row.preset, row.context, row.text, outcome, "", deed.content or deed.hushed)
    memory = book.get(deed.memory)
    return Row(row.preset, row.context, row.text, outcome, memory.category or "", shown_text(memory))


def markdown(rows: Iterator[Row]) -> Iterator[str]:
    """The table, line by line."""
    yield _line(HEAD)
    yield _line(["---"] * len(HEAD))
    for row in rows:
        yield _line(row.cells())


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    text = parser.parse_args().file.read_text(encoding="utf-8")
    cases = [json.loads(line) for line in text.splitlines() if line.strip()]
    for line in markdown(table(cases)):
        print(line)


if __name__ == "__main__":
    main()
