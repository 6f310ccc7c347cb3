"""Coming events, and how far the price moved after earlier events like them.

An event that touches a position is compared with earlier events of its kind: how far did the price of that symbol move,
from the last close before each to the last close within the impact window after it? With fewer than three such events
there is no figure, which is not zero. Each move is one look-up in an index, shared by positions of the same symbol, so
the cost does not depend on the number of bars. Only what was known and over at the instant counts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from statistics import median

from sqlalchemy import Connection

from keepbook.book.ground.limits import shown_number
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.market import bars, events
from keepbook.extensions.trading.book.market.events import Event, touches
from keepbook.extensions.trading.book.market.symbols import resolve_symbol
from keepbook.extensions.trading.book.trades import Position

LONGEST_LOOK = 72  # hours ahead
ENOUGH = 3  # earlier events of a kind, for a figure
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Exposure:
    """One open position before one event. `*_pct` are fractions; a negative `worst_move_pct` is against the position.

    `similar_events_back` counts the earlier events of the kind for the symbol that have bars. The moves are None under
    three of them, `notional_usd` is None without a close, and where the last one is `stale`: older than five of its
    periods.
    """

    event_id: str
    symbol: str
    position_side: str
    notional_usd: float | None
    similar_events_back: int
    median_abs_move_pct: float | None
    worst_move_pct: float | None
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Coming:
    """The events up to an instant, in the order of time; `your_exposure` is None where no deployment was named."""

    known_at: datetime
    until: datetime
    events: tuple[Event, ...]
    your_exposure: tuple[Exposure, ...] | None


# Rules


def clean_lookahead(hours: object) -> float:
    if isinstance(hours, bool) or not isinstance(hours, int | float) or not 1 <= hours <= LONGEST_LOOK:
        raise Invalid(
            f"lookahead_hours is a number from 1 to {LONGEST_LOOK}, not {shown_number(hours)}; events further out say "
            "little about what is open now",
            field="lookahead_hours",
        )
    return float(hours)


def exposure_of(
    event: Event, position: Position, close: float | None, moves: Sequence[float], *, stale: bool = False
) -> Exposure:
    """The exposure of one position to one event, from the price moves after earlier events like it."""
    side = 1 if position.side == "long" else -1
    notional_usd = None
    if close is not None and not stale:
        notional_usd = abs(position.quantity) * close
    median_abs_move_pct = worst_move_pct = None
    if len(moves) >= ENOUGH:
        median_abs_move_pct = median(abs(move) for move in moves)
        worst_move_pct = min(side * move for move in moves)
    return Exposure(
        event_id=event.id,
        symbol=position.symbol,
        position_side=position.side,
        notional_usd=notional_usd,
        similar_events_back=len(moves),
        median_abs_move_pct=median_abs_move_pct,
        worst_move_pct=worst_move_pct,
        stale=stale,
    )


# Queries


def upcoming_events(
    conn: Connection,
    known_at: str,
    *,
    lookahead_hours: float,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
    positions: Sequence[Position] | None = None,
    impact_minutes: int,
) -> Coming:
    """The coming events as they were known at an instant; with `positions` also what they may do to them."""
    moment = parse_stamp(known_at)
    until = moment + timedelta(hours=clean_lookahead(lookahead_hours))
    events.refuse_unknown_kinds(conn, kinds)
    expected = events.events_between(conn, known_at, stamp(until), known_at, kinds, symbols, min_importance)
    rows = None
    if positions is not None:
        rows = tuple(_rows(conn, known_at, expected, positions, impact_minutes))
    return Coming(moment, until, tuple(expected), rows)


def _rows(
    conn: Connection, known_at: str, events: Sequence[Event], positions: Sequence[Position], impact_minutes: int
) -> list[Exposure]:
    named: dict[str, str] = {}
    frames: dict[str, list[str]] = {}
    closes: dict[str, tuple[float | None, bool]] = {}
    moves: dict[tuple[str, str], list[float]] = {}
    rows = []
    for event in events:
        for position in positions:
            symbol = position.symbol
            if not touches(event, symbol):
                continue
            if symbol not in frames:
                named[symbol] = resolve_symbol(conn, symbol)
                frames[symbol] = bars.timeframes(conn, named[symbol])
                closes[symbol] = _last_close(conn, named[symbol], frames[symbol], known_at)
            if (event.kind, symbol) not in moves:
                moves[event.kind, symbol] = _moves(
                    conn, event.kind, named[symbol], frames[symbol], known_at, impact_minutes
                )
            close, stale = closes[symbol]
            rows.append(exposure_of(event, position, close, moves[event.kind, symbol], stale=stale))
    return rows


def _last_close(conn: Connection, symbol: str, frames: Sequence[str], known_at: str) -> tuple[float | None, bool]:
    """The last close that was known, or None, and whether it is stale. If several timeframes have one at the same
    instant, that of the finest."""
    found = []
    for frame in frames:
        last = bars.close_at(conn, symbol, frame, known_at, known_at)
        if last is not None:
            found.append((*last, frame))
    if not found:
        return None, False
    over, close, frame = max(found, key=itemgetter(0))
    return close, bars.is_stale(over, frame, known_at)


def _moves(
    conn: Connection, kind: str, symbol: str, frames: Sequence[str], known_at: str, impact_minutes: int
) -> list[float]:
    """How far the price moved after each earlier event of a kind, if its impact window was over."""
    window = timedelta(minutes=impact_minutes)
    try:
        before = stamp(parse_stamp(known_at) - window + _TICK)
    except OverflowError:
        return []
    times = events.earlier_event_times(conn, kind, symbol, before, known_at)
    found = (_move(conn, symbol, frames, time, stamp(parse_stamp(time) + window), known_at) for time in times)
    return [move for move in found if move is not None]


def _move(conn: Connection, symbol: str, frames: Sequence[str], begin: str, end: str, known_at: str) -> float | None:
    """The relative move from the last close by one instant to the last by another, on the finest timeframe that has
    both; None if none has."""
    for frame in frames:
        first = bars.close_at(conn, symbol, frame, begin, known_at)
        last = bars.close_at(conn, symbol, frame, end, known_at)
        if first is not None and last is not None and first[1] > 0 and last[0] > begin:
            return last[1] / first[1] - 1
    return None
