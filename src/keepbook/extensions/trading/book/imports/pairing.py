"""Pairs fills into round trips: first in, first out, for each symbol; pure, and exact in its quantities.

A fill in the direction of the open position adds to it. A fill against it closes the oldest first, in part if it is
smaller, and what is left of it opens the other side: a reversal. Fees stay with the quantity they were paid for, and
funding is charged to what is open when it comes. A split makes more or fewer of what was bought before it; what expires
closes what is open, whichever way it was held, and opens nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from hashlib import blake2b
from typing import NamedTuple

FUNDING, SPLIT, EXPIRY, ASSIGNED, EXERCISED = "funding", "split", "expiry", "assigned", "exercised"
"""Sides besides `buy` and `sell`."""


class OptionTerms(NamedTuple):
    """What an option is on: its stock, `call` or `put`, and the strike."""

    underlying: str
    right: str
    strike: float


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution. `fee` is in the quote; `profit` is the file's own figure for it; `rows` where it stands.

    `quote` is the currency that its price and fee count in, where the file says so: it wins over that of the symbol.
    `account` is as the file names it. `remaining` is what of it is open after pairing; None before.

    Besides `buy` and `sell` a fill may be `funding` (its `fee` is what was paid); a `split` (`quantity` is how many
    there are for one: 4, or 0.1 for one for ten); an `expiry` (`quantity` contracts, 0 for all, end at `price`, which
    is 0 for worthless); `assigned` (it was short) or `exercised` (it was long), with its `option`: the option ends at
    0, and `quantity` times `multiplier` of the stock change hands at the strike.
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
    """What is paid for what it closes alone, and not for what it opens: the swap of a position that is turned over."""
    id_kind: str = ""
    """Which of several ids of a broker its key is of, where files hold one or another: the column's name."""
    closes_only: bool = False
    """It opens nothing with what it does not close: an exit by name."""
    spot: bool = False
    """Of an account that holds what it sells and is never short: what it sells beyond its lots it held before."""
    from_holding: bool = False
    """The file says that it sells what is held, where an account may be short: beyond the lots it was held before."""
    without_price: bool = False
    """What it ends was given away at a price that nobody knows, or as a fee: it is closed without a trade."""
    told_only: bool = False
    """It is stored as it was told, and paired as other fills that were made of it."""
    option: OptionTerms | None = None
    factor: Decimal = Decimal(1)
    """How many there are now for one of those that were bought: by this, `price` and `remaining` differ from then."""

    @property
    def left(self) -> Decimal:
        if self.remaining is None:
            return self.quantity
        return self.remaining


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
    """The result of pairing a symbol's fills. `open` are the lots that are left, oldest first, earlier ones
    included."""

    trips: list[Trip] = field(default_factory=list)
    open: list[Fill] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    """The keys of fills that became part of a round trip, or were charged to one."""
    unassigned: list[Fill] = field(default_factory=list)
    """Funding, expiries and exits for which nothing was open."""
    unopened: dict[str, Decimal] = field(default_factory=dict)
    """Of what only closes, by its key, how much was not opened here."""
    held_before: Decimal = Decimal(0)
    """How much was sold of what no lot is of."""
    changed: dict[str, str] = field(default_factory=dict)
    """When what is open of a fill last became less, or was split."""


_EXACT = Context(prec=60)
_DUST = Decimal("1e-9")
_SMALLEST = Decimal("1e-18")


def in_units_then(lot: Fill) -> Decimal:
    """What is left of a lot, counted as on the day on which it was bought."""
    if lot.factor == 1:
        return lot.left
    return _EXACT.divide(lot.left, lot.factor)


def settle_option(fill: Fill) -> tuple[Fill, Fill]:
    """An assignment or exercise as two fills: the option ends at nothing, the stock changes hands at the strike."""
    if fill.option is None:
        raise ValueError("an assignment names its option")
    underlying, right, strike = fill.option
    if (right == "call") == (fill.side == EXERCISED):
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
    """Pair the fills of one symbol, in the order of time, with the lots that were open."""
    found = PairedFills(open=list(opened))
    steps = {FUNDING: _charge, SPLIT: _split, EXPIRY: _expire}
    for fill in coming:
        steps.get(fill.side, _take)(found, fill)
    return found


def position_of(key: str) -> str:
    """The position that a fill belongs to by its key, `pos-17/in`: where a broker keeps several of one symbol apart.
    Such a fill closes nothing but its own."""
    start, mark, _ = key.partition("/")
    if mark and start.startswith("pos-"):
        return start
    return ""


def _take(found: PairedFills, fill: Fill) -> None:
    left, fee, position = fill.left, fill.fee, position_of(fill.key)
    if fill.closing_fee:
        closes = min(left, _closable(found.open, fill.side, position))
    else:
        closes = Decimal(0)
    if not closes:
        fee += fill.closing_fee
    while left > 0 and (place := _first_lot(found.open, fill.side, position)) is not None:
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
    if left > 0 and fill.side == "sell" and (fill.spot or fill.from_holding):
        found.held_before += left if left > fill.quantity * _DUST else 0
    elif left > 0 and fill.closes_only:
        found.unopened[fill.key] = left
        found.unassigned += [] if fill.key in found.touched else [fill]
    elif left > 0 and (left, fee) == (fill.left, fill.fee):  # as nearly always: it closed nothing
        found.open.append(fill)
    elif left > 0:
        found.open.append(replace(fill, remaining=left, fee=fee))


def _closable(lots: Sequence[Fill], side: str, position: str) -> Decimal:
    mine = (lot.left for lot in lots if position_of(lot.key) == position and lot.side != side)
    return sum(mine, Decimal(0))


def _first_lot(lots: Sequence[Fill], side: str, position: str) -> int | None:
    """Where the oldest lot of a position stands, if this side closes it."""
    if not position and lots and not position_of(lots[0].key):  # as nearly always
        return 0 if lots[0].side != side else None
    mine = (place for place, lot in enumerate(lots) if position_of(lot.key) == position)
    place = next(mine, None)
    if place is not None and lots[place].side != side:
        return place
    return None


def _split(found: PairedFills, fill: Fill) -> None:
    """What was bought before it is more, or fewer, at a price to match. Bought on its own instant it is new already."""
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
        found.unopened[fill.key] = fill.quantity - whole
    if found.open[0].side == "buy":
        way = "sell"
    else:
        way = "buy"
    quantity = min(fill.quantity or whole, whole)
    _take(found, replace(fill, side=way, quantity=quantity, reason=fill.reason or "expired"))


def _give_away(found: PairedFills, fill: Fill) -> None:
    """The oldest lots are less, and nothing is known of what came of it."""
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
    return Trip(
        f"pair-{blake2b(f'{out.key}|{lot.key}'.encode(), digest_size=12).hexdigest()}",
        lot.symbol,
        side,
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
