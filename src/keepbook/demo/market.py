"""A market that never was, for benches and tests: always the same for a seed, and as unpleasant as real ones.

Prices go through regimes (trends, chop, storms), with fat tails, with volatility that comes in clusters, with jumps at
the time of events and with hours that are missing. Strategies trade on the very bars: they enter at a close, leave at
a stop, a target or after a while, pay fees, and do well in one regime and badly in another. Everything is made as it
is asked for, so that ten million bars need no more memory than ten. Only the standard library is needed.
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
"""How hard a price is pulled to where it began, in an hour: over many years it neither vanishes nor explodes."""


class Regime(NamedTuple):
    """How prices behave for a while: drift and deviation for an hour, and how hard they are pulled back."""

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
    """A kind of event: how often in hours, at what hour of the day, how much it matters and how far it moves prices."""

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
    """An event, with the jump that it brings."""

    id: str
    kind: str
    symbols: tuple[str, ...]
    time: int
    importance: float
    title: str
    known_at: int
    jump: float


class GeneratedBar(NamedTuple):
    """A bar and the regime it is of; times are seconds since 1970."""

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
    """Where and when it all happens. `outages` is how often in a week an hour or so of bars is missing."""

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
        """When each regime begins."""
        dice, at, tag = random.Random(f"{self.seed} regimes"), self.begins, "chop"
        found = []
        while at < self.ends:
            found.append((at, tag))
            at += int(HOUR * (12 + dice.expovariate(1 / 40)))
            tag = dice.choice(_FOLLOWED_BY[tag])
        return found

    @cached_property
    def events(self) -> Sequence[Happening]:
        """In the order of time, past the end by a week: what is coming."""
        dice = random.Random(f"{self.seed} events")
        found: list[Happening] = []
        for name, kind in KINDS.items():
            at = self.begins // DAY * DAY + dice.random() * kind.every * HOUR
            while at < self.ends + 7 * DAY:
                time = int(at // DAY * DAY + kind.hour * HOUR)
                if kind.everywhere:
                    symbols = ("*",)
                else:
                    symbols = (dice.choice(self.symbols).partition("/")[0],)
                jump = kind.jump * max(-3.0, min(3.0, _fat(dice))) * (0.5 + kind.importance)
                known = time - int(DAY * dice.uniform(3, 30))
                id = f"{name}-{iso(time)[:10]}-{len(found)}"
                found.append(Happening(id, name, symbols, time, kind.importance, kind.title, known, jump))
                at += kind.every * HOUR * dice.uniform(0.8, 1.2)
        return sorted(found, key=lambda event: (event.time, event.id))

    def regime_at(self, time: int) -> str:
        place = bisect.bisect_right(self.spells, time, key=lambda spell: spell[0])
        return self.spells[max(0, place - 1)][1]


# Prices


def generate_bars(world: World, symbol: str) -> Iterator[GeneratedBar]:
    """One symbol's bars, one after the other, without those of an outage."""
    dice = random.Random(f"{world.seed} {symbol}")
    tails = [_fat(dice) for _ in range(4096)]
    step, hours = world.minutes * 60, world.minutes / 60
    nature, close = dice.uniform(0.8, 1.7), FIRST_PRICES.get(symbol, 10.0)
    if close > 100:
        digits = 2
    elif close > 1:
        digits = 4
    else:
        digits = 6
    jumps = _jumps(world, symbol, nature)
    spells, spell, regime, rule, anchor = world.spells, 0, "chop", REGIMES["chop"], math.log(close)
    clustered, dark, home = 0.8, 0, math.log(close)
    outage = world.outages * step / (7 * DAY)
    pick, chance = dice.getrandbits, dice.random
    for time in range(world.begins, world.ends, step):
        if spell < len(spells) and spells[spell][0] <= time:
            regime = spells[spell][1]
            rule, anchor, spell = REGIMES[regime], math.log(close), spell + 1
        tail = tails[pick(12)]
        deviation = rule.deviation * nature * math.sqrt(hours) * (0.5 + 0.6 * clustered)
        clustered = 0.94 * clustered + 0.06 * abs(tail)
        level = math.log(close)
        moved = rule.drift * hours + deviation * tail + hours * (rule.pull * (anchor - level) + HOMING * (home - level))
        if time in jumps:
            moved += jumps[time]
            clustered += 1.0
        opened, close = close, round(close * math.exp(moved), digits)
        top = round(max(opened, close) * (1 + deviation * abs(tails[pick(12)]) * 0.5), digits)
        bottom = round(min(opened, close) * (1 - min(0.5, deviation * abs(tails[pick(12)]) * 0.5)), digits)
        volume = round(1000 * (0.3 + abs(tail) + clustered) / nature, 2)
        if dark > 0:
            dark = dark - 1
        elif chance() < outage:
            dark = 1 + pick(2) * HOUR // step
        else:
            dark = 0
        if not dark:
            yield GeneratedBar(symbol, time, opened, top, bottom, close, volume, regime)


def _jumps(world: World, symbol: str, nature: float) -> dict[int, float]:
    """By the bar in which they happen: the first that begins with the event or after it."""
    step, base = world.minutes * 60, symbol.partition("/")[0]
    found: dict[int, float] = {}
    for event in world.events:
        if "*" in event.symbols or base in event.symbols:
            time = world.begins + -(-(event.time - world.begins) // step) * step
            found[time] = found.get(time, 0.0) + event.jump * nature
    return found


def _fat(dice: random.Random) -> float:
    """Student's t with four degrees of freedom, of deviation one: calm mostly, and now and then not at all."""
    return dice.gauss(0, 1) / math.sqrt(dice.gammavariate(2, 2) / 4) / math.sqrt(2)


# Strategies


@dataclass(frozen=True)
class Strategy:
    """Looks back some bars and follows what it sees, or fades it. Stop and target are shares of the entry."""

    name: str
    follows: bool
    looks_back: int = 16
    threshold: float = 0.012
    stop: float = 0.010
    target: float = 0.020
    patience: int = 32
    """So many bars a trade is held at most."""
    fee: float = 0.0005
    stake: float = 2_000.0


FOLLOW = Strategy("Trend rider", follows=True)
FADE = Strategy("Fade it", follows=False, threshold=0.010, stop=0.014, target=0.010, patience=24)


@dataclass(frozen=True)
class StrategyDesk:
    """A strategy at work: a deployment of the skill that bears its name."""

    name: str
    strategy: Strategy
    capital: float = 10_000.0
    symbols: tuple[str, ...] = ()


DESKS = (StrategyDesk("Trend rider main", FOLLOW), StrategyDesk("Fade it main", FADE, capital=25_000.0))


@dataclass(slots=True)
class OpenPosition:
    """A position, and how far the price has gone since it was entered."""

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
        """The price at which it is left in this bar, and why. Where both lie in one bar the stop came first."""
        if self.side == "long":
            sign = 1
        else:
            sign = -1
        stop = self.entry_price * (1 - sign * strategy.stop)
        target = self.entry_price * (1 + sign * strategy.target)
        self.highest, self.lowest, self.bars = max(self.highest, bar.high), min(self.lowest, bar.low), self.bars + 1
        if (bar.low <= stop) if sign > 0 else (bar.high >= stop):
            return (min(stop, bar.open) if sign > 0 else max(stop, bar.open)), "stop"
        if (bar.high >= target) if sign > 0 else (bar.low <= target):
            return (max(target, bar.open) if sign > 0 else min(target, bar.open)), "target"
        if self.bars >= strategy.patience:
            return bar.close, "time"
        return None


class GeneratedTrade(NamedTuple):
    """A trade; `mfe` and `mae` are shares of the entry, for it and (negative) against it."""

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
    """What a strategy does on the bars of a symbol: its trades as they are closed, at last what it still holds."""
    seen: deque[float] = deque(maxlen=strategy.looks_back)
    held: OpenPosition | None = None
    for bar in coming:
        if held is not None:
            if (left := held.leaves(strategy, bar)) is not None:
                yield _close_position(strategy, held, bar.time + step, *left)
                held = None
                seen.clear()
        elif len(seen) == strategy.looks_back and abs(moved := bar.close / seen[0] - 1) >= strategy.threshold:
            if (moved > 0) == strategy.follows:
                side = "long"
            else:
                side = "short"
            reason = f"{moved:+.1%} in {strategy.looks_back} bars"
            amount = float(f"{strategy.stake / bar.close:.6g}")
            held = OpenPosition(
                bar.symbol, side, amount, bar.time + step, bar.close, bar.regime, reason, bar.close, bar.close
            )
        seen.append(bar.close)
    if held is not None:
        yield held


def _close_position(strategy: Strategy, held: OpenPosition, time: int, price: float, reason: str) -> GeneratedTrade:
    price = float(f"{price:.8g}")
    fees = round(strategy.fee * held.quantity * (held.entry_price + price), 8)
    up = max(held.highest, price) / held.entry_price - 1
    down = min(held.lowest, price) / held.entry_price - 1
    if held.side == "long":
        best, worst = up, down
    else:
        best, worst = -down, -up
    return GeneratedTrade(held, time, price, fees, round(max(best, 0.0), 8), round(min(worst, 0.0), 8), reason)


# Files


def iso(seconds: int) -> str:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class InstantWriter:
    """Writes very many instants: days and times of day repeat."""

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
    """A CSV file of what the desks traded."""
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
    """A CSV file of what the desks hold at the end."""
    yield f"{POSITIONS_HEADER}\n"
    for desk in desks:
        for one in _play_desk(world, desk):
            if isinstance(one, OpenPosition):
                entry = f"{iso(one.entry_time)},{one.entry_price}"
                yield f"{desk.name},{one.symbol},{one.side},{one.quantity},{entry}\n"


def skill_lines(desks: Sequence[StrategyDesk] = DESKS) -> Iterator[str]:
    yield f"{SKILLS_HEADER}\n"
    for strategy in dict.fromkeys(desk.strategy for desk in desks):
        if strategy.follows:
            does = "Follows"
        else:
            does = "Fades"
        says = f"stop {strategy.stop:.1%} and target {strategy.target:.1%}; after {strategy.patience} bars out"
        yield f"{strategy.name},{does} moves of {strategy.looks_back} bars,{says}\n"


def deployment_lines(world: World, desks: Sequence[StrategyDesk] = DESKS) -> Iterator[str]:
    yield f"{DEPLOYMENTS_HEADER}\n"
    for desk in desks:
        yield f"{desk.name},{desk.strategy.name},paper,{desk.capital},USDT,{iso(world.begins)}\n"


def _play_desk(world: World, desk: StrategyDesk) -> Iterator[GeneratedTrade | OpenPosition]:
    for symbol in desk.symbols or world.symbols:
        yield from play_strategy(desk.strategy, generate_bars(world, symbol), world.minutes * 60)
