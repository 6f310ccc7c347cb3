"""Chats whose turns do what a test says, whatever a reader would make of their words."""

from collections.abc import Callable
from typing import Any

import pytest

from keepbook.book.text.quotation import Span
from keepbook.models.notebook.values import QuotedLine, Scene, TurnStep


@pytest.fixture
def decides(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The turns that follow do these steps."""

    def decide(*steps: TurnStep) -> None:
        monkeypatch.setattr("keepbook.models.notebook.turn.decide_steps", lambda *_, **__: list(steps))

    return decide


def keep_whole_turn(scene: Scene, *_: Any, **__: Any) -> list[TurnStep]:
    """Each turn is one sure line, unless the book has it."""
    words = scene.turn.text.rstrip(".")
    if any(one.content == words for one in scene.targets):
        return []
    spans = (Span(scene.turn.number, 0, len(words), "said"),)
    return [TurnStep("keep", 0, len(words), quotation=QuotedLine(spans, words, "profile", score=0.9))]


@pytest.fixture
def recorded(alice: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A chat that came from elsewhere: its lines are found when it closes, and each of its turns is one."""
    monkeypatch.setattr("keepbook.models.notebook.extract.decide_steps", keep_whole_turn)

    def record(*texts: str, **started: Any) -> Any:
        chat = alice.threads.start(**started)
        for text in texts:
            chat.add("user", text)
            chat.add("assistant", "I see.")
        return chat

    return record
