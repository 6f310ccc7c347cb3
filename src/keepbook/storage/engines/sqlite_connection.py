"""A connection to SQLite that notices when a statement failed.

After a failed statement SQLite undoes that statement alone and lets the transaction go on, where PostgreSQL refuses
everything that follows. With this connection both behave alike: a transaction in which a statement failed is never
committed.
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
    """`failed` says whether a statement failed since it was last cleared, `waits` how many milliseconds it waits for a
    lock (None: not set yet)."""

    failed: bool = False
    waits: int | None = None

    def wait_for(self, milliseconds: int) -> None:
        """Set how long to wait for a lock that another connection holds. SQLite is only told of a change."""
        if self.waits != milliseconds:
            self.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self.waits = milliseconds

    def cursor(self, factory: Any = _WatchedCursor) -> Any:
        return super().cursor(factory)

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """As the cursor does: since Python 3.11 a connection's own `execute` may not use `cursor`."""
        try:
            return super().execute(*given)
        except BaseException:
            self.failed = True
            raise
