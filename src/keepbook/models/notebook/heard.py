"""How sure it is what a clause does: as it was learned, and as the closed lists of explicit orders have it. Pure."""

from dataclasses import dataclass

from keepbook.models.notebook.lists.orders import Order
from keepbook.models.notebook.read import Clause
from keepbook.models.reader.moves import MoveBars

EXPLICIT = ("withdraw", "never", "change", "undo")
"""Orders that the closed lists know for sure: each is undone in one step."""
PERHAPS_TALK = 0.3
"""From which likelihood on a clause may be talk although it has the words of an order: "Note to self", "forget the oat
milk" in a recipe."""
UNHEARD, HEARD = 0.02, 0.5
"""Where it may be talk: less of the order than the one, and it is none; less than the other, and it is asked about."""


@dataclass(frozen=True, slots=True)
class ActJudgement:
    """How sure a clause's act is."""

    act: str
    sure: bool
    likely: bool


def judge_clause(clause: Clause, order: Order | None, bars: MoveBars, *, learned: bool) -> ActJudgement:
    """As learned; but an explicit order to take something back is one, unless the reader is sure that it is talk."""
    if order is not None and order.act in EXPLICIT and is_heard(clause, order, learned=learned):
        return ActJudgement(order.act, sure=_has_more_than(HEARD, clause, order, learned=learned), likely=True)
    if order is not None and not learned and order.act != "talk":
        return ActJudgement(order.act, sure=True, likely=True)
    act = clause.move.act
    chance = clause.move.acts[act]
    careful = clause.move.unsure < bars.unsure_most
    return ActJudgement(act, chance >= bars.sure[act] and careful, chance >= bars.likely[act])


def is_heard(clause: Clause, order: Order, *, learned: bool) -> bool:
    """Whether a clause with the words of an order is one at all, as the reader has it."""
    return _has_more_than(UNHEARD, clause, order, learned=learned)


def _has_more_than(least: float, clause: Clause, order: Order, *, learned: bool) -> bool:
    """What names nothing ("forget that", "just kidding") is an order however it is read."""
    acts = clause.move.acts
    names = order.rest_start < order.rest_end
    return not learned or not names or acts["talk"] < PERHAPS_TALK or acts[order.act] >= least
