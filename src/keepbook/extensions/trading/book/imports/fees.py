"""Converts fees into the currency of the price, and finds the rate between two coins.

A rate comes from the bars of the book, else from the fills of that pair in the file; a note says which, and of when. A
fee for which there is no rate is in no figure, and is reported.
"""

from bisect import bisect_right
from dataclasses import replace
from decimal import Decimal

from keepbook.book.ground.when import parse_stamp
from keepbook.extensions.trading.book.currencies import rates
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.file import FileImport
from keepbook.extensions.trading.book.imports.pairing import Fill, Trip
from keepbook.extensions.trading.book.imports.places import FilePart, currency_of
from keepbook.storage.database import Tx


def convert_fees(tx: Tx, work: FileImport, part: FilePart) -> None:
    """Convert the fees of a part into the currency of the price. Fees that cannot be converted are added up by coin."""
    part.fills = [_with_fees_in_quote(tx, work, one) for one in part.fills]
    part.trips = [_with_fee_paid(tx, work, one) for one in part.trips]


def _with_fees_in_quote(tx: Tx, work: FileImport, one: Fill) -> Fill:
    if not one.fees:
        return one
    quote = currency_of(work, one)
    paid = (_in_quote(tx, work, one.symbol, quote, one.price, one.time, *fee) for fee in one.fees)
    return replace(one, fee=one.fee + sum(paid))


def _with_fee_paid(tx: Tx, work: FileImport, trip: Trip) -> Trip:
    """A whole trade with its fee converted, at the time and price of its exit."""
    if trip.key not in work.reader.paid:
        return trip
    paid, coin, told = work.reader.paid[trip.key]
    quote = told or currency_of(work, trip)
    fee = _in_quote(tx, work, trip.symbol, quote, trip.exit_price, trip.exit_time, paid, coin)
    return trip._replace(fees=trip.fees + fee)


def _in_quote(
    tx: Tx, work: FileImport, symbol: str, quote: str, price: float, at: str, paid: Decimal, coin: str
) -> float:  # fmt: skip
    """A fee in the currency of the price; 0, and noted in `unconverted`, if there is no rate."""
    if coin in ("", quote):
        return float(paid)
    if coin == values.split_symbol(symbol)[0]:
        return float(paid) * price
    rate = rate_at(tx, work, coin, quote, at)
    if rate is not None:
        tell_rate(work, coin, quote, float(paid), rate)
        return float(paid) * rate.value
    work.unconverted[coin] = work.unconverted.get(coin, 0.0) + float(paid)
    return 0.0


def tell_rate(
    work: FileImport, coin: str, quote: str, paid: float, rate: rates.Rate, what: str = "fees"
) -> None:  # fmt: skip
    """Note by which rate an amount was counted in another currency."""
    before, first, last = work.converted.get((what, coin, quote, rate.symbol), (0.0, rate.at, rate.at))
    work.converted[what, coin, quote, rate.symbol] = before + paid, min(first, rate.at), max(last, rate.at)


def rate_at(tx: Tx, work: FileImport, coin: str, quote: str, at: str) -> rates.Rate | None:
    """The rate of a coin at an instant: from the bars of the pair, in either order of the two coins, else from the last
    fill of the pair in this file. Neither may be older than a week. None if there is none."""
    found = rates.find_rate(tx.conn, coin, quote, at)
    if found is not None:
        return replace(found, symbol=f"the bars of {found.symbol}")
    if rates.same_money(coin, quote):
        return rates.Rate(1.0, "one for one", at)
    for symbol, way in ((f"{coin}/{quote}", 1), (f"{quote}/{coin}", -1)):
        seen = work.prices_seen.get(symbol, [])
        place = bisect_right(seen, (at, float("inf")))
        if place and parse_stamp(at) - parse_stamp(seen[place - 1][0]) <= rates.OLDEST:
            time, price = seen[place - 1]
            return rates.Rate(price**way, f"the fills of {symbol} in the file", time)
    return None
