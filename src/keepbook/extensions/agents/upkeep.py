"""What moving and restoring a book asks of agents: no agent that came in acts.

An imported agent neither runs by itself nor starts a program before the person of this installation says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger.loads import Arrival
from keepbook.errors import Invalid
from keepbook.extensions.agents.book import arming
from keepbook.extensions.agents.book.scoring.brought_in import FORECASTS, take_back_forecasts
from keepbook.patterns import regex
from keepbook.storage.database import Tx

SESSION = regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
LOADS = (FORECASTS,)


def check_import(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Refuse a session id in a wrong form, because it becomes an argument of a program."""
    for row in found.get("agent", ()):
        session = row.get("session")
        if session is not None and not SESSION.fullmatch(session):
            why = f"{session!r} is no session of an agent"
            raise Invalid(f"{why[:200]}; nothing was imported", field="file", code="altered")


def after_restore(tx: Tx) -> tuple[str, ...]:
    """Disarm every agent. Returns the names of those that the person has to arm again."""
    arming.disarm(tx)
    return tuple(arming.unarmed_agents(tx))


def older_line(kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """What the first format of an export did not say of a decision."""
    if kind == "decision":
        return {"known_at": value.get("closed_at")}
    return {}


def take_back(book: OpenBook, tx: Tx, load: Arrival) -> None:
    book.ask("decisions.record")
    take_back_forecasts(tx, book.origin, load.nth)
