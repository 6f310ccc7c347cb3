"""Writes very many rows of one table through the driver itself: new rows are inserted, changed rows updated.

Core would build a dictionary and parameters for each row. Here a row stays one tuple from the file to the database, so
loading is as fast as SQLite itself.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from importlib import import_module
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, and_, bindparam, false, literal_column, or_, update

RowValues = tuple[Any, ...]
_BATCH = "__batch__"
"""Stands for the batch's number in the text of a statement."""


class KeptCounts(NamedTuple):
    added: int
    changed: int
    unchanged: int


class BulkRows:
    """Writes rows of one table, many at a time, through the driver itself.

    Rows are tuples in the order of the table's columns. Rows that exist are skipped by the statement, not looked up
    before. So the order of the file does not matter, and two programs may load the same file at once.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._names = [column.name for column in table.c]
        self._key = len(table.primary_key.columns)
        assert [column.name for column in table.primary_key.columns] == self._names[: self._key]
        figures = self._names[self._key :]
        told = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in self._names}
        self._update = (
            update(table)
            .where(and_(*(table.c[name] == told[name] for name in self._names[: self._key])))
            .where(or_(false(), *(table.c[name].is_distinct_from(told[name]) for name in figures)))
            .values({name: told[name] for name in figures})
        )
        self._compiled: dict[str, tuple[str, Any, str, Any]] = {}

    def add(self, conn: Connection, rows: Collection[RowValues], batch: int | None = None) -> int:
        """Insert the rows that are new and return how many. If the table has a batch as its last column, the rows come
        without it: the batch is the same for all and stands in the statement."""
        if not rows:
            return 0
        insert_sql, lay_insert, _, _ = self._for(conn)
        with closing(conn.connection.cursor()) as cursor:
            cursor.executemany(insert_sql.replace(_BATCH, str(batch)), lay_insert(rows))
            return int(cursor.rowcount)

    def correct(self, conn: Connection, rows: Sequence[RowValues]) -> None:
        """Update rows that exist with other figures."""
        if rows:
            _, _, update_sql, lay_update = self._for(conn)
            with closing(conn.connection.cursor()) as cursor:
                cursor.executemany(update_sql, lay_update(rows))

    def _for(self, conn: Connection) -> tuple[str, Any, str, Any]:
        """The INSERT and the UPDATE for this engine, each followed by the function that lays out its rows."""
        name = conn.dialect.name
        known = self._compiled.get(name)
        if known is None:
            engine: Any = import_module(f"sqlalchemy.dialects.{name}")  # one of them, not both
            given = [name for name in self._names if name != "batch"]
            values: dict[str, Any] = dict.fromkeys(self._names, literal_column(_BATCH))
            values |= {name: bindparam(name) for name in given}
            adding = engine.insert(self._table).values(values).on_conflict_do_nothing()
            compiled: list[Any] = []
            for statement, names in ((adding, given), (self._update, [f"new_{name}" for name in self._names])):
                made: Any = statement.compile(dialect=conn.dialect)
                compiled += [made.string, _in_statement_order(made.positiontup, names)]
            known = self._compiled[name] = (compiled[0], compiled[1], compiled[2], compiled[3])
        return known


def _in_statement_order(
    order: Sequence[str] | None, names: Sequence[str]
) -> Callable[[Iterable[RowValues]], Iterable[Any]]:
    """A function that puts rows into the form a statement takes: dictionaries by column name, or tuples in `order`."""
    if order is None:
        return lambda rows: [dict(zip(names, row, strict=True)) for row in rows]
    places = [names.index(name) for name in order]
    if places == list(range(len(names))):
        return lambda rows: rows
    return lambda rows: map(itemgetter(*places), rows)
