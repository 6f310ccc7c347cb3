"""Ledgers of exchanges: each trade is two or more lines, what was given and what came in, with the fees beside.

Legs that belong together are one fill of a pair. Its quote is the more money-like of the two: a currency of a country,
else a coin tied to one, else bitcoin, ether, BNB; else what was given.
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


@dataclass(slots=True)
class Legs:
    """The lines of one exchange of coins."""

    time: str
    gave: list[tuple[str, Decimal]] = field(default_factory=list)
    got: list[tuple[str, Decimal]] = field(default_factory=list)
    fees: list[tuple[Decimal, str]] = field(default_factory=list)
    lines: list[FileRow] = field(default_factory=list)

    def add(self, line: FileRow, coin: str, amount: Decimal) -> None:
        self.lines.append(line)
        (self.got if amount > 0 else self.gave).append((coin, abs(amount)))

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
    coins = {coin for coin, _ in legs}
    if len(coins) != 1:
        told = ", ".join(sorted(coins)) or "nothing"
        raise Invalid(f"{what} is {told}: one coin was to be there; load the exchange's list of trades instead")
    return coins.pop(), sum((amount for _, amount in legs), Decimal(0))


def legs_to_fill(legs: Legs, id: Any = None) -> Fill:
    """One fill; what came in parts is added up."""
    paid, paid_amount = _sum_of(legs.gave, "what was given")
    bought, amount = _sum_of(legs.got, "what came in")
    if paid == bought:
        raise Invalid(f"{paid} was given for {bought}: that is no trade")
    buys = _rank(paid) <= _rank(bought)
    if buys:
        base, quote = bought, paid
    else:
        base, quote = paid, bought
    if buys:
        quantity, worth = amount, paid_amount
    else:
        quantity, worth = paid_amount, amount
    if not quantity:
        raise Invalid("quantity is a number above 0", field="quantity")
    if buys:
        side = "buy"
    else:
        side = "sell"
    return make_fill(
        legs.lines[0], time=legs.time, symbol=values.symbol(f"{base}/{quote}"), side=side,
        quantity=quantity, price=worth / quantity, id=id, fees=tuple(legs.fees),
    )  # fmt: skip


def _rank(coin: str) -> int:
    if coin in MONEY:
        return MONEY.index(coin)
    return len(MONEY)
