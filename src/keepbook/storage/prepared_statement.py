"""Prepared statements: compiled once for each engine by SQLAlchemy Core, and run by the driver directly.

Building them with Core keeps them portable; at run time only the SQL and the order of its parameters are needed. All
values are plain text and numbers, which both drivers take as they are. Measured: a durable write costs half of what it
costs through Core's own execution.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import Any, ClassVar, TypeVar

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Dialect,
    Executable,
    FromClause,
    String,
    Table,
    bindparam,
    column,
    select,
    union_all,
    update,
    values,
)
from sqlalchemy.sql import ClauseElement

Found = TypeVar("Found")


def read_once(tx: Any, name: str, read: Callable[[], Found]) -> Found:
    """Return what `read` returns. In a transaction that only reads, it is called once for each name, and its result is
    reused."""
    if tx.writes:
        return read()
    if name not in tx.read_before:
        tx.read_before[name] = read()
    found: Found = tx.read_before[name]
    return found


class PreparedStatement:
    """A statement that is compiled once per engine and run many times. `columns` names the parameters of an INSERT."""

    def __init__(self, statement: Executable, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = None
        if columns is not None:
            self._columns = list(columns)
        self._compiled: dict[str, tuple[str, Callable[[Mapping[str, Any]], Any]]] = {}

    @cached_property
    def _row(self) -> Any:
        """A named tuple that behaves like a row of Core: it has the columns by name, and `_mapping`."""
        columns: Any = getattr(self._statement, "exported_columns")  # noqa: B009  an Executable need not have them
        made = namedtuple("Row", list(columns.keys()))  # type: ignore[misc]
        made._mapping = property(lambda row: row._asdict())  # type: ignore[attr-defined]
        return made

    def run(self, conn: Connection, values: Mapping[str, Any]) -> None:
        sql, fill = self._for(conn.dialect)
        driver_of(conn).execute(sql, fill(values))

    def run_many(self, conn: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            sql, fill = self._for(conn.dialect)
            driver_of(conn).cursor().executemany(sql, [fill(values) for values in rows])

    def rows(self, conn: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Every row, as a named tuple."""
        return list(map(self._row._make, self.tuples(conn, values)))

    def tuples(self, conn: Connection, values: Mapping[str, Any]) -> list[Any]:
        """Every row as the driver's own tuple, which is quicker."""
        sql, fill = self._for(conn.dialect)
        found: list[Any] = driver_of(conn).execute(sql, fill(values)).fetchall()
        return found

    def first(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        found = self.rows(conn, values)
        if found:
            return found[0]
        return None

    def _for(self, dialect: Dialect) -> tuple[str, Callable[[Mapping[str, Any]], Any]]:
        """The SQL for this engine, and a function that puts values into the form it takes parameters in."""
        known = self._compiled.get(dialect.name)
        if known is None:
            assert isinstance(self._statement, ClauseElement)
            compiled: Any = self._statement.compile(dialect=dialect, column_keys=self._columns)
            constants: dict[str, Any] = dict.fromkeys(self._columns or ())  # a column without a value is NULL
            constants |= {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
            known = self._compiled[dialect.name] = (compiled.string, _filling(compiled.positiontup, constants))
        return known


def driver_of(conn: Connection) -> Any:
    """The driver's own connection. On both engines it runs a statement and returns the cursor."""
    return conn.connection.dbapi_connection


def _filling(order: Sequence[str] | None, constants: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], Any]:
    """A function that turns values by name into parameters: a dictionary, or if `order` is given, a sequence in that
    order. Names without a value get their constant."""
    if order is None:
        return lambda values: {**constants, **values}

    def fill(values: Mapping[str, Any]) -> Any:
        return [values[name] if name in values else constants[name] for name in order]

    if len(order) < 2:
        return fill
    given = itemgetter(*order)

    def fill_given(values: Mapping[str, Any]) -> Any:
        try:
            return given(values)
        except KeyError:
            return fill(values)

    def fill_with_constants(values: Mapping[str, Any]) -> Any:
        return given({**constants, **values})

    has_constants = any(constants[name] is not None for name in order if name in constants)
    if has_constants:
        return fill_with_constants
    return fill_given


def set_columns(conn: Connection, table: Table, where: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Set columns of the rows that have these values in these columns."""
    given = {f"of_{name}": value for name, value in where.items()} | {f"new_{name}": v for name, v in values.items()}
    _changing(table, tuple(where), tuple(values)).run(conn, given)


@lru_cache(maxsize=512)
def _changing(table: Table, where: tuple[str, ...], names: tuple[str, ...]) -> PreparedStatement:
    these = [table.c[name] == bindparam(f"of_{name}") for name in where]
    return PreparedStatement(update(table).where(*these).values({name: bindparam(f"new_{name}") for name in names}))


class PreparedForIds:
    """A prepared query with a list of ids. It is compiled once for each of a few list sizes.

    A list of another size is filled up with its last id, or asked in several queries. `among(parameters)` builds the
    statement.
    """

    SIZES: ClassVar[tuple[int, ...]] = (16, 64, 256)

    def __init__(self, among: Callable[[Sequence[BindParameter[str]]], Executable]) -> None:
        self._names = [f"id_{nth}" for nth in range(self.SIZES[-1])]
        self._among, self._made = among, dict[int, PreparedStatement]()

    def _statement_for(self, size: int) -> PreparedStatement:
        if size not in self._made:
            self._made[size] = PreparedStatement(
                self._among([bindparam(name, type_=String) for name in self._names[:size]])
            )
        return self._made[size]

    def rows(self, conn: Connection, ids: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
        return [row for asked, given in self._statements_for(ids) for row in asked.rows(conn, {**values, **given})]

    def tuples(self, conn: Connection, ids: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
        return [row for asked, given in self._statements_for(ids) for row in asked.tuples(conn, {**values, **given})]

    def _statements_for(self, ids: Sequence[Any]) -> Iterator[tuple[PreparedStatement, dict[str, Any]]]:
        most = self.SIZES[-1]
        for start in range(0, len(ids), most):
            some = list(ids[start : start + most])
            size = next(size for size in self.SIZES if size >= len(some))
            yield self._statement_for(size), self._parameters_of(some + some[-1:] * (size - len(some)))

    def _parameters_of(self, ids: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self._names, ids, strict=False))


class PreparedForEach(PreparedForIds):
    """A prepared statement that runs a query once for each of several values, such as terms, each with a limit of its
    own. `one(value)` builds the query for one value. A list is filled up with a value that finds nothing."""

    SIZES: ClassVar[tuple[int, ...]] = (1, 2, 4, 8, 16)
    FINDS_NOTHING = ""

    def __init__(self, one: Callable[[BindParameter[str]], Any]) -> None:
        super().__init__(lambda names: union_all(*(select(one(name).subquery()) for name in names)))

    def _parameters_of(self, ids: Sequence[Any]) -> dict[str, Any]:
        last = len(dict.fromkeys(ids))
        return super()._parameters_of([*ids[:last], *[self.FINDS_NOTHING] * (len(ids) - last)])


class PreparedForKeys(PreparedForIds):
    """A prepared query for several keys of more than one column, such as (thread, turn). The keys are sent as a VALUES
    table that the query joins to, so the engine looks each key up in the index. With an `IN` list it may scan every row
    that the first column selects. `among(keys)` builds the statement from that table of keys."""

    SIZES: ClassVar[tuple[int, ...]] = (16, 64, 256, 512, 1024, 2048)

    def __init__(self, among: Callable[[FromClause], Executable], *columns: ColumnElement[Any]) -> None:
        self._looked_up = among
        self._columns = [(f"key_{nth}", column.type) for nth, column in enumerate(columns)]
        self._made = {}

    def _statement_for(self, size: int) -> PreparedStatement:
        if size not in self._made:
            rows = [tuple(bindparam(f"{n}_{nth}", type_=t) for n, t in self._columns) for nth in range(size)]
            keys = values(*(column(name, type_) for name, type_ in self._columns), name="keys").data(rows).cte("keys")
            self._made[size] = PreparedStatement(self._looked_up(keys))
        return self._made[size]

    def _parameters_of(self, ids: Sequence[Any]) -> dict[str, Any]:
        names = [name for name, _ in self._columns]
        return {f"{name}_{nth}": part for nth, key in enumerate(ids) for name, part in zip(names, key, strict=True)}
