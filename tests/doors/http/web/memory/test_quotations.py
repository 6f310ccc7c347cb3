"""Quotations on the pages: in their marks, said and not guessed, and what a chat was given read as lines."""

from html import unescape
from typing import Any

import pytest

from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.text.quotation import Span

SHOWN = "“I live in Oslo” (said 1 Mar 2026)"


@pytest.fixture
def oslo(alice: Any) -> Any:
    """What a reader quoted from a chat."""
    chat = alice.threads.start()
    chat.add("user", "I live in Oslo, you know")
    said = Statement("", score=0.9, made_by="offline", category="profile")
    reader = Origin("extractor", "close", source="extracted")
    with alice.writing() as (tx, preset):
        return quotes.quote(tx, reader, preset, said, chat.id, [Span(1, 0, 14, "said")], said_on="2026-03-01")


def text(client: Any, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.text)


@pytest.mark.parametrize(
    "path", ["/profile/facts", "/profile/facts?print=1", "/memory/{id}", "/memory/{id}/times.txt", "/time"]
)
def test_every_page_shows_a_quotation_in_its_marks(client: Any, oslo: Any, path: str) -> None:
    assert SHOWN in text(client, path.format(id=oslo.id))


def test_a_quotation_is_said_and_not_guessed(client: Any, alice: Any, oslo: Any) -> None:
    alice.acting(actor="agent").remember("Seems to like jazz", confidence="inferred")
    page = text(client, "/profile/facts")
    assert SHOWN in text(client, "/profile/facts?show=said")
    assert SHOWN not in text(client, "/profile/facts?show=guessed")
    row = page[page.index(f'id="m-{oslo.id}"') :]
    assert row[: row.index("</li>")].count("<span>said</span>") == 1
    assert "pencil" not in row[: row.index(SHOWN)]


def test_its_words_are_edited_without_the_marks(client: Any, oslo: Any) -> None:
    assert ">I live in Oslo</textarea>" in text(client, f"/profile/facts?edit={oslo.id}")


def test_a_chat_shows_the_lines_it_was_given(client: Any, alice: Any, oslo: Any) -> None:
    alice.remember("Plays the [cello]", category="fact")
    chat = alice.threads.start()
    chat.inject()
    chat.add("user", "Hello")
    page = text(client, f"/chat/{chat.id}")
    assert f"<li>{SHOWN}</li>" in page
    assert "<li>Plays the [cello]</li>" in page
