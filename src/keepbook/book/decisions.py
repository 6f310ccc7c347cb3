"""Decisions: cards that are open until bars or the person close them.

The rules of resolution are a fold over bars, from the first that starts after the decision; a bar before that, and one
after the bar that resolved it, have no say. What cannot be known from a bar is counted against the decision, and said.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepbook.book.cards import CardTypes
from keepbook.book.ledger import Origin
from keepbook.book.runs import Run
from keepbook.storage.database import Tx

STATES = ("open", "resolved", "expired")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`outcome`: target, stop, time (closed at the last close by its expiry), exited (by the person), expired."""

    run_id: str
    agent_id: str
    card_type: str
    decided_at: datetime
    action: str | None
    symbol: str | None
    entry: float | None
    stop: float | None
    target: float | None
    conviction: float | None
    expires: datetime | None
    regime: str | None
    state: str
    filled_at: datetime | None
    fill_price: float | None
    last_close: float | None
    closed_at: datetime | None
    closed_by: str | None
    outcome: str | None
    exit_price: float | None
    result_r: float | None
    result_pct: float | None
    note: str | None

    @property
    def so_far_r(self) -> float | None:
        """What an open, filled one is worth at the last close, in R."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One earlier card of an agent, as `get_my_decisions` answers it."""

    run_id: str
    at: datetime
    card_type: str
    line: str
    symbol: str | None
    action: str | None
    conviction: float | None
    state: str | None
    outcome: str | None
    result_r: float | None


def begin(tx: Tx, cards: CardTypes, run: Run) -> Decision | None:
    """Open the decision of a run that has succeeded, where its card has one (`runs.succeed` calls it)."""
    raise NotImplementedError


def follow(tx: Tx, run_id: str) -> bool:
    """Look at the bars that are new since the last look; for the sweep. True when it was closed."""
    raise NotImplementedError


def exit_at(tx: Tx, origin: Origin, run_id: str, price: float | None, *, at: Any = None) -> Decision:
    """The person got out at a price. Only the person may say so (`person_only`); closed ones refuse (`closed`)."""
    raise NotImplementedError


def get(tx: Tx, run_id: str) -> Decision:
    raise NotImplementedError


def find(tx: Tx, run_id: str) -> Decision | None:
    raise NotImplementedError


def listed(
    tx: Tx, *, state: str | None = None, agent_id: str | None = None, limit: int = 100
) -> Sequence[Decision]:
    """Newest first."""
    raise NotImplementedError


def past(tx: Tx, cards: CardTypes, agent_id: str, *, limit: int = 5) -> Sequence[Past]:
    """The agent's own last cards, newest first: no re-examinations, no specialists'."""
    raise NotImplementedError
