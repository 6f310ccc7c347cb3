"""The offline model: every part of a model, made of rules. Always there, costs nothing, needs no key and no network."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from keepbook.models.model import Conversation, Event, Extraction, Reading, Toolbox, Turn, TurnId, Usage
from keepbook.models.notebook import summary
from keepbook.models.notebook.extract import extract
from keepbook.models.notebook.reply import compose
from keepbook.models.notebook.title import title
from keepbook.models.notebook.values import withdrawn_spans
from keepbook.models.offline import agent

NAME = "offline"


class OfflineModel:
    """It holds nothing, so any thread and any event loop may use it."""

    name = NAME

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[Event]:
        """Answer the last message, calling tools on the way; where a card is wanted, as an agent."""
        return compose.reply(conversation, tools) if conversation.card is None else agent.reply(conversation, tools)

    async def extract(self, reading: Reading) -> Extraction:
        """Read a closing chat by rules."""
        # Rules take their time over a long chat; other chats go on meanwhile.
        return await asyncio.to_thread(_extracted, reading)

    async def summarise(self, previous: str | None, turns: Sequence[Turn]) -> tuple[str, Usage]:
        """The summary of a chat so far: sentences chosen, never invented."""
        return await asyncio.to_thread(summary.summarise, previous, turns), Usage()

    async def title(self, turns: Sequence[Turn]) -> tuple[str, Usage]:
        """The matter of the first exchange."""
        return await asyncio.to_thread(title, turns), Usage()


def _extracted(reading: Reading) -> Extraction:
    deeds = {int(turn): some for turn, some in reading.deeds.items() if str(turn).isdecimal()}
    withdrawn: dict[TurnId, Sequence[tuple[int, int]]] = dict(withdrawn_spans(deeds).items())
    short = summary.summarise(reading.summary, reading.turns, withdrawn)
    return Extraction(tuple(extract(reading)), short, NAME)
