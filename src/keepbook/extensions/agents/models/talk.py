"""A chat with an agent: one thread, in which each reply is a run.

With memory off, the agent sees the thread, which is compressed like that of any chat. With Active Memory it sees the
session that it shares with its runs, and each reply changes the session. What is said stays in the thread whatever
happens to the session. If a reply breaks off, its run has failed and the session stays as it was; the piece is stored
in the thread and can be continued.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import replace

from keepbook.book.book import Book
from keepbook.book.chats import adding, threads
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import Message
from keepbook.book.ground.when import stamp
from keepbook.errors import Conflict, ModelFailed, NotFound
from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.models import prompts
from keepbook.extensions.agents.models.adapter import Execution, ExecutionResult
from keepbook.extensions.agents.models.native import Native
from keepbook.extensions.agents.models.run_in_progress import RunInProgress
from keepbook.extensions.agents.models.runner import STOPPED, Runner
from keepbook.extensions.agents.tools import toolbox
from keepbook.models.chat import Notice, ReplyStored, Talk, compressed_through, order_calls
from keepbook.models.compress import calls_to_parts, plan_messages
from keepbook.models.model import BREAK, PromptMessage, ReplyEvent, ReplyFinished, TextDelta
from keepbook.models.notebook.reply.view import View
from keepbook.models.notebook.turn import TurnTaken, view_of
from keepbook.models.notebook.values import from_parts
from keepbook.models.recorded_turns import hidden_beside, marked, recorders_in_view
from keepbook.models.unfinished_replies import ReplyPiece, being_written, until
from keepbook.tools.catalogue import ToolSet


def thread_of(book: Book, ref: str) -> Chat:
    """The one chat with an agent. If there is none, or it is in the trash, another is begun."""
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
    """The agent whose chat this is; None if it is no agent's."""
    thread = chat.thread
    if thread.agent is None:
        return None
    agents = Book.of(chat.book).agents.list()
    return next((one for one in agents if one.id == thread.agent and one.thread_id == thread.id), None)


class AgentTalk(Talk):
    """A chat with one of the book's agents: each reply is a run of that agent."""

    def __init__(self, runner: Runner, agent: Agent, chat: Chat, *, monthly_tokens: int | None) -> None:
        super().__init__(runner.book, chat, runner.models, budget=runner.budget, monthly_tokens=monthly_tokens)
        self.agent = agent
        self._runner = runner

    @property
    def by_notebook(self) -> bool:
        models = self._runner.models
        return self.agent.adapter == Native.name and models.named(self.agent.model) is models.offline

    @property
    def _called(self) -> str:
        return self.agent.name

    @property
    def _continues_pieces(self) -> bool:
        """Whether the piece of a reply is continued. A program is not told what it had written, so it writes anew."""
        return self.agent.adapter == Native.name and not self.by_notebook

    def _make_way(self, turn: int, role: str) -> None:
        """Only a last reply that broke off can be replaced: it has not changed the agent's session."""
        newest_first = reversed(threads.current_messages(self.chat.messages()))
        last = next((one for one in newest_first if one.role == role), None)
        if last is None or last.turn != turn or last.broke_off is None:
            raise Conflict("an agent goes on from what was said; say it once more instead", code="agents_chat")
        super()._make_way(turn, role)

    async def _answer(
        self, taken: TurnTaken, instead_of: int | None = None, begun: ReplyPiece | None = None
    ) -> AsyncIterator[ReplyEvent | Notice | ReplyStored]:
        """Reply with a run. If the reply breaks off, the run fails and the piece is stored in the thread."""
        spoken = taken.message
        view = view_of(taken, self.book.meaning) if self.by_notebook else None
        run = await asyncio.to_thread(
            lambda: self.book.runs.queue(self.agent.id, "chat", prompt=spoken.text, thread_id=self.chat.id)
        )
        work = await asyncio.to_thread(self._runner.take, run.id)
        turns, written = self.chat.thread.turns, ReplyPiece("", begun.calls if begun else ())

        def keep(why: str) -> Message | None:
            return self._keep_piece(spoken, turns, written, why, instead_of)

        with being_written(self.book.owner, self.chat.id) as stop:
            try:
                async with self._runner.keep_alive(work):
                    async with aclosing(until(stop, self._events(work, spoken, begun, view))) as events:
                        async for event in events:
                            if isinstance(event, ExecutionResult):
                                yield ReplyStored(await asyncio.to_thread(self._keep, work, event, spoken, instead_of))
                                return
                            written.add(event)
                            yield event
                    if not stop.is_set():
                        raise ModelFailed("the answer did not come to an end", cause="garbage")
                    await asyncio.to_thread(self._runner.fail, work, STOPPED, "stopped")
            except ModelFailed:
                await asyncio.to_thread(keep, "failed")
                raise
            except (GeneratorExit, asyncio.CancelledError):
                # Nobody listens any more. It is stored in a thread, which goes on if this task is cancelled once more.
                kept = asyncio.get_running_loop().run_in_executor(None, keep, "left")
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(kept)
                raise
            stopped = await asyncio.to_thread(keep, "stopped")
            if stopped is not None:
                yield ReplyStored(stopped)

    async def _events(
        self, work: RunInProgress, spoken: Message, begun: ReplyPiece | None, view: View | None
    ) -> AsyncIterator[ReplyEvent | Notice | ExecutionResult]:
        """Perform the run and yield its events; the last one is its result."""
        runner = self._runner
        await runner.turn(work)
        await asyncio.to_thread(runner.start, work)
        system, tools = await asyncio.to_thread(self._prompt_and_tools, work, spoken)
        earlier: tuple[PromptMessage, ...] = ()
        if work.held is None:
            async for notice in self._compress(self.chat.thread, system, tools, spoken):
                yield notice
            earlier = await asyncio.to_thread(self._earlier, spoken)
        if begun is not None:
            yield TextDelta(begun.text)
        is_part = spoken.recorded_by is not None
        prompt = PromptMessage("user", marked(spoken), hidden_beside(spoken), is_part=is_part)
        model = work.agent.model
        order = Execution(
            work.agent, system, prompt, tools, held=work.held, earlier=earlier, begun=begun, model=model, view=view
        )
        async with aclosing(runner.execute(work, order)) as events:
            async for event in events:
                if isinstance(event, ExecutionResult) and tools.why_proposed:
                    more = BREAK + tools.why_proposed
                    yield TextDelta(more)
                    yield replace(event, text=event.text + more)
                elif not isinstance(event, ReplyFinished):
                    yield event

    def _prompt_and_tools(self, work: RunInProgress, spoken: Message) -> tuple[str, ToolSet]:
        book, turns = self._spoken_to(spoken), (str(spoken.turn),)
        others = recorders_in_view(self._current_messages(spoken.turn), self.chat.thread)
        tools = toolbox(book, work.agent, chat=True, thread_id=self.chat.id, turn_ids=turns, others=others)
        return prompts.system(work.agent, block=self._runner.block(work).text), tools

    def _earlier(self, spoken: Message) -> tuple[PromptMessage, ...]:
        """The messages of the thread before what was just said."""
        through, summary = compressed_through(self.chat.thread)
        said = self._current_messages(spoken.turn)
        return plan_messages(said, compressed_through=through, summary=summary, budget=self._budget).said[:-1]

    def _keep(self, work: RunInProgress, done: ExecutionResult, spoken: Message, instead_of: int | None) -> Message:
        """Store the reply in the thread, and the run with its session: both or neither."""
        reply = ReplyPiece(done.text, tuple(call for one in done.said for call in one.calls))
        with self.book.transaction():
            message = self._add(reply, spoken, instead_of)
            self._runner.keep(work, None, done)
            return message

    def _keep_piece(
        self, spoken: Message, turns: int, written: ReplyPiece, why: str, instead_of: int | None
    ) -> Message | None:
        """Store the piece of a reply that broke off, unless the chat has more `turns` now than when it began."""
        if not written.text.strip():
            return None
        with self.book.transaction():
            if self.chat.thread.turns != turns:
                return None
            return self._add(written, spoken, instead_of, why)

    def _add(self, reply: ReplyPiece, spoken: Message, instead_of: int | None, broke_off: str | None = None) -> Message:
        parts = calls_to_parts((*order_calls(from_parts(spoken.parts)), *reply.calls))
        with self.book.writing() as (tx, _):
            return adding.add_message(
                tx, self.chat.id, "assistant", reply.text, stamp(tx.clock()), parts=parts, instead_of=instead_of,
                broke_off=broke_off, close_after_hours=self.book.close_after_hours,
            )  # fmt: skip
