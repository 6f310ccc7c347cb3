"""The prompt for a second look at an earlier card, made from that card alone.

Our own runs get it, and programs that run an agent elsewhere and record its second looks here. It replaces the agent's
usual task and form, so it works for any agent and any card.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.text.for_models.prompt_part import as_part_text
from keepbook.errors import Conflict
from keepbook.extensions.agents.book import runs
from keepbook.extensions.agents.book.cards import CardType, CardTypes, instructions
from keepbook.extensions.agents.book.cards.answer import age
from keepbook.extensions.agents.book.runs import Card, Run
from keepbook.storage.database import Tx

_RE_EXAMINE = """\
Re-examine one earlier conclusion of yours. For this run the following replaces your usual task and the usual form of
your answer.

This is what you concluded on {at} ({age}):
<decision type="{type}">
{slots}
</decision>

Look at the matter afresh, as it stands now, with your tools as far as you need them. Then judge how much of that
conclusion still holds: 0 means that it is fully invalidated, 100 that it is fully confirmed. Do not defend it because
it is yours, and do not drop it for movement that means nothing.
{form}
This is advice: nothing is carried out because of it, and the earlier card stays as it is."""


@dataclass(frozen=True, slots=True)
class SecondLook:
    """The prompt of a second look, the slots of its answer, and the actions that may be suggested; the prompt says
    both."""

    run_id: str
    prompt: str
    slots: tuple[str, ...]
    actions: tuple[str, ...]


# Rules


def second_look_prompt(card: Card, at: datetime, now: datetime, form: CardType) -> str:
    """The prompt of a re-examination, from the earlier card. `form` is the card type of the answer."""
    return _RE_EXAMINE.format(
        at=f"{stamp(at)[:16].replace('T', ' ')} UTC",
        age=age(stamp(at), stamp(now)),
        type=card.type,
        slots=card_text(card.slots),
        form=instructions(form),
    )


def card_text(slots: Mapping[str, Any]) -> str:
    """A card as text, escaped so that nothing in it can close the part around it."""
    return as_part_text(json.dumps(slots, ensure_ascii=False, indent=2))


def card_made_at(run: Run) -> datetime:
    """When a run's card was made: elsewhere, or here when it ended."""
    return run.made_at or run.finished_at or run.created_at


# Queries


def ask_second_look(tx: Tx, now: str, cards: CardTypes, run_id: str) -> SecondLook:
    """What a second look at a run is to answer now. Raises `Conflict` if its card does not allow one, or no longer."""
    parent = runs.get_run(tx, run_id)
    refusal = runs.why_not_re_examined(tx, cards, parent)
    if refusal is not None:
        raise refusal
    if parent.card is None:
        raise Conflict(f"run {run_id} has no card to look at again", code="not_re_examinable")
    form = cards.re_examination_of(cards.get(parent.card.type))
    actions = next((slot.choices for slot in form.slots if slot.name == "suggested_action"), ())
    text = second_look_prompt(parent.card, card_made_at(parent), parse_stamp(now), form)
    return SecondLook(parent.id, text, tuple(slot.name for slot in form.slots), actions)
