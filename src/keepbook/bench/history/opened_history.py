"""Measures the memory and time of a process that opens a history and asks questions. Run as a program, it prints the
figures as JSON.

For comparison it measures how long it takes to read the same vectors, and to scan them with numpy.
"""

import json
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from keepbook.app import Keepbook
from keepbook.bench.closing import megabytes_held
from keepbook.book.recall.backlog import TURN

ROUNDS = 5
"""How often each question is asked; the median counts."""
PLACES = 20
"""How many hits a question asks for."""


def figures(place: Path, owner: str, questions: Sequence[str], embedder: str | None = None) -> dict[str, Any]:
    """The figures, in milliseconds of processor time and in megabytes. The questions are embedded first, so that the
    embedder is loaded and only the book is measured."""
    with closing(Keepbook(place, embedder=embedder)) as kb:
        book = kb.book(owner)
        directions: list[Any] = []
        if kb.meaning is not None:
            directions = [kb.meaning.direction(question) for question in questions]
        before_mb = megabytes_held()
        first_ms = _cpu_ms(lambda: book.recall_chats(questions[0], PLACES))
        all_ms = [_median_ms(partial(book.recall_chats, text, PLACES)) for text in questions]
        told = {
            "book_mb": round(megabytes_held() - before_mb, 1), "process_mb": round(megabytes_held(), 1),
            "first_ms": round(first_ms, 2), "question_ms": round(statistics.median(all_ms), 2),
            "answered": sum(bool(book.recall_chats(text, 1)) for text in questions), "asked": len(questions),
        }  # fmt: skip
    return told | _without_keepbook(place, owner, directions)


def _without_keepbook(place: Path, owner: str, directions: Sequence[Any]) -> dict[str, Any]:
    """How long it takes to read the vectors with sqlite3, and to scan them with numpy."""
    import numpy as np  # it comes with the embedder, without which there are no vectors

    with closing(sqlite3.connect(place)) as conn:
        query = "SELECT vector FROM vectors WHERE owner = ? AND kind = ?"
        read: list[tuple[bytes]] = []
        read_ms = _cpu_ms(lambda: read.extend(conn.execute(query, (owner, TURN)).fetchall()))
    if not read or not len(directions):
        return {"vectors": 0}
    codes = np.frombuffer(b"".join(row for (row,) in read), dtype=np.int8).reshape(-1, len(directions[0]))
    rows = codes.astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    most = min(PLACES, len(rows) - 1)

    def scan(asked: Any) -> Any:
        return np.argpartition(rows @ asked, -most)[-most:]

    scans_ms = [_median_ms(partial(scan, asked)) for asked in directions]
    return {"vectors": len(rows), "read_ms": round(read_ms, 2), "scan_ms": round(statistics.median(scans_ms), 2)}


def _median_ms(work: Callable[[], object]) -> float:
    return statistics.median(_cpu_ms(work) for _ in range(ROUNDS))


def _cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    print(json.dumps(figures(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))))
