"""Coinbase: the fills of the exchange, and the transactions of the plain account.

Of the account buys, sells and conversions count. What was paid beyond the subtotal is the fee: the column of fees often
leaves out the spread. A conversion names both coins in its notes and its worth in money: it is a sale of the one and a
purchase of the other, the fee on the latter; so is an advanced trade for another coin than the account's money.
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
    halves: dict[tuple[str, str], list[FileRow]] = {}
    for line in table.lines:
        if line.wrong is None and _kind(line) == "convert":
            halves.setdefault((str(line.cells.get("timestamp")), str(line.cells.get("notes"))), []).append(line)
            continue
        made = or_wrong(line, transaction, line, reader)
        yield (line.row,), made
        if isinstance(made, Fill) and (other := or_wrong(line, _coin_of_trade, line, made)) is not None:
            yield (line.row,), other
    for lines in halves.values():
        yield from _conversion(lines, reader)


def _kind(line: FileRow) -> str:
    return str(line.cells.get("transaction type", "")).strip().lower()


def transaction(line: FileRow, reader: CellReader) -> Fill:
    kind = _kind(line)
    traded = _TRADE.fullmatch(kind)
    if traded is None:
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    quote = _quote(line)
    symbol = values.symbol(f"{line.cells[first_filled(line, 'asset')]}/{quote}")
    quantity = abs(reader.number(line, "quantity transacted"))
    subtotal = abs(reader.optional(line, "subtotal") or Decimal(0))
    if subtotal and quantity:
        price = subtotal / quantity
    else:
        price = reader.number(line, *PRICES)
    return make_fill(
        line, time=reader.moment(line, "timestamp", zone="UTC"), symbol=symbol, side=traded[1], quantity=quantity,
        price=price, id=line.cells.get("id"), fees=((_fee(line, reader, traded[1], subtotal), quote),),
    )  # fmt: skip


def _fee(line: FileRow, reader: CellReader, side: str, subtotal: Decimal) -> Decimal:
    """What lies between the subtotal and the total, where both are told; else what the column of fees says."""
    stated = abs(reader.optional(line, *FEES) or Decimal(0))
    total = abs(reader.optional(line, *TOTALS) or Decimal(0))
    if not (total and subtotal):
        return stated
    if side == "buy":
        paid = total - subtotal
    else:
        paid = subtotal - total
    if not -CENT <= paid <= stated + MOST_SPREAD * subtotal + LEAST_FEE:
        if side == "buy":
            computed = subtotal + stated
        else:
            computed = subtotal - stated
        reader.compare(line.row, "subtotal and fees", computed, total, 2 * CENT)
    return max(paid, Decimal(0))


def _quote(line: FileRow) -> str:
    return str(line.cells.get("price currency") or line.cells.get("spot price currency") or "USD").upper()


_CONVERTED = regex(r"Converted ([\d.,]+) (\S+) to ([\d.,]+) (\S+)", re.IGNORECASE)


_FOR_A_COIN = regex(
    r"(?:Bought|Sold) [\d.,]++ \S++ for ([\d.,]++) (\S++) on [^\s-]++-([^\s-]++)(?: .*)?", re.IGNORECASE
)


def _coin_of_trade(line: FileRow, made: Fill) -> Fill | None:
    """The other coin of a trade that was for one: it was given, or came in, for as much in money."""
    found = _FOR_A_COIN.fullmatch(str(line.cells.get("notes") or ""))
    quote = _quote(line)
    coin = ""
    if found:
        coin = found[2].upper()
    if found is None or coin != found[3].upper() or coin in ALL_COUNTRIES or same_money(coin, quote):
        return None
    amount = values.decimal(found[1], "notes")
    if not amount:
        raise Invalid("quantity is a number above 0", field="quantity")
    fee = sum((paid for paid, _ in made.fees), Decimal(0))
    worth = made.quantity * Decimal(repr(made.price)) + (fee if made.side == "buy" else -fee)
    if made.side == "buy":
        side = "sell"
    else:
        side = "buy"
    return make_fill(
        line, time=made.time, symbol=values.symbol(f"{coin}/{quote}"), side=side,
        quantity=amount, price=worth / amount, id=f"{line.cells['id']}-for" if line.cells.get("id") else None,
    )  # fmt: skip


def _conversion(lines: Sequence[FileRow], reader: CellReader) -> Iterator[ReadRow]:
    """Newer files have a row for each coin, older ones a single row: the notes are the same."""
    rows = tuple(line.row for line in lines)
    found = _CONVERTED.match(str(lines[0].cells.get("notes") or ""))
    if found is None:
        yield from (((row,), Invalid("notes do not say what was converted into what")) for row in rows)
        return
    coin = found[2].upper()
    line = next((one for one in lines if str(one.cells.get("asset") or "").upper() == coin), lines[0])
    made = or_wrong(line, _two_fills, line, reader, coin, found[4].upper(), found[1], found[3])
    if isinstance(made, Invalid):
        yield from (((row,), made) for row in rows)
    else:
        yield from ((rows, one) for one in made)


def _two_fills(line: FileRow, reader: CellReader, gave: str, got: str, *amounts: str) -> tuple[Fill, Fill]:
    given, received = (values.decimal(text, "notes") for text in amounts)
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
"""What the column of fees may leave out: a spread, as a share of the subtotal, and a flat fee of small orders."""
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
"""The columns before whose names older files write the currency: `EUR Subtotal`."""


def _currency_apart(table: FileTable) -> FileTable:
    """A table of an older file, with the currency in a column of its own."""
    named = next((name for name in map(str.lower, table.columns) if name.endswith(" subtotal")), "")
    money = named.removesuffix(" subtotal")
    if not named:
        return table
    plain = {f"{money} {name}": name for name in FIGURES}
    lines = (
        replace(
            line,
            cells={plain.get(name, name): cell for name, cell in line.cells.items()} | {"spot price currency": money},
        )
        for line in table.lines
    )
    columns = (plain.get(name.lower(), name) for name in table.columns)
    return replace(table, columns=(*columns, "Spot Price Currency"), lines=tuple(lines))


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
