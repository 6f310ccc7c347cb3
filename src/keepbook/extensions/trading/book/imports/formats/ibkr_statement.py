"""Interactive Brokers: the Activity Statement as CSV, which has many tables in one file; each line begins with the name
of its table.

Orders are read as fills, unless their executions stand below them. The quantity has a sign. The table of instruments
has the multipliers. For each symbol the file has a sum, which must be the sum of its rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.ibkr import (
    BOND_SIZE,
    ENDINGS,
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
"""The columns whose sums are compared."""
BONDS = ("Bonds", "Treasury", "Corporate", "Municipal")
"""The beginnings of the asset categories of bonds."""
PAID_IN = tuple(f"comm in {money.lower()}" for money in ALL_COUNTRIES)
"""The columns of fees in the account's own currency, such as `comm in usd`; trades of currencies have them."""


def read_statement_rows(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The fills, endings of options and splits of a statement, table by table."""
    sizes, account = _contract_sizes(table, reader), _account(table)
    trades = [line for line in table.lines if line.section == "Trades"]
    actions = [line for line in table.lines if line.section == "Corporate Actions"]
    summed_up = _orders_with_executions(trades)
    _compare_sums(table, trades, reader)
    found: list[ReadRow] = [
        ((line.row,), or_wrong(line, _fill, line, reader, sizes, account, summed_up)) for line in trades
    ]
    yield from without_cancelled(found, {line.row for line in trades if _is_cancel(line)})
    for rows, one in read_corporate_actions(actions, reader):
        if isinstance(one, Fill):
            yield from ((rows, replace(one, account=holder)) for holder in _holders(one, found, account))
        else:
            yield rows, one
    for line in table.lines:
        if line.section not in ("Trades", "Corporate Actions"):
            yield (line.row,), Invalid("a transfer is no trade")


def _holders(split: Fill, found: Sequence[ReadRow], account: str) -> list[str]:
    """The accounts that a split counts for. Its row names none, so these are the accounts that trade the symbol in this
    file, or else its currency; or else the file's own account."""
    fills = [one for _, one in found if isinstance(one, Fill) and one.quote == split.quote]
    holders = {one.account for one in fills if one.symbol == split.symbol}
    if not holders:
        holders = {one.account for one in fills}
    return sorted(holders) or [account]


def _kind(line: FileRow) -> str:
    return str(line.cells.get("datadiscriminator") or "Order")


def _is_cancel(line: FileRow) -> bool:
    return "Ca" in flex_codes(line.cells.get("code")) or "cancel" in _kind(line).lower()


def _orders_with_executions(lines: Sequence[FileRow]) -> set[int]:
    """The rows of orders whose executions stand below them."""
    found, order = set(), 0
    for line in lines:
        if _kind(line) == "Order":
            order = line.row
        elif _kind(line) == "Trade" and order:
            found.add(order)
    return found


def _fill(
    line: FileRow, reader: CellReader, sizes: Mapping[str, float], account: str, summed_up: set[int]
) -> Fill:  # fmt: skip
    """An execution, or the end of an option. `summed_up` are the rows of orders whose executions are read instead."""
    category = str(line.cells.get("asset category") or "")
    if _kind(line) == "ClosedLot":
        raise Invalid("a closed lot is no execution")
    if line.row in summed_up:
        raise Invalid("the sum of the executions below")
    named = str(line.cells[first_filled(line, "symbol")])
    contract = parse_option(named)
    if contract:
        symbol = contract.symbol
    else:
        symbol = " ".join(named.upper().split())[:40]
    if category.startswith("Forex"):
        symbol = values.symbol(named)
    quantity, price = reader.number(line, "quantity"), reader.number(line, "t. price")
    known_size = BOND_SIZE if category.startswith(BONDS) else sizes.get(symbol)
    size = reader.told_multiplier(symbol) or known_size or _usual_size(category, contract is not None)
    proceeds = reader.optional(line, "proceeds")
    slack = Decimal("0.011") + abs(quantity) * rounding(line.cells["t. price"]) * Decimal(str(size))
    if not category.startswith(("Forex", "Futures")):
        reader.compare(line.row, "quantity × price", -quantity * price * Decimal(str(size)), proceeds, slack)
    shared: dict[str, Any] = {
        "time": reader.moment(line, "date/time"), "symbol": symbol, "quantity": quantity, "multiplier": size,
        "quote": str(line.cells.get("currency") or "").upper(), "account": str(line.cells.get("account") or account),
    }  # fmt: skip
    codes = flex_codes(line.cells.get("code"))
    stated_profit = reader.optional(line, "realized p/l")
    profit = float(stated_profit) if stated_profit else None
    if price == 0 and contract is not None:
        why = next((words for code, words in ENDINGS.items() if code in codes), "expired")
        return make_action(line, side=EXPIRY, reason=why, profit=profit if why == "expired" else None, **shared)
    fee, coin = _fee(line, reader)
    fees = ((-fee, coin or shared["quote"]),) if fee else ()
    signed = -quantity if _is_cancel(line) else quantity  # a row that cancels a purchase has a negative quantity
    side = "buy" if signed > 0 else "sell"
    closes = only_closes(codes)
    return make_fill(
        line, side=side, price=price, fees=paid_beside(fees, symbol, price),
        profit=profit, reason=delivery(codes), from_holding=closes and side == "sell",
        closes_only=closes and side == "buy", **shared,
    )  # fmt: skip


def _fee(line: FileRow, reader: CellReader) -> tuple[Decimal, str]:
    """The fee, with a minus if it was paid; and its currency, if the name of the column has it (`Comm in USD`)."""
    paid = reader.optional(line, "comm/fee")
    if paid is not None:
        return paid, ""
    name = next((name for name in line.cells if name.startswith("comm in ")), None)
    if name is None:
        return Decimal(0), ""
    return reader.optional(line, name) or Decimal(0), name.removeprefix("comm in ").upper()


def _usual_size(category: str, is_option: bool) -> float:
    """The multiplier of what the table of instruments does not have; raises `Invalid` for futures."""
    if category.startswith(("Futures", "Options On Futures")):
        raise Invalid("multiplier is missing: the file does not say what a contract holds; say it", field="multiplier")
    if is_option:
        return CONTRACT
    return 1.0


def _contract_sizes(table: FileTable, reader: CellReader) -> dict[str, float]:
    """The multipliers in the table of instruments, by symbol. An instrument has several names."""
    found: dict[str, float] = {}
    for line in table.beside:
        if line.section != "Financial Instrument Information Data":
            continue
        size = reader.optional(line, "multiplier")
        if not size:
            continue
        for name in [*str(line.cells.get("symbol") or "").split(","), str(line.cells.get("description") or "")]:
            contract = parse_option(name)
            symbol = contract.symbol if contract else " ".join(name.upper().split())[:40]
            if symbol:
                found[symbol] = float(size)
    return found


def _account(table: FileTable) -> str:
    for line in table.beside:
        if line.section == "Account Information Data" and line.cells.get("field name") == "Account":
            return str(line.cells.get("field value") or "")
    return ""


def _compare_sums(table: FileTable, trades: Sequence[FileRow], reader: CellReader) -> None:
    """Compare the sums that the file has for each symbol with its rows. Sums of a whole currency may be converted into
    another, and are not compared."""
    orders = [line for line in trades if _kind(line) == "Order"]
    by_symbol: dict[object, list[FileRow]] = {}
    for line in orders or trades:
        by_symbol.setdefault(line.cells.get("symbol"), []).append(line)
    for line in table.beside:
        if line.section != "Trades SubTotal" or not line.cells.get("symbol") or line.wrong is not None:
            continue
        of_symbol = by_symbol.get(line.cells["symbol"], ())
        summed = [one for one in of_symbol if one.wrong is None and _is_summed_in(one, line)]
        for name in SUMS:
            told = reader.optional(line, name)
            if summed and told is not None:
                computed = sum((reader.optional(one, name) or Decimal(0) for one in summed), Decimal(0))
                words = f"the sum of {name} for {line.cells['symbol']}"
                reader.compare(line.row, words, computed, told, len(summed) * Decimal("0.01"))


def _is_summed_in(line: FileRow, total: FileRow) -> bool:
    """Whether a row has the values by which the row of a sum groups."""
    names = ("asset category", "currency", "symbol", "account")
    return all(line.cells.get(name) == total.cells[name] for name in names if total.cells.get(name))


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
