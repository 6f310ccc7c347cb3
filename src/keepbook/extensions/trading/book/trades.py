"""Trades and positions: what a deployment closed, and what it holds.

Both come from files. A trade is identified by the file's own id or by a digest of its figures, a position by symbol,
side and entry. A trade's profit, net of its fees, is computed when it is loaded. Queries are as of an instant and use
only what was known then.
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
EARLIEST = "1900"
"""The year before which no trade was entered."""
POSITION_COLUMNS = ("deployment", "symbol", "side", "quantity", "entry_time", "entry_price", "known_at")
POSITIONS = Layout("positions", POSITION_COLUMNS, needed=POSITION_COLUMNS[:6])
_TRADES = BulkRows(trade_rows)
ConditionsOn = Callable[[FromClause], list[Any]]
"""Makes further conditions of a query for trades, given the table or subquery that they are selected from."""


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
    way = 1 if side == "long" else -1
    pnl = (exit_price - entry_price) * quantity * way - fees
    return pnl or 0.0  # SQLite stores −0.0 as 0.0, and the row read back would not fit its seal


def trade_key(*figures: Any) -> str:
    """The key of a trade without an id of its own; two with the same figures have the same key, and are one trade."""
    return blake2b(repr(figures).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def row_to_trade(
    owner: str, row: RowValues, times: Times, words: TextReader, deployment: Callable[[Any], str]
) -> RowValues:
    """A row of a file, in the order of `TRADE_COLUMNS`, as (owner, *the fields of a `Trade`). It is a plain tuple,
    because there are many of them. Raises `Invalid` if the row is wrong."""
    refuse_missing(TRADES, row)
    quantity = number(row[3], "quantity", low=0, above=True)
    entry_price = number(row[5], "entry_price", low=0, above=True)
    exit_price = number(row[7], "exit_price", low=0)
    fees = optional_number(row[8], "fees") or 0.0
    entry_time = read_entry(times, row[4], "entry_time")
    exit_time = times.read(row[6], "exit_time")
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
        # The file's `known_at`, but not before the exit: nobody could know of it earlier.
        exit_time if known_at in (None, "") else max(exit_time, times.read(known_at, "known_at")),
    )


def row_to_position(row: RowValues, times: Times, deployment: Callable[[Any], str]) -> Position:
    """A row of a file, in the order of `POSITION_COLUMNS`, as an open position; raises `Invalid` if it is wrong."""
    refuse_missing(POSITIONS, row)
    entry_time = read_entry(times, row[4], "entry_time")
    return Position(
        deployment_id=deployment(row[0]),
        symbol=clean_line(str(row[1]), "symbol", 1, 40),
        side=_side(row[2]),
        entry_time=entry_time,
        entry_price=number(row[5], "entry_price", low=0, above=True),
        quantity=number(row[3], "quantity", low=0, above=True),
        closed_at=None,
        known_at=entry_time if row[6] in (None, "") else max(entry_time, times.read(row[6], "known_at")),
    )


def read_entry(times: Times, value: Any, name: str) -> str:
    """When a trade or a position was entered. An equity curve has a point for each day since."""
    entered = times.read(value, name)
    if entered < EARLIEST:
        raise Invalid(f"{name} is before {EARLIEST}: {entered[:10]}", field=name)
    return entered


def _side(value: Any) -> str:
    side = str(value).strip().lower()
    if side not in SIDES:
        raise Invalid(f"side is long or short, not {str(value)[:40]!r}", field="side")
    return side


def _parse_cursor(cursor: str) -> tuple[str, str, str]:
    """Exit time, deployment and key of the last trade of a page; empty where a cursor has fewer parts."""
    exit_time, _, rest = sought(cursor).partition("~")
    deployment_id, _, key = rest.partition("~")
    return exit_time, deployment_id, key


# Operations


def keep_trades(tx: Tx, rows: Sequence[RowValues]) -> KeptCounts:
    """Store trades; each row is (owner, *the fields of a `Trade`). A trade that is stored with other figures is
    corrected, and its old figures are kept as former. The caller then has to run `days.fold_marked_days`, because the
    stored figures of these days are out of date. Returns how many were added, corrected and unchanged."""
    number, now, width = ledger.chain_head(tx).sealed + 1 + len(tx.batches), stamp(tx.clock()), former.KEY
    ordered = batch.in_order(rows, width)
    count = len(ordered)
    added, replaced = _TRADES.add(tx.conn, ordered, number), list[RowValues]()
    if added < count:
        stored = {row[:width]: row for row in former.standing_at(tx, ordered)}
        changed = [row for row in ordered if stored[row[:width]][:-1] != row]
        replaced = [(*stored[row[:width]], number, now) for row in changed]
        changed_keys = {row[:width] for row in changed}
        # Only rows that were written now are sealed: corrected ones, and added ones, which have the batch's number.
        ordered = [row for row in ordered if row[:width] in changed_keys or stored[row[:width]][-1] == number]
        former.keep_former_trades(tx, replaced)
        _TRADES.correct(tx.conn, [(*row, number) for row in changed])
    if ordered:
        batch.seal(tx, "trades", [row[1:] for row in ordered], [row[1:] for row in replaced], number)
        days.mark_days(tx, {(row[1], row[2][:10]) for row in ordered})
    return KeptCounts(added, len(replaced), count - added - len(replaced))


def keep_positions(tx: Tx, rows: Sequence[RowValues]) -> KeptCounts:
    """Store positions; each row is (owner, *the fields of a `Position`). One that changed is closed and stored anew, so
    that queries as of an earlier instant find its old figures. Returns how many were added, changed and unchanged."""
    added, changed = 0, 0
    by_key = {position[:4]: position for position in (Position(*row[1:]) for row in rows)}
    for key, position in by_key.items():
        known = [Position(*row) for row in tx.conn.execute(_all_of(tx, key))]
        current = next((one for one in known if one.closed_at is None), None)
        if current is not None and _figures(current) == _figures(position):
            continue
        if known:
            _change_position(tx, position, known, current)
            changed += 1
        else:
            tx.conn.execute(insert(position_rows), {"owner": tx.owner} | position._asdict())
            added += 1
    return KeptCounts(added, changed, len(by_key) - added - changed)


def _figures(position: Position) -> tuple[float, float]:
    return position.entry_price, position.quantity


def _change_position(tx: Tx, position: Position, known: Sequence[Position], current: Position | None) -> None:
    """Store a position that was `known` with other figures. It counts from the file's `known_at`, if that is later than
    all that is stored, else from now."""
    if position.known_at <= max([position.entry_time, *(one.known_at for one in known)]):
        position = position._replace(known_at=stamp(tx.clock()))
    if current is not None:
        _set_position(tx, current, closed_at=position.known_at)
    same_instant = next((one for one in known if one.known_at == position.known_at), None)
    if same_instant is None:
        tx.conn.execute(insert(position_rows), {"owner": tx.owner} | position._asdict())
    else:  # changed twice in one instant: no query can ask for the first figures, so they are overwritten
        _set_position(tx, same_instant, entry_price=position.entry_price, quantity=position.quantity, closed_at=None)


def _set_position(tx: Tx, position: Position, **values: Any) -> None:
    names = (*Position._fields[:4], "known_at")
    keys = [position_rows.c[name] == getattr(position, name) for name in names]
    tx.conn.execute(update(position_rows).where(position_rows.c.owner == tx.owner, *keys).values(values))


def close_others(tx: Tx, deployment_id: str, open_now: set[RowValues]) -> int:
    """Close the open positions of a deployment except these (symbol, side, entry time); returns how many."""
    keys = (position_rows.c.symbol, position_rows.c.side, position_rows.c.entry_time)
    in_deployment = (position_rows.c.owner == tx.owner, position_rows.c.deployment_id == deployment_id)
    stored = tx.conn.execute(select(*keys).where(*in_deployment, position_rows.c.closed_at.is_(None))).all()
    now = stamp(tx.clock())
    gone = [tuple(row) for row in stored if tuple(row) not in open_now]
    for one in gone:
        is_this = [column == value for column, value in zip(keys, one, strict=True)]
        tx.conn.execute(update(position_rows).where(*in_deployment, *is_this).values(closed_at=now))
    return len(gone)


def close_lots(tx: Tx, deployment_id: str, symbol: str, open_now: set[RowValues], at: str) -> None:
    """Close the open positions of a symbol except these (side, entry time), as of `at`, but not before they were
    known."""
    in_deployment = (position_rows.c.owner == tx.owner, position_rows.c.deployment_id == deployment_id)
    query = select(*(position_rows.c[name] for name in Position._fields)).where(
        *in_deployment, position_rows.c.symbol == symbol, position_rows.c.closed_at.is_(None)
    )
    for one in [Position(*row) for row in tx.conn.execute(query)]:
        if (one.side, one.entry_time) not in open_now:
            _set_position(tx, one, closed_at=max(at, one.known_at))


def named_deployments(book: OpenBook) -> Callable[[Any], str]:
    """A function that returns the id of the deployment that a row names, or raises `Invalid`. It remembers what it has
    looked up, for as many names as `Times` remembers times."""
    known: dict[str, str | Invalid] = {}

    def find(ref: Any) -> str:
        name = str(ref).strip()
        found = known.get(name)
        if found is None:
            found = _look_up_deployment(book, name)
            if len(known) < Times.MOST:
                known[name] = found
        if isinstance(found, Invalid):
            raise found
        return found

    return find


def _look_up_deployment(book: OpenBook, name: str) -> str | Invalid:
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

    def conditions(rows: FromClause) -> list[Any]:
        if since is None:
            return []
        return [rows.c.exit_time >= since]

    streams = [_stream(tx, id, known_at, conditions, newest_first=False) for id in dict.fromkeys(deployment_ids)]
    return heapq.merge(*streams, key=attrgetter("exit_time", "deployment_id", "key"))


def trade_page(
    tx: Tx, deployment_ids: Sequence[str], known_at: str, limit: int = 30, cursor: str | None = None
) -> Page[Trade]:
    """The trades that were known by an instant, the newest first."""
    clean_count(limit, "limit", 1000)
    ids = list(dict.fromkeys(deployment_ids))
    total = days.count_trades(tx, ids, known_at)

    def conditions(rows: FromClause) -> list[Any]:
        if cursor is None:
            return []
        return [tuple_(rows.c.exit_time, rows.c.deployment_id, rows.c.key) < tuple_(*_parse_cursor(cursor))]

    streams = [_stream(tx, id, known_at, conditions, newest_first=True, limit=limit + 1) for id in ids]
    order = attrgetter("exit_time", "deployment_id", "key")
    found = list(islice(heapq.merge(*streams, key=order, reverse=True), limit + 1))
    next_cursor = None
    if len(found) > limit:
        last = found[limit - 1]
        next_cursor = f"{last.exit_time}~{last.deployment_id}~{last.key}"
    return Page(found[:limit], total, next_cursor, "trades")


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
    """A query for all stored states of one position, earlier ones too."""
    keys = (position_rows.c[name] == value for name, value in zip(Position._fields[:4], key, strict=True))
    columns = [position_rows.c[name] for name in Position._fields]
    return select(*columns).where(position_rows.c.owner == tx.owner, *keys)


def _stream(
    tx: Tx, deployment_id: str, known_at: str, conditions: ConditionsOn, *, newest_first: bool, limit: int | None = None
) -> Iterator[Trade]:
    """The trades of one deployment in the order of the primary key, so that the database does not have to sort. Without
    a limit they are fetched 1,000 at a time."""
    rows_of = former.trades_as_of(tx, [deployment_id], known_at)
    query = select(*(rows_of.c[name] for name in Trade._fields)).where(
        rows_of.c.owner == tx.owner,
        rows_of.c.deployment_id == deployment_id,
        rows_of.c.exit_time <= known_at,
        rows_of.c.known_at <= known_at,
        *conditions(rows_of),
    )
    order = (rows_of.c.exit_time, rows_of.c.key)
    query = query.order_by(*(column.desc() if newest_first else column for column in order)).limit(limit)
    if limit is not None:
        yield from map(Trade._make, tx.conn.execute(query).all())
        return
    with tx.conn.execute(query, execution_options={"yield_per": 1000}) as rows:  # closes it if not all are read
        yield from map(Trade._make, rows)
