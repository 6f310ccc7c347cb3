"""Pairs fills into round trips: first in, first out, for each symbol; pure, and exact in its quantities.

A fill in the direction of the open position adds to it. A fill against it closes the oldest first, in part if it is
smaller, and what is left of it opens the other side: a reversal. Fees stay with the quantity they were paid for, and
funding is charged to what is open when it comes.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from hashlib import blake2b
from typing import NamedTuple

FUNDING = "funding"


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution. `fee` is in the quote; `profit` is the file's own figure for it; `rows` where it stands.

    `quote` is the currency of its price, where the file says so and the symbol does not. `remaining` is what of it is
    open after pairing; None before.
    """

    time: str
    symbol: str
    side: str
    quantity: Decimal
    price: float
    key: str = ""
    fee: float = 0.0
    fees: tuple[tuple[Decimal, str], ...] = ()
    multiplier: float = 1.0
    profit: float | None = None
    rows: tuple[int, ...] = ()
    reason: str | None = None
    remaining: Decimal | None = None
    quote: str = ""

    @property
    def left(self) -> Decimal:
        return self.quantity if self.remaining is None else self.remaining


class Trip(NamedTuple):
    """A closed piece: one fill in, one out. `quantity` counts the contract's size."""

    key: str
    symbol: str
    side: str
    quantity: float
    entry_time: str
    entry_price: float
    exit_time: str
    exit_price: float
    fees: float
    entry_key: str
    exit_key: str
    entry_reason: str | None = None
    exit_reason: str | None = None

    @property
    def pnl(self) -> float:
        way = 1 if self.side == "long" else -1
        return way * (self.exit_price - self.entry_price) * self.quantity - self.fees


@dataclass(slots=True)
class PairedFills:
    """The result of pairing a symbol's fills. `open` are the lots that are left, oldest first, earlier ones
    included."""

    trips: list[Trip] = field(default_factory=list)
    open: list[Fill] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    """The keys of fills that became part of a round trip, or were charged to one."""
    unassigned: list[Fill] = field(default_factory=list)
    """Funding for which nothing was open."""


def pair_fills(opened: Sequence[Fill], coming: Iterable[Fill]) -> PairedFills:
    """Pair the fills of one symbol, in the order of time, with the lots that were open."""
    found = PairedFills(open=list(opened))
    for fill in coming:
        if fill.side == FUNDING:
            _charge(found, fill)
        else:
            _take(found, fill)
    return found


def _take(found: PairedFills, fill: Fill) -> None:
    left, fee = fill.left, fill.fee
    while left > 0 and found.open and found.open[0].side != fill.side:
        lot = found.open[0]
        part = min(lot.left, left)
        paid_in, paid_out = lot.fee * float(part / lot.left), fee * float(part / left)
        found.trips.append(_trip(lot, fill, part, paid_in + paid_out))
        found.touched |= {lot.key, fill.key}
        rest = replace(lot, remaining=lot.left - part, fee=lot.fee - paid_in)
        found.open[0:1] = [rest] if rest.left > 0 else []
        left, fee = left - part, fee - paid_out
    if left > 0:
        found.open.append(replace(fill, remaining=left, fee=fee))


def _charge(found: PairedFills, fill: Fill) -> None:
    whole = sum(lot.left for lot in found.open)
    if not whole:
        found.unassigned.append(fill)
        return
    found.touched.add(fill.key)
    found.open = [replace(lot, fee=lot.fee + fill.fee * float(lot.left / whole)) for lot in found.open]


def _trip(lot: Fill, out: Fill, part: Decimal, fees: float) -> Trip:
    return Trip(
        f"pair-{blake2b(f'{out.key}|{lot.key}'.encode(), digest_size=12).hexdigest()}",
        lot.symbol,
        "long" if lot.side == "buy" else "short",
        float(part) * lot.multiplier,
        lot.time,
        lot.price,
        out.time,
        out.price,
        fees,
        lot.key,
        out.key,
        lot.reason,
        out.reason,
    )
