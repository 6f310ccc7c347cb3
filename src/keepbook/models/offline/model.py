"""PROVISIONAL by the lead until the real offline model lands: overwrite this file."""

from collections.abc import AsyncIterator, Sequence

from keepbook.models.model import Conversation, Event, Extraction, Reading, Replied, Toolbox, Usage
from keepbook.models.offline.extract import extract
from keepbook.models.offline.values import Turn


class OfflineModel:
    name = "offline"

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[Event]:
        yield Replied("I am the offline model.", (), Usage())

    async def extract(self, reading: Reading) -> Extraction:
        found = extract(
            reading.turns, reading.known, block=reading.block, vocabulary=reading.categories, zone=reading.zone,
            never=reading.never, summary=reading.summary,
        )
        return Extraction(tuple(found), reading.summary or "", self.name)

    async def summarise(self, previous: str | None, turns: Sequence[Turn]) -> tuple[str, Usage]:
        return previous or "", Usage()

    async def title(self, turns: Sequence[Turn]) -> tuple[str, Usage]:
        return "A chat", Usage()
