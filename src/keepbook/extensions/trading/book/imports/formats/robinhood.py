"""Robinhood: the account activity. The code says what was done; an option is named in the description.

There is no column of fees: the fee is the difference between the amount and quantity times price. A quantity with an
`S` behind it was taken out of the account, such as a short option that expired or the old shares of a reverse split.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.parts.options import parse_option
from keepbook.extensions.trading.book.imports.formats.parts.share_days import (
    DOLLAR,
    day_of,
    end_day,
    oldest_first,
    opening_first,
    read_added_shares,
    traded_name,
)
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_action,
    make_fill,
    or_wrong,
    rounding,
    without_cancelled,
)
from keepbook.extensions.trading.book.imports.pairing import EXPIRY, Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable

SIDES = {"BUY": "buy", "SELL": "sell", "BTO": "buy", "STC": "sell", "STO": "sell", "BTC": "buy"}
ENDS = {"OEXP": "expired", "OASGN": "assigned", "OEXER": "exercised", "OEXCS": "exercised"}
CANCELS = {"BCXL": "buy", "SCXL": "sell"}
OPTIONS = ("BTO", "STC", "STO", "BTC", *ENDS)
HELD, COVERS = ("SELL", "STC"), ("BTC",)
"""The codes that only sell what the account holds, and those that only buy back an option that was sold."""
SPLITS = ("SPL", "SPR")
CLOSES = ("STC", "BTC", *ENDS)
DAY = "activity date"


def code_of(line: FileRow) -> str:
    return str(line.cells.get("trans code") or "").strip().upper()


def read_activity(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    lines = oldest_first(table, reader, DAY)
    splits = [line for line in lines if code_of(line) in SPLITS]
    found: list[ReadRow] = [
        ((line.row,), or_wrong(line, _activity, line, reader)) for line in lines if code_of(line) not in SPLITS
    ]
    cancels = {line.row for line in lines if code_of(line) in CANCELS}
    kept = opening_first(without_cancelled(found, cancels), {line.row: code_of(line) not in CLOSES for line in lines})
    yield from kept
    yield from read_added_shares(splits, kept, lambda line: _shares(line, reader))
    yield from (((line.row,), Invalid(line.wrong)) for line in table.lines if line.wrong is not None)


def quantity_of(line: FileRow, reader: CellReader) -> Decimal:
    """The quantity of a row; negative if an `S` stands behind it."""
    text = str(line.cells[first_filled(line, "quantity")]).strip()
    number = values.decimal(text.rstrip("Ss"), "quantity", reader.mark)
    if text[-1:] in ("S", "s"):
        return -abs(number)
    return number


def _shares(line: FileRow, reader: CellReader) -> tuple[str, str, Decimal]:
    """Time, symbol and added shares of a row of a split."""
    symbol, _ = traded_name(str(line.cells[first_filled(line, "instrument")]))
    return reader.instant(day_of(line, DAY), DAY), symbol, quantity_of(line, reader)


def _activity(line: FileRow, reader: CellReader) -> Fill:
    """A trade, the cancellation of one, or the end of an option; raises `Invalid` for all else."""
    code = code_of(line)
    if code not in SIDES and code not in ENDS and code not in CANCELS:
        raise Invalid(f"{code or 'a row without a code'} is no trade")
    traded = _traded(line, code)
    symbol, size = traded_name(traded)
    time = reader.instant(day_of(line, DAY), DAY)
    quantity = abs(quantity_of(line, reader))
    if code in ENDS:
        return make_action(
            line, time=end_day(line, reader, traded, ENDS[code], DAY), symbol=symbol, side=EXPIRY, quantity=quantity,
            reason=ENDS[code], multiplier=size, quote=DOLLAR,
        )  # fmt: skip
    price = reader.number(line, "price")
    if code in CANCELS:
        return make_fill(
            line, time=time, symbol=symbol, side=CANCELS[code], quantity=quantity, price=price, multiplier=size,
            quote=DOLLAR,
        )  # fmt: skip
    side, shares = SIDES[code], quantity * Decimal(str(size))
    fee = _fee(line, reader, side, worth=shares * price, shares=shares)
    return make_fill(
        line, time=time, symbol=symbol, side=side, quantity=quantity, price=price, fees=((fee, DOLLAR),),
        multiplier=size, quote=DOLLAR, from_holding=code in HELD, closes_only=code in COVERS,
    )  # fmt: skip


def _traded(line: FileRow, code: str) -> str:
    """The name of the share or of the option that a row is about."""
    if code not in OPTIONS:
        return str(line.cells[first_filled(line, "instrument")])
    words = " ".join(str(line.cells.get("description") or "").split())
    share = str(line.cells.get("instrument") or "").strip()
    from_share_on = f"{share} {words.rpartition(f'{share} ')[2]}"  # "AAPL …" of "Option Expiration for AAPL …"
    for text in (from_share_on, words):
        if parse_option(text) is not None:
            return text
    raise Invalid(f"description names no option: {words[:60]!r}", field="description")


def _fee(line: FileRow, reader: CellReader, side: str, *, worth: Decimal, shares: Decimal) -> Decimal:
    """The fee: what was paid beyond `worth`, or received short of it. It is some cents, and for options some cents a
    contract; if it is more than that, or negative, the row contradicts itself."""
    amount = reader.number(line, "amount")
    expected = -worth if side == "buy" else worth
    paid = expected - amount
    slack = shares * rounding(line.cells["price"])
    least, most = -slack - Decimal("0.01"), slack + Decimal("0.02") * worth + Decimal("0.02") * shares + 1
    if not least <= paid <= most:
        reader.compare(line.row, "quantity × price", expected, amount)
    return paid


def _without_note(table: FileTable) -> FileTable:
    """The table without the note at its end."""
    rows = [line for line in table.lines if line.wrong is not None or line.cells.get(DAY) or code_of(line)]
    return replace(table, lines=tuple(rows))


ACTIVITY = FileFormat(
    "robinhood",
    "Robinhood, account activity",
    (frozenset({DAY, "instrument", "description", "trans code", "quantity", "price", "amount"}),),
    frozenset({DAY, "process date", "settle date", "instrument", "description", "trans code", "quantity", "price",
               "amount"}),
    read_activity,
    (
        '"Activity Date","Process Date","Settle Date","Instrument","Description","Trans Code","Quantity","Price",'
        '"Amount"',
    ),
    "readmes and tests of public importers (rhParser, robinhood-visualizer and others)",
    values.MONTH_FIRST,
    _without_note,
)  # fmt: skip
