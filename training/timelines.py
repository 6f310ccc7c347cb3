"""Scores the timeline of a topic on made-up histories: how many of the events it has, and in which order.

Each line of the file has a `topic`, `chats` (`date`, and `turns` of `role` and `text`) and `events` (`event`, the `day`
on which it happened, and the `chat` and `turn` that tell it, counted from 0). An event is found where a line stands for
its turn; of several lines of one turn, the one that shares most words with it. The order is Kendall's tau of the events
found against their days. Run: `python -m training.timelines FILE`.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

from keepbook import Keepbook
from keepbook.book.book import Book
from keepbook.book.recall.turns.topic_events import TimelineLine
from keepbook.book.text.words import content_words


def store_history(book: Book, history: Mapping[str, Any]) -> dict[tuple[str, int], tuple[int, int]]:
    """Put the chats into a book; which of its turns are which of the history."""
    placed = {}
    for nth, told in enumerate(history["chats"]):
        chat = book.thread(f"chat {nth}")
        for number, turn in enumerate(told["turns"]):
            message = chat.add(turn["role"], turn["text"], told["date"])
            placed[chat.id, message.turn] = (nth, number)
    book.reindex()
    return placed


def place_of(event: Mapping[str, Any], lines: Sequence[tuple[tuple[int, int], TimelineLine]]) -> int | None:
    """Which line tells an event."""
    said = set(content_words(event["event"]))
    mine = [at for at, (place, _) in enumerate(lines) if place == (event["chat"], event["turn"])]
    return max(mine, key=lambda at: len(said & set(content_words(lines[at][1].text))), default=None)


def kendall(places: Sequence[tuple[str, int]]) -> float | None:
    """The order of lines against that of days; events of one day may stand either way."""
    signs = [1 if (one[0] < other[0]) == (one[1] < other[1]) else -1
             for one, other in combinations(places, 2) if one[0] != other[0] and one[1] != other[1]]  # fmt: skip
    return mean(signs) if signs else None


def main(path: str) -> None:
    histories = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    found, order, right, many = [], [], [], []
    with Keepbook(":memory:") as kb:
        for nth, history in enumerate(histories):
            book = kb.book(f"history {nth}")
            placed = store_history(book, history)
            lines = [
                (placed[line.thread_id, line.turn], line)
                for line in book.timeline(history["topic"])
                if line.thread_id is not None and line.turn is not None
            ]
            spots = [(event["day"], place_of(event, lines)) for event in history["events"]]
            known = [(day, spot) for day, spot in spots if spot is not None]
            found.append(len(known) / len(spots))
            right += [lines[spot][1].day.isoformat() == day for day, spot in known]
            many.append(len(lines))
            if (tau := kendall(known)) is not None:
                order.append(tau)
    print(f"{len(histories)} histories: found {mean(found):.3f}, order {mean(order):.3f}, right day {mean(right):.3f}, "
          f"lines {mean(many):.1f}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1])
