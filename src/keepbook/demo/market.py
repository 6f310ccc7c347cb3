"""Generates a market for the demo, benches and tests: always the same for a seed, and as irregular as a real one.

Prices go through regimes (trends, chop, storms), with fat tails, clustered volatility, jumps at the time of events, and
missing hours. Strategies trade on those bars: they enter at a close, leave at a stop, at a target or after a number of
bars, pay fees, and do well in one regime and badly in another. All of it is generated lazily, so that ten million bars
need no more memory than ten. Only the standard library is needed.
"""

import bisect
import math
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

HOUR = 3600
DAY = 24 * HOUR
BARS_HEADER = "symbol,timeframe,time,open,high,low,close,volume"
EVENTS_HEADER = "id,kind,symbols,time,importance,title,known_at"
TRADES_HEADER = (
    "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,fees,mfe,mae,entry_regime_tag,"
    "entry_reason,exit_reason,id"
)
POSITIONS_HEADER = "deployment,symbol,side,quantity,entry_time,entry_price"
SKILLS_HEADER = "name,description,strategy"
DEPLOYMENTS_HEADER = "name,skill,account,capital,currency,started_at"
HOMING = 0.0002
"""The share of its logarithmic distance from the first price that a price is pulled back in an hour."""


class Regime(NamedTuple):
    """How prices behave for a while, by the hour: drift, standard deviation, and pull to the regime's first price."""

    drift: float
    deviation: float
    pull: float


REGIMES = {
    "trend_up": Regime(0.0016, 0.0050, 0.0),
    "trend_down": Regime(-0.0018, 0.0055, 0.0),
    "chop": Regime(0.0, 0.0060, 0.22),
    "storm": Regime(0.0, 0.0140, 0.0),
}
_FOLLOWED_BY = {
    "trend_up": ("chop", "chop", "storm", "trend_down"),
    "trend_down": ("chop", "chop", "storm", "trend_up"),
    "chop": ("trend_up", "trend_up", "trend_down", "storm"),
    "storm": ("chop", "trend_down", "trend_up"),
}


class GeneratedEvent(NamedTuple):
    """A kind of event: hours between two of them (`every`), hour of the day, importance from 0 to 1, and how far it
    moves prices (`jump`, as a share). Events that are not `everywhere` affect one symbol each."""

    every: float
    hour: float
    importance: float
    jump: float
    title: str
    everywhere: bool = True


KINDS = {
    "rates": GeneratedEvent(24 * 21, 18.0, 0.95, 0.020, "Rate decision"),
    "inflation": GeneratedEvent(24 * 14, 12.5, 0.85, 0.014, "Consumer prices"),
    "jobs": GeneratedEvent(24 * 14, 13.5, 0.70, 0.008, "Jobs report"),
    "unlock": GeneratedEvent(24 * 9, 8.0, 0.50, 0.011, "Tokens unlocked", everywhere=False),
    "upgrade": GeneratedEvent(24 * 30, 15.0, 0.45, 0.009, "Network upgrade", everywhere=False),
    "minutes": GeneratedEvent(24 * 10, 19.0, 0.25, 0.003, "Minutes published"),
}

FIRST_PRICES = {
    "BTC/USDT": 64_000.0, "ETH/USDT": 3_100.0, "SOL/USDT": 148.0, "XRP/USDT": 0.58, "ADA/USDT": 0.46, "DOGE/USDT": 0.12,
    "LINK/USDT": 14.2, "AVAX/USDT": 29.0, "DOT/USDT": 6.4, "LTC/USDT": 83.0, "ATOM/USDT": 8.1, "NEAR/USDT": 5.2,
    "APT/USDT": 9.0, "OP/USDT": 1.9, "ARB/USDT": 0.9, "INJ/USDT": 22.0, "FIL/USDT": 5.6, "UNI/USDT": 9.4,
    "AAVE/USDT": 97.0, "ETC/USDT": 24.0,
}  # fmt: skip


class Happening(NamedTuple):
    """An event, and the jump of prices that it causes; times are seconds since 1970."""

    id: str
    kind: str
    symbols: tuple[str, ...]
    time: int
    importance: float
    title: str
    known_at: int
    jump: float


class GeneratedBar(NamedTuple):
    """A bar, and the regime in which it lies; `time` is in seconds since 1970."""

    symbol: str
    time: int
    open: float
    high: float
    low: float
    close: float
    volume: float
    regime: str


@dataclass(frozen=True)
class World:
    """What is generated: seed, symbols, time, and the `minutes` of a bar. `outages` is how often a week some hours of
    bars are missing."""

    seed: int = 1
    symbols: tuple[str, ...] = ("BTC/USDT", "ETH/USDT", "SOL/USDT")
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    days: float = 90
    minutes: int = 15
    outages: float = 1.0

    @property
    def begins(self) -> int:
        return int(self.start.timestamp())

    @property
    def ends(self) -> int:
        return self.begins + int(self.days * DAY)

    @property
    def timeframe(self) -> str:
        if self.minutes % 60 == 0:
            return f"{self.minutes // 60}h"
        return f"{self.minutes}m"

    @cached_property
    def spells(self) -> Sequence[tuple[int, str]]:
        """The regimes, each with the time at which it begins."""
        dice, at, tag = random.Random(f"{self.seed} regimes"), self.begins, "chop"
        found = []
        while at < self.ends:
            found.append((at, tag))
            at += int(HOUR * (12 + dice.expovariate(1 / 40)))
            tag = dice.choice(_FOLLOWED_BY[tag])
        return found

    @cached_property
    def events(self) -> Sequence[Happening]:
        """The events in the order of time, up to a week after the end, so that some are still to come."""
        dice = random.Random(f"{self.seed} events")
        found: list[Happening] = []
        for name, kind in KINDS.items():
            at = self.begins // DAY * DAY + dice.random() * kind.every * HOUR
            while at < self.ends + 7 * DAY:
                time = int(at // DAY * DAY + kind.hour * HOUR)
                symbols = ("*",)
                if not kind.everywhere:
                    symbols = (dice.choice(self.symbols).partition("/")[0],)
                jump = kind.jump * max(-3.0, min(3.0, _fat_tailed(dice))) * (0.5 + kind.importance)
                known_at = time - int(DAY * dice.uniform(3, 30))
                id = f"{name}-{iso(time)[:10]}-{len(found)}"
                found.append(Happening(id, name, symbols, time, kind.importance, kind.title, known_at, jump))
                at += kind.every * HOUR * dice.uniform(0.8, 1.2)
        return sorted(found, key=lambda event: (event.time, event.id))

    def regime_at(self, time: int) -> str:
        begun = bisect.bisect_right(self.spells, time, key=lambda spell: spell[0])
        return self.spells[max(0, begun - 1)][1]


# Prices


def generate_bars(world: World, symbol: str) -> Iterator[GeneratedBar]:
    """The bars of one symbol in the order of time, without those of an outage. All logarithms are of prices."""
    dice = random.Random(f"{world.seed} {symbol}")
    tails = [_fat_tailed(dice) for _ in range(4096)]  # drawn once: `tails[pick(12)]` is much faster than a draw
    pick, chance = dice.getrandbits, dice.random
    step, hours = world.minutes * 60, world.minutes / 60
    nature = dice.uniform(0.8, 1.7)  # how volatile this symbol is
    close = FIRST_PRICES.get(symbol, 10.0)
    digits = 4 if close > 1 else 6  # decimal places of its prices
    if close > 100:
        digits = 2
    first_level = math.log(close)
    jumps = _jumps(world, symbol, nature)
    spells, spell = world.spells, 0
    regime, rule, regime_level = "chop", REGIMES["chop"], first_level
    clustered, missing = 0.8, 0  # the recent volatility; how many bars the present outage still takes
    outage_chance = world.outages * step / (7 * DAY)
    for time in range(world.begins, world.ends, step):
        if spell < len(spells) and spells[spell][0] <= time:
            regime = spells[spell][1]
            rule, regime_level, spell = REGIMES[regime], math.log(close), spell + 1
        tail = tails[pick(12)]
        deviation = rule.deviation * nature * math.sqrt(hours) * (0.5 + 0.6 * clustered)
        clustered = 0.94 * clustered + 0.06 * abs(tail)
        level = math.log(close)
        pulled = rule.pull * (regime_level - level) + HOMING * (first_level - level)
        moved = rule.drift * hours + deviation * tail + hours * pulled
        if time in jumps:
            moved += jumps[time]
            clustered += 1.0
        opened, close = close, round(close * math.exp(moved), digits)
        top = round(max(opened, close) * (1 + deviation * abs(tails[pick(12)]) * 0.5), digits)
        bottom = round(min(opened, close) * (1 - min(0.5, deviation * abs(tails[pick(12)]) * 0.5)), digits)
        volume = round(1000 * (0.3 + abs(tail) + clustered) / nature, 2)
        if missing > 0:
            missing -= 1
        elif chance() < outage_chance:
            missing = 1 + pick(2) * HOUR // step
        if missing == 0:
            yield GeneratedBar(symbol, time, opened, top, bottom, close, volume, regime)


def _jumps(world: World, symbol: str, nature: float) -> dict[int, float]:
    """The jumps of a symbol's price, by the time of the first bar that begins with the event or after it."""
    step, base = world.minutes * 60, symbol.partition("/")[0]
    found: dict[int, float] = {}
    for event in world.events:
        if "*" in event.symbols or base in event.symbols:
            bars_until = -((world.begins - event.time) // step)  # rounded up
            time = world.begins + bars_until * step
            found[time] = found.get(time, 0.0) + event.jump * nature
    return found


def _fat_tailed(dice: random.Random) -> float:
    """A random number of Student's t distribution (4 degrees of freedom), scaled to a standard deviation of one."""
    return dice.gauss(0, 1) / math.sqrt(dice.gammavariate(2, 2) / 4) / math.sqrt(2)


# Strategies


@dataclass(frozen=True)
class Strategy:
    """Enters when the price has moved by `threshold` within `looks_back` bars: in the direction of the move if it
    `follows`, else against it. Threshold, stop and target are shares of the price."""

    name: str
    follows: bool
    looks_back: int = 16
    threshold: float = 0.012
    stop: float = 0.010
    target: float = 0.020
    patience: int = 32  # bars that a trade is held at most
    fee: float = 0.0005  # what an entry or an exit costs, as a share of what is traded
    stake: float = 2_000.0


FOLLOW = Strategy("Trend rider", follows=True)
FADE = Strategy("Fade it", follows=False, threshold=0.010, stop=0.014, target=0.010, patience=24)


@dataclass(frozen=True)
class StrategyDesk:
    """A deployment of a strategy; the skill has the strategy's name."""

    name: str
    strategy: Strategy
    capital: float = 10_000.0
    symbols: tuple[str, ...] = ()


DESKS = (StrategyDesk("Trend rider main", FOLLOW), StrategyDesk("Fade it main", FADE, capital=25_000.0))


@dataclass(slots=True)
class OpenPosition:
    """A position, and the highest and lowest price since it was entered; `bars` counts the bars since then."""

    symbol: str
    side: str
    quantity: float
    entry_time: int
    entry_price: float
    regime: str
    reason: str
    highest: float
    lowest: float
    bars: int = field(default=0)

    def leaves(self, strategy: Strategy, bar: GeneratedBar) -> tuple[float, str] | None:
        """The price at which the position is left in this bar, and why; None if it is held. If the bar has both the
        stop and the target, the stop counts. If the bar opens beyond one of them, its open is the price."""
        self.highest, self.lowest, self.bars = max(self.highest, bar.high), min(self.lowest, bar.low), self.bars + 1
        if self.side == "long":
            stop, target = self.entry_price * (1 - strategy.stop), self.entry_price * (1 + strategy.target)
            if bar.low <= stop:
                return min(stop, bar.open), "stop"
            if bar.high >= target:
                return max(target, bar.open), "target"
        else:
            stop, target = self.entry_price * (1 + strategy.stop), self.entry_price * (1 - strategy.target)
            if bar.high >= stop:
                return max(stop, bar.open), "stop"
            if bar.low <= target:
                return min(target, bar.open), "target"
        if self.bars >= strategy.patience:
            return bar.close, "time"
        return None


class GeneratedTrade(NamedTuple):
    """A closed trade; `mfe` and `mae` are its best and worst (negative) result while held, as shares of the entry."""

    held: OpenPosition
    exit_time: int
    exit_price: float
    fees: float
    mfe: float
    mae: float
    reason: str


def play_strategy(
    strategy: Strategy, coming: Iterable[GeneratedBar], step: int
) -> Iterator[GeneratedTrade | OpenPosition]:
    """Trade a strategy on the bars of a symbol, each `step` seconds long. Yields each trade when it is closed, and at
    the end the position that is still open, if there is one."""
    closes: deque[float] = deque(maxlen=strategy.looks_back)
    held: OpenPosition | None = None
    for bar in coming:
        if held is None:
            held = _enter(strategy, closes, bar, step)
        else:
            left = held.leaves(strategy, bar)
            if left is not None:
                price, reason = left
                yield _close_position(strategy, held, bar.time + step, price, reason)
                held = None
                closes.clear()
        closes.append(bar.close)
    if held is not None:
        yield held


def _enter(strategy: Strategy, closes: Sequence[float], bar: GeneratedBar, step: int) -> OpenPosition | None:
    """The position that a strategy enters at the close of this bar, after these closes; None if it waits."""
    if len(closes) < strategy.looks_back:
        return None
    moved = bar.close / closes[0] - 1
    if abs(moved) < strategy.threshold:
        return None
    goes_up = moved > 0
    return OpenPosition(
        symbol=bar.symbol, side="long" if goes_up == strategy.follows else "short",
        quantity=float(f"{strategy.stake / bar.close:.6g}"), entry_time=bar.time + step, entry_price=bar.close,
        regime=bar.regime, reason=f"{moved:+.1%} in {strategy.looks_back} bars", highest=bar.close, lowest=bar.close,
    )  # fmt: skip


def _close_position(strategy: Strategy, held: OpenPosition, time: int, price: float, reason: str) -> GeneratedTrade:
    price = float(f"{price:.8g}")
    fees = round(strategy.fee * held.quantity * (held.entry_price + price), 8)
    up = max(held.highest, price) / held.entry_price - 1
    down = min(held.lowest, price) / held.entry_price - 1
    best, worst = (up, down) if held.side == "long" else (-down, -up)
    return GeneratedTrade(
        held=held, exit_time=time, exit_price=price, fees=fees, mfe=round(max(best, 0.0), 8),
        mae=round(min(worst, 0.0), 8), reason=reason,
    )  # fmt: skip


# Files


def iso(seconds: int) -> str:
    """Seconds since 1970 as text."""
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class InstantWriter:
    """Does the same as `iso`, faster for very many instants, because it remembers days and times of day."""

    def __init__(self) -> None:
        self._days: dict[int, str] = {}
        self._times: dict[int, str] = {}

    def __call__(self, seconds: int) -> str:
        day, rest = divmod(seconds, DAY)
        if day not in self._days:
            self._days[day] = iso(seconds)[:10]
        if rest not in self._times:
            self._times[rest] = iso(seconds)[10:]
        return self._days[day] + self._times[rest]


def bar_lines(world: World, symbols: Sequence[str] = ()) -> Iterator[str]:
    """A CSV file of the bars, symbol after symbol."""
    yield f"{BARS_HEADER}\n"
    write, timeframe = InstantWriter(), world.timeframe
    for symbol in symbols or world.symbols:
        for _, time, opened, high, low, close, volume, _ in generate_bars(world, symbol):
            yield f"{symbol},{timeframe},{write(time)},{opened},{high},{low},{close},{volume}\n"


def event_lines(world: World) -> Iterator[str]:
    yield f"{EVENTS_HEADER}\n"
    for one in world.events:
        known = iso(one.known_at)
        yield f"{one.id},{one.kind},{';'.join(one.symbols)},{iso(one.time)},{one.importance},{one.title},{known}\n"


def market_trade_lines(world: World, desks: Sequence[StrategyDesk] = DESKS) -> Iterator[str]:
    """A CSV file of the trades that the desks closed."""
    yield f"{TRADES_HEADER}\n"
    write = InstantWriter()
    for desk in desks:
        count = 0
        for one in _play_desk(world, desk):
            if isinstance(one, GeneratedTrade):
                held, count = one.held, count + 1
                yield (
                    f"{desk.name},{held.symbol},{held.side},{held.quantity},{write(held.entry_time)},"
                    f"{held.entry_price},{write(one.exit_time)},{one.exit_price},{one.fees},{one.mfe},{one.mae},"
                    f"{held.regime},{held.reason},{one.reason},{held.symbol}-{count}\n"
                )


def position_lines(world: World, desks: Sequence[StrategyDesk] = DESKS) -> Iterator[str]:
    """A CSV file of the positions that the desks hold at the end."""
    yield f"{POSITIONS_HEADER}\n"
    for desk in desks:
        for one in _play_desk(world, desk):
            if isinstance(one, OpenPosition):
                entry = f"{iso(one.entry_time)},{one.entry_price}"
                yield f"{desk.name},{one.symbol},{one.side},{one.quantity},{entry}\n"


def skill_lines(desks: Sequence[StrategyDesk] = DESKS) -> Iterator[str]:
    yield f"{SKILLS_HEADER}\n"
    for strategy in dict.fromkeys(desk.strategy for desk in desks):
        does = "Follows" if strategy.follows else "Fades"
        says = f"stop {strategy.stop:.1%} and target {strategy.target:.1%}; after {strategy.patience} bars out"
        yield f"{strategy.name},{does} moves of {strategy.looks_back} bars,{says}\n"


def deployment_lines(world: World, desks: Sequence[StrategyDesk] = DESKS) -> Iterator[str]:
    yield f"{DEPLOYMENTS_HEADER}\n"
    for desk in desks:
        yield f"{desk.name},{desk.strategy.name},paper,{desk.capital},USDT,{iso(world.begins)}\n"


def _play_desk(world: World, desk: StrategyDesk) -> Iterator[GeneratedTrade | OpenPosition]:
    for symbol in desk.symbols or world.symbols:
        yield from play_strategy(desk.strategy, generate_bars(world, symbol), world.minutes * 60)
