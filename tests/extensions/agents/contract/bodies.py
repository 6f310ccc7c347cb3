"""Example bodies for the paths of agents, and what the walk through strangers' books asks of them."""

from collections.abc import Callable
from typing import Any

from tests.extensions.agents.deciding import busy_desk

BODIES: dict[str, Any] = {
    "POST /api/agents": {"name": "Another"},
    "PATCH /api/agents/{id}": {"instructions": "Do as I say", "use_block": True},
    "POST /api/agents/{id}/decisions": {"card": {"text": "Wait"}, "key": "walk"},
    "POST /api/runs/{id}/re-examinations": {"card": {"conviction_score": 50}, "key": "walk"},
}


def python_calls(book: Any, other: str, said: str) -> list[Callable[[], Any]]:
    """What is asked of a book; `said` says whose it is."""
    return [
        lambda: busy_desk(book, f"{said} {len(book.agents.list())}"),
        lambda: [book.agents.list(), book.runs.list(limit=1000), book.decisions.list(), book.agents.get("secret")],
        lambda: [book.runs.transcript(run.id) for run in book.runs.list(limit=1000)],
        book.decisions.calibration,
        lambda: [book.decisions.brought_in(), book.decisions.calibration(forecasts=True, series="brought_in")],
    ]
