"""Bybit: the transaction log of a unified account. Trades become fills, settlements become funding; all other rows are
refused.

A trade of a contract is one row, which opens or closes. A spot trade is two rows, one for each coin that changed hands.
Spot trades go to an account of their own, because a coin does not close a contract of the same name.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_fill,
    or_wrong,
    rounding,
)
from keepbook.extensions.trading.book.imports.pairing import FUNDING, Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable

TIMES = ("time(utc)", "time", "tradedtime")
TRADES: dict[str, str | None] = {"TRADE": None, "LIQUIDATION": "liquidation", "ADL": "deleveraged"}
"""The types of rows that are trades, with the reason of those that the person did not order."""


def _word(line: FileRow, name: str) -> str:
    return str(line.cells.get(name) or "").strip().upper()


def read_log(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The fills of the log, in the order of its rows; the two rows of a spot trade become one fill."""
    spot: dict[tuple[str, ...], list[FileRow]] = {}
    found: list[ReadRow] = []
    for line in table.lines:
        is_trade = line.wrong is None and _word(line, "type") == "TRADE"
        if is_trade and _word(line, "action") not in ("OPEN", "CLOSE"):
            names = ("contract", "direction", "filled price", *TIMES, "tradeid")
            trade = tuple(_word(line, name) for name in names)
            spot.setdefault(trade, []).append(line)
        else:
            found.append(((line.row,), or_wrong(line, read_fill, line, reader)))
    for lines in spot.values():
        rows = tuple(line.row for line in lines)
        made = or_wrong(lines[0], _spot_fill, lines, reader)
        if isinstance(made, Invalid):
            found += [((row,), made) for row in rows]
        else:
            found.append((rows, made))
    yield from sorted(found, key=lambda read: read[0])


def _spot_fill(lines: Sequence[FileRow], reader: CellReader) -> Fill:
    """The fill of a spot trade, whose rows differ in their currency. Each row may have paid a part of the fee."""
    first = lines[0]
    symbol = values.symbol(first.cells[first_filled(first, "contract")])
    coin, quote = values.split_symbol(symbol)
    price = reader.number(first, "filled price")
    size, worth = _quantity_in(lines, coin, reader), _quantity_in(lines, quote, reader)
    if size and worth:
        reader.compare(first.row, "quantity × price", size * price, worth, Decimal("0.01") + worth / 1000)
    if not size:
        size = worth / price if price else worth
    fees = ((_fee_paid(line, reader), _word(line, "currency")) for line in lines)
    return make_fill(
        first, time=reader.moment(first, *TIMES, zone="UTC"), symbol=symbol,
        side=values.parse_side(first.cells[first_filled(first, "direction")]), quantity=size, price=price,
        id=first.cells.get("tradeid"), fees=tuple(fees), spot=True, account="spot",
    )  # fmt: skip


def _quantity_in(lines: Sequence[FileRow], currency: str, reader: CellReader) -> Decimal:
    """The sum of the quantities of the rows in this currency."""
    in_currency = (line for line in lines if _word(line, "currency") == currency)
    return sum((abs(reader.number(line, "quantity")) for line in in_currency), Decimal(0))


def _fee_paid(line: FileRow, reader: CellReader) -> Decimal:
    """The fee of a row; negative if it was a rebate. Some exports write a fee with a minus and some without, and so the
    sign is taken from the change of the balance, if the row has that."""
    told = reader.optional(line, "fee paid") or Decimal(0)
    change, cash, funding = (reader.optional(line, name) for name in ("change", "cash flow", "funding"))
    if change is None or cash is None:
        return -told
    paid = cash + (funding or 0) - change
    written = (str(line.cells[name]) for name in ("change", "cash flow", "fee paid"))
    slack = sum((rounding(figure) for figure in written if "." in figure), Decimal(0))
    reader.compare(line.row, "the fee by the change of the balance", abs(paid), abs(told), slack)
    return told.copy_sign(paid)


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    """A trade of a contract, or a payment of funding."""
    kind = _word(line, "type")
    if kind not in TRADES and kind != "SETTLEMENT":
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    symbol = values.symbol(line.cells[first_filled(line, "contract")])
    at = reader.moment(line, *TIMES, zone="UTC")
    id = line.cells.get("tradeid")
    if kind == "SETTLEMENT":
        received = reader.optional(line, "funding") or Decimal(0)
        return Fill(
            at, symbol, FUNDING, abs(reader.number(line, "position")), 0.0, key=f"id-{id}" if id else "",
            fee=float(-received), rows=(line.row,),
        )  # fmt: skip
    fee = _fee_paid(line, reader)
    cash = reader.optional(line, "cash flow")
    closes = _word(line, "action") == "CLOSE"
    profit = None
    if cash is not None and (closes or cash != 0):  # a row that opens has a cash flow of 0, which is no profit
        profit = float(cash)
    return make_fill(
        line, time=at, symbol=symbol, side=values.parse_side(line.cells[first_filled(line, "direction")]),
        quantity=reader.number(line, "quantity"), price=reader.number(line, "filled price"), id=id,
        fees=((fee, _word(line, "currency") or values.split_symbol(symbol)[1]),), reason=TRADES[kind],
        profit=profit, multiplier=reader.multiplier(symbol),
    )  # fmt: skip


LOG = FileFormat(
    "bybit",
    "Bybit, transaction log",
    (frozenset({"contract", "type", "direction", "quantity", "filled price", "fee paid"}),),
    frozenset({*TIMES, "uid", "currency", "contract", "type", "direction", "quantity", "position", "filled price",
               "funding", "fee paid", "cash flow", "change", "wallet balance", "action", "orderid", "tradeid"}),
    read_log,
    (
        "Uid,Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,"
        "Wallet Balance,Action,OrderId,TradeId,Time(UTC)",
    ),
    "exports of the unified account in public importers",
)  # fmt: skip
