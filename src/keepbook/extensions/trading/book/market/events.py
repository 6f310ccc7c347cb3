"""Events that move markets, the same for everybody: rate decisions, data, listings, forks.

An event names the symbols it touches: `BTC/USDT` is that pair, `BTC` every pair of that base, `*` everything; without
symbols it touches nothing. `known_at` is when it was announced. As of an earlier instant, events that were not yet
known are left out, and those corrected since are as they were.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, String, bindparam, delete, or_, select

from keepbook.book.ground.limits import clean_line, sought
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.batch import BatchTables
from keepbook.book.ledger.ledger import canonical_json
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS, ReadingLimits
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import files
from keepbook.extensions.trading.book.files import Layout, Progress, Source, Times, number, refuse_missing
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.market import batches
from keepbook.extensions.trading.book.market.batches import MARKET, Goods
from keepbook.extensions.trading.book.market.symbols import market_letters, split_currency
from keepbook.extensions.trading.market_tables import event_symbols, former_events, market_events
from keepbook.storage.bulk_rows import BulkRows, KeptCounts, RowValues
from keepbook.storage.database import Database
from keepbook.storage.prepared_statement import PreparedStatement

MOST_KINDS = 40
"""How many kinds an error lists."""
COLUMNS = ("id", "kind", "time", "importance", "title", "symbols", "known_at")
LAYOUT = Layout("events", COLUMNS, needed=("id", "kind", "time", "importance", "title"))
EVERYTHING = "*"
_LINKS = BulkRows(event_symbols)


class Event(NamedTuple):
    """What happens at `time`, how much it matters (0 to 1), and what it touches."""

    id: str
    kind: str
    time: str
    importance: float
    title: str
    symbols: tuple[str, ...]
    known_at: str | None = None


# Rules


def event_names_of(symbol: str) -> tuple[str, ...]:
    """The names under which an event may touch a symbol, without signs: of `BTC/USDT:USDT` these are `BTCUSDT` and
    `BTC`, and of an option also its stock, with which its name begins."""
    base = split_currency(symbol)[0]
    return tuple(dict.fromkeys(map(market_letters, (symbol, base, base.partition(" ")[0]))))


def touches(event: Event, symbol: str) -> bool:
    """Whether the event may move a position in this symbol."""
    return EVERYTHING in event.symbols or not _letters_of(event).isdisjoint(event_names_of(symbol))


def _letters_of(event: Event) -> set[str]:
    return {market_letters(symbol) for symbol in event.symbols}


def _asked_for(event: Event, kinds: Collection[str], symbols: Collection[str]) -> bool:
    """Whether an event is of these kinds and touches these symbols. A base such as BTC stands for all its pairs."""
    if kinds and event.kind.casefold() not in {kind.casefold() for kind in kinds}:
        return False
    if not symbols:
        return True
    touched, bases = _letters_of(event), {split_currency(symbol)[0] for symbol in event.symbols}
    return EVERYTHING in event.symbols or any(
        market_letters(symbol) in bases or not touched.isdisjoint(event_names_of(symbol)) for symbol in symbols
    )


def to_event(row: RowValues, times: Times) -> RowValues:
    """A row of a file in the form of the columns; raises `Invalid` if it is wrong."""
    refuse_missing(LAYOUT, row)
    id, kind, time, importance, title, symbols, known_at = row
    share = number(importance, "importance", low=0)
    if share > 1:
        raise Invalid(f"importance is a number from 0 to 1, not {share:g}", field="importance")
    if isinstance(symbols, list | tuple):
        touched = symbols
    else:
        touched = str(symbols or "").split(";")
    named = [clean_line(str(symbol), "symbols", 1, 40) for symbol in touched if str(symbol).strip()]
    return (
        clean_line(str(id), "id", 1, 200),
        clean_line(str(kind), "kind", 1, 80),
        times.read(time),
        share,
        clean_line(str(title), "title", 1, 500),
        ";".join(dict.fromkeys(named)),
        None if known_at in (None, "") else times.read(known_at, "known_at"),
    )


def _event_bytes(rows: Sequence[RowValues]) -> tuple[bytes, bytes]:
    """Many events as bytes, for their seal."""
    return "".join([canonical_json(row[:7]) + "\n" for row in rows]).encode(), b""


# Operations


def load_events(
    database: Database, source: Source, *, progress: Progress | None = None, limits: ReadingLimits = USUAL_LIMITS
) -> LoadedFile:
    """Load the events of a file; an event with other figures is updated."""
    times = Times()

    named = batches.source_name(source)

    def keep_rows(rows: list[RowValues]) -> KeptCounts:
        with database.unscoped(writes=True, write_lock=MARKET) as conn:
            return keep_events(conn, rows, source=named, now=stamp(database.clock()))

    return files.load_file(
        source, LAYOUT, {}, lambda row: to_event(row, times), keep_rows, progress, limits
    ).to_loaded()


def keep_events(conn: Connection, rows: Sequence[RowValues], *, source: str, now: str) -> KeptCounts:
    unique = {row[0]: row for row in rows}
    before, after = set(_links(events_in_place_of(conn, list(unique.values())))), list(_links(unique.values()))
    kept = batches.keep_rows(conn, GOODS, source, now, list(unique.values()))
    gone = before.difference(after)
    if gone:
        conn.execute(_UNLINK, [dict(zip(_LINK, link, strict=True)) for link in sorted(gone)])
    _LINKS.add(conn, after)
    return kept


def _links(rows: Iterable[Any]) -> Iterator[tuple[str, ...]]:
    """A row of the index for each symbol that an event touches: its letters, and the event's kind, time and id."""
    for id, kind, time, _, _, symbols, *_ in rows:
        named = dict.fromkeys(market_letters(symbol) for symbol in symbols.split(";") if symbol)
        yield from ((symbol, kind, time, id) for symbol in named)


def events_in_place_of(conn: Connection, rows: Sequence[RowValues]) -> list[RowValues]:
    """The stored events with the same keys as these."""
    ids, found = [row[0] for row in rows], list[RowValues]()
    for start in range(0, len(ids), 500):
        query = select(market_events).where(market_events.c.id.in_(ids[start : start + 500]))
        found += map(tuple, conn.execute(query))
    return found


# Queries


def get_event(conn: Connection, id: str) -> Event | None:
    row = conn.execute(select(market_events).where(market_events.c.id == sought(id))).first()
    if row is None:
        return None
    return _to_event(row)


def refuse_unknown_kinds(conn: Connection, kinds: Collection[str]) -> None:
    """Raise `Invalid`, with the kinds there are, if none of these is one; where there are no events, nothing is
    known."""
    if not kinds:
        return
    there = sorted(conn.execute(select(market_events.c.kind).distinct()).scalars())
    known = {kind.casefold() for kind in there}
    if there and not any(kind.casefold() in known for kind in kinds):
        asked, told = ", ".join(kind[:40] for kind in kinds), ", ".join(there[:MOST_KINDS])
        raise Invalid(f"there is no event of the kind {asked[:200]!r}; the kinds are {told}", field="types")


def events_between(
    conn: Connection,
    after: str,
    until: str,
    known_at: str,
    kinds: Collection[str] = (),
    symbols: Collection[str] = (),
    min_importance: float = 0.0,
) -> list[Event]:
    """Events after one instant and until another, as far as they were known, in the order of time."""
    query = select(market_events).where(market_events.c.time > after, market_events.c.time <= until)
    query = query.where(or_(market_events.c.known_at.is_(None), market_events.c.known_at <= known_at))
    query = query.where(market_events.c.importance >= min_importance)
    found = [_to_event(row) for row in conn.execute(query)]
    former = _former(conn, known_at)
    if former:
        found = [event for event in found if event.id not in former]
        found += [
            event
            for event in former.values()
            if after < event.time <= until and event.importance >= min_importance and (event.known_at or "") <= known_at
        ]
    found.sort(key=lambda event: (event.time, event.id))
    return [event for event in found if _asked_for(event, kinds, symbols)]


def earlier_event_times(conn: Connection, kind: str, symbol: str, before: str, known_at: str) -> list[str]:
    """When events of a kind touched a symbol before an instant, as far as they were known, in the order of time."""
    names = (*event_names_of(symbol), EVERYTHING)
    given = dict(zip(_NAMES, names + names[-1:] * (len(_NAMES) - len(names)), strict=True))
    told = {name: sought(text) for name, text in given.items()} | {"kind": sought(kind)}
    rows = [(time, id) for time, id in _EARLIER.tuples(conn, told | {"before": before, "known_at": known_at})]
    former = _former(conn, known_at)
    if former:
        rows = [(time, id) for time, id in rows if id not in former]
        rows += [
            (one.time, one.id)
            for one in former.values()
            if one.kind == kind and one.time < before and (one.known_at or "") <= known_at and touches(one, symbol)
        ]
    return [time for time, _ in sorted(rows)]


def _former(conn: Connection, known_at: str) -> dict[str, Event]:
    """The events that were corrected after an instant, as they stood at it."""
    return {row.id: _to_event(row) for row in _FORMER.rows(conn, {"known_at": known_at})}


def strays(conn: Connection) -> Iterator[str]:
    """A sentence if the index by symbol differs from the events."""
    told = set(_links(conn.execute(select(market_events))))
    if told != {tuple(row) for row in conn.execute(select(event_symbols))}:
        yield "events by symbol are not what the events say: rows were added, altered or removed by hand"


def _to_event(row: Any) -> Event:
    symbols = tuple(filter(None, row.symbols.split(";")))
    return Event(row.id, row.kind, row.time, row.importance, row.title, symbols, row.known_at)


GOODS = Goods(
    "events",
    BatchTables(market_events, former_events, _event_bytes),
    events_in_place_of,
    lambda _: (),
    BulkRows(market_events),
)
_LINK = ("the_symbol", "the_kind", "the_time", "the_event_id")
_UNLINK = delete(event_symbols).where(*(event_symbols.c[name[4:]] == bindparam(name) for name in _LINK))
_FORMER = PreparedStatement(
    select(former_events).where(former_events.c.until > bindparam("known_at")).order_by(former_events.c.until.desc())
)
_NAMES = ("name_1", "name_2", "name_3", "name_4")
_EARLIER = PreparedStatement(
    select(event_symbols.c.time, event_symbols.c.event_id)
    .join(market_events, market_events.c.id == event_symbols.c.event_id)
    .where(event_symbols.c.symbol.in_([bindparam(name, type_=String) for name in _NAMES]))
    .where(event_symbols.c.kind == bindparam("kind"), event_symbols.c.time < bindparam("before"))
    .where(or_(market_events.c.known_at.is_(None), market_events.c.known_at <= bindparam("known_at")))
    .distinct()
    .order_by(event_symbols.c.time, event_symbols.c.event_id)
)
