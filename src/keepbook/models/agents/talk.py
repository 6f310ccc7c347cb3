"""A chat with an agent: one thread that goes on, and with Active Memory the session that its runs share.

What is said stays in the thread whatever happens to the session. With memory off the chat sees its own thread, a long
one compressed like any chat; with memory on it sees the session instead, and each reply moves it. Every turn is a run.
"""

import asyncio
from collections.abc import AsyncIterator

from keepbook.book.agents.agents import Agent
from keepbook.book.book import Book
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import Message
from keepbook.errors import Conflict, ModelFailed, NotFound
from keepbook.models.agents import prompts
from keepbook.models.agents.adapter import Done, Order
from keepbook.models.agents.runner import Runner, Work
from keepbook.models.chat import Kept, Notice, Talk, compressed, order_calls
from keepbook.models.compress import plan, to_parts
from keepbook.models.model import Event, Replied, Said
from keepbook.models.orders.values import of_parts
from keepbook.models.unfinished import Piece
from keepbook.tools.agents import toolbox
from keepbook.tools.catalogue import ToolSet


def thread_of(book: Book, ref: str) -> Chat:
    """The one chat with an agent, begun if need be; one in the trash is left there and another begun."""
    with book.transaction():
        agent = book.agents.get(ref)
        if agent.thread_id is not None:
            try:
                chat = book.threads.get(agent.thread_id)
            except NotFound:  # removed for good
                pass
            else:
                if chat.thread.deleted_at is None:
                    return chat
        chat = book.threads.start(agent=agent.id)
        book.threads.rename(chat.id, agent.name, by="rules")
        book.agents.keep_thread(agent.id, chat.id)
        return chat


def agent_of(chat: Chat) -> Agent | None:
    """The agent whose one chat this is."""
    thread = chat.thread
    if thread.agent is None:
        return None
    agents = Book.of(chat.book).agents.list()
    return next((one for one in agents if one.id == thread.agent and one.thread_id == thread.id), None)


class AgentTalk(Talk):
    """The chat with an agent in the hand."""

    def __init__(self, runner: Runner, agent: Agent, chat: Chat, *, monthly_tokens: int | None) -> None:
        super().__init__(runner.book, chat, runner.models, budget=runner.budget, monthly_tokens=monthly_tokens)
        self.agent = agent
        self._runner = runner

    def _make_way(self, turn: int, role: str) -> None:
        raise Conflict("an agent goes on from what was said; say it once more instead", code="agents_chat")

    async def _answer(
        self, spoken: Message, instead_of: int | None = None, begun: Piece | None = None
    ) -> AsyncIterator[Event | Notice | Kept]:
        runner = self._runner
        run = await asyncio.to_thread(
            lambda: self.book.runs.queue(self.agent.id, "chat", prompt=spoken.text, thread_id=self.chat.id)
        )
        work = await asyncio.to_thread(runner.take, run.id)
        async with runner.in_hand(work):
            await runner.turn(work)
            await asyncio.to_thread(runner.start, work)
            system, tools = await asyncio.to_thread(self._lay_out, work, spoken)
            earlier: tuple[Said, ...] = ()
            if work.held is None:
                async for notice in self._compress(self.chat.thread, system, tools, spoken):
                    yield notice
                earlier = await asyncio.to_thread(self._earlier)
            prompt = Said("user", spoken.text, spoken.hidden)
            order = Order(work.agent, system, prompt, tools, held=work.held, earlier=earlier, model=work.agent.model)
            async for event in runner.execute(work, order):
                if isinstance(event, Done):
                    yield Kept(await asyncio.to_thread(self._keep, work, event, spoken))
                    return
                if not isinstance(event, Replied):
                    yield event
        raise ModelFailed("the answer did not come to an end", cause="garbage")

    def _lay_out(self, work: Work, spoken: Message) -> tuple[str, ToolSet]:
        book, turns = self._spoken_to(spoken), (str(spoken.turn),)
        tools = toolbox(book, work.agent, chat=True, thread_id=self.chat.id, turn_ids=turns)
        return prompts.system(work.agent, block=self._runner.block(work)), tools

    def _earlier(self) -> tuple[Said, ...]:
        """The thread up to what was just said."""
        through, summary = compressed(self.chat.thread)
        messages = self.chat.messages()
        return plan(messages, compressed_through=through, summary=summary, budget=self._budget).said[:-1]

    def _keep(self, work: Work, done: Done, spoken: Message) -> Message:
        """The reply in the thread and the run with its session: both or neither."""
        calls = tuple(call for one in done.said for call in one.calls)
        with self.book.transaction():
            message = self.chat.add(
                "assistant", done.text, parts=to_parts((*order_calls(of_parts(spoken.parts)), *calls))
            )
            self._runner.keep(work, None, done)
            return message
