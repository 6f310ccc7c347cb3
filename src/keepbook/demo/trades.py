"""What trades for her on paper: two skills, their deployments, three months of trades, and what was learnt from them.

The market is the generator's, with hourly bars that end where the desk's own prices end, and with events of the story
in it. The strategies trade on those bars; only what is still open at the end is set by hand, so that whenever the
story is told the coming events find something that they touch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from typing import NamedTuple

from keepbook.demo import market as markets
from keepbook.demo import prices
from keepbook.demo.life import Life, StoryStep
from keepbook.demo.market import DAY, HOUR, GeneratedBar, GeneratedTrade, Happening, Strategy, World
from keepbook.demo.plays import Calendar

SEED = 20
DAYS = 97
PAIRS = ("BTC/USDT", "ETH/USDT")
DOLLARS = 1.08
"""What a euro costs in the story."""
TAMED = 0.5
"""Every move is about half of what the generator makes it."""
BREAKOUT = Strategy(
    "Range breakout", follows=True, looks_back=20, threshold=0.025, stop=0.011, target=0.0225, patience=36,
    fee=0.0003, stake=3_000,
)  # fmt: skip
SCALPER = Strategy(
    "BTC scalper", follows=False, looks_back=6, threshold=0.006, stop=0.005, target=0.007, patience=4,
    fee=0.0003, stake=2_400,
)  # fmt: skip
SAYS = {
    BREAKOUT.name: (
        "Goes with a move of 2.5 % in twenty hours.",
        "Enter at the close of an hour that ends 2.5 % away from the close of twenty hours ago, in that direction. "
        "Stop 1.1 %, target 2.25 %, out after 36 hours. BTC/USDT and ETH/USDT, never more than one position in each.",
    ),
    SCALPER.name: (
        "Bets against quick moves of bitcoin, for a few hours.",
        "After a move of 0.6 % within six hours, enter against it. Stop 0.5 %, target 0.7 %, out after four hours.",
    ),
}


class DemoDesk(NamedTuple):
    """A deployment; `days` before the end it begins and, where it has ended, ends."""

    name: str
    strategy: Strategy
    symbols: tuple[str, ...]
    capital: float | None
    begun: int
    ended: int | None = None


FIRST = DemoDesk("Range breakout, first try", replace(BREAKOUT, threshold=0.02), PAIRS[:1], None, 94, 70)
MAIN = DemoDesk("Range breakout on Kraken, paper", BREAKOUT, PAIRS, 10_000.0, 90)
QUICK = DemoDesk("BTC scalper, paper", SCALPER, PAIRS[:1], 4_000.0, 61)
DESKS = (FIRST, MAIN, QUICK)


class DemoPosition(NamedTuple):
    """What a desk holds at the end, entered `hours` before it or later."""

    desk: DemoDesk
    symbol: str
    side: str
    hours: int
    stake: float


class DemoHabit(NamedTuple):
    """What she does by hand beside the program: bought at an hour (UTC), sold four hours later, and whether it pays."""

    symbol: str
    hour: int
    regime: str
    pays: bool


HABITS = (DemoHabit("BTC/USDT", 9, "chop", False), DemoHabit("ETH/USDT", 15, "trend_up", True))
"""So that there is something to learn: of noise alone nothing is."""
HELD = 4
EXITS = {"stop": "stop", "target": "target", "time": "time limit"}
OPEN = (DemoPosition(MAIN, "ETH/USDT", "long", 19, 2_300.0), DemoPosition(MAIN, "BTC/USDT", "short", 31, 1_800.0))


class DemoEvent(NamedTuple):
    """A kind of event: what it touches, how far it moves prices, and how many days ago others were."""

    name: str
    title: str
    symbols: tuple[str, ...]
    importance: float
    jump: float
    back: Sequence[int]


PRICES = DemoEvent("inflation", "US consumer prices", ("*",), 0.92, 0.017, (28, 56, 84))
CLAIMS = DemoEvent("claims", "US jobless claims", ("BTC", "ETH"), 0.44, 0.004, range(7, 85, 7))
EXPIRY = DemoEvent("expiry", "ETH options expiry", ("ETH",), 0.55, 0.012, (35, 70))
UPGRADE = DemoEvent("upgrade", "Solana network upgrade", ("SOL",), 0.48, 0.02, (60,))
MINUTES = DemoEvent("minutes", "Central bank minutes", ("*",), 0.25, 0.002, (42,))


# The market


@dataclass(frozen=True)
class Weeks(World):
    """The generator's world with the story's own events."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    @cached_property
    def events(self) -> Sequence[Happening]:
        return sorted(_happenings(self.now), key=lambda event: (event.time, event.id))


def world(now: datetime) -> Weeks:
    """Up to the last full hour."""
    midnight = datetime.combine(now.astimezone(UTC).date(), datetime.min.time(), UTC)
    hours = int((now - midnight).total_seconds() // HOUR)
    start = midnight - timedelta(days=DAYS)
    return Weeks(SEED, PAIRS, start, DAYS + hours / 24, 60, 0.0, now=now)


def _happenings(now: datetime) -> Iterator[Happening]:
    """The next of each kind within three days of now, and those before it, at the same hours whenever it is told."""
    today = int(now.timestamp()) // DAY * DAY
    if now.timestamp() < today + 12 * HOUR:
        day = today
    else:
        day = today + DAY
    coming = (
        (PRICES, day, 13), (EXPIRY, day + DAY, 8), (CLAIMS, day + DAY, 12), (MINUTES, day + DAY, 18),
        (UPGRADE, today + 2 * DAY, 20),
    )  # fmt: skip
    for kind, first, hour in coming:
        for nth, time in enumerate((first, *(today - days * DAY for days in kind.back))):
            # Up and down in turn, and not always as far.
            jump = kind.jump * (1 if nth % 2 else -1) * (0.6 + 0.35 * (nth % 4))
            at, id = time + hour * HOUR, f"{kind.name}-{markets.iso(time)[:10]}"
            yield Happening(id, kind.name, kind.symbols, at, kind.importance, kind.title, at - 21 * DAY, jump)


def scaled_bars(calendar: Calendar, made: Weeks) -> dict[str, list[GeneratedBar]]:
    """Of each pair, so that it costs at the end what the desk's own prices say. A tamer market than the generator's."""
    ends = _last_closes(calendar)
    found = {}
    for pair in PAIRS:
        raw = list(markets.generate_bars(made, pair))
        end, last = ends[pair.partition("/")[0]] * DOLLARS, raw[-1].close
        found[pair] = [_scale_bar(bar, end, last) for bar in raw]
    return found


def _scale_bar(bar: GeneratedBar, end: float, last: float) -> GeneratedBar:
    opened, high, low, close = (float(f"{end * (value / last) ** TAMED:.6g}") for value in bar[2:6])
    return bar._replace(open=opened, high=high, low=low, close=close)


def _last_closes(calendar: Calendar) -> dict[str, float]:
    found = {}
    for line in list(prices.price_lines(calendar))[1:]:
        symbol, *_, close = line.split(",")
        found[symbol.partition("/")[0]] = float(close)
    return found


# Files


@dataclass
class DemoMarket:
    """The files of one telling, made when they are first asked for."""

    calendar: Calendar

    @cached_property
    def world(self) -> Weeks:
        return world(self.calendar.now)

    @cached_property
    def bars(self) -> dict[str, list[GeneratedBar]]:
        return scaled_bars(self.calendar, self.world)

    @cached_property
    def _trades(self) -> list[tuple[int, str]]:
        """When each was closed, and its line."""
        played = [one for desk in DESKS for symbol in desk.symbols for one in self._closed_trades(desk, symbol)]
        return played + [one for habit in HABITS for one in self._by_hand(habit)]

    def bar_lines(self) -> Iterator[str]:
        yield markets.BARS_HEADER
        write = markets.InstantWriter()
        for bar in (bar for series in self.bars.values() for bar in series):
            yield f"{bar.symbol},1h,{write(bar.time)},{bar.open},{bar.high},{bar.low},{bar.close},{bar.volume}"

    def trade_lines(self, until: datetime) -> Iterator[str]:
        """What was closed by then."""
        yield markets.TRADES_HEADER
        yield from (line for time, line in self._trades if time <= until.timestamp())

    def position_lines(self) -> Iterator[str]:
        yield markets.POSITIONS_HEADER
        for one in OPEN:
            entered, price = self._entry_of(one)
            told = f"{one.symbol},{one.side},{one.stake / price:.4g},{markets.iso(entered)},{price}"
            yield f'"{one.desk.name}",{told}'

    def _entry_of(self, one: DemoPosition) -> tuple[int, float]:
        """At the close of which hour, and at what: the first from which on neither stop nor target was touched."""
        series = self.bars[one.symbol][-one.hours :]
        sign, strategy = 1 if one.side == "long" else -1, one.desk.strategy
        for nth, bar in enumerate(series):
            low, high = sorted(bar.close * (1 + sign * share) for share in (-strategy.stop, strategy.target))
            if all(low < later.low and later.high < high for later in series[nth + 1 :]):
                return bar.time + HOUR, bar.close
        raise AssertionError("the last bar has none after it")

    def _closed_trades(self, desk: DemoDesk, symbol: str) -> Iterator[tuple[int, str]]:
        today = int(self.calendar.now.timestamp()) // DAY * DAY
        begins, ends = today - desk.begun * DAY, today + DAY if desk.ended is None else today - desk.ended * DAY
        # One position in each pair: nothing is closed after what is open was entered.
        ends = min([ends, *(self._entry_of(one)[0] for one in OPEN if (one.desk, one.symbol) == (desk, symbol))])
        series = (bar for bar in self.bars[symbol] if bar.time >= begins)
        write = markets.InstantWriter()
        for nth, one in enumerate(markets.play_strategy(desk.strategy, series, HOUR)):
            if isinstance(one, GeneratedTrade) and one.exit_time <= ends:
                held = one.held
                entry = f"{symbol},{held.side},{held.quantity},{write(held.entry_time)},{held.entry_price}"
                left = f"{write(one.exit_time)},{one.exit_price},{one.fees},{one.mfe},{one.mae}"
                why = f"{held.regime},{held.reason},{EXITS[one.reason]}"
                yield one.exit_time, f'"{desk.name}",{entry},{left},{why},{symbol}-{nth}'

    def _by_hand(self, habit: DemoHabit) -> Iterator[tuple[int, str]]:
        """On the days on which it went as it usually does."""
        series, write = {bar.time: bar for bar in self.bars[habit.symbol]}, markets.InstantWriter()
        today = int(self.calendar.now.timestamp()) // DAY * DAY
        for day in range(today - MAIN.begun * DAY, today - 2 * DAY, DAY):
            begin, end = (series.get(day + (habit.hour + hours) * HOUR) for hours in (0, HELD))
            if begin is None or end is None or not (end.close / begin.close - 1) * (1 if habit.pays else -1) > 0.002:
                continue
            size = float(f"{1_000 / begin.close:.4g}")
            entry = f"{habit.symbol},long,{size},{write(begin.time + HOUR)},{begin.close}"
            left = f"{write(end.time + HOUR)},{end.close},{size * begin.close * 0.0006:.2f},,"
            name = f"by-hand-{habit.symbol}-{write(begin.time)}"
            yield end.time + HOUR, f'"{MAIN.name}",{entry},{left},{habit.regime},by hand,by hand,{name}'


# The chapter


def trading(calendar: Calendar) -> Iterator[StoryStep]:
    """What trades, and what she does about it."""
    at, market = calendar.moment, DemoMarket(calendar)
    yield StoryStep(at("-95 21:05"), partial(_begin, market=market))
    for desk in DESKS:
        yield StoryStep(at(f"-{desk.begun} 21:20"), partial(_deploy, desk=desk))
    yield StoryStep(
        at("-70 21:10"), lambda life: life.book.trading.change_deployment(FIRST.name, ended_at=life.clock.now)
    )
    yield StoryStep(at("-58 21:00"), _reword)
    for days in (27, 2):
        yield StoryStep(at(f"-{days} 21:30"), partial(_look_back, market=market))
    yield StoryStep(at("-1 21:40"), _choose)
    yield StoryStep(at("now-20m"), partial(_load, market=market))


def _begin(life: Life, market: DemoMarket) -> None:
    """Prices and events are there for everybody; skills are hers."""
    life.kb.market.load(market.bar_lines())
    life.kb.market.load_events(markets.event_lines(market.world))
    for name, (about, says) in SAYS.items():
        life.book.trading.create_skill(name, description=about, strategy=says)
        life.clock.wait(90)


def _deploy(life: Life, desk: DemoDesk) -> None:
    life.book.trading.create_deployment(
        desk.name, desk.strategy.name, account="Kraken, paper", capital=desk.capital, started_at=life.clock.now
    )


def _reword(life: Life) -> None:
    trading = life.book.trading
    trading.set_field(BREAKOUT.name, "schedule", "Every hour, at its close.")
    said = trading.skill(BREAKOUT.name).strategy or ""
    trading.set_field(BREAKOUT.name, "strategy", said.replace("out after 36 hours", "out after 36 hours at the latest"))
    trading.set_field(SCALPER.name, "chat", "Say first how many trades it made, and only then what they earned.")


def _load(life: Life, market: DemoMarket) -> None:
    """The files that the programs leave."""
    trading = life.book.trading
    trading.load("trades", market.trade_lines(life.clock.now))
    if life.clock.now > life.calendar.now - timedelta(hours=1):
        trading.load("positions", market.position_lines())


def _look_back(life: Life, market: DemoMarket) -> None:
    _load(life, market)
    life.book.trading.reflect(deployment=MAIN.name)


def _choose(life: Life) -> None:
    """What lost every time she makes her own; the least sure lesson she does not want to be told."""
    trading = life.book.trading
    found = trading.lessons(deployment=MAIN.name)
    trading.pin(next((one.id for one in found if not one.wins), found[0].id))
    life.clock.wait(40)
    trading.retire(found[-1].id)
