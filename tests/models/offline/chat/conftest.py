"""A chat with the offline model over a real book, with the tools and the prompt of a preset."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Clock

from keepbook import Book, Keepbook
from keepbook.models.compress import to_parts
from keepbook.models.model import Called, Conversation, Event, Replied, Said, TextDelta, ToolCall
from keepbook.models.offline.model import OfflineModel
from keepbook.models.prompt import compose
from keepbook.presets import load_preset
from keepbook.tools.catalogue import build
from keepbook.tools.definition import Tool

SEEDS = (
    "Lives in Oslo",
    "Office is in Oslo",
    "Sister lives in Rome",
    "Dog is called Bo",
    "Works at Acme",
    "Is allergic to peanuts",
    "Has two kids",
    "Budget is 500 euros a month",
)


class Chat:
    """One chat of one owner. `tell` is a turn of the person; what it answers is kept as a stored chat would be."""

    def __init__(self, book: Book, preset: str, seeds: Iterable[str], extra: Iterable[Tool] = ()) -> None:
        self.book = book.under(load_preset(preset))
        with self.book.transaction():
            for seed in seeds:
                self.book.remember(seed)
        self.preset = preset
        self.extra = tuple(extra)
        self.system = compose(load_preset(preset), block=self.book.block(preset=preset))
        self.said: list[Said] = []
        self.seen = len(self.book.ledger(limit=1000))

    def events(self, text: str, hidden: str | None = None) -> list[Event]:
        self.said.append(Said("user", text, hidden))
        tools = build(self.preset, self.book, thread_id="chat-1", turn_ids=[str(len(self.said))], extra=self.extra)

        async def heard() -> list[Event]:
            conversation = Conversation(self.system, tuple(self.said))
            return [event async for event in OfflineModel().reply(conversation, tools)]

        events = asyncio.run(heard())
        replied = events[-1]
        assert isinstance(replied, Replied)
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == replied.text
        assert tuple(event.call for event in events if isinstance(event, Called)) == replied.calls
        calls = tuple(ToolCall(**part) for part in to_parts(replied.calls))
        self.said.append(Said("assistant", replied.text, calls=calls))
        return events

    def tell(self, text: str, hidden: str | None = None) -> str:
        replied = self.events(text, hidden)[-1]
        assert isinstance(replied, Replied)
        return replied.text

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last reply."""
        return self.said[-1].calls

    @property
    def wrote(self) -> bool:
        """Whether anything was written since the chat began."""
        return len(self.book.ledger(limit=1000)) > self.seen

    @property
    def memories(self) -> list[str]:
        return sorted(memory.content for memory in self.book.list())

    @property
    def news(self) -> list[str]:
        """What the book says now and did not say before."""
        return [content for content in self.memories if content not in SEEDS]

    @property
    def gone(self) -> list[str]:
        return [content for content in SEEDS if content not in self.memories]


Open = Callable[..., Chat]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keepbook]:
    """One installation for a module's tables: every chat in it has an owner of its own."""
    path: Path = tmp_path_factory.mktemp("shelf") / "book.db"
    with closing(Keepbook(str(path), clock=Clock())) as kb:
        yield kb


@pytest.fixture
def chat(shelf: Keepbook, request: pytest.FixtureRequest) -> Open:
    """Begin a chat on SQLite, as somebody nobody has talked to before."""
    numbers = count()

    def begin(preset: str = "general", seeds: Iterable[str] = SEEDS, **told: Any) -> Chat:
        return Chat(shelf.book(f"{request.node.nodeid}-{next(numbers)}"[-190:]), preset, seeds, **told)

    return begin


@pytest.fixture
def chat_on(kb: Keepbook) -> Open:
    """Begin a chat on each engine in turn."""

    def begin(preset: str = "general", seeds: Iterable[str] = SEEDS, **told: Any) -> Chat:
        return Chat(kb.book("alice"), preset, seeds, **told)

    return begin
