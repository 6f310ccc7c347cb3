"""ccxt: the result of `fetch_my_trades`, as JSON. The exchange's own fields, in `info`, are not read.

A symbol that names the coin it settles in (`SOL/USDT:USDT`) is a contract, which may be short; any other is of a spot
account. The size of a contract follows from its cost. One that settles in the coin that is traded (`BTC/USD:BTC`) is
refused, because its profit is not the quantity times the change of the price.
"""

from decimal import Context, Decimal
from typing import Any

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    first_filled,
    make_fill,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill
from keepbook.extensions.trading.book.imports.table import FileRow


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    """A trade as a fill; raises `Invalid` for a contract that settles in the coin that is traded."""
    named = str(line.cells[first_filled(line, "symbol")])
    symbol = values.symbol(named)
    settles_in = named.partition(":")[2].partition("-")[0].upper()  # empty for spot
    if settles_in and settles_in == values.split_symbol(symbol)[0]:
        raise Invalid(f"{named[:60]} settles in what is traded: its profit is not told by quantity and price")
    quantity, price = reader.number(line, "amount"), reader.number(line, "price")
    size = 1.0
    if settles_in:
        size = _contract_size(line, reader, symbol, quantity * price)
    return make_fill(
        line, time=reader.moment(line, "timestamp", "datetime", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]), quantity=quantity, price=price,
        id=line.cells.get("id"), fees=_fees(line), multiplier=size, spot=not settles_in,
    )  # fmt: skip


def _fees(line: FileRow) -> tuple[tuple[Decimal, str], ...]:
    """The fees of a trade and their coins, from the list `fees` or the single `fee`."""
    listed: Any = line.cells.get("fees")
    if not listed:
        listed = [line.cells.get("fee")]
    fees = [one for one in listed if isinstance(one, dict)]
    return tuple((values.decimal(one.get("cost") or 0, "fee"), str(one.get("currency") or "").upper()) for one in fees)


def _contract_size(line: FileRow, reader: CellReader, symbol: str, worth: Decimal) -> float:
    """The size of one contract: as the person gave it, else the cost over `worth`, which is quantity times price."""
    told, cost = reader.told_multiplier(symbol), reader.optional(line, "cost")
    if told is not None:
        return told or 1.0
    if not cost or not worth:
        return 1.0
    return float(Context(prec=4).divide(cost, worth))  # four digits, because the figures of the file are rounded


TRADES = FileFormat(
    "ccxt",
    "ccxt, fetch_my_trades",
    (frozenset({"timestamp", "symbol", "side", "price", "amount", "info"}),),
    frozenset({"id", "timestamp", "datetime", "symbol", "side", "price", "amount", "fee", "fees", "info", "order",
               "cost", "type", "takerormaker"}),
    row_by_row(read_fill),
    (
        "id,timestamp,datetime,symbol,side,price,amount,cost,fee,fees,info,order,type,takerOrMaker",
    ),
    "the unified trade structure in the manual of ccxt",
)  # fmt: skip
