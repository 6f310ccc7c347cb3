"""Statements for the hot path, compiled once for each engine and run by the driver itself.

Core builds them, so they are written once and portable; at run time the string and the order of its parameters
are all that is needed. Only plain text and numbers go through here, which both drivers take as they are. Measured,
a durable write of ours costs half of what it does when every statement goes through Core's execution.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Dialect, Executable
from sqlalchemy.sql import ClauseElement


class Prepared:
    """A statement to run many times. `columns` names the parameters of an INSERT."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = list(columns) if columns is not None else None
        self._compiled: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {}
        names = getattr(statement, "exported_columns", None)
        keys = list(names.keys()) if names is not None and columns is None else []
        self._row: Any = namedtuple("Row", keys) if keys else None

    def run(self, conn: Connection, values: Mapping[str, Any]) -> None:
        sql, fill = self._for(conn.dialect)
        conn.connection.cursor().execute(sql, fill(values))

    def run_many(self, conn: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            sql, fill = self._for(conn.dialect)
            conn.connection.cursor().executemany(sql, [fill(values) for values in rows])

    def rows(self, conn: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Every row, its columns by name."""
        sql, fill = self._for(conn.dialect)
        cursor = conn.connection.cursor()
        cursor.execute(sql, fill(values))
        return list(map(self._row._make, cursor.fetchall()))

    def first(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        found = self.rows(conn, values)
        return found[0] if found else None

    def _for(self, dialect: Dialect) -> tuple[str, Callable[[Mapping[str, Any]], Any]]:
        """The text for this engine, and how to lay out its parameters."""
        known = self._compiled.get(dialect.name)
        if known is None:
            assert isinstance(self._statement, ClauseElement)
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=self._columns)
            constants: dict[str, Any] = dict.fromkeys(self._columns or ())  # a column not given is empty
            constants |= {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
            order: list[str] | None = compiled.positiontup

            def fill(values: Mapping[str, Any]) -> Any:
                if order is None:
                    return {**constants, **values}
                return [values[name] if name in values else constants[name] for name in order]

            known = self._compiled[dialect.name] = (compiled.string, fill)
        return known
