"""Reads a SQLite file that another program wrote, even while that program has it open. The file is never changed.

The file's schema comes from a stranger too. So its computations are limited, and only tables whose rows are stored in
the file are read, no views.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

from keepbook.errors import Invalid

HEAD = b"SQLite format 3\x00"
WAL = 2
LONGEST = 1_000_000
"""How many bytes a text in the file may have."""
A_STEP, MOST_STEPS = 100_000, 20_000
"""A query may run 20,000 times 100,000 of SQLite's instructions: about a minute. Reading a million ordinary rows takes
seconds."""


@contextmanager
def open_foreign_sqlite(path: Path, what: str) -> Iterator[sqlite3.Connection]:
    """Open another program's SQLite file read-only. `what` says in an error message what the file should have been. A
    file in write-ahead mode that nobody has open is opened as immutable, so that SQLite leaves no `-wal` or `-shm` file
    beside it."""
    try:
        with path.open("rb") as raw:
            head = raw.read(100)
        log = path.with_name(f"{path.name}-wal")
        is_idle = head[18:19] == bytes([WAL]) and not (log.exists() and log.stat().st_size)
        if is_idle:
            how = "mode=ro&immutable=1"
        else:
            how = "mode=ro"
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?{how}", uri=True)) as file:
            file.row_factory = sqlite3.Row
            _hold(file)
            file.execute("BEGIN")
            yield file
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror or error}", field="file") from None
    except sqlite3.DatabaseError as error:
        raise Invalid(f"cannot read {path.name} as {what}: {error}", field="file") from None


def _hold(file: sqlite3.Connection) -> None:
    file.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    file.execute("PRAGMA trusted_schema = OFF")
    spent = count()
    file.set_progress_handler(lambda: next(spent) > MOST_STEPS, A_STEP)


def columns_of(file: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table; none if its rows are not in the file. Rows of a view or a computed column can be endless,
    however small the file is."""
    known = file.execute("SELECT type, sql FROM sqlite_master WHERE lower(name) = ?", (table,)).fetchall()
    if [row["type"] for row in known] != ["table"] or "VIRTUAL" in known[0]["sql"].upper().split("(")[0].split():
        return set()
    columns = file.execute(f"PRAGMA table_xinfo({table})").fetchall()
    if any(row["hidden"] for row in columns):
        return set()
    return {row["name"] for row in columns}
