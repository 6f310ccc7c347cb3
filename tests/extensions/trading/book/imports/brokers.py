"""One file of each broker with its true headers. In each: a partial exit, a reversal, a fee in another coin where the
broker has such, two identical fills, and a time that another zone would put on another day. Beside it the same fills,
plain, for a computation of our own."""

import json
from datetime import datetime, timedelta
from typing import Any, NamedTuple


class Case(NamedTuple):
    """`fills`: time in UTC, symbol, side, quantity, price, fee in the quote; `profit`: the file's own, if it has one.
    `other` are rows that are no trades, `told` what the file does not say. A `spot` account is never short: what it
    sells beyond its lots it held before the file began."""

    format: str
    text: str
    fills: list[tuple[str, str, str, float, float, float]]
    profit: float | None = None
    other: int = 0
    told: dict[str, Any] = {}  # noqa: RUF012
    spot: bool = False


BNB, EUR = 600.0, 1.25
"""What coins of fees cost, by bars of the book."""
COIN = 0.0005
PLAN = [
    ("2026-01-05T22:30:00.000000Z", "buy", 2.0, 100.0),
    ("2026-01-06T10:00:00.000000Z", "buy", 1.0, 104.0),
    ("2026-01-06T10:00:00.000000Z", "buy", 1.0, 104.0),
    ("2026-01-07T09:00:00.000000Z", "sell", 1.5, 110.0),
    ("2026-01-08T09:00:00.000000Z", "sell", 4.0, 108.0),
    ("2026-01-08T23:45:00.000000Z", "buy", 1.5, 105.0),
]
"""In, two identical ones, out in part, out and over to the other side, out."""
GROSS = [0.0, 0.0, 0.0, 1.5 * 10, 0.5 * 8 + 2 * 4, 1.5 * 3]
"""Of each what it closed for, without fees, worked out by hand."""
FEES = [0.2, 0.104, 0.104, 0.3, 0.432, 0.1575]
TRIPS = [(1.5, 0, 3, "long"), (0.5, 0, 4, "long"), (1.0, 1, 4, "long"), (1.0, 2, 4, "long"), (1.5, 4, 5, "short")]
"""The same by hand as round trips: how much, which fill in and which out."""
TRIP_FEES = [0.45, 0.104, 0.212, 0.212, 0.3195]
TRIP_GROSS = [15.0, 4.0, 4.0, 4.0, 4.5]


def fills(symbol: str, fees: list[float], size: float = 1.0) -> list[tuple[str, str, str, float, float, float]]:
    return [
        (at, symbol, side, quantity * size, price, fee)
        for (at, side, quantity, price), fee in zip(PLAN, fees, strict=True)
    ]


def day(at: str) -> str:
    return at[:19].replace("T", " ")


def later(at: str, hours: int, form: str) -> str:
    return (datetime.fromisoformat(at) + timedelta(hours=hours)).strftime(form)


def rows() -> list[tuple[int, str, str, float, float]]:
    return [(nth, *one) for nth, one in enumerate(PLAN)]


def binance_spot() -> Case:
    text = "Date(UTC),Pair,Side,Price,Executed,Amount,Fee\n"
    for nth, at, side, size, price in rows():
        fee = f"{COIN}BNB" if nth == 3 else f"{FEES[nth]}USDT"
        text += f"{day(at)},SOLUSDT,{side.upper()},{price},{size:.10f}SOL,{size * price:.8f}USDT,{fee}\n"
    return Case("binance-spot", text, fills("SOL/USDT", [*FEES[:3], COIN * BNB, *FEES[4:]]), spot=True)


def binance_futures() -> Case:
    text = "Date(UTC),Symbol,Side,Price,Quantity,Amount,Fee,Fee Coin,Realized Profit,Quote Asset\n"
    for nth, at, side, size, price in rows():
        fee = f"{COIN},BNB" if nth == 3 else f"{FEES[nth]},USDT"
        text += f"{day(at)},SOLUSDT,{side.upper()},{price},{size},{size * price},{fee},{GROSS[nth]},USDT\n"
    return Case("binance-futures", text, fills("SOL/USDT", [*FEES[:3], COIN * BNB, *FEES[4:]]), sum(GROSS))


def bybit() -> Case:
    text = (
        "UID: 531298197,Company Name: ,Country: \n"
        "Uid,Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,"
        "Wallet Balance,Action,OrderId,TradeId,Time(UTC)\n"
        "1,USDT,,TRANSFER_IN,--,0,0,0,0,0,1000,1000,1000,--,,,2026-01-05 08:00:00\n"
    )
    for nth, at, side, size, price in rows():
        deed = "CLOSE" if GROSS[nth] else "OPEN"
        change = f"{GROSS[nth] - FEES[nth]:.6f}"
        text += f"1,USDT,SOLUSDT,TRADE,{side.upper()},{size},0,{price},0,-{FEES[nth]},{GROSS[nth]},{change},0,{deed},"
        text += f"o{nth},t{nth},{day(at)}\n"
        if nth == 2:
            text += "1,USDT,SOLUSDT,SETTLEMENT,BUY,0,4,104,-0.4,0,0,-0.4,999,--,,f1,2026-01-06 16:00:00\n"
    plain = fills("SOL/USDT", FEES)
    plain.insert(3, ("2026-01-06T16:00:00.000000Z", "SOL/USDT", "funding", 4.0, 0.0, 0.4))
    return Case("bybit", text, plain, sum(GROSS), other=1)


def coinbase() -> Case:
    text = "portfolio,trade id,product,side,created at,size,size unit,price,fee,total,price/fee/total unit\n"
    for nth, at, side, size, price in rows():
        unit = "EUR" if nth == 3 else "USD"
        text += f"default,{900 + nth},SOL-USD,{side.upper()},{at[:23]}Z,{size},SOL,{price},{FEES[nth]},0,{unit}\n"
    return Case("coinbase", text, fills("SOL/USD", [*FEES[:3], FEES[3] * EUR, *FEES[4:]]), spot=True)


def kraken() -> Case:
    """On margin, where one may be short."""
    text = '"txid","ordertxid","pair","time","type","ordertype","price","cost","fee","vol","margin","misc","ledgers"\n'
    for nth, at, side, size, price in rows():
        text += f'"T{nth}","O{nth}","XXBTZEUR","{day(at)}.6798","{side}","limit",{price},0,{FEES[nth]},{size},'
        text += f'{size * price / 5},"",""\n'
    plain = [(at.replace(".000000", ".679800"), *rest) for at, *rest in fills("BTC/EUR", FEES)]
    return Case("kraken", text, plain)  # type: ignore[arg-type]


def metatrader() -> Case:
    """Its times are the broker's, two hours ahead of UTC in winter; a lot holds a hundred."""
    text = (
        "Time\tDeal\tSymbol\tType\tDirection\tVolume\tPrice\tOrder\tCommission\tFee\tSwap\tProfit\tBalance\tComment\n"
    )
    text += "2026.01.05 08:00:00\t1\t\tbalance\t\t\t\t\t0.00\t0.00\t0.00\t10 000.00\t10 000.00\tdeposit\n"
    for nth, at, side, size, price in rows():
        way = ("in", "in", "in", "out", "in/out", "out")[nth]
        text += f"{later(at, 2, '%Y.%m.%d %H:%M:%S')}\t{nth + 2}\tXAUUSD\t{side}\t{way}\t{size}\t{price}\t{nth}\t"
        text += f"-{FEES[nth]}\t0.00\t0.00\t{GROSS[nth] * 100:.2f}\t0.00\t\n"
    told = {"zone": "Europe/Nicosia"}
    return Case("metatrader5", text, fills("XAUUSD", FEES, 100), sum(GROSS) * 100, other=1, told=told)


def ibkr() -> Case:
    """Commissions in another currency than the share; a time in New York's winter; a sum among the executions."""
    text = '"ClientAccountID","DateTime","Symbol","Multiplier","Buy/Sell","Quantity","TradePrice","CurrencyPrimary",'
    text += '"IBCommission","IBCommissionCurrency","FifoPnlRealized","TradeID","LevelOfDetail"\n'
    for nth, at, side, size, price in rows():
        signed = size if side == "buy" else -size
        text += (
            f'"U1","{later(at, -5, "%Y-%m-%d %H:%M:%S")} EST","ESH6","50","{side.upper()}","{signed}","{price}","USD",'
        )
        text += f'"-{FEES[nth]}","{"EUR" if nth == 3 else "USD"}","0","{700 + nth}","EXECUTION"\n'
    text += '"U1","2026-01-08 18:45:00 EST","ESH6","50","BUY","1.5","105","USD","-1","USD","9","","ORDER"\n'
    return Case("ibkr-flex", text, fills("ESH6", [*FEES[:3], FEES[3] * EUR, *FEES[4:]], 50), other=1)


def ccxt() -> Case:
    """Contracts, of which one may be short."""
    made = []
    for nth, at, side, size, price in rows():
        fee = {"cost": COIN, "currency": "BNB"} if nth == 3 else {"cost": FEES[nth], "currency": "USDT"}
        since = int(datetime.fromisoformat(at).timestamp() * 1000)
        made.append(
            {
                "id": str(nth), "timestamp": since, "datetime": at, "symbol": "SOL/USDT:USDT", "side": side,
                "price": price, "amount": size, "cost": size * price, "fee": fee, "info": {"x": "1"}, "order": "o",
            }
        )  # fmt: skip
    return Case("ccxt", json.dumps(made), fills("SOL/USDT", [*FEES[:3], COIN * BNB, *FEES[4:]]))


def table() -> Case:
    """A plain table of a country with a decimal comma, semicolons, seconds since 1970, and a fee with its coin."""
    text = "Time;Symbol;Side;Qty;Price;Currency;Fee;PnL\n"
    for nth, at, side, size, price in rows():
        since = int(datetime.fromisoformat(at).timestamp())
        size_text, price_text = (
            f"{size:.1f}".replace(".", ","),
            f"{price * 100:,.2f}".translate(str.maketrans(",.", ".,")),
        )
        fee = (f"{COIN} BNB" if nth == 3 else str(FEES[nth])).replace(".", ",")
        text += f"{since};DAX;{side};{size_text};{price_text};USDT;{fee};\n"
    fees = [*FEES[:3], COIN * BNB, *FEES[4:]]
    plain = [(at, symbol, side, size, price * 100, fee) for at, symbol, side, size, price, fee in fills("DAX", fees)]
    return Case("plain", text, plain)


def whole_trades() -> Case:
    """The same as whole trades, worked out by hand, with the fee of one in another coin."""
    text = "Ticker,Direction,Size,Open Time,Open Price,Close Time,Close Price,Commission,Commission Currency,PnL\n"
    for (size, into, out, side), fee, gross in zip(TRIPS, TRIP_FEES, TRIP_GROSS, strict=True):
        paid = f"{fee / BNB:.12f},BNB" if into == 0 and out == 3 else f"{fee},USDT"
        text += f"SOL/USDT,{side},{size},{PLAN[into][0]},{PLAN[into][3]},{PLAN[out][0]},{PLAN[out][3]},{paid},"
        text += f"{gross - fee}\n"
    return Case("plain", text, fills("SOL/USDT", FEES), sum(TRIP_GROSS) - sum(TRIP_FEES))


def coinbase_account() -> Case:
    """Fees are in the currency of the price: the statement has no other."""
    text = (
        "You can use this transaction report to inform your likely tax obligations.\n\nTransactions\n"
        "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
        "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes\n"
        "z,2026-01-05 08:00:00 UTC,Staking Income,ETH,0.1,EUR,€100.00,€10.00,€10.00,€0.00,\n"
    )
    for nth, at, side, size, price in rows():
        kind, signed = ("Advanced Trade ", -size if side == "sell" else size) if nth % 2 else ("", size)
        text += f"c{nth},{day(at)} UTC,{kind}{side.title()},ETH,{signed},EUR,€{price},€{size * price},€0,"
        text += f"€{FEES[nth]},\n"
    return Case("coinbase-account", text, fills("ETH/EUR", FEES), other=1, spot=True)


def tradingview() -> Case:
    """Round trips in two rows each, the newest first, at the time of the chart (here New York). Fees are what is
    missing in its profit: the list has no column for them, and names no coin."""
    text = "Trade #,Type,Signal,Date/Time,Price USDT,Contracts,Profit USDT,Profit %\n"
    told = list(enumerate(zip(TRIPS, TRIP_FEES, TRIP_GROSS, strict=True), 1))
    for number, ((size, into, out, side), fee, gross) in reversed(told):
        for kind, nth, profit in (("Exit", out, f"{gross - fee:.4f}"), ("Entry", into, "")):
            at = later(PLAN[nth][0], -5, "%Y-%m-%d %H:%M")
            text += f"{number},{kind} {side},{kind},{at},{PLAN[nth][3]},{size},{profit},\n"
    asked = {"symbol": "SOLUSDT", "zone": "America/New_York"}
    return Case("tradingview", text, fills("SOL/USDT", FEES), sum(TRIP_GROSS) - sum(TRIP_FEES), told=asked)


CASES = [binance_spot(), binance_futures(), bybit(), coinbase(), kraken(), metatrader(), ibkr(), ccxt(), table(),
         whole_trades(), coinbase_account(), tradingview()]  # fmt: skip
