"""A chat with an agent that remembers: one turn of the person in, a streamed reply out, everything stored.

The order matters. The person's message is stored before any model is asked, so nothing said is lost; the block is
rendered once, when the chat begins; what is sent only grows at its end until a compression. A model that fails leaves
the chat with the person's message in it, and the turn can be tried again. What of a reply was there when it broke off
is stored as such, and can be gone on with.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from itertools import chain

from keepbook.book.book import Book
from keepbook.book.chats import threads
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import Made, Message, Thread
from keepbook.book.ground.when import stamp
from keepbook.book.text.topics import touched
from keepbook.errors import Conflict, Invalid, ModelFailed, NotAllowed, NotFound
from keepbook.models.choose import Models
from keepbook.models.compress import Budget, fixed, plan, to_parts
from keepbook.models.model import Called, Conversation, Event, Replied, TextDelta, Toolbox, ToolCall, Turn, Usage
from keepbook.models.offline.title import UNTITLED
from keepbook.models.offline.title import title as title_by_rules
from keepbook.models.orders.asked import NOTEBOOK
from keepbook.models.orders.obey import Heeded, at_hand, obey
from keepbook.models.orders.values import Deed, Place, of_parts, standing, was_heard
from keepbook.models.prompt import compose
from keepbook.models.unfinished import Piece, about, being_written, going_on, until, whole_words
from keepbook.tools.catalogue import build

CLOSING_WAIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know about this turn, in a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The reply is stored: the last thing a turn tells. `titled` is the chat's new title, if it got one."""

    message: Message
    titled: str | None = None


class Talk:
    """A chat in the hand, with the models that answer in it. Without `orders` nobody listens for any: the model that
    answers carries out itself what the person wants."""

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
    ) -> AsyncIterator[Event | Notice | Kept]:
        """Say something; the reply comes in pieces. `instead_of` is the person's last turn, said anew: what it and its
        reply wrote is taken back, both stay readable, and closing reads the new one."""
        if not text.strip():
            raise Invalid("say something: the message is empty", field="text")
        await self._wait_for_closing()
        if instead_of is not None:
            await asyncio.to_thread(self._make_way, instead_of, "user")
        hidden = hidden or await asyncio.to_thread(self._left_to_know, instead_of)
        heeded = await asyncio.to_thread(self._heed, text, hidden, instead_of)
        await asyncio.to_thread(self._name, instead_of, any(map(_withdrawn, heeded.deeds)))
        for call in order_calls(heeded.deeds):
            yield Called(call)
        async for event in self._answer(heeded.message):
            yield event

    async def again(self, *, instead_of: int | None = None) -> AsyncIterator[Event | Notice | Kept]:
        """Answer the person's last message: where a model failed to, or anew, in place of the last reply."""
        messages = threads.standing(await asyncio.to_thread(self.chat.messages))
        if instead_of is None and messages and messages[-1].broke_off:
            instead_of = messages[-1].turn
        if instead_of is not None:
            await asyncio.to_thread(self._make_way, instead_of, "assistant")
        said = [one for one in messages if instead_of is None or one.turn < instead_of]
        if not said or said[-1].role != "user":
            raise Conflict("the last message of this chat has its answer", code="answered")
        async for event in self._answer(said[-1], instead_of):
            yield event

    async def go_on(self) -> AsyncIterator[Event | Notice | Kept]:
        """Go on with the last reply, which broke off: the whole one takes the place of the piece."""
        stands = threads.standing(await asyncio.to_thread(self.chat.messages))[-2:]
        if [one.role for one in stands] != ["user", "assistant"] or stands[1].broke_off is None:
            raise Conflict("the last reply of this chat did not break off", code="answered")
        spoken, broken = stands
        if not self._goes_on:
            await asyncio.to_thread(self._make_way, broken.turn, "assistant")
            going = self._answer(spoken, broken.turn)
        else:
            going = self._answer(spoken, broken.turn, whole_words(broken) or None)
        async for event in going:
            yield event

    @property
    def _goes_on(self) -> bool:
        """Whether a piece is gone on with; by rules it is written anew in no time."""
        return self._models.chat is not self._models.offline

    def _make_way(self, turn: int, role: str) -> None:
        """Only what was said last is said anew; what that wrote is undone, as far as nothing newer stands on it."""
        last = next((one for one in reversed(threads.standing(self.chat.messages())) if one.role == role), None)
        if last is None or last.turn != turn:
            told = "your last message" if role == "user" else "the last reply"
            raise Conflict(f"only {told} can be replaced", code="not_last")
        replaced = [one for one in self.chat.messages() if one.turn >= turn]
        for event in sorted({event for one in replaced for event in _wrote(one)}, reverse=True):
            try:
                self.book.undo(event)
            except (Conflict, NotAllowed, NotFound) as error:
                if error.code == "busy":
                    raise
                # Undone already, touched since, or not this caller's to undo: it stays as it is.

    async def _answer(
        self, spoken: Message, instead_of: int | None = None, begun: Piece | None = None
    ) -> AsyncIterator[Event | Notice | Kept]:
        """The reply to a turn, `instead_of` an earlier one; going on with what is `begun`."""
        thread, toolbox, system = await asyncio.to_thread(self._set_table, spoken)
        async for notice in self._compress(thread, system, toolbox, spoken):
            yield notice
        conversation = await asyncio.to_thread(self._conversation, spoken, thread, system)
        written = Piece()
        if begun is not None:
            conversation = going_on(conversation, begun)
            written = Piece(begun.text, begun.calls)
            yield TextDelta(begun.text)
        piece = _Broken(self, thread.turns, conversation, instead_of)
        with being_written(self.book.owner, self.chat.id) as stop:
            try:
                async with aclosing(until(stop, self._models.chat.reply(conversation, toolbox))) as events:
                    async for event in events:
                        if isinstance(event, Replied):
                            whole = event if begun is None else begun.with_(event)
                            message = await asyncio.to_thread(self._store, whole, conversation.deeds, instead_of)
                            yield Replied(whole.text, whole.calls, whole.usage)
                            yield Kept(message, await self._title())
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
                # Nobody listens any more. The thread stores it, also where this task is cancelled once more.
                kept = asyncio.get_running_loop().run_in_executor(None, piece.keep, written, "left")
                with suppress(asyncio.CancelledError):
                    await asyncio.shield(kept)
                raise
            stopped = await asyncio.to_thread(piece.keep, written, "stopped")
            if stopped is not None:
                yield Kept(stopped, await self._title())

    def _heed(self, text: str, hidden: str | None, instead_of: int | None) -> Heeded:
        return obey(self.book, self.chat, text, hidden=hidden, instead_of=instead_of, orders=self._orders)

    def _said(self, through: int) -> list[Message]:
        """What holds of the chat, up to a turn."""
        return [one for one in threads.standing(self.chat.messages()) if one.turn <= through]

    def _conversation(self, spoken: Message, thread: Thread, system: str) -> Conversation:
        """What the model is sent; beside it, as values, what the engine knows by now."""
        through, summary = compressed(self.chat.thread)
        stands = self._said(spoken.turn)
        said = plan(stands, compressed_through=through, summary=summary, budget=self._budget).said
        preset = self.book.preset(thread.preset)
        if not self._orders:
            return Conversation(system, said, preset=preset)
        known, noted = at_hand(self.book, self.chat)
        return Conversation(
            system,
            said,
            preset=preset,
            deeds=of_parts(spoken.parts),
            known=known,
            noted=tuple(one.content for one in noted),
            noted_now=tuple(one.content for one in noted if one.place.turn == spoken.turn),
            categories={one.content: one.category for one in noted if one.category},
            barred=tuple(touched(spoken.text, self.book.choices.never, self.book.meaning)),
        )

    def _left_to_know(self, instead_of: int | None) -> str | None:
        """Hidden context on the agent's own question (which memory is to be changed) rides along with its answer."""
        last = self._said(self.chat.thread.turns if instead_of is None else instead_of - 1)[-1:]
        return last[0].hidden if last and last[0].role == "assistant" else None

    def _set_table(self, spoken: Message) -> tuple[Thread, Toolbox | None, str]:
        """What the whole chat is given: its tools, and a system prompt that stays the same."""
        thread = self.chat.thread
        preset = self.book.preset(thread.preset)
        wanted = not thread.incognito and self.book.choices.memory
        block = self.chat.inject() if wanted else ""
        system = compose(preset, block=block, tier=thread.tier, mode=thread.mode, focus=thread.focus, memory=wanted)
        if not wanted:
            return thread, None, system
        book, turns = self._spoken_to(spoken), (str(spoken.turn),)
        return thread, build(preset, book, thread_id=thread.id, turn_ids=turns, mode=thread.mode), system

    def _spoken_to(self, spoken: Message) -> Book:
        """The book as it is for who said this. What the person did not say here, tools do not do for them, also where
        it is the person who asks for the answer."""
        return self.book if was_heard(spoken.parts) else self.book.acting(actor="agent")

    async def _compress(
        self, thread: Thread, system: str, toolbox: Toolbox | None, spoken: Message
    ) -> AsyncIterator[Notice]:
        """Past the budget, older turns are summarised once for what is sent; the stored ones stay."""
        messages = await asyncio.to_thread(self._said, spoken.turn)
        through, summary = compressed(thread)
        tools = toolbox.schemas("openai") if toolbox else []
        found = plan(
            messages,
            compressed_through=through,
            summary=summary,
            fixed_tokens=fixed(system, tools),
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
        self, reply: Replied, deeds: Sequence[Deed] = (), instead_of: int | None = None, broke_off: str | None = None
    ) -> Message:
        counted = (reply.usage.tokens_in, reply.usage.tokens_out)
        self.book.spending.count("chat", self._models.chat.name, *counted)
        made = Made(self._models.chat.name, *(counted if broke_off is None else (None, None)))
        speaker = NOTEBOOK if self._models.chat is self._models.offline else None
        with self.book.writing() as (tx, _):
            return threads.add(
                tx, self.chat.id, "assistant", reply.text, stamp(tx.clock()), speaker=speaker, made=made,
                parts=to_parts((*order_calls(deeds), *reply.calls)), instead_of=instead_of, broke_off=broke_off,
                close_after_hours=self.book.close_after_hours,
            )  # fmt: skip

    def _name(self, anew: int | None = None, withdrew: bool = False) -> str | None:
        """By its matter as soon as there is one; by another where the first turn was said anew, or words of the chat
        were taken back. A name by hand is never touched, an incognito chat has none."""
        thread, messages = self.chat.thread, threads.standing(self.chat.messages())
        first = anew is not None and sum(message.role == "user" for message in messages) == 1
        again = (first or withdrew) and thread.titled_by != "person"
        if (thread.title not in (None, UNTITLED) and not again) or thread.incognito:
            return None
        title = title_by_rules(_naming(messages))[: threads.TITLE_LIMIT]
        if title == (thread.title or UNTITLED):
            return None
        try:
            self._named = self.book.threads.rename(self.chat.id, title, by="rules").title
        except Invalid:  # an odd sentence is not worth the turn that it was to name
            return None
        return self._named

    async def _title(self) -> str | None:
        """The title that this turn gave the chat: by rules, or by a model once there is an exchange to look at."""
        if await asyncio.to_thread(self._name) is None and self._named is None:
            return None
        by_rules, self._named = self._named, None
        if self._models.cheap is self._models.offline:
            return by_rules
        turns = _naming(threads.standing(await asyncio.to_thread(self.chat.messages)))
        made = await self._models.title(turns, over_cap=await self._over_cap())
        await self._count("title", made.made_by, made.usage)
        if made.made_by == self._models.offline.name:
            return by_rules
        title = made.text[: threads.TITLE_LIMIT]
        try:
            renamed = await asyncio.to_thread(lambda: self.book.threads.rename(self.chat.id, title, by="model"))
        except Invalid:  # a model's odd answer
            return by_rules
        return renamed.title

    async def _count(self, operation: str, model: str, usage: Usage) -> None:
        await asyncio.to_thread(self.book.spending.count, operation, model, usage.tokens_in, usage.tokens_out)

    async def _over_cap(self) -> bool:
        return await asyncio.to_thread(over_cap, self.book, self._monthly_tokens)

    async def _wait_for_closing(self) -> None:
        """A chat that begins while another one is being read waits a moment, so that its block is up to date."""
        waited = 0.0
        while waited < CLOSING_WAIT_SECONDS and await asyncio.to_thread(self._begins_beside_a_closing):
            await asyncio.sleep(0.1)
            waited += 0.1

    def _begins_beside_a_closing(self) -> bool:
        with self.book.reading() as (tx, _, now):
            return threads.get(tx, self.chat.id).turns == 0 and threads.being_closed(tx, now) > 0


def _withdrawn(deed: Deed) -> tuple[Place, ...]:
    return deed.taken if deed.kind == "withdraw" else ()


def _naming(messages: Sequence[Message]) -> list[Turn]:
    """What names a chat: its turns without the words that were taken back, and without what took them back."""
    orders = standing({one.turn: of_parts(one.parts) for one in messages})
    taken = {turn: [place for deed in deeds for place in _withdrawn(deed)] for turn, deeds in orders.items()}
    texts = {one.turn: one.text for one in messages if not taken[one.turn]}
    for place in sorted(chain.from_iterable(taken.values()), key=lambda one: one.start, reverse=True):
        if (text := texts.get(place.turn)) is not None:
            texts[place.turn] = f"{text[: place.start]} {text[place.end :]}"
    return [replace(_turn(one), text=texts[one.turn]) for one in messages if one.turn in texts]


@dataclass(frozen=True, slots=True)
class _Broken:
    """Where a reply that breaks off is stored: after the `turns` it was asked at, and not once more was said."""

    talk: Talk
    turns: int
    conversation: Conversation
    instead_of: int | None

    def keep(self, written: Piece, why: str) -> Message | None:
        if not written.text.strip():  # calls alone say nothing; what they wrote is in the book all the same
            return None
        with self.talk.book.transaction():
            if self.talk.chat.thread.turns != self.turns:
                return None
            cost = about(self.conversation, written)
            reply = Replied(written.text, written.calls, cost)
            return self.talk._store(reply, self.conversation.deeds, self.instead_of, why)


def compressed(thread: Thread) -> tuple[int, str | None]:
    """How far what is sent is a summary, and which one: from the start again where it was erased with a memory."""
    return (0, None) if thread.compressed is None else (thread.compressed_through, thread.compressed)


def order_calls(deeds: Sequence[Deed]) -> tuple[ToolCall, ...]:
    """What orders wrote, as calls of the reply: the page shows them as slips with Undo."""
    return tuple(ToolCall(**call) for deed in deeds for call in deed.calls)


def _wrote(message: Message) -> list[int]:
    """The ledger's numbers of what the orders of a turn, or the tools of a reply, wrote."""
    ordered = [event for deed in of_parts(message.parts) for event in deed.events]
    calls = message.parts if isinstance(message.parts, list) else ()
    told = [call.get("memory_event") or {} for call in calls]
    return ordered + [event["event"] for event in told if event.get("event")]


def over_cap(book: Book, monthly_tokens: int | None) -> bool:
    return monthly_tokens is not None and book.spending.this_month() >= monthly_tokens


def _turn(message: Message) -> Turn:
    return Turn(message.turn, message.role, message.text, message.at, message.speaker)
