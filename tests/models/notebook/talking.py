"""A chat with the notebook as a test has it: turns in, replies out, and what the book says then."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.book.text.quotation import content_of, spans_of
from keepbook.models.model import TextDelta
from keepbook.models.notebook import extract, read, turn


def say(kb: Keepbook, chat: Any, text: str) -> str:
    """One turn; answers the reply."""

    async def heard() -> str:
        return "".join([event.text async for event in kb.talk(chat).say(text) if isinstance(event, TextDelta)])

    return asyncio.run(heard())


@contextmanager
def moved_by(moves: Any) -> Iterator[None]:
    """What clauses do is told by this reader of moves, in chats and at closing."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (read, turn, extract):
            patch.setattr(module, "shared_moves", lambda: moves)
        yield


@contextmanager
def read_by(reader: Any) -> Iterator[None]:
    """What is worth keeping is told by this reader."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "shared_reader", lambda: reader)
        yield


def holding(book: Any) -> list[str]:
    """What holds now."""
    return [one.content for one in book.list(limit=1000) if one.current]


def lines(book: Any) -> list[str]:
    """What the book says, and what is offered to it."""
    return [one.content for one in (*book.list(limit=1000), *book.proposals.list())]


def assert_own_words(book: Any, chat: Any) -> None:
    """Every quotation of a chat is a function of its spans, letter for letter."""
    texts = {one.turn: one.text for one in chat.messages()}
    waiting = [one for one in book.proposals.list() if one.thread_id == chat.id and one.spans]
    kept = [one for one in book.list(limit=1000) if one.thread_id == chat.id and one.quoted]
    for one in (*kept, *waiting):
        spans = spans_of(one.spans)
        assert spans
        assert one.content == content_of(spans, texts), one
        assert len(one.content) <= 200
