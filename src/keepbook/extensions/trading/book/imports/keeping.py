"""The steps from the rows of a file to stored fills and trades: leave out known rows, pair, store.

Each step takes the part of the file that goes into one deployment (`places`). A fill that is older than fills which are
paired already is refused, because it would have changed their pairing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import func, insert, select, update

from keepbook.book.ground import stored_json
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import loads
from keepbook.extensions.trading.book import days, former, skills
from keepbook.extensions.trading.book.imports import pairing, values
from keepbook.extensions.trading.book.imports.file import FileImport
from keepbook.extensions.trading.book.imports.open_lots import (
    is_same_split,
    keep_open_positions,
    known_splits,
    open_lots,
)
from keepbook.extensions.trading.book.imports.pairing import (
    EXPIRY,
    FUNDING,
    SPLIT,
    Fill,
    Trip,
    in_units_then,
    position_of,
)
from keepbook.extensions.trading.book.imports.places import FilePart
from keepbook.extensions.trading.book.imports.take_back import OpenPositions, make_former
from keepbook.extensions.trading.book.loading import corrections
from keepbook.extensions.trading.book.trades import Trade, keep_trades
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import loads as load_rows

AT_ONCE = 500  # keys in one SELECT
KEPT_AT_ONCE = 2000  # rows in one INSERT
_UNASSIGNED = {EXPIRY: "nothing open that could expire", FUNDING: "funding with nothing open to charge it to"}
_NOT_OPENED = "it closes what was not opened here: load the file in which that stands first"


# What the book has already


def leave_out_known(tx: Tx, work: FileImport, part: FilePart, mode: str) -> None:
    """Leave out what the book has already, found by its key, or as the same file in another format. What looks like a
    correction of a stored trade is refused or taken, as `mode` says."""
    if _leave_out_whole_part(tx, work, part):
        return
    known = _known_keys(tx, part.place, [one.key for one in part.fills], fill_rows)
    splits = known_splits(tx, part.place, {one.symbol for one in part.fills if one.side == SPLIT})
    known |= _known_by_another_id(tx, part, known)
    fresh = []
    for one in part.fills:
        twice = one.side == SPLIT and any(is_same_split(one, other) for other in splits.get(one.symbol, ()))
        if one.key in known or twice:
            work.unchanged.update(one.rows)
        else:
            fresh.append(one)
    part.fills = fresh
    there = _known_keys(tx, part.place, [one.key for one in part.trips], trade_rows)
    for trip in part.trips:
        if trip.key in there:
            work.unchanged.update(work.rows_of[trip.key])
    restated = {one.key for one in part.trips}
    part.trips = [one for one in part.trips if one.key not in there]
    if part.place is not None and mode != corrections.ADD:
        _offer_corrections(tx, work, part, restated, mode)
        _offer_other_fills(tx, work, part)


def _known_by_another_id(tx: Tx, part: FilePart, known: Collection[str]) -> set[str]:
    """The keys of fills that are stored under an id of another kind. Of several fills with the same figures, as many
    count as known as are stored."""
    mine = [one for one in part.fills if one.id_kind and one.key not in known]
    if part.place is None or not mine:
        return set()
    times = [one.time for one in mine]
    query = select(fill_rows).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == part.place, fill_rows.c.time >= min(times),
        fill_rows.c.time <= max(times), fill_rows.c.key.startswith("id-"), fill_rows.c.key.contains("="),
    )  # fmt: skip
    kinds = {one.id_kind for one in mine}
    there = Counter(
        (row.symbol, row.side, row.time, row.quantity, row.price)
        for row in tx.conn.execute(query)
        if row.key[3:].partition("=")[0] not in kinds
    )
    found = set()
    for one in mine:
        figures = (one.symbol, one.side, one.time, float(one.quantity), one.price)
        if there[figures] > 0:
            there[figures] -= 1
            found.add(one.key)
    return found


def _offer_corrections(tx: Tx, work: FileImport, part: FilePart, restated: set[str], mode: str) -> None:
    """Find trades without an id that begin like a stored one: the same trades are unchanged; others are corrections,
    which are refused or taken, as `mode` says."""
    rows = {one.key: (tx.owner, *to_trade(one, part.home)) for one in part.trips if not one.key.startswith("id-")}
    if not rows:
        return
    again = {one[: former.KEY] for one in _trades_with(tx, part.home, restated)}
    twins = {key[-1]: twin for key, twin in corrections.find_twins(tx, list(rows.values()), again, ()).items()}
    for trip in part.trips:
        twin = twins.get(trip.key)
        if twin is None:
            continue
        if twin.same:
            work.unchanged.update(work.rows_of[trip.key])
        elif mode == corrections.TAKE:
            part.replaced.append(twin.stored[: former.KEY])
        else:
            work.refuse(work.rows_of[trip.key], twin.words)
    gone = {key for key, twin in twins.items() if twin.same or mode != corrections.TAKE}
    part.trips = [one for one in part.trips if one.key not in gone]


def _offer_other_fills(tx: Tx, work: FileImport, part: FilePart) -> None:
    """Refuse fills that look like a correction of a stored fill. One cannot be corrected alone, because it is paired:
    the whole file that brought it must be loaded anew."""
    mine = {(one.symbol, one.side, one.time) for one in part.fills if not one.key.startswith("id-")}
    if not mine:
        return
    told = {one.key for one in work.fills}
    times = [one[2] for one in mine]
    query = select(fill_rows).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == part.place, fill_rows.c.time >= min(times),
        fill_rows.c.time <= max(times),
    )  # fmt: skip
    there = {
        (row.symbol, row.side, row.time): row.load
        for row in tx.conn.execute(query)
        if row.key not in told and not row.key.startswith("id-")
    }
    for one in part.fills:
        load = there.get((one.symbol, one.side, one.time))
        if load is not None and not one.key.startswith("id-"):
            work.refuse(
                one.rows,
                f"looks like a correction of a fill of load {load} at the same instant; undo load {load} and load this "
                "file in its place, or load it with corrections=add if it is another fill",
            )
    drop_refused(work, part)


def drop_refused(work: FileImport, part: FilePart) -> None:
    """Leave out the fills of rows that were refused; a row may have several fills."""
    part.fills = [one for one in part.fills if not set(one.rows) & work.refused.keys()]


def _leave_out_whole_part(tx: Tx, work: FileImport, part: FilePart) -> bool:
    """Leave out the whole part if the book has all of it already, from a file of another format, in any deployment.
    Returns whether it did."""
    traded = [one for one in part.fills if one.side in ("buy", "sell")]
    if not traded and not part.trips:
        return False
    if traded:
        rows, mine = fill_rows, Counter(_figures(one) for one in traded)
    else:
        rows, mine = trade_rows, Counter(_trip_figures(one) for one in part.trips)
    for stored in _stored_figures(tx, rows, work, part):
        is_all_stored = mine <= stored
        if is_all_stored:
            work.notes.append("all of it is in the book already, from another file")
            for one in part.fills:
                work.unchanged.update(one.rows)
            for trip in part.trips:
                work.unchanged.update(work.rows_of[trip.key])
            part.fills, part.trips = [], []
            return True
    return False


def _figures(one: Any) -> tuple[Any, ...]:
    return values.symbol(one.symbol), one.side, one.time, one.price


def _trip_figures(one: Any) -> tuple[Any, ...]:
    return values.symbol(one.symbol), one.side, one.entry_time, one.exit_time, one.entry_price, one.exit_price


def _stored_figures(tx: Tx, rows: Any, work: FileImport, part: FilePart) -> Iterator[Counter[Any]]:
    """For each deployment the figures of the fills or trades that are stored for the file's time, if they may be from
    the same file in another format. Left out are deployments of another account, those into which a file of this format
    was loaded under other ids, and the part's own, for which `_known_keys` compares by key."""
    if rows is fill_rows:
        keys, times = {one.key for one in part.fills}, [one.time for one in part.fills]
        column, figures = rows.c.time, _figures
    else:
        keys, times = {one.key for one in part.trips}, [one.exit_time for one in part.trips]
        column, figures = rows.c.exit_time, _trip_figures
    of_this_format = select(load_rows.c.brought).where(
        load_rows.c.owner == tx.owner, load_rows.c.what == loads.TRADES, load_rows.c.title == work.format.title,
        load_rows.c.undone_at.is_(None),
    )  # fmt: skip
    places_of_format: set[str] = set()
    for brought in tx.conn.execute(of_this_format).scalars():
        places_of_format.update(stored_json.load_json(brought)["places"])
    for deployment in skills.list_deployments(tx):
        if part.account and deployment.account and part.account != deployment.account:
            continue
        here = (rows.c.owner == tx.owner, rows.c.deployment_id == deployment.id)
        stored = tx.conn.execute(select(rows).where(*here, column >= min(times), column <= max(times))).all()
        stored_keys = {row.key for row in stored}
        shares_keys = bool(keys & stored_keys)
        is_own = shares_keys and (part.chosen or deployment.id == part.place)
        all_have_ids = all(key.startswith("id-") for key in keys | stored_keys)
        has_other_ids = all_have_ids and not shares_keys and deployment.id in places_of_format
        if not is_own and not has_other_ids:
            yield Counter(figures(row) for row in stored)


# Pairing


def refuse_older(tx: Tx, work: FileImport, part: FilePart) -> None:
    """Refuse fills that are older than what is paired already for their symbol."""
    if part.place is None:
        return
    query = select(fill_rows.c.symbol, func.max(fill_rows.c.time)).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == part.place, fill_rows.c.side != SPLIT
    )
    last = {row[0]: row[1] for row in tx.conn.execute(query.group_by(fill_rows.c.symbol))}
    for one in part.fills:
        if _is_late(one, last):
            work.refuse(
                one.rows, f"older than what is paired already for {one.symbol}; load files in the order of time"
            )
    drop_refused(work, part)


def _is_late(one: Fill, last: Mapping[str, str]) -> bool:
    """Whether a fill is older than what is paired already. A fill that names its position never is, because it is
    paired within that position alone."""
    return one.time < last.get(one.symbol, "") and not position_of(one.key)


def pair_part(tx: Tx, work: FileImport, part: FilePart) -> None:
    """Pair the fills of each symbol with the open lots; known splits are applied at their time."""
    symbols = {one.symbol for one in part.fills}
    lots, splits = open_lots(tx, part.place, symbols), known_splits(tx, part.place, symbols)
    by_symbol: dict[str, list[Fill]] = {}
    left_out: set[str] = set()
    for one in part.fills:
        if one.told_only:
            work.added.update(one.rows)
        else:
            by_symbol.setdefault(one.symbol, []).append(one)
    for symbol, mine in by_symbol.items():
        in_time = sorted([*splits.get(symbol, ()), *mine], key=_by_time)
        found = pairing.pair_fills(lots.get(symbol, []), in_time)
        part.results[symbol] = found
        for one in found.unassigned:
            work.refuse(one.rows, _UNASSIGNED.get(one.side, _NOT_OPENED))
        unassigned = {one.key for one in found.unassigned}
        if found.held_before:
            work.held_before[symbol] = work.held_before.get(symbol, 0.0) + float(found.held_before)
        rest = sum((left for key, left in found.closed_without_lot.items() if key not in unassigned), Decimal(0))
        if rest:
            work.notes.append(f"of what was closed of {symbol}, {rest.normalize():f} was not opened here: in no figure")
        for one in mine:
            if one.key not in unassigned:
                counted = work.paired if one.key in found.touched else work.added
                counted.update(one.rows)
        left_out |= unassigned
    part.fills = [one for one in part.fills if one.key not in left_out]
    for trip in part.trips:
        rows = work.rows_of[trip.key]
        counted = work.paired if len(rows) > 1 else work.added
        counted.update(rows)


def _by_time(one: Fill) -> tuple[str, bool]:
    """A sort key: by time, and at the same instant splits first."""
    return one.time, one.side != SPLIT


# Storing


def fills_to_store(tx: Tx, part: FilePart, place: str, load: int) -> list[dict[str, Any]]:
    """The rows of the fills of a part, each with what of it is still open and its fee."""
    left = {lot.key: lot for found in part.results.values() for lot in found.open}
    rows = []
    for one in part.fills:
        lot = left.get(one.key)
        if lot is None:
            remaining, fee = Decimal(0), one.fee
        else:
            remaining, fee = in_units_then(lot), lot.fee
        rows.append(
            {
                "owner": tx.owner, "deployment_id": place, "key": one.key, "symbol": one.symbol, "side": one.side,
                "time": one.time, "quantity": float(one.quantity), "price": one.price,
                "fee": fee, "multiplier": one.multiplier, "remaining": str(remaining),
                "reason": one.reason, "load": load,
            }
        )  # fmt: skip
    return rows


def store_fills(tx: Tx, rows: Sequence[dict[str, Any]]) -> Iterable[int]:
    """Insert fills in portions; before each portion it yields how many are inserted, for the progress."""
    for start in range(0, len(rows), KEPT_AT_ONCE):
        yield start
        tx.conn.execute(insert(fill_rows), rows[start : start + KEPT_AT_ONCE])


def store_trades(tx: Tx, part: FilePart, place: str) -> Iterable[int]:
    """Store the trades of a part in portions, like `store_fills`; those that they correct become former."""
    now = stamp(tx.clock())
    for key in part.replaced:
        here = [column == value for column, value in zip(list(trade_rows.c)[: former.KEY], key, strict=True)]
        days.mark_days(tx, make_former(tx, here, now))
    kept = [(tx.owner, *to_trade(trip, place)) for trip in part.all_trips]
    for start in range(0, len(kept), KEPT_AT_ONCE):
        yield start
        keep_trades(tx, kept[start : start + KEPT_AT_ONCE])


def use_up_lots(tx: Tx, part: FilePart, place: str) -> OpenPositions:
    """Store what this file leaves open of earlier fills, and the positions. Returns what was open before, so that the
    load can be taken back."""
    before: dict[str, tuple[str, float]] = {}
    fresh = {one.key for one in part.fills}
    for symbol, found in part.results.items():
        before |= _use_up(tx, place, symbol, fresh, {lot.key: lot for lot in found.open})
        keep_open_positions(tx, place, symbol, found)
    return before


def _use_up(tx: Tx, place: str, symbol: str, fresh: set[str], lots: Mapping[str, Fill]) -> OpenPositions:
    """Store what is left of the open fills of a symbol, without those of this file (`fresh`). Returns what was open of
    those that changed."""
    before = {}
    for key, (old_quantity, old_fee) in _open_keys(tx, place, symbol).items():
        if key in fresh:
            continue
        quantity, fee = "0", old_fee
        lot = lots.get(key)
        if lot is not None:
            quantity, fee = str(in_units_then(lot)), lot.fee
        if lot is None or Decimal(quantity) != Decimal(old_quantity) or fee != old_fee:
            before[key] = old_quantity, old_fee
            where = (fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.key == key)
            tx.conn.execute(update(fill_rows).where(*where).values(remaining=quantity, fee=fee))
    return before


def to_trade(trip: Trip, place: str) -> Trade:
    return Trade(
        deployment_id=place, exit_time=trip.exit_time, key=trip.key, symbol=trip.symbol, side=trip.side,
        quantity=trip.quantity, entry_time=trip.entry_time, entry_price=trip.entry_price, exit_price=trip.exit_price,
        fees=trip.fees, pnl=trip.pnl, mfe=None, mae=None, entry_regime_tag=None, entry_reason=trip.entry_reason,
        exit_reason=trip.exit_reason, known_at=trip.exit_time,
    )  # fmt: skip


# Queries


def _known_keys(tx: Tx, place: str | None, keys: Sequence[str], rows: Any) -> set[str]:
    """Those of these keys that are stored in a deployment."""
    found: set[str] = set()
    if place is None:
        return found
    for start in range(0, len(keys), AT_ONCE):
        part = list(keys[start : start + AT_ONCE])
        query = select(rows.c.key).where(rows.c.owner == tx.owner, rows.c.deployment_id == place, rows.c.key.in_(part))
        found |= set(tx.conn.execute(query).scalars())
    return found


def _trades_with(tx: Tx, place: str, keys: Collection[str]) -> list[Any]:
    wanted = sorted(keys)
    found: list[Any] = []
    for start in range(0, len(wanted), AT_ONCE):
        mine = (trade_rows.c.deployment_id == place, trade_rows.c.key.in_(wanted[start : start + AT_ONCE]))
        found += map(tuple, tx.conn.execute(select(trade_rows).where(trade_rows.c.owner == tx.owner, *mine)))
    return found


def _open_keys(tx: Tx, place: str, symbol: str) -> dict[str, tuple[str, float]]:
    """By the key of each open fill: the quantity that is left, and its fee."""
    query = select(fill_rows.c.key, fill_rows.c.remaining, fill_rows.c.fee).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.symbol == symbol,
        fill_rows.c.remaining != "0",
    )  # fmt: skip
    return {row.key: (row.remaining, row.fee) for row in tx.conn.execute(query)}
