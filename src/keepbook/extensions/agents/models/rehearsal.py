"""A run that is only rehearsed: what would be sent. Nothing is stored, and nobody is asked."""

from datetime import datetime

from keepbook.book.memory.block import ComposedBlock
from keepbook.extensions.agents.book.cards import CardType
from keepbook.extensions.agents.models.prompts import run_prompt, system_of
from keepbook.models.model import Conversation


def rehearse_first_run(
    name: str,
    instructions: str,
    text: str,
    *,
    card: CardType | None,
    block: ComposedBlock | None,
    now: datetime,
    zone: str,
) -> Conversation:
    """The request of a first run."""
    said = run_prompt(text, now, zone)
    system = system_of(name, instructions, card=card, block=block.text if block else "")
    return Conversation(system, (said,), card, block=block.lines if block else ())
