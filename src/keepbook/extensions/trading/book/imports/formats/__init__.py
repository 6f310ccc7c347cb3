"""The known formats, recognised by their columns, one module each; the first that fits a file is used."""

from collections.abc import Sequence

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports.formats import (
    binance,
    bybit,
    ccxt,
    coinbase,
    ibkr,
    kraken,
    metatrader,
    plain_table,
    tradingview,
)
from keepbook.extensions.trading.book.imports.formats.reading import FileFormat

KNOWN = (
    binance.SPOT,
    binance.FUTURES,
    bybit.LOG,
    coinbase.FILLS,
    coinbase.ACCOUNT,
    kraken.TRADES,
    metatrader.DEALS,
    ibkr.TRADES,
    tradingview.LIST,
    ccxt.TRADES,
)
NAMES = (*(one.name for one in KNOWN), "freqtrade", "plain")


def format_named(name: str) -> FileFormat:
    found = next((one for one in (*KNOWN, plain_table.TABLE) if one.name == name), None)
    if found is None:
        raise Invalid(f"there is no format {name[:60]!r}; there are {', '.join(NAMES)}", field="format")
    return found


def recognise_format(columns: Sequence[str]) -> FileFormat | None:
    """The format that has these columns."""
    return next((one for one in KNOWN if one.knows(columns)), None)
