"""Tables of prices and events, which everybody shares."""

from typing import Any

from sqlalchemy import CheckConstraint, Column, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import Number, Word, declare_table, one_of, partial_index

# What everybody shares comes in batches, some thousands of rows of a file at a time. Each is a link in the chain of its
# source: one digest over the rows that came with it and those that went. `settled`: decisions were folded anew for it.
batches: Table = declare_table(
    "batches",
    Column("nth", Integer, nullable=False),
    Column("source", Word, CheckConstraint("source <> ''"), nullable=False),
    Column("link", Integer, nullable=False),
    Column("what", Word, one_of("what", "bars", "events"), nullable=False),
    Column("at", Word, nullable=False),
    Column("came", Integer, nullable=False),
    Column("went", Integer, nullable=False),
    Column("spans", Word, nullable=False),
    Column("digest", Word, nullable=False),
    Column("previous", Word, nullable=False),
    Column("hash", Word, nullable=False),
    Column("settled", Integer, CheckConstraint("settled IN (0, 1)"), nullable=False),
    PrimaryKeyConstraint("nth"),
    may_change=("settled",),
)
Index("batches_by_source", batches.c.source, batches.c.link, unique=True)
partial_index("batches_to_settle", batches.c.nth, where=batches.c.settled == 0)


def _bar_columns() -> list[Column[Any]]:
    return [
        Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
        Column("timeframe", Word, nullable=False),
        Column("time", Word, nullable=False),
        Column("open", Number, nullable=False),
        Column("high", Number, nullable=False),
        Column("low", Number, nullable=False),
        Column("close", Number, nullable=False),
        Column("volume", Number),
        Column("batch", Integer, nullable=False),
    ]


# Prices, the same for everybody: nothing in here is anybody's. `time` is when a bar begins.
bars: Table = declare_table(
    "bars",
    *_bar_columns(),
    PrimaryKeyConstraint("symbol", "timeframe", "time"),
    CheckConstraint("low <= open AND low <= close AND high >= open AND high >= close", name="within_its_range"),
    may_go=True,
)

# Bars as they were before the batch `went` corrected or removed them: what was known until then.
former_bars: Table = declare_table(
    "former_bars",
    *_bar_columns(),
    Column("went", Integer, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("symbol", "timeframe", "time", "went"),
    may_change=(),
)


def _event_columns() -> list[Column[Any]]:
    return [
        Column("id", Word, CheckConstraint("id <> ''"), nullable=False),
        Column("kind", Word, CheckConstraint("kind <> ''"), nullable=False),
        Column("time", Word, nullable=False),
        Column("importance", Number, CheckConstraint("importance BETWEEN 0 AND 1"), nullable=False),
        Column("title", Word, nullable=False),
        Column("symbols", Word, nullable=False),
        Column("known_at", Word),
        Column("batch", Integer, nullable=False),
    ]


# What moves prices, and when: as shared as they are. `symbols` is what the event touches, with `;` between; `known_at`
# is when it was announced, none if it always was known.
market_events: Table = declare_table("market_events", *_event_columns(), PrimaryKeyConstraint("id"))
Index("market_events_by_time", market_events.c.time)

# Events as they were before the batch `went` corrected them.
former_events: Table = declare_table(
    "former_events",
    *_event_columns(),
    Column("went", Integer, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("id", "went"),
    may_change=(),
)

# The same events by what they touch, so that earlier ones of a kind are found without a look at the others.
event_symbols: Table = declare_table(
    "event_symbols",
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("kind", Word, nullable=False),
    Column("time", Word, nullable=False),
    Column("event_id", Word, nullable=False),
    PrimaryKeyConstraint("symbol", "kind", "time", "event_id"),
    may_change=(),
    may_go=True,
)
