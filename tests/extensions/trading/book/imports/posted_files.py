# ruff: noqa: E501 the lines of brokers are as long as they are
"""Files that strangers posted or wrote: what comes of one, by hand, and loading it to see that it does."""

from functools import partial
from typing import Any, NamedTuple

import pytest

from keepbook.extensions.trading.book.imports.table import FileTable, decode_file, read_table
from keepbook.extensions.trading.book.imports.trade_table import is_header


class Posted(NamedTuple):
    """`closed`: what each symbol earned, by hand; `open`: what is left."""

    name: str
    text: str
    closed: dict[str, float]
    open: dict[str, float]
    wrong: int = 0
    told: dict[str, Any] = {}  # noqa: RUF012


def flex(*trades: str) -> str:
    """A query with these trades: class, symbol, quantity, price, proceeds, and the day of January."""
    made = ""
    for nth, told in enumerate(trades, 1):
        kind, symbol, quantity, price, proceeds, day = told.split("|")
        made += (
            f'<Trade accountId="U1" currency="USD" assetCategory="{kind}" symbol="{symbol}" multiplier="1" tradeID="{nth}" '
            f'dateTime="202601{day};100000" quantity="{quantity}" tradePrice="{price}" proceeds="{proceeds}" '
            f'ibCommission="-0.5" ibCommissionCurrency="USD" levelOfDetail="EXECUTION"/>'
        )
    return f"<FlexQueryResponse><Trades>{made}</Trades></FlexQueryResponse>"


def parsed(text: str, encoding: str = "utf-8", columns: Any = None) -> FileTable:
    """The table of a file, read here: a process of its own for each would take most of the time."""
    header = partial(is_header, format=None, columns=columns)
    return read_table(decode_file(text.encode(encoding)), header)


def bring_in_posted(trading: Any, case: Posted) -> Any:
    """Load a file and hold what it earned and left open against what was worked out by hand."""
    made = trading.bring_in(parsed(case.text, columns=case.told.get("columns")), **case.told)
    earned: dict[str, float] = {}
    for one in trading.trades(limit=100).items:
        earned[one.symbol] = earned.get(one.symbol, 0.0) + one.pnl
    left: dict[str, float] = {}
    for position in trading.positions():
        left[position.symbol] = left.get(position.symbol, 0.0) + position.quantity
    assert earned == pytest.approx(case.closed), made.refused
    assert left == pytest.approx(case.open)
    assert made.wrong == case.wrong, made.refused
    assert made.differences == ()
    return made
