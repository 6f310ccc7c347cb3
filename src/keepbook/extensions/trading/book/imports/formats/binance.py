"""Binance: the trade history of the spot account, the trade history of futures, which states profits, and the history
of all transactions, in which a trade is several lines with the same second.
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
    """The time in the first of these columns that is filled. Newer exports write two digits of the year."""
    name = first_filled(line, *columns)
    text = str(line.cells[name])
    if _SHORT_YEAR.fullmatch(text):
        return reader.instant(f"20{text}", name, zone)
    return reader.instant(text, name, zone)


def spot(line: FileRow, reader: CellReader) -> Fill:
    """A row of the spot account. Amounts have their coin behind them (`0.0010BTC`), and the fee may be in another one.

    Older exports name the columns differently: `market`, `type`, `amount`, `total` are now `pair`, `side`, `executed`,
    `amount`.
    """
    is_older = "market" in line.cells
    side_column, size_column, worth_column = "side", "executed", "amount"
    if is_older:
        side_column, size_column, worth_column = "type", "amount", "total"
    symbol = values.symbol(line.cells[first_filled(line, "pair", "market")])
    base, quote = values.split_symbol(symbol)
    coins = tuple(name for name in (base, quote) if name[:1].isdigit())  # such as 1INCH: their digit is no amount
    size, coin = reader.amount(line, size_column, coins=coins)
    if coin and coin != base and not quote:
        symbol = f"{symbol.removesuffix(coin)}/{coin}"
    price = reader.number(line, "price")
    if line.cells.get(worth_column):
        worth, _ = reader.amount(line, worth_column, coins=coins)
        _compare_worth(line, reader, size=size, price=price, worth=worth)
    fee, fee_coin = _fee(line, reader, coins)
    return make_fill(
        line, time=_moment(line, reader, *DATES, zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, side_column)]), quantity=size,
        price=price, id=line.cells.get("trade id"), fees=((fee, fee_coin or quote),),
    )  # fmt: skip


def _fee(line: FileRow, reader: CellReader, coins: tuple[str, ...] = ()) -> tuple[Decimal, str]:
    """The fee and its coin; the coin is empty if the row does not name it."""
    fee, coin = Decimal(0), None
    if line.cells.get("fee"):
        fee, coin = reader.amount(line, "fee", coins=coins)
    return fee, coin or str(line.cells.get("fee coin") or "").upper()


def _compare_worth(line: FileRow, reader: CellReader, *, size: Decimal, price: Decimal, worth: Decimal) -> None:
    slack = Decimal("0.01") + abs(size) * rounding(line.cells["price"]) + abs(worth) / 1000
    reader.compare(line.row, "price × quantity", abs(size) * price, abs(worth), slack)


def futures(line: FileRow, reader: CellReader) -> Fill:
    """A row of the futures account."""
    symbol = values.symbol(line.cells[first_filled(line, "symbol")])
    fee, fee_coin = _fee(line, reader)
    profit, _ = reader.amount(line, "realized profit")
    size, _ = reader.amount(line, "quantity")
    price = reader.number(line, "price")
    if line.cells.get("amount"):
        worth, _ = reader.amount(line, "amount")
        units = size * Decimal(repr(reader.multiplier(symbol)))
        _compare_worth(line, reader, size=units, price=price, worth=worth)
    return make_fill(
        line, time=_moment(line, reader, *DATES, zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]),
        quantity=size, price=price, id=line.cells.get("trade id"),
        fees=((abs(fee), fee_coin or values.split_symbol(symbol)[1]),), profit=float(profit),
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
"""The operations of lines that make one trade, if they are of the same second. In older files the two halves of a trade
may have different operations, such as `Buy` for the coin that came in and `Sell` for the money that was given, or both
`Transaction Related`; such halves are joined by the signs of their amounts."""
FAMILY_OF: dict[str, str] = {operation: family for family, operations in FAMILIES.items() for operation in operations}
SLOW = (CONVERTED, CASHED)
"""Families whose two halves may be booked some seconds apart."""
MOST_SECONDS = 3
"""How many seconds apart."""
FEES = ("transaction fee", "fee", "bnb fee deduction")
FUTURES_LINES = ("realized profit and loss", "realize profit and loss", "funding fee", "insurance clear")
ALIKE = Decimal("1.02")
"""The highest price of the parts of one order may be this many times the lowest."""
SPOT_ACCOUNT = "Binance, spot"
_SHORT_YEAR = regex(r"\d{2}-\d{2}-\d{2} .*")


Place = tuple[str, str]
"""An account and a second."""
Trades = dict[Place, dict[str, Legs]]
"""The lines of trades by place, and by family."""


def read_coin_history(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The fills of the history: lines are gathered by account and second, joined to trades, and given their fees."""
    trades: Trades = {}
    fees: list[tuple[Place, FileRow, str, Decimal]] = []
    for line in table.lines:
        found = or_wrong(line, _add_line, line, reader, trades, fees)
        if isinstance(found, Invalid):
            yield (line.row,), found
    trades = {place: _join_halves(families) for place, families in trades.items()}
    for place, line, coin, amount in fees:
        beside = list(trades.get(place, {}).values())
        if len(beside) == 1:
            beside[0].add_fee(line, coin, amount)
        else:
            words = "several trades" if beside else "no trade"
            yield (line.row,), Invalid(f"a fee beside {words} of that second: load the trade history instead")
    for joined in _join_conversions(trades):
        for legs in _split_by_trade(joined):
            made = or_wrong(legs.lines[0], legs_to_fill, legs)
            if isinstance(made, Invalid):
                yield from (((row,), made) for row in legs.rows)
            else:
                yield legs.rows, made


def _add_line(
    line: FileRow, reader: CellReader, trades: Trades, fees: list[tuple[Place, FileRow, str, Decimal]]
) -> None:
    """Add a line to the trades or to the fees of its account and second. Raises `Invalid` if it is neither."""
    operation = " ".join(str(line.cells.get("operation") or "").lower().split())
    account = str(line.cells.get("account") or "")
    if "future" in account.lower() or operation in FUTURES_LINES:
        raise Invalid(f"{operation}: this history has no quantities of futures; load the futures trade history")
    if operation not in FAMILY_OF and operation not in FEES:
        raise Invalid(f"{operation or 'a row without an operation'} is no trade")
    zone = "UTC" if "utc" in first_filled(line, *HISTORY_TIMES) else None
    time = _moment(line, reader, *HISTORY_TIMES, zone=zone)
    coin = str(line.cells[first_filled(line, "coin")]).strip().upper()
    amount = reader.number(line, "change")
    if operation in FEES:
        fees.append(((account, time), line, coin, -amount))
    else:
        families = trades.setdefault((account, time), {})
        families.setdefault(FAMILY_OF[operation], Legs(time)).add(line, coin, amount)


def _join_halves(families: Mapping[str, Legs]) -> dict[str, Legs]:
    """The lines of one second, with two families joined if one only came in and the other was only given."""
    found: dict[str, Legs] = {}
    for family, legs in families.items():
        half = None
        if family not in SLOW:
            others = (other for name, other in found.items() if name not in SLOW)
            half = next((other for other in others if is_other_half(legs, other)), None)
        if half is None:
            found[family] = legs
        else:
            half.join(legs)
    return found


def is_other_half(legs: Legs, other: Legs) -> bool:
    """Whether one of them was only given, and the other only came in."""
    if legs.gave and legs.got:
        return False
    return bool(legs.gave) == bool(other.got) and bool(legs.got) == bool(other.gave)


def _join_conversions(trades: Trades) -> list[Legs]:
    """All trades, with the two halves of a conversion joined if they were booked some seconds apart."""
    found: list[Legs] = []
    waiting: dict[str, Legs] = {}
    every = [one for families in trades.values() for one in families.items()]
    for family, legs in every:
        half = waiting.get(family)
        is_whole = bool(legs.gave and legs.got)
        if family not in SLOW or is_whole:
            found.append(legs)
        elif half is not None and _seconds(half, legs) <= MOST_SECONDS and is_other_half(half, legs):
            half.join(legs)
            del waiting[family]
        else:
            found.append(legs)
            waiting[family] = legs
    return found


def _seconds(one: Legs, other: Legs) -> float:
    return abs((parse_stamp(one.time) - parse_stamp(other.time)).total_seconds())


def _split_by_trade(legs: Legs) -> list[Legs]:
    """Several trades of one second, split into one each; or the legs as they are, if that cannot be told.

    It takes as many amounts that came in as were given, and as many fees, or none; then the n-th of each are one trade.
    Parts of one order cost about the same. If they would not, the lines are in another order, and it stays one trade.
    """
    count, fee_count = len(legs.got), len(legs.fees)
    if count < 2 or len(legs.gave) != count:
        return [legs]
    has_several_coins = len({coin for coin, _ in legs.gave}) > 1 or len({coin for coin, _ in legs.got}) > 1
    if has_several_coins:
        can_be_split = fee_count == 0
    else:
        can_be_split = fee_count in (0, count) and _cost_alike(legs)
    if not can_be_split:
        return [legs]
    trade_lines, fee_lines = legs.lines[: 2 * count], legs.lines[2 * count :]
    ins = [line for line in trade_lines if not str(line.cells["change"]).strip().startswith("-")]
    outs = [line for line in trade_lines if str(line.cells["change"]).strip().startswith("-")]
    parts = []
    for nth in range(count):
        lines = [outs[nth], ins[nth], *fee_lines[nth : nth + 1]]
        parts.append(Legs(legs.time, [legs.gave[nth]], [legs.got[nth]], legs.fees[nth : nth + 1], lines))
    return parts


def _cost_alike(legs: Legs) -> bool:
    """Whether the n-th that was given for the n-th that came in makes about the same price for every n."""
    prices = [gave / got for (_, gave), (_, got) in zip(legs.gave, legs.got, strict=True) if got]
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
