"""Makes the trade database that the tests of the freqtrade loader read, with freqtrade's own models.

    python scripts/freqtrade_database.py [FILE]

Needs freqtrade, which is large and in no extra of ours: install it in an environment of its own. Tables, profits and
fees are that project's; here stands only what was traded. The same trades make the same rows.
"""

import importlib
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path(__file__).parent.parent / "tests" / "book" / "data" / "tradesv3.sqlite"


class Fill(NamedTuple):
    """An order that was filled: into the trade or out of it, when, how much, at what price."""

    into: bool
    at: str
    amount: float
    price: float
    funding: float = 0.0


class Told(NamedTuple):
    """A trade as it went. Without an exit for the whole amount it is still open."""

    pair: str
    fills: tuple[Fill, ...]
    short: bool = False
    leverage: float = 1.0
    strategy: str = "TrendRider"
    tag: str | None = None
    reason: str | None = None
    reach: tuple[float, float] | None = None


TOLD = (
    Told(
        "BTC/USDT",
        (Fill(True, "2026-03-01 10:00", 0.05, 88_000.0), Fill(False, "2026-03-01 16:30", 0.05, 89_400.0)),
        tag="breakout",
        reason="roi",
        reach=(87_700.0, 89_650.0),
    ),
    Told(
        "ETH/USDT",
        (Fill(True, "2026-03-02 08:15", 1.5, 2_900.0), Fill(False, "2026-03-02 21:45", 1.5, 2_811.5)),
        tag="pullback",
        reason="stop_loss",
        reach=(2_808.0, 2_915.0),
    ),
    Told(
        "SOL/USDT:USDT",
        (Fill(True, "2026-03-03 12:00", 40.0, 142.0), Fill(False, "2026-03-04 00:05", 40.0, 137.2, -0.62)),
        short=True,
        leverage=3.0,
        strategy="FadeIt",
        tag="overheated",
        reason="exit_signal",
        reach=(136.9, 144.1),
    ),
    Told(
        "BTC/USDT:USDT",
        (Fill(True, "2026-03-05 09:30", 0.02, 90_100.0), Fill(False, "2026-03-05 11:00", 0.02, 91_350.0)),
        short=True,
        leverage=2.0,
        strategy="FadeIt",
        reason="stop_loss",
        reach=(90_000.0, 91_400.0),
    ),
    # Bought twice, sold in two parts.
    Told(
        "ADA/USDT",
        (
            Fill(True, "2026-03-06 07:00", 1_000.0, 0.71),
            Fill(True, "2026-03-06 13:00", 500.0, 0.68),
            Fill(False, "2026-03-07 02:00", 600.0, 0.74),
            Fill(False, "2026-03-07 18:20", 900.0, 0.69),
        ),
        tag="ladder",
        reason="trailing_stop_loss",
    ),
    Told("BTC/USDT", (Fill(True, "2026-03-08 06:00", 0.03, 91_000.0),), tag="breakout"),
    # A part of it is sold, the rest is held.
    Told(
        "XRP/USDT",
        (Fill(True, "2026-03-08 09:00", 2_000.0, 2.31), Fill(False, "2026-03-08 20:00", 500.0, 2.40)),
    ),
    Told("ETH/USDT:USDT", (Fill(True, "2026-03-09 01:00", 0.8, 2_990.0),), short=True, leverage=2.0, strategy="FadeIt"),
    # Ordered and not filled yet.
    Told("DOGE/USDT", (Fill(True, "2026-03-09 03:00", 0.0, 0.19),)),
)


def main(place: Path) -> None:
    persistence: Any = importlib.import_module("freqtrade.persistence")
    modes: Any = importlib.import_module("freqtrade.enums").TradingMode
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    persistence.init_db(f"sqlite:///{place}")
    for nth, told in enumerate(TOLD, 1):
        write(persistence, modes, nth, told)
    engine = persistence.Trade.session.get_bind()
    persistence.Trade.session.remove()
    engine.dispose()
    with closing(sqlite3.connect(place, isolation_level=None)) as file:
        file.execute("VACUUM")


def write(persistence: Any, modes: Any, nth: int, told: Told) -> None:
    first = told.fills[0]
    trade = persistence.Trade(
        id=nth,
        pair=told.pair,
        base_currency=told.pair.partition("/")[0],
        stake_currency="USDT",
        stake_amount=first.amount * first.price / told.leverage,
        amount=first.amount or 1000.0,
        amount_requested=first.amount or 1000.0,
        open_rate=first.price,
        open_date=moment(first.at),
        fee_open=0.001,
        fee_close=0.001,
        exchange="binance",
        is_open=True,
        is_short=told.short,
        leverage=told.leverage,
        strategy=told.strategy,
        enter_tag=told.tag,
        timeframe=15,
        trading_mode=modes.FUTURES if ":" in told.pair else modes.SPOT,
        record_version=2,
    )
    persistence.Trade.session.add(trade)
    persistence.Trade.session.flush()
    for number, fill in enumerate(told.fills, 1):
        order = placed(persistence, trade, f"{nth}-{number}", told, fill)
        trade.orders.append(order)
        if fill.amount:
            trade.update_trade(order)
    if told.reach is not None:
        trade.min_rate, trade.max_rate = told.reach
    if not trade.is_open:
        trade.exit_reason = told.reason
    persistence.Trade.commit()


def placed(persistence: Any, trade: Any, id: str, told: Told, fill: Fill) -> Any:
    side = trade.entry_side if fill.into else trade.exit_side
    amount = fill.amount or 1000.0
    return persistence.Order(
        ft_trade_id=trade.id,
        ft_order_side=side,
        ft_pair=told.pair,
        ft_is_open=not fill.amount,
        ft_amount=amount,
        ft_price=fill.price,
        order_id=id,
        status="closed" if fill.amount else "open",
        symbol=told.pair,
        order_type="limit",
        side=side,
        price=fill.price,
        average=fill.price if fill.amount else None,
        amount=amount,
        filled=fill.amount,
        remaining=amount - fill.amount,
        cost=fill.amount * fill.price,
        order_date=moment(fill.at),
        order_filled_date=moment(fill.at) if fill.amount else None,
        order_update_date=moment(fill.at),
        funding_fee=fill.funding,
    )


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE)
