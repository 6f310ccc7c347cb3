"""Files of trades and positions in our own columns: loaded as a stream, recorded as one load, and taken back as one.

Rows are stored some thousands at a time, each part in a transaction of its own; what came in before a failure stays,
and is a load too. The n-th of equal rows is the n-th trade. A row that looks like the correction of a trade that is
there is offered (`corrections`), never done unasked. A trade whose symbol names another currency than its deployment
counts in is refused: amounts in different currencies are not added up.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import add
from typing import Any

from keepbook.book.ground.idempotency import Keyed, answered, heed_answer
from keepbook.book.ground.in_pieces import Gaps
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.upkeep.reading_apart import limits_in
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import days, files, former, skills
from keepbook.extensions.trading.book.currencies import rates
from keepbook.extensions.trading.book.files import Progress, Source, TextReader, Times
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.places import other_currency
from keepbook.extensions.trading.book.imports.take_back import LoadTrace, make_former
from keepbook.extensions.trading.book.loading import corrections
from keepbook.extensions.trading.book.loading.corrections import ADD, OFFER, TAKE, Twin
from keepbook.extensions.trading.book.loading.loaded import TOLD, LoadedFile, LoadTally
from keepbook.extensions.trading.book.market.symbols import CURRENCIES
from keepbook.extensions.trading.book.skills import Deployment
from keepbook.extensions.trading.book.trades import (
    POSITIONS,
    TRADES,
    close_others,
    keep_positions,
    keep_trades,
    named_deployments,
    row_to_position,
    row_to_trade,
)
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.bulk_rows import KeptCounts, RowValues
from keepbook.storage.database import Tx

ID = TRADES.columns.index("id")
OWN_COLUMNS = "Trades, own columns"
KEPT_AT_ONCE = 5000
"""How many trades of a file are stored in one transaction."""


class TradeFileLoad:
    """One file of trades on its way in."""

    def __init__(self, book: OpenBook, mode: str) -> None:
        self.book: OpenBook = book
        self.mode: str = corrections.clean_mode(mode)
        self.trace: LoadTrace = LoadTrace()
        self.tally: LoadTally = LoadTally()
        self._gaps = Gaps()
        self._times, self._words = Times(), TextReader()
        self._find = named_deployments(book)
        self._deployments: dict[str, Deployment] = {}
        self._checked: dict[tuple[str, str], tuple[str, bool]] = {}
        """By deployment and symbol: why they do not fit, and whether there were trades before this load."""
        self._without_id: dict[RowValues, int] = {}
        """The rows of this part that have no id, by their key, with their place in the file."""
        self._counted: tuple[dict[str, int], dict[str, int]] = ({}, {})
        """How often each key without an id came, in this part and in the one before."""
        self._waiting: dict[RowValues, tuple[RowValues, int, Twin]] = {}
        """Rows that may be corrections, by the key of the trade that is there."""

    def to_row(self, told: RowValues, place: int) -> RowValues:
        row = row_to_trade(self.book.owner, told, self._times, self._words, self._find)
        reason, is_old = self._checked.get((row[1], row[4])) or self._check(row[1], row[4])
        if reason:
            raise Invalid(reason, field="symbol")
        if told[ID] not in (None, ""):
            return row
        now, before = self._counted
        nth = now[row[3]] = now.get(row[3], before.get(row[3], 0)) + 1
        if nth > 1:
            row = (*row[:3], f"{row[3]}#{nth}", *row[4:])
        if is_old:
            self._without_id[row[: former.KEY]] = place
        return row

    def _check(self, place: str, symbol: str) -> tuple[str, bool]:
        with self.book.reading() as (tx, _, _):
            if place not in self._deployments:
                self._deployments[place] = skills.find_deployment(tx, place)
            is_old = self.trace.had_trades(tx, place)
        whose, quote = self._deployments[place], values.split_symbol(symbol)[1]
        apart = quote in CURRENCIES and not rates.same_money(whose.currency, quote)
        found = (other_currency(symbol, quote, whose) if apart else "", is_old)
        self._checked[place, symbol] = found
        return found

    def keep(self, rows: list[RowValues]) -> KeptCounts:
        """Store a part of the file, in pieces between which others write."""
        kept = KeptCounts(0, 0, 0)
        for start in range(0, len(rows), KEPT_AT_ONCE):
            with self._in_a_gap():
                kept = KeptCounts(*map(add, kept, self._keep_piece(rows[start : start + KEPT_AT_ONCE])))
        self._without_id.clear()
        self._counted = ({}, self._counted[0])
        return kept

    @contextmanager
    def _in_a_gap(self) -> Iterator[None]:
        """A transaction inside lets others write before the next one; within one of the program nobody waits."""
        if self.book._is_writing:
            yield
            return
        self._gaps.wait()
        yield
        self._gaps.freed()

    def _keep_piece(self, rows: list[RowValues]) -> KeptCounts:
        with self.book.writing() as (tx, _):
            earlier = set(tx.batches)
            for place in dict.fromkeys(row[1] for row in rows):
                self.trace.enter(tx, place)
            if self.mode != ADD:
                kept = keep_trades(tx, self._without_corrections(tx, rows))
            else:
                kept = keep_trades(tx, rows)
            self.trace.note_batches(tx, earlier)
        self.trace.trades += kept.added + kept.changed
        return kept

    def _without_corrections(self, tx: Tx, rows: list[RowValues]) -> list[RowValues]:
        """The rows that are no corrections of what is there; the others wait for the end of the file."""
        if not (self._without_id or self._waiting):
            return rows
        keys = {row[: former.KEY] for row in rows}
        back = [self._waiting.pop(key)[0] for key in keys & self._waiting.keys()]  # told again as it is: another trade
        asked = [row for row in rows if row[: former.KEY] in self._without_id]
        if not asked:
            return rows + back
        there = corrections.stored_keys(tx, asked)
        fresh = [row for row in asked if row[: former.KEY] not in there]
        again = keys | self._waiting.keys()
        if fresh:
            twins = corrections.find_twins(tx, fresh, again, self.trace.batches)
        else:
            twins = {}
        for row in fresh:
            twin = twins.get(row[: former.KEY])
            if twin is None:
                continue
            if twin.same:
                self.tally.unchanged += 1
            else:
                self._waiting[twin.stored[: former.KEY]] = (row, self._without_id[row[: former.KEY]], twin)
        return [row for row in rows if row[: former.KEY] not in twins] + back

    def finish(self, title: str, keyed: Keyed | None = None) -> LoadedFile:
        """Offer or take what waited, fold the days, and record the load. The answer to a `keyed` request is stored in
        the last transaction."""
        for _, place, twin in self._waiting.values() if self.mode == OFFER else ():
            self.tally.offer(place, twin.words)
        with self.book.writing() as (tx, _):
            if self.mode == TAKE and self._waiting:
                self._take(tx)
        settled = False
        while not settled:
            with self._in_a_gap(), self.book.writing() as (tx, _):
                settled = days.fold_marked_days(tx, days.MOST_AT_ONCE)
        with self.book.writing() as (tx, _):
            heed_answer(tx, keyed)
            nth = self.trace.record(tx, self.book.origin, title, told_of(self.tally.to_loaded()))
            return answered(tx, self.tally.to_loaded(load=nth), keyed)

    def _take(self, tx: Tx) -> None:
        earlier, now = set(tx.batches), stamp(tx.clock())
        for key in self._waiting:
            here = [column == value for column, value in zip(list(trade_rows.c)[: former.KEY], key, strict=True)]
            days.mark_days(tx, make_former(tx, here, now))
        keep_trades(tx, [row for row, _, _ in self._waiting.values()])
        self.trace.note_batches(tx, earlier)
        self.trace.trades += len(self._waiting)
        self.tally.changed += len(self._waiting)


# Operations


def load_trades(
    book: OpenBook, source: Source, *, deployment: str | None = None, progress: Progress | None = None,
    corrections: str = OFFER, keyed: Keyed | None = None,
) -> LoadedFile:  # fmt: skip
    """Load the trades of a file; `deployment` is that of rows which name none."""
    load = TradeFileLoad(book, corrections)
    try:
        files.load_file(
            source, TRADES, {"deployment": deployment}, load.to_row, load.keep, progress, limits_in(book.settings),
            tally=load.tally, with_place=True,
        )  # fmt: skip
    except BaseException:
        load.finish(OWN_COLUMNS)
        raise
    return load.finish(OWN_COLUMNS, keyed)


def load_positions(
    book: OpenBook, source: Source, *, deployment: str | None = None, progress: Progress | None = None
) -> LoadedFile:
    """Load the positions of a file, which says what is open now.

    A position that is open in a deployment of the file and missing in the file is closed, unless a row was refused: the
    refused row might be it.
    """
    times, owner, meant, trace = Times(), book.owner, named_deployments(book), LoadTrace()
    open_now: dict[str, set[RowValues]] = {}
    if deployment is not None:
        open_now = {meant(deployment): set()}

    def keep_rows(rows: list[RowValues]) -> KeptCounts:
        for row in rows:
            open_now.setdefault(row[1], set()).add(row[2:5])
        with book.writing() as (tx, _):
            for place in open_now:
                trace.enter(tx, place)
            return keep_positions(tx, rows)

    def to_row(row: RowValues) -> RowValues:
        return (owner, *row_to_position(row, times, meant))

    tally = files.load_file(
        source, POSITIONS, {"deployment": deployment}, to_row, keep_rows, progress, limits_in(book.settings)
    )
    with book.writing() as (tx, _):
        for place, keys in open_now.items() if not tally.wrong else ():
            trace.enter(tx, place)
            tally.changed += close_others(tx, place, keys)
        nth = None
        if open_now:
            nth = trace.record(tx, book.origin, "Positions", told_of(tally.to_loaded()))
    return tally.to_loaded(load=nth)


def told_of(loaded: LoadedFile) -> dict[str, Any]:
    """What became of the rows, as the page of the load tells it."""
    refused = [(one.row, one.reason) for one in (*loaded.refused, *loaded.corrections)]
    return {
        "file": "", "added": loaded.added + loaded.changed, "paired": 0, "wrong": loaded.wrong + loaded.offered,
        "unchanged": loaded.unchanged, "refused": sorted(refused)[: TOLD],
    }  # fmt: skip


def tried(book: OpenBook, load: Callable[[], LoadedFile]) -> LoadedFile:
    """What a load would bring: it is carried out whole, and rolled back."""
    found: list[LoadedFile] = []
    try:
        with book.writing(apart=True):
            found.append(load())
            raise _RollBack
    except _RollBack:
        return found[0].as_dry_run()


class _RollBack(Exception):
    """Nothing of it is to stay."""
