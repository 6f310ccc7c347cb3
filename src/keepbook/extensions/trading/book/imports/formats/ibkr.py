"""Interactive Brokers: a Flex query's trades, as CSV or as XML. Only executions are fills; sums of them are none."""

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

IDS = ("ibexecid", "tradeid", "transactionid")


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    detail = str(line.cells.get("levelofdetail") or line.cells.get("datadiscriminator") or "EXECUTION").upper()
    if detail not in ("EXECUTION", "TRADE"):
        raise Invalid(f"{detail.lower()} is a sum of executions, no execution")
    symbol = str(line.cells[first_filled(line, "symbol")]).strip().upper()[:40]
    quantity = reader.number(line, "quantity")
    way = str(line.cells.get("buy/sell") or line.cells.get("buysell") or ("buy" if quantity > 0 else "sell"))
    paid = [reader.optional(line, name) for name in ("ibcommission", "taxes")]
    coin = str(line.cells.get("ibcommissioncurrency") or "").upper()
    quote = str(line.cells.get("currencyprimary") or line.cells.get("currency") or "").upper()
    profit = reader.optional(line, "fifopnlrealized")
    size = reader.optional(line, "multiplier")
    return make_fill(
        line, time=_time(line, reader), symbol=symbol, side=values.parse_side(way.partition(" ")[0]), quantity=quantity,
        price=reader.number(line, "tradeprice"),
        id=next((line.cells[name] for name in IDS if line.cells.get(name)), None),
        fees=tuple((-one, coin or quote) for one in paid if one), quote=quote,
        multiplier=float(size) if size else reader.multiplier(symbol), profit=float(profit) if profit else None,
    )  # fmt: skip


def _time(line: FileRow, reader: CellReader) -> str:
    if line.cells.get("datetime"):
        return reader.moment(line, "datetime")
    day, clock = line.cells[first_filled(line, "tradedate")], line.cells.get("tradetime") or ""
    return values.parse_cell_time(f"{day};{clock}" if clock else day, "tradedate", reader.now, reader.zone)


TRADES = FileFormat(
    "ibkr-flex",
    "Interactive Brokers, Flex trades",
    (
        frozenset({"symbol", "quantity", "tradeprice", "ibcommission"}),
        frozenset({"symbol", "quantity", "tradeprice", "datetime"}),
    ),
    frozenset({*IDS, "symbol", "quantity", "tradeprice", "ibcommission", "ibcommissioncurrency", "currencyprimary",
               "currency", "multiplier", "fifopnlrealized", "buy/sell", "buysell", "datetime", "tradedate", "tradetime",
               "levelofdetail", "taxes", "datadiscriminator", "clientaccountid", "accountid", "trademoney", "proceeds",
               "netcash", "cost", "closeprice", "conid", "settledatetarget", "reportdate", "isin", "cusip"}),
    row_by_row(read_fill),
)  # fmt: skip
