"""Rows that look like corrections: the same trade, told otherwise by a file that has no ids.

A row without an id that shares deployment, symbol, side and opening instant with a trade that is there, and that the
file does not tell again as it is, may be its correction or another trade. The person says which: such rows are offered,
and nothing is done until they are loaded again with `take` (the new figures replace the old) or `add`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import select

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.former import KEY
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx

OFFER, TAKE, ADD = "offer", "take", "add"
NAMES = tuple(column.name for column in trade_rows.c)
FIGURES = ("quantity", "entry_price", "exit_time", "exit_price", "fees")
_SAME = ("quantity", "entry_price", "exit_time", "exit_price")
_HOW = "load it again with corrections=take to replace that one, or corrections=add for another trade"


class Twin(NamedTuple):
    """A stored trade that a row of a file shares its beginning with, and in what they differ: old and new."""

    stored: RowValues
    differs: Mapping[str, tuple[Any, Any]]

    @property
    def same(self) -> bool:
        """Whether it is the very trade, under another key."""
        return not self.differs.keys() & set(_SAME)

    @property
    def words(self) -> str:
        told = dict(zip(NAMES, self.stored, strict=False))
        what = ", ".join(f"{name} {_figure(old)} → {_figure(new)}" for name, (old, new) in self.differs.items())
        whose = f"{told['symbol']} {told['side']} from {told['entry_time'][:16]}"
        return f"looks like a correction of {whose} ({what}); {_HOW}"


# Rules


def clean_mode(told: object) -> str:
    if told not in (OFFER, TAKE, ADD):
        raise Invalid(f"corrections is {OFFER}, {TAKE} or {ADD}, not {str(told)[:40]!r}", field="corrections")
    return str(told)


def opening_of(row: RowValues) -> RowValues:
    """What a correction shares with what it corrects: deployment, symbol, side and opening instant."""
    return row[1], row[4], row[5], row[7]


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)[:16]


# Queries


def stored_keys(tx: Tx, rows: Collection[RowValues]) -> set[RowValues]:
    """Which of these rows have keys that are there."""
    times: dict[str, list[str]] = {}
    for row in rows:
        times.setdefault(row[1], []).append(row[2])
    found: set[RowValues] = set()
    for place, mine in times.items():
        query = select(trade_rows.c.exit_time, trade_rows.c.key).where(
            trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id == place,
            trade_rows.c.exit_time >= min(mine), trade_rows.c.exit_time <= max(mine),
        )  # fmt: skip
        found |= {(tx.owner, place, *one) for one in tx.conn.execute(query)}
    return found


def find_twins(
    tx: Tx, rows: Collection[RowValues], told_again: Collection[RowValues], own_batches: Collection[int]
) -> dict[RowValues, Twin]:
    """For each of these new rows the trade that it may correct, by the row's key; each trade is taken once.

    Not those that came with this load, nor those whose keys are among `told_again`.
    """
    twins: dict[RowValues, Twin] = {}
    wanted: dict[str, list[RowValues]] = {}
    for row in rows:
        wanted.setdefault(row[1], []).append(row)
    for place, mine in wanted.items():
        stored = _stored_like(tx, place, mine, told_again, own_batches)
        for row in mine:
            if there := stored.get(opening_of(row)):
                twin = min((_twin(one, row) for one in there), key=lambda one: len(one.differs))
                there.remove(twin.stored)
                twins[row[:KEY]] = twin
    return twins


def _stored_like(
    tx: Tx, place: str, rows: Iterable[RowValues], told_again: Collection[RowValues], own_batches: Collection[int]
) -> dict[RowValues, list[RowValues]]:
    begun = [row[7] for row in rows]
    query = select(trade_rows).where(
        trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id == place, trade_rows.c.exit_time >= min(begun),
        trade_rows.c.entry_time >= min(begun), trade_rows.c.entry_time <= max(begun),
    )  # fmt: skip
    skipped, known = set(told_again), set(own_batches)
    found: dict[RowValues, list[RowValues]] = {}
    for one in map(tuple, tx.conn.execute(query)):
        if one[:KEY] not in skipped and one[-1] not in known:
            found.setdefault(opening_of(one), []).append(one)
    return found


def _twin(stored: RowValues, row: RowValues) -> Twin:
    places = [NAMES.index(name) for name in FIGURES]
    differs = {NAMES[at]: (stored[at], row[at]) for at in places if not _equal(stored[at], row[at])}
    return Twin(stored, differs)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(abs(one), abs(other))
    return bool(one == other)
