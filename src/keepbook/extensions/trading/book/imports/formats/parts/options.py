"""Reads the names of options, in any broker's spelling, into our own: `AAPL 2026-01-16 150 C`.

`AAPL 01/16/2026 150.00 C` (Schwab), `AAPL 1/16/2026 Call $150.00` (Robinhood), `AAPL 16JAN26 150 C` and `AAPL
260116C00150000` (Interactive Brokers) are one contract.
"""

from decimal import Decimal
from typing import NamedTuple

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports.pairing import OptionTerms
from keepbook.extensions.trading.book.imports.values import MONTHS
from keepbook.patterns import regex

CONTRACT = 100.0
"""The number of shares in an option on a share."""
_FORMS = tuple(
    regex(text, anchored=True)
    for text in (
        r"(?P<on>\S+) (?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4}) \$?(?P<strike>[\d.,]+) (?P<right>[CP])",
        r"(?P<on>\S+) (?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4}) (?P<right>Call|Put) \$(?P<strike>[\d.,]+)",
        r"(?P<on>\S+(?: [A-Z])?) (?P<day>\d{1,2})(?P<month>[A-Z]{3})(?P<year>\d{2}) (?P<strike>[\d.]+) (?P<right>[CP])",
        r"(?P<on>\S{1,6}?)\s*(?P<year>\d{2})(?P<month>\d{2})(?P<day>\d{2})(?P<right>[CP])(?P<thousandths>\d{8})",
        r"(?P<on>\S+) (?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2}) (?P<strike>[\d.]+) (?P<right>[CP])",
    )
)


class OptionContract(NamedTuple):
    """An option: its symbol in the book's spelling, the day it expires, and what it is on."""

    symbol: str
    expires: str
    option: OptionTerms


def parse_option(text: str) -> OptionContract | None:
    """The contract that a text names; None if it names none."""
    plain = " ".join(text.split())
    for form in _FORMS:
        found = form.fullmatch(plain)
        if found:
            return _contract(found.groupdict())
    return None


def _contract(told: dict[str, str]) -> OptionContract | None:
    """The contract for the parts of a name; None if the month is no month."""
    month = told["month"].lower()
    number = MONTHS.index(month) + 1 if month in MONTHS else month
    if not str(number).isdecimal():
        return None
    expires = f"{told['year']:0>2}"[-2:]
    day = f"20{expires}-{int(number):02}-{int(told['day']):02}"
    if "strike" in told:
        strike = Decimal(told["strike"].replace(",", ""))
    else:
        strike = Decimal(told["thousandths"]) / 1000
    right = told["right"][0].upper()
    option = OptionTerms(told["on"].upper(), "call" if right == "C" else "put", float(strike))
    symbol = f"{option.underlying} {day} {strike.normalize():f} {right}"
    if len(symbol) > 40:
        raise Invalid(f"symbol is too long: {symbol[:60]!r}", field="symbol")
    return OptionContract(symbol, day, option)
