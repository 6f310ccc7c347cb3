"""Inserts many other owners for the benchmarks with plain SQL: two memories each, in every table and index."""

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

AT = "2026-01-01T00:00:00.00000{}Z"
WORDS = [
    "likes",
    "tea",
    "trains",
    "boats",
    "chess",
    "jazz",
    "bread",
    "hills",
    "rivers",
    "winter",
    "gardens",
    "opera",
]


def crowd_rows(crowd: int, first: int = 0) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """The rows of the owners from `first` to `crowd`, in batches; by table, in an order that the guards accept."""
    for start in range(first, crowd, 5000):
        found: dict[str, list[tuple[Any, ...]]] = {
            "owners": [],
            "ledger": [],
            "memories": [],
            "versions": [],
            "terms": [],
        }
        for number in range(start, min(start + 5000, crowd)):
            owner = f"owner-{number:06d}"
            found["owners"].append((owner, AT.format(0), "UTC"))
            previous = ""
            for seq in (1, 2):
                mark = hashlib.sha256(f"{owner}/{seq}".encode()).hexdigest()
                at, id = AT.format(seq), mark[:8]
                words = [WORDS[(number * 7 + seq * 5 + step) % len(WORDS)] for step in (0, 1, 3, 4)]
                found["ledger"].append(
                    (
                        owner,
                        seq,
                        seq,
                        at,
                        "person",
                        "bench",
                        "remember",
                        id,
                        "{}",
                        "{}",
                        mark[:32],
                        mark,
                        previous,
                        mark,
                    )
                )
                found["memories"].append((owner, id, "fact", "asserted", 0.5, 1, at, at, at, seq))
                found["versions"].append((owner, id, 1, " ".join(words), "profile", "[]", at, at, 0, seq))
                found["terms"] += [(owner, word, id, 0.6) for word in sorted(set(words))]
                previous = mark
        yield found


COLUMNS = {
    "owners": "owner, created_at, zone",
    "ledger": "owner, seq, link, at, actor, door, action, memory_id, before, after, salt, digest, previous, hash",
    "memories": "owner, id, category, confidence, importance, version, created_at, edited_at, updated_at, event",
    "versions": "owner, memory_id, version, content, source, turn_ids, valid_from, recorded_at, correction, event",
    "terms": "owner, term, memory_id, weight",
}


def fill_sqlite(path: Path, crowd: int) -> None:
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute("PRAGMA synchronous = OFF")
    for batch in crowd_rows(crowd):
        conn.execute("BEGIN IMMEDIATE")
        for table, columns in COLUMNS.items():
            marks = ", ".join("?" * len(columns.split(", ")))
            conn.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", batch[table])
        conn.execute("COMMIT")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    conn.close()


def fill_postgres(address: str, crowd: int) -> None:
    """Insert the owners as administrator and without triggers, because these are no real books."""
    # Loaded lazily: SQLite alone must not need the PostgreSQL driver.
    import psycopg

    with psycopg.connect(address, autocommit=True) as conn:
        conn.execute("SET session_replication_role = replica")
        for batch in crowd_rows(crowd):
            for table, columns in COLUMNS.items():
                with conn.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
                    for row in batch[table]:
                        copy.write_row(row)
        conn.execute("VACUUM ANALYZE")
