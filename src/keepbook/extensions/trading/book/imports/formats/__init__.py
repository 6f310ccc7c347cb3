"""The known formats of files, one module for each broker or exchange. A file is recognised by its columns; the first
known format that fits is used."""

from collections.abc import Sequence

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports.formats import (
    binance,
    bybit,
    ccxt,
    coinbase,
    ibkr,
    ibkr_statement,
    kraken,
    metatrader,
    plain_table,
    robinhood,
    schwab,
    tradingview,
)
from keepbook.extensions.trading.book.imports.formats.reading import FileFormat

KNOWN = (
    binance.SPOT,
    binance.FUTURES,
    binance.HISTORY,
    bybit.LOG,
    coinbase.FILLS,
    coinbase.ACCOUNT,
    kraken.TRADES,
    kraken.LEDGERS,
    metatrader.POSITIONS,
    metatrader.DEALS,
    metatrader.MT4,
    ibkr.TRADES,
    ibkr_statement.STATEMENT,
    schwab.TRANSACTIONS,
    robinhood.ACTIVITY,
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
    """The first known format that these columns fit; None if there is none."""
    return next((one for one in KNOWN if one.knows(columns)), None)


def nearest_format(columns: Sequence[str]) -> FileFormat | None:
    """The format that a file nearly has: a few needed columns are missing, for an error that names them.

    The file must have one of the format's needed columns that no plain table has. Up to three columns may be missing,
    but one if the file can be read as a plain table, and never more than a third.
    """
    there = {name.strip().lower() for name in columns}
    plain = {name for names in plain_table.OURS.values() for name in names}
    most_missing = 1 if plain_table.fits(columns) else 3
    near = [one for one in KNOWN if (_needed_names(one, one.missing(columns)) & there) - plain]
    found = min(near, key=lambda one: len(one.missing(columns)), default=None)
    if found is None or len(found.missing(columns)) > min(most_missing, len(found.needs[0]) // 3):
        return None
    return found


def _needed_names(one: FileFormat, missing: Sequence[str]) -> set[str]:
    """The column names of the set in `needs` that these missing columns are from; the smallest if several fit."""
    closest = min(one.needs, key=lambda needed: (not set(missing) <= needed, len(needed)))
    return {name for need in closest for name in need.split("|")}
