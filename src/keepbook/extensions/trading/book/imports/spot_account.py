"""Follows the coins of a spot account from pair to pair: a coin that is paid with counts as sold.

A file lists trades by pair. After buying bitcoin for euros and ether for that bitcoin, a person holds no bitcoin,
although no row sells BTC/EUR. So in an account that trades for money, a trade of one coin for another becomes two: a
sale of the first coin at its worth at that time, and a purchase of the second for the same amount. What was bought for
one currency and sold for another is counted in the first. The worth comes from the bars of the book or the fills of the
file, and a note says which. If there is no such price, the lots are closed without a figure and reported, so that
nothing stays open that is gone. A fee that is paid in a coin of its own leaves the lots of that coin too.

The original fill is stored beside the fills made from it, so that the same file is recognised later. In an account
without money, pairs are taken as they are.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from sqlalchemy import select

from keepbook.extensions.trading.book import skills
from keepbook.extensions.trading.book.currencies import rates
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.fees import rate_at, tell_rate
from keepbook.extensions.trading.book.imports.file import FileImport
from keepbook.extensions.trading.book.imports.open_lots import open_lots
from keepbook.extensions.trading.book.imports.pairing import EXPIRY, Fill
from keepbook.extensions.trading.book.imports.places import name_of_deployment
from keepbook.extensions.trading.book.market.symbols import MONEY
from keepbook.extensions.trading.book.skills import Deployment
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import loads as load_rows

_DUST = Decimal("1e-9")
"""A share up to this is a rounding error."""
_FINEST = Decimal("1e-12")  # amounts are rounded to this
Figures = tuple[str, str, str, float]
"""Symbol, side, time and price of a fill."""


@dataclass(slots=True)
class Holdings:
    """How much is open of each coin, by the currency it was bought with."""

    lots: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, symbol: str, quantity: Decimal) -> None:
        coin, quote = values.split_symbol(symbol)
        mine = self.lots.setdefault(coin, {})
        mine[quote] = mine.get(quote, Decimal(0)) + quantity

    def take(self, coin: str, quantity: Decimal, first: str = "") -> list[tuple[str, Decimal]]:
        """Take a quantity of a coin, as far as there is enough. Returns how much was taken, by the currency it was
        bought with: first `first`, then the same money under another name (USD and USDT), other money, and coins."""
        mine, found = self.lots.get(coin, {}), []
        left = quantity
        others = [name for name in mine if name != first]
        others.sort(key=lambda name: (name not in MONEY, not rates.same_money(name, first)))
        for quote in [first, *others]:
            held = mine.get(quote, Decimal(0))
            part = min(held, left)
            if abs(held - left) < quantity * _DUST:  # all of it: no dust is left
                part = held
            if part > 0 and left > 0:
                mine[quote] = held - part
                found.append((quote, part))
                left = max(left - part, Decimal(0))
        return found


@dataclass(slots=True)
class StoredFills:
    """The stored fills of the account: the currency of their deployment, by key, and for fills from a file of another
    format by their figures. `left` counts those not yet matched."""

    by_key: dict[str, str]
    by_figures: dict[Figures, str]
    left: Counter[Figures]

    def place_of(self, one: Fill) -> str | None:
        """The currency of the deployment that has this fill; None if there is none."""
        if one.key in self.by_key:
            return self.by_key[one.key]
        figures = _figures(one)
        if self.left[figures] > 0:
            self.left[figures] -= 1
            return self.by_figures[figures]
        return None


# Rules


def _figures(one: Fill) -> Figures:
    return one.symbol, one.side, one.time, one.price


def _crosses(fills: Iterable[Fill], places: Sequence[Deployment]) -> bool:
    """Whether coins can move from one pair to another; in most files they cannot, and nothing is to be done."""
    spot_fills = [one for one in fills if one.spot]
    pairs = {values.split_symbol(one.symbol) for one in spot_fills}
    fee_coins = {coin for one in spot_fills for _, coin in one.fees}
    currencies = {quote for _, quote in pairs} | {one.currency for one in places}
    return len(currencies) > 1 or bool((fee_coins | currencies) & {base for base, _ in pairs})


def _paid(one: Fill) -> Decimal:
    """The amount of the quote currency that was paid or received."""
    base = values.split_symbol(one.symbol)[0]
    in_base = sum((fee for fee, coin in one.fees if coin == base and one.side == "buy"), Decimal(0))
    return ((one.quantity + in_base) * Decimal(repr(one.price))).quantize(_FINEST)


def _share(one: Fill, share: Decimal, **changed: object) -> Fill:
    """A part of a fill, with its part of the fees; `changed` are fields that are set to other values."""
    if share == 1 and not changed:
        return one
    fees = tuple((fee * share, coin) for fee, coin in one.fees)
    quantity = one.quantity
    if share != 1:
        quantity *= share
    told: dict[str, object] = {"quantity": quantity, "fees": fees, "fee": one.fee * float(share), "profit": None}
    return replace(one, **{**told, **changed})  # type: ignore[arg-type]


def _main_money(fills: Iterable[Fill], places: Sequence[Deployment], ref: str | None) -> str:
    """The currency that an account mostly trades for; "" if it has coins alone."""
    if ref is not None:
        return next((one.currency for one in places if one.currency in MONEY), "")
    quotes = Counter(values.split_symbol(one.symbol)[1] for one in fills if one.spot)
    known = [quote for quote, _ in quotes.most_common()] + [one.currency for one in places]
    return next((quote for quote in known if quote in MONEY), "")


def _given_away(one: Fill, coin: str, quote: str, quantity: Decimal, why: str) -> Fill:
    return Fill(
        one.time, f"{coin}/{quote}", EXPIRY, quantity, 0.0, rows=one.rows, reason=why, account=one.account,
        without_price=True, spot=True,
    )  # fmt: skip


def _sold(one: Fill, coin: str, money: str, quantity: Decimal, price: float, why: str) -> Fill:
    return replace(
        one, symbol=f"{coin}/{money}", side="sell", quantity=quantity, price=price, fees=(), fee=0.0, profit=None,
        quote="", reason=why,
    )  # fmt: skip


def _received(one: Fill, share: Decimal, coin: str, money: str, price: float) -> Fill:
    """The coin that a sale brought, as a purchase for money, with the sale's fees."""
    paid = sum((fee for fee, name in one.fees if name == coin), Decimal(0)) * share
    return _share(
        one, share, symbol=f"{coin}/{money}", side="buy", quantity=(_paid(one) * share - paid).quantize(_FINEST),
        price=price, quote="",
    )  # fmt: skip


# Operations


@dataclass(slots=True)
class SpotAccount:
    """One account while its trades are followed. `money` is the currency that it mostly trades for; "" if none."""

    tx: Tx
    work: FileImport
    stored: StoredFills
    money: str
    held: Holdings = field(default_factory=Holdings)

    def follow(self, one: Fill) -> list[Fill]:
        """The fills to store for a fill: itself; or, if coins move, itself as `told_only` and those made from it."""
        if not one.spot or one.side not in ("buy", "sell"):
            return [one]
        currency = self.stored.place_of(one)
        if currency is not None:
            return [replace(one, quote=one.quote or currency)]
        made = self._buy(one) if one.side == "buy" else self._sell(one)
        made += self._fees_paid(one)
        if len(made) == 1 and made[0].symbol == one.symbol:
            return made
        parts = [replace(part, key=f"{one.key}-{nth}") for nth, part in enumerate(made, 1)]
        home = values.split_symbol(parts[0].symbol)[1] if parts else self.money
        return [replace(one, told_only=True, quote=home, fees=(), fee=0.0), *parts]

    def _buy(self, one: Fill) -> list[Fill]:
        """The fills for a purchase. If it was paid with a coin, it is split by the currencies for which that coin was
        bought; what is left of it, as a share, stays a purchase of the pair."""
        base, quote = values.split_symbol(one.symbol)
        whole, left, made = _paid(one), Decimal(1), list[Fill]()
        lots: list[tuple[str, Decimal]] = []
        if quote not in MONEY and whole > 0:
            lots = self.held.take(quote, whole)
        for money, part in lots:
            share = min(part / whole, left)
            paired = self._exchanged(one, share, part, money)
            if paired:
                left -= share
                made += paired
            else:
                made.append(self._without_price(one, quote, money, part, f"given for {base}"))
        if left > _DUST and quote not in MONEY and self.money not in ("", base):
            paired = self._exchanged(one, left, whole * left, self.money)
            made += paired
            if paired:
                left = Decimal(0)
        if left > _DUST:
            made.append(_share(one, left))
        for part_of in made:
            if part_of.side == "buy":
                self.held.add(part_of.symbol, part_of.quantity)
        return made

    def _exchanged(self, one: Fill, share: Decimal, paid: Decimal, money: str) -> list[Fill]:
        """A purchase that was paid with a coin, as a sale of that coin and a purchase for money. Empty if the worth of
        the coin is not known."""
        base, quote = values.split_symbol(one.symbol)
        worth = self._worth(one, quote, money, float(paid))
        if worth is None:
            return []
        return [
            _sold(one, quote, money, paid, worth, f"given for {base}"),
            _share(one, share, symbol=f"{base}/{money}", price=one.price * worth, quote=""),
        ]

    def _sell(self, one: Fill) -> list[Fill]:
        """The fills for a sale, which is split by the currencies for which its coin was bought. `own` and `left` are
        the shares that were bought for this quote, and of which no purchase is known."""
        base, quote = values.split_symbol(one.symbol)
        own, left, made = Decimal(0), Decimal(1), []
        for money, part in self.held.take(base, one.quantity, quote):
            share = min(part / one.quantity, left)
            left -= share
            if money == quote:
                own = share
                continue
            paired = self._sold_for(one, share, part, money)
            made += paired or [self._without_price(one, base, money, part, f"sold for {quote}")]
        if left > _DUST and quote not in MONEY and self.money not in ("", base):
            paired = self._sold_for(one, left, one.quantity * left, self.money)
            if not paired:
                self._tell_held_before(one.symbol, one.quantity * left)
            made += paired
            left = Decimal(0)
        if own + left > _DUST:
            made.append(_share(one, own + left))
        for part_of in made:
            if part_of.side == "buy":
                self.held.add(part_of.symbol, part_of.quantity)
        return made

    def _sold_for(self, one: Fill, share: Decimal, quantity: Decimal, money: str) -> list[Fill]:
        """A sale for another currency than its lots were bought with, counted in the latter. If it brought a coin, that
        is a purchase for the same amount. Empty if the worth is not known."""
        base, quote = values.split_symbol(one.symbol)
        worth = self._worth(one, quote, money, float(_paid(one) * share))
        if worth is None:
            return []
        if quote in MONEY:
            return [_share(one, share, quantity=quantity, symbol=f"{base}/{money}", price=one.price * worth, quote="")]
        return [
            _sold(one, base, money, quantity, one.price * worth, f"given for {quote}"),
            _received(one, share, quote, money, worth),
        ]

    def _without_price(self, one: Fill, coin: str, money: str, quantity: Decimal, why: str) -> Fill:
        self._tell_away(f"{coin}/{money}", quantity, f"{why} at a price that is not known")
        return _given_away(one, coin, money, quantity, why)

    def _tell_held_before(self, symbol: str, quantity: Decimal) -> None:
        self.work.held_before[symbol] = self.work.held_before.get(symbol, 0.0) + float(quantity)

    def _worth(self, one: Fill, coin: str, money: str, amount: float) -> float | None:
        """What a coin was worth in money: by its own rate, else by that of the coin it was traded for."""
        base = values.split_symbol(one.symbol)[0]
        for name, size in ((coin, 1.0), (base, one.price)):
            found = rate_at(self.tx, self.work, name, money, one.time)
            if found is not None:
                tell_rate(self.work, name, money, amount / size, found, "trades")
                return found.value / size
        return None

    def _fees_paid(self, one: Fill) -> list[Fill]:
        """Fills that take fees out of the lots of a coin. A fee that was deducted from the trade itself is none: that
        part of it never came in."""
        base, quote = values.split_symbol(one.symbol)
        away = []
        for fee, coin in one.fees:
            taken_out = coin == (base if one.side == "buy" else quote)
            if fee > 0 and coin not in MONEY and not taken_out:
                for money, part in self.held.take(coin, fee):
                    self._tell_away(f"{coin}/{money}", part, "paid as fees")
                    away.append(_given_away(one, coin, money, part, "paid as a fee"))
        return away

    def _tell_away(self, symbol: str, quantity: Decimal, why: str) -> None:
        before = self.work.given_away.get((symbol, why), 0.0)
        self.work.given_away[symbol, why] = before + float(quantity)


def follow_coins(tx: Tx, work: FileImport, ref: str | None) -> None:
    """Replace each fill that moves coins between pairs by the fills that `SpotAccount.follow` makes of it."""
    places = _places(tx, work, ref)
    if not _crosses(work.fills, places):
        return
    account = SpotAccount(tx, work, _stored(tx, work, places), _main_money(work.fills, places, ref))
    for place in places:
        for lots in open_lots(tx, place.id, None).values():
            for lot in lots:
                account.held.add(lot.symbol, lot.left)
    work.fills = [each for one in work.fills for each in account.follow(one)]


# Queries


def _places(tx: Tx, work: FileImport, ref: str | None) -> list[Deployment]:
    """The account's deployments in this book: the named one, else those with the account's name in any currency."""
    if ref is not None:
        found = skills.deployment_called(tx, ref)
        if found is None:
            return []
        return [found]
    title, whose = work.format.title, work.format.whose
    accounts = {one.account for one in work.fills if one.spot}
    return [
        one
        for one in skills.list_deployments(tx)
        if any(one.name == name_of_deployment(title, account, one.currency, whose=whose) for account in accounts)
    ]


def _stored(tx: Tx, work: FileImport, places: Sequence[Deployment]) -> StoredFills:
    said = tx.conn.execute(select(load_rows.c.nth, load_rows.c.title).where(load_rows.c.owner == tx.owner))
    titles = {row.nth: row.title for row in said}
    currencies = {one.id: one.currency for one in places}
    found = StoredFills({}, {}, Counter())
    mine = select(fill_rows).where(fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id.in_(currencies))
    times = [one.time for one in work.fills]
    for row in tx.conn.execute(mine.where(fill_rows.c.time >= min(times), fill_rows.c.time <= max(times))):
        currency = currencies[row.deployment_id]
        found.by_key[row.key] = currency
        if titles.get(row.load) != work.format.title:
            figures = (row.symbol, row.side, row.time, row.price)
            found.by_figures[figures] = currency
            found.left[figures] += 1
    return found
