"""What a symbol means: `BTC`, `BTCUSDT` and `BTC/USDT` are one thing where the bars know one of them.

The bars' own spelling always means itself. Else the same letters without signs between them; else a coin or a share
without its currency, where there is one pair of it, or the other way round. Several are told apart by whoever asks.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from keepbook.book.ground.patterns import regex
from keepbook.book.trading.market import bars
from keepbook.errors import Invalid

CURRENCIES = ("USDT", "USDC", "FDUSD", "BUSD", "USD", "DAI", "EUR", "GBP", "JPY", "CHF", "TRY", "BTC", "ETH", "BNB")
"""What a price is told in, where no sign parts it from what is priced; longer ones first."""
_SIGNS = regex(r"[/\-_. ]")
SHOWN = 6


# Rules


def split_currency(symbol: str) -> tuple[str, str | None]:
    """What is traded, and the currency it is priced in, where the symbol names one."""
    name = symbol.strip().upper()
    first, *rest = _SIGNS.split(name, maxsplit=1)
    if rest:
        return first, rest[0]
    for currency in CURRENCIES:
        if name.endswith(currency) and len(name) > len(currency) + 1:
            return name.removesuffix(currency), currency
    return name, None


def matching(symbol: str, known: Sequence[str]) -> list[str]:
    """Which of the known symbols it may mean: the nearest kind of likeness that there is."""
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
    """The name under which the bars are; the symbol itself where none or several fit."""
    found = _matching_symbols(conn, symbol)
    return found[0] if len(found) == 1 else symbol


def resolve_unambiguous(conn: Connection, symbol: str) -> str:
    """`resolve_symbol`, for a card that is being made: where several fit, whoever makes it has to say which."""
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
