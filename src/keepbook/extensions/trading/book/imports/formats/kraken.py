"""Kraken: the trades export, and the ledgers. The names of coins begin with a letter for their kind (`XETH`, `ZEUR`),
and bitcoin is XBT.

In the ledgers a trade is two lines with one `refid`, which is the id of the trade: if both files are loaded, the trade
is stored once. For trades on margin the ledgers have the cost but no quantity, so these must come from the trades.
"""

from collections.abc import Iterator
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.parts.coin_legs import Legs, legs_to_fill
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_fill,
    or_wrong,
    rounding,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.patterns import regex

_NAMES = {"XBT": "BTC", "XDG": "DOGE"}


def kraken_pair(text: str) -> str:
    """A pair in the book's spelling: `BTC/EUR` for `XXBTZEUR`, `SOL/USD` for `SOLUSD`."""
    plain = text.strip().upper()
    if "/" in plain:
        base, _, quote = plain.partition("/")
    elif len(plain) == 8 and plain[0] in "XZ" and plain[4] in "XZ":
        base, quote = plain[1:4], plain[5:]
    else:
        base, quote = values.split_symbol(plain)
        quote = quote or plain[-3:]
        if base == plain:
            base = plain[:-3]
        if base.endswith("Z") and len(base) > 4:
            base = base[:-1]
    return f"{_NAMES.get(base, base)}/{_NAMES.get(quote, quote)}"


_WALLETS = regex(r"\.(?:HOLD|[A-Z])$|\d{0,4}\.[SFMBP]$")
"""The end of a coin's name that says which wallet it is in: `.HOLD`, `.F`, `28.S`."""
_TRADES = ("trade", "spend", "receive", "conversion", "collateralconversion")
_MARGIN = ("margin", "rollover", "settled")


def kraken_coin(text: str) -> str:
    """A coin in the book's spelling: `BTC` for `XXBT` and `XBT.F`, `EUR` for `ZEUR`."""
    plain = _WALLETS.sub("", text.strip().upper())
    if len(plain) == 4 and plain[0] in "XZ":
        plain = plain[1:]
    return _NAMES.get(plain, plain)


def read_ledgers(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    groups: dict[str, Legs] = {}
    for line in table.lines:
        found = or_wrong(line, _add_leg, line, reader, groups)
        if isinstance(found, Invalid):
            yield (line.row,), found
    for id, legs in groups.items():
        made = or_wrong(legs.lines[0], legs_to_fill, legs, id)
        if isinstance(made, Invalid):
            yield from (((row,), made) for row in legs.rows)
        else:
            yield legs.rows, made


def _add_leg(line: FileRow, reader: CellReader, groups: dict[str, Legs]) -> None:
    """Add a line to the group of its trade; raises `Invalid` if it is of none."""
    kind = str(line.cells.get("type") or "").strip().lower()
    if kind in _MARGIN:
        raise Invalid(f"{kind}: the ledgers do not say how much was traded on margin; load the trades export")
    if kind not in _TRADES:
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    id, coin = str(line.cells[first_filled(line, "refid")]), kraken_coin(str(line.cells[first_filled(line, "asset")]))
    time, amount = reader.moment(line, "time", zone="UTC"), reader.number(line, "amount")
    fee = abs(reader.optional(line, "fee") or Decimal(0))
    legs = groups.setdefault(id, Legs(time))
    if amount:
        legs.add(line, coin, amount)
    else:  # a line for a fee alone
        legs.lines.append(line)
    if fee:
        legs.fees.append((fee, coin))


def _is_on_margin(line: FileRow, reader: CellReader) -> bool:
    """Whether a trade has a margin, or opens or closes a position."""
    misc = str(line.cells.get("misc") or "").lower()
    return bool(reader.optional(line, "margin")) or "initiated" in misc or "closing" in misc


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    """A row of the trades export."""
    symbol = values.symbol(kraken_pair(str(line.cells[first_filled(line, "pair")])))
    fee = reader.optional(line, "fee") or values.decimal("0", "fee")
    profit = reader.optional(line, "net")
    quantity, price = reader.number(line, "vol"), reader.number(line, "price")
    slack = Decimal("0.01") + quantity * rounding(line.cells["price"]) + price * rounding(line.cells["vol"])
    cost = reader.optional(line, "cost") or None
    reader.compare(line.row, "vol × price", quantity * price, cost, slack)
    if cost and quantity:
        cost_error, price_error = rounding(line.cells["cost"]) / cost, rounding(line.cells["price"]) / price
        if cost_error < price_error:  # the price of a very cheap coin has few digits
            price = cost / quantity
    return make_fill(
        line, time=reader.moment(line, "time", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "type")]),
        quantity=quantity, price=price, id=line.cells.get("txid"),
        fees=((abs(fee), values.split_symbol(symbol)[1]),), profit=None if profit is None else float(profit),
        spot=not _is_on_margin(line, reader),
    )  # fmt: skip


TRADES = FileFormat(
    "kraken",
    "Kraken, trades",
    (frozenset({"txid", "pair", "time", "type", "price", "fee", "vol"}),),
    frozenset({"txid", "ordertxid", "pair", "time", "type", "ordertype", "price", "cost", "fee", "vol", "margin",
               "misc", "ledgers", "postxid", "posstatus", "net", "aclass", "subclass", "costusd"}),
    row_by_row(read_fill),
    (
        '"txid","ordertxid","pair","time","type","ordertype","price","cost","fee","vol","margin","misc","ledgers"',
        '"txid","ordertxid","pair","aclass","subclass","time","type","ordertype","price","cost","fee","vol","margin",'
        '"misc","ledgers"',
    ),
    "rotki and other public importers of Kraken's trades.csv",
    whose="Kraken",
)  # fmt: skip
LEDGERS = FileFormat(
    "kraken-ledgers",
    "Kraken, ledgers",
    (frozenset({"txid", "refid", "time", "type", "asset", "amount", "fee", "balance"}),),
    frozenset({"txid", "refid", "time", "type", "subtype", "aclass", "subclass", "asset", "wallet", "amount", "fee",
               "balance", "amountusd", "feeusd", "balanceusd"}),
    read_ledgers,
    (
        '"txid","refid","time","type","subtype","aclass","asset","amount","fee","balance"',
        '"txid","refid","time","type","subtype","aclass","subclass","asset","wallet","amount","fee","balance"',
    ),
    "tests of public importers of Kraken's ledgers.csv",
    spot=True,
    whose="Kraken",
)  # fmt: skip
