"""Takes back loads of trades as a whole.

A load adds trades and fills, corrects trades, and closes lots that earlier fills left open. When it is taken back, its
trades become former (as of an earlier instant they are still there), corrected trades are as before, its fills are
moved into the row of the load, and the lots it closed are open again; so the same file can be loaded anew. Only the
newest load of a deployment can be taken back, because later ones build on it. A single trade is taken back as a load of
its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlalchemy import and_, delete, func, select, update

from keepbook.book.ground import stored_json
from keepbook.book.ground.idempotency import Keyed, answered, heed_answer
from keepbook.book.ground.in_pieces import Gaps
from keepbook.book.ground.limits import sought
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import batch, ledger
from keepbook.book.ledger import loads as rows
from keepbook.book.ledger.ledger import Origin
from keepbook.book.ledger.loads import TRADES, Arrival, Load
from keepbook.errors import Ambiguous, Conflict, Invalid, NotFound
from keepbook.extensions.trading.book import days, former
from keepbook.extensions.trading.book.imports.open_lots import refresh_open_positions
from keepbook.extensions.trading.book.imports.places import remove_empty_deployment
from keepbook.extensions.trading.book.trades import Position, close_others, keep_positions, keep_trades, open_positions
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import former_trades as former_rows
from keepbook.extensions.trading.tables import splits as split_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.bulk_rows import RowValues
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import loads as load_rows

AT_ONCE = 5000  # rows in one statement
LATEST = "9999"  # a stamp that is later than every other

OpenPositions = Mapping[str, tuple[str, float]]
"""By the key of each earlier fill: the quantity that was left, and its fee."""


@dataclass(slots=True)
class LoadTrace:
    """What a load in several transactions has done so far.

    positions: the deployments it has touched, with the positions that were open in each before
    made: the deployments that it has made
    older: for each deployment, whether it had trades before
    """

    positions: dict[str, list[Position]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    batches: set[int] = field(default_factory=set)
    trades: int = 0
    older: dict[str, bool] = field(default_factory=dict)

    def enter(self, tx: Tx, place: str) -> None:
        """Note a deployment and its open positions, before anything in it is changed."""
        if place not in self.positions:
            self.positions[place] = open_positions(tx, [place], LATEST)

    def had_trades(self, tx: Tx, place: str) -> bool:
        """Whether a deployment has trades that this load did not bring."""
        if place not in self.older:
            query = select(trade_rows.c.key).where(trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id == place)
            if self.batches:
                query = query.where(trade_rows.c.batch.not_in(self.batches))
            self.older[place] = tx.conn.execute(query.limit(1)).first() is not None
        return self.older[place]

    def note_batches(self, tx: Tx, earlier: Iterable[tuple[str, str]]) -> None:
        known = set(earlier)
        self.batches |= {int(nth) for what, nth in tx.batches if what == "trades" and (what, nth) not in known}

    def record(self, tx: Tx, origin: Origin, title: str, told: Mapping[str, Any]) -> int | None:
        """Record the load, if it has changed anything. Returns its number, else None."""
        changed = [place for place, was in self.positions.items() if was != open_positions(tx, [place], LATEST)]
        if not self.batches and not changed and not self.made:
            return None
        places = list(self.positions)
        return rows.record_load(
            tx, origin, TRADES, title, deployment_id=places[0], trades=self.trades,
            brought={"batches": sorted(self.batches), "places": places, "made": self.made},
            before={place: {"positions": self.positions[place]} for place in changed}, told=told,
        )  # fmt: skip


# Operations


def trades_told_back(book: OpenBook, nth: int, keyed: Keyed | None = None) -> Load:
    """Take a load out again, in pieces. The answer to a `keyed` request is stored in the last transaction."""
    take_back_ahead(book, nth, keyed)
    with book.writing() as (tx, _):
        heed_answer(tx, keyed)
        return answered(tx, take_back_trades(tx, book.origin, nth), keyed)


def take_back_ahead(book: OpenBook, nth: int, keyed: Keyed | None = None) -> None:
    """Take out the trades of a long load batch by batch, between which others write. The first batch, and all else, is
    left to `take_back_trades`. Whoever is ended in between has taken out a part; the load is still listed as it came,
    and taking it back again takes out the rest."""
    if book._is_writing:
        return
    with book.reading() as (tx, _, _):
        heed_answer(tx, keyed)
        batches = _batches_now(tx, _load_of_trades(tx, book.origin, nth).brought["batches"])
    gaps = Gaps()
    for one in reversed(batches[1:]):
        gaps.wait()
        with book.writing() as (tx, _):
            heed_answer(tx, keyed)
            _take_batches(tx, _load_of_trades(tx, book.origin, nth), [one])
            days.fold_marked_days(tx)
        gaps.freed()


def take_back_trades(tx: Tx, origin: Origin, nth: int) -> Load:
    """Take a load out again, whole, or what is left of it."""
    load = _load_of_trades(tx, origin, nth)
    places, now = load.brought["places"], stamp(tx.clock())
    batches = _batches_now(tx, load.brought["batches"])
    _take_batches(tx, load, batches)
    restored = _restored(tx, places, batches)
    mine = (fill_rows.c.owner == tx.owner, fill_rows.c.load == nth)
    fills = [dict(one._mapping) for one in tx.conn.execute(select(fill_rows).where(*mine).order_by(fill_rows.c.key))]
    gone = {"fills": [{name: one[name] for name in one if name != "owner"} for one in fills], "restored": restored}
    rows.mark_taken_back(tx, nth, gone)
    tx.conn.execute(delete(fill_rows).where(*mine))
    tx.conn.execute(delete(split_rows).where(split_rows.c.owner == tx.owner, split_rows.c.load == nth))
    for place in places:
        symbols = {one["symbol"] for one in fills if one["deployment_id"] == place} | set(load.brought.get("split", ()))
        _as_before(tx, place, load.before.get(place, {}), symbols)
    days.fold_marked_days(tx)
    for place in load.brought["made"]:
        remove_empty_deployment(tx, place, now)
    return rows.load_of(rows.get_load(tx, nth))


def _load_of_trades(tx: Tx, origin: Origin, nth: int) -> Arrival:
    load = rows.load_to_take_back(tx, origin, nth)
    if load.what != TRADES:
        raise Invalid(f"load {nth} brought no trades; undo it under Bring in", field="load")
    return load


def _take_batches(tx: Tx, load: Arrival, batches: Sequence[int]) -> None:
    """Take some batches of a load out, and mark their days."""
    places = load.brought["places"]
    _refuse_newer(tx, load, places)
    days.mark_days(tx, _take_trades(tx, places, batches, stamp(tx.clock())))


def _as_before(tx: Tx, place: str, before: Mapping[str, Any], symbols: set[str]) -> None:
    """Open again what the load had used up of earlier fills, and set the positions back to what they were."""
    for key, (remaining, fee) in before.get("lots", {}).items():
        here = (fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.key == key)
        tx.conn.execute(update(fill_rows).where(*here).values(remaining=remaining, fee=fee))
    refresh_open_positions(tx, place, symbols)
    if "positions" in before:
        was = [Position(*one) for one in before["positions"]]
        close_others(tx, place, {one[1:4] for one in was})
        keep_positions(tx, [(tx.owner, *one) for one in was])


def take_back_trade(tx: Tx, origin: Origin, key: str, deployment_id: str | None = None) -> Load:
    """Take one trade out. This is a load of its own: taking that back restores the trade."""
    found = _find_trade(tx, key, deployment_id)
    place = found["deployment_id"]
    earlier = set(tx.batches)
    keys = list(trade_rows.c)[: former.KEY]
    touched = make_former(tx, [column == found[column.name] for column in keys], stamp(tx.clock()))
    days.mark_days(tx, touched)
    days.fold_marked_days(tx)
    trace = LoadTrace()
    trace.enter(tx, place)
    trace.note_batches(tx, earlier)
    title = f"One trade taken back: {found['symbol']} {found['side']}, closed {found['exit_time'][:10]}"
    nth = trace.record(tx, origin, title, rows.NOTHING_TOLD) or 0
    return rows.load_of(rows.get_load(tx, nth))


def _find_trade(tx: Tx, key: str, deployment_id: str | None) -> Mapping[str, Any]:
    """The trade with this key, or the only one whose key begins so."""
    here = [trade_rows.c.owner == tx.owner]
    if deployment_id is not None:
        here.append(trade_rows.c.deployment_id == deployment_id)
    for fits in (trade_rows.c.key == sought(key), trade_rows.c.key.startswith(sought(key), autoescape=True)):
        found = [dict(one._mapping) for one in tx.conn.execute(select(trade_rows).where(*here, fits).limit(2))]
        if len(found) == 1:
            return found[0]
        if found:
            raise Ambiguous(
                f"{key[:40]!r} fits several trades; name the deployment, or more of the key",
                [(one["key"], f"{one['symbol']} {one['side']}, closed {one['exit_time'][:10]}") for one in found],
            )
    raise NotFound(f"there is no trade {key[:40]!r} in this book", field="key")


def _refuse_newer(tx: Tx, load: Arrival, places: Sequence[str]) -> None:
    """Raise if a later load came into one of these deployments, or was paired with a split of this load."""
    newer = select(load_rows.c.nth, load_rows.c.brought).where(
        load_rows.c.owner == tx.owner, load_rows.c.what == TRADES, load_rows.c.nth > load.nth,
        load_rows.c.undone_at.is_(None),
    )  # fmt: skip
    for later, brought in tx.conn.execute(newer.order_by(load_rows.c.nth.desc())):
        if set(stored_json.load_json(brought)["places"]) & set(places):
            _refuse_for(later, "came into the same deployment after it")
    paired = select(func.max(fill_rows.c.load)).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.symbol.in_(load.brought.get("split", ())),
        fill_rows.c.load > load.nth,
    )  # fmt: skip
    pairing = tx.conn.execute(paired).scalar()
    if pairing is not None:
        _refuse_for(pairing, "was paired with this split")


def _refuse_for(later: int, what: str) -> NoReturn:
    raise Conflict(f"not undone: load {later} {what}; undo load {later} first", code="touched", by=later)


def _take_trades(tx: Tx, places: Sequence[str], batches: Sequence[int], now: str) -> set[tuple[str, str]]:
    """Make the trades of these batches former, and restore those that they had corrected, each batch of them as a new
    one. Returns the (deployment, day) on which any of them closed."""
    if not batches:
        return set()
    here = (trade_rows.c.owner == tx.owner, trade_rows.c.deployment_id.in_(places), trade_rows.c.batch.in_(batches))
    touched = make_former(tx, here, now)
    by_batch: dict[int, list[RowValues]] = {}
    for one in tx.conn.execute(select(former_rows).where(*_corrected_by(tx, places, batches))):
        by_batch.setdefault(one.batch, []).append(tuple(one)[:-3])
    for _, again in sorted(by_batch.items()):
        keep_trades(tx, again)
        touched |= {(one[1], one[2][:10]) for one in again}
    return touched


def _corrected_by(tx: Tx, places: Sequence[str], batches: Sequence[int]) -> tuple[Any, ...]:
    mine = former_rows.c.owner == tx.owner, former_rows.c.deployment_id.in_(places)
    return (*mine, former_rows.c.went.in_(batches))


def _restored(tx: Tx, places: Sequence[str], batches: Sequence[int]) -> list[tuple[int, int]]:
    """For each batch of trades that these had corrected, and that are there again: its new and its old number."""
    key = [column.name for column in trade_rows.c][: former.KEY]
    same = and_(*(trade_rows.c[name] == former_rows.c[name] for name in key))
    query = select(trade_rows.c.batch, former_rows.c.batch).join_from(former_rows, trade_rows, same)
    found = tx.conn.execute(query.where(*_corrected_by(tx, places, batches)).distinct())
    return sorted((new, old) for new, old in found)


def make_former(tx: Tx, here: Sequence[Any], now: str) -> set[tuple[str, str]]:
    """Make the trades for which these conditions hold former. Returns the (deployment, day) on which they closed."""
    number = ledger.chain_head(tx).sealed + 1 + len(tx.batches)
    found: list[RowValues] = [(*one, number, now) for one in tx.conn.execute(select(trade_rows).where(*here))]
    went = sorted(found, key=lambda one: one[: former.KEY])
    for start in range(0, len(went), AT_ONCE):
        former.keep_former_trades(tx, went[start : start + AT_ONCE])
    tx.conn.execute(delete(trade_rows).where(*here))
    if went:
        batch.seal(tx, "trades", [], [one[1:] for one in went], number)
    return {(one[1], one[2][:10]) for one in went}


def _batches_now(tx: Tx, batches: Sequence[int]) -> list[int]:
    """These batches, and those under which their trades were stored again when a later load was taken back."""
    query = select(load_rows.c.gone).where(
        load_rows.c.owner == tx.owner, load_rows.c.what == TRADES, load_rows.c.undone_at.is_not(None)
    )
    found = set(batches)
    for gone in tx.conn.execute(query.order_by(load_rows.c.undone_at)).scalars():
        found |= {new for new, old in stored_json.load_json(gone)["restored"] if old in found}
    return sorted(found)


# Queries


def list_trade_loads(tx: Tx, limit: int = 100) -> list[Load]:
    """The loads of trades, newest first."""
    return [rows.load_of(one) for one in rows.list_loads(tx, limit, what=TRADES)]
