"""A connection to SQLite that notices when a statement failed.

SQLite takes back that statement alone, and its transaction goes on as if nothing were amiss; PostgreSQL refuses
everything after it. Here both are the same: what failed is never committed.
"""

import sqlite3
from typing import Any


class _WatchedCursor(sqlite3.Cursor):
    connection: "WatchedConnection"

    def execute(self, *given: Any) -> "_WatchedCursor":
        try:
            super().execute(*given)
        except BaseException:
            self.connection.failed = True
            raise
        return self

    def executemany(self, *given: Any) -> "_WatchedCursor":
        try:
            super().executemany(*given)
        except BaseException:
            self.connection.failed = True
            raise
        return self


class WatchedConnection(sqlite3.Connection):
    """`failed` says whether a statement failed since it was last cleared, `waits` how long it waits for a lock."""

    failed: bool = False
    waits: int | None = None

    def wait_for(self, milliseconds: int) -> None:
        """For a lock that another connection holds. Only a change of it is said to SQLite."""
        if self.waits != milliseconds:
            self.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self.waits = milliseconds

    def cursor(self, factory: Any = _WatchedCursor) -> Any:
        return super().cursor(factory)

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """As a cursor does it: since Python 3.11 the connection's own way may go past `cursor`."""
        try:
            return super().execute(*given)
        except BaseException:
            self.failed = True
            raise
