"""Charles Schwab: the transactions of a brokerage account. Quantities have no sign; the action says what was done.

Amounts are dollars with a sign. An option's price is for one share, and a contract is for a hundred. The actions
`Expired` and `Assigned` end an option; the shares of an assignment have a row of their own.
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
"""The actions that only sell what the account holds; other sales have the action `Sell Short`."""
COVERS = ("buy to close", "buy to cover")
"""The actions that only buy back what was sold short."""


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
    """Time, symbol and added shares of a row of a split. The old shares of a reverse split go out under their CUSIP, so
    the symbol is taken from the row of the same day and company that has one."""
    day = day_of(line, "date")
    of_company = [one for one in splits if day_of(one, "date") == day and _same_company(one, line)]
    names = [str(one.cells.get("symbol") or "").upper() for one in of_company]
    symbol = next((name for name in names if name and not any(char.isdigit() for char in name)), names[0])
    return reader.instant(day, "date"), symbol, reader.number(line, "quantity")


def _same_company(one: FileRow, other: FileRow) -> bool:
    first, second = (str(line.cells.get("description") or "").upper()[:12] for line in (one, other))
    return first == second or one.cells.get("symbol") == other.cells.get("symbol")


def _transaction(line: FileRow, reader: CellReader) -> Fill:
    """A trade, the cancellation of one, or the end of an option; raises `Invalid` for all else."""
    action = action_of(line)
    trade = action.removeprefix("cancel ")
    is_cancel = trade != action
    if trade not in SIDES and action not in ENDS:
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
        line, time=time, symbol=symbol, side=SIDES[trade], quantity=quantity, price=price, fees=((fee, DOLLAR),),
        multiplier=size, quote=DOLLAR, from_holding=trade in HELD, closes_only=trade in COVERS,
        reason="reinvested" if trade == "reinvest shares" else None,
    )  # fmt: skip
    shares = quantity * Decimal(str(size))
    amount = shares * price if SIDES[trade] == "sell" else -shares * price
    amount -= fee
    if is_cancel:
        amount = -amount
    slack = Decimal("0.02") + shares * rounding(line.cells["price"])
    reader.compare(line.row, "quantity × price less fees", amount, reader.optional(line, "amount"), slack)
    return made


def _without_total(table: FileTable) -> FileTable:
    """The table without the total at its end."""
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
