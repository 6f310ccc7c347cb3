"""A run that is only rehearsed: what would be sent, and what the notebook would answer. Nothing is stored."""

import json
from datetime import datetime

from keepbook.book.memory.block import ComposedBlock
from keepbook.extensions.agents.book.cards import CardType
from keepbook.extensions.agents.models import offline as by_rules
from keepbook.extensions.agents.models.prompts import run_prompt, system_of
from keepbook.models.model import Conversation, ReplyFinished


async def rehearse_first_run(
    name: str,
    instructions: str,
    text: str,
    *,
    card: CardType | None,
    block: ComposedBlock | None,
    now: datetime,
    zone: str,
    notebook: bool,
) -> tuple[Conversation, str | None]:
    """The request of a first run, and the notebook's answer where it is the one to answer."""
    said = run_prompt(text, now, zone)
    system = system_of(name, instructions, card=card, block=block.text if block else "")
    conversation = Conversation(system, (said,), card, block=block.lines if block else ())
    if not notebook or card is None:
        return conversation, None
    async for event in by_rules.agent_reply(conversation, None):
        if isinstance(event, ReplyFinished):
            return conversation, _in_words(event.text)
    return conversation, None


def _in_words(text: str) -> str:
    """A card without its brackets, for a person."""
    try:
        told = json.loads(text)
    except ValueError:
        return text
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in told.items() if value) or text
