"""What Ctrl K and the page behind the sidebar's field find; `frame/test_shell.py` presses the keys."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient


def groups(page: str) -> dict[str, list[str]]:
    """The rows of each group, without markup."""
    found = re.findall(r'<section[^>]*><h2 id="\w+-\d+"[^>]*>(.*?)</h2>\s*<ul[^>]*>(.*?)</ul>', page, re.DOTALL)
    return {
        name: [re.sub(r"<[^>]+>", "", row).strip() for row in re.findall(r"<li[^>]*>(.*?)</li>", rows, re.DOTALL)]
        for name, rows in found
    }


def test_nothing_typed_shows_what_one_can_do_and_a_new_chat_first(client: TestClient, alice: Any, talk: Any) -> None:
    talk("Hello")
    alice.remember("Seems to like tea", confidence="inferred")
    found = groups(client.get("/search").text)
    assert list(found) == ["Do", "Last chats", "Go to"]
    assert found["Do"][0] == "New chat"
    assert found["Go to"][0] == "Lines that wait for you1"


def test_one_word_finds_people_lines_chats_actions_and_pages(client: TestClient, alice: Any, talk: Any) -> None:
    alice.remember("Kari is my wife", subject="My wife Kari", category="fact")
    chat = talk("Hello")
    alice.threads.rename(chat.id, "A present for Kari")
    alice.threads.rename(talk("Kari likes the sea").id, "At the coast")
    found = groups(client.get("/search?q=kari").text)
    assert list(found) == ["People", "Your book", "Chats", "Do", "Go to"]
    assert found["People"] == ["Kariwife · 1 line"]
    assert found["Chats"][0].startswith("A present for Kari")  # the title before what was said
    assert found["Chats"][1] == "At the coasttoday“Kari likes the sea”"
    assert found["Do"][0] == "New chat about Kari"
    assert any("A present for Kari" in row for row in groups(client.get("/search?q=presents").text)["Chats"])
    assert "Settings" in groups(client.get("/search?q=sett").text)["Go to"]
    assert "Erase your book" in groups(client.get("/search?q=delete").text)["Do"]


def test_over_a_page_at_most_three_of_a_group_are_shown(client: TestClient, alice: Any) -> None:
    for nth in range(5):
        alice.remember(f"Tea number {nth} is green", category="fact", force=True)
    whole, piece = (
        groups(client.get("/search?q=green", headers=head).text)["Your book"] for head in ({}, {"X-Partial": "1"})
    )
    assert (len(whole), len(piece)) == (5, 3)


def test_what_is_typed_is_only_text(client: TestClient, alice: Any) -> None:
    page = client.get("/search", params={"q": "<b>bold</b>"}, headers={"X-Partial": "1"}).text
    assert "<b>bold" not in page
    assert "&lt;" in page


def test_what_is_left_out_for_a_forbidden_topic_is_said(client: TestClient, alice: Any, talk: Any) -> None:
    talk("I keep bees")
    assert "left out" not in client.get("/search?q=bees").text
    alice.choose(never=["my ex"])
    said = "1 chat looked through; what you said about my ex is left out"
    assert said in client.get("/search?q=keys").text
    assert said in client.get("/search?q=keys", headers={"X-Partial": "1"}).text


def test_a_line_with_the_word_stands_before_one_that_is_alike(
    client: TestClient, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.remember("I'm Paula and I live in Graz", category="fact")
    alice.remember("My sister Lena helped us move", category="fact")
    found = sorted(alice.recall("lena paula"), key=lambda one: "Lena" in one.content)
    monkeypatch.setattr(type(alice), "recall", lambda *_, **__: found)
    rows = groups(client.get("/search?q=lena").text)["Your book"]
    assert rows[0].startswith("My sister Lena")
