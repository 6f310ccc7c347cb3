"""ccxt: what `fetch_my_trades` answers, as JSON. The exchange's own words stand in `info` and are not read.

What settles in a coin of its own, `SOL/USDT:USDT`, is a contract and may be short; else it is of a spot account.
"""

from decimal import Decimal
from typing import Any

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
    symbol = values.symbol(line.cells[first_filled(line, "symbol")])
    listed: Any = line.cells.get("fees") or ([line.cells["fee"]] if line.cells.get("fee") else [])
    fees = tuple(
        (values.decimal(one.get("cost") or 0, "fee"), str(one.get("currency") or "").upper())
        for one in listed
        if isinstance(one, dict)
    )
    return make_fill(
        line, time=reader.moment(line, "timestamp", "datetime", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]), quantity=reader.number(line, "amount"),
        price=reader.number(line, "price"), id=line.cells.get("id"), fees=fees or ((Decimal(0), ""),),
        multiplier=reader.multiplier(symbol), spot=":" not in str(line.cells["symbol"]),
    )  # fmt: skip


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
