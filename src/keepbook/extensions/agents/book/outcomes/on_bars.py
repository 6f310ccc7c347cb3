"""What bars tell of a forecast: yes, no, no with a gap, or that they cannot tell.

Only what came after the forecast was recorded counts. Once its date has passed and a later bar is there, or none can
come before it, or a week has gone by, the last bar by the date answers, unless it is older than the market's own
longest usual pause. A level was not reached where bars tell so of the whole stretch, but for usual pauses; a bar that
touched it and began before the record, or ends after the date, leaves open when it did. Pauses get a tenth more, for
half days and summer time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.extensions.agents.book import prices
from keepbook.extensions.agents.book.cards.types import BarRule
from keepbook.extensions.agents.book.prices import Bar
from keepbook.storage.database import Tx

PATIENCE = timedelta(days=7)
"""How long to wait for a bar that ends after the date."""
SLACK = 1.1


@dataclass(frozen=True, slots=True)
class BarAnswer:
    """The answer of the bars: whether it came true, and since when. `gap` is a time span (from/to) without bars, in
    which it might have come true. If there is no answer, `came` is None and `why_not` says why."""

    came: bool | None
    at: str
    gap: str | None = None
    why_not: str | None = None


@dataclass(frozen=True)
class BarQuestion:
    """One forecast's question to the bars of a symbol, from when it was recorded to when it is due."""

    tx: Tx
    rule: BarRule
    symbol: str
    level: float
    begins: str
    due_at: str
    now: str

    def answer(self) -> BarAnswer | None:
        """The answer of the bars; None while later bars may still decide it."""
        if self.rule.test.startswith("reaches"):
            for bar in self._seen:
                if self._touches(bar):
                    return BarAnswer(True, prices.bar_end(bar))
        if self.now < self.due_at:
            return None
        last = prices.latest_close(self.tx.conn, self.symbol, self.due_at)
        has_all_bars = self._goes_on or self._is_last(last) or self.now >= self._patience_ends
        if not has_all_bars:
            return None
        if last is None:
            return self._cannot_tell(f"there are no bars of {self.symbol} before its date")
        end, close, timeframe = last
        age = _between(end, self.due_at)
        is_recent = age <= _length(timeframe) or age <= self._longest_age(timeframe)
        if self.rule.test.startswith("reaches") and (is_recent or self._goes_on):
            return BarAnswer(False, self.due_at, self._first_gap(timeframe))
        if not is_recent:
            return self._cannot_tell(f"the last bar of {self.symbol} by its date ended at {end[:16]}, too long before")
        if end <= self.begins:
            return self._cannot_tell(f"{self.symbol} had its last price by the date before this was recorded")
        if self._is_up:
            return BarAnswer(close > self.level, self.due_at)
        return BarAnswer(close < self.level, self.due_at)

    def _cannot_tell(self, why: str) -> BarAnswer:
        return BarAnswer(None, self.due_at, why_not=f"the bars do not tell: {why}")

    @property
    def _is_up(self) -> bool:
        return self.rule.test.endswith("_above")

    def _touches(self, bar: Bar) -> bool:
        if self._is_up:
            return bar.high >= self.level
        return bar.low <= self.level

    @cached_property
    def _seen(self) -> list[Bar]:
        # A bar that starts in the very instant of the record does not start after it.
        begins = stamp(parse_stamp(self.begins) + timedelta(microseconds=1))
        return list(prices.following_bars(self.tx, self.symbol, begins, self.due_at, self.now))

    @cached_property
    def _goes_on(self) -> bool:
        """Whether there is a bar that ends after the date."""
        latest = prices.latest_close(self.tx.conn, self.symbol, self.now)
        return latest is not None and latest[0] > self.due_at

    def _is_last(self, last: tuple[str, float, str] | None) -> bool:
        """Whether no further bar of the last one's timeframe can end by the date."""
        return last is not None and _between(last[0], self.due_at) < _length(last[2])

    @property
    def _patience_ends(self) -> str:
        return stamp(parse_stamp(self.due_at) + PATIENCE)

    # Pauses

    def _longest_age(self, timeframe: str) -> timedelta:
        """How long ago the last bar may have ended if the market only pauses as usual."""
        return self._longest_hole(timeframe) + _length(timeframe)

    def _longest_hole(self, timeframe: str) -> timedelta:
        """How long there may be no bars if the market only pauses as usual."""
        known = self._pauses.get(timeframe)
        if known is None:
            known = prices.usual_pause(self.tx.conn, self.symbol, timeframe, self.due_at, self.now)
            self._pauses[timeframe] = known
        return SLACK * known + (SLACK - 1) * _length(timeframe)

    @cached_property
    def _pauses(self) -> dict[str, timedelta]:
        return {}

    def _first_gap(self, timeframe: str) -> str | None:
        """The first time span in which the level may have been reached without a bar that shows it; None if there is
        none."""
        told, before = self.begins, timeframe
        for bar, is_whole in self._stretch():
            begin, end = max(bar.time, self.begins), min(prices.bar_end(bar), self.due_at)
            if not is_whole and self._touches(bar):
                return f"{begin}/{end}"
            if self._is_hole(told, begin, (before, bar.timeframe)):
                return f"{told}/{begin}"
            told, before = max(told, end), bar.timeframe
        if self._is_hole(told, self.due_at, (before,)):
            return f"{told}/{self.due_at}"
        return None

    def _is_hole(self, begin: str, end: str, timeframes: tuple[str, ...]) -> bool:
        if begin >= end:
            return False
        return _between(begin, end) > max(self._longest_hole(one) for one in timeframes)

    def _stretch(self) -> Iterator[tuple[Bar, bool]]:
        """The bars from the record to the date, each with whether it is completely inside of that time."""
        first = prices.bar_across(self.tx.conn, self.symbol, self.begins, self.now)
        last = prices.bar_across(self.tx.conn, self.symbol, self.due_at, self.now)
        if first is not None:
            yield first, False
        yield from ((bar, True) for bar in self._seen)
        if last is not None and last != first:
            yield last, False


def _length(timeframe: str) -> timedelta:
    return timedelta(seconds=prices.seconds(timeframe))


def _between(begin: str, end: str) -> timedelta:
    return parse_stamp(end) - parse_stamp(begin)
