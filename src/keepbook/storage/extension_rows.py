"""Writes the rows of extensions into an empty book, in an order that their guards accept.

A row that was ended is written as it began, then the rows that were written during it, then its end, as it happened. If
it had earlier states, it gets these first. How to do so follows from the declarations of the tables (`begins`,
`during`, `earlier_of`), which the record of what is installed has too: so rows are imported even if the extension's
code is gone.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import Table, update

from keepbook.storage.database import Tx
from keepbook.storage.tables.declare import rules_of

Row = Mapping[str, Any]
Put = Callable[[Tx, Table, Sequence[Row]], None]
Step = Callable[[Tx], None]
"""A part of a restore, done in whichever transaction is open then."""
ROWS_IN_A_STEP = 500


# Rules


def beginning_of(table: Table) -> dict[str, str | None]:
    """The values of those columns that change later, as they are when a row is first written."""
    found: dict[str, str | None] = {}
    for rule in rules_of(table).begins:
        column, _, word = rule.partition("=")
        found[column] = word or None
    return found


def has_come_further(row: Row, beginning: Mapping[str, str | None]) -> bool:
    """Whether a column has a value that was empty when the row began."""
    return any(row[column] is not None for column, word in beginning.items() if word is None)


def referred_first(rows: Sequence[Row], key: str, names: Sequence[str]) -> Iterator[Row]:
    """The rows in another order: each after those that it names in the columns `names`, as far as that is possible."""
    waiting = {row[key]: row for row in rows}
    entered = set()
    for row in rows:
        stack = [row]
        while stack:
            top = stack[-1]
            named = [waiting[top[name]] for name in names if top[name] in waiting]
            if top[key] in waiting and top[key] not in entered and named:
                entered.add(top[key])
                stack += named
                continue
            stack.pop()
            if waiting.pop(top[key], None) is not None:
                yield top


# Operations


class _RowsOf:
    """The rows of one table that name rows of another in `column`, grouped by the row they name."""

    def __init__(self, table: Table, column: str, rows: Sequence[Row]) -> None:
        self.table = table
        self._by_name: dict[Any, list[Row]] = defaultdict(list)
        order = [each for each in _key(table) if each != column]
        for row in sorted(rows, key=lambda row: [row[each] for each in order]):
            self._by_name[row[column]].append(row)

    def of(self, name: Any) -> list[Row]:
        """The rows that name this one; the next call for it returns none."""
        return self._by_name.pop(name, [])

    def left(self) -> list[Row]:
        """The rows that `of` has not returned: they name a row that does not exist."""
        return [row for rows in self._by_name.values() for row in rows]


def put_steps(put: Put, table: Table, rows: Sequence[Row]) -> Iterator[Step]:
    """Steps that write rows of one table."""
    for start in range(0, len(rows), ROWS_IN_A_STEP):
        yield partial(_take, put, table, rows[start : start + ROWS_IN_A_STEP])


def _take(put: Put, table: Table, rows: Sequence[Row], tx: Tx) -> None:
    put(tx, table, rows)


def extension_steps(tx: Tx, found: Mapping[str, Sequence[Row]], put: Put) -> Iterator[Step]:
    """Steps that write the rows of extensions from a file. `found` has all rows by kind of line; `put` writes rows of a
    table. `tx` tells which tables there are."""
    theirs = {table.name for table in tx.tables.of_extensions}
    tables = {kind: table for kind, table in tx.tables.exported.items() if table.name in theirs}
    during = _written_with(tables, found, "during")
    earlier = _written_with(tables, found, "earlier_of")
    for kind, table in tables.items():
        rules = rules_of(table)
        if rules.begins:
            none = _RowsOf(table, _key(table)[0], ())
            with_it = during.get(table.name, none), earlier.get(table.name, none)
            yield from _histories(table, found[kind], put, *with_it)
        elif not rules.during and not rules.earlier_of:
            yield from put_steps(put, table, found[kind])


def _written_with(tables: Mapping[str, Table], found: Mapping[str, Sequence[Row]], rule: str) -> dict[str, _RowsOf]:
    """The rows of tables that have this rule (`during` or `earlier_of`), by the name of the table that it names."""
    rules = {kind: getattr(rules_of(table), rule) for kind, table in tables.items()}
    return {value[0]: _RowsOf(tables[kind], value[1], found[kind]) for kind, value in rules.items() if value}


def _histories(table: Table, rows: Sequence[Row], put: Put, during: _RowsOf, earlier: _RowsOf) -> Iterator[Step]:
    """Write each row as it began, then the rows written during it, then its earlier states, then its last."""
    (key,) = _key(table)
    beginning = beginning_of(table)

    def change(tx: Tx, row: Row, state: Row) -> None:
        mine = (table.c.owner == tx.owner, table.c[key] == row[key])
        tx.conn.execute(update(table).where(*mine).values({name: state[name] for name in beginning}))

    for row in referred_first(rows, key, [name for name in rules_of(table).ids if name != key]):
        said_before = earlier.of(row[key])
        if not said_before and not has_come_further(row, beginning):
            yield from put_steps(put, table, [row])
            yield from put_steps(put, during.table, during.of(row[key]))
            continue
        yield from put_steps(put, table, [{**row, **beginning}])
        yield from put_steps(put, during.table, during.of(row[key]))
        for state in said_before:
            yield partial(change, row=row, state=state)
            yield from put_steps(put, earlier.table, [state])
        yield partial(change, row=row, state=row)
    for one in (during, earlier):
        yield from put_steps(put, one.table, one.left())  # the guards refuse these


def _key(table: Table) -> list[str]:
    """The primary key without the owner."""
    return [column.name for column in table.primary_key.columns if column.name != "owner"]
