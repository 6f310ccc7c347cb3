"""Replies in progress and replies that broke off: stopped by the person, abandoned by the listener, or failed.

The part that was written is stored and marked, and can be continued. A reply can be stopped only in the process that
writes it; closing the connection ends it too.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from keepbook.book.chats.threads import Message
from keepbook.models.compress import ORDER, size
from keepbook.models.model import Conversation, PromptMessage, ReplyFinished, TextDelta, ToolCall, ToolCalled, Usage
from keepbook.patterns import regex

Told = TypeVar("Told")

STOP_SECONDS = 10.0
"""How long `stop_reply` waits until the piece is stored."""
GO_ON = (
    "Your reply broke off there. Go on exactly where it ends, with the very next word; "
    "do not repeat any of it, and do not mention that it broke off."
)


@dataclass(slots=True)
class _Writing:
    loop: asyncio.AbstractEventLoop
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


_WRITING: dict[tuple[str, str], _Writing] = {}
"""The replies that are being written in this process, by owner and chat."""


@contextmanager
def being_written(owner: str, chat_id: str) -> Iterator[asyncio.Event]:
    """Register a reply while it is written, so that `stop_reply` can set the event that stops it."""
    mine = _WRITING[owner, chat_id] = _Writing(asyncio.get_running_loop())
    try:
        yield mine.stop
    finally:
        mine.ended.set()
        if _WRITING.get((owner, chat_id)) is mine:
            del _WRITING[owner, chat_id]


async def stop_reply(owner: str, chat_id: str) -> bool:
    """Stop the reply that is being written in this process, and wait until it is stored; False if there is none."""
    found = _WRITING.get((owner, chat_id))
    if found is None or found.loop is not asyncio.get_running_loop():
        return False
    found.stop.set()
    with suppress(TimeoutError):
        await asyncio.wait_for(found.ended.wait(), STOP_SECONDS)
    return True


async def until(stop: asyncio.Event, events: AsyncIterator[Told]) -> AsyncGenerator[Told, None]:
    """Pass on the events of a reply until `stop` is set."""
    halted = asyncio.ensure_future(stop.wait())
    coming: asyncio.Future[Told] | None = None
    try:
        while not stop.is_set():
            coming = asyncio.ensure_future(anext(events))
            await asyncio.wait({coming, halted}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                return
            try:
                event = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield event
    finally:
        halted.cancel()
        if coming is not None and not coming.done():
            coming.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await coming
        await events.aclose()  # type: ignore[attr-defined]


# A piece of a reply


@dataclass(slots=True)
class ReplyPiece:
    """The part of a reply that exists so far: its text and its tool calls."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()

    def add(self, event: object) -> None:
        if isinstance(event, TextDelta):
            self.text += event.text
        elif isinstance(event, ToolCalled):
            self.calls += (event.call,)

    def __bool__(self) -> bool:
        return bool(self.text.strip() or self.calls)

    def join(self, rest: ReplyFinished) -> ReplyFinished:
        """The piece and its continuation as one reply."""
        rounds = max((call.round for call in self.calls), default=-1) + 1
        later = tuple(replace(one, round=one.round + rounds, at=one.at + len(self.text)) for one in rest.calls)
        return ReplyFinished(self.text + rest.text, self.calls + later, rest.usage)


_LAST_WORD = regex(r"(?<![\w'’-])[\w'’-]++$")


def whole_words(message: Message) -> ReplyPiece:
    """A stored piece without its last word, in the middle of which it may have broken off."""
    text = message.text
    last_word = _LAST_WORD.search(text)
    if last_word:
        text = text[: last_word.start()]
    if text and not text[-1].isspace():
        text += " "
    return ReplyPiece(text, tuple(ToolCall(**part) for part in message.calls if part["name"] != ORDER))


def going_on(conversation: Conversation, piece: ReplyPiece) -> Conversation:
    """The conversation that lets a model continue a piece."""
    said = (PromptMessage("assistant", piece.text.rstrip(), None, piece.calls), PromptMessage("user", GO_ON))
    return replace(conversation, said=(*conversation.said, *said))


def estimate_usage(conversation: Conversation, piece: ReplyPiece) -> Usage:
    """An estimate of what an unfinished reply cost: characters / 4."""
    return Usage(-(-len(conversation.system) // 4) + sum(map(size, conversation.said)), -(-len(piece.text) // 4))
