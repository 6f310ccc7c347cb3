"""Pairs fills into round trips: first in, first out, for each symbol; pure, and exact in its quantities.

A lot is a fill of which something is still open. A fill in the direction of the open lots becomes a further lot. A fill
in the other direction closes the oldest lot first, or a part of it; if the fill is larger than all lots, the rest of it
opens a position on the other side: a reversal. Fees are shared out by quantity. Funding is charged to the lots that are
open when it comes. A split changes the quantity and price of the lots bought before it. An expiry closes long and short
lots alike, and opens nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from hashlib import blake2b
from typing import NamedTuple

FUNDING, SPLIT, EXPIRY, ASSIGNED, EXERCISED = "funding", "split", "expiry", "assigned", "exercised"
"""Sides besides `buy` and `sell`."""


class OptionTerms(NamedTuple):
    """An option's stock, its right (`call` or `put`), and its strike."""

    underlying: str
    right: str
    strike: float


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution. `fee` is in the quote; `profit` is the file's own figure for it; `rows` are its rows in the file.

    `quote` is the currency of its price and fee, if the file says it: it wins over that of the symbol. `account` is as
    the file names it. `remaining` is how much of it is still open after pairing; None before.

    What `quantity` and `price` mean depends on `side`:

    - `buy`, `sell`: how much, and at what price
    - `funding`: neither; its `fee` is what was paid
    - `split`: `quantity` is how many there are now for one: 4, or 0.1 in a split of one for ten
    - `expiry`: `quantity` contracts end (0 for all that are open) at `price`, which is 0 if they are worthless
    - `assigned` (the option was held short), `exercised` (it was held long): `quantity` contracts of `option` end at 0,
      and `quantity` times `multiplier` of the stock change hands at the strike
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
    account: str = ""
    closing_fee: float = 0.0
    """A fee for the closed quantity alone, such as the swap of a position; a reversal pays it for what it closes."""
    id_kind: str = ""
    """The column that its key was read from, for brokers whose files have several ids."""
    closes_only: bool = False
    """The file calls it an exit: what exceeds the open lots is reported, and never opens the other side."""
    spot: bool = False
    """The account cannot be short, so that it must have held before what it sells beyond the open lots."""
    from_holding: bool = False
    """The account can be short, but this row says that it sells a holding; the same follows for this row."""
    without_price: bool = False
    """It was given away at an unknown price, or paid as a fee: the lots end without a trade."""
    told_only: bool = False
    """It is stored but not paired: other fills were made from it, and those are paired."""
    option: OptionTerms | None = None
    factor: Decimal = Decimal(1)
    """The product of all splits since the purchase; `price` and `remaining` are already adjusted by it."""

    @property
    def left(self) -> Decimal:
        """How much of it is still to be paired."""
        if self.remaining is None:
            return self.quantity
        return self.remaining


class Trip(NamedTuple):
    """A closed piece: one fill in, one out. `quantity` is multiplied by the contract's size. Pairing leaves `quote` and
    `account` empty: whoever pairs knows them, and sets them."""

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
    quote: str = ""
    account: str = ""

    @property
    def pnl(self) -> float:
        if self.side == "long":
            way = 1
        else:
            way = -1
        return way * (self.exit_price - self.entry_price) * self.quantity - self.fees


@dataclass(slots=True)
class PairedFills:
    """The result of pairing a symbol's fills. `open` are the lots that are left, old and new ones, oldest first."""

    trips: list[Trip] = field(default_factory=list)
    open: list[Fill] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    """The keys of fills that became part of a round trip, or were charged to one."""
    unassigned: list[Fill] = field(default_factory=list)
    """Funding, expiries and exits for which nothing was open."""
    closed_without_lot: dict[str, Decimal] = field(default_factory=dict)
    """By the key of an exit or expiry: the quantity that it closed beyond the open lots."""
    held_before: Decimal = Decimal(0)
    """The quantity sold for which there was no lot, because it was held before the first fill."""
    changed: dict[str, str] = field(default_factory=dict)
    """By the key of a lot: when it last became smaller, or was split."""


_EXACT = Context(prec=60)
_DUST = Decimal("1e-9")
"""The part of a fill that is a rounding error of the file."""
_SMALLEST = Decimal("1e-18")
"""The smallest quantity that a split may leave."""


def in_units_then(lot: Fill) -> Decimal:
    """What is left of a lot, in the units in which it was bought: without the splits since."""
    if lot.factor == 1:
        return lot.left
    return _EXACT.divide(lot.left, lot.factor)


def settle_option(fill: Fill) -> tuple[Fill, Fill]:
    """An assignment or exercise as two fills: the option ends at 0, and the stock changes hands at the strike."""
    if fill.option is None:
        raise ValueError("an assignment names its option")
    underlying, right, strike = fill.option
    is_exercised = fill.side == EXERCISED
    gets_stock = (right == "call" and is_exercised) or (right != "call" and not is_exercised)
    if gets_stock:
        way = "buy"
    else:
        way = "sell"
    ended = replace(fill, side=EXPIRY, price=0.0, reason=fill.reason or fill.side, option=None)
    shares = fill.quantity * Decimal(str(fill.multiplier))
    key = ""
    if fill.key:
        key = f"{fill.key}-stock"
    stock = Fill(
        fill.time, underlying, way, shares, strike, key, rows=fill.rows, reason=fill.side, quote=fill.quote,
        account=fill.account,
    )  # fmt: skip
    return ended, stock


def pair_fills(opened: Sequence[Fill], coming: Iterable[Fill]) -> PairedFills:
    """Pair the fills of one symbol, which are in the order of time, with the lots that were open."""
    found = PairedFills(open=list(opened))
    steps = {FUNDING: _charge, SPLIT: _split, EXPIRY: _expire}
    for fill in coming:
        steps.get(fill.side, _take)(found, fill)
    return found


def position_of(key: str) -> str:
    """The position that a fill names in its key: `pos-17` of `pos-17/in`; "" if it names none. Brokers that keep
    several positions in one symbol apart do so. Such a fill closes nothing but lots of its own position."""
    start, mark, _ = key.partition("/")
    if mark and start.startswith("pos-"):
        return start
    return ""


def _take(found: PairedFills, fill: Fill) -> None:
    left, fee, position = fill.left, fill.fee, position_of(fill.key)
    closes = Decimal(0)
    if fill.closing_fee:
        closes = min(left, _closable(found.open, fill.side, position))
    if not closes:  # the fill only opens: its closing fee, if there is one, is charged to the new lot
        fee += fill.closing_fee
    while left > 0:
        place = _first_lot(found.open, fill.side, position)
        if place is None:
            break
        lot = found.open[place]
        part = min(lot.left, left)
        paid_in, paid_out = lot.fee * float(part / lot.left), fee * float(part / left)
        if closes:
            settled = fill.closing_fee * float(part / closes)
        else:
            settled = 0.0
        found.trips.append(_trip(lot, fill, part, paid_in + paid_out + settled))
        found.touched |= {lot.key, fill.key}
        found.changed[lot.key] = fill.time
        if lot.left > part:
            found.open[place] = replace(lot, remaining=lot.left - part, fee=lot.fee - paid_in)
        else:
            del found.open[place]
        left, fee = left - part, fee - paid_out
    if left > 0:
        _take_rest(found, fill, left, fee)


def _take_rest(found: PairedFills, fill: Fill, left: Decimal, fee: float) -> None:
    """What a fill did not close: held before, reported, or a new lot."""
    sells_holding = fill.side == "sell" and (fill.spot or fill.from_holding)
    if sells_holding:
        if left > fill.quantity * _DUST:
            found.held_before += left
    elif fill.closes_only:
        found.closed_without_lot[fill.key] = left
        if fill.key not in found.touched:
            found.unassigned.append(fill)
    elif (left, fee) == (fill.left, fill.fee):  # as nearly always: it closed nothing
        found.open.append(fill)
    else:
        found.open.append(replace(fill, remaining=left, fee=fee))


def _closable(lots: Sequence[Fill], side: str, position: str) -> Decimal:
    """How much a fill of this side could close of a position."""
    mine = (lot.left for lot in lots if position_of(lot.key) == position and lot.side != side)
    return sum(mine, Decimal(0))


def _first_lot(lots: Sequence[Fill], side: str, position: str) -> int | None:
    """The index of the oldest lot of a position, if this side closes it."""
    mine = (place for place, lot in enumerate(lots) if position_of(lot.key) == position)
    place = next(mine, None)
    if place is not None and lots[place].side != side:
        return place
    return None


def _split(found: PairedFills, fill: Fill) -> None:
    """Change quantity and price of the lots bought before it. Fills at its own instant count in the new units."""
    ratio = fill.quantity
    for place, lot in enumerate(found.open):
        if lot.time < fill.time:
            left = _EXACT.multiply(lot.left, ratio).quantize(_SMALLEST, context=_EXACT).normalize(_EXACT)
            price, factor = lot.price / float(ratio), _EXACT.multiply(lot.factor, ratio)
            found.open[place] = replace(lot, remaining=left, price=price, factor=factor)
            found.changed[lot.key] = fill.time
            found.touched.add(fill.key)


def _expire(found: PairedFills, fill: Fill) -> None:
    whole = sum((lot.left for lot in found.open), Decimal(0))
    if fill.without_price:
        _give_away(found, fill)
        return
    if not whole:
        found.unassigned.append(fill)
        return
    if fill.quantity > whole:
        found.closed_without_lot[fill.key] = fill.quantity - whole
    if found.open[0].side == "buy":
        way = "sell"
    else:
        way = "buy"
    quantity = min(fill.quantity or whole, whole)
    _take(found, replace(fill, side=way, quantity=quantity, reason=fill.reason or "expired"))


def _give_away(found: PairedFills, fill: Fill) -> None:
    """Take the quantity from the oldest lots, without a trip: nobody knows the price."""
    left = fill.quantity
    while left > 0 and found.open:
        lot = found.open[0]
        part = min(lot.left, left)
        found.changed[lot.key] = fill.time
        rest = replace(lot, remaining=lot.left - part, fee=lot.fee * float(1 - part / lot.left))
        if rest.left > 0:
            found.open[:1] = [rest]
        else:
            found.open[:1] = []
        left -= part


def _charge(found: PairedFills, fill: Fill) -> None:
    whole = sum(lot.left for lot in found.open)
    if not whole:
        found.unassigned.append(fill)
        return
    found.touched.add(fill.key)
    found.open = [replace(lot, fee=lot.fee + fill.fee * float(lot.left / whole)) for lot in found.open]


def _trip(lot: Fill, out: Fill, part: Decimal, fees: float) -> Trip:
    if lot.side == "buy":
        side = "long"
    else:
        side = "short"
    digest = blake2b(f"{out.key}|{lot.key}".encode(), digest_size=12).hexdigest()
    return Trip(
        key=f"pair-{digest}",
        symbol=lot.symbol,
        side=side,
        quantity=float(part) * lot.multiplier,
        entry_time=lot.time,
        entry_price=lot.price,
        exit_time=out.time,
        exit_price=out.price,
        fees=fees,
        entry_key=lot.key,
        exit_key=out.key,
        entry_reason=lot.reason,
        exit_reason=out.reason,
    )
