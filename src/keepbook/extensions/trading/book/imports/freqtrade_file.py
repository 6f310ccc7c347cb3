"""Reads a trade database of freqtrade: its trades, each with what its orders came to; in a process of its own."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.book.ground.foreign_sqlite import columns_of, open_foreign_sqlite
from keepbook.book.upkeep.reading_apart import Answer, ReadingLimits, read_apart
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.files import RowsRead, Source

NEEDED = {"id", "pair", "is_open", "open_rate", "open_date", "amount", "close_rate", "close_date"}
"""Columns that every version has and that nothing can be said without."""


class FilledOrders(NamedTuple):
    """The sum of a trade's orders on one side: the amount and its value."""

    amount: float
    worth: float


NO_ORDERS: Mapping[bool, FilledOrders] = {}
"""The orders in a database that has no table of them, as very old versions have none."""


def read_freqtrade(
    source: Source, limits: ReadingLimits, answer: Answer = "stream"
) -> Iterator[tuple[dict[str, Any], Mapping[bool, FilledOrders]]]:
    """The trades of a database, each with its orders. It is always read in a process of its own."""
    if isinstance(source, RowsRead):
        return iter(source)
    if not isinstance(source, str | PathLike):
        raise Invalid("a trade database of freqtrade is a file; give its path", field="file")
    return map(_with_its_orders, read_apart(f"{__name__}:trades_in_file", Path(source), {}, limits, answer=answer))


def trades_in_file(path: Path, _: Mapping[str, Any]) -> Iterator[Any]:
    """The same as plain values; in the process that reads it."""
    with open_foreign_sqlite(path, "a trade database of freqtrade") as file:
        for trade, orders in _trades(file):
            told = None
            if orders is not NO_ORDERS:
                told = [(into, *filled) for into, filled in orders.items()]
            yield trade, told


def _with_its_orders(told: Sequence[Any]) -> tuple[dict[str, Any], Mapping[bool, FilledOrders]]:
    trade, orders = told
    if orders is None:
        return trade, NO_ORDERS
    return trade, {into: FilledOrders(amount, worth) for into, amount, worth in orders}


def _trades(file: sqlite3.Connection) -> Iterator[tuple[dict[str, Any], Mapping[bool, FilledOrders]]]:
    """Each trade as the file has it, oldest first, with what its orders came to: in (True) and out (False)."""
    if missing := sorted(NEEDED - columns_of(file, "trades")):
        raise Invalid(f"this is no trade database of freqtrade: its trades have no {missing[0]!r}", field="file")
    has_orders = {"ft_trade_id", "ft_order_side", "filled", "price"} <= (columns := columns_of(file, "orders"))
    if "average" in columns:
        price = "coalesce(average, price)"
    else:
        price = "price"
    if "ft_fee_base" in columns:
        amount = "(filled - coalesce(ft_fee_base, 0))"
    else:
        amount = "filled"
    query = (
        # The columns are our own words.
        f"SELECT ft_order_side AS side, sum({amount}) AS amount, sum({amount} * {price}) AS worth FROM orders "  # noqa: S608
        f"WHERE ft_trade_id = ? AND filled > 0 AND {price} > 0 GROUP BY ft_order_side"
    )
    for row in file.execute("SELECT * FROM trades ORDER BY id"):
        trade = dict(row)
        orders: Mapping[bool, FilledOrders] = NO_ORDERS
        if has_orders:
            if trade.get("is_short"):
                into = "sell"
            else:
                into = "buy"
            sides: dict[bool, FilledOrders] = {}
            for side, filled, worth in file.execute(query, (trade["id"],)):
                before = sides.get(side == into, FilledOrders(0.0, 0.0))  # a stop on the exchange is a side of its own
                sides[side == into] = FilledOrders(before.amount + filled, before.worth + worth)
            orders = sides
        yield trade, orders
