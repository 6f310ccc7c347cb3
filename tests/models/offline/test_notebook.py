"""The notebook: what it says is there in every language that it speaks."""

import asyncio
import re
from pathlib import Path

import pytest

import keepbook.models.offline.notebook as notebook
from keepbook.models.model import Conversation, Known, Replied, Said
from keepbook.models.offline.notebook.phrases import TONGUES, day, words
from keepbook.models.offline.notebook.reply import reply

HERE = Path(notebook.__file__).parent
SAYS = re.compile(r"""\bsay\(\s*["'](\w+)["']""")


@pytest.mark.parametrize("tongue", TONGUES)
def test_every_sentence_that_is_said_is_there(tongue: str) -> None:
    said = {key for module in HERE.glob("*.py") for key in SAYS.findall(module.read_text(encoding="utf-8"))}
    assert len(said) > 40
    assert said - words("en").says.keys() == set()
    assert said - words(tongue).says.keys() == set()


def test_days_are_told_as_people_write_them() -> None:
    told = {tongue: day(tongue, "2025-03-03T11:07:00.000000Z") for tongue in TONGUES}
    assert told == {"en": "3 March 2025", "de": "3. März 2025", "es": "3 de marzo de 2025", "nb": "3. mars 2025"}


@pytest.mark.parametrize(
    ("said", "starts"),
    [
        ("I am allergic to penicillin", "That is in your book already: “Is allergic to penicillin”."),
        ("Is anybody allergic to penicillin on Mars?", ""),
        ("Write me a poem about penicillin", "That is beyond a notebook"),
    ],
)
def test_what_the_book_has_is_not_beyond_a_notebook(said: str, starts: str) -> None:
    known = (Known("abcdefgh", "profile", None, "Is allergic to penicillin", "chat"),)
    talk = Conversation("", (Said("user", said),), known=known)

    async def answer() -> str:
        return next(iter([one.text async for one in reply(talk, None) if isinstance(one, Replied)]))

    told = asyncio.run(answer())
    assert told.startswith(starts)
    assert ("already" in told) == ("already" in starts)
