"""The open lots that brokers' files have left, the splits that change them, and the positions that they make up.

A fill is stored as the file has it, and what remains of it in the units of that day; later splits are applied when it
is read. The lots of a symbol that were bought at one instant make one position. A load changes positions at the time of
the fill that changed them; when it is taken back, they change back.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

from sqlalchemy import func, insert, select

from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import Origin
from keepbook.errors import Conflict, Invalid
from keepbook.extensions.trading.book.imports.pairing import SPLIT, Fill, PairedFills, pair_fills
from keepbook.extensions.trading.book.trades import Position, close_lots, keep_positions
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import splits as split_rows
from keepbook.patterns import regex
from keepbook.storage.database import Tx

MOST_FOR_ONE = 10_000  # the largest ratio of a split
_RATIO = regex(r"(\d{1,9}(?:\.\d{1,9})?)(?:\s*(?:[:/]|-?for-?)\s*(\d{1,9}(?:\.\d{1,9})?))?")
SAME_SPLIT = timedelta(days=5)
"""Two splits of a symbol this close are the same: some date it by its announcement, others by the day before or
after."""


# Rules


def is_same_split(one: Fill, other: Fill) -> bool:
    """Whether two fills tell the same split."""
    apart = parse_stamp(one.time) - parse_stamp(other.time)
    return one.symbol == other.symbol and one.quantity == other.quantity and abs(apart) <= SAME_SPLIT


def lots_to_positions(place: str, found: PairedFills) -> list[Position]:
    """The open lots of a symbol as positions; their quantity is multiplied by the contract's size."""
    grouped: dict[tuple[str, str], list[Fill]] = {}
    for lot in found.open:
        grouped.setdefault((lot.time, lot.side), []).append(lot)
    positions = []
    for (time, side), lots in grouped.items():
        quantity = sum(float(lot.left) * lot.multiplier for lot in lots)
        paid = sum(float(lot.left) * lot.multiplier * lot.price for lot in lots)
        since = max([time, *(found.changed.get(lot.key, "") for lot in lots)])
        if side == "buy":
            way = "long"
        else:
            way = "short"
        positions.append(Position(place, lots[0].symbol, way, time, paid / quantity, quantity, None, since))
    return positions


def parse_ratio(told: object) -> Decimal:
    """How many there are for one, from `4`, `4:1`, `1 for 10` or `3/2`."""
    ratio = Decimal(0)
    found = _RATIO.fullmatch(str(told).strip().lower())
    if found:
        new, old = (Decimal(part) for part in found.groups("1"))
        if old:
            ratio = new / old
    if not 0 < ratio <= MOST_FOR_ONE or ratio == 1 or ratio * MOST_FOR_ONE < 1:
        raise Invalid(
            f"a split is how many there are for one, like 4, 4:1 or 1:10, not {str(told)[:40]!r}", field="ratio"
        )
    return ratio


# Operations


def say_split(tx: Tx, origin: Origin, symbol: str, ratio: object, on: str) -> int:
    """Record a split that the person tells, for every deployment. Returns the number of the load, by which it can be
    taken back."""
    split = Fill(on, _spelled(tx, symbol), SPLIT, parse_ratio(ratio), 0.0)
    said = tx.conn.execute(
        select(split_rows).where(split_rows.c.owner == tx.owner, split_rows.c.symbol == split.symbol)
    )
    for row in said:
        if row.time == on or is_same_split(split, Fill(row.time, row.symbol, SPLIT, Decimal(row.ratio), 0.0)):
            raise Conflict(f"a split of {split.symbol} on {row.time[:10]} is known already", code="split_known")
    here = (fill_rows.c.owner == tx.owner, fill_rows.c.symbol == split.symbol)
    later = select(func.max(fill_rows.c.load)).where(*here, fill_rows.c.time >= on, fill_rows.c.side != SPLIT)
    load = tx.conn.execute(later).scalar()
    if load is not None:
        raise Conflict(
            f"{split.symbol} was traded after that, and is paired without the split: undo load {load}, say the split, "
            "and load the file again", code="touched", by=load,
        )  # fmt: skip
    held = select(fill_rows.c.deployment_id).where(*here, fill_rows.c.remaining != "0").distinct()
    places, nth = sorted(tx.conn.execute(held).scalars()), loads.next_number(tx)
    told = {"owner": tx.owner, "symbol": split.symbol, "time": on, "ratio": str(split.quantity), "load": nth}
    tx.conn.execute(insert(split_rows), told)
    for place in places:
        refresh_open_positions(tx, place, [split.symbol])
    deployment_id = None
    if places:
        deployment_id = places[0]
    loads.record_load(
        tx, origin, loads.TRADES, f"Split of {split.symbol}, {split.quantity:.6g} for 1 on {on[:10]}", nth=nth,
        deployment_id=deployment_id, told=loads.NOTHING_TOLD,
        brought={"batches": [], "places": places, "made": [], "split": [split.symbol]},
    )  # fmt: skip
    return nth


def _spelled(tx: Tx, symbol: str) -> str:
    """A symbol as the book's fills spell it."""
    wanted = clean_line(symbol, "symbol", 1, 40).upper()
    query = select(fill_rows.c.symbol).where(fill_rows.c.owner == tx.owner, func.upper(fill_rows.c.symbol) == wanted)
    return str(tx.conn.execute(query.limit(1)).scalar() or wanted)


def keep_open_positions(tx: Tx, place: str, symbol: str, found: PairedFills) -> None:
    """Store the open lots of a symbol as its positions."""
    positions = lots_to_positions(place, found)
    gone = stamp(tx.clock())
    ended = max([*found.changed.values()], default=gone)
    close_lots(tx, place, symbol, {one[2:4] for one in positions}, min(ended, gone))
    keep_positions(tx, [(tx.owner, *one) for one in positions])


def refresh_open_positions(tx: Tx, place: str, symbols: Collection[str]) -> None:
    """Store the positions of these symbols anew from their stored lots, after a load was taken back or a split told."""
    lots, splits = open_lots(tx, place, symbols), known_splits(tx, place, symbols)
    for symbol in symbols:
        found = pair_fills(lots.get(symbol, []), splits.get(symbol, []))
        keep_open_positions(tx, place, symbol, found)


# Queries


def open_lots(tx: Tx, place: str | None, symbols: Collection[str] | None) -> dict[str, list[Fill]]:
    """The open lots of these symbols, or of all, the oldest first, in the units in which they were bought."""
    lots: dict[str, list[Fill]] = {}
    if place is None:
        return lots
    query = select(fill_rows).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.remaining != "0"
    )
    for row in tx.conn.execute(query.order_by(fill_rows.c.time, fill_rows.c.key)):
        if (symbols is None or row.symbol in symbols) and row.side in ("buy", "sell"):
            lots.setdefault(row.symbol, []).append(
                Fill(
                    row.time, row.symbol, row.side, Decimal(str(row.quantity)), row.price, row.key, row.fee,
                    multiplier=row.multiplier, remaining=Decimal(row.remaining), reason=row.reason,
                )
            )  # fmt: skip
    return lots


def known_splits(tx: Tx, place: str | None, symbols: Collection[str]) -> Mapping[str, Sequence[Fill]]:
    """The splits of these symbols, from the person and from files, each once and in the order of time."""
    said = select(split_rows).where(split_rows.c.owner == tx.owner)
    found = [
        Fill(row.time, row.symbol, SPLIT, Decimal(row.ratio), 0.0, f"split-{row.time}")
        for row in tx.conn.execute(said)
        if row.symbol in symbols
    ]
    told = select(fill_rows).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.side == SPLIT
    )
    found += [
        Fill(row.time, row.symbol, SPLIT, Decimal(str(row.quantity)), 0.0, row.key)
        for row in tx.conn.execute(told)
        if row.symbol in symbols
    ]
    by_symbol: dict[str, list[Fill]] = {}
    for one in sorted(found, key=lambda one: one.time):
        known = by_symbol.setdefault(one.symbol, [])
        if not any(is_same_split(one, other) for other in known):
            known.append(one)
    return by_symbol
