"""The imports of brokers' files, and how one is taken back.

A load adds trades and fills and uses up what earlier fills left open. When it is taken back, its trades are former from
then on (as of an earlier instant they are still there), its fills are stored in its own row, and what it used up is
open again: the same file may be loaded anew. Only the newest load of a deployment can go: later ones are paired with
it.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import delete, func, select, update

from keepbook.book.ground.when import stamp
from keepbook.book.ledger import batch, ledger
from keepbook.book.ledger import loads as rows
from keepbook.book.ledger.ledger import Origin
from keepbook.book.ledger.loads import TRADES, Arrival, Load
from keepbook.errors import Conflict, Invalid
from keepbook.extensions.trading.book import days, former
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import former_trades as former_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import loads as load_rows

AT_ONCE = 5000


OpenPositions = Mapping[str, tuple[str, float]]
"""Of earlier fills, by their keys, what was left and the fee that belonged to it."""


# Operations


def take_back_trades(tx: Tx, origin: Origin, nth: int) -> Load:
    """Take a load out again, whole."""
    load = rows.load_to_take_back(tx, origin, nth)
    if load.what != TRADES or load.deployment_id is None:
        raise Invalid(f"load {nth} brought no trades; undo it under Bring in", field="load")
    _refuse(tx, load)
    touched = _take_trades(tx, load.deployment_id, load.brought, stamp(tx.clock()))
    mine = (fill_rows.c.owner == tx.owner, fill_rows.c.load == nth)
    fills = [dict(one._mapping) for one in tx.conn.execute(select(fill_rows).where(*mine).order_by(fill_rows.c.key))]
    rows.mark_taken_back(tx, nth, [{name: one[name] for name in one if name != "owner"} for one in fills])
    tx.conn.execute(delete(fill_rows).where(*mine))
    for key, (remaining, fee) in load.before.items():
        here = (
            fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == load.deployment_id, fill_rows.c.key == key
        )  # fmt: skip
        tx.conn.execute(update(fill_rows).where(*here).values(remaining=remaining, fee=fee))
    days.mark_days(tx, touched)
    days.fold_marked_days(tx)
    return rows.load_of(rows.get_load(tx, nth))


def _refuse(tx: Tx, load: Arrival) -> None:
    newer = select(func.max(load_rows.c.nth)).where(
        load_rows.c.owner == tx.owner, load_rows.c.deployment_id == load.deployment_id,
        load_rows.c.nth > load.nth, load_rows.c.undone_at.is_(None),
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
    mine, number = (*here, trade_rows.c.batch.in_(batches)), ledger.chain_head(tx).sealed + 1 + len(tx.batches)
    found: list[RowValues] = [(*one, number, now) for one in tx.conn.execute(select(trade_rows).where(*mine))]
    went = sorted(found, key=lambda one: one[: former.KEY])
    for start in range(0, len(went), AT_ONCE):
        former.keep_former_trades(tx, went[start : start + AT_ONCE])
    tx.conn.execute(delete(trade_rows).where(*mine))
    if went:
        batch.seal(tx, "trades", [], [one[1:] for one in went], number)
    return {(one[1], one[2][:10]) for one in went}


# Queries


def list_trade_loads(tx: Tx, limit: int = 100) -> list[Load]:
    """The loads of trades, newest first."""
    return [rows.load_of(one) for one in rows.list_loads(tx, limit, what=TRADES)]
