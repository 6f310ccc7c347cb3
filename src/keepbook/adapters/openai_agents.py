"""A session of the OpenAI Agents SDK, kept as a chat of the book.

    session = KeepbookSession(kb, owner="alice", session_id="support-17")
    await Runner.run(agent, "I moved to Oslo", session=session)
    await session.close()                          # what the person said becomes memory

Every item is kept and given back exactly. What the person and the agent said are turns of the chat beside that, and
read for memories when it closes, by `close` or by the sweep. A book removes nothing: an item that is popped stays in
the chat and the session no longer gives it; a session that is cleared closes its chat and goes on in a new one.
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
"""What leaves room in the name of a chat for the mark of those that follow after a clearing."""
TOOL_CHARS = 2000

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
            if not (standing := now.standing()):
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

        if (left := await self._add(leave)) is not None:
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
        """Record what was decided on the chat as it stands; if somebody else says something meanwhile, decide anew."""

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
        """The chat that this session is in now, however often it was cleared."""
        while True:
            chat = self._book.thread(self._name, incognito=self._incognito)
            said = chat.messages()
            following = next((name for each in said if (name := _note(each).get("continued"))), None)
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
    """One item, exactly, as a note beside the `turn` that it is. The notes of an assistant's turn hold its tool calls,
    so there the item stands in a message of its own that names the turn."""
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
        """The items that the session gives, each with its turn: those added and not popped, and what was said in this
        chat through another door."""
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
    """What a message says: a text, or the texts among its parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = content
    else:
        parts = []
    texts = (part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping))
    return "\n".join(text for text in texts if isinstance(text, str))


def _deed(item: Mapping[str, Any]) -> str:
    """What an item that nobody said is about, in short."""
    if "arguments" in item:
        return f"{item.get('name')}({item['arguments']})"[:TOOL_CHARS]
    output = item.get("output")
    return (output if isinstance(output, str) else _text(output) or str(item.get("type", "")))[:TOOL_CHARS]


def _readable(text: str) -> str:
    """A text as the book can hold it; the item beside it keeps every character."""
    return text.replace("\x00", "").encode(errors="replace").decode()[:MESSAGE_LIMIT]
