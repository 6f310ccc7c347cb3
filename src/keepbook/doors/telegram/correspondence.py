"""One Telegram chat and its owner's book: carries out commands, and takes other messages as turns of a thread.

A Telegram chat never ends, but a thread does: with /new, or when the sweep closes it because it was silent. The next
message then begins another thread, with a new block. The session of each thread names its Telegram chat, so after a
restart the newest one is found and continued.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from keepbook.app import Keepbook
from keepbook.book.chats.face import Chat
from keepbook.book.ground.ids import new_id
from keepbook.doors.telegram import replies
from keepbook.doors.telegram.letter import Letter
from keepbook.errors import Conflict, KeepbookError, NotFound
from keepbook.models.chat import Notice, ReplyStored
from keepbook.models.model import ToolCalled
from keepbook.models.notebook.open_questions import (
    OpenQuestion,
    choice_of_number,
    last_asked,
    open_questions,
    waiting_questions,
)
from keepbook.models.notebook.values import NOTEBOOK
from keepbook.patterns import regex

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult
    from keepbook.book.memory.memories import Memory
    from keepbook.models.model import ReplyEvent

    Reply = AsyncIterator[ReplyEvent | Notice | ReplyStored]

_COMMAND = regex(r"/(?P<name>\w{1,32})(?:@(?P<bot>\w+))?(?:\s+(?P<rest>.*))?", re.ASCII | re.DOTALL)
_PAGE = 1000  # memories
_LOOKED_BACK = 1000
"""How many chats of the owner are searched for the newest of this Telegram chat after a restart."""


class Correspondence:
    """The correspondence of one Telegram chat. Its messages must be taken one after the other."""

    def __init__(self, keepbook: Keepbook, owner: str, chat_id: int) -> None:
        self._keepbook = keepbook
        self._book = keepbook.book(owner, door="telegram")
        self._sessions = f"telegram:{chat_id}:"
        self._chat: Chat | None = None
        self._looked = False
        self._last_event: int | None = None
        self._asked: list[OpenQuestion] = []

    async def take(self, text: str, *, bot: str = "") -> Letter | None:
        """Answer a message; None if it is meant for another bot of the group."""
        command = _COMMAND.fullmatch(text.strip())
        if command is None:
            return await self._choose(text.strip()) or await self._turn(text)
        if command["bot"] and command["bot"].lower() != bot.lower():
            return None
        name, rest = command["name"].lower(), (command["rest"] or "").strip()
        if name.startswith("undo_"):  # Telegram makes a command of one word tappable
            name, rest = "undo", name.removeprefix("undo_")
        try:
            return await self._obey(name, rest)
        except KeepbookError as error:
            return replies.refusal_reply(error)

    async def press(self, data: str) -> Letter:
        """Do what a tapped button says: answer a question, or allow a banned topic again."""
        id, _, choice = data.partition(":")
        try:
            if id == replies.ALLOW:
                return await asyncio.to_thread(self._allow_topic, choice)
            return await asyncio.to_thread(self._answer, id, choice)
        except (Conflict, NotFound):
            return Letter(replies.ANSWERED_ALREADY)
        except KeepbookError as error:
            return replies.refusal_reply(error)

    async def _choose(self, text: str) -> Letter | None:
        """If the text is only a number, and a model answers in this chat, take it as the answer to the last questions;
        the notebook does so itself. None if it answers none."""
        is_notebook = self._keepbook.models.chat is self._keepbook.models.offline
        if not text.isdecimal() or not self._asked or is_notebook:
            return None
        chosen = choice_of_number(self._asked, int(text))
        if chosen is None:
            return None
        return await self.press(f"{chosen[0].id}:{chosen[1]}")

    def _answer(self, id: str, choice: str) -> Letter:
        answer = self._book.proposals.answer(id, choice)
        self._last_event = getattr(answer, "event", None) or self._last_event
        self._asked = [one for one in self._asked if one.id != id]
        return replies.answered_reply(answer)

    def _allow_topic(self, key: str) -> Letter:
        never = self._book.choices.never
        topic = next((one for one in never if replies.topic_key(one) == key), None)
        if topic is None:
            return Letter(replies.NO_LONGER_BANNED)
        left = [one for one in never if one != topic]
        self._book.choose(never=left)
        return replies.allowed_reply(topic, left)

    async def answer_forwarded(self, text: str) -> Letter:
        """Answer a message that the person forwarded. It is stored as a quotation of somebody else; orders in it are
        not carried out."""
        quoted = "\n".join(f"> {line}" for line in text.splitlines())
        return await self._turn(f"Forwarded:\n{quoted}", by="agent")

    async def _obey(self, name: str, rest: str) -> Letter:
        match name:
            case "start" | "help":
                return replies.help_(greeting=name == "start")
            case "memory":
                return await asyncio.to_thread(self._memory, rest)
            case "review":
                return replies.waiting_reply(await asyncio.to_thread(waiting_questions, self._book))
            case "never":
                return replies.topics_reply(await asyncio.to_thread(lambda: self._book.choices.never))
            case "new":
                return replies.closing_reply(await asyncio.to_thread(self._close))
            case "undo":
                return await asyncio.to_thread(self._undo, rest)
            case "again":
                return await self._again()
        return Letter(replies.NOT_KNOWN)

    # Memories

    def _memory(self, rest: str) -> Letter:
        match rest.split():
            case [] | ["list"]:
                return replies.memories_reply(self._all(), self._book.preset())
            case ["delete", id]:
                return self._delete(id.strip("<>[]'\"`"))
            case ["delete", *_]:
                return Letter(replies.HOW_TO_DELETE)
        return Letter(replies.WHAT_OF_MEMORY)

    def _all(self) -> list["Memory"]:
        page = self._book.list(scope="*", limit=_PAGE)
        found = list(page)
        while page.next:
            page = self._book.list(scope="*", limit=_PAGE, cursor=page.next)
            found += page
        return found

    def _delete(self, id: str) -> Letter:
        """Delete a memory by its id. A piece of its text is not accepted: it is too easily mistyped on a phone."""
        try:
            memory = self._book.get(id)
        except NotFound:
            return replies.no_such_id(id)
        if memory.state == "trash":
            return replies.already_in_trash_reply(memory)
        chat = self._newest()
        written = self._book.acting(thread_id=chat and chat.id).delete(memory.id)
        assert written is not None  # it is None only for a deletion for good
        self._last_event = written.event
        return replies.deleted_reply(written)

    def _undo(self, typed: str) -> Letter:
        if typed and not typed.isdecimal():
            return Letter("Say /undo for the last change, or its number: /undo 12")
        event = int(typed) if typed else self._last_write()
        if event is None:
            return Letter(replies.NOTHING_TO_UNDO)
        undone = self._book.undo(event)
        self._last_event = undone.event
        return replies.undone_reply(undone)

    def _last_write(self) -> int | None:
        """The number of the last write in this chat; after a restart it is looked up in the ledger."""
        if self._last_event is None:
            chat = self._newest()
            if chat is not None:
                self._last_event = next((entry.event for entry in self._book.ledger(thread=chat.id, limit=1)), None)
        return self._last_event

    # Turns

    async def _turn(self, text: str, *, by: str = "person") -> Letter:
        try:
            chat = await asyncio.to_thread(self._open)
            book = self._book.acting(actor=by)
            talk = self._keepbook.talk(await asyncio.to_thread(book.threads.get, chat.id))
        except KeepbookError as error:
            return replies.refusal_reply(error)
        return await self._letter_of(talk.chat, talk.say(text))

    async def _again(self) -> Letter:
        chat = await asyncio.to_thread(self._newest)
        if chat is None:
            return Letter(replies.NOTHING_SAID)
        return await self._letter_of(chat, self._keepbook.talk(chat).again())

    async def _letter_of(self, chat: Chat, reply: "Reply") -> Letter:
        text, notices, written = "", list[str](), list[dict[str, Any]]()
        by_notebook = False
        failure: KeepbookError | None = None
        try:
            async for event in reply:
                match event:
                    case ToolCalled(call) if call.memory_event:
                        written.append(call.memory_event)
                    case Notice(told):
                        notices.append(told)
                    case ReplyStored(message):
                        text, by_notebook = message.text, message.speaker == NOTEBOOK
        except KeepbookError as error:
            failure = error
        if written:
            self._last_event = written[-1]["event"]
            thread = await asyncio.to_thread(lambda: chat.thread)
            preset = await asyncio.to_thread(self._book.preset, thread.preset)
            if preset.consent == "silent":
                written = []
        if failure is not None:
            return replies.refusal_reply(failure, written)
        self._asked = await asyncio.to_thread(self._questions, chat)
        return replies.with_questions(replies.chat_reply(text, notices, written), self._asked, in_reply=by_notebook)

    def _questions(self, chat: Chat) -> list[OpenQuestion]:
        """The questions that the last turn asks."""
        return last_asked(open_questions(self._book, chat.id), chat.messages())

    # Threads

    def _open(self) -> Chat:
        """The open thread, or a new one."""
        chat = self._newest()
        if chat is None or not _is_open(chat):
            chat = self._begin()
        return chat

    def _begin(self) -> Chat:
        self._chat = self._book.thread(f"{self._sessions}{new_id()}")
        return self._chat

    def _newest(self) -> Chat | None:
        """The thread that was begun last in this Telegram chat, open or not."""
        if not self._looked:
            threads = self._book.threads.list(limit=_LOOKED_BACK)
            own = [thread for thread in threads if (thread.session or "").startswith(self._sessions)]
            newest = max(own, key=lambda thread: thread.created_at, default=None)
            self._chat = None
            if newest is not None:
                self._chat = self._book.threads.get(newest.id)
            self._looked = True
        return self._chat

    def _close(self) -> "ClosingResult | None":
        """Close the open thread; None if there is none. If it could not be closed, begin another, so that the next
        message does not continue it."""
        chat = self._newest()
        if chat is None or not _is_open(chat):
            return None
        closed: ClosingResult = chat.close()
        if closed.written:
            self._last_event = closed.written[-1]["event"]
        if _is_open(chat):
            self._begin()
        return closed


def _is_open(chat: Chat) -> bool:
    try:
        thread = chat.thread
    except NotFound:  # deleted for good, with its book or alone
        return False
    return thread.state == "active" and thread.deleted_at is None
