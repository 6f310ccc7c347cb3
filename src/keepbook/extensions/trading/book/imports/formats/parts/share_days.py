"""Parts for the files of brokers of shares in the United States: days without times, newest first, dollars, options.

Rows of one day are put in a possible order: what opens comes before what closes. Such files write a split as shares
that were added; its ratio is computed from what was held, as far as the file shows it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports.formats.parts.options import CONTRACT, parse_option
from keepbook.extensions.trading.book.imports.formats.reading import CellReader, ReadRow, make_action, or_wrong
from keepbook.extensions.trading.book.imports.pairing import EXPIRY, SPLIT, Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable

DOLLAR = "USD"
PARTS = tuple(Decimal(part) / whole for whole in (1, 2, 3, 4) for part in range(whole + 1, 101 if whole == 1 else 12))
"""The ratios that a split may have, such as two for one and three for two."""
CLOSE_ENOUGH = Decimal("0.002")  # the share by which a computed ratio may differ from one of `PARTS`


def oldest_first(table: FileTable, reader: CellReader, column: str) -> list[FileRow]:
    """The lines in the order of their days. If the file has the newest first, lines of one day are reversed too."""
    lines = [line for line in table.lines if line.wrong is None]
    days: dict[int, str] = {}
    for line in lines:
        found = or_wrong(line, reader.instant, day_of(line, column), column)
        days[line.row] = found if isinstance(found, str) else ""
    told = [days[line.row] for line in lines if days[line.row]]
    if not told or told[0] >= told[-1]:
        lines.reverse()
    return sorted(lines, key=lambda line: days[line.row])


def day_of(line: FileRow, column: str) -> str:
    """The day for which a row counts: `01/12/2026` of `01/15/2026 as of 01/12/2026`."""
    text = str(line.cells.get(column) or "")
    return text.rpartition(" as of ")[2].strip()


def end_day(line: FileRow, reader: CellReader, words: str, why: str, column: str) -> str:
    """When an option ended. One that expired did so on the day in its name, although it may be booked later."""
    contract = parse_option(words)
    if contract is not None and why == "expired":
        return reader.instant(contract.expires, column)
    return reader.instant(day_of(line, column), column)


def traded_name(text: str) -> tuple[str, float]:
    """A symbol in the book's spelling, and the number of shares in one of it."""
    contract = parse_option(text)
    if contract is not None:
        return contract.symbol, CONTRACT
    return " ".join(text.upper().split())[:40], 1.0


def opening_first(found: Iterable[ReadRow], opens: Mapping[int, bool]) -> list[ReadRow]:
    """The rows sorted so that on each day, what opens comes before what closes: the file does not say the order."""

    def order(read: ReadRow) -> tuple[str, bool]:
        rows, one = read
        time = ""
        if isinstance(one, Fill):
            time = one.time
        return time, not opens.get(rows[0], True)

    reads = list(found)
    fills = sorted((read for read in reads if isinstance(read[1], Fill)), key=order)
    return [*fills, *(read for read in reads if not isinstance(read[1], Fill))]


def read_added_shares(
    lines: Sequence[FileRow], found: Sequence[ReadRow], told: Callable[[FileRow], tuple[str, str, Decimal]]
) -> Iterator[ReadRow]:
    """The splits among lines. `told` returns the time, the symbol, and the shares that were added (negative if
    removed)."""
    groups: dict[tuple[str, str], list[tuple[FileRow, Decimal]]] = {}
    for line in lines:
        time, symbol, shares = told(line)
        groups.setdefault((time, symbol), []).append((line, shares))
    ratios: dict[str, list[tuple[str, Decimal]]] = {}
    for (time, symbol), some in sorted(groups.items()):
        rows = tuple(line.row for line, _ in some)
        ratio = _ratio([shares for _, shares in some], _held(found, symbol, time, ratios.get(symbol, [])))
        if ratio is None:
            words = f"how many of {symbol} there are for one does not follow from this file: say it with trading split"
            yield from (((row,), Invalid(words)) for row in rows)
            continue
        ratios.setdefault(symbol, []).append((time, ratio))
        yield rows, make_action(some[0][0], time=time, symbol=symbol, side=SPLIT, quantity=ratio, quote=DOLLAR)


def _ratio(shares: Sequence[Decimal], held: Decimal) -> Decimal | None:
    """The ratio of a split: new shares to old ones if the file has both; else computed from the shares that were held,
    if that is one of PARTS. None if it cannot be found."""
    added, taken = (sum((one for one in shares if (one > 0) == way), Decimal(0)) for way in (True, False))
    if added and taken:
        return added / -taken
    if held <= 0 or held + added + taken <= 0:
        return None
    exact = (held + added + taken) / held
    likely = (one for part in PARTS for one in (part, 1 / part))
    return next((one for one in likely if abs(exact / one - 1) < CLOSE_ENOUGH), None)


def _held(found: Sequence[ReadRow], symbol: str, until: str, ratios: Sequence[tuple[str, Decimal]]) -> Decimal:
    held = Decimal(0)
    for _, one in found:
        if not isinstance(one, Fill) or one.symbol != symbol or one.time >= until or one.side == EXPIRY:
            continue
        shares = one.quantity
        for time, ratio in ratios:
            if one.time < time:
                shares = shares * ratio
        held += shares if one.side == "buy" else -shares
    return held
