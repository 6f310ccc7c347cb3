"""The shared prices and events of an installation: `kb.market`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.when import Moment, read_moment, stamp
from keepbook.book.ledger import anchors
from keepbook.book.ledger.anchors import Anchor
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS, ReadingLimits
from keepbook.errors import NotFound
from keepbook.extensions.trading.book.files import Progress, Source
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.market import bars, batches, events
from keepbook.extensions.trading.book.market.bars import Bar
from keepbook.extensions.trading.book.market.events import Event
from keepbook.storage.database import Database


@dataclass(frozen=True, slots=True)
class MarketVerification:
    """Whether bars and events stand as their files brought them; `why` is a sentence for each that does not."""

    ok: bool
    sources: int
    batches: int
    why: tuple[str, ...]


@explain_arguments
class Market:
    def __init__(self, database: Database, limits: ReadingLimits = USUAL_LIMITS) -> None:
        self._database = database
        self._limits = limits

    def load(
        self,
        source: Source,
        *,
        symbol: str | None = None,
        timeframe: str | None = None,
        progress: Progress | None = None,
    ) -> LoadedFile:
        """Bars from a file: CSV, JSON Lines, Parquet or ccxt's OHLCV, which needs the two names beside it."""
        return bars.load_bars(
            self._database, source, symbol=symbol, timeframe=timeframe, progress=progress, limits=self._limits
        )

    def remove(self, symbol: str, timeframe: str, *, since: Moment = None, until: Moment = None) -> int:
        """Remove wrong bars, from one instant up to another; returns how many. They stay readable as of before, and
        decisions are followed anew without them."""
        read = partial(read_moment, moment=self._database.clock(), zone="UTC")
        within = {"since": read(since, field="since") or "", "until": read(until, field="until") or "9"}
        names = clean_line(symbol, "symbol", 1, 40), clean_line(timeframe, "timeframe", 1, 10)
        with self._database.unscoped(writes=True, write_lock=batches.MARKET) as conn:
            removed = bars.remove_bars(conn, *names, source=batches.SENT, now=stamp(self._database.clock()), **within)
        if not removed:
            raise NotFound(f"there are no bars of {symbol} {timeframe} there", field="symbol")
        return removed

    def load_events(self, source: Source, *, progress: Progress | None = None) -> LoadedFile:
        """Events from a file: CSV, JSON Lines or Parquet."""
        return events.load_events(self._database, source, progress=progress, limits=self._limits)

    def event(self, id: str) -> Event | None:
        with self._database.unscoped() as conn:
            return events.get_event(conn, id)

    def recent(self, symbol: str, *, timeframe: str | None = None, limit: int = 60) -> Sequence[Bar]:
        """The last complete bars, oldest first; of the finest timeframe there is, if none is named."""
        with self._database.unscoped() as conn:
            return bars.recent(conn, symbol, stamp(self._database.clock()), timeframe=timeframe, limit=limit)

    def symbols(self) -> Sequence[str]:
        """The symbols that have bars."""
        with self._database.unscoped() as conn:
            return bars.symbols(conn)

    def verify(self, anchor: str | Path | None = None) -> MarketVerification:
        """Verify every bar and event against the chain of the file that brought it. `anchor` is a file with the newest
        hash of each chain: it is compared, then extended."""
        if anchor is not None:
            noted = anchors.read_anchors(Path(anchor))
        else:
            noted = []
        with self._database.unscoped() as conn:
            why = [*batches.find_breaks(conn, (bars.GOODS, events.GOODS)), *events.strays(conn)]
            if not why:
                why += _unlike_anchors(conn, noted)
            heads = batches.batch_heads(conn)
        if anchor is not None and not why:
            for source, (link, hash) in heads.items():
                new = anchors.Anchor(None, link, hash, stamp(self._database.clock()), source)
                anchors.extend(Path(anchor), noted, new)
        return MarketVerification(not why, len(heads), sum(link for link, _ in heads.values()), tuple(why))


def _unlike_anchors(conn: Connection, noted: Sequence[Anchor]) -> Iterator[str]:
    for one in noted:
        if one.source is None:
            continue
        found = batches.hash_at(conn, one.source, one.link)
        if found is None:
            yield f"the end of the chain of {one.source} was cut off: on {one.at} it went on to batch {one.link}"
        elif found != one.hash:
            yield f"the chain of {one.source} was rewritten: on {one.at} its batch {one.link} had another hash"
