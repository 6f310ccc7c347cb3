"""A book as the memory service of Google's Agent Development Kit.

    runner = Runner(agent=agent, app_name="shop", session_service=sessions, memory_service=KeepbookMemoryService(kb))

A user is the owner of a book. A session that is added becomes a chat of that book, only what is new of it, and is read
for memories when it falls silent, or at once with `close=True`. A search asks the memories first, then what was said in
earlier chats. Entries that a program adds itself are memories at once; a memory that is deleted goes into the trash.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.chats.face import NewTurn
from keepbook.book.ground.limits import MOST_QUESTION
from keepbook.book.text.quotation import shown_text

try:
    from google.adk.memory import BaseMemoryService
    from google.adk.memory.base_memory_service import SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ImportError as _missing:
    raise missing_framework("Google ADK", package="google-adk") from _missing

MOST = 10
"""How many memories, and how many turns of chats, a search returns."""


class KeepbookMemoryService(BaseMemoryService):
    """The books of an installation, one for each user."""

    def __init__(self, kb: Keepbook, *, close: bool = False) -> None:
        self._kb = kb
        self._close = close

    async def add_session_to_memory(self, session: Any) -> None:
        said = []
        for event in session.events:
            turn = _turn(event)
            if turn is not None:
                said.append(turn)
        await asyncio.to_thread(self._record, session.user_id, session.app_name, session.id, said)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        said = []
        for event in events:
            turn = _turn(event)
            if turn is not None:
                said.append(turn)
        await asyncio.to_thread(self._record, user_id, app_name, session_id or "events", said, whole=False)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        await asyncio.to_thread(self._keep, user_id, [(_text(one.content), one.timestamp) for one in memories])

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        return SearchMemoryResponse(memories=await asyncio.to_thread(self._search, user_id, query))

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        if memory_id is not None:
            await asyncio.to_thread(self._book(user_id).delete, memory_id)

    def _book(self, user: str) -> Book:
        return self._kb.book(user, by="agent", door="google-adk")

    def _record(self, user: str, app: str, session: str, said: list[tuple[str, str, str]], whole: bool = True) -> None:
        """Record the new turns of a session. If `said` is the whole session, its first turns are stored already."""
        chat = self._book(user).thread(f"{app}:{session}")
        known = chat.thread.turns if whole else 0
        chat.add_all([NewTurn(role, text, at) for role, text, at in said[known:]])
        if self._close:
            chat.close()

    def _keep(self, user: str, said: list[tuple[str, str | None]]) -> None:
        book = self._book(user)
        for text, at in said:
            book.remember(text, valid_from=at, force=True)

    def _search(self, user: str, query: str) -> list[MemoryEntry]:
        book = self._book(user)
        query = query[:MOST_QUESTION]  # the framework sends whole messages
        kept = [
            MemoryEntry(
                id=hit.id,
                content=_content("user", shown_text(hit)),
                author="user",
                timestamp=hit.valid_from.isoformat(),
            )
            for hit in book.recall(query, MOST)
        ]
        turns = [
            MemoryEntry(content=_content(hit.role, hit.text), author=hit.role, timestamp=hit.at.isoformat())
            for hit in book.recall_chats(query, MOST)
        ]
        return [*kept, *turns]


def _content(role: str, text: str) -> types.Content:
    return types.Content(role="model" if role == "assistant" else "user", parts=[types.Part(text=text)])


def _text(content: Any) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text and not part.thought)


def _turn(event: Any) -> tuple[str, str, str] | None:
    """Role, text and time of an event; None if it has no text, such as a call of a tool and its answer."""
    text = "" if event.content is None else _text(event.content).strip()
    if not text:
        return None
    at = datetime.fromtimestamp(event.timestamp, UTC).isoformat()
    role = "user" if event.author == "user" else "assistant"
    return role, text, at
