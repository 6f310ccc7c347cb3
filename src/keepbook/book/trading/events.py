"""Events that move markets, the same for everybody: rate decisions, data, listings, forks.

An event names what it touches: `BTC/USDT` that pair, `BTC` every pair of that base, `*` everything, nothing at all
nothing. `known_at` is when it was announced; an answer for an instant leaves out what was not yet known then.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, String, bindparam, delete, or_, select

from keepbook.book.ground.limits import clean_line, sought
from keepbook.book.trading import files
from keepbook.book.trading.files import Layout, Loaded, Progress, Source, Times, number, refuse_missing
from keepbook.errors import Invalid
from keepbook.storage.database import Database
from keepbook.storage.prepared import Prepared
from keepbook.storage.shelf import Kept, Row, Shelf
from keepbook.storage.tables import event_symbols, market_events

COLUMNS = ("id", "kind", "time", "importance", "title", "symbols", "known_at")
LAYOUT = Layout("events", COLUMNS, needed=("id", "kind", "time", "importance", "title"))
EVERYTHING = "*"
_SHELF = Shelf(market_events)
_LINKS = Shelf(event_symbols)


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


def names_of(symbol: str) -> tuple[str, ...]:
    """The symbol, and what else an event may call it: `BTC/USDT:USDT` is a `BTC/USDT` and a `BTC`."""
    return tuple(dict.fromkeys((symbol, symbol.partition(":")[0], symbol.partition("/")[0])))


def touches(event: Event, symbol: str) -> bool:
    """Whether a position in a symbol is one that the event may move."""
    return EVERYTHING in event.symbols or not set(names_of(symbol)).isdisjoint(event.symbols)


def _asked_for(event: Event, kinds: Collection[str], symbols: Collection[str]) -> bool:
    """A person who asks about BTC means every pair of it."""
    if kinds and event.kind.casefold() not in {kind.casefold() for kind in kinds}:
        return False
    if not symbols:
        return True
    touched = {symbol.upper() for symbol in event.symbols}
    bases = {symbol.partition("/")[0] for symbol in touched}
    asked = [symbol.strip().upper() for symbol in symbols]
    return EVERYTHING in touched or any(symbol in bases or not touched.isdisjoint(names_of(symbol)) for symbol in asked)


def to_event(row: Row, times: Times) -> Row:
    """A row of a file as the columns hold it; `Invalid` says what is wrong with it."""
    refuse_missing(LAYOUT, row)
    id, kind, time, importance, title, symbols, known_at = row
    share = number(importance, "importance", low=0)
    if share > 1:
        raise Invalid(f"importance is a number from 0 to 1, not {share:g}", field="importance")
    touched = symbols if isinstance(symbols, list | tuple) else str(symbols or "").split(";")
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


# Operations


def load(database: Database, source: Source, *, progress: Progress | None = None) -> Loaded:
    """Keep the events of a file; one that comes with other figures is taken over."""
    times = Times()

    def keep_rows(rows: list[Row]) -> Kept:
        with database.unscoped(writes=True) as conn:
            return keep(conn, rows)

    return files.load(source, LAYOUT, {}, lambda row: to_event(row, times), keep_rows, progress).loaded()


def keep(conn: Connection, rows: Sequence[Row]) -> Kept:
    unique = {row[0]: row for row in rows}
    before, after = set(_links(_known(conn, list(unique)))), list(_links(unique.values()))
    kept = _SHELF.keep(conn, list(unique.values()))
    if gone := before.difference(after):
        conn.execute(_UNLINK, [dict(zip(_LINK, link, strict=True)) for link in sorted(gone)])
    _LINKS.keep(conn, after)
    return kept


def _links(rows: Iterable[Any]) -> Iterator[tuple[str, ...]]:
    """Symbol, kind, time and id, for each symbol that an event touches."""
    for id, kind, time, _, _, symbols, _ in rows:
        yield from ((symbol, kind, time, id) for symbol in symbols.split(";") if symbol)


def _known(conn: Connection, ids: Sequence[str]) -> list[Any]:
    found: list[Any] = []
    for start in range(0, len(ids), 500):
        query = select(market_events).where(market_events.c.id.in_(ids[start : start + 500]))
        found += conn.execute(query).all()
    return found


# Queries


def get(conn: Connection, id: str) -> Event | None:
    row = conn.execute(select(market_events).where(market_events.c.id == sought(id))).first()
    return None if row is None else _to_event(row)


def coming(
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
    rows = conn.execute(query.order_by(market_events.c.time, market_events.c.id))
    return [event for event in map(_to_event, rows) if _asked_for(event, kinds, symbols)]


def earlier(conn: Connection, kind: str, symbol: str, before: str, known_at: str) -> list[str]:
    """When events of a kind touched a symbol before an instant, as far as they were known, in the order of time."""
    names = (*names_of(symbol), EVERYTHING)
    given = dict(zip(_NAMES, names + names[-1:] * (len(_NAMES) - len(names)), strict=True))
    told = {name: sought(text) for name, text in given.items()} | {"kind": sought(kind)}
    rows = _EARLIER.tuples(conn, told | {"before": before, "known_at": known_at})
    return [time for time, _ in rows]


def _to_event(row: Any) -> Event:
    symbols = tuple(filter(None, row.symbols.split(";")))
    return Event(row.id, row.kind, row.time, row.importance, row.title, symbols, row.known_at)


_LINK = ("the_symbol", "the_kind", "the_time", "the_event_id")
_UNLINK = delete(event_symbols).where(*(event_symbols.c[name[4:]] == bindparam(name) for name in _LINK))
_NAMES = ("name_1", "name_2", "name_3", "name_4")
_EARLIER = Prepared(
    select(event_symbols.c.time, event_symbols.c.event_id)
    .join(market_events, market_events.c.id == event_symbols.c.event_id)
    .where(event_symbols.c.symbol.in_([bindparam(name, type_=String) for name in _NAMES]))
    .where(event_symbols.c.kind == bindparam("kind"), event_symbols.c.time < bindparam("before"))
    .where(or_(market_events.c.known_at.is_(None), market_events.c.known_at <= bindparam("known_at")))
    .distinct()
    .order_by(event_symbols.c.time, event_symbols.c.event_id)
)
