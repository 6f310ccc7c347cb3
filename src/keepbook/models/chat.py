"""A chat with an agent that remembers: takes one turn of the person, streams a reply, and stores both.

The person's message is stored before a model is asked, so nothing said is lost. The block is made once, when the chat
begins, and later requests only append to what was sent before, until older turns are compressed: so providers can cache
the beginning. If the model fails, the person's message stays in the chat and can be answered again. A reply that broke
off is stored as far as it came, and can be continued.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from keepbook.book.book import Book
from keepbook.book.chats import adding, threads
from keepbook.book.chats.adding import ModelUse
from keepbook.book.chats.face import Chat
from keepbook.book.chats.in_view import in_view
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.view import kept_in_view
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.errors import Conflict, Invalid, ModelFailed, NotAllowed, NotFound
from keepbook.models.choose import Models
from keepbook.models.compress import ORDER, Budget, calls_to_parts, fixed_tokens_of, plan_messages
from keepbook.models.model import (
    BREAK,
    Conversation,
    DialogueTurn,
    ReplyEvent,
    ReplyFinished,
    TextDelta,
    Toolbox,
    ToolCall,
    ToolCalled,
    Usage,
)
from keepbook.models.notebook.missed_orders import ask_what_was_missed
from keepbook.models.notebook.scene import TurnContext, load_context
from keepbook.models.notebook.turn import TurnTaken, read_again, record_turn, take_turn, view_of
from keepbook.models.notebook.values import NOTEBOOK, Deed, from_parts, is_persons
from keepbook.models.prompt import compose
from keepbook.models.recorded_turns import recorders_in_view
from keepbook.models.unfinished_replies import ReplyPiece, being_written, estimate_usage, going_on, until, whole_words
from keepbook.tools.catalogue import ToolSet, build_tools

CLOSING_WAIT_SECONDS = 3.0
"""How long a new chat waits for another chat that is being closed, so that its block has what is learned there."""
NOTEBOOK_TURNS = 8
"""How many turns before the last one the notebook is given."""
SAID_ANEW = 3
"""How many of the person's last messages can be replaced."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence about this turn for the person."""

    text: str


@dataclass(frozen=True, slots=True)
class ReplyStored:
    """Last event of a turn: the reply is stored. `titled` is the chat's new title, if it got one."""

    message: Message
    titled: str | None = None


class Talk:
    """One chat with the models that answer in it. Without `orders` the notebook does not look for orders in what the
    person says; then only the answering model can carry them out, with its tools."""

    def __init__(
        self,
        book: Book,
        chat: Chat,
        models: Models,
        *,
        budget: Budget,
        monthly_tokens: int | None,
        orders: bool = True,
    ) -> None:
        self.book = book
        self.chat = chat
        self._models = models
        self._budget = budget
        self._monthly_tokens = monthly_tokens
        self._orders = orders
        self._named: str | None = None

    async def say(
        self, text: str, *, hidden: str | None = None, instead_of: int | None = None
    ) -> AsyncIterator[ReplyEvent | Notice | ReplyStored]:
        """Say something; the reply comes in pieces. `instead_of` is one of the person's last turns: this one replaces
        it and all turns after it. What those wrote to the book is undone; they stay readable, but closing skips
        them."""
        if not text.strip():
            raise Invalid("say something: the message is empty", field="text")
        if instead_of is not None:
            await asyncio.to_thread(self._make_way, instead_of, "user")
        loaded = await self._load(text, instead_of)
        taken = await asyncio.to_thread(self._take, text, hidden or _left_to_know(loaded), instead_of, loaded)
        for call in order_calls(taken.deeds):
            yield ToolCalled(call)
        async for event in self._answer(taken):
            yield event

    async def again(self, *, instead_of: int | None = None) -> AsyncIterator[ReplyEvent | Notice | ReplyStored]:
        """Answer the person's last message: after a model failed to, or anew, in place of the last reply."""
        messages = await asyncio.to_thread(kept_in_view, self.chat)
        if instead_of is None and messages and messages[-1].broke_off:
            instead_of = messages[-1].turn
        if instead_of is not None:
            await asyncio.to_thread(self._make_way, instead_of, "assistant")
        said = [one for one in messages if instead_of is None or one.turn < instead_of]
        if not said or said[-1].role != "user":
            raise Conflict("the last message of this chat has its answer", code="answered")
        taken = await asyncio.to_thread(read_again, self.book, self.chat, said[-1])
        async for event in self._answer(taken, instead_of):
            yield event

    async def go_on(self) -> AsyncIterator[ReplyEvent | Notice | ReplyStored]:
        """Continue the last reply, which broke off: the whole reply replaces the piece."""
        stands = threads.current_messages(await asyncio.to_thread(self.chat.messages))[-2:]
        if [one.role for one in stands] != ["user", "assistant"] or stands[1].broke_off is None:
            raise Conflict("the last reply of this chat did not break off", code="answered")
        spoken, broken = stands
        taken = await asyncio.to_thread(read_again, self.book, self.chat, spoken)
        begun = None
        if self._continues_pieces:
            begun = whole_words(broken) or None
        else:
            await asyncio.to_thread(self._make_way, broken.turn, "assistant")
        async for event in self._answer(taken, broken.turn, begun):
            yield event

    @property
    def _continues_pieces(self) -> bool:
        """Whether the piece of a reply is continued. The notebook writes it anew, which takes no time."""
        return not self.by_notebook

    def _make_way(self, turn: int, role: str) -> None:
        """Prepare to replace a turn and all after it: check that it may be replaced, and undo what they wrote to the
        book, except what newer writes build on."""
        stands = threads.current_messages(self.chat.messages())
        of_this_role = [one for one in stands if one.role == role]
        if role == "user":
            replaceable, words = of_this_role[-SAID_ANEW:], f"only your last {SAID_ANEW} messages"
        else:
            replaceable, words = of_this_role[-1:], "only the last reply"
        if all(one.turn != turn for one in replaceable):
            raise Conflict(f"{words} can be replaced; an older one begins a chat of its own", code="not_last")
        is_persons_word = role == "user" and any(one.turn >= turn and one.recorded_by is None for one in of_this_role)
        if is_persons_word and self.book.origin.actor != "person":
            raise NotAllowed("the person said that; only they say it anew", code="person_only")
        replaced = [one for one in self.chat.messages() if one.turn >= turn]
        for event in sorted({event for one in replaced for event in _written_by(one)}, reverse=True):
            try:
                self.book.undo(event)
            except (Conflict, NotAllowed, NotFound) as error:
                if error.code == "busy":
                    raise
                # Undone already, changed since, or not this caller's to undo: it stays as it is.
        if role == "user":
            self._drop_questions({one.turn for one in replaced})

    def _drop_questions(self, turns: set[int]) -> None:
        """Let the open questions of turns that were replaced expire."""
        with self.book.writing() as (tx, _):
            for one in proposals.list_proposals(tx, thread_id=self.chat.id):
                if any(turn.isdecimal() and int(turn) in turns for turn in one.turn_ids):
                    proposals.expire(tx, one.id, stamp(tx.clock()))

    @property
    def by_notebook(self) -> bool:
        """Whether the notebook answers here, not a model."""
        return self._models.chat is self._models.offline

    async def _load(self, text: str, instead_of: int | None) -> TurnContext:
        """What the turn is read against. If another chat is being closed, a chat that begins waits for that."""
        waited = 0.0
        while True:
            loaded = await asyncio.to_thread(lambda: load_context(self.book, self.chat.id, text, before=instead_of))
            if not loaded.busy or waited >= CLOSING_WAIT_SECONDS:
                return loaded
            await asyncio.sleep(0.1)
            waited += 0.1

    def _take(self, text: str, hidden: str | None, instead_of: int | None, loaded: TurnContext) -> TurnTaken:
        """Store the turn, and carry out what it orders; the turn of an agent is only stored."""
        if self.book.origin.actor != "person" or not self._orders:
            taken = record_turn(self.book, self.chat, text, loaded, hidden=hidden, instead_of=instead_of)
        else:
            taken = take_turn(
                self.book, self.chat, text, hidden=hidden, instead_of=instead_of, with_model=not self.by_notebook,
                loaded=loaded,
            )  # fmt: skip
        self._named = taken.titled
        return taken

    async def _answer(
        self, taken: TurnTaken, instead_of: int | None = None, begun: ReplyPiece | None = None
    ) -> AsyncIterator[ReplyEvent | Notice | ReplyStored]:
        """Reply to a turn. The reply replaces the one at `instead_of`, and continues what is `begun`."""
        spoken = taken.message
        if self.by_notebook:
            thread, toolbox = taken.loaded.thread, self._tools(taken.loaded, spoken)
            conversation = await asyncio.to_thread(self._for_notebook, taken)
        else:
            thread, toolbox, system = await asyncio.to_thread(self._set_table, taken)
            async for notice in self._compress(thread, system, toolbox, spoken):
                yield notice
            conversation = await asyncio.to_thread(self._conversation, taken, system)
        written = ReplyPiece()
        if begun is not None:
            conversation = going_on(conversation, begun)
            written = ReplyPiece(begun.text, begun.calls)
            yield TextDelta(begun.text)
        turns = spoken.turn if self.by_notebook else thread.turns
        piece = _BrokenReply(self, turns, conversation, taken, instead_of)
        with being_written(self.book.owner, self.chat.id) as stop:
            try:
                async with aclosing(until(stop, self._models.chat.reply(conversation, toolbox))) as events:
                    async for event in events:
                        if isinstance(event, ReplyFinished):
                            whole = event if begun is None else begun.join(event)
                            why_proposed = None if toolbox is None else toolbox.why_proposed
                            if why_proposed:
                                yield TextDelta(BREAK + why_proposed)
                                whole = replace(whole, text=whole.text + BREAK + why_proposed)
                            message = await asyncio.to_thread(self._store, whole, taken, instead_of)
                            yield ReplyFinished(whole.text, whole.calls, whole.usage)
                            yield ReplyStored(message, await self._title(spoken))
                            return
                        written.add(event)
                        yield event
            except ModelFailed as error:
                await asyncio.to_thread(piece.keep, written, "failed")
                spent = [int(error.details.get(name, 0)) for name in ("tokens_in", "tokens_out")]
                if any(spent):
                    await self._count("chat", self._models.chat.name, Usage(*spent))
                raise
            except (GeneratorExit, asyncio.CancelledError):
                # Nobody listens any more. It is stored in a thread, which goes on if this task is cancelled once more.
                kept = asyncio.get_running_loop().run_in_executor(None, piece.keep, written, "left")
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(kept)
                raise
            stopped = await asyncio.to_thread(piece.keep, written, "stopped")
            if stopped is not None:
                yield ReplyStored(stopped, await self._title(spoken))

    def _for_notebook(self, taken: TurnTaken) -> Conversation:
        """What the notebook answers from: the last turns, what this one did, and what recall brought."""
        visible = in_view(taken.loaded.messages, taken.loaded.thread.out_of_view)
        earlier = [one for one in visible if one.turn < taken.message.turn]
        said = plan_messages([*earlier[-NOTEBOOK_TURNS:], taken.message]).said
        view = view_of(taken, self.book.meaning)
        return Conversation(
            "", said, preset=taken.loaded.preset, view=view if self._orders else None, extensions=self.book.extensions
        )

    def _current_messages(self, through: int) -> list[Message]:
        """The messages up to a turn that were not replaced and that the model may see."""
        stands = in_view(threads.current_messages(self.chat.messages()), self.chat.thread.out_of_view)
        return [one for one in stands if one.turn <= through]

    def _conversation(self, taken: TurnTaken, system: str) -> Conversation:
        """What the model is sent."""
        through, summary = compressed_through(self.chat.thread)
        stands = self._current_messages(taken.message.turn)
        said = plan_messages(stands, compressed_through=through, summary=summary, budget=self._budget).said
        return Conversation(system, said, preset=taken.loaded.preset)

    def _set_table(self, taken: TurnTaken) -> tuple[Thread, ToolSet | None, str]:
        """The chat's thread and tools, and its system prompt, which is the same at every turn."""
        thread, preset = self.chat.thread, taken.loaded.preset
        remembers = taken.loaded.remembers
        block = ""
        if remembers:
            block = self.chat.inject()
        system = compose(
            preset, block=block, tier=thread.tier, mode=thread.mode, focus=thread.focus, memory=remembers,
            extensions=self.book.extensions,
        )  # fmt: skip
        others = recorders_in_view((*taken.loaded.messages, taken.message), thread)
        return thread, self._tools(taken.loaded, taken.message, others), system

    def _tools(self, loaded: TurnContext, spoken: Message, others: Sequence[str] = ()) -> ToolSet | None:
        """The tools of a reply. `others` are the programs that recorded some of what the model is sent."""
        if not loaded.remembers:
            return None
        book, turns = self._spoken_to(spoken), (str(spoken.turn),)
        return build_tools(
            loaded.preset, book, thread_id=loaded.thread.id, turn_ids=turns, mode=loaded.thread.mode, others=others
        )

    def _spoken_to(self, spoken: Message) -> Book:
        """The book as it is for who said this. What the person did not say here, tools do not do for them, also where
        it is the person who asks for the answer."""
        if is_persons(spoken.parts):
            return self.book.acting(name=self._called)
        return self.book.acting(actor="agent", name=spoken.recorded_by or self._called)

    @property
    def _called(self) -> str:
        """What lines call it that its tools wrote on their own."""
        return self._models.chat.name

    async def _compress(
        self, thread: Thread, system: str, toolbox: Toolbox | None, spoken: Message
    ) -> AsyncIterator[Notice]:
        """Past the budget, older turns are summarised once for what is sent; the stored ones stay."""
        messages = await asyncio.to_thread(self._current_messages, spoken.turn)
        through, summary = compressed_through(thread)
        if toolbox:
            tools = toolbox.schemas("openai")
        else:
            tools = []
        found = plan_messages(
            messages,
            compressed_through=through,
            summary=summary,
            fixed_tokens=fixed_tokens_of(system, tools),
            budget=self._budget,
        )
        if found.through is None:
            return
        turns = [_turn(message) for message in found.due]
        made = await self._models.summarise(summary, turns, over_cap=await self._over_cap())
        await asyncio.to_thread(self._keep_compression, found.through, made.text)
        await self._count("summarise", made.made_by, made.usage)
        yield Notice(f"Older turns are summarised for the model. All {len(messages)} are kept in full.")
        if made.notice:
            yield Notice(made.notice)

    def _keep_compression(self, through: int, summary: str) -> None:
        with self.book.writing() as (tx, _):
            threads.keep_compression(tx, self.chat.id, through, summary)

    def _store(
        self, reply: ReplyFinished, taken: TurnTaken, instead_of: int | None = None, broke_off: str | None = None
    ) -> Message:
        """Store the reply, and ask about each clear order of the turn that nothing has carried out."""
        cost = (reply.usage.tokens_in, reply.usage.tokens_out)
        shown = cost if broke_off is None else (None, None)  # of a piece it is an estimate: counted, but not shown
        made = ModelUse(self._models.chat.name, *shown)
        with self.book.transaction():
            self.book.spending.count("chat", self._models.chat.name, *cost)
            if taken.left and broke_off is None:
                ask_what_was_missed(self.book, taken, reply.calls)
            with self.book.writing() as (tx, _):
                speaker = None
                if self.by_notebook:
                    speaker = NOTEBOOK
                return adding.add_message(
                    tx, self.chat.id, "assistant", reply.text, stamp(tx.clock()),
                    speaker=speaker, made=made,
                    parts=calls_to_parts((*order_calls(taken.deeds), *reply.calls)), instead_of=instead_of,
                    broke_off=broke_off, close_after_hours=self.book.close_after_hours,
                )  # fmt: skip

    async def _title(self, spoken: Message) -> str | None:
        """The title that this turn gave the chat, or None: by rules, or by a model, which needs a whole exchange."""
        by_rules, self._named = self._named, None
        if by_rules is None or self._models.cheap is self._models.offline:
            return by_rules
        messages = await asyncio.to_thread(kept_in_view, self.chat)
        turns = [_turn(one) for one in messages if one.turn >= spoken.turn or one.role == "user"]
        made = await self._models.title(turns, over_cap=await self._over_cap())
        await self._count("title", made.made_by, made.usage)
        if made.made_by == self._models.offline.name:
            return by_rules
        try:
            return await asyncio.to_thread(self._rename, made.text[: threads.TITLE_LIMIT])
        except Invalid:  # the model's title breaks a rule
            return by_rules

    def _rename(self, title: str) -> str | None:
        """Rename without a check of permission: where an agent speaks, it is still we who name the chat."""
        with self.book.writing() as (tx, _):
            return threads.rename(tx, self.chat.id, title, by="model").title

    async def _count(self, operation: str, model: str, usage: Usage) -> None:
        await asyncio.to_thread(self.book.spending.count, operation, model, usage.tokens_in, usage.tokens_out)

    async def _over_cap(self) -> bool:
        return await asyncio.to_thread(over_cap, self.book, self._monthly_tokens)


def _left_to_know(loaded: TurnContext) -> str | None:
    """The hidden context of the assistant's last message (which memory its question is about); sent with the answer."""
    last = None
    if loaded.messages:
        last = loaded.messages[-1]
    if last is not None and last.role == "assistant":
        return last.hidden
    return None


@dataclass(frozen=True, slots=True)
class _BrokenReply:
    """Stores a reply that breaks off, unless the chat has more `turns` now than when the model was asked."""

    talk: Talk
    turns: int
    conversation: Conversation
    taken: TurnTaken
    instead_of: int | None

    def keep(self, written: ReplyPiece, why: str) -> Message | None:
        """The stored message, or None if nothing was stored."""
        if not written.text.strip():  # there may be calls; what they wrote is in the book all the same
            return None
        with self.talk.book.transaction():
            if self.talk.chat.thread.turns != self.turns:
                return None
            cost = estimate_usage(self.conversation, written)
            reply = ReplyFinished(written.text, written.calls, cost)
            return self.talk._store(reply, self.taken, self.instead_of, why)


def compressed_through(thread: Thread) -> tuple[int, str | None]:
    """The last turn that the summary covers, and the summary; (0, None) if there is none, or it was erased."""
    if thread.compressed is None:
        return 0, None
    return thread.compressed_through, thread.compressed


def order_calls(deeds: Sequence[Deed]) -> tuple[ToolCall, ...]:
    """What orders wrote, in the form of tool calls: the page shows both as slips with Undo."""
    return tuple(ToolCall(**call) for deed in deeds for call in deed.calls)


def _written_by(message: Message) -> list[int]:
    """The numbers of the ledger entries that the orders of a turn, or the tools of a reply, wrote."""
    ordered = [deed.event for deed in from_parts(message.parts) if deed.event]
    calls = [call for call in message.calls if call["name"] != ORDER]
    written = [call.get("memory_event") or {} for call in calls]
    return ordered + [one["event"] for one in written if one.get("event")]


def over_cap(book: Book, monthly_tokens: int | None) -> bool:
    """Whether the owner has used up the tokens of this month."""
    return monthly_tokens is not None and book.spending.this_month() >= monthly_tokens


def _turn(message: Message) -> DialogueTurn:
    return DialogueTurn(message.turn, message.role, message.text, message.at, message.speaker)
