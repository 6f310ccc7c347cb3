"""Stores and embeds a history of a given number of wordpieces, step by step, while questions are asked.

The figures of each step are a line of a file, so that a run that was stopped continues after the last one; a session
that is stored already is skipped. At the end, one new process opens the book and another an empty one. Compared are
their memory, and the time of the first and of later questions with that of reading the same vectors and of scanning
them with numpy.
"""

import json as json_module
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from keepbook.app import Keepbook
from keepbook.bench.closing import megabytes_held
from keepbook.bench.history.made_up_history import SESSION, MadeUpHistory, words_of_one_piece
from keepbook.book.book import Book

OWNER, EMPTY = "history", "nobody"
"""The owners of the history and of the empty book."""
STEP = 100_000
"""How many wordpieces one step stores."""
PAUSE = 0.5
"""Seconds between two questions while the history is stored."""
QUESTIONS = 20
"""How many questions the new processes are asked."""
MOST_MEGABYTES, MOST_SEARCH, MOST_FIRST = 150.0, 2.0, 2.0
"""The limits of the figures in `bars`, in their order."""


class Asker:
    """Asks one question after the other in a thread, and notes how long each took, how many found nothing (`empty`),
    and the errors."""

    def __init__(self, book: Book, history: MadeUpHistory, upto: int) -> None:
        self.seconds: list[float] = []
        self.empty: int = 0
        self.failures: list[str] = []
        self.cpu: float = 0.0
        """Seconds of processor time that its thread has used."""
        self._book, self._history, self._upto = book, history, upto
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keepbook bench asker", daemon=True)

    def __enter__(self) -> "Asker":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._over.is_set():
            began = time.perf_counter()
            try:
                found = self._book.recall_chats(self._history.question(number, self._upto), 10)
            except Exception as error:  # noqa: BLE001  a question that fails is a figure
                self.failures.append(type(error).__name__)
                return
            self.seconds.append(time.perf_counter() - began)
            self.empty += not found
            number += 1
            self.cpu = time.thread_time()
            self._over.wait(PAUSE)


def keep_sessions(book: Book, history: MadeUpHistory, first: int, until: int) -> int:
    """Store the sessions that are not stored yet; returns how many words they have."""
    words = 0
    for number in range(first, until):
        with book.transaction():
            chat = book.thread(f"session {number}")
            if chat.thread.turns:
                continue
            for turn in history.session(number):
                chat.add(turn.role, turn.text, turn.at)
                words += len(turn.text.split())
    return words


def grow_history(book: Book, history: MadeUpHistory, steps: Path, tokens: int) -> Iterator[dict[str, Any]]:
    """Store and embed the history until it has `tokens` wordpieces, asking questions all the while. Yields the figures
    of each step, and adds them to the file `steps`."""
    stored, sessions = 0, 0
    if steps.exists():
        lines = steps.read_text("utf-8").splitlines()
        if lines:
            last = json_module.loads(lines[-1])
            stored, sessions = last["tokens"], last["sessions"]
    while stored < tokens:
        until = sessions + max(1, min(STEP, tokens - stored) // SESSION)
        with Asker(book, history, sessions) as asker:
            began = time.process_time() - asker.cpu
            keep_sessions(book, history, sessions, until)
            stored_at = time.process_time() - asker.cpu
            book.reindex()
            embedded_at = time.process_time() - asker.cpu
        for number in range(sessions, until):
            stored += sum(len(turn.text.split()) for turn in history.session(number))
        sessions = until
        wall_ms = None
        if asker.seconds:
            wall_ms = round(statistics.median(asker.seconds) * 1000, 1)
        step = {
            "tokens": stored, "sessions": sessions, "words_cpu_s": round(stored_at - began, 2),
            "vectors_cpu_s": round(embedded_at - stored_at, 2), "process_mb": round(megabytes_held(), 1),
            "asked": len(asker.seconds), "empty": asker.empty, "failures": asker.failures,
            "wall_ms": wall_ms,
        }  # fmt: skip
        with steps.open("a", encoding="utf-8") as file:
            file.write(json_module.dumps(step) + "\n")
        yield step


def opened(place: Path, owner: str, questions: list[str]) -> dict[str, Any]:
    """The figures of a new process that opens the book at `place` and asks these questions."""
    command = [sys.executable, "-m", "keepbook.bench.history.opened_history", str(place), owner]
    done = subprocess.run([*command, json_module.dumps(questions)], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json_module.loads(done.stdout)
    return found


def bars(full: dict[str, Any], empty: dict[str, Any]) -> dict[str, float]:
    """The figures that have a limit: megabytes more than a process with an empty book, and two ratios of time."""
    return {
        "megabytes_over_an_empty_book": round(full["process_mb"] - empty["process_mb"], 1),
        "search_beside_a_scan": round(full["question_ms"] / max(full.get("scan_ms", 0.0), 1e-3), 2),
        "first_question_beside_reading": round(full["first_ms"] / max(full.get("read_ms", 0.0), 1e-3), 2),
    }


def main(tokens: int, keep: str | None, json: bool) -> bool:
    """Print each step and the figures of the whole. Returns whether they are within the limits, and every question was
    answered."""
    with nullcontext(keep) if keep is not None else tempfile.TemporaryDirectory(prefix="keepbook-bench-") as name:
        folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        history, place = MadeUpHistory(words_of_one_piece()), folder / "history.db"
        steps = []
        with closing(Keepbook(place)) as kb:
            for step in grow_history(kb.book(OWNER), history, folder / "steps.jsonl", tokens):
                steps.append(step)
                print(_step_line(step), file=sys.stderr, flush=True)
        last = json_module.loads((folder / "steps.jsonl").read_text("utf-8").splitlines()[-1])
        questions = [history.question(number, last["sessions"]) for number in range(QUESTIONS)]
        full = opened(place, OWNER, questions)
        empty = opened(folder / "empty.db", EMPTY, questions)
        told = {
            "tokens": last["tokens"], "steps": steps, "opened": full, "empty": empty, "bars": bars(full, empty),
            "book_bytes": place.stat().st_size,
        }  # fmt: skip
    if json:
        print(json_module.dumps(told))
    else:
        print("\n".join(_lines(told)))
    limits = (MOST_MEGABYTES, MOST_SEARCH, MOST_FIRST)
    holds = all(value <= most for value, most in zip(told["bars"].values(), limits, strict=True))
    return holds and full["answered"] == full["asked"] and not any(step["failures"] for step in steps)


def _step_line(step: dict[str, Any]) -> str:
    return (
        f"{step['tokens']:>12,} wordpieces: CPU {step['words_cpu_s']} s for words, {step['vectors_cpu_s']} s for "
        f"vectors; {step['asked']} questions meanwhile, {step['wall_ms']} ms in the middle; {step['process_mb']} MB"
    )


def _lines(told: dict[str, Any]) -> Iterator[str]:
    full, found = told["opened"], told["bars"]
    yield f"{told['tokens']:,} wordpieces, {full['vectors']:,} vectors, {told['book_bytes']:,} bytes of book"
    yield f"resident over an empty book: {found['megabytes_over_an_empty_book']} MB (at most {MOST_MEGABYTES:g})"
    yield (
        f"a question: CPU {full['question_ms']} ms, {found['search_beside_a_scan']} × a numpy scan of the same vectors "
        f"(at most {MOST_SEARCH:g})"
    )
    yield (
        f"the first after a start: CPU {full['first_ms']} ms, {found['first_question_beside_reading']} × reading those "
        f"bytes (at most {MOST_FIRST:g})"
    )
    yield f"answered: {full['answered']} of {full['asked']}"
