"""What one currency costs in another: by bars of the pair, either way round, and never by a guess.

A rate says by which bars it was found and when these were over, so that whoever is shown a converted figure can be
told. Amounts in different currencies are not added up; where there is no rate, one sentence says so.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.errors import Conflict
from keepbook.extensions.trading.book.market import bars

PEGGED = frozenset(("USD", "USDT", "USDC", "BUSD", "FDUSD", "TUSD", "DAI"))
"""Dollars by other names: a fee in one is counted as one of the others where no bars say better."""
OLDEST = timedelta(days=7)
"""A close from before that is no price of this day."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of one currency there are for one of another: by the bars of `symbol`, which were over at `at`."""

    value: float
    symbol: str
    at: str


def same_money(one: str, other: str) -> bool:
    """Whether amounts in these two may stand in one deployment."""
    return one == other or {one, other} <= PEGGED


def find_rate(conn: Connection, currency: str, into: str, at: str, known_at: str | None = None) -> Rate | None:
    """The rate at an instant: by the newest close of the pair, either way round, that is not older than a week."""
    found: list[Rate] = []
    soonest = stamp(parse_stamp(at) - OLDEST)
    for symbol, way in ((f"{currency}/{into}", 1), (f"{into}/{currency}", -1)):
        for timeframe in bars.timeframes(conn, symbol):
            last = bars.close_at(conn, symbol, timeframe, at, known_at)
            if last is not None and last[1] > 0 and last[0] >= soonest:
                found.append(Rate(float(last[1] ** way), symbol, last[0]))
    if found:
        return max(found, key=lambda one: one.at)
    return None


@dataclass(frozen=True, slots=True)
class Conversion:
    """How amounts of one currency were counted in another: by the closes of `symbol`, the first and the last of which
    were over at these instants."""

    currency: str
    into: str
    symbol: str
    first: str
    last: str


class Converter:
    """Converts into one currency, and notes by which bars."""

    def __init__(self, conn: Connection, into: str, known_at: str) -> None:
        self.into = into
        self._conn, self._known_at = conn, known_at
        self._used: dict[tuple[str, str], list[str]] = {}

    def rate_if_any(self, currency: str, at: str) -> float | None:
        if currency == self.into:
            return 1.0
        found = find_rate(self._conn, currency, self.into, at, self._known_at)
        if found is None:
            return None
        self._used.setdefault((currency, found.symbol), []).append(found.at)
        return found.value

    def rate(self, currency: str, at: str) -> float:
        """The rate at an instant; where there is none, nothing is converted."""
        found = self.rate_if_any(currency, at)
        if found is None:
            raise Conflict(
                f"there is no rate from {currency} to {self.into} for {at[:10]}: load bars of {currency}/{self.into}, "
                "or ask for each currency by itself", code="no_rate",
            )  # fmt: skip
        return found

    @property
    def used(self) -> tuple[Conversion, ...]:
        return tuple(
            Conversion(currency, self.into, symbol, min(times), max(times))
            for (currency, symbol), times in sorted(self._used.items())
        )
