"""Resolves symbols: `ETHUSDT`, `ETH/USDT` and `ETH/USDT:USDT` are one market to trades, bars, decisions and events.

New symbols are stored in one spelling (`spell_market`); older ones, and those of others, are compared without signs. A
symbol is looked up among those that have bars: first its exact spelling, then the same letters without signs, then a
coin or share without its currency if there is one pair of it, or the other way round. If several fit, the caller
decides. A contract with a date (a future, an option) is a market of its own.
"""

from collections.abc import Sequence
from functools import lru_cache

from sqlalchemy import Connection

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.market import bars
from keepbook.patterns import regex

COINS = ("FDUSD", "USDT", "USDC", "BUSD", "TUSD", "DAI")
"""Currencies in which only coins are priced, so `ETHUSDT` can only be a pair."""
COUNTRIES = ("USD", "EUR", "GBP", "JPY", "CHF", "AUD", "CAD", "NZD", "TRY", "BRL")
ALL_COUNTRIES = (
    *COUNTRIES, "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "RON", "HKD", "SGD", "MXN", "ZAR", "INR", "KRW", "CNY",
)  # fmt: skip
"""COUNTRIES, and more currencies that do not count at the end of a symbol without a sign: a share's name may end so."""
MONEY = frozenset((*ALL_COUNTRIES, *COINS))
"""What counts as money and not as a holding: currencies of countries, and coins tied to one."""
CURRENCIES = (*COINS, *COUNTRIES, "BTC", "ETH", "BNB")
"""Currencies that are recognised at the end of a symbol without a sign; longer ones first."""
_SIGNS = regex(r"[/\-_. ]")
_PERPETUAL = regex(r"(?:[.\-_]?(?:PERP|SWAP)|\.P)$")
_DIGIT = regex(r"\d")
SHOWN = 6  # symbols that an error lists


# Rules


@lru_cache(maxsize=4096)
def split_currency(symbol: str) -> tuple[str, str | None]:
    """The traded base, and the currency it is priced in, if the symbol names one."""
    name = _undressed(symbol)
    for mark in ("/", "-", "_", "."):
        base, _, rest = name.partition(mark)
        quote = rest.partition("-")[0].partition("_")[0]
        if base and quote and _is_currency(quote, mark):
            return base, quote
    for currency in CURRENCIES:
        if name.endswith(currency) and len(name) > len(currency) + 1 and name.isalnum():
            return name.removesuffix(currency), currency
    return name, None


def _is_currency(text: str, mark: str) -> bool:
    """Whether the text after a mark is a currency. In `BRK.B`, `BRK/B` and `BF-B`, which are shares, it is not."""
    return text in CURRENCIES or (mark != "." and len(text) >= 3 and text.isalpha())


def _undressed(symbol: str) -> str:
    """The symbol without an exchange (`BINANCE:ETHUSDT`), a settlement currency (`ETH/USDT:USDT`), and `PERP`."""
    name = symbol.strip().upper()
    first, mark, second = name.partition(":")
    if mark and ("/" in first or first.endswith(CURRENCIES)):
        return first
    if mark and second.strip():
        return _PERPETUAL.sub("", second.strip())
    return _PERPETUAL.sub("", first)


@lru_cache(maxsize=4096)
def spell_market(symbol: str, *, currencies: bool = False) -> str:
    """A symbol in the stored spelling: `ETH/USDT`. `EURUSD` stays as it is, because it may be a share, unless it is
    from a file of `currencies`."""
    name = " ".join(symbol.split()).upper()
    plain, settled = _undressed(name), name.partition(":")[2]
    if _DIGIT.search(settled) and "/" in plain:
        return name  # a future with its date
    base, quote = split_currency(name)
    if quote is None or plain.removeprefix(base).partition(quote)[2]:
        return plain
    if currencies or quote in COINS or not plain.isalnum():
        return f"{base}/{quote}"
    return plain


def matching(symbol: str, known: Sequence[str]) -> list[str]:
    """The known symbols that a symbol may mean, by the closest kind of match that finds any."""
    letters, (base, currency) = market_letters(symbol), split_currency(symbol)
    likenesses = (
        lambda one: one == symbol,
        lambda one: one == spell_market(symbol, currencies=True),
        lambda one: market_letters(one) == letters,
        lambda one: currency is None and split_currency(one)[0] == base,
        lambda one: currency is not None and split_currency(one) == (base, None),
    )
    for alike in likenesses:
        found = [one for one in known if alike(one)]
        if found:
            return found
    return []


@lru_cache(maxsize=4096)
def market_letters(symbol: str) -> str:
    """The letters of a symbol without signs; all symbols of one market have the same."""
    return _SIGNS.sub("", spell_market(symbol, currencies=True))


# Queries


def resolve_symbol(conn: Connection, symbol: str) -> str:
    """The symbol under which the bars are stored; the given one if none or several fit."""
    found = _matching_symbols(conn, symbol)
    if len(found) == 1:
        return found[0]
    return symbol


def resolve_unambiguous(conn: Connection, symbol: str) -> str:
    """`resolve_symbol` for a new card: if several fit, it raises, and the author has to say which."""
    found = _matching_symbols(conn, symbol)
    if len(found) > 1:
        choices = ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        raise Invalid(
            f"symbol: {symbol} may mean {choices}; say which", field="symbol", code="invalid_card", choices=found
        )
    if found:
        return found[0]
    return symbol


def _matching_symbols(conn: Connection, symbol: str) -> list[str]:
    if bars.timeframes(conn, symbol):  # the exact spelling: the others need not be compared
        return [symbol]
    return matching(symbol, bars.symbols(conn))
