"""What is never to be remembered, or was asked to be forgotten, comes through no way of asking chats."""

from collections.abc import Sequence
from typing import Any

import pytest
from tests.book.recall.test_recall_property import shown_by

from keepbook.book.ground.when import stamp
from keepbook.book.memory.proposals import note_forgotten
from keepbook.book.recall.turns import hits
from keepbook.book.text.topics import find_topics


def test_a_topic_never_to_be_remembered_is_in_no_hit(alice: Any) -> None:
    chat = alice.thread("one")
    chat.add("user", "On Sundays I play golf with Ada")
    chat.add("assistant", "Golf on Sundays sounds nice")
    chat.add("user", "After it on Sundays we eat cake at the club")
    before = shown_by(alice, "Sundays")

    alice.choose(never=["golf"])

    assert any("golf" in text for text in before)
    assert shown_by(alice, "Sundays") == {"After it on Sundays we eat cake at the club"}
    assert shown_by(alice, "golf") <= {"After it on Sundays we eat cake at the club"}


def test_of_a_long_turn_its_beginning_and_the_passage_shown_are_looked_through(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.choose(never=["golf"])
    filling = "The harbour lay quiet under a grey sky, and nobody spoke. " * 400
    for session, told in (("one", "The ferry leaves at nine."), ("two", "The ferry leaves for the golf course.")):
        alice.thread(session).add("user", f"{filling}{told}")
        alice.thread(session).add("user", "Bring bread.")
    letters: list[int] = []

    def counted(text: str, topics: Sequence[str]) -> list[str]:
        letters.append(len(text))
        return find_topics(text, topics)

    monkeypatch.setattr(hits, "find_topics", counted)

    told = [hit.text for hit in alice.recall_chats("ferry")]
    assert any("at nine" in text for text in told)
    beside = [one.text for hit in alice.recall_chats("bread", limit=2, around=1) for one in hit.around]
    assert beside
    told += [line.text for line in alice.timeline("ferry")]
    assert not any("golf" in text for text in (*told, *beside))
    assert max(letters) <= hits.LOOKED_THROUGH


def test_a_title_made_of_what_was_withdrawn_is_not_told(alice: Any) -> None:
    for session, title in (("one", "Fertility clinic in Bergen"), ("two", "Cake for Ada")):
        chat = alice.thread(session)
        said = chat.add("user", f"{title}: what do I bring?")
        chat.add("user", "And the train leaves at nine")
        alice.threads.rename(chat.id, title)
        with alice.writing() as (tx, _):
            matter = {"one": "the clinic", "two": "my knee"}[session]
            note_forgotten(tx, stamp(tx.clock()), matter, chat.id, [said.turn])

    titles = {hit.session: hit.title for hit in alice.recall_chats("when does the train leave?")}

    assert titles == {"one": None, "two": "Cake for Ada"}
    alice.choose(never=["cake"])
    assert {hit.title for hit in alice.recall_chats("when does the train leave?")} == {None}
