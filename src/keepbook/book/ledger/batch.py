"""One digest for many rows: for rows that are written by the thousand, and never one by one.

Each row holds the number of the batch that brought it. A row that is corrected or removed moves to the table of former
rows, with the number of the batch that removed it. A batch's digest covers the rows it brought and the rows it removed,
ordered by key, so one pass over both tables checks every batch in constant memory. Batches of an owner's rows are
sealed by the owner's chain; for rows that all owners share, an extension keeps a chain of its own.
"""

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import merge
from itertools import chain, groupby, islice
from operator import itemgetter, lt
from typing import Any

from sqlalchemy import Connection, Integer, Select, Table, Text, bindparam, select

from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.declare import rules_of

AT_ONCE = 2000  # rows
_NONE, _NAN = "\x00", float("nan")
"""Stand for NULL among texts and among numbers; as values both are refused."""


@dataclass(frozen=True, slots=True)
class BatchTables:
    """The two tables of rows that come in batches. `table` holds the current rows and has the batch number as its last
    column; `former` holds corrected and removed rows and adds `went` (the batch that removed it) and `until`. `said`
    turns rows into bytes for the digest; it must keep their order."""

    table: Table
    former: Table
    said: Callable[[Sequence[RowValues]], tuple[bytes, bytes]]

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self.table.c if column.name != "owner"]

    @property
    def key(self) -> int:
        """How many columns tell the rows of one owner apart."""
        return sum(column.name != "owner" for column in self.table.primary_key.columns)


# Rules


class Digest:
    """One digest over the rows that a batch brought and removed. Rows are added in the order of their keys, few or many
    at a time."""

    def __init__(self, kind: BatchTables) -> None:
        self._kind, self._key = kind, kind.key
        self.came: int = 0
        self.went: int = 0
        self._sums = [hashlib.sha256() for _ in range(3)]

    def add_rows(self, rows: Sequence[RowValues]) -> None:
        """Add rows to the digest, without their batch number."""
        self.came += len(rows)
        for total, said in zip(self._sums, self._kind.said(rows), strict=False):
            total.update(said)

    def go(self, rows: Iterable[RowValues]) -> None:
        """Add former rows: their keys, the batch that brought them, and until when they stood."""
        for row in rows:
            self.went += 1
            told = (*row[: self._key], str(row[-3]), row[-1])
            self._sums[2].update(("\x1f".join(told) + "\n").encode())

    def digest(self) -> str:
        parts = (str(self.came), str(self.went), *(total.hexdigest() for total in self._sums))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def in_order(rows: Sequence[RowValues], width: int) -> Sequence[RowValues]:
    """The rows ordered by key, which is their first columns. Of rows with the same key the last one is taken."""
    keys = list(map(itemgetter(*range(width)), rows))
    if all(map(lt, keys, islice(keys, 1, None))):
        return rows
    unique = dict(zip(keys, rows, strict=True))
    return [unique[key] for key in sorted(unique)]


def row_bytes_of(table: Table) -> Callable[[Sequence[RowValues]], tuple[bytes, bytes]]:
    """A function from rows of a table of texts and numbers to their bytes: the texts one after the other, and the
    numbers."""
    columns = [column for column in table.c if column.name not in ("owner", "batch")]
    assert not any(isinstance(column.type, Integer) for column in columns)
    texts = [place for place, column in enumerate(columns) if isinstance(column.type, Text)]
    numbers = [place for place in range(len(columns)) if place not in texts]
    take_texts, take_numbers = itemgetter(*texts), itemgetter(*numbers)

    def said(rows: Sequence[RowValues]) -> tuple[bytes, bytes]:
        words = [_NONE if word is None else word for word in chain.from_iterable(map(take_texts, rows))]
        figures = [_NAN if one is None else one for one in chain.from_iterable(map(take_numbers, rows))]
        told = ""
        if rows:
            told = "\x1f".join([*words, ""])
        return told.encode(), struct.pack(f"<{len(figures)}d", *figures)

    return said


# Queries


def batch_digests(conn: Connection, kind: BatchTables, owner: str | None = None) -> Mapping[int, Digest]:
    """The digest of every batch, computed from the rows in the tables."""
    found: dict[int, Digest] = {}
    for nth, rows in _standing(conn, kind, owner):
        found.setdefault(nth, Digest(kind)).add_rows(rows)
    for nth, some in groupby(_rows(conn, kind, kind.former, owner), key=itemgetter(-2)):
        found.setdefault(nth, Digest(kind)).go(some)
    return found


def _standing(conn: Connection, kind: BatchTables, owner: str | None) -> Iterator[tuple[int, list[RowValues]]]:
    """Current and former rows together, ordered by key, in runs of rows of the same batch: its number and these
    rows."""
    width = kind.key
    now = ((row[-1], row) for row in _rows(conn, kind, kind.table, owner))
    before = ((row[-3], row[:-2]) for row in _rows(conn, kind, kind.former, owner))
    both = merge(now, before, key=lambda one: one[1][:width])
    for nth, some in groupby(both, key=itemgetter(0)):
        rows = (row[:-1] for _, row in some)
        part = list(islice(rows, AT_ONCE))
        while part:
            yield nth, part
            part = list(islice(rows, AT_ONCE))


def _rows(conn: Connection, kind: BatchTables, table: Table, owner: str | None) -> Iterator[RowValues]:
    query = _all_of(tuple(kind.columns), table, table is kind.former, owner is not None)
    return map(tuple, conn.execute(query, {"owner_": owner}, execution_options={"yield_per": AT_ONCE}))


@cache
def _all_of(columns: tuple[str, ...], table: Table, former: bool, owned: bool) -> Select[Any]:
    if former:
        names = (*columns, "went", "until")
    else:
        names = columns
    query = select(*(table.c[name] for name in names)).order_by(*table.primary_key.columns)
    if owned:
        return query.where(table.c.owner == bindparam("owner_"))
    return query


@cache
def batch_kinds(tables: TableSet) -> Mapping[str, BatchTables]:
    """The tables of owners that are sealed by batches, by name."""
    named = {table.name: table for table in tables.declared}
    formers = ((rules_of(table).former_of, table) for table in tables.declared)
    return {
        name: BatchTables(named[name], former, row_bytes_of(named[name]))
        for name, former in formers
        if name and "owner" in former.c
    }


# Operations


def seal(tx: Tx, what: str, rows: Sequence[RowValues], went: Sequence[RowValues], number: int) -> None:
    """Let this transaction's cover seal a batch. `rows` come without owner and batch, former rows without owner."""
    total = Digest(batch_kinds(tx.tables)[what])
    total.add_rows(rows)
    total.go(went)
    tx.batches[what, str(number)] = [total.digest()]


def seal_all(tx: Tx) -> None:
    """Seal every batch of the book, for a book that came without seals."""
    for what, kind in batch_kinds(tx.tables).items():
        tx.batches |= {
            (what, str(nth)): [total.digest()] for nth, total in batch_digests(tx.conn, kind, tx.owner).items()
        }
