"""Former trades: the earlier figures of trades that a file has corrected, which were known until then.

As of an instant, the trades are the present ones, except that a trade corrected since is taken as it was before the
first of those corrections. If nothing was corrected since, as nearly always, only the table of trades is read.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import FromClause, and_, exists, func, insert, select, union_all

from keepbook.extensions.trading.tables import former_trades, trades
from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx

KEY = 4
"""The first columns that identify a trade: owner, deployment, exit and key."""
_NAMES = [column.name for column in former_trades.c]


# Operations


def keep_former_trades(tx: Tx, rows: Iterable[RowValues]) -> None:
    """Store trades as they were before a correction, with the batch that corrects them and its time."""
    told = [dict(zip(_NAMES, row, strict=True)) for row in rows]
    if told:
        tx.conn.execute(insert(former_trades), told)


# Queries


def standing_at(tx: Tx, rows: Sequence[RowValues]) -> Iterator[RowValues]:
    """The stored trades with the same keys as these rows, read by ranges of time, because files hold whole ranges."""
    places: dict[str, list[str]] = {}
    for row in rows:
        places.setdefault(row[1], []).append(row[2])
    wanted = {row[:KEY] for row in rows}
    for deployment, times in places.items():
        here = (trades.c.owner == tx.owner, trades.c.deployment_id == deployment)
        query = select(trades).where(*here, trades.c.exit_time >= min(times), trades.c.exit_time <= max(times))
        found = tx.conn.execute(query, execution_options={"yield_per": 5000})
        yield from (row for row in map(tuple, found) if row[:KEY] in wanted)


def trades_as_of(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> FromClause:
    """The trades at an instant, with the columns of `trades`."""
    if not corrected_days(tx, deployment_ids, known_at):
        return trades
    mine = (former_trades.c.owner == tx.owner, former_trades.c.deployment_id.in_(list(deployment_ids)))
    first = (
        select(*(former_trades.c[name] for name in _NAMES[:KEY]), func.min(former_trades.c.until).label("until"))
        .where(*mine, former_trades.c.until > known_at)
        .group_by(*(former_trades.c[name] for name in _NAMES[:KEY]))
        .subquery()
    )
    same = and_(
        *(former_trades.c[name] == first.c[name] for name in _NAMES[:KEY]), former_trades.c.until == first.c.until
    )
    before = select(*(former_trades.c[name] for name in _NAMES[:-2])).join(first, same)
    since = exists().where(
        *(former_trades.c[name] == trades.c[name] for name in _NAMES[:KEY]), former_trades.c.until > known_at
    )
    now = select(trades).where(trades.c.owner == tx.owner, trades.c.deployment_id.in_(list(deployment_ids)), ~since)
    return union_all(now, before).subquery("trades")


def corrected_days(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> set[str]:
    """The days of exits in which a trade was corrected since an instant."""
    query = select(func.substr(former_trades.c.exit_time, 1, 10)).where(
        former_trades.c.owner == tx.owner,
        former_trades.c.deployment_id.in_(list(deployment_ids)),
        former_trades.c.until > known_at,
    )
    found: Any = tx.conn.execute(query.distinct()).scalars()
    return set(found)
