"""A session of the OpenAI Agents SDK, kept as a chat of the book.

    session = KeepbookSession(kb, owner="alice", session_id="support-17")
    await Runner.run(agent, "I moved to Oslo", session=session)
    await session.close()                          # what the person said becomes memory

Every item is stored and returned exactly. What the person and the agent said are also turns of the chat, which is read
for memories when it is closed, by `close` or by the sweep. Nothing is removed from the book: a popped item stays in the
chat, but the session no longer returns it; clearing a session closes its chat and begins a new one.
"""

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.book.chats.face import Chat, NewTurn
from keepbook.book.chats.threads import MESSAGE_LIMIT, Message
from keepbook.book.ground.limits import clean_line
from keepbook.errors import Conflict

try:
    from agents import TResponseInputItem
    from agents.memory import SessionSettings
except ImportError as _missing:
    raise missing_framework("the OpenAI Agents SDK", "openai-agents") from _missing

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult

LONGEST_ID = 190
"""The longest id, so that the mark of the chat after a clearing still fits into the name of a session."""
TOOL_CHARS = 2000  # of a tool call or its answer that are stored

Answered = TypeVar("Answered")


class KeepbookSession:
    """The history of one conversation, in one owner's book. An incognito one reads and writes no memory."""

    def __init__(
        self,
        kb: Keepbook,
        *,
        owner: str,
        session_id: str,
        incognito: bool = False,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id: str = clean_line(session_id, "session_id", 1, LONGEST_ID)
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._book = kb.book(owner, by="agent", door="openai-agents")
        self._incognito = incognito
        self._name = self.session_id

    # The protocol of the SDK

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, all without a limit, oldest first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await asyncio.to_thread(lambda: [item for _, item in self._present().standing()])
        if limit is None:
            return items
        return items[max(0, len(items) - max(0, limit)) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        if items:
            said = [cast(Mapping[str, Any], item) for item in items]
            await self._add(lambda now: (_turns_of(said, len(now.said)), None))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take back the last item: the session no longer gives it, the chat still shows that it was said."""

        def pop(now: _Present) -> tuple[list[NewTurn], TResponseInputItem | None]:
            standing = now.standing()
            if not standing:
                return [], None
            turn, item = standing[-1]
            return [NewTurn("tool", "", parts={"popped": turn})], item

        return await self._add(pop)

    async def clear_session(self) -> None:
        """Close the chat and read it for memories; the session goes on in a new chat."""

        def leave(now: _Present) -> tuple[list[NewTurn], Chat | None]:
            if not now.standing():
                return [], None
            following = f"{self.session_id}~{secrets.token_hex(4)}"
            return [NewTurn("tool", "", parts={"continued": following})], now.chat

        left = await self._add(leave)
        if left is not None:
            await asyncio.to_thread(left.close)

    # Beyond it

    async def inject(self) -> str:
        """The memory block for this conversation's instructions: rendered once, then the same bytes."""
        now = await asyncio.to_thread(self._present)
        return await asyncio.to_thread(now.chat.inject)

    async def close(self) -> "ClosingResult":
        """Read what is new in the conversation for memories: it is over for now."""
        now = await asyncio.to_thread(self._present)
        closed: ClosingResult = await asyncio.to_thread(now.chat.close)
        return closed

    async def _add(self, decide: "Callable[[_Present], tuple[list[NewTurn], Answered]]") -> Answered:
        """Record the turns that `decide` returns for the present chat. If a turn was added meanwhile, decide again."""

        def work() -> Answered:
            while True:
                now = self._present()
                turns, answer = decide(now)
                try:
                    if turns:
                        now.chat.add_all(turns, after=len(now.said))
                    return answer
                except Conflict as conflict:
                    if conflict.code != "turns":
                        raise

        return await asyncio.to_thread(work)

    def _present(self) -> "_Present":
        """The present chat of this session. Each clearing has left a note with the name of the next chat."""
        while True:
            chat = self._book.thread(self._name, incognito=self._incognito)
            said = chat.messages()
            following = next(filter(None, (_note(each).get("continued") for each in said)), None)
            if following is None:
                return _Present(chat, said)
            self._name = str(following)


# Items and turns


def _turns_of(items: Sequence[Mapping[str, Any]], said: int) -> list[NewTurn]:
    turns: list[NewTurn] = []
    for item in items:
        turns += _turns_of_item(item, said + len(turns) + 1)
    return turns


def _turns_of_item(item: Mapping[str, Any], turn: int) -> list[NewTurn]:
    """The turns for one item, which becomes turn number `turn`. Its `parts` hold the exact item. The parts of an
    assistant's turn are for its tool calls, so there the item is in a second turn that names the first."""
    role, kept = item.get("role"), json.dumps(item)
    text = _readable(_text(item.get("content")))
    note = {"item": kept}
    if role == "user":
        return [NewTurn("user", text, parts=note)]
    if role in ("system", "developer"):
        return [NewTurn("system", text, parts=note)]
    if role == "assistant":
        return [NewTurn("assistant", text), NewTurn("tool", "", parts=note | {"of": turn})]
    return [NewTurn("tool", _readable(_deed(item)), parts=note)]


class _Present(NamedTuple):
    """A chat and what was said in it so far."""

    chat: Chat
    said: Sequence[Message]

    def standing(self) -> list[tuple[int, TResponseInputItem]]:
        """The items of the session, each with its turn: those that were added and not popped, and what was said in this
        chat by other means."""
        items: dict[int, TResponseInputItem] = {}
        for message in self.said:
            note = _note(message)
            if "popped" in note:
                items.pop(note["popped"], None)
            elif "item" in note:
                items.pop(note.get("of", 0), None)
                items[message.turn] = json.loads(note["item"])
            elif message.role in ("user", "assistant") and message.text.strip():
                items[message.turn] = cast(TResponseInputItem, {"role": message.role, "content": message.text})
        return list(items.items())


def _note(message: Message) -> dict[str, Any]:
    if isinstance(message.parts, dict):
        return message.parts
    return {}


def _text(content: Any) -> str:
    """The text of a message: its content, or the texts among its parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _deed(item: Mapping[str, Any]) -> str:
    """A short text for an item that is no message: a call, or the output of a tool."""
    if "arguments" in item:
        return f"{item.get('name')}({item['arguments']})"[:TOOL_CHARS]
    output = item.get("output")
    if isinstance(output, str):
        return output[:TOOL_CHARS]
    text = _text(output) or str(item.get("type", ""))
    return text[:TOOL_CHARS]


def _readable(text: str) -> str:
    """The text without what a book cannot store; the item itself keeps every character."""
    return text.replace("\x00", "").encode(errors="replace").decode()[:MESSAGE_LIMIT]
