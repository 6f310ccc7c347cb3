"""A model over the network: implements `Model` with the requests of `session`.

A reply is a loop: the model writes text, asks for tools, gets their answers, and writes again, up to ROUNDS times; in
the last request it may not ask for tools. Reading a chat is one request, and a second only to repair an answer that
does not fit.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from keepbook.errors import KeepbookError, ModelFailed
from keepbook.models.closing import prompt as sheets
from keepbook.models.model import (
    BREAK,
    ClosingChat,
    Conversation,
    DialogueTurn,
    Extraction,
    PromptMessage,
    ReplyEvent,
    ReplyFinished,
    TextDelta,
    Toolbox,
    ToolCall,
    ToolCalled,
    Usage,
    WorkLimits,
)
from keepbook.models.providers.address import Address
from keepbook.models.reply_limits import check_answer, check_length

if TYPE_CHECKING:
    from keepbook.models.providers.session import ModelExchange, ModelSession, ToolRequest

ROUNDS = 8
"""How often a model may ask for tools within one reply."""
REPAIR_CHARS = 8_000
"""How much of an answer that does not fit is sent back to be repaired."""


class RemoteModel:
    """The model at an address. It keeps no connection open, so any thread and any event loop may use it."""

    def __init__(self, address: Address, *, context_tokens: int = 32_000) -> None:
        self.address = address
        self.name: str = address.name
        self.context_tokens = context_tokens

    def __repr__(self) -> str:
        return f"<model {self.name}>"

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        """Answer the last message, calling tools on the way."""
        text, calls, limits = "", list[ToolCall](), conversation.limits
        async with self._open() as session:
            if tools:
                exchange = session.exchange(conversation, tools.schemas("openai"))
            else:
                exchange = session.exchange(conversation, [])
            for number in range(ROUNDS + 1):
                is_first_of_round = True
                async with aclosing(_round(session, exchange, limits, may_call=number < ROUNDS)) as deltas:
                    async for delta in deltas:
                        piece = delta
                        if is_first_of_round and text:
                            piece = BREAK + delta
                        is_first_of_round = False
                        text += piece
                        yield TextDelta(piece)
                if not exchange.asked or number == ROUNDS:
                    break
                made = []
                for asked in exchange.asked:
                    if limits is not None:
                        limits.count_call()
                    made.append(await _call_tool(tools, asked, number, len(text)))
                    yield ToolCalled(made[-1])
                exchange.add_answers(made)
                calls += made
            if not text and not calls:
                raise self._model_failed("gave an empty answer")
        yield ReplyFinished(text, tuple(calls), session.usage)

    async def extract(self, reading: ClosingChat) -> Extraction:
        """Read a closing chat, in one call (a second only to repair an answer that does not fit)."""
        sheet = sheets.lay_out(reading, tokens=self.context_tokens)
        said = [PromptMessage("user", sheet.text)]
        async with self._open() as session:
            text = await session.ask(sheet.system, said, sheet.schema)
            answer, wrong = _read(text, sheet)
            if wrong:
                said += [
                    PromptMessage("assistant", text[:REPAIR_CHARS]),
                    PromptMessage("user", sheets.REPAIR.format(wrong=wrong)),
                ]
                again, wrong = _read(await session.ask(sheet.system, said, sheet.schema), sheet)
                answer = again or answer
            if answer is None:
                raise self._model_failed(f"gave an answer that cannot be used ({wrong.lstrip('- ')})")
        return Extraction(answer.candidates, answer.summary or reading.summary or "", self.name, session.usage)

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        """The summary of a chat so far, for the part of a long chat that is not sent in full any more."""
        chat = sheets.chat_part(turns, tokens=self.context_tokens)
        data = "\n\n".join(filter(None, [sheets.summary_part(previous), chat]))
        text, usage = await self._ask(sheets.SUMMARISE, data)
        return text.strip()[: sheets.SUMMARY_CHARS], usage

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        """A title for a chat, three to five words."""
        return await self._ask(sheets.TITLE, sheets.chat_part(turns[:4], tokens=1_000), sheets.clean_title)

    async def _ask(self, system: str, data: str, clean: Callable[[str], str] = str.strip) -> tuple[str, Usage]:
        async with self._open() as session:
            text = clean(await session.ask(system, [PromptMessage("user", data)]))
            if not text:
                raise self._model_failed("gave an empty answer")
        return text, session.usage

    @asynccontextmanager
    async def _open(self) -> AsyncIterator["ModelSession"]:
        """A session. An error in it is given the tokens that were spent, so that they are counted."""
        try:
            # Loaded with the first request: it takes seconds, and is an extra of the installation.
            from keepbook.models.providers.session import open_session
        except ImportError:
            raise self._model_failed("needs an extra: pip install 'keepbook[models]'", "missing") from None
        async with open_session(self.address) as session:
            try:
                yield session
            except KeepbookError as error:
                error.details |= {"tokens_in": session.usage.tokens_in, "tokens_out": session.usage.tokens_out}
                raise

    def _model_failed(self, why: str, cause: str = "garbage") -> ModelFailed:
        return ModelFailed(f"the model {self.address.called} {why}", cause=cause)


async def _round(
    session: "ModelSession", exchange: "ModelExchange", limits: WorkLimits | None, *, may_call: bool
) -> AsyncGenerator[str, None]:
    """One request. With limits, its text comes all at once, when it is complete, and a request that fails is tried
    again if that may help. No tool is called before the request is complete, so none is called twice."""
    if limits is None:
        async with aclosing(exchange.round(may_call=may_call)) as deltas:
            async for delta in deltas:
                yield delta
        return
    for tries in itertools.count(1):
        pieces, length = list[str](), 0
        try:
            limits.check_tokens()
            async with aclosing(exchange.round(may_call=may_call)) as deltas:
                async for delta in deltas:
                    pieces.append(delta)
                    length += len(delta)
                    check_length(length)
            check_answer("".join(pieces))
        except KeepbookError as error:
            limits.spent = session.usage
            wait = None
            if isinstance(error, ModelFailed):
                wait = limits.wait_before_retry(error, tries)
            if wait is None:
                yield "".join(pieces)  # so that the transcript has what came before the failure
                raise
            await asyncio.sleep(wait)
        else:
            limits.spent = session.usage
            yield "".join(pieces)
            return


async def _call_tool(tools: Toolbox | None, asked: "ToolRequest", round: int, at: int) -> ToolCall:
    if tools is None:
        return ToolCall(asked.id, asked.name, asked.arguments, "There are no tools in this chat.", None, round, at)
    # In a thread: a tool writes to the database and may have to wait, while other chats go on.
    answer = await asyncio.to_thread(tools.call, asked.name, asked.written)
    return ToolCall(asked.id, asked.name, asked.arguments, answer.text, answer.memory_event, round, at, answer.others)


def _read(text: str, sheet: sheets.Sheet) -> tuple[sheets.ExtractorAnswer | None, str]:
    """The answer as far as it can be read, or None, and what is wrong with it ("" if nothing is)."""
    try:
        answer = sheets.parse_extractor_answer(text, sheet)
    except sheets.Unreadable as error:
        return None, str(error)
    return answer, "\n".join(answer.wrong)
