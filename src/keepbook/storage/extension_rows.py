"""Writes the rows of extensions into an empty book, in an order that their guards let through.

A row that came to an end is begun, spoken in and ended, as it was when it happened; one that said something else before
says that first. What is needed for it stands in how the tables are declared (`begins`, `during`, `earlier_of`), and so
in the record of what is installed: an import keeps the rows also of an extension whose code is gone.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, update

from keepbook.storage.database import Tx
from keepbook.storage.tables.declare import rules_of

Row = Mapping[str, Any]
Put = Callable[[Table, Sequence[Row]], None]


# Rules


def beginning_of(table: Table) -> dict[str, str | None]:
    """What the columns of a row hold before it has come to anything."""
    found: dict[str, str | None] = {}
    for told in rules_of(table).begins:
        column, _, word = told.partition("=")
        found[column] = word or None
    return found


def has_come_further(row: Row, beginning: Mapping[str, str | None]) -> bool:
    """Whether something stands in a row that was empty when it began."""
    return any(row[column] is not None for column, word in beginning.items() if word is None)


def referred_first(rows: Sequence[Row], key: str, names: Sequence[str]) -> Iterator[Row]:
    """The rows, each after those that it names in one of its columns."""
    waiting = {row[key]: row for row in rows}
    entered = set()
    for row in rows:
        line = [row]
        while line:
            mine = line[-1][key]
            before = [waiting[line[-1][name]] for name in names if line[-1][name] in waiting]
            if mine in waiting and mine not in entered and before:
                entered.add(mine)
                line += before
                continue
            told = line.pop()
            if waiting.pop(mine, None) is not None:
                yield told


# Operations


class _RowsOf:
    """The rows of one table that were written with the rows of another, by the row they name."""

    def __init__(self, table: Table, column: str, rows: Sequence[Row]) -> None:
        self.table = table
        self._by_name: dict[Any, list[Row]] = defaultdict(list)
        order = [each for each in _key(table) if each != column]
        for row in sorted(rows, key=lambda row: [row[each] for each in order]):
            self._by_name[row[column]].append(row)

    def of(self, name: Any) -> list[Row]:
        """Those that name this row, once."""
        return self._by_name.pop(name, [])

    def left(self) -> list[Row]:
        """Those that name none."""
        return [row for rows in self._by_name.values() for row in rows]


def put_extension_rows(tx: Tx, found: Mapping[str, Sequence[Row]], put: Put) -> None:
    """Write the rows of a file, which `found` has by kind of line."""
    theirs = {table.name for table in tx.tables.of_extensions}
    tables = {kind: table for kind, table in tx.tables.exported.items() if table.name in theirs}
    during = _written_with(tables, found, "during")
    earlier = _written_with(tables, found, "earlier_of")
    for kind, table in tables.items():
        rules = rules_of(table)
        if rules.begins:
            none = _RowsOf(table, _key(table)[0], ())
            _put_histories(tx, table, found[kind], put, during.get(table.name, none), earlier.get(table.name, none))
        elif not rules.during and not rules.earlier_of:
            put(table, found[kind])


def _written_with(tables: Mapping[str, Table], found: Mapping[str, Sequence[Row]], rule: str) -> dict[str, _RowsOf]:
    """By the name of the table with whose rows they were written."""
    told = {kind: getattr(rules_of(table), rule) for kind, table in tables.items()}
    return {named[0]: _RowsOf(tables[kind], named[1], found[kind]) for kind, named in told.items() if named}


def _put_histories(tx: Tx, table: Table, rows: Sequence[Row], put: Put, during: _RowsOf, earlier: _RowsOf) -> None:
    """Write each row as it began, then what was written with it, then what it came to."""
    (key,) = _key(table)
    beginning = beginning_of(table)

    def change(row: Row, told: Row) -> None:
        mine = (table.c.owner == tx.owner, table.c[key] == row[key])
        tx.conn.execute(update(table).where(*mine).values({name: told[name] for name in beginning}))

    for row in referred_first(rows, key, [name for name in rules_of(table).ids if name != key]):
        said_before = earlier.of(row[key])
        if not said_before and not has_come_further(row, beginning):
            put(table, [row])
            put(during.table, during.of(row[key]))
            continue
        put(table, [{**row, **beginning}])
        put(during.table, during.of(row[key]))
        for told in said_before:
            change(row, told)
            put(earlier.table, [told])
        change(row, row)
    for one in (during, earlier):
        put(one.table, one.left())  # they name no row: the guards refuse them


def _key(table: Table) -> list[str]:
    """What tells the rows of one owner apart."""
    return [column.name for column in table.primary_key.columns if column.name != "owner"]
