"""Resolves symbols: `BTC`, `BTCUSDT` and `BTC/USDT` are the same if there are bars of one of them.

The bars' own spelling always means itself. Else the same letters without signs between them count; else a coin or a
share without its currency, if there is one pair of it, or the other way round. If several fit, the caller decides.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.market import bars
from keepbook.patterns import regex

CURRENCIES = ("USDT", "USDC", "FDUSD", "BUSD", "USD", "DAI", "EUR", "GBP", "JPY", "CHF", "TRY", "BTC", "ETH", "BNB")
"""What a price is told in, where no sign parts it from what is priced; longer ones first."""
_SIGNS = regex(r"[/\-_. ]")
SHOWN = 6


# Rules


def split_currency(symbol: str) -> tuple[str, str | None]:
    """The traded base, and the currency it is priced in, if the symbol names one."""
    name = symbol.strip().upper()
    first, *rest = _SIGNS.split(name, maxsplit=1)
    if rest:
        return first, rest[0]
    for currency in CURRENCIES:
        if name.endswith(currency) and len(name) > len(currency) + 1:
            return name.removesuffix(currency), currency
    return name, None


def matching(symbol: str, known: Sequence[str]) -> list[str]:
    """The known symbols that it may mean, by the closest kind of match that there is."""
    letters, (base, currency) = _letters(symbol), split_currency(symbol)
    likenesses = (
        lambda one: one == symbol,
        lambda one: _letters(one) == letters,
        lambda one: currency is None and split_currency(one)[0] == base,
        lambda one: currency is not None and split_currency(one) == (base, None),
    )
    for alike in likenesses:
        if found := [one for one in known if alike(one)]:
            return found
    return []


def _letters(symbol: str) -> str:
    return _SIGNS.sub("", symbol.strip().upper())


# Queries


def resolve_symbol(conn: Connection, symbol: str) -> str:
    """The name under which the bars are stored; the symbol itself if none or several fit."""
    found = _matching_symbols(conn, symbol)
    return found[0] if len(found) == 1 else symbol


def resolve_unambiguous(conn: Connection, symbol: str) -> str:
    """`resolve_symbol` for a new card: if several fit, it raises, and the author has to say which."""
    found = _matching_symbols(conn, symbol)
    if len(found) > 1:
        choices = ", ".join(found[:SHOWN]) + (f" and {len(found) - SHOWN} more" if len(found) > SHOWN else "")
        raise Invalid(
            f"symbol: {symbol} may mean {choices}; say which", field="symbol", code="invalid_card", choices=found
        )
    return found[0] if found else symbol


def _matching_symbols(conn: Connection, symbol: str) -> list[str]:
    if bars.timeframes(conn, symbol):  # its own spelling: no need to look at all the others
        return [symbol]
    return matching(symbol, bars.symbols(conn))
