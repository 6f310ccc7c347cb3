"""An empty copy of a SQLite book: its tables, guards and record of what is installed, and no rows of anybody."""

import sqlite3

_TABLES = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
_INSTALLED = {
    "SELECT name, nth, version, tables FROM extensions": "INSERT INTO extensions VALUES (?, ?, ?, ?)",
    "SELECT version_num FROM alembic_version": "INSERT INTO alembic_version VALUES (?)",
}


def empty_copy(book: sqlite3.Connection) -> sqlite3.Connection:
    """A new book in memory like the given one."""
    made = sqlite3.connect(":memory:")
    for (statement,) in book.execute(_TABLES).fetchall():
        made.execute(statement)
    for found, insert in _INSTALLED.items():
        made.executemany(insert, book.execute(found).fetchall())
    made.commit()
    return made
