"""Books of trades by chance: noise of three kinds, of which a part is shared by a day, and noise with six losses in it.

Nothing of the program takes part in it.
"""

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from types import SimpleNamespace
from typing import Any

from tests.extensions.trading.trade_rows import BEGIN, REGIMES, SYMBOLS

NOISE = ("even", "skewed", "fat-tailed")
SHARED = {"none": 0.0, "half": 0.5, "most": 0.9}


def draw_noise(kind: str, dice: Random) -> float:
    """With a mean of 0 and a deviation of 1."""
    if kind == "skewed":  # many small losses, a few large gains
        return dice.expovariate(1) - 1
    if kind == "fat-tailed":  # Student's t with three degrees of freedom
        return dice.gauss(0, 1) / (dice.gammavariate(1.5, 2) / 3) ** 0.5 / 3**0.5
    return dice.gauss(0, 1)


def closed_trade(hours: float, net: float, dice: Random, **told: Any) -> SimpleNamespace:
    held = told.pop("held", dice.choice((0.5, 4.0, 8.0)))
    ended = BEGIN + timedelta(hours=hours)
    traits = {
        "symbol": dice.choice(SYMBOLS), "side": dice.choice(("long", "short")),
        "entry_regime_tag": dice.choice(REGIMES[:3]),
    }  # fmt: skip
    return SimpleNamespace(
        quantity=1.0, entry_price=100.0, entry_time=(ended - timedelta(hours=held)).isoformat(),
        exit_time=ended.isoformat(), pnl=100 * net, **(traits | told),
    )  # fmt: skip


def noise_trades(kind: str, shared: float, count: int, dice: Random, *, a_day: int = 4) -> Iterator[SimpleNamespace]:
    """Of which nothing can be learnt: in the order of exits, so many a day."""
    weather = 0.0
    for nth in range(count):
        day, place = divmod(nth, a_day)
        if place == 0:
            weather = draw_noise(kind, dice)
        net = 0.01 * (shared**0.5 * weather + (1 - shared) ** 0.5 * draw_noise(kind, dice))
        yield closed_trade(24 * day + 9 + 8 * place / a_day, net, dice)


def planted_losses(spread: float, dice: Random) -> list[SimpleNamespace]:
    """114 trades of noise, one every three hours, and among them six longs in BTC in chop that lost about 1.1 %."""
    found = []
    for nth in range(114):
        one = closed_trade(3.0 * nth, dice.gauss(0, 0.01), dice)
        if (one.symbol, one.side) == ("BTC/USDT", "long"):
            one.entry_regime_tag = dice.choice(("trend_up", "trend_down"))
        found.append(one)
    told = {"symbol": "BTC/USDT", "side": "long", "entry_regime_tag": "chop", "held": 2.0}
    found += [closed_trade(57.0 * nth + 1, dice.gauss(-0.011, spread), dice, **told) for nth in range(6)]
    return sorted(found, key=lambda one: one.exit_time)
