"""Parses cells of other programs' files: numbers, times and symbols in any of their forms.

The decimal mark is found from the whole file, not from each cell: `1.000` is a thousand in a file with `1.000,5`, and
one in a file with `2.5`. So is the order of day and month. A time in digits is in seconds, milli-, micro- or
nanoseconds, as its range shows. A cell that could mean two things is refused with a question.
"""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

from keepbook.book.ground.when import stamp, zone_named
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.market.symbols import spell_market, split_currency
from keepbook.patterns import regex

FIRST = datetime(2000, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_AMOUNT = regex(
    r"(?:([A-Z]{3})\s++)?+([(+\-\u2212]*+\s*+[.,]?\d[\d.,]*+(?:[\s'\u00a0\u202f]++\d[\d.,]*+)*+(?:[eE][+\-]?\d++)?\)?)"
    r"\s*+([A-Za-z][A-Za-z0-9.]*)?",
    anchored=True,
)
_DIGITS = regex(r"-?\d+(?:\.\d+)?")
_COMPACT = regex(r"(\d{4})(\d{2})(\d{2})(?:[;,\sT]+(\d{2}):?(\d{2}):?(\d{2}))?")
_PARTS = regex(
    r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[T,;\s]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(AM|PM)?)?"
    r"\s*(Z|[+\-]\d{2}:?\d{2}|[A-Z]{2,4})?",
    re.IGNORECASE,
)
_NAMED_MONTH = regex(r"(\d{1,2})[\s-]*([A-Z]{3})[A-Z]*[\s-]*(\d{4}|\d{2})\b(.*)", re.IGNORECASE, anchored=True)
_MONTH_FIRST = regex(r"([A-Z]{3})[A-Z]*\.?[\s-]*(\d{1,2})[\s,-]+(\d{4})\b(.*)", re.IGNORECASE, anchored=True)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAY_FIRST, MONTH_FIRST = "day", "month"
"""Whether day or month comes first in a date like 2/6/2026."""
ZONES = {
    "Z": 0, "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "BST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9, "HKT": 8, "SGT": 8,
}  # fmt: skip
_SIDES = {
    "buy": "buy", "b": "buy", "bot": "buy", "bought": "buy", "long": "buy", "bid": "buy", "kauf": "buy",
    "sell": "sell", "s": "sell", "sld": "sell", "sold": "sell", "short": "sell", "ask": "sell", "verkauf": "sell",
}  # fmt: skip


# Numbers


_COMMA_THOUSANDS = regex(r"(?:^|\D)[1-9]\d{0,2},\d{3}(?!\d)")
_DOT_THOUSANDS = regex(r"\d\.\d{3}(?!\d)")
_AROUND_AMOUNT = regex(r"[\s'\u00a0\u202f$€£¥]")


def decimal_mark(texts: Iterable[str], *, semicolons: bool = False) -> str:
    """The decimal mark of a file, `.` or `,`. A single comma before three digits proves nothing; if there is nothing
    else, the mark is a comma in a file with `semicolons`."""
    unsure = False
    for told in texts:
        text = _AROUND_AMOUNT.sub("", told)
        found = _AMOUNT.fullmatch(text)
        if found is None:
            continue  # words with a number in them
        text = found[2]
        dots, commas = text.count("."), text.count(",")
        if not commas and dots < 2:
            if dots == 1 and not _DOT_THOUSANDS.search(text):
                return "."
            continue
        if dots and commas:
            return "." if text.rfind(".") > text.rfind(",") else ","
        if dots > 1:
            if any(len(group) != 3 for group in text.strip("()+-\u2212").split(".")[1:]):
                continue  # no amount, but an id or a version
            return ","
        if commas > 1:
            return "."
        if not _COMMA_THOUSANDS.search(text):
            return ","
        unsure = True
    if unsure and semicolons:
        return ","
    return "."


def decimal(text: Any, name: str, mark: str = ".") -> Decimal:
    """An exact number from its text; brackets and a true minus sign mean a negative one."""
    if isinstance(text, bool):
        raise Invalid(f"{name} is a number, not {text}", field=name)
    if isinstance(text, int | float):
        return Decimal(str(text))
    plain = _AROUND_AMOUNT.sub("", str(text)).replace("\u2212", "-")
    if plain.startswith("(") and plain.endswith(")"):
        plain = f"-{plain[1:-1]}"
    plain = plain.replace("." if mark == "," else ",", "").replace(mark, ".")
    try:
        found = Decimal(plain)
    except InvalidOperation:
        raise Invalid(f"{name} is a number, not {str(text)[:40]!r}", field=name) from None
    if not found.is_finite() or abs(found) > Decimal("1e15"):
        raise Invalid(f"{name} is a number up to 1e15, not {str(text)[:40]!r}", field=name)
    return found


_SIGNS_OF_MONEY = regex(r"[$€£¥]")


def parse_amount(text: Any, name: str, mark: str = ".", coins: Sequence[str] = ()) -> tuple[Decimal, str | None]:
    """A number and the coin written behind it, as in `0.0001 BTC` or `0.0001BTC`. `coins` are the known ones, for names
    that begin with a digit: `0.51INCH` is half a 1INCH."""
    if not isinstance(text, str):
        return decimal(text, name, mark), None
    ending = (coin for coin in coins if coin[:1].isdigit() and text.strip().upper().endswith(coin))
    known = next(ending, None)
    if known:
        return decimal(text.strip()[: -len(known)], name, mark), known
    found = _AMOUNT.fullmatch(_SIGNS_OF_MONEY.sub("", text).strip())
    if found is None or (found[1] and found[3]):
        raise Invalid(f"{name} is a number, not {text[:40]!r}", field=name)
    coin = found[3] or found[1]
    return decimal(found[2], name, mark), coin.upper() if coin else None


# Times


def is_date_of_some_order(text: str) -> bool:
    """Whether a cell is a date whose day and month may stand either way round."""
    found = _PARTS.fullmatch(text.strip())
    return found is not None and found[2] != "." and len(found[1]) != 4


def date_order(texts: Iterable[str]) -> str | None:
    """Whether day or month comes first in the dates of a file, proved by a date with a number above 12; None without
    such a date. Raises if two dates prove different orders."""
    proofs: dict[str, str] = {}
    for text in texts:
        found = _PARTS.fullmatch(text.strip())
        if found is None or found[2] == "." or len(found[1]) == 4:
            continue  # words, or a day in an order of its own
        if int(found[1]) > 12:
            proofs.setdefault(DAY_FIRST, text)
        elif int(found[3]) > 12:
            proofs.setdefault(MONTH_FIRST, text)
    if len(proofs) == 2:
        raise Invalid(
            f"in {proofs[DAY_FIRST][:40]!r} the day comes first, in {proofs[MONTH_FIRST][:40]!r} the month: "
            "write all dates of the file in one way", field="dates",
        )  # fmt: skip
    return next(iter(proofs), None)


def parse_cell_time(value: Any, name: str, now: datetime, zone: str = "UTC", order: str | None = None) -> str:
    """The instant of a cell. Raises if it lies before the year 2000 or after next year: then the unit or the column is
    wrong."""
    text = str(value).strip()
    if not text:
        raise Invalid(f"{name} is missing", field=name)
    if _DIGITS.fullmatch(text) and not _COMPACT.fullmatch(text):
        found = _since_1970(float(text))
    else:
        found = _parse_written_time(text, name, zone, order)
    if not FIRST <= found < datetime(now.year + 2, 1, 1, tzinfo=UTC):
        raise Invalid(
            f"{name} {text[:40]!r} would be in the year {found.year}; is it the right column, and in seconds or "
            "milliseconds?", field=name,
        )  # fmt: skip
    return stamp(found)


def _since_1970(number: float) -> datetime:
    """An instant from a number since 1970: in seconds if it is below 1e11, in milliseconds below 1e14, in microseconds
    below 1e17, else in nanoseconds. For the years 2000 to 2100 these ranges do not overlap."""
    scale = next((unit for limit, unit in ((1e11, 1), (1e14, 1e3), (1e17, 1e6)) if abs(number) < limit), 1e9)
    try:
        return _EPOCH + timedelta(microseconds=round(number / scale * 1e6))
    except (OverflowError, ValueError):
        return datetime(9999, 1, 1, tzinfo=UTC)


def _parse_written_time(text: str, name: str, zone: str, order: str | None) -> datetime:
    whole = _COMPACT.fullmatch(text)
    if whole is not None:
        return _make_datetime([int(part or 0) for part in whole.groups()], "", "", text, name, zone)
    found = _PARTS.fullmatch(_month_in_digits(text))
    if found is None:
        raise Invalid(f"{name} is a time, not {text[:40]!r}", field=name)
    first, mark, second, third = found[1], found[2], int(found[3]), found[4]
    if len(first) == 4:
        day = [int(first), second, int(third)]
    elif len(third) != 4:
        raise Invalid(f"{name} {text[:40]!r}: write the year in four digits", field=name)
    elif mark == "." or int(first) > 12:
        day = [int(third), second, int(first)]
    elif second > 12 or order == MONTH_FIRST:
        day = [int(third), int(first), second]
    elif order == DAY_FIRST or int(first) == second:
        day = [int(third), second, int(first)]
    else:
        raise Invalid(
            f"{name} {text[:40]!r}: is the day or the month first? No date of the file shows it; say dates=day or "
            "dates=month", field="dates",
        )  # fmt: skip
    clock = [int(found[5] or 0), int(found[6] or 0), int(found[7] or 0)]
    if found[9]:
        clock[0] = clock[0] % 12 + (12 if found[9].upper() == "PM" else 0)
    return _make_datetime([*day, *clock], found[8] or "", (found[10] or "").upper(), text, name, zone)


def _month_in_digits(text: str) -> str:
    """The text with its month in digits, if it is like `05 Jan 2026 10:00` or `Jan 5, 2026 10:00`; else unchanged."""
    day_first, month_first = _NAMED_MONTH.fullmatch(text), _MONTH_FIRST.fullmatch(text)
    if day_first:
        day, month, year, rest = day_first.groups()
    elif month_first:
        month, day, year, rest = month_first.groups()
    else:
        return text
    if month.lower() not in MONTHS:
        return text
    if len(year) == 2:
        year = f"20{year}"
    return f"{year}-{MONTHS.index(month.lower()) + 1:02}-{day:0>2}{rest}"


def _make_datetime(parts: list[int], rest: str, offset: str, text: str, name: str, zone: str) -> datetime:
    try:
        whole = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*parts[:6])
        if rest:
            microsecond = int(f"{rest:0<6}"[:6])
        else:
            microsecond = 0
        local = datetime.fromisoformat(whole).replace(microsecond=microsecond)
    except ValueError:
        raise Invalid(f"{name} is a time, not {text[:40]!r}", field=name) from None
    if offset in ZONES:
        return local.replace(tzinfo=timezone(timedelta(hours=ZONES[offset]))).astimezone(UTC)
    if offset and offset[0] in "+-":
        hours, minutes = int(offset[:3]), int(offset[-2:])
        span = timedelta(hours=hours, minutes=math.copysign(minutes, hours))
        return local.replace(tzinfo=timezone(span)).astimezone(UTC)
    if offset:
        raise Invalid(f"{name} {text[:40]!r}: the zone {offset} is not known here", field=name)
    return local.replace(tzinfo=zone_named(zone)).astimezone(UTC)


# Words


def is_side(value: Any) -> bool:
    return str(value).strip().lower() in _SIDES


def parse_side(value: Any, name: str = "side") -> str:
    """`buy` or `sell`."""
    found = _SIDES.get(str(value).strip().lower())
    if found is None:
        raise Invalid(f"{name} is buy or sell, not {str(value)[:40]!r}", field=name)
    return found


def split_symbol(text: Any) -> tuple[str, str]:
    """Base and quote of a symbol, whatever separates them; the quote is "" if there is none."""
    base, quote = split_currency(str(text))
    return base, quote or ""


def symbol(text: Any) -> str:
    """A symbol in the book's spelling: `BTC/USDT`."""
    found = spell_market(str(text), currencies=True)
    if not found or len(found) > 40:
        raise Invalid(f"symbol is missing or too long: {str(text)[:40]!r}", field="symbol")
    return found
