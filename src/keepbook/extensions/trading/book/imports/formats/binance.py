"""Binance: the trade history of the spot account, that of futures, which has a profit of its own, and the history of
all transactions, in which a trade is several lines of one second.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from keepbook.book.ground.when import parse_stamp
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

DATES = ("date(utc)", "time(utc)", "time", "date")


def _moment(line: FileRow, reader: CellReader, *columns: str, zone: str | None) -> str:
    """Newer exports write two digits of the year."""
    name = first_filled(line, *columns)
    text = str(line.cells[name])
    if _SHORT_YEAR.fullmatch(text):
        return reader.instant(f"20{text}", name, zone)
    return reader.instant(text, name, zone)


def spot(line: FileRow, reader: CellReader) -> Fill:
    """Amounts carry their coin: `0.0010BTC`, and the fee may be in a third one."""
    symbol = values.symbol(line.cells[first_filled(line, "pair", "market")])
    base, quote = values.split_symbol(symbol)
    older = "market" in line.cells
    coins = tuple(name for name in (base, quote) if name[:1].isdigit())
    size, coin = reader.amount(line, "amount" if older else "executed", coins=coins)
    if coin and coin != base and not quote:
        symbol = f"{symbol.removesuffix(coin)}/{coin}"
    price = reader.number(line, "price")
    _compare_amount(line, reader, size, price, "total" if older else "amount", coins)
    if line.cells.get("fee"):
        fee, fee_coin = reader.amount(line, "fee", coins=coins)
    else:
        fee, fee_coin = Decimal(0), None
    paid_in = fee_coin or str(line.cells.get("fee coin") or "").upper() or quote
    return make_fill(
        line, time=_moment(line, reader, *DATES, zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "type" if older else "side")]), quantity=size,
        price=price, id=line.cells.get("trade id"), fees=((fee, paid_in),),
    )  # fmt: skip


def _compare_amount(
    line: FileRow, reader: CellReader, size: Decimal, price: Decimal, column: str, coins: tuple[str, ...]
) -> None:  # fmt: skip
    if line.cells.get(column):
        told = reader.amount(line, column, coins=coins)[0]
        slack = Decimal("0.01") + abs(size) * rounding(line.cells["price"]) + abs(told) / 1000
        reader.compare(line.row, "price × quantity", abs(size) * price, abs(told), slack)


def futures(line: FileRow, reader: CellReader) -> Fill:
    symbol = values.symbol(line.cells[first_filled(line, "symbol")])
    if line.cells.get("fee"):
        fee, coin = reader.amount(line, "fee")
    else:
        fee, coin = values.decimal("0", "fee"), None
    profit, _ = reader.amount(line, "realized profit")
    size, price = reader.amount(line, "quantity")[0], reader.number(line, "price")
    if line.cells.get("amount"):
        told, held = reader.amount(line, "amount")[0], Decimal(repr(reader.multiplier(symbol)))
        slack = Decimal("0.01") + abs(size) * held * rounding(line.cells["price"]) + abs(told) / 1000
        reader.compare(line.row, "price × quantity", abs(size) * held * price, abs(told), slack)
    paid_in = coin or str(line.cells.get("fee coin") or "").upper() or values.split_symbol(symbol)[1]
    return make_fill(
        line, time=_moment(line, reader, *DATES, zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]),
        quantity=size, price=price, id=line.cells.get("trade id"), fees=((abs(fee), paid_in),), profit=float(profit),
        multiplier=reader.multiplier(symbol),
    )  # fmt: skip


HISTORY_TIMES = ("utc_time", "utc time", "date(utc)", "time", "date")
CONVERTED, CASHED = "converted", "for cash"
FAMILIES: dict[str, tuple[str, ...]] = {
    "bought": ("transaction buy", "transaction spend", "buy"),
    "sold": ("transaction sold", "transaction revenue", "sell"),
    "related": ("transaction related",),
    CONVERTED: ("binance convert", "convert", "small assets exchange bnb", "large otc trading",
                "asset conversion transfer", "stablecoins auto-conversion", "auto-invest transaction"),
    CASHED: ("buy crypto with fiat", "sell crypto to fiat"),
}  # fmt: skip
"""What belongs together in one second. Older files name both halves of a trade as they like: `Buy` of the coin that
came in and `Sell` of the money that was given, or `Transaction Related`; halves are joined by their signs."""
FAMILY_OF: dict[str, str] = {deed: family for family, deeds in FAMILIES.items() for deed in deeds}
SLOW = (CONVERTED, CASHED)
"""Their two sides may be booked a second or two apart."""
FEES = ("transaction fee", "fee", "bnb fee deduction")
FUTURES_LINES = ("realized profit and loss", "realize profit and loss", "funding fee", "insurance clear")
ALIKE = Decimal("1.02")
"""By so much the parts of one order may differ in price."""
SPOT_ACCOUNT = "Binance, spot"
_SHORT_YEAR = regex(r"\d{2}-\d{2}-\d{2} .*")


Place = tuple[str, str]
"""An account and a second."""
Trades = dict[Place, dict[str, Legs]]
"""What was traded there, by families."""


def read_coin_history(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    trades: Trades = {}
    fees: list[tuple[Place, FileRow, str, Decimal]] = []
    for line in table.lines:
        found = or_wrong(line, _add_line, line, reader, trades, fees)
        if isinstance(found, Invalid):
            yield (line.row,), found
    trades = {place: _join_halves(families) for place, families in trades.items()}
    for place, line, coin, amount in fees:
        mine = list(trades.get(place, {}).values())
        if len(mine) == 1:
            mine[0].add_fee(line, coin, amount)
        else:
            if not mine:
                words = "no trade"
            else:
                words = "several trades"
            yield (line.row,), Invalid(f"a fee beside {words} of that second: load the trade history instead")
    for legs in (part for whole in _join_conversions(trades) for part in _apart(whole)):
        made = or_wrong(legs.lines[0], legs_to_fill, legs)
        if isinstance(made, Invalid):
            yield from (((row,), made) for row in legs.rows)
        else:
            yield legs.rows, made


def _add_line(
    line: FileRow, reader: CellReader, trades: Trades, fees: list[tuple[Place, FileRow, str, Decimal]]
) -> None:
    """Put a line with what else happened in its account in that second."""
    deed = " ".join(str(line.cells.get("operation") or "").lower().split())
    account = str(line.cells.get("account") or "")
    if "future" in account.lower() or deed in FUTURES_LINES:
        raise Invalid(f"{deed}: this history has no quantities of futures; load the futures trade history")
    if deed not in FAMILY_OF and deed not in FEES:
        raise Invalid(f"{deed or 'a row without an operation'} is no trade")
    named_zone = None
    if "utc" in first_filled(line, *HISTORY_TIMES):
        named_zone = "UTC"
    time, coin = (
        _moment(line, reader, *HISTORY_TIMES, zone=named_zone),
        str(line.cells[first_filled(line, "coin")]).strip().upper(),
    )
    amount = reader.number(line, "change")
    if deed in FEES:
        fees.append(((account, time), line, coin, -amount))
    else:
        trades.setdefault((account, time), {}).setdefault(FAMILY_OF[deed], Legs(time)).add(line, coin, amount)


def _join_halves(families: Mapping[str, Legs]) -> dict[str, Legs]:
    """Of one second, what only came in and what was only given are one trade."""
    found: dict[str, Legs] = {}
    for family, legs in families.items():
        half = next((other for name, other in found.items() if name not in SLOW and is_other_half(legs, other)), None)
        if family in SLOW or half is None:
            found[family] = legs
        else:
            half.join(legs)
    return found


def is_other_half(legs: Legs, other: Legs) -> bool:
    """Whether one of them only gave and the other only came in."""
    return (bool(legs.gave), bool(legs.got)) == (bool(other.got), bool(other.gave)) != (True, True)


def _join_conversions(trades: Trades) -> list[Legs]:
    """The two sides of a conversion may be booked a second or two apart."""
    found: list[Legs] = []
    waiting: dict[str, Legs] = {}
    for family, legs in (one for families in trades.values() for one in families.items()):
        half = waiting.get(family)
        if family not in SLOW or (legs.gave and legs.got):
            found.append(legs)
        elif half is not None and _seconds(half, legs) <= 3 and is_other_half(half, legs):
            half.join(legs)
            del waiting[family]
        else:
            found.append(legs)
            waiting[family] = legs
    return found


def _seconds(one: Legs, other: Legs) -> float:
    return abs((parse_stamp(one.time) - parse_stamp(other.time)).total_seconds())


def _apart(legs: Legs) -> list[Legs]:
    """Several trades of one second, where as many came in as were given: the n-th for the n-th, and the n-th fee. Parts
    of one order cost about the same: where they would not, the lines are in no order, and it stays one trade."""
    many, paid = len(legs.got), len(legs.fees)
    if many < 2 or len(legs.gave) != many:
        return [legs]
    several = len({coin for coin, _ in legs.gave}) > 1 or len({coin for coin, _ in legs.got}) > 1
    if several:
        fits = paid == 0
    else:
        fits = paid in (0, many) and _cost_alike(legs)
    if not fits:
        return [legs]
    traded, charged = legs.lines[: 2 * many], [[line] for line in legs.lines[2 * many :]] or [[]] * many
    ins = [line for line in traded if not str(line.cells["change"]).strip().startswith("-")]
    outs = [line for line in traded if str(line.cells["change"]).strip().startswith("-")]
    fees = [[fee] for fee in legs.fees] or [[]] * many
    return [
        Legs(legs.time, [legs.gave[nth]], [legs.got[nth]], fees[nth], [outs[nth], ins[nth], *charged[nth]])
        for nth in range(many)
    ]


def _cost_alike(legs: Legs) -> bool:
    pairs = zip(legs.gave, legs.got, strict=False)
    prices = [gave / got for (_, gave), (_, got) in pairs if got]
    return len(prices) == len(legs.got) and max(prices) <= ALIKE * min(prices)


SPOT = FileFormat(
    "binance-spot",
    "Binance, spot trade history",
    (
        frozenset({"date(utc)", "pair", "side", "price", "executed", "fee"}),
        frozenset({"date(utc)", "market", "type", "price", "amount", "fee", "fee coin"}),
    ),
    frozenset({*DATES, "pair", "market", "side", "type", "price", "executed", "amount", "total", "fee", "fee coin",
               "trade id"}),
    row_by_row(spot),
    ("Date(UTC),Pair,Side,Price,Executed,Amount,Fee", "Date(UTC),Market,Type,Price,Amount,Total,Fee,Fee Coin"),
    "rotki, dali-rp and other public importers of Binance's spot trade history",
    spot=True,
    whose=SPOT_ACCOUNT,
)  # fmt: skip
FUTURES = FileFormat(
    "binance-futures",
    "Binance, futures trade history",
    tuple(frozenset({date, "symbol", "side", "price", "quantity", "fee", "realized profit"}) for date in DATES),
    frozenset({*DATES, "symbol", "side", "price", "quantity", "amount", "fee", "fee coin", "realized profit",
               "trade id", "order id", "uid", "quote asset"}),
    row_by_row(futures),
    ("Date(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Fee Coin,Realized Profit,Quote Asset",
     "Time(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Realized Profit"),
    "exports of Binance's futures trade history in public importers",
    whose="Binance, futures",
)  # fmt: skip
HISTORY = FileFormat(
    "binance-history",
    "Binance, transaction history",
    (frozenset({"|".join(HISTORY_TIMES), "account", "operation", "coin", "change"}),),
    frozenset({*HISTORY_TIMES, "user_id", "user id", "account", "operation", "coin", "change", "remark"}),
    read_coin_history,
    ("User_ID,UTC_Time,Account,Operation,Coin,Change,Remark", "User ID,Time,Account,Operation,Coin,Change,Remark"),
    "cryptoTax (data_binance), pit-38 and other public importers of the transaction records",
    spot=True,
    whose=SPOT_ACCOUNT,
)
