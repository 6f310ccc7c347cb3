"""The trading chapter of the demo: two skills, their deployments, three months of paper trades, and their lessons.

The hourly bars are generated, scaled to end at the prices of the desk (`prices`), and moved by events of the story. The
strategies trade on those bars. Only the positions that are open at the end are set by hand, so that the coming events
always affect something.
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
"""How many days of bars there are."""
PAIRS = ("BTC/USDT", "ETH/USDT")
DOLLARS = 1.08
"""The price of a euro in dollars."""
TAMED = 0.5
"""The exponent that scales every generated move: it becomes about half as large."""
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
    """A deployment. It begins `begun` days before the end of the story, and ends `ended` days before it, if at all."""

    name: str
    strategy: Strategy
    symbols: tuple[str, ...]
    capital: float | None
    begun: int
    ended: int | None = None


FIRST = DemoDesk(
    "Range breakout, first try", replace(BREAKOUT, threshold=0.02), PAIRS[:1], capital=None, begun=94, ended=70
)
MAIN = DemoDesk("Range breakout on Kraken, paper", BREAKOUT, PAIRS, capital=10_000.0, begun=90)
QUICK = DemoDesk("BTC scalper, paper", SCALPER, PAIRS[:1], capital=4_000.0, begun=61)
DESKS = (FIRST, MAIN, QUICK)


class DemoPosition(NamedTuple):
    """A position that is open at the end, entered at most `hours` before it."""

    desk: DemoDesk
    symbol: str
    side: str
    hours: int
    stake: float


class DemoHabit(NamedTuple):
    """Trades that she makes by hand: she buys at an hour (UTC) and sells four hours later. Only days on which that
    earned something are told if `pays`, else only days on which it lost."""

    symbol: str
    hour: int
    regime: str
    pays: bool


HABITS = (DemoHabit("BTC/USDT", 9, "chop", False), DemoHabit("ETH/USDT", 15, "trend_up", True))
"""They make lessons possible: the strategies alone trade on noise, and noise supports none."""
HELD = 4
"""Hours that a trade by hand is held."""
EXITS = {"stop": "stop", "target": "target", "time": "time limit"}
OPEN = (
    DemoPosition(MAIN, "ETH/USDT", "long", hours=19, stake=2_300.0),
    DemoPosition(MAIN, "BTC/USDT", "short", hours=31, stake=1_800.0),
)


class DemoEvent(NamedTuple):
    """A kind of event: the symbols that it affects, how far it moves prices (`jump`, as a share), and how many days ago
    the earlier ones were (`back`)."""

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
class StoryWorld(World):
    """The generator's world, with the events of the story in place of random ones."""

    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    @cached_property
    def events(self) -> Sequence[Happening]:
        return sorted(_happenings(self.now), key=lambda event: (event.time, event.id))


def world(now: datetime) -> StoryWorld:
    """The world of the story, up to the last full hour before `now`."""
    midnight = datetime.combine(now.astimezone(UTC).date(), datetime.min.time(), UTC)
    hours = int((now - midnight).total_seconds() // HOUR)
    return StoryWorld(
        seed=SEED, symbols=PAIRS, start=midnight - timedelta(days=DAYS), days=DAYS + hours / 24, minutes=60,
        outages=0.0, now=now,
    )  # fmt: skip


def _happenings(now: datetime) -> Iterator[Happening]:
    """The next event of each kind, which is within three days of `now`, and the earlier ones, at fixed hours of the
    day."""
    today = int(now.timestamp()) // DAY * DAY
    is_morning = now.timestamp() < today + 12 * HOUR
    day = today if is_morning else today + DAY
    coming = (
        (PRICES, day, 13), (EXPIRY, day + DAY, 8), (CLAIMS, day + DAY, 12), (MINUTES, day + DAY, 18),
        (UPGRADE, today + 2 * DAY, 20),
    )  # fmt: skip
    for kind, next_day, hour in coming:
        days = [next_day, *(today - days_ago * DAY for days_ago in kind.back)]
        for nth, time in enumerate(days):
            # The jumps go up and down in turn, with four different strengths.
            jump = kind.jump * (1 if nth % 2 else -1) * (0.6 + 0.35 * (nth % 4))
            at = time + hour * HOUR
            yield Happening(
                id=f"{kind.name}-{markets.iso(time)[:10]}", kind=kind.name, symbols=kind.symbols, time=at,
                importance=kind.importance, title=kind.title, known_at=at - 21 * DAY, jump=jump,
            )  # fmt: skip


def scaled_bars(calendar: Calendar, made: StoryWorld) -> dict[str, list[GeneratedBar]]:
    """The bars by pair, with smaller moves than the generated ones, and ending at the desk's own last prices."""
    last_prices = _last_closes(calendar)
    found = {}
    for pair in PAIRS:
        raw = list(markets.generate_bars(made, pair))
        end, last = last_prices[pair.partition("/")[0]] * DOLLARS, raw[-1].close
        found[pair] = [_scale_bar(bar, end, last) for bar in raw]
    return found


def _scale_bar(bar: GeneratedBar, end: float, last: float) -> GeneratedBar:
    """The bar with tamed moves, on the scale on which the generated price `last` is the price `end`."""

    def scale(price: float) -> float:
        return float(f"{end * (price / last) ** TAMED:.6g}")

    return bar._replace(open=scale(bar.open), high=scale(bar.high), low=scale(bar.low), close=scale(bar.close))


def _last_closes(calendar: Calendar) -> dict[str, float]:
    """The last close of each coin in the desk's own prices, in euros."""
    found = {}
    for line in list(prices.price_lines(calendar))[1:]:
        columns = line.split(",")
        found[columns[0].partition("/")[0]] = float(columns[-1])
    return found


# Files


@dataclass
class DemoMarket:
    """The files of one telling of the story, made when they are first needed."""

    calendar: Calendar

    @cached_property
    def world(self) -> StoryWorld:
        return world(self.calendar.now)

    @cached_property
    def bars(self) -> dict[str, list[GeneratedBar]]:
        return scaled_bars(self.calendar, self.world)

    @cached_property
    def _trades(self) -> list[tuple[int, str]]:
        """All trades: when each was closed, and its line."""
        found: list[tuple[int, str]] = []
        for desk in DESKS:
            for symbol in desk.symbols:
                found += self._closed_trades(desk, symbol)
        for habit in HABITS:
            found += self._by_hand(habit)
        return found

    def bar_lines(self) -> Iterator[str]:
        yield markets.BARS_HEADER
        write = markets.InstantWriter()
        for bar in (bar for series in self.bars.values() for bar in series):
            yield f"{bar.symbol},1h,{write(bar.time)},{bar.open},{bar.high},{bar.low},{bar.close},{bar.volume}"

    def trade_lines(self, until: datetime) -> Iterator[str]:
        """The trades that were closed by then."""
        yield markets.TRADES_HEADER
        yield from (line for time, line in self._trades if time <= until.timestamp())

    def position_lines(self) -> Iterator[str]:
        yield markets.POSITIONS_HEADER
        for one in OPEN:
            entered, price = self._entry_of(one)
            told = f"{one.symbol},{one.side},{one.stake / price:.4g},{markets.iso(entered)},{price}"
            yield f'"{one.desk.name}",{told}'

    def _entry_of(self, one: DemoPosition) -> tuple[int, float]:
        """When and at what price a position was entered: at the first close after which neither its stop nor its target
        was touched, so that it is still open."""
        series = self.bars[one.symbol][-one.hours :]
        sign, strategy = 1 if one.side == "long" else -1, one.desk.strategy
        for nth, bar in enumerate(series):
            stop, target = bar.close * (1 - sign * strategy.stop), bar.close * (1 + sign * strategy.target)
            low, high = min(stop, target), max(stop, target)
            if all(low < later.low and later.high < high for later in series[nth + 1 :]):
                return bar.time + HOUR, bar.close
        raise AssertionError("the last bar always fits, because no bar comes after it")

    def _closed_trades(self, desk: DemoDesk, symbol: str) -> Iterator[tuple[int, str]]:
        """The trades that a desk has closed in a pair, by its strategy."""
        today = int(self.calendar.now.timestamp()) // DAY * DAY
        begins = today - desk.begun * DAY
        ends = today + DAY if desk.ended is None else today - desk.ended * DAY
        for position in OPEN:
            if position.desk == desk and position.symbol == symbol:  # a desk has one position in a pair at a time
                ends = min(ends, self._entry_of(position)[0])
        series = (bar for bar in self.bars[symbol] if bar.time >= begins)
        write = markets.InstantWriter()
        for nth, one in enumerate(markets.play_strategy(desk.strategy, series, HOUR)):
            if isinstance(one, GeneratedTrade) and one.exit_time <= ends:
                held = one.held
                entry = f"{symbol},{held.side},{held.quantity},{write(held.entry_time)},{held.entry_price}"
                exit = f"{write(one.exit_time)},{one.exit_price},{one.fees},{one.mfe},{one.mae}"
                why = f"{held.regime},{held.reason},{EXITS[one.reason]}"
                yield one.exit_time, f'"{desk.name}",{entry},{exit},{why},{symbol}-{nth}'

    def _by_hand(self, habit: DemoHabit) -> Iterator[tuple[int, str]]:
        """The trades of a habit, on the days on which it paid or did not, as the habit says."""
        bars, write = {bar.time: bar for bar in self.bars[habit.symbol]}, markets.InstantWriter()
        today = int(self.calendar.now.timestamp()) // DAY * DAY
        for day in range(today - MAIN.begun * DAY, today - 2 * DAY, DAY):
            first, last = bars.get(day + habit.hour * HOUR), bars.get(day + (habit.hour + HELD) * HOUR)
            if first is None or last is None:
                continue
            gain = last.close / first.close - 1
            fits = gain > 0.002 if habit.pays else -gain > 0.002
            if not fits:
                continue
            size = float(f"{1_000 / first.close:.4g}")
            entry = f"{habit.symbol},long,{size},{write(first.time + HOUR)},{first.close}"
            exit = f"{write(last.time + HOUR)},{last.close},{size * first.close * 0.0006:.2f},,"
            name = f"by-hand-{habit.symbol}-{write(first.time)}"
            yield last.time + HOUR, f'"{MAIN.name}",{entry},{exit},{habit.regime},by hand,by hand,{name}'


# The chapter


def trading(calendar: Calendar) -> Iterator[StoryStep]:
    """The steps of this chapter."""
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
    """Load the bars and the events, which everybody shares, and create her skills."""
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
    """Load the trades up to now; in the last hour of the story also the open positions."""
    trading = life.book.trading
    trading.load("trades", market.trade_lines(life.clock.now))
    if life.clock.now > life.calendar.now - timedelta(hours=1):
        trading.load("positions", market.position_lines())


def _look_back(life: Life, market: DemoMarket) -> None:
    _load(life, market)
    life.book.trading.reflect(deployment=MAIN.name)


def _choose(life: Life) -> None:
    """Pin a lesson about trades that always lost, or else the first one; retire the last, which is the least sure."""
    trading = life.book.trading
    found = trading.lessons(deployment=MAIN.name)
    trading.pin(next((one.id for one in found if not one.wins), found[0].id))
    life.clock.wait(40)
    trading.retire(found[-1].id)
