"""Trades and positions: what a deployment closed, and what it holds.

Both come from files. A trade is identified by the file's own id or by a digest of its figures, a position by symbol,
side and entry. A trade's profit is computed once, when it is loaded, net of its fees. Queries are as of an instant and
use only what was known then.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import FromClause, Select, insert, or_, select, tuple_, update

from keepbook.book.ground.limits import clean_count, clean_line, sought
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.to_json import Page
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import batch, ledger
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import days, former, skills
from keepbook.extensions.trading.book.files import (
    Layout,
    TextReader,
    Times,
    number,
    optional_number,
    refuse_missing,
)
from keepbook.extensions.trading.tables import positions as position_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.bulk_rows import BulkRows, KeptCounts, RowValues
from keepbook.storage.database import Tx

SIDES = ("long", "short")
TRADE_COLUMNS = (
    "deployment", "symbol", "side", "quantity", "entry_time", "entry_price", "exit_time", "exit_price", "fees", "mfe",
    "mae", "entry_regime_tag", "entry_reason", "exit_reason", "id", "known_at",
)  # fmt: skip
TRADES = Layout("trades", TRADE_COLUMNS, needed=TRADE_COLUMNS[:8])
POSITION_COLUMNS = ("deployment", "symbol", "side", "quantity", "entry_time", "entry_price", "known_at")
POSITIONS = Layout("positions", POSITION_COLUMNS, needed=POSITION_COLUMNS[:6])
_TRADES = BulkRows(trade_rows)
ColumnsOf = Callable[[FromClause], list[Any]]
"""What else is asked of trades, said of where they are read from."""


class Trade(NamedTuple):
    """A closed trade; `pnl` is net of fees."""

    deployment_id: str
    exit_time: str
    key: str
    symbol: str
    side: str
    quantity: float
    entry_time: str
    entry_price: float
    exit_price: float
    fees: float
    pnl: float
    mfe: float | None
    mae: float | None
    entry_regime_tag: str | None
    entry_reason: str | None
    exit_reason: str | None
    known_at: str


class Position(NamedTuple):
    """What a deployment holds, or held until `closed_at`."""

    deployment_id: str
    symbol: str
    side: str
    entry_time: str
    entry_price: float
    quantity: float
    closed_at: str | None
    known_at: str


# Rules


def net(side: str, quantity: float, entry_price: float, exit_price: float, fees: float) -> float:
    """The net profit of a trade."""
    made = (exit_price - entry_price) * quantity * (1 if side == "long" else -1) - fees
    return made or 0.0  # SQLite knows no −0.0, so that what it gives back would not be what was sealed


def trade_key(*figures: Any) -> str:
    """The key of a trade without an id of its own: two with the same figures are one."""
    return blake2b(repr(figures).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def row_to_trade(
    owner: str, row: RowValues, times: Times, words: TextReader, deployment: Callable[[Any], str]
) -> RowValues:
    """A row of a file as the owner and a `Trade`, as a plain tuple since there are many; raises `Invalid` if it is
    wrong."""
    refuse_missing(TRADES, row)
    quantity, entry_price, exit_price, fees, entry_time, exit_time = (
        number(row[3], "quantity", low=0, above=True),
        number(row[5], "entry_price", low=0, above=True),
        number(row[7], "exit_price", low=0),
        optional_number(row[8], "fees") or 0.0,
        times.read(row[4], "entry_time"),
        times.read(row[6], "exit_time"),
    )
    if exit_time < entry_time:
        raise Invalid("exit_time is before entry_time", field="exit_time")
    symbol, side = words.read(row[1], "symbol", 40), _side(row[2])
    pnl = net(side, quantity, entry_price, exit_price, fees)
    if not math.isfinite(pnl):
        raise Invalid("quantity and prices are too large to say what was earned", field="quantity")
    id, known_at = row[14], row[15]
    figures = (symbol, side, quantity, entry_time, entry_price, exit_time, exit_price)
    return (
        owner,
        deployment(row[0]),
        exit_time,
        trade_key(*figures) if id in (None, "") else clean_line(str(id), "id", 1, 200),
        symbol,
        side,
        quantity,
        entry_time,
        entry_price,
        exit_price,
        fees,
        pnl,
        optional_number(row[9], "mfe"),
        optional_number(row[10], "mae"),
        words.optional(row[11], "entry_regime_tag", 80),
        words.optional(row[12], "entry_reason", 500),
        words.optional(row[13], "exit_reason", 500),
        # Nobody knows of an exit before it happened.
        exit_time if known_at in (None, "") else max(exit_time, times.read(known_at, "known_at")),
    )


def row_to_position(row: RowValues, times: Times, deployment: Callable[[Any], str]) -> Position:
    """A row of a file as an open position; raises `Invalid` if it is wrong."""
    refuse_missing(POSITIONS, row)
    entry_time = times.read(row[4], "entry_time")
    return Position(
        deployment(row[0]),
        clean_line(str(row[1]), "symbol", 1, 40),
        _side(row[2]),
        entry_time,
        number(row[5], "entry_price", low=0, above=True),
        number(row[3], "quantity", low=0, above=True),
        None,
        entry_time if row[6] in (None, "") else max(entry_time, times.read(row[6], "known_at")),
    )


def _side(value: Any) -> str:
    side = str(value).strip().lower()
    if side not in SIDES:
        raise Invalid(f"side is long or short, not {str(value)[:40]!r}", field="side")
    return side


def _place(cursor: str) -> tuple[str, str, str]:
    exit_time, deployment_id, key = (*sought(cursor).split("~", 2), "", "")[:3]
    return exit_time, deployment_id, key


# Operations


def keep_trades(tx: Tx, rows: Sequence[RowValues]) -> KeptCounts:
    """Store trades; rows are the owner and a `Trade`. A trade with other figures is corrected, and its old figures are
    kept as former. The stored figures of their days must be computed anew, by `days.fold_marked_days`."""
    number, now, width = ledger.chain_head(tx).sealed + 1 + len(tx.batches), stamp(tx.clock()), former.KEY
    ordered = batch.in_order(rows, width)
    many = len(ordered)
    added, went = _TRADES.add(tx.conn, ordered, number), list[RowValues]()
    if added < len(ordered):
        standing = {row[:width]: row for row in former.standing_at(tx, ordered)}
        changed = [row for row in ordered if standing[row[:width]][:-1] != row]
        went = [(*standing[row[:width]], number, now) for row in changed]
        corrected = {row[:width] for row in changed}
        ordered = [row for row in ordered if row[:width] in corrected or standing[row[:width]][-1] == number]
        former.keep_former_trades(tx, went)
        _TRADES.correct(tx.conn, [(*row, number) for row in changed])
    if ordered:
        batch.seal(tx, "trades", [row[1:] for row in ordered], [row[1:] for row in went], number)
        days.mark_days(tx, {(row[1], row[2][:10]) for row in ordered})
    return KeptCounts(added, len(went), many - added - len(went))


def keep_positions(tx: Tx, rows: Sequence[RowValues]) -> KeptCounts:
    """Store positions; rows are the owner and a `Position`. One that changed is closed and begun anew, so that what was
    known of it before stays known."""
    now, added, changed = stamp(tx.clock()), 0, 0
    told = {position[:4]: position for position in (Position(*row[1:]) for row in rows)}
    for key, position in told.items():
        known = [Position(*row) for row in tx.conn.execute(_all_of(tx, key))]
        current = next((one for one in known if one.closed_at is None), None)
        if current is not None and current[4:6] == position[4:6]:
            continue
        told_when = position.known_at > max([position.entry_time, *(one.known_at for one in known)])
        if not known or told_when:
            fresh = position
        else:
            fresh = position._replace(known_at=now)
        if current is not None:
            _set_position(tx, current, closed_at=fresh.known_at)
        same = next((one for one in known if one.known_at == fresh.known_at), None)
        if same is not None:  # twice in one instant: only the last of it was ever known
            _set_position(tx, same, entry_price=fresh.entry_price, quantity=fresh.quantity, closed_at=None)
        else:
            tx.conn.execute(insert(position_rows), {"owner": tx.owner} | fresh._asdict())
        added, changed = added + (not known), changed + bool(known)
    return KeptCounts(added, changed, len(told) - added - changed)


def _set_position(tx: Tx, position: Position, **values: Any) -> None:
    names = (*Position._fields[:4], "known_at")
    keys = [position_rows.c[name] == getattr(position, name) for name in names]
    tx.conn.execute(update(position_rows).where(position_rows.c.owner == tx.owner, *keys).values(values))


def close_others(tx: Tx, deployment_id: str, open_now: set[RowValues]) -> int:
    """Close the open positions of a deployment except these (symbol, side, entry time); returns how many."""
    keys = (position_rows.c.symbol, position_rows.c.side, position_rows.c.entry_time)
    mine = (position_rows.c.owner == tx.owner, position_rows.c.deployment_id == deployment_id)
    still = tx.conn.execute(select(*keys).where(*mine, position_rows.c.closed_at.is_(None))).all()
    now = stamp(tx.clock())
    gone = [tuple(row) for row in still if tuple(row) not in open_now]
    for one in gone:
        found = [column == value for column, value in zip(keys, one, strict=True)]
        tx.conn.execute(update(position_rows).where(*mine, *found).values(closed_at=now))
    return len(gone)


def close_lots(tx: Tx, deployment_id: str, symbol: str, open_now: set[RowValues], at: str) -> None:
    """Close the open positions of a symbol except these (side, entry time), as of an instant after their entry."""
    mine = (position_rows.c.owner == tx.owner, position_rows.c.deployment_id == deployment_id)
    query = select(*(position_rows.c[name] for name in Position._fields)).where(
        *mine, position_rows.c.symbol == symbol, position_rows.c.closed_at.is_(None)
    )
    for one in [Position(*row) for row in tx.conn.execute(query)]:
        if one[2:4] not in open_now:
            _set_position(tx, one, closed_at=max(at, one.known_at))


def named_deployments(book: OpenBook) -> Callable[[Any], str]:
    """A function that finds the id of a deployment that a row names; each is looked up once."""
    known: dict[str, str | Invalid] = {}

    def meant(ref: Any) -> str:
        name = str(ref).strip()
        if name not in known and len(known) < Times.MOST:
            known[name] = _sought_deployment(book, name)
        if name in known:
            found = known[name]
        else:
            found = _sought_deployment(book, name)
        if isinstance(found, Invalid):
            raise found
        return found

    return meant


def _sought_deployment(book: OpenBook, name: str) -> str | Invalid:
    with book.reading() as (tx, _, _):
        found = skills.deployment_called(tx, name)
    if found is not None:
        return found.id
    return Invalid(
        f"there is no deployment {name[:80]!r} in this book; create it, or load a file of deployments first",
        field="deployment",
    )


# Queries


def known_trades(tx: Tx, deployment_ids: Sequence[str], known_at: str, since: str | None = None) -> Iterator[Trade]:
    """The trades that were known by an instant, in the order of their exits, read lazily."""

    def wanted(rows: FromClause) -> list[Any]:
        if since is None:
            return []
        return [rows.c.exit_time >= since]

    streams = [_stream(tx, id, known_at, wanted, newest_first=False) for id in dict.fromkeys(deployment_ids)]
    return heapq.merge(*streams, key=attrgetter("exit_time", "deployment_id", "key"))


def trade_page(
    tx: Tx, deployment_ids: Sequence[str], known_at: str, limit: int = 30, cursor: str | None = None
) -> Page[Trade]:
    """The trades that were known by an instant, the newest first."""
    clean_count(limit, "limit", 1000)
    ids = list(dict.fromkeys(deployment_ids))
    total = days.count_trades(tx, ids, known_at)

    def wanted(rows: FromClause) -> list[Any]:
        place = (rows.c.exit_time, rows.c.deployment_id, rows.c.key)
        if cursor is None:
            return []
        return [tuple_(*place) < tuple_(*_place(cursor))]

    streams = [_stream(tx, id, known_at, wanted, newest_first=True, limit=limit + 1) for id in ids]
    order = attrgetter("exit_time", "deployment_id", "key")
    found = list(islice(heapq.merge(*streams, key=order, reverse=True), limit + 1))
    last = None
    if len(found) > limit:
        last = found[limit - 1]
    following = None
    if last is not None:
        following = f"{last.exit_time}~{last.deployment_id}~{last.key}"
    return Page(found[:limit], total, following, "trades")


def open_positions(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> list[Position]:
    """The positions that were open at an instant: entered by then, and not closed by then."""
    columns = [position_rows.c[name] for name in Position._fields]
    query = (
        select(*columns)
        .where(position_rows.c.owner == tx.owner, position_rows.c.deployment_id.in_(list(deployment_ids)))
        .where(position_rows.c.entry_time <= known_at, position_rows.c.known_at <= known_at)
        .where(or_(position_rows.c.closed_at.is_(None), position_rows.c.closed_at > known_at))
        .order_by(*columns[:4])
    )
    return [Position(*row) for row in tx.conn.execute(query)]


def _all_of(tx: Tx, key: RowValues) -> Select[Any]:
    """All that is known of one position: as it was, and as it is."""
    keys = (position_rows.c[name] == value for name, value in zip(Position._fields[:4], key, strict=True))
    columns = [position_rows.c[name] for name in Position._fields]
    return select(*columns).where(position_rows.c.owner == tx.owner, *keys)


def _stream(
    tx: Tx, deployment_id: str, known_at: str, wanted: ColumnsOf, *, newest_first: bool, limit: int | None = None
) -> Iterator[Trade]:
    """Of one deployment, in the order of the key, so that nothing has to be sorted."""
    rows_of = former.trades_as_of(tx, [deployment_id], known_at)
    query = select(*(rows_of.c[name] for name in Trade._fields)).where(
        rows_of.c.owner == tx.owner,
        rows_of.c.deployment_id == deployment_id,
        rows_of.c.exit_time <= known_at,
        rows_of.c.known_at <= known_at,
        *wanted(rows_of),
    )
    order = (rows_of.c.exit_time, rows_of.c.key)
    query = query.order_by(*(column.desc() if newest_first else column for column in order)).limit(limit)
    if limit is None:
        some = {"yield_per": 1000}
    else:
        some = {}
    with tx.conn.execute(query, execution_options=some) as rows:  # closed too where nobody asks for the rest
        yield from map(Trade._make, rows if limit is None else rows.all())
