"""Trading with something in each of its tables."""

from datetime import timedelta
from typing import Any

from tests.extensions.trading.traded import BARS, EVENTS, deployed, exposed, flat_lines, iso, trade_lines


def furnish(kb: Any, book: Any) -> None:
    """A deployment with trades, positions, fills and lessons; prices and events that came wrong at first."""
    made = deployed(book)
    assert not book.trading.load("trades", trade_lines(), deployment=made.id).wrong
    assert not book.trading.load("trades", flat_lines(), deployment=made.id).wrong
    exposed(kb, book, made, book.now)
    told = {"time": "At", "symbol": "What", "side": "Way", "quantity": "Lots", "price": "Price"}
    fill = b"At,What,Way,Lots,Price\n2026-01-05 10:00,EUR/USD,buy,2,1.10\n"
    assert book.trading.bring_in(fill, format="my broker", columns=told).added == 1
    sold = b"At,What,Way,Lots,Price\n2026-01-06 10:00,EUR/USD,sell,1,1.20\n"
    assert book.trading.take_back(book.trading.bring_in(sold, columns=told).load).trades == 1
    book.trading.split("EUR/USD", "2:1", on="2026-01-08")
    book.trading.reflect(deployment=made.id)
    assert book.trading.lessons(deployment=made.id)
    header, first, *_ = trade_lines()
    assert book.trading.load("trades", [header, _dearer(header, first)], deployment=made.id).changed == 1
    _correct_the_market(kb, book)


def _dearer(header: str, line: str) -> str:
    """The same trade with other fees."""
    cells = line.split(",")
    cells[header.split(",").index("fees")] = "1.5"
    return ",".join(cells)


def _correct_the_market(kb: Any, book: Any) -> None:
    """A bar and an event that came wrong."""
    hours = [iso(book.now - timedelta(days=3) + timedelta(hours=nth)) for nth in (1, 2)]
    for low in (98, 97):
        kb.market.load([BARS, f"ADA/USDT,1h,{hours[0]},99,101,{low},99"])
    for at in hours:
        kb.market.load_events([EVENTS, f"moved,rates,*,{at},1,Rates"])
