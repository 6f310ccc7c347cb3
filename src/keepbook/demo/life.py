"""Performs the story, on a clock that it sets, with the operations that real use has.

The agent's replies are written down beforehand, except where the notebook answers. Everything else is real: the block
is injected, tools write, a long chat is compressed, and a chat that is closed is read under its lease, by the script.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import estimate
from keepbook.demo.plays import Calendar, Play, PlayExchange, PlayFinding
from keepbook.errors import ModelFailed
from keepbook.models.chat import Talk
from keepbook.models.choose import Models
from keepbook.models.compress import Budget
from keepbook.models.model import (
    Candidate,
    ClosingChat,
    Conversation,
    DialogueTurn,
    Extraction,
    ReplyEvent,
    ReplyFinished,
    Toolbox,
    ToolCall,
    Usage,
)
from keepbook.models.offline.model import OfflineModel

AGENT = "demo:advisor"
"""The name of the model that made the written replies, so that nobody takes them for those of a real model."""
OFFLINE = OfflineModel()


@dataclass(slots=True)
class StoryClock:
    """A clock that is set by the story."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def turn(self, to: datetime) -> None:
        self.now = max(self.now, to.astimezone(UTC))

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class AtOnce(ThreadPoolExecutor):
    """An executor that runs work in the calling thread: in a story nobody else waits, and threads would cost time."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **named: Any) -> "Future[Any]":
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args, **named))
        except BaseException as error:  # noqa: BLE001  it is raised where the result is awaited
            done.set_exception(error)
        return done


@dataclass(slots=True)
class Script:
    """A model that gives the replies of a play."""

    play: Play
    clock: StoryClock
    pace: random.Random
    name: str = AGENT
    next: int = 0

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        exchange = self.play.exchanges[self.next]
        self.next += 1
        self.clock.wait(4 + self.pace.random() * 5)
        calls: tuple[ToolCall, ...] = ()
        if tools is not None:
            calls = tuple(self._call(tools, *call) for call in exchange.calls)
        sent = estimate(conversation.system) + sum(estimate(said.text) for said in conversation.said)
        yield ReplyFinished(exchange.reply, calls, Usage(sent, estimate(exchange.reply)))

    def _call(self, tools: Toolbox, name: str, arguments: dict[str, str]) -> ToolCall:
        answer = tools.call(name, arguments)
        if answer.error:
            raise ModelFailed(f"{self.play.title}: {name} {arguments}: {answer.text}")
        return ToolCall(f"call_{self.next}_{name}", name, dict(arguments), answer.text, answer.memory_event)

    async def extract(self, reading: ClosingChat) -> Extraction:
        found = tuple(
            _candidate(one, 2 * nth - 1, reading)
            for nth, exchange in enumerate(self.play.exchanges, 1)
            for one in exchange.findings
        )
        summary, _ = await OFFLINE.summarise(reading.summary, reading.turns)
        return Extraction(found, summary, self.name)

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        return self.play.summary.strip(), Usage(sum(estimate(turn.text) for turn in turns), estimate(self.play.summary))

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        return self.play.title or "", Usage(estimate(turns[0].text), 8)


def _candidate(one: PlayFinding, turn: int, reading: ClosingChat) -> Candidate:
    """A finding as a candidate: a new line; or, if its category is `~` and a piece of a known line, a new wording of
    that line."""
    if not one.category.startswith("~"):
        return Candidate("add", None, one.category, None, one.content, one.score, (turn,))
    known = next(each for each in reading.known if one.category[1:].strip() in each.content)
    return Candidate("update", known.id, None, None, one.content, one.score, (turn,))


@dataclass(slots=True)
class Life:
    """The person of the story, their book, and the present moment."""

    kb: Keepbook
    owner: str
    clock: StoryClock
    calendar: Calendar
    pace: random.Random
    chats: dict[str, Chat] = field(default_factory=dict)
    """The chats that were begun so far, by title."""

    @property
    def book(self) -> Book:
        """The person's book, as they open it on the pages."""
        return self.kb.book(self.owner, door="web")

    def perform(self, play: Play) -> Chat:
        """Perform one chat, from its first turn to its closing."""
        chat = self.book.threads.start(preset=play.preset, incognito=play.incognito)
        speaker = OFFLINE if play.notebook else Script(play, self.clock, self.pace)
        self.kb.models = models = Models(speaker, speaker, OFFLINE)
        budget = Budget(play.window)
        talk = Talk(self.book, chat, models, budget=budget, monthly_tokens=None, orders=play.notebook)
        with asyncio.Runner() as runner:
            runner.get_loop().set_default_executor(AtOnce())
            runner.run(self._say(talk, play.exchanges))
        for nth, exchange in enumerate(play.exchanges, 1):
            if exchange.bookmarked:
                self.book.notes.bookmark(chat.id, 2 * nth)
        if play.closes:
            self.clock.wait(30)
            chat.close()
        self.chats[play.title or "incognito"] = chat
        return chat

    async def _say(self, talk: Talk, exchanges: Sequence[PlayExchange]) -> None:
        for exchange in exchanges:
            async for _ in talk.say(exchange.said):
                pass
            self.clock.wait(15 + self.pace.random() * 60)


StoryDeed = Callable[[Life], object]


class StoryStep(NamedTuple):
    """Something that happens at a moment of the story."""

    at: datetime
    do: StoryDeed


Chapter = Callable[[Calendar], Iterator[StoryStep]]
