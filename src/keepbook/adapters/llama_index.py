"""A book as the memory of an agent of LlamaIndex.

    memory = KeepbookMemory.over(kb, owner="alice", session="chat-42")
    await agent.run("Hello", memory=memory)
    memory.close()                                   # read the chat for memories; or the sweep does, when it is silent

What is said becomes a chat of the book; the block of the session is put before it, with the same bytes each time. Calls
of tools and their answers stay with this object and are not stored. In another process, a session is found again with
what was said in it.
"""

from typing import Any

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.book.chats.face import Chat

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory import BaseMemory
except ImportError as _missing:
    raise missing_framework("LlamaIndex", package="llama-index-core") from _missing

SAID: dict[MessageRole, str] = {MessageRole.USER: "user", MessageRole.ASSISTANT: "assistant"}


class KeepbookMemory(BaseMemory):
    """What an agent remembers of one session with one person."""

    _chat: Chat = PrivateAttr()
    _said: list[ChatMessage] = PrivateAttr()

    @classmethod
    def class_name(cls) -> str:
        return "KeepbookMemory"

    @classmethod
    def from_defaults(cls, **told: Any) -> "KeepbookMemory":
        return cls.over(**told)

    @classmethod
    def over(cls, kb: Keepbook, *, owner: str, session: str) -> "KeepbookMemory":
        """The memory of a session, begun or found again."""
        made = cls()
        made._chat = kb.book(owner, by="agent", door="llama-index").thread(session)
        made._said = [
            ChatMessage(role=turn.role, content=turn.text)
            for turn in made._chat.messages()
            if turn.role in SAID.values()
        ]
        return made

    def get(self, input: str | None = None, **_: Any) -> list[ChatMessage]:
        """The block, then what was said."""
        block = self._chat.inject()
        if not block:
            return list(self._said)
        return [ChatMessage(role=MessageRole.SYSTEM, content=block), *self._said]

    def get_all(self) -> list[ChatMessage]:
        return list(self._said)

    def put(self, message: ChatMessage) -> None:
        self._said.append(message)
        if message.role in SAID and (message.content or "").strip():
            self._chat.add(SAID[message.role], str(message.content))

    def set(self, messages: list[ChatMessage]) -> None:
        """Record the messages that are new: those after the known ones, or all if they do not begin with the known
        ones. Nothing is removed from the chat."""
        known = [(message.role, message.content) for message in self._said]
        new = messages
        if [(one.role, one.content) for one in messages[: len(known)]] == known:
            new = messages[len(known) :]
        self._said = messages[: len(messages) - len(new)]
        for message in new:
            self.put(message)

    def reset(self) -> None:
        """Forget this run; the chat in the book stays."""
        self._said = []

    def close(self) -> Any:
        """Read the chat for memories now."""
        return self._chat.close()
