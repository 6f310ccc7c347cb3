"""Interactive Brokers: the Activity Statement as CSV, many tables in one file, each line beginning with its table.

Orders are fills, unless their executions stand below them. The quantity has a sign. What one contract holds is said
among the instruments. Of each symbol there is a sum below, which has to be that of its rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.ibkr import (
    ENDINGS,
    OF_A_BOND,
    delivery,
    flex_codes,
    only_closes,
    read_corporate_actions,
)
from keepbook.extensions.trading.book.imports.formats.parts.options import CONTRACT, parse_option
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_action,
    make_fill,
    or_wrong,
    paid_beside,
    rounding,
    without_cancelled,
)
from keepbook.extensions.trading.book.imports.pairing import EXPIRY, Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.market.symbols import ALL_COUNTRIES

SUMS = ("quantity", "proceeds", "comm/fee")
BONDS = ("Bonds", "Treasury", "Corporate", "Municipal")
"""How the names of their categories begin."""
PAID_IN = tuple(f"comm in {money.lower()}" for money in ALL_COUNTRIES)
"""The columns of fees in the account's own currency, as the trades of currencies have them."""


def read_statement_rows(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    sizes, account = _contract_sizes(table, reader), _account(table)
    trades = [line for line in table.lines if line.section == "Trades"]
    parts = _with_executions(trades)
    _compare_sums(table, trades, reader)
    found: list[ReadRow] = [
        ((line.row,), or_wrong(line, _fill, line, reader, sizes, account, parts)) for line in trades
    ]
    yield from without_cancelled(found, {line.row for line in trades if _is_cancel(line)})
    for rows, one in read_corporate_actions(
        [line for line in table.lines if line.section == "Corporate Actions"], reader
    ):
        if isinstance(one, Fill):
            yield from ((rows, replace(one, account=whose)) for whose in _holders(one, found, account))
        else:
            yield rows, one
    for line in table.lines:
        if line.section not in ("Trades", "Corporate Actions"):
            yield (line.row,), Invalid("a transfer is no trade")


def _holders(split: Fill, found: Sequence[ReadRow], account: str) -> list[str]:
    """The accounts that a split is of. It names none: those that trade the symbol, else its currency, in this file."""
    fills = [one for _, one in found if isinstance(one, Fill) and one.quote == split.quote]
    mine = {one.account for one in fills if one.symbol == split.symbol} or {one.account for one in fills}
    return sorted(mine) or [account]


def _kind(line: FileRow) -> str:
    return str(line.cells.get("datadiscriminator") or "Order")


def _is_cancel(line: FileRow) -> bool:
    return "Ca" in flex_codes(line.cells.get("code")) or "cancel" in _kind(line).lower()


def _with_executions(lines: Sequence[FileRow]) -> set[int]:
    """The rows of orders whose executions stand below them."""
    found, order = set(), 0
    for line in lines:
        if _kind(line) == "Order":
            order = line.row
        elif _kind(line) == "Trade" and order:
            found.add(order)
    return found


def _fill(
    line: FileRow, reader: CellReader, sizes: Mapping[str, float], account: str, parts: set[int]
) -> Fill:  # fmt: skip
    kind, category = _kind(line), str(line.cells.get("asset category") or "")
    if kind == "ClosedLot" or line.row in parts:
        raise Invalid("a closed lot is no execution" if kind == "ClosedLot" else "the sum of the executions below")
    named = str(line.cells[first_filled(line, "symbol")])
    contract = parse_option(named)
    if contract:
        symbol = contract.symbol
    else:
        symbol = " ".join(named.upper().split())[:40]
    if category.startswith("Forex"):
        symbol = values.symbol(named)
    quantity, price = reader.number(line, "quantity"), reader.number(line, "t. price")
    known = OF_A_BOND if category.startswith(BONDS) else sizes.get(symbol)
    size = reader.told_multiplier(symbol) or known or _usual_size(category, contract is not None)
    proceeds = reader.optional(line, "proceeds")
    slack = Decimal("0.011") + abs(quantity) * rounding(line.cells["t. price"]) * Decimal(str(size))
    if not category.startswith(("Forex", "Futures")):
        reader.compare(line.row, "quantity × price", -quantity * price * Decimal(str(size)), proceeds, slack)
    told: dict[str, Any] = {
        "time": reader.moment(line, "date/time"), "symbol": symbol, "quantity": quantity, "multiplier": size,
        "quote": str(line.cells.get("currency") or "").upper(), "account": str(line.cells.get("account") or account),
    }  # fmt: skip
    codes = flex_codes(line.cells.get("code"))
    stated = reader.optional(line, "realized p/l")
    profit = None
    if stated:
        profit = float(stated)
    if price == 0 and contract is not None:
        why = next((words for code, words in ENDINGS.items() if code in codes), "expired")
        return make_action(line, side=EXPIRY, reason=why, profit=profit if why == "expired" else None, **told)
    fee, coin = _fee(line, reader)
    if (quantity > 0) != _is_cancel(line):
        way = "buy"
    else:
        way = "sell"
    fees = ((-fee, coin or told["quote"]),) if fee else ()
    closes = only_closes(codes)
    return make_fill(
        line, side=way, price=price, fees=paid_beside(fees, symbol, price),
        profit=profit, reason=delivery(codes), from_holding=closes and way == "sell",
        closes_only=closes and way == "buy", **told,
    )  # fmt: skip


def _fee(line: FileRow, reader: CellReader) -> tuple[Decimal, str]:
    """What was paid, and the currency where the column says it: `Comm in USD`."""
    if (paid := reader.optional(line, "comm/fee")) is not None:
        return paid, ""
    name = next((name for name in line.cells if name.startswith("comm in ")), "")
    return (reader.optional(line, name) or Decimal(0) if name else Decimal(0)), name.removeprefix("comm in ").upper()


def _usual_size(category: str, is_option: bool) -> float:
    if category.startswith(("Futures", "Options On Futures")):
        raise Invalid("multiplier is missing: the file does not say what a contract holds; say it", field="multiplier")
    if is_option:
        return CONTRACT
    return 1.0


def _contract_sizes(table: FileTable, reader: CellReader) -> dict[str, float]:
    """What one contract holds, by each of the names of an instrument."""
    found: dict[str, float] = {}
    for line in table.beside:
        if line.section == "Financial Instrument Information Data":
            size = reader.optional(line, "multiplier")
            for name in [*str(line.cells.get("symbol") or "").split(","), str(line.cells.get("description") or "")]:
                contract = parse_option(name)
                if size and name.strip():
                    found[contract.symbol if contract else " ".join(name.upper().split())[:40]] = float(size)
    return found


def _account(table: FileTable) -> str:
    for line in table.beside:
        if line.section == "Account Information Data" and line.cells.get("field name") == "Account":
            return str(line.cells.get("field value") or "")
    return ""


def _compare_sums(table: FileTable, trades: Sequence[FileRow], reader: CellReader) -> None:
    """Below the rows of a symbol stands their sum. Those of a whole currency may be converted, and tell nothing."""
    of_symbol: dict[object, list[FileRow]] = {}
    for line in [line for line in trades if _kind(line) == "Order"] or trades:
        of_symbol.setdefault(line.cells.get("symbol"), []).append(line)
    for line in table.beside:
        if line.section != "Trades SubTotal" or not line.cells.get("symbol") or line.wrong is not None:
            continue
        names = ("asset category", "currency", "symbol", "account")
        orders = of_symbol.get(line.cells["symbol"], ())
        mine = [one for one in orders if one.wrong is None and _same(one, line, names)]
        for name in SUMS:
            told = reader.optional(line, name)
            if mine and told is not None:
                computed = sum((reader.optional(one, name) or Decimal(0) for one in mine), Decimal(0))
                words = f"the sum of {name} for {line.cells['symbol']}"
                reader.compare(line.row, words, computed, told, len(mine) * Decimal("0.01"))


def _same(one: FileRow, other: FileRow, names: Sequence[str]) -> bool:
    return all(not other.cells.get(name) or one.cells.get(name) == other.cells[name] for name in names)


STATEMENT = FileFormat(
    "ibkr-activity",
    "Interactive Brokers, Activity Statement",
    (frozenset({"datadiscriminator", "asset category", "currency", "symbol", "date/time", "quantity", "t. price",
                "proceeds|notional value", "|".join(("comm/fee", *PAID_IN)), "code"}),),
    frozenset({"datadiscriminator", "asset category", "currency", "account", "symbol", "date/time", "quantity",
               "t. price", "c. price", "proceeds", "notional value", "comm/fee", "basis", "realized p/l", "mtm p/l",
               "code", *PAID_IN, "mtm in usd", "mtm in eur", "report date", "description", "value", "date", "type",
               "direction", "xfer company", "xfer account", "qty", "xfer price", "market value", "cash amount",
               "realized p/l %"}),
    read_statement_rows,
    (
        "DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,C. Price,Proceeds,Comm/Fee,Basis,"
        "Realized P/L,MTM P/L,Code",
        "DataDiscriminator,Asset Category,Currency,Account,Symbol,Date/Time,Quantity,T. Price,C. Price,Proceeds,"
        "Comm/Fee,Basis,Realized P/L,MTM P/L,Code",
        "DataDiscriminator,Asset Category,Currency,Symbol,Date/Time,Quantity,T. Price,C. Price,Notional Value,Comm/Fee,"
        "Basis,Realized P/L,MTM P/L,Code",
    ),
    "statements in the tests of public importers (tax tools, portfolio trackers)",
)  # fmt: skip
