"""Coinbase: the fills of the exchange, and the transactions of the plain account.

Of the account only buys, sells and conversions are read. The fee is the difference between total and subtotal, because
the column of fees often leaves out the spread. A conversion has its worth in money and names both coins in its notes:
it becomes a sale of the one and a purchase of the other, which bears the fee. An advanced trade that was paid in a coin
becomes two fills likewise.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.currencies.rates import same_money
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CENT,
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_fill,
    or_wrong,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.market.symbols import ALL_COUNTRIES
from keepbook.patterns import regex

UNIT = "price/fee/total unit"
"""The column that names the coin of price and fee."""
_TRADE = regex(r"(?:advanced? trade )?(buy|sell)")


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    symbol = values.symbol(line.cells[first_filled(line, "product")])
    fee = reader.optional(line, "fee") or values.decimal("0", "fee")
    return make_fill(
        line, time=reader.moment(line, "created at", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]), quantity=reader.number(line, "size"),
        price=reader.number(line, "price"), id=line.cells.get("trade id"),
        fees=((abs(fee), str(line.cells.get(UNIT) or values.split_symbol(symbol)[1]).upper()),),
    )  # fmt: skip


def read_account(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The fills of buys and sells, row by row, and then those of conversions, which may be two rows each."""
    conversions: dict[tuple[str, str], list[FileRow]] = {}
    for line in table.lines:
        if line.wrong is None and _kind(line) == "convert":
            conversion = (str(line.cells.get("timestamp")), str(line.cells.get("notes")))
            conversions.setdefault(conversion, []).append(line)
            continue
        made = or_wrong(line, transaction, line, reader)
        yield (line.row,), made
        if isinstance(made, Fill):
            other = or_wrong(line, _coin_of_trade, line, made)
            if other is not None:
                yield (line.row,), other
    for lines in conversions.values():
        yield from _conversion(lines, reader)


def _kind(line: FileRow) -> str:
    return str(line.cells.get("transaction type", "")).strip().lower()


def transaction(line: FileRow, reader: CellReader) -> Fill:
    """A buy or a sell; raises `Invalid` for all else."""
    kind = _kind(line)
    traded = _TRADE.fullmatch(kind)
    if traded is None:
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    side = traded[1]
    quote = _quote(line)
    symbol = values.symbol(f"{line.cells[first_filled(line, 'asset')]}/{quote}")
    quantity = abs(reader.number(line, "quantity transacted"))
    subtotal = abs(reader.optional(line, "subtotal") or Decimal(0))
    if subtotal and quantity:
        price = subtotal / quantity
    else:
        price = reader.number(line, *PRICES)
    return make_fill(
        line, time=reader.moment(line, "timestamp", zone="UTC"), symbol=symbol, side=side, quantity=quantity,
        price=price, id=line.cells.get("id"), fees=((_fee(line, reader, side, subtotal), quote),),
    )  # fmt: skip


def _fee(line: FileRow, reader: CellReader, side: str, subtotal: Decimal) -> Decimal:
    """The difference between subtotal and total, if the row has both; else the figure in the column of fees."""
    stated = abs(reader.optional(line, *FEES) or Decimal(0))
    total = abs(reader.optional(line, *TOTALS) or Decimal(0))
    if not total or not subtotal:
        return stated
    sign = 1 if side == "buy" else -1  # a buyer pays the fee on top, a seller gets less
    paid = sign * (total - subtotal)
    is_plausible = -CENT <= paid <= stated + MOST_SPREAD * subtotal + LEAST_FEE
    if not is_plausible:
        reader.compare(line.row, "subtotal and fees", subtotal + sign * stated, total, 2 * CENT)
    return max(paid, Decimal(0))


def _quote(line: FileRow) -> str:
    """The currency of a row's prices."""
    return str(line.cells.get("price currency") or line.cells.get("spot price currency") or "USD").upper()


_CONVERTED = regex(r"Converted ([\d.,]+) (\S+) to ([\d.,]+) (\S+)", re.IGNORECASE)
"""`Converted 0.5 ETH to 950 USDC`"""
_FOR_A_COIN = regex(
    r"(?:Bought|Sold) [\d.,]++ \S++ for (?P<amount>[\d.,]++) (?P<coin>\S++) on [^\s-]++-(?P<quote>[^\s-]++)(?: .*)?",
    re.IGNORECASE,
)
"""`Bought 1.5 ETH for 0.08 BTC on ETH-BTC`"""


def _coin_of_trade(line: FileRow, made: Fill) -> Fill | None:
    """The second fill of a trade that was paid in a coin, with the worth of the first; None if it was paid in money."""
    found = _FOR_A_COIN.fullmatch(str(line.cells.get("notes") or ""))
    if found is None:
        return None
    quote, coin = _quote(line), found["coin"].upper()
    if coin != found["quote"].upper() or coin in ALL_COUNTRIES or same_money(coin, quote):
        return None
    amount = values.decimal(found["amount"], "notes")
    if not amount:
        raise Invalid("quantity is a number above 0", field="quantity")
    fee = sum((paid for paid, _ in made.fees), Decimal(0))
    worth = made.quantity * Decimal(repr(made.price))
    if made.side == "buy":
        side, worth = "sell", worth + fee
    else:
        side, worth = "buy", worth - fee
    return make_fill(
        line, time=made.time, symbol=values.symbol(f"{coin}/{quote}"), side=side,
        quantity=amount, price=worth / amount, id=f"{line.cells['id']}-for" if line.cells.get("id") else None,
    )  # fmt: skip


def _conversion(lines: Sequence[FileRow], reader: CellReader) -> Iterator[ReadRow]:
    """The two fills of a conversion. Newer files have a row for each coin, with the same notes; older ones have one."""
    rows = tuple(line.row for line in lines)
    found = _CONVERTED.match(str(lines[0].cells.get("notes") or ""))
    if found is None:
        yield from (((row,), Invalid("notes do not say what was converted into what")) for row in rows)
        return
    given, gave, received, got = found[1], found[2].upper(), found[3], found[4].upper()
    line = next((one for one in lines if str(one.cells.get("asset") or "").upper() == gave), lines[0])
    made = or_wrong(line, _two_fills, line, reader, gave=gave, given_text=given, got=got, received_text=received)
    if isinstance(made, Invalid):
        yield from (((row,), made) for row in rows)
    else:
        yield from ((rows, one) for one in made)


def _two_fills(
    line: FileRow, reader: CellReader, *, gave: str, given_text: str, got: str, received_text: str
) -> tuple[Fill, Fill]:  # fmt: skip
    """The sale of the coin that was given, and the purchase of the one that was got."""
    given, received = values.decimal(given_text, "notes"), values.decimal(received_text, "notes")
    quote, id = _quote(line), line.cells.get("id")
    fee = abs(reader.optional(line, *FEES) or Decimal(0))
    worth = max(abs(reader.optional(line, name) or Decimal(0)) for name in ("subtotal", *TOTALS))
    if not worth:
        worth = given * reader.number(line, *PRICES)
    if not given or not received:
        raise Invalid("quantity is a number above 0", field="quantity")
    time = reader.moment(line, "timestamp", zone="UTC")
    sold = make_fill(
        line, time=time, symbol=values.symbol(f"{gave}/{quote}"), side="sell", quantity=given, price=worth / given,
        id=id,
    )  # fmt: skip
    bought = make_fill(
        line, time=time, symbol=values.symbol(f"{got}/{quote}"), side="buy", quantity=received,
        price=(worth - fee) / received, id=f"{id}-to" if id else None, fees=((fee, quote),),
    )  # fmt: skip
    return sold, bought


FEES = ("fees and/or spread", "fees")
MOST_SPREAD, LEAST_FEE = Decimal("0.1"), Decimal(3)
"""What the column of fees may leave out: a spread (as a share of the subtotal), and the flat fee of small orders."""
PRICES = ("price at transaction", "spot price at transaction")
TOTALS = ("total (inclusive of fees and/or spread)", "total (inclusive of fees)", "total")
FILLS = FileFormat(
    "coinbase",
    "Coinbase, fills",
    (frozenset({"trade id", "product", "side", "created at", "size", "price", "fee"}),),
    frozenset(
        {"portfolio", "trade id", "product", "side", "created at", "size", "size unit", "price", "fee", "total", UNIT}
    ),
    row_by_row(read_fill),
    ("portfolio,trade id,product,side,created at,size,size unit,price,fee,total,price/fee/total unit",),
    "the fills report of Coinbase Exchange (Pro) in public importers",
    spot=True,
)
FIGURES = ("spot price at transaction", "subtotal", "total (inclusive of fees)", "fees")
"""Columns whose names begin with the currency in older files: `EUR Subtotal`."""


def _currency_apart(table: FileTable) -> FileTable:
    """The table, and if its columns name the currency (`EUR Subtotal`), with that in a column of its own."""
    named = next((name for name in map(str.lower, table.columns) if name.endswith(" subtotal")), "")
    if not named:
        return table
    money = named.removesuffix(" subtotal")
    plain_names = {f"{money} {name}": name for name in FIGURES}

    def rename(line: FileRow) -> FileRow:
        cells = {plain_names.get(name, name): cell for name, cell in line.cells.items()}
        return replace(line, cells=cells | {"spot price currency": money})

    columns = (plain_names.get(name.lower(), name) for name in table.columns)
    return replace(table, columns=(*columns, "Spot Price Currency"), lines=tuple(map(rename, table.lines)))


ACCOUNT = FileFormat(
    "coinbase-account",
    "Coinbase, transactions of the account",
    (frozenset({"timestamp", "transaction type", "asset", "quantity transacted", "subtotal",
                "fees and/or spread|fees", "price currency|spot price currency"}),
     frozenset({"timestamp", "transaction type", "asset", "quantity transacted",
                *("|".join(f"{money.lower()} {name}" for money in ALL_COUNTRIES) for name in ("subtotal", "fees"))})),
    frozenset({"id", "timestamp", "transaction type", "asset", "quantity transacted", "price currency", "subtotal",
               "fees", "spot price currency", *PRICES, *TOTALS, "fees and/or spread", "notes"}),
    read_account,
    (
        "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
        "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes",
        "Timestamp,Transaction Type,Asset,Quantity Transacted,Spot Price Currency,Spot Price at Transaction,Subtotal,"
        "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes",
        "Timestamp,Transaction Type,Asset,Quantity Transacted,Spot Price Currency,Spot Price at Transaction,Subtotal,"
        "Total (inclusive of fees),Fees,Notes",
        "Timestamp,Transaction Type,Asset,Quantity Transacted,EUR Spot Price at Transaction,EUR Subtotal,"
        "EUR Total (inclusive of fees),EUR Fees,Notes",
    ),
    "Export-To-Ghostfolio, GhostfolioSidekick, cryptoTax, BittyTax",
    pick=_currency_apart,
    spot=True,
)  # fmt: skip
