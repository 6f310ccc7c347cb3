"""Measures how the time of recall grows with the book, and how long peers take for the same questions.

One owner's book grows from 1,000 to 100,000 memories. At each size questions are asked by words alone and with vectors.
Embedding a question costs the same at any size and for any store, so a stand-in embedder is used that costs almost
nothing: only the store is measured. Peers (recall_peers.py) are measured if they are installed.
"""

import hashlib
import itertools
import json as json_module
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from base64 import b32encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keepbook.app import Keepbook
from keepbook.bench.crowd import COLUMNS
from keepbook.bench.recall_peers import NOTES, PEERS, PeerData, are_installed
from keepbook.book.book import Book
from keepbook.book.ground.when import stamp
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.indexes.word_index import IndexedText, term_weights

Floats = NDArray[np.float32]

SIZES = (1_000, 5_000, 50_000, 100_000)  # memories
BESIDE = (5_000, 50_000)
"""The sizes at which peers are measured; not at all, because they take long to fill."""
OURS = ("words", "hybrid")
FIRST = "hybrid, just opened"
"""The way that measures the first answer of a program that has just opened the book and must read the vectors."""
ASKED = 40
"""How many questions are asked at each size."""
PATIENCE, FEWEST = 20.0, 8
"""After these seconds a way is asked no more questions, once it has answered this many."""
DIMS = 384
"""The dimensions of a vector, as many as those of the bundled embedder."""


class QuestionTime(NamedTuple):
    """The median milliseconds of a question by one way at one size: elapsed (`ms`), and processor time (`work`)."""

    way: str
    size: int
    ms: float
    work: float


class Directions:
    """A stand-in for an embedder: a random vector for each word, so that texts with common words are a little alike."""

    space: str = "bench"
    floor: float = 0.3

    def __init__(self) -> None:
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str], within: float | None = None) -> Floats:
        rows = np.asarray([sum(self._word(word) for word in text.split()) for text in texts], dtype=np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]

    def ask(self, text: str) -> Floats:
        return self.embed([text])[0]  # type: ignore[no-any-return]

    def _word(self, word: str) -> Floats:
        if word not in self._known:
            made = np.random.default_rng(int.from_bytes(word.encode()[:8].ljust(8), "big")).standard_normal(DIMS)
            self._known[word] = made.astype(np.float32)
        return self._known[word]


# The content of the book


def synthetic_facts(seed: int) -> Iterator[str]:
    """Endless facts of made-up words, a few of them common and the others rarer and rarer, as in a language."""
    chance = random.Random(seed)
    syllables = [one + two for one in "bdfgklmnprstv" for two in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.choice((2, 3, 3, 4)))) for _ in range(30_000)]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(6, 14)))


def grow(path: Path, owner: str, held: int, facts: Sequence[str]) -> None:
    """Insert memories into the tables directly, which is faster than the operations; the guards of the database hold.
    `held` memories are there already."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("BEGIN IMMEDIATE")
        for nth, content in enumerate(facts, held + 1):
            at = stamp(datetime(2020, 1, 1, tzinfo=UTC) + timedelta(minutes=nth))
            id = b32encode(hashlib.blake2b(str(nth).encode(), digest_size=5).digest()).decode().lower()  # in no order
            mark = f"mark {nth}"
            previous = f"mark {nth - 1}" if nth > 1 else ""
            entry = (owner, nth, nth, at, "person", "bench", "remember", id, "{}", "{}", "", "", previous, mark)
            for table, row in (
                ("ledger", entry),
                ("memories", (owner, id, "fact", "asserted", 0.5, 1, at, at, at, nth)),
                ("versions", (owner, id, 1, content, "profile", "[]", at, at, 0, nth)),
            ):
                columns = COLUMNS[table]
                conn.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})", row)
            weights = term_weights(IndexedText(None, None, content, None, None))
            rows = [(owner, term, id, weight) for term, weight in weights.items()]
            conn.executemany(f"INSERT INTO terms ({COLUMNS['terms']}) VALUES (?, ?, ?, ?)", rows)
        conn.execute("COMMIT")


# Measuring


def time_questions(way: str, size: int, ask: Callable[[str], Any], questions: Sequence[str]) -> QuestionTime:
    """The median time of a question. Each is asked three times and the fastest counts, because other programs on the
    machine only make it slower."""
    ask(questions[0])  # not counted: it fills caches
    walls, works, began = [], [], time.perf_counter()
    for question in questions:
        tries = []
        for _ in range(3):
            start, worked = time.perf_counter(), time.process_time()
            ask(question)
            tries.append((time.perf_counter() - start, time.process_time() - worked))
        walls.append(min(wall for wall, _ in tries))
        works.append(min(work for _, work in tries))
        if time.perf_counter() - began > PATIENCE and len(walls) >= FEWEST:
            break
    return QuestionTime(way, size, statistics.median(walls) * 1000, statistics.median(works) * 1000)


def measure(sizes: Sequence[int] = SIZES, beside: Sequence[int] = BESIDE) -> Iterator[QuestionTime]:
    """Grow the book and measure; yields each figure at once, because peers take minutes to fill."""
    facts, written = synthetic_facts(1), list[str]()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        kb = stack.enter_context(closing(Keepbook(folder / "bench.db", embedder="none")))
        meaning = stack.enter_context(closing(Meaning(kb._database, Directions())))
        words = kb.book("grower")
        hybrid = _with_meaning(kb, meaning)
        for size in sizes:
            fresh = list(itertools.islice(facts, size - len(written)))
            grow(folder / "bench.db", words.owner, len(written), fresh)
            written += fresh
            hybrid.reindex()
            chance = random.Random(size)
            questions = [" ".join(chance.sample(chance.choice(written).split(), 4)) for _ in range(ASKED)]
            yield time_questions("words", size, words.recall, questions)
            yield time_questions("hybrid", size, hybrid.recall, questions)
            yield _time_first_answer(size, folder / "bench.db", questions[0])
            if size in beside:
                rows = meaning.embedder.embed(written)
                for name, (peer, modules) in PEERS.items():
                    if are_installed(*modules):
                        place = folder / f"{name} {size}"
                        place.mkdir()
                        with peer(PeerData(place, written, rows, meaning.embedder)) as ask:
                            yield time_questions(name, size, ask, questions)


def _with_meaning(kb: Keepbook, meaning: Meaning) -> Book:
    """The book, with this embedder in place of the one of the settings."""
    return Book(kb._database, "grower", kb.book("grower").origin, kb._presets, meaning=meaning)


def _time_first_answer(size: int, path: Path, question: str) -> QuestionTime:
    """The time from opening the book to the first answer."""
    began, worked = time.perf_counter(), time.process_time()
    with (
        closing(Keepbook(path, embedder="none")) as kb,
        closing(Meaning(kb._database, Directions())) as meaning,
    ):
        _with_meaning(kb, meaning).recall(question)
        ms, work = (time.perf_counter() - began) * 1000, (time.process_time() - worked) * 1000
        return QuestionTime(FIRST, size, ms=ms, work=work)


# Showing


def scale_report(found: Iterable[QuestionTime]) -> dict[str, Any]:
    """The times by way and size, how much they grow, and the sizes at which a peer is faster."""
    found = list(found)
    ms, work = _group_by_way(found, "ms"), _group_by_way(found, "work")
    growth, slower = {}, []
    for way in OURS:
        smallest, largest = min(ms[way]), max(ms[way])
        growth[way] = round(ms[way][largest] / ms[way][smallest], 2)
    for peer in PEERS:
        for size, peer_ms in ms.get(peer, {}).items():
            slower += [f"{way} is slower than {peer} at {size:,}" for way in OURS if ms[way][size] > peer_ms]
    absent = [peer for peer in PEERS if peer not in ms]
    return {
        "ms": ms, "cpu_ms": work, "growth": growth, "slower_than_a_peer": slower, "peers_not_installed": absent,
        "notes": {peer: note for peer, note in NOTES.items() if peer in ms},
    }  # fmt: skip


def _group_by_way(found: Sequence[QuestionTime], which: str) -> dict[str, dict[int, float]]:
    """One field (`which`) of all figures, by way and by size."""
    by_way: dict[str, dict[int, float]] = {}
    for one in found:
        by_way.setdefault(one.way, {})[one.size] = round(getattr(one, which), 3)
    return by_way


def _print_times(found: Iterable[QuestionTime]) -> Iterator[QuestionTime]:
    for one in found:
        print(f"{one.size:>8,} {one.way}: {one.ms:.2f} ms", file=sys.stderr)
        yield one


def main(json: bool) -> bool:
    """Print the figures. Returns whether recall takes at most ten times as long for the largest book as for the
    smallest, and no peer is faster."""
    told = scale_report(_print_times(measure()))
    if json:
        print(json_module.dumps(told))
    else:
        for way, sizes in told["ms"].items():
            taken = (f"{size:>10,}: {ms:8.2f} ({told['cpu_ms'][way][size]:.2f})" for size, ms in sizes.items())
            print(f"{way:22}" + "".join(taken))
        print("milliseconds a question takes; in brackets the processor's part of it")
        print("growth for 100 × the data: " + ", ".join(f"{way} {ratio} ×" for way, ratio in told["growth"].items()))
        print("slower than a peer: " + ("; ".join(told["slower_than_a_peer"]) or "never"))
        for peer, note in told["notes"].items():
            print(f"{peer}: {note}")
        if told["peers_not_installed"]:
            print("not installed, so not measured: " + ", ".join(told["peers_not_installed"]))
    return not told["slower_than_a_peer"] and all(ratio <= 10 for ratio in told["growth"].values())
