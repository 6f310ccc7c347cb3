"""A closing chat read without a model: what this chat changes of its own lines is said in its later words."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted, Sentences

from keepbook.models.model import ClosingChat, DialogueTurn, KnownMemory
from keepbook.models.notebook.extract import extract

NOW = datetime(2026, 10, 9, 12, tzinfo=UTC)
SIXTY = "Nils and I want to be done with work when I'm 60"
LATER = {"act": "change", "points": "60", "old": "60", "new": "58"}


def read(script: dict[str, Any], *texts: str, known: tuple[KnownMemory, ...] = ()) -> list[Any]:
    turns = tuple(DialogueTurn(number, "user", text) for number, text in enumerate(texts, 1))
    reading = ClosingChat(turns, known, ("fact",), "UTC", NOW, thread_id="t")
    return extract(reading, reader=Sentences(), moves=Scripted(script))


def test_a_sure_slip_is_mended_in_the_line_that_this_chat_gives() -> None:
    (line,) = read({"58": LATER}, SIXTY, "no, 58 rather than 60")
    assert (line.op, line.content, line.sure) == ("add", SIXTY.replace("60", "[58]"), True)
    assert [span.kind for span in line.spans] == ["said", "exchanged"]


def test_a_likely_one_is_offered_in_its_later_words() -> None:
    (line,) = read({"58": LATER | {"likely": 0.6}}, SIXTY, "no, 58")
    assert (line.op, line.content, line.sure) == ("add", SIXTY.replace("60", "[58]"), False)


def test_of_a_line_of_the_book_it_is_asked() -> None:
    known = (KnownMemory("m1", "fact", None, SIXTY, "extracted", 0.9, False),)
    (line,) = read({"58": LATER | {"likely": 0.6}}, "no, 58 rather than 60", known=known)
    assert (line.op, line.target, line.sure, line.question) == ("update", "m1", False, "change")


def test_what_this_chat_says_is_over_is_not_kept_from_it() -> None:
    script = {"sold": {"act": "end", "points": "boat"}}
    assert read(script, "I have a boat called Vilja.", "we sold it yesterday") == []


@pytest.mark.parametrize("likely", [0.6, 0.95])
def test_a_change_that_fits_no_letters_leaves_the_line(likely: float) -> None:
    script = {"make": {"act": "change", "points": "60", "likely": likely}}
    lines = [one.content for one in read(script, SIXTY, "make that different")]
    assert SIXTY in lines
