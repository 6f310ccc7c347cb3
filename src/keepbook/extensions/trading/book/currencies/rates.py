"""Rates between currencies, from bars of the pair in either order; never a guess.

A rate names the bars it was found by and when they ended, so that a page can show this with a converted figure. Amounts
in different currencies are never added up; if there is no rate, a sentence says so.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.errors import Conflict
from keepbook.extensions.trading.book.market import bars

PEGGED = frozenset(("USD", "USDT", "USDC", "BUSD", "FDUSD", "TUSD", "DAI"))
"""Names of dollars, which count as equal if there are no bars between them."""
OLDEST = timedelta(days=7)
"""An older close does not count as a rate."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How much of one currency there is for one of another: by a bar of `symbol` that ended at `at`."""

    value: float
    symbol: str
    at: str


def same_money(one: str, other: str) -> bool:
    """Whether two currencies are the same money, so that amounts in both may be in one deployment."""
    return one == other or {one, other} <= PEGGED


def find_rate(conn: Connection, currency: str, into: str, at: str, known_at: str | None = None) -> Rate | None:
    """The rate at an instant: by the newest close of the pair, in either order, that is not older than a week; None if
    there is none."""
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
    """How amounts of one currency were converted into another: by closes of `symbol`; `first` and `last` are the times
    of the first and the last of them."""

    currency: str
    into: str
    symbol: str
    first: str
    last: str


class Converter:
    """Finds rates into one currency, and notes which bars were used."""

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
        """The rate at an instant; raises `Conflict` if there is none."""
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
