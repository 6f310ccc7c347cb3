"""Checks that there is somebody to make a card: a model, or the rule that the card type names.

Without either the run fails, before its team is asked and before anything is spent; nothing is written in place of a
card. The run is tried again when there is a model (see `due_work`).
"""

from keepbook.errors import KeepbookError, LimitReached, ModelFailed
from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.book.cards import CardType
from keepbook.extensions.agents.book.due_work import NO_MODEL
from keepbook.extensions.agents.models.native import Native
from keepbook.models.choose import Models


def missing_judge(
    models: Models, agent: Agent, card: CardType | None, *, over_cap: bool, model: str | None = None
) -> KeepbookError | None:
    """The error that says why nobody can make this card now, or None. `model` is taken in place of the agent's own."""
    if card is not None and card.computed is not None:
        return None
    if over_cap:
        return LimitReached(
            "this month's model tokens are used up; it is tried again when there are some. Raise monthly_tokens, or "
            "run it by hand",
            code="over_allowance",
        )
    if agent.adapter == Native.name and models.named(model or agent.model) is models.offline:
        return ModelFailed(
            f"{agent.name} has no model, and the notebook judges nothing. Choose one in Settings (or set "
            "KEEPBOOK_MODEL); it is tried again then",
            cause=NO_MODEL,
        )
    return None
