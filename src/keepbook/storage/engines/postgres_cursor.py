"""A cursor on PostgreSQL that counts the statements which changed rows, as SQLite does by itself."""

import sys
from typing import Any

import psycopg

_CHANGING = (b"INSERT", b"UPDATE", b"DELETE", b"MERGE", b"COPY")
_COUNT = "keepbook_changes"


class WatchedCursor(psycopg.Cursor[Any]):
    def execute(self, *given: Any, **named: Any) -> "WatchedCursor":
        super().execute(*given, **named)
        self._count_changes()
        return self

    def executemany(self, *given: Any, **named: Any) -> None:
        around = sys.exception()
        try:
            super().executemany(*given, **named)
        except psycopg.OperationalError as error:
            raised = error.__context__
            if raised is None or raised is around or isinstance(raised, psycopg.Error):
                raise
            raise raised from None  # a signal handler raised it; the driver hides it behind an error of its own
        self._count_changes()

    def _count_changes(self) -> None:
        status = None
        if self.pgresult is not None:
            status = self.pgresult.command_status
        if self.rowcount > 0 and status is not None and status.startswith(_CHANGING):
            setattr(self.connection, _COUNT, changes_of(self.connection) + 1)


def changes_of(connection: Any) -> int:
    """How many statements changed rows on a connection so far."""
    changes: int = getattr(connection, _COUNT, 0)
    return changes
