"""Agents with something in each of their tables."""

from datetime import timedelta
from typing import Any

from tests.extensions.agents.deciding import LONG, busy_desk
from tests.extensions.trading.traded import BARS, iso


def furnish(kb: Any, book: Any) -> None:
    """A desk that has decided, armed, and one decision that closed on bars which were corrected later."""
    desk = busy_desk(book)
    book.agents.arm(desk.id)
    _correct_a_decision(kb, book, desk.id)


def _correct_a_decision(kb: Any, book: Any, agent: str) -> None:
    """The bars are trading's: what a decision said before is kept when they change."""
    begun = book.now - timedelta(days=3)
    run = book.decisions.record(agent, LONG | {"symbol": "DOT/USDT"}, made_at=begun).run_id
    hours = [iso(begun + timedelta(hours=nth)) for nth in (1, 2)]
    touched = f"DOT/USDT,1h,{hours[0]},99,101,98,99"
    kb.market.load([BARS, touched, f"DOT/USDT,1h,{hours[1]},101,121,100,119"])
    book.decisions.follow()
    kb.market.load([BARS, f"DOT/USDT,1h,{hours[1]},99,100,89,95"])
    book.decisions.follow()
    assert [one.outcome for one in book.decisions.history(run)] == ["target"]
