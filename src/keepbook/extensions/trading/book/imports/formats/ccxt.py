"""ccxt: what `fetch_my_trades` answers, as JSON. The exchange's own words stand in `info` and are not read.

What settles in a coin of its own, `SOL/USDT:USDT`, is a contract and may be short; else it is of a spot account. How
much one contract holds is what its cost shows. What settles in the coin that is traded, `BTC/USD:BTC`, does not earn
its quantity times the price, and is refused.
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
    named = str(line.cells[first_filled(line, "symbol")])
    symbol, settled = values.symbol(named), named.partition(":")[2].partition("-")[0].upper()
    if settled and settled == values.split_symbol(symbol)[0]:
        raise Invalid(f"{named[:60]} settles in what is traded: its profit is not told by quantity and price")
    listed: Any = line.cells.get("fees") or ([line.cells["fee"]] if line.cells.get("fee") else [])
    fees = tuple(
        (values.decimal(one.get("cost") or 0, "fee"), str(one.get("currency") or "").upper())
        for one in listed
        if isinstance(one, dict)
    )
    quantity, price = reader.number(line, "amount"), reader.number(line, "price")
    if settled:
        size = _contract_size(line, reader, symbol, quantity * price)
    else:
        size = 1.0
    return make_fill(
        line, time=reader.moment(line, "timestamp", "datetime", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]), quantity=quantity, price=price,
        id=line.cells.get("id"), fees=fees or ((Decimal(0), ""),), multiplier=size, spot=not settled,
    )  # fmt: skip


def _contract_size(line: FileRow, reader: CellReader, symbol: str, worth: Decimal) -> float:
    """What one contract holds: as it was said, else what the cost is more, or less, than quantity times price."""
    told, cost = reader.told_multiplier(symbol), reader.optional(line, "cost")
    if told is not None or not cost or not worth:
        return told or 1.0
    return float(Context(prec=4).divide(cost, worth))


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
