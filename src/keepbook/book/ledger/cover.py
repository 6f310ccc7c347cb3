"""Seals what a transaction wrote beside memories, before it commits, as one more link of the chain.

The database has noted which rows were touched (storage/cover_rules.py). Each gets a seal: a salted digest of all its
values. One cover stands in the chain for all seals of the transaction, so a thousand messages cost one link, and a
break still names its row. A row in a new state gets a new seal, and the old seal loses its salt: so nobody can check a
guess of what was changed, removed, purged or erased. Covers are not entries: people, undo, time travel and caches do
not see them.
"""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, bindparam, delete, func, insert, select, tuple_, update

from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Head, canonical_json
from keepbook.storage.cover_rules import SEPARATOR, key_columns, parts_of, sealed_columns, sealed_values
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.cover import covers, seals, touched

CHUNK = 256
"""How many rows are asked for at once."""
CHAINED = ("previous", "link", "at", "first", "last", "digest")
"""The columns of a cover that its hash covers."""


class TouchedRow(NamedTuple):
    """A row that this transaction inserted (then it is `fresh`), updated or deleted: its table and key."""

    what: str
    key: str
    fresh: int


# Rules


def row_digest(salt: str, what: str, key: str, values: Sequence[Any]) -> str:
    """The digest that binds a row's values to its place in the book."""
    return hashlib.sha256(canonical_json([salt, what, key, list(values)]).encode()).hexdigest()


def cover_hash(row: Mapping[str, Any]) -> str:
    """The hash of a cover in the chain."""
    return hashlib.sha256(canonical_json(["cover", *(row[name] for name in CHAINED)]).encode()).hexdigest()


class Batch:
    """One digest over many seals, added one after the other."""

    def __init__(self) -> None:
        self._sum = hashlib.sha256()

    def add(self, nth: int, what: str, key: str, was: int | None, digest: str | None) -> None:
        # No part contains the separators used here: control characters are refused, but for another one inside a key.
        self._sum.update(f"{nth}\x1e{what}\x1e{key}\x1e{was}\x1e{digest}\n".encode())

    def digest(self) -> str:
        return self._sum.hexdigest()


def values_to_seal(table: Table, row: Mapping[str, Any]) -> Sequence[Any]:
    """The values that a seal covers, in the table's order."""
    return sealed_values(table, [row[name] for name in sealed_columns(table)])


# Operations


def cover(tx: Tx) -> None:
    """Seal the rows that this transaction touched: the last step of every write."""
    noted = sorted(map(TouchedRow._make, _TAKE.tuples(tx.conn, {"owner": tx.owner})))
    if not noted and not tx.batches:
        return
    last = ledger.chain_head(tx)
    made = list(_seal_rows(tx, noted, last.sealed))
    if not made:
        return
    _INSERT_SEALS.run_many(tx.conn, made)
    _UNSALT.run_many(tx.conn, [{"owner": tx.owner, **_old(seal)} for seal in made if seal["was"] is not None])
    _link(tx, last, made)
    tx.batches.clear()


def forget_touched(tx: Tx) -> None:
    """Clear the list of touched rows, when a restored export brings its own seals."""
    _TAKE.tuples(tx.conn, {"owner": tx.owner})


def _seal_rows(tx: Tx, noted: Sequence[TouchedRow], count: int) -> Iterator[dict[str, Any]]:
    for what, group in groupby(noted, key=lambda one: one.what):
        of_table = list(group)
        for start in range(0, len(of_table), CHUNK):
            some = of_table[start : start + CHUNK]
            rows = covered_rows(tx.tables.covered[what]).values_of(tx.conn, tx.owner, [one.key for one in some])
            before = _seals_of(tx, what, [one.key for one in some if not one.fresh])
            for one in some:
                row, was = rows.get(one.key), before.get(one.key)
                if row is None and was is None:
                    continue  # made and removed in one transaction
                count += 1
                yield _seal(tx, what, one.key, count, was, row)
    for nth, ((what, key), told) in enumerate(sorted(tx.batches.items()), count + 1):
        yield _seal(tx, what, key, nth, None, told)


def _seal(tx: Tx, what: str, key: str, nth: int, was: int | None, values: Sequence[Any] | None) -> dict[str, Any]:
    """The seal of a row's values; of a removed row (None) one without salt and digest."""
    salt = digest = None
    if values is not None:
        salt = secrets.token_hex(16)
        digest = row_digest(salt, what, key, values)
    return {
        "owner": tx.owner, "what": what, "key": key, "nth": nth, "was": was, "salt": salt,
        "digest": digest,
    }  # fmt: skip


def _old(seal: Mapping[str, Any]) -> dict[str, Any]:
    return {"what_": seal["what"], "key_": seal["key"], "nth_": seal["was"]}


def _link(tx: Tx, last: Head, made: Sequence[Mapping[str, Any]]) -> None:
    batch = Batch()
    for seal in made:
        batch.add(seal["nth"], seal["what"], seal["key"], seal["was"], seal["digest"])
    row: dict[str, Any] = {
        "owner": tx.owner, "link": last.link + 1, "at": ledger.present(tx), "first": made[0]["nth"],
        "last": made[-1]["nth"], "digest": batch.digest(), "previous": last.hash,
    }  # fmt: skip
    row["hash"] = cover_hash(row)
    _INSERT_COVER.run(tx.conn, row)
    tx.head = last._replace(hash=row["hash"], link=row["link"], sealed=row["last"])


# Queries

_TAKE = PreparedStatement(
    delete(touched)
    .where(touched.c.owner == bindparam("owner"))
    .returning(touched.c.what, touched.c.key, touched.c.fresh)
)
_INSERT_SEALS = PreparedStatement(insert(seals), seals.c.keys())
_INSERT_COVER = PreparedStatement(insert(covers), covers.c.keys())
_UNSALT = PreparedStatement(
    update(seals)
    .where(
        seals.c.owner == bindparam("owner"),
        seals.c.what == bindparam("what_"),
        seals.c.key == bindparam("key_"),
        seals.c.nth == bindparam("nth_"),
    )
    .values(salt=None)
)
_LAST_SEAL = PreparedStatement(
    select(seals.c.nth, seals.c.digest)
    .where(seals.c.owner == bindparam("owner"), seals.c.what == bindparam("what_"), seals.c.key == bindparam("key_"))
    .order_by(seals.c.nth.desc())
    .limit(1)
)


class CoveredRows:
    """Reads rows of one covered table by key: with one query per key, or with one range query for many keys that lie
    close together."""

    FEW = 4
    """Up to this many keys, each is looked up by a statement of its own."""

    def __init__(self, table: Table) -> None:
        self._table, self._parts = table, key_columns(table)
        names = sealed_columns(table)
        columns = [table.c[name] for name in self._parts]
        first, last = ([bindparam(f"{end}_{one.name}", type_=one.type) for one in columns] for end in ("first", "last"))
        query = select(*(table.c[name] for name in names)).where(table.c.owner == bindparam("owner"))
        self._one = PreparedStatement(query.where(*(one == part for one, part in zip(columns, first, strict=True))))
        if columns:
            stretch = query.where(tuple_(*columns) >= tuple_(*first), tuple_(*columns) <= tuple_(*last))
            self._stretch = PreparedStatement(stretch.order_by(*columns).limit(2 * CHUNK))
        self._at = [names.index(name) for name in self._parts]

    def values_of(self, conn: Connection, owner: str, keys: Sequence[str]) -> dict[str, Sequence[Any]]:
        """The values that a seal covers, by key. Missing rows are left out."""
        asked = sorted(parts_of(self._table, key) for key in keys)
        found: list[Sequence[Any]] = []
        for start in range(0, len(asked), CHUNK):
            some = asked[start : start + CHUNK]
            rows = None
            if len(some) > self.FEW:
                rows = self._together(conn, owner, some)
            if rows is None:
                found += [row for parts in some for row in self._ask(conn, owner, parts)]
            else:
                found += rows
        wanted = set(keys)
        named = ((SEPARATOR.join([str(row[place]) for place in self._at]), row) for row in found)
        return {key: sealed_values(self._table, row) for key, row in named if key in wanted}

    def _ask(self, conn: Connection, owner: str, parts: Sequence[Any]) -> list[Any]:
        return self._one.tuples(conn, {"owner": owner, **self._end("first", parts)})

    def _together(self, conn: Connection, owner: str, some: Sequence[Sequence[Any]]) -> list[Any] | None:
        """All rows between the first and the last key; None if there are too many others between them."""
        ends = self._end("first", some[0]) | self._end("last", some[-1])
        rows = self._stretch.tuples(conn, {"owner": owner, **ends})
        if len(rows) < 2 * CHUNK:
            return rows
        return None

    def _end(self, end: str, parts: Sequence[Any]) -> dict[str, Any]:
        return {f"{end}_{name}": part for name, part in zip(self._parts, parts, strict=True)}


@cache
def covered_rows(table: Table) -> CoveredRows:
    return CoveredRows(table)


def _seals_of(tx: Tx, what: str, keys: Sequence[str]) -> dict[str, int]:
    """The number of the newest seal of each row that has one. A row that was removed counts as having none."""
    if len(keys) <= 2:
        found = [(key, _LAST_SEAL.tuples(tx.conn, {"owner": tx.owner, "what_": what, "key_": key})) for key in keys]
        return {key: rows[0][0] for key, rows in found if rows and rows[0][1] is not None}
    newest = (
        select(func.max(seals.c.nth))
        .where(seals.c.owner == tx.owner, seals.c.what == what, seals.c.key.in_(keys))
        .group_by(seals.c.key)
    )
    query = select(seals.c.key, seals.c.nth).where(
        seals.c.owner == tx.owner, seals.c.nth.in_(newest), seals.c.digest.isnot(None)
    )
    return {row.key: row.nth for row in tx.conn.execute(query)}
