"""`keepbook bench growth`: how the processor time of reads grows with the memories of one owner.

A book is written for each size, with categories, tags, subjects, agents' lines and memories that have ended, by the
operations themselves; on a server the same rows. A figure is the median of five of this process's CPU time, each after
a write; the slope that of its logarithm between neighbouring sizes: 1 is in step with the size, 0 is the same at any
size. With `--keep` the book stays and is measured again without being written anew.
"""

import json as json_module
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
from pathlib import Path

from keepbook.app import Keepbook
from keepbook.bench.memory import CATEGORIES, a_server, random_sentence
from keepbook.bench.scale import copy_to_server, on_a_server
from keepbook.book.book import Book
from keepbook.errors import KeepbookError
from keepbook.settings import Settings

SIZES = (1_000, 10_000, 100_000)  # memories
TAGS, SUBJECTS, BATCH, ROUNDS, PAGE = 10, 5, 1_000, 5, 100
ENDED, BY_AGENT, WITH_SUBJECT = 0.05, 0.2, 0.1
"""The shares of memories that have ended, that were written by an agent, and that have a subject."""


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The CPU time of one operation at one size, and the slope (in logarithms of both) from the size before."""

    engine: str
    work: str
    size: int
    ms: float
    slope: float | None = None


# The books


def write_books(path: Path, sizes: Sequence[int]) -> None:
    """Write a book for each size, unless it is there already."""
    chance = random.Random(7)
    with Keepbook(path, embedder="none") as kb:
        for size in sizes:
            book = kb.book(_owner(size))
            for start in range(book.list(limit=1, state="all").total, size, BATCH):
                with book.transaction():
                    for _ in range(min(BATCH, size - start)):
                        _write_one(book, chance)


def _write_one(book: Book, chance: random.Random) -> None:
    writer = book.acting(actor="agent") if chance.random() < BY_AGENT else book
    ended = chance.random() < ENDED
    now = datetime.now(UTC)
    writer.remember(
        random_sentence(chance),
        category=chance.choice(CATEGORIES),
        subject=f"subject {chance.randrange(SUBJECTS)}" if chance.random() < WITH_SUBJECT else None,
        tags=[f"tag {chance.randrange(TAGS)}"],
        valid_from=now - timedelta(days=9) if ended else None,
        valid_until=now - timedelta(days=1) if ended else None,
        force=True,
    )


def _owner(size: int) -> str:
    return f"memories-{size}"


# Measuring


def works_of(book: Book) -> dict[str, Callable[[], object]]:
    """The measured operations, by name."""
    chance, sessions = random.Random(3), count()
    before = datetime.now(UTC)

    def close() -> None:
        chat = book.threads.start()
        chat.add("user", f"I moved to {chance.choice(('Oslo', 'Lima', 'Graz'))} and {random_sentence(chance).lower()}")
        chat.close()

    return {
        "remember": lambda: book.remember(random_sentence(chance), force=True),
        "recall": lambda: book.recall(random_sentence(chance)),
        "block": book.block,
        "inject": lambda: book.inject(f"session {time.time_ns()} {next(sessions)}"),
        "list": lambda: book.list(limit=PAGE),
        "list by category": lambda: book.list(limit=PAGE, category=chance.choice(CATEGORIES)),
        "list by tag": lambda: book.list(limit=PAGE, tags=["tag 1"]),
        "list by subject": lambda: book.list(limit=PAGE, subject="subject 1"),
        "list q": lambda: book.list(limit=PAGE, q=f"visit {chance.randrange(100, 999)}"),
        "as of": lambda: book.as_of(known=before, limit=PAGE),
        "recall of the past": lambda: book.recall(random_sentence(chance), known=before),
        "closing": close,
    }


def measure_growth(
    engine: str, place: str, sizes: Sequence[int], rounds: int, only: Sequence[str] = ()
) -> Iterator[GrowthPoint]:
    with Keepbook(place, settings=Settings(db=place, allow_bypass_login=True), embedder="none") as kb:
        works_of(kb.book("nobody"))["closing"]()  # the first closing loads the reader, which is not measured
        for size in sizes:
            works = works_of(kb.book(_owner(size)))
            for name, work in works.items():
                if not only or name in only:
                    work()
                    took = statistics.median(_cpu_of(work, works["remember"]) for _ in range(rounds))
                    yield GrowthPoint(engine, name, size, round(took * 1000, 3))


def _cpu_of(work: Callable[[], object], before: Callable[[], object]) -> float:
    """The CPU time of an operation after another one, a write, which makes cached results outdated."""
    before()
    began = time.process_time()
    work()
    return time.process_time() - began


def with_slopes(points: Sequence[GrowthPoint]) -> list[GrowthPoint]:
    """The points with the slope from the next smaller size."""
    slopes: dict[tuple[str, str, int], float] = {}
    for kind in dict.fromkeys((point.engine, point.work) for point in points):
        mine = sorted((p for p in points if (p.engine, p.work) == kind), key=lambda point: point.size)
        for less, more in pairwise(mine):
            rise = math.log(max(more.ms, 1e-3) / max(less.ms, 1e-3))
            slopes[*kind, more.size] = round(rise / math.log(more.size / less.size), 2)
    return [GrowthPoint(p.engine, p.work, p.size, p.ms, slopes.get((p.engine, p.work, p.size))) for p in points]


def measure(
    sizes: Sequence[int], rounds: int, postgres: str | None, keep: str | None, only: Sequence[str]
) -> Iterator[GrowthPoint]:
    with nullcontext(keep) if keep is not None else tempfile.TemporaryDirectory(prefix="keepbook-bench-") as name:
        folder = Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        write_books(folder / "books.db", sizes)
        with a_server(postgres, folder) as server:
            if server is not None:
                with on_a_server(server, None) as place:
                    copy_to_server(folder / "books.db", place)
                    yield from measure_growth("PostgreSQL", place, sizes, rounds, only)
        yield from measure_growth("SQLite", str(folder / "books.db"), sizes, rounds, only)


def main(
    sizes: Sequence[int] = SIZES,
    *,
    rounds: int = ROUNDS,
    postgres: str | None = None,
    keep: str | None = None,
    only: Sequence[str] = (),
    json: bool = False,
) -> bool:
    """Print each figure as it is measured. Returns whether anything was measured."""
    points: list[GrowthPoint] = []
    try:
        for point in measure(sorted(sizes), rounds, postgres, keep, only):
            points.append(point)
            slope = with_slopes(points)[-1].slope
            if not json:
                told = "" if slope is None else f"{slope:6.2f}"
                print(f"{point.engine:10}  {point.work:18}  {point.size:9,}  {point.ms:10.3f} ms  {told}", flush=True)
    except KeepbookError as error:
        print(f"left out: {error}", file=sys.stderr)
    if json:
        print(json_module.dumps([asdict(point) for point in with_slopes(points)], indent=2))
    return bool(points)
