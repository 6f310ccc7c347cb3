"""Charles Schwab: the transactions of a brokerage account. Quantities have no sign, the action says what was done.

Amounts are dollars with a sign. An option's price is for one share, and a contract holds a hundred. `Expired` and
`Assigned` end options, and the shares of an assignment stand in a row of their own.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports.formats.parts.share_days import (
    DOLLAR,
    day_of,
    end_day,
    oldest_first,
    opening_first,
    read_added_shares,
    traded_name,
)
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_action,
    make_fill,
    or_wrong,
    rounding,
    without_cancelled,
)
from keepbook.extensions.trading.book.imports.pairing import EXPIRY, Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.imports.values import MONTH_FIRST

SIDES = {
    "buy": "buy", "buy to open": "buy", "buy to close": "buy", "buy to cover": "buy", "reinvest shares": "buy",
    "sell": "sell", "sell short": "sell", "sell to open": "sell", "sell to close": "sell",
}  # fmt: skip
ENDS = {"expired": "expired", "assigned": "assigned", "exchange or exercise": "exercised", "exercised": "exercised"}
SPLITS = ("stock split", "reverse split", "forward split")
CLOSES = ("buy to close", "sell to close", *ENDS)
HELD = ("sell", "sell to close")
"""Sales of what the account holds; what it does not is a `Sell Short`."""
COVERS = ("buy to close", "buy to cover")


def action_of(line: FileRow) -> str:
    return " ".join(str(line.cells.get("action") or "").lower().split())


def read_transactions(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    lines = oldest_first(table, reader, "date")
    splits = [line for line in lines if action_of(line) in SPLITS]
    found: list[ReadRow] = [
        ((line.row,), or_wrong(line, _transaction, line, reader)) for line in lines if action_of(line) not in SPLITS
    ]
    cancels = {line.row for line in lines if action_of(line).startswith("cancel ")}
    kept = opening_first(without_cancelled(found, cancels), {line.row: action_of(line) not in CLOSES for line in lines})
    yield from kept
    yield from read_added_shares(splits, kept, lambda line: _shares(line, splits, reader))
    yield from (((line.row,), Invalid(line.wrong)) for line in table.lines if line.wrong is not None)


def _shares(line: FileRow, splits: list[FileRow], reader: CellReader) -> tuple[str, str, Decimal]:
    """The old shares of a reverse split go out under their CUSIP; the symbol is that of the new ones of the day."""
    day = day_of(line, "date")
    named = [
        str(one.cells.get("symbol") or "").upper()
        for one in splits
        if day_of(one, "date") == day and _same_company(one, line)
    ]
    symbol = next((name for name in named if name and not any(char.isdigit() for char in name)), "")
    return reader.instant(day, "date"), symbol or named[0], reader.number(line, "quantity")


def _same_company(one: FileRow, other: FileRow) -> bool:
    first, second = (str(line.cells.get("description") or "").upper()[:12] for line in (one, other))
    return first == second or one.cells.get("symbol") == other.cells.get("symbol")


def _transaction(line: FileRow, reader: CellReader) -> Fill:
    action = action_of(line)
    way = action.removeprefix("cancel ")
    if way not in SIDES and action not in ENDS:
        raise Invalid(f"{action or 'a row without an action'} is no trade")
    named = str(line.cells[first_filled(line, "symbol")])
    symbol, size = traded_name(named)
    time = reader.instant(day_of(line, "date"), "date")
    quantity = abs(reader.number(line, "quantity"))
    if action in ENDS:
        return make_action(
            line, time=end_day(line, reader, named, ENDS[action], "date"), symbol=symbol, side=EXPIRY,
            quantity=quantity, reason=ENDS[action], multiplier=size, quote=DOLLAR,
        )  # fmt: skip
    fee = abs(reader.optional(line, "fees & comm") or Decimal(0))
    price = reader.number(line, "price")
    made = make_fill(
        line, time=time, symbol=symbol, side=SIDES[way], quantity=quantity, price=price, fees=((fee, DOLLAR),),
        multiplier=size, quote=DOLLAR, from_holding=way in HELD, closes_only=way in COVERS,
    )  # fmt: skip
    worth = quantity * price * Decimal(str(size))
    sign = (1 if SIDES[way] == "sell" else -1) * (-1 if way != action else 1)
    slack = Decimal("0.02") + quantity * Decimal(str(size)) * rounding(line.cells["price"])
    if way == action:
        paid = -fee
    else:
        paid = fee
    reader.compare(line.row, "quantity × price less fees", sign * worth + paid, reader.optional(line, "amount"), slack)
    if way == "reinvest shares":
        return replace(made, reason="reinvested")
    return replace(made, reason=None)


def _without_total(table: FileTable) -> FileTable:
    """Without the sum at the end."""
    rows = (line for line in table.lines if "total" not in str(line.cells.get("date") or "").lower())
    return replace(table, lines=tuple(rows))


TRANSACTIONS = FileFormat(
    "schwab",
    "Charles Schwab, transactions",
    (frozenset({"date", "action", "symbol", "description", "quantity", "price", "fees & comm", "amount"}),),
    frozenset({"date", "action", "symbol", "description", "quantity", "price", "fees & comm", "amount",
               "acctg rule cd"}),
    read_transactions,
    ('"Date","Action","Symbol","Description","Quantity","Price","Fees & Comm","Amount"',),
    "beancount_reds_importers (Schwab Brokerage CSV), Export-To-Ghostfolio",
    MONTH_FIRST,
    _without_total,
)  # fmt: skip
