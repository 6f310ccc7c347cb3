"""A book in which something was traded: a skill at work, its trades, what is open, and what is coming."""

from datetime import UTC, datetime, timedelta
from typing import Any

BEGUN = datetime(2026, 8, 14, 9, tzinfo=UTC)
HEADER = "symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,fees,entry_regime_tag,exit_reason"
CHOP = (-1.4, -0.9, -1.2, -1.1, -1.6, -0.8, -1.0, -1.3)
"""What each of the BTC longs in chop lost, in percent."""
TREND = (2.4, 1.4, -0.2, 2.8, 1.9, 0.9, 2.4, 1.2, 3.0, 0.7, 0.6, 0.8, 0.5, 2.6)
BARS = "symbol,timeframe,time,open,high,low,close"
EVENTS = "id,kind,symbols,time,importance,title"


def iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def row(symbol: str, entry: datetime, hours: float, price: float, percent: float, regime: str, reason: str) -> str:
    """A long of 1,000 that came to so many percent, without fees."""
    left = f"{iso(entry + timedelta(hours=hours))},{price * (1 + percent / 100)},0,{regime},{reason}"
    return f"{symbol},long,{1000 / price},{iso(entry)},{price},{left}"


def trade_lines(chop: int = len(CHOP), trend: int = len(TREND)) -> list[str]:
    """Longs that lose in chop and, mostly, win in a trend: that makes two findings, in Vienna as in UTC."""
    losing = [
        row("BTC/USDT", BEGUN + timedelta(days=9 * nth, hours=3), 5, 90_000.0, percent, "chop", "stop")
        for nth, percent in enumerate(CHOP[:chop])
    ]
    winning = [
        row("ETH/USDT", BEGUN + timedelta(days=6 * nth, hours=9), 20, 3_400.0, percent, "trend", "trailing_stop")
        for nth, percent in enumerate(TREND[:trend])
    ]
    return [HEADER, *losing, *winning]


def flat_lines(count: int = 16) -> list[str]:
    """Trades that lead nowhere, so that there are enough for a first look."""
    nets = [(0.25, -0.35)[nth % 2] + nth % 7 / 60 for nth in range(count)]
    begun = [BEGUN + timedelta(days=3 * nth, hours=18) for nth in range(count)]
    rows = [row("SOL/USDT", at, 0.5, 150.0, net, "calm", "time") for at, net in zip(begun, nets, strict=True)]
    return [HEADER, *rows]


def deployed(alice: Any, name: str = "Range breakout on Kraken, paper", **given: Any) -> Any:
    told = {"capital": 10_000, "account": "Kraken", "started_at": BEGUN} | given
    skills = [one.name for one in alice.trading.skills()]
    if "Range breakout" not in skills:
        alice.trading.create_skill("Range breakout", description="Goes with what breaks out.", strategy="Buy strength.")
    return alice.trading.create_deployment(name, "Range breakout", **told)


def traded(alice: Any, **given: Any) -> Any:
    """A deployment with its closed trades."""
    made = deployed(alice, **given)
    loaded = alice.trading.load("trades", trade_lines(), deployment=made.id)
    assert not loaded.wrong, loaded
    return made


def taught(alice: Any, **given: Any) -> Any:
    """One with enough of them that a reflection finds something."""
    made = traded(alice, **given)
    assert not alice.trading.load("trades", flat_lines(), deployment=made.id).wrong
    return made


def priced(kb: Any, symbol: str, base: float, moves: dict[datetime, float], until: datetime) -> None:
    """Hourly bars of three weeks; after each of these moments the price goes so far (in percent) for an hour."""
    begin, lines = until - timedelta(days=21), [BARS]
    for hour in range(21 * 24):
        time = begin + timedelta(hours=hour)
        close = base * (1 + moves.get(time, 0.0) / 100)
        lines.append(f"{symbol},1h,{iso(time)},{base},{max(base, close)},{min(base, close)},{close}")
    assert not kb.market.load(lines).wrong


def exposed(kb: Any, alice: Any, deployment: Any, now: datetime) -> None:
    """Two positions and three coming events: one with three like it, one with two, one that touches neither."""
    at = now.replace(minute=0, second=0, microsecond=0)
    cpi = [at - timedelta(days=days) for days in (15, 10, 5)]
    expiry = [at - timedelta(days=days, hours=3) for days in (14, 7)]
    priced(kb, "ETH/USDT", 3_300.0, dict(zip([*cpi, *expiry], (1.8, -4.1, 0.6, 1.0, -2.0), strict=True)), at)
    priced(kb, "BTC/USDT", 91_900.0, dict(zip(cpi, (2.9, -1.2, 0.4), strict=True)), at)
    told = [
        *((f"cpi-{n}", "cpi", "*", time, 0.92, "US consumer prices") for n, time in enumerate(cpi)),
        *((f"exp-{n}", "expiry", "ETH", time, 0.55, "ETH options expiry") for n, time in enumerate(expiry)),
        ("cpi", "cpi", "*", at + timedelta(hours=5), 0.92, "US consumer prices"),
        ("exp", "expiry", "ETH", at + timedelta(hours=23), 0.55, "ETH options expiry"),
        ("sol", "upgrade", "SOL", at + timedelta(hours=59), 0.48, "Solana network upgrade"),
        ("min", "minutes", "*", at + timedelta(hours=9), 0.2, "Minutes of nobody"),
    ]
    lines = [f"{id},{kind},{touched},{iso(time)},{weight},{title}" for id, kind, touched, time, weight, title in told]
    assert not kb.market.load_events([EVENTS, *lines]).wrong
    held = ["symbol,side,quantity,entry_time,entry_price", f"ETH/USDT,long,0.7,{iso(at - timedelta(hours=9))},3250"]
    held.append(f"BTC/USDT,short,0.02,{iso(at - timedelta(hours=30))},92500")
    assert not alice.trading.load("positions", held, deployment=deployment.id).wrong
