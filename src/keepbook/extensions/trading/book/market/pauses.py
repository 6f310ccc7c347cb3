"""How long a market usually pauses between two bars: over the weekend for a stock, not at all for a coin.

It is told from the symbol's own bars of one timeframe around an instant. A pause is usual if there were three as long,
and one in every quarter: an outage is none. As a history may be short, a pause over the weekend counts from the first
one on, where no weekend had bars. Few bars show no pause: then the next one is expected right after the last.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil

from sqlalchemy import Connection, select

from keepbook.book.ground.limits import sought
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.extensions.trading.book.market.bars import seconds
from keepbook.extensions.trading.market_tables import bars

BEFORE, AFTER = timedelta(days=400), timedelta(days=35)
MOST_BEFORE, MOST_AFTER = 10_000, 1000
"""How many bars are looked at before and after, within `BEFORE` and `AFTER`."""
TIMES_SEEN = 3
SEEN_EVERY = timedelta(days=90)
DAY = timedelta(days=1)
OF_A_WEEKEND = timedelta(hours=26)
"""A pause that covers at least this much of Saturday and Sunday (UTC) is a weekend; one missing daily bar is less."""
LONGEST_WEEKEND, HOLIDAY = timedelta(days=4), timedelta(hours=25)
"""The longest usual pauses: a weekend with a Friday or Monday off, and a day, each with a change of clocks."""

Pause = tuple[datetime, datetime]


def usual_pause(conn: Connection, symbol: str, timeframe: str, around: str, now: str) -> timedelta:
    """The longest time that usually lies between the end of a bar and the beginning of the next."""
    begun = [parse_stamp(time) for time in _times(conn, symbol, timeframe, around, now)]
    if len(begun) < 2:
        return timedelta()
    length = timedelta(seconds=seconds(timeframe))
    pauses = [(before + length, after) for before, after in pairwise(begun) if after > before + length]
    return max(_recurring(pauses, begun[-1] - begun[0]), _over_weekends(pauses, begun[0], begun[-1]))


def _recurring(pauses: Sequence[Pause], covered: timedelta) -> timedelta:
    """The longest that came often enough."""
    often = max(TIMES_SEEN, ceil(covered / SEEN_EVERY))
    lengths = sorted((end - begin for begin, end in pauses), reverse=True)
    if len(lengths) >= often:
        return lengths[often - 1]
    return timedelta()


def _over_weekends(pauses: Sequence[Pause], first: datetime, last: datetime) -> timedelta:
    """The longest over a weekend, if there were weekends and none had bars; a holiday may lie beside it."""
    found = []
    saturday = _saturday_after(first)
    while saturday + 2 * DAY <= last:
        closed = [end - begin for begin, end in pauses if _shared((begin, end), saturday) >= OF_A_WEEKEND]
        if not closed:
            return timedelta()
        found += [length for length in closed if length <= LONGEST_WEEKEND]
        saturday += 7 * DAY
    return max((length for length in found if length <= min(found) + HOLIDAY), default=timedelta())


def _saturday_after(moment: datetime) -> datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=(5 - midnight.weekday()) % 7)


def _shared(pause: Pause, saturday: datetime) -> timedelta:
    """How much of a weekend lies in a pause."""
    return min(pause[1], saturday + 2 * DAY) - max(pause[0], saturday)


def _times(conn: Connection, symbol: str, timeframe: str, around: str, now: str) -> list[str]:
    """When the complete bars around an instant begin, in order."""
    middle, length = parse_stamp(around), timedelta(seconds=seconds(timeframe))
    until = stamp(min(middle + AFTER, parse_stamp(now) - length))
    here = select(bars.c.time).where(bars.c.symbol == sought(symbol), bars.c.timeframe == sought(timeframe))
    before = here.where(bars.c.time < min(around, until), bars.c.time >= stamp(middle - BEFORE))
    after = here.where(bars.c.time >= around, bars.c.time <= until)
    earlier = conn.execute(before.order_by(bars.c.time.desc()).limit(MOST_BEFORE)).scalars()
    later = conn.execute(after.order_by(bars.c.time).limit(MOST_AFTER)).scalars()
    return [*reversed(list(earlier)), *later]
