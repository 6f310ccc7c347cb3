"""What brokers' files brought, load by load, and how one is taken back.

A load adds trades and fills and uses up what earlier fills left open. Taken back, its trades are former from then on
(asked as of an earlier instant they are still there), its fills are kept in its own row, and what it used up is open
again: the same file may be loaded anew. Only the newest load of a deployment can go: later ones are paired with it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, select, update

from keepbook.book.ground import stored
from keepbook.book.ground.limits import clean_count
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import batch, ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.trading import days, former
from keepbook.errors import Conflict, NotAllowed, NotFound
from keepbook.storage.database import Tx
from keepbook.storage.shelf import Row
from keepbook.storage.tables import fills as fill_rows
from keepbook.storage.tables import former_trades as former_rows
from keepbook.storage.tables import loads as load_rows
from keepbook.storage.tables import trades as trade_rows

AT_ONCE = 5000
MOST = 1000
LAST = 2_000_000_000
"""More than a column of numbers holds is no load."""


class Load(NamedTuple):
    """One file that came in; `undone_at` is when it was taken back."""

    nth: int
    at: str
    actor: str
    deployment_id: str
    title: str
    trades: int
    fills: int
    undone_at: str | None


Open = Mapping[str, tuple[str, float]]
"""Of earlier fills, by their keys, what was left and the fee that belonged to it."""


# Operations


def next_number(tx: Tx) -> int:
    query = select(func.max(load_rows.c.nth)).where(load_rows.c.owner == tx.owner)
    return int(tx.conn.execute(query).scalar() or 0) + 1


def keep(
    tx: Tx, nth: int, origin: Origin, place: str, title: str, *, trades: int, fills: int, batches: Sequence[int],
    before: Open,
) -> None:  # fmt: skip
    """Write down what a file brought."""
    row = {
        "owner": tx.owner, "nth": nth, "at": stamp(tx.clock()), "actor": origin.actor, "deployment_id": place,
        "title": title, "trades": trades, "fills": fills, "batches": json.dumps(sorted(batches)),
        "before": json.dumps(before, sort_keys=True), "undone_at": None, "gone": None,
    }  # fmt: skip
    tx.conn.execute(insert(load_rows), row)


def take_back(tx: Tx, origin: Origin, nth: int) -> Load:
    """Take a load out again, whole."""
    where = (load_rows.c.owner == tx.owner, load_rows.c.nth == clean_count(nth, "load", LAST))
    row = tx.conn.execute(select(load_rows).where(*where)).first()
    if row is None:
        raise NotFound(f"there is no load {nth} in this book", field="load")
    _refuse(tx, origin, row)
    now, batches = stamp(tx.clock()), stored.loads(row.batches)
    touched = _take_trades(tx, row.deployment_id, batches, now)
    mine = (fill_rows.c.owner == tx.owner, fill_rows.c.load == nth)
    fills = [dict(one._mapping) for one in tx.conn.execute(select(fill_rows).where(*mine).order_by(fill_rows.c.key))]
    gone = json.dumps([{name: one[name] for name in one if name != "owner"} for one in fills])
    tx.conn.execute(update(load_rows).where(*where).values(undone_at=now, gone=gone))
    tx.conn.execute(delete(fill_rows).where(*mine))
    for key, (remaining, fee) in stored.loads(row.before).items():
        here = (
            fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == row.deployment_id, fill_rows.c.key == key
        )  # fmt: skip
        tx.conn.execute(update(fill_rows).where(*here).values(remaining=remaining, fee=fee))
    days.mark(tx, touched)
    days.settle(tx)
    return Load(*tx.conn.execute(_loads(tx).where(load_rows.c.nth == nth)).one())


def _refuse(tx: Tx, origin: Origin, row: Any) -> None:
    if row.actor == "person" and origin.actor != "person" and not origin.for_person:
        raise NotAllowed(f"load {row.nth} is the person's own; only they take it back", code="person_only")
    if row.undone_at is not None:
        raise Conflict(f"load {row.nth} was taken back already", code="touched")
    newer = select(func.max(load_rows.c.nth)).where(
        load_rows.c.owner == tx.owner, load_rows.c.deployment_id == row.deployment_id,
        load_rows.c.nth > row.nth, load_rows.c.undone_at.is_(None),
    )  # fmt: skip
    if (later := tx.conn.execute(newer).scalar()) is not None:
        raise Conflict(
            f"not undone: load {later} came into the same deployment after it; undo load {later} first",
            code="touched", by=later,
        )  # fmt: skip


def _take_trades(tx: Tx, place: str, batches: Sequence[int], now: str) -> set[tuple[str, str]]:
    """Its trades are former from now on; answers the days they closed on."""
    if not batches:
        return set()
    here = (trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id == place)
    corrected = select(func.count()).where(
        former_rows.c.owner == tx.owner, former_rows.c.deployment_id == place, former_rows.c.batch.in_(batches)
    )
    if tx.conn.execute(corrected).scalar():
        raise Conflict("not undone: another file has corrected some of its trades since", code="touched")
    mine, number = (*here, trade_rows.c.batch.in_(batches)), ledger.head(tx).sealed + 1 + len(tx.batches)
    found: list[Row] = [(*one, number, now) for one in tx.conn.execute(select(trade_rows).where(*mine))]
    went = sorted(found, key=lambda one: one[: former.KEY])
    for start in range(0, len(went), AT_ONCE):
        former.keep(tx, went[start : start + AT_ONCE])
    tx.conn.execute(delete(trade_rows).where(*mine))
    if went:
        batch.seal(tx, "trades", [], [one[1:] for one in went], number)
    return {(one[1], one[2][:10]) for one in went}


# Queries


def listed(tx: Tx, limit: int = 100) -> list[Load]:
    """The newest first."""
    query = _loads(tx).order_by(load_rows.c.nth.desc()).limit(clean_count(limit, "limit", MOST))
    return [Load(*one) for one in tx.conn.execute(query)]


def _loads(tx: Tx) -> Any:
    return select(*(load_rows.c[name] for name in Load._fields)).where(load_rows.c.owner == tx.owner)
