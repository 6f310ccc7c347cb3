"""The notebook and the prompt without any extension: questions of theirs are read like any other."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.extension import find_extensions
from keepbook.models.model import TextDelta, ToolCalled
from keepbook.models.prompt import compose
from keepbook.presets import load_preset
from keepbook.settings import load_settings


@pytest.fixture
def bare(tmp_path: Path) -> Any:
    settings = load_settings(db=str(tmp_path / "book.db")).but(extensions=())
    with Keepbook(settings=settings) as kb:
        yield kb


def test_a_question_about_trading_is_answered_from_the_book(bare: Keepbook) -> None:
    book = bare.book("alice")
    chat = book.threads.start(preset="coach")

    async def tell(text: str) -> tuple[str, list[str]]:
        said, calls = "", []
        async for event in bare.talk(chat).say(text):
            if isinstance(event, TextDelta):
                said += event.text
            elif isinstance(event, ToolCalled):
                calls.append(event.call.name)
        return said, calls

    said, calls = asyncio.run(tell("how is my BTC scalper doing this week?"))
    assert calls == []
    assert "I have nothing about that." in said


def test_the_prompt_says_nothing_of_an_extension_that_is_off() -> None:
    coach = load_preset("coach")
    rule = coach.extension_rules["trading"].strip()
    assert rule not in compose(coach)
    assert f"it twice.\n{rule}\n\n" in compose(coach, extensions=find_extensions(["trading"]))
