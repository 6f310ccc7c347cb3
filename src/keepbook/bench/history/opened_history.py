"""What a process holds and takes that opens a history: run as a program, it prints its figures as JSON.

Beside the questions stand, over the same vectors, what reading their bytes takes and a scan by numpy.
"""

import json
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from keepbook.app import Keepbook
from keepbook.bench.closing import megabytes_held
from keepbook.book.recall.backlog import TURN

ROUNDS = 5
PLACES = 20


def figures(place: Path, owner: str, questions: Sequence[str], embedder: str | None = None) -> dict[str, Any]:
    """Milliseconds of a processor, and megabytes. The embedder is loaded before, so that only the book is measured."""
    with closing(Keepbook(place, embedder=embedder)) as kb:
        book = kb.book(owner)
        if kb.meaning is not None:
            directions = [kb.meaning.direction(question) for question in questions]
        else:
            directions = []
        held = megabytes_held()
        first = _cpu_ms(lambda: book.recall_chats(questions[0], PLACES))
        asked = [_median_ms(lambda text=text: book.recall_chats(text, PLACES)) for text in questions]  # type: ignore[misc]
        told = {
            "book_mb": round(megabytes_held() - held, 1), "process_mb": round(megabytes_held(), 1),
            "first_ms": round(first, 2), "question_ms": round(statistics.median(asked), 2),
            "answered": sum(bool(book.recall_chats(text, 1)) for text in questions), "asked": len(questions),
        }  # fmt: skip
    return told | _bare(place, owner, directions)


def _bare(place: Path, owner: str, directions: Sequence[Any]) -> dict[str, Any]:
    # numpy comes with the embedder, without which there are no vectors.
    import numpy as np

    with closing(sqlite3.connect(place)) as conn:
        query = "SELECT vector FROM vectors WHERE owner = ? AND kind = ?"
        read: list[tuple[bytes]] = []
        reading = _cpu_ms(lambda: read.extend(conn.execute(query, (owner, TURN)).fetchall()))
    if not read or not len(directions):
        return {"vectors": 0}
    codes = np.frombuffer(b"".join(row for (row,) in read), dtype=np.int8).reshape(-1, len(directions[0]))
    rows = codes.astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    most = min(PLACES, len(rows) - 1)

    def scan(asked: Any) -> Any:
        return np.argpartition(rows @ asked, -most)[-most:]

    scans = [_median_ms(lambda asked=asked: scan(asked)) for asked in directions]  # type: ignore[misc]
    return {"vectors": len(rows), "read_ms": round(reading, 2), "scan_ms": round(statistics.median(scans), 2)}


def _median_ms(work: Callable[[], object]) -> float:
    return statistics.median(_cpu_ms(work) for _ in range(ROUNDS))


def _cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    print(json.dumps(figures(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]))))
