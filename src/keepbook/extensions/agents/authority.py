"""Who may do what with agents: rows and operations for the table of `book/owners/authority.py`."""

from collections.abc import Mapping
from typing import Any

from keepbook.book.owners.authority import READ, WRITE, Actor, authority_row, require_permission
from keepbook.errors import NotAllowed

RESOLVE = "resolve"
"""The scope of a resolver's token: to read what waits for an answer, and to answer it."""

ROWS = {
    "runs": authority_row("read agents, runs and decisions", READ, "yes yes own yes yes yes yes", "bound"),
    "work": authority_row("run agents and record decisions", WRITE, "yes yes own yes yes yes yes", "bound"),
    "due": authority_row("read forecasts that are due", READ, "yes yes own yes yes yes yes", "bound", RESOLVE),
    "answers": authority_row("resolve decisions", WRITE, "yes yes own yes yes yes yes", "bound", RESOLVE),
    "agents": authority_row("create and change agents, schedules and models", WRITE, "yes no no no yes yes no"),
}

OPERATIONS = {
    "agents.read": "runs", "runs.read": "runs", "decisions.read": "runs",
    "agents.run": "work", "decisions.record": "work",
    "decisions.due": "due", "decisions.resolve": "answers",
    "agents.change": "agents",
}  # fmt: skip


def ask_agent(actor: Actor, told: Mapping[str, Any]) -> None:
    """Raise unless this actor may set up such an agent: a demo's visitor has the native adapter and no other model."""
    require_permission(actor, "agents.change")
    if actor.kind != "visitor":
        return
    models = [told.get("model"), *(_model_of(one) for one in told.get("team") or ())]
    if told.get("adapter") not in (None, "native") or any(model not in (None, "", "offline") for model in models):
        raise NotAllowed("in the demo an agent works on the native adapter with the notebook", code="demo")


def _model_of(specialist: Any) -> Any:
    if isinstance(specialist, Mapping):
        return specialist.get("model")
    return getattr(specialist, "model", None)
