"""What docs/security.md says about secrets and erasure and no other test holds to the letter."""

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.contracts.test_authority import client, exported

from keepbook import Keepbook
from keepbook.settings import load_settings

CARD = "The card is 4111 1111 1111 1111"


def test_what_is_written_by_hand_is_not_judged_and_the_audit_names_it(kb: Keepbook, alice: Any) -> None:
    mine, theirs = alice.remember(CARD), kb.book("alice", by="agent").remember("The wifi password is hunter2")
    assert sorted(alice.audit().secrets) == sorted([(mine.id, "card"), (theirs.id, "password")])


def test_a_deleted_memory_leaves_the_chat_and_the_note_that_said_it(alice: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", CARD)
    note = alice.notes.write(CARD)
    alice.delete(alice.remember(CARD, thread_id=chat.id, turn_ids=("1",)).id, forever=True)
    assert [message.text for message in chat.messages()] == [CARD]
    assert alice.notes.get(note.id).text == CARD
    alice.threads.delete(chat.id, forever=True)
    alice.notes.delete(note.id)
    assert "4111 1111" not in exported(alice)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_no_byte_of_what_was_deleted_for_good_is_left_in_the_file(kb: Keepbook, alice: Any, book_url: str) -> None:
    for number in range(50):
        alice.remember(f"Ordinary thing number {number}")
    secret = alice.remember("The treasure is called xanthoquill", body="A long story of xanthoquill. " * 200)
    alice.inject("shown")
    alice.delete(secret.id, forever=True)
    alice.notes.delete(alice.notes.write("Of zanthoquill there are two").id)
    left = b"".join(path.read_bytes() for path in Path(book_url).parent.glob(Path(book_url).name + "*"))
    assert b"Ordinary thing" in left
    assert b"anthoquill" not in left


def test_keys_of_models_are_shown_nowhere(kb: Keepbook, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_OPENAI_KEY", "sk-operator")
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:gpt-4o")
    kb.settings = load_settings()
    assert kb.settings.openai_key is not None
    page: TestClient = client(kb)
    page.headers["Accept"] = "text/html"
    shown = [repr(kb.settings), str(vars(kb.settings)), exported(alice)]
    shown += [page.get(path).text for path in ("/settings", "/api/me", "/health", "/metrics")]
    assert all(shown)
    assert [text for text in shown if "sk-operator" in text] == []
