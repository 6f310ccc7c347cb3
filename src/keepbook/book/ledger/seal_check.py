"""Compares every covered row with its seal and names the first that was altered, added, removed or swapped."""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from functools import cache
from itertools import groupby
from typing import Any

from sqlalchemy import BindParameter, Table, bindparam, func, literal_column, select, text, union_all

from keepbook.book.ledger import batch
from keepbook.book.ledger.chain import Break
from keepbook.book.ledger.cover import CHUNK, covered_rows, row_digest
from keepbook.storage.cover_rules import SEPARATOR, key_columns, row_key
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.cover import covers, seals
from keepbook.storage.tables.declare import rules_of

Progress = Callable[[int], None]
AT_ONCE = 1000
"""How many rows a stream takes from the database at a time."""
OWNER: BindParameter[str] = bindparam("owner_")
"""The parameter for the owner in queries of a stream, which are built once and run for many books."""


class RowStreams:
    """The server-side cursors of one verification. They are closed at its end, even after an error, so that none stays
    open on a pooled connection."""

    def __init__(self, tx: Tx) -> None:
        self._conn, self._owner, self._open = tx.conn, tx.owner, ExitStack()

    def __enter__(self) -> "RowStreams":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def read_rows(self, query: Any, **values: str) -> Iterator[Any]:
        rows = self._conn.execute(query, {"owner_": self._owner, **values}, execution_options={"yield_per": AT_ONCE})
        self._open.callback(rows.close)
        return iter(rows)


# Rules


def live(group: list[Any]) -> tuple[Any | None, str | None]:
    """The newest of a row's seals, given from the oldest on, or None and why they do not follow each other."""
    before = None
    for seal in group:
        if before is not None and before.digest is not None:
            follows = seal.was == before.nth
        else:
            follows = seal.was is None
        if not follows:
            return None, "its seals do not follow each other"
        if before is not None and before.salt is not None:
            return None, "a seal that no longer holds has its salt again"
        before = seal
    return before, None


def row_in_words(table: Table, key: str) -> str:
    """The name of a row in words a person understands."""
    if key:
        parts = key.split(SEPARATOR)
    else:
        parts = []
    return " ".join(f"{name} {part}" for name, part in zip(key_columns(table), parts, strict=False)) or "rows"


# Operations


def rows_break(tx: Tx, streams: RowStreams, progress: Progress = lambda _: None) -> Break | None:
    """The first row, table by table, that differs from its seal."""
    done, sealed, counts = 0, _seal_counts(tx), _counts(tx)
    for what, table in tx.tables.covered.items():
        expected = 0
        for some in _in_chunks(_in_force(tx, streams, what, sealed[what]) if what in sealed else iter(())):
            found = covered_rows(table).values_of(tx.conn, tx.owner, [seal.key for seal, why in some if why is None])
            for seal, why in some:
                row = found.get(seal.key)
                if why is None and row is None and seal.salt is None and what in tx.tables.unexported:
                    continue
                expected += 1
                fault = why or _misfit(seal, row)
                if fault is not None:
                    return _break_at(tx, table, seal.key, seal.nth, fault)
            done += len(some)
            progress(done)
        if counts[what] != expected:
            return _break_without_seal(tx, streams, table)
    kinds = batch.batch_kinds(tx.tables)
    breaks = (_batch_break(tx, streams, what, kind, sealed.get(what, 0)) for what, kind in kinds.items())
    return next((one for one in breaks if one is not None), None)


def unfit_rows(tx: Tx, streams: RowStreams, unvouched: Collection[int]) -> Iterator[tuple[Table, str]]:
    """Table and key of every row that differs from its seal, has none, or whose seal is `unvouched`: the numbers of
    seals that no link of the chain covers."""
    sealed = _seal_counts(tx)
    for what, table in tx.tables.covered.items():
        fitting: set[str] = set()
        for some in _in_chunks(_in_force(tx, streams, what, sealed[what]) if what in sealed else iter(())):
            found = covered_rows(table).values_of(tx.conn, tx.owner, [seal.key for seal, why in some if why is None])
            for seal, why in some:
                row = found.get(seal.key)
                if why is None and row is None and seal.salt is None and what in tx.tables.unexported:
                    continue
                if why or seal.nth in unvouched or _misfit(seal, row):
                    yield table, seal.key
                fitting.add(seal.key)
        query = select(table).where(table.c.owner == OWNER, *_only(table)).order_by(*table.primary_key.columns)
        keys = (row_key(table, dict(row._mapping)) for row in streams.read_rows(query))
        yield from ((table, key) for key in keys if key not in fitting)


def unfit_batches(tx: Tx, streams: RowStreams, unvouched: Collection[int]) -> Iterator[tuple[batch.BatchTables, str]]:
    """Every batch that differs from its seal or has none: its tables and its number."""
    sealed = _seal_counts(tx)
    for what, kind in batch.batch_kinds(tx.tables).items():
        totals = dict(batch.batch_digests(tx.conn, kind, tx.owner))
        for seal, why in _in_force(tx, streams, what, sealed.get(what, 0)):
            found = None
            if seal.key.isdigit():
                found = totals.pop(int(seal.key), None)
            said = None
            if found is not None:
                said = [found.digest()]
            if why or seal.nth in unvouched or _misfit(seal, said):
                yield kind, seal.key
        yield from ((kind, str(nth)) for nth in totals)


def _batch_break(tx: Tx, streams: RowStreams, what: str, kind: batch.BatchTables, sealed: int) -> Break | None:
    """The first batch of a table that differs from its seal, or that has none."""
    table, totals = kind.table, dict(batch.batch_digests(tx.conn, kind, tx.owner))
    for seal, why in _in_force(tx, streams, what, sealed):
        found = None
        if seal.key.isdigit():
            found = totals.pop(int(seal.key), None)
        said = None
        if found is not None:
            said = [found.digest()]
        fault = why or _misfit(seal, said)
        if fault is not None:
            return _break_at(tx, table, "", seal.nth, f"{fault}, of what came in batch {seal.key}")
    if totals:
        return _break_at(tx, table, "", 0, f"this ledger did not make what says it came in batch {min(totals)}")
    return None


def _misfit(seal: Any, row: Any) -> str | None:
    """How a row differs from its seal; None if it fits."""
    if row is None:
        return "it was removed"
    if seal.salt is None or row_digest(seal.salt, seal.what, seal.key, row) != seal.digest:
        return "it was altered"
    return None


def _break_without_seal(tx: Tx, streams: RowStreams, table: Table) -> Break:
    """The first row without a seal; the counts of rows and seals have shown that there is one."""
    sealed = {}
    query = select(table).where(table.c.owner == OWNER, *_only(table)).order_by(*table.primary_key.columns)
    for rows in _in_chunks(streams.read_rows(query)):
        keys = [row_key(table, dict(row._mapping)) for row in rows]
        newest = select(seals.c.key, seals.c.nth, seals.c.digest).where(
            seals.c.owner == tx.owner, seals.c.what == table.name, seals.c.key.in_(keys)
        )
        sealed = {row.key: row for row in tx.conn.execute(newest.order_by(seals.c.nth))}
        for key in keys:
            if key not in sealed or sealed[key].digest is None:
                return _break_at(tx, table, key, 0, "this ledger did not make it")
    return _break_at(tx, table, "", 0, "rows were added or removed")


def _break_at(tx: Tx, table: Table, key: str, nth: int, why: str) -> Break:
    """The break at a row. Its link is the one that covers the seal `nth`; without a seal (0), the newest cover."""
    link = select(func.max(covers.c.link)).where(covers.c.owner == tx.owner)
    if nth:
        link = link.where(covers.c.first <= nth)
    return Break(link=tx.conn.execute(link).scalar() or 0, why=why, table=table.name, row=row_in_words(table, key))


# Queries


def _in_force(tx: Tx, streams: RowStreams, what: str, sealed: int) -> Iterator[tuple[Any, str | None]]:
    """The newest seal of each row of a table that should exist, or the last one and why its seals do not fit. A few are
    read in one query, since opening a stream costs more."""
    few = sealed <= AT_ONCE
    every = _FEW.rows(tx.conn, {"owner_": tx.owner, "what_": what}) if few else streams.read_rows(_SEALS, what_=what)
    for _, group in groupby(every, key=lambda seal: seal.key):
        chain = list(group)
        seal, why = live(chain)
        if why is not None:
            yield chain[-1], why
        elif seal is not None and seal.digest is not None:
            yield seal, None


def _in_chunks(stream: Iterator[Any]) -> Iterator[list[Any]]:
    some: list[Any] = []
    for one in stream:
        some.append(one)
        if len(some) == CHUNK:
            yield some
            some = []
    if some:
        yield some


def _only(table: Table) -> list[Any]:
    only = rules_of(table).covered_where
    if only:
        return [text(only)]
    return []


_SEALS = (
    select(seals).where(seals.c.owner == OWNER, seals.c.what == bindparam("what_")).order_by(seals.c.key, seals.c.nth)
)
_FEW = PreparedStatement(_SEALS)
_SEALED = PreparedStatement(
    select(seals.c.what, func.count()).where(seals.c.owner == bindparam("owner")).group_by(seals.c.what)
)


@cache
def _counting(tables: TableSet) -> PreparedStatement:
    return PreparedStatement(
        union_all(
            *(
                select(literal_column(f"'{what}'").label("what"), func.count().label("rows"))
                .select_from(table)
                .where(table.c.owner == bindparam("owner"), *_only(table))
                for what, table in tables.covered.items()
            )
        )
    )


def _seal_counts(tx: Tx) -> dict[str, int]:
    """How many seals each table has, by its name; a table without any is missing."""
    return dict(_SEALED.tuples(tx.conn, {"owner": tx.owner}))


def _counts(tx: Tx) -> dict[str, int]:
    """How many rows of each table should be sealed."""
    return dict(_counting(tx.tables).tuples(tx.conn, {"owner": tx.owner}))
