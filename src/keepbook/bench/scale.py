"""`keepbook bench scale`: how waiting times grow with other owners, with memories and with messages.

It measures SQLite in a file, PostgreSQL, and a Citus cluster if there is one, all in the same way. The measured books
are real: they are written by the operations on SQLite, with complete chains, and copied row by row to a server. Other
owners are only rows, inserted with plain SQL. A figure is a median, shown as a ratio to the smallest size, so that
machines can be compared.
"""

import io
import itertools
import json
import random
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keepbook.app import Keepbook
from keepbook.bench.crowd import COLUMNS, crowd_rows
from keepbook.bench.memory import a_server, random_sentence, seconds_of
from keepbook.bench.pictures import PlotLine, chart
from keepbook.book.book import Book
from keepbook.book.chats.face import Chat
from keepbook.errors import KeepbookError
from keepbook.settings import Settings
from keepbook.storage.database import distribute, is_postgresql, upgrade
from keepbook.storage.tables import shipped_tables

STEPS = (1_000, 10_000, 100_000, 1_000_000)
DATABASE = "keepbook_bench_scale"


@dataclass(frozen=True, slots=True)
class MedianTime:
    """The median time of an operation (`work`), with `size` many of what grows (`among`)."""

    engine: str
    among: str
    size: int
    work: str
    ms: float


# The books


def true_books(path: Path, memories: Sequence[int], messages: Sequence[int]) -> None:
    """Write a book for each number of memories, and one for each number of messages, on SQLite."""
    chance = random.Random(5)
    with Keepbook(path, embedder="none") as kb:
        for size in memories:
            _write_in_batches(
                kb.book(f"memories-{size}"), size, lambda book: book.remember(random_sentence(chance), force=True)
            )
        for size in messages:
            book = kb.book(f"messages-{size}")
            chats = itertools.cycle([book.threads.start() for _ in range(max(1, size // 1_000))])
            _write_in_batches(book, size, _saying(chats, chance))


def _saying(chats: Iterator[Chat], chance: random.Random) -> Callable[[Book], object]:
    return lambda _: next(chats).add("user", random_sentence(chance))


def _write_in_batches(book: Book, size: int, write: Callable[[Book], object]) -> None:
    for start in range(0, size, 1_000):
        with book.transaction():
            for _ in range(min(1_000, size - start)):
                write(book)


def copy_to_server(path: Path, address: str) -> None:
    """Copy every row of a SQLite database into an empty PostgreSQL database."""
    # Loaded lazily: SQLite alone must not need the PostgreSQL driver.
    import psycopg

    with closing(sqlite3.connect(path)) as source, psycopg.connect(address) as target:
        target.execute("SET LOCAL session_replication_role = replica")  # without triggers: the rows were checked
        target.execute("DELETE FROM extensions")  # the rows that the upgrade has written; they are copied too
        for table in shipped_tables().parents_first:
            names = ", ".join(f'"{column.name}"' for column in table.c)
            found = source.execute(f"SELECT {names} FROM {table.name}")
            with target.cursor() as cursor, cursor.copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
                for row in found:
                    copy.write_row(row)
        target.commit()
        target.autocommit = True
        target.execute("ANALYZE")  # a server would do so by itself some minutes later


def crowd(place: str, first: int, until: int) -> None:
    """Insert other owners, numbered from `first` up to `until`."""
    if not is_postgresql(place):
        with closing(sqlite3.connect(place, isolation_level=None)) as conn:
            conn.execute("PRAGMA synchronous = OFF")
            for batch in crowd_rows(until, first):
                conn.execute("BEGIN IMMEDIATE")
                for table, columns in COLUMNS.items():
                    marks = ", ".join("?" * len(columns.split(", ")))
                    conn.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", batch[table])
                conn.execute("COMMIT")
        return
    # As in `copy_to_server`.
    import psycopg

    with psycopg.connect(place) as conn:
        conn.execute("SET LOCAL session_replication_role = replica")
        for batch in crowd_rows(until, first):
            for table, columns in COLUMNS.items():
                with conn.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                    for row in batch[table]:
                        copy.write_row(row)
        conn.commit()
        conn.autocommit = True
        conn.execute("ANALYZE")


# Measuring


def daily(book: Book, chance: random.Random) -> dict[str, Callable[[], object]]:
    return {
        "block": book.block,
        "list": lambda: book.list(limit=50),
        "recall": lambda: book.recall(random_sentence(chance)),
        "remember": lambda: book.remember(random_sentence(chance), force=True),
    }


def rarely(book: Book, chance: random.Random) -> dict[str, Callable[[], object]]:
    def close() -> None:
        chat = book.threads.start()
        for _ in range(4):
            chat.add(
                "user", f"I moved to {chance.choice(('Oslo', 'Lima', 'Graz'))} and {random_sentence(chance).lower()}"
            )
        chat.close()

    return {"verify": book.verify, "export": lambda: book.export(io.StringIO()), "close": close}


def chat_works(book: Book, chance: random.Random) -> dict[str, Callable[[], object]]:
    chat = book.threads.start()
    return {
        "say": lambda: chat.add("user", random_sentence(chance)),
        "recall of chats": lambda: book.recall_chats(random_sentence(chance)),
    }


def time_works(
    engine: str, among: str, size: int, works: dict[str, Callable[[], object]], rounds: int
) -> Iterator[MedianTime]:
    for name, work in works.items():
        if rounds > 1:
            work()
        times = [seconds_of(work) for _ in range(rounds)]
        yield MedianTime(engine, among, size, name, round(statistics.median(times) * 1000, 3))


def measure_engine(engine: str, place: str, sizes: dict[str, list[int]], rounds: int) -> Iterator[MedianTime]:
    """Measure everything on one engine, which has the books already."""
    chance = random.Random(9)
    with Keepbook(place, settings=Settings(db=place, allow_bypass_login=True), embedder="none") as kb:
        rarely(kb.book("nobody"), chance)["close"]()  # the first closing loads the reader, which is not measured
        for size in sizes["memories"]:
            book = kb.book(f"memories-{size}")
            yield from time_works(engine, "memories", size, daily(book, chance), rounds)
            yield from time_works(engine, "memories", size, rarely(book, chance), 1)
        for size in sizes["messages"]:
            yield from time_works(engine, "messages", size, chat_works(kb.book(f"messages-{size}"), chance), rounds)
        first, least = 0, kb.book(f"memories-{sizes['memories'][0]}")
        for size in sizes["owners"]:
            crowd(place, first, size)
            first = size
            yield from time_works(engine, "owners", size, daily(least, chance), rounds)


# The engines


@contextmanager
def on_a_server(admin: str, shards: int | None) -> Iterator[str]:
    """The address of an empty database: a new one, or on a cluster the given one, which must be empty."""
    # As in `copy_to_server`.
    import psycopg
    from sqlalchemy import make_url

    if shards is not None:
        upgrade(admin)
        distribute(admin, shards)
        yield admin
        return
    address = make_url(admin).set(database=DATABASE).render_as_string(hide_password=False)
    with psycopg.connect(admin, autocommit=True) as conn:
        conn.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        conn.execute(f"CREATE DATABASE {DATABASE}")
        try:
            upgrade(address)
            yield address
        finally:
            conn.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def measure(
    sizes: dict[str, list[int]], rounds: int, postgres: str | None, cluster: str | None, shards: int
) -> Iterator[MedianTime]:
    with tempfile.TemporaryDirectory(prefix="keepbook-bench-") as name:
        folder = Path(name)
        true_books(folder / "books.db", sizes["memories"], sizes["messages"])
        with a_server(postgres, folder) as server:
            for engine, admin, parts in (("PostgreSQL", server, None), ("cluster", cluster, shards)):
                if admin is not None:
                    with on_a_server(admin, parts) as place:
                        copy_to_server(folder / "books.db", place)
                        yield from measure_engine(engine, place, sizes, rounds)
        yield from measure_engine("SQLite", str(folder / "books.db"), sizes, rounds)


# Telling


def ratios(points: Sequence[MedianTime]) -> list[dict[str, Any]]:
    """The figures with their ratio to the smallest size of the same kind."""
    least: dict[tuple[str, str, str], float] = {}
    for point in sorted(points, key=lambda each: each.size):
        least.setdefault((point.engine, point.among, point.work), point.ms)
    return [asdict(each) | {"ratio": round(each.ms / least[each.engine, each.among, each.work], 2)} for each in points]


def pictures(points: Sequence[MedianTime], folder: Path) -> list[Path]:
    """A chart for each thing that grows: milliseconds by size, both axes logarithmic. Returns the files."""
    made = []
    for among in dict.fromkeys(point.among for point in points):
        here = [point for point in points if point.among == among]
        lines = [
            PlotLine(f"{work}, {engine}", [(p.size, p.ms) for p in here if (p.work, p.engine) == (work, engine)], work)
            for work, engine in dict.fromkeys((point.work, point.engine) for point in here)
        ]
        made.append(folder / f"scale-{among}.svg")
        made[-1].write_text(chart(f"As {among} grow", among, "ms", lines), encoding="utf-8")
    return made


def main(
    sizes: dict[str, int],
    *,
    rounds: int = 20,
    postgres: str | None = None,
    cluster: str | None = None,
    shards: int = 32,
    folder: str | None = None,
    json: bool = False,
) -> bool:
    """Print every median as it is measured, with its ratio to the smallest. Returns whether anything was measured."""
    steps = {name: [step for step in STEPS if step < most] + [most] for name, most in sizes.items()}
    points: list[MedianTime] = []
    try:
        for point in measure(steps, rounds, postgres, cluster, shards):
            points.append(point)
            if not json:
                ratio = ratios(points)[-1]["ratio"]
                told = f"{point.work} among {point.size:,} {point.among} ({point.engine})"
                print(f"{ratio:8.2f} ×  {point.ms:10.3f} ms  {told}", flush=True)
    except KeepbookError as error:
        print(f"left out: {error}", file=sys.stderr)
    if json:
        _print_json(ratios(points))
    if folder is not None:
        pictures(points, Path(folder))
    return bool(points)


def _print_json(found: list[dict[str, Any]]) -> None:
    print(json.dumps(found, indent=2))
