"""The offline model: implements `Model` with rules. It is always there, costs nothing, and needs no key and no
network."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from keepbook.errors import ModelFailed
from keepbook.models.model import (
    ClosingChat,
    Conversation,
    DialogueTurn,
    Extraction,
    ReplyEvent,
    Toolbox,
    TurnId,
    Usage,
)
from keepbook.models.notebook.brief import summary
from keepbook.models.notebook.brief.title import chat_title
from keepbook.models.notebook.extract import extract
from keepbook.models.notebook.reply import compose
from keepbook.models.notebook.values import withdrawn_spans

NAME = "offline"


class OfflineModel:
    """A model made of rules. It has no state, so any thread and any event loop may use it."""

    name = NAME

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        """Answer the last message, calling tools on the way. Raises if a form is to be filled in: that takes
        judgement."""
        if conversation.form is not None:
            raise ModelFailed("the notebook fills in no form; that takes a model", cause="no_model")
        return compose.notebook_reply(conversation, tools)

    async def extract(self, reading: ClosingChat) -> Extraction:
        """Read a closing chat by rules."""
        # In a thread, because rules take a while for a long chat, and other chats must go on.
        return await asyncio.to_thread(_extract, reading)

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        """The summary of a chat so far: sentences chosen, never invented."""
        return await asyncio.to_thread(summary.summarise, previous, turns), Usage()

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        """A title from the matter of the first exchange."""
        return await asyncio.to_thread(chat_title, turns), Usage()


def _extract(reading: ClosingChat) -> Extraction:
    deeds = {int(turn): some for turn, some in reading.deeds.items() if str(turn).isdecimal()}
    withdrawn: dict[TurnId, Sequence[tuple[int, int]]] = dict(withdrawn_spans(deeds).items())
    short = summary.summarise(reading.summary, reading.turns, withdrawn)
    return Extraction(tuple(extract(reading)), short, NAME)
