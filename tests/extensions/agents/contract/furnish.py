"""Agents with something in each of their tables."""

from typing import Any

from tests.extensions.agents.deciding import busy_desk


def furnish(kb: Any, book: Any) -> None:
    """A desk that has decided, armed; a forecast that was answered, and answered anew; and one that was brought in."""
    desk = busy_desk(book)
    book.agents.arm(desk.id)
    book.agents.update(desk.id, card_type="forecast")
    card = {"question": "Does it rain?", "probability": 0.7, "resolves_by": "2031-01-05T00:00:00Z"}
    run = book.decisions.record(desk.id, card).run_id
    for outcome in (True, False):
        book.decisions.answer(run, outcome, settled_early="it rains")
    assert [one.outcome for one in book.decisions.history(run)] == ["true"]
    past = {"question": "Did it rain?", "probability": 0.6, "made_at": "2025-01-01", "resolved_at": "2025-01-02"}
    assert book.decisions.bring_in(desk.id, [past | {"outcome": True}]).added == 1
    book.agents.update(desk.id, card_type="trade-decision")
