"""Makes fills from ledgers of exchanges, in which a trade is two or more lines: what was given, what came in, and fees.

Such lines are called legs. Legs that belong together are one fill of a pair. The quote of the pair is the coin that is
more like money: a currency of a country first, then a coin tied to one, then bitcoin, ether and BNB. If neither is, it
is the coin that was given.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import make_fill
from keepbook.extensions.trading.book.imports.pairing import Fill
from keepbook.extensions.trading.book.imports.table import FileRow
from keepbook.extensions.trading.book.market.symbols import ALL_COUNTRIES, COINS

MONEY = (*ALL_COUNTRIES, *COINS, "BTC", "ETH", "BNB")
"""Coins and currencies that may be the quote of a pair, the likeliest first."""


@dataclass(slots=True)
class Legs:
    """The lines of one trade: `gave` and `got` are (coin, amount), `fees` (amount, coin)."""

    time: str
    gave: list[tuple[str, Decimal]] = field(default_factory=list)
    got: list[tuple[str, Decimal]] = field(default_factory=list)
    fees: list[tuple[Decimal, str]] = field(default_factory=list)
    lines: list[FileRow] = field(default_factory=list)

    def add(self, line: FileRow, coin: str, amount: Decimal) -> None:
        """Add a leg; a positive amount came in, a negative one was given."""
        self.lines.append(line)
        side = self.got if amount > 0 else self.gave
        side.append((coin, abs(amount)))

    def add_fee(self, line: FileRow, coin: str, amount: Decimal) -> None:
        self.lines.append(line)
        self.fees.append((amount, coin))

    def join(self, other: "Legs") -> None:
        """Take in the other half of the same trade."""
        self.gave, self.got, self.fees = self.gave + other.gave, self.got + other.got, self.fees + other.fees
        self.lines += other.lines

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(line.row for line in self.lines)


def _sum_of(legs: Sequence[tuple[str, Decimal]], what: str) -> tuple[str, Decimal]:
    """The coin of these legs, and the sum of their amounts. Raises `Invalid` if there are several coins, or none."""
    coins = {coin for coin, _ in legs}
    if len(coins) != 1:
        told = ", ".join(sorted(coins)) or "nothing"
        raise Invalid(f"{what} is {told}: one coin was to be there; load the exchange's list of trades instead")
    return coins.pop(), sum((amount for _, amount in legs), Decimal(0))


def legs_to_fill(legs: Legs, id: Any = None) -> Fill:
    """The fill of a trade; the amounts of several legs are added up."""
    given, given_amount = _sum_of(legs.gave, "what was given")
    received, received_amount = _sum_of(legs.got, "what came in")
    if given == received:
        raise Invalid(f"{given} was given for {received}: that is no trade")
    if _rank(given) <= _rank(received):
        side, base, quantity, quote, worth = "buy", received, received_amount, given, given_amount
    else:
        side, base, quantity, quote, worth = "sell", given, given_amount, received, received_amount
    if not quantity:
        raise Invalid("quantity is a number above 0", field="quantity")
    return make_fill(
        legs.lines[0], time=legs.time, symbol=values.symbol(f"{base}/{quote}"), side=side,
        quantity=quantity, price=worth / quantity, id=id, fees=tuple(legs.fees),
    )  # fmt: skip


def _rank(coin: str) -> int:
    """The lower, the more a coin is like money."""
    if coin in MONEY:
        return MONEY.index(coin)
    return len(MONEY)
