"""A write with an `Idempotency-Key`: what needs no lock is done before there is one, and it happens once."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.embedding import Watching, meant

from keepbook.book.chats import learned_memories
from keepbook.book.ground import idempotency, in_pieces
from keepbook.book.text.indexes import turn_index
from keepbook.book.text.indexes.turn_index import term_weights
from keepbook.book.upkeep import importing
from keepbook.doors.http.call import Call
from keepbook.storage.database import Database

KEY = {"Idempotency-Key": "once"}
TURNS = {"turns": [{"role": "user", "text": f"Turn {nth} about otters"} for nth in range(5)]}


def test_words_are_read_and_embedded_while_nobody_waits(
    kb: Any, mine: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Watching(kb)
    meant(kb, embedder=embedder).choose(never=["my divorce"])
    read: list[bool] = []

    def reads(said: Any) -> Any:
        read.append(kb._database.is_writing)
        return term_weights(said)

    chat = mine.post("/api/chat/threads", json={}).json()["id"]
    embedder.held.clear()
    monkeypatch.setattr(turn_index, "term_weights", reads)
    path = f"/api/chat/threads/{chat}/turns"
    answers = [mine.post(path, json=TURNS, headers=KEY) for _ in range(2)]
    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert answers[1].headers["Idempotency-Replayed"] == "true"
    assert len(read) == 5
    kept = mine.post("/api/memory/", json={"content": "I feed the otters"}, headers={"Idempotency-Key": "other"})
    assert kept.status_code == 201
    assert embedder.held
    assert not any(read + embedder.held)


def test_the_same_request_at_the_same_moment_is_done_once(
    kb: Any, mine: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looked for an answer before there was one: the second finds it under the lock."""
    monkeypatch.setattr(Call, "_stored_answer", lambda *_: None)
    told = [mine.post("/api/memory/", json={"content": "Lives in Oslo"}, headers=KEY) for _ in range(2)]
    assert told[0].json() == told[1].json()
    assert told[1].headers["Idempotency-Replayed"] == "true"
    assert [one.event for one in kb.book("alice").ledger()] == [1]
    other = mine.post("/api/memory/", json={"content": "Lives in Rome"}, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")
    assert kb.book("alice").list().total == 1


def test_the_write_and_its_answer_are_kept_together_or_not_at_all(
    kb: Any, mine: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(idempotency, "store_answer", fails)
        with pytest.raises(ZeroDivisionError):
            mine.post("/api/memory/", json={"content": "Lives in Oslo"}, headers=KEY)
    assert kb.book("alice").list().total == 0
    refused = mine.post("/api/memory/", json={"content": ""}, headers=KEY)
    assert refused.status_code == 422
    assert mine.post("/api/memory/", json={"content": "Lives in Oslo"}, headers=KEY).status_code == 201
    assert kb.book("alice").verify().ok


@pytest.mark.both_engines
@pytest.mark.parametrize("how", ["restore", "merge", "notes"])
def test_an_import_that_is_killed_after_its_commit_is_answered_when_it_is_sent_again(
    kb: Any, mine: TestClient, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    kb.book("carol").remember("Keeps otters")
    exported = io.StringIO()
    kb.book("carol").export(exported)
    sent = {"restore": exported.getvalue(), "merge": exported.getvalue(), "notes": "Keeps otters\nHas a boat\n"}[how]
    path = "/api/import?merge=true" if how == "merge" else "/api/import"
    write = Database.write

    @contextmanager
    def killed_once_it_is_kept(self: Database, owner: str, **told: Any) -> Iterator[Any]:
        with write(self, owner, **told) as tx:
            yield tx
        if kb.book("alice").list().total:
            raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(importing, "PIECE_SECONDS", 60)
        patched.setattr(Database, "write", killed_once_it_is_kept)
        patched.setattr(importing, "take_back_unfinished", lambda *_: None)  # nobody is left to do it
        with pytest.raises(ZeroDivisionError):
            mine.post(path, content=sent, headers=KEY)
    again = [mine.post(path, content=sent, headers=KEY) for _ in range(2)]
    assert [one.status_code for one in again] == [200, 200]
    assert (again[0].json()["memories"], again[0].headers["Idempotency-Replayed"]) == (
        2 if how == "notes" else 1,
        "true",
    )
    assert again[0].json() == again[1].json()
    assert kb.book("alice").verify().ok


def test_an_import_sent_twice_at_the_same_moment_is_done_once(
    mine: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Call, "_stored_answer", lambda *_: None)
    told = [mine.post("/api/import", content="Keeps otters\nHas a boat\n", headers=KEY) for _ in range(2)]
    assert told[0].json() == told[1].json()
    assert told[1].headers["Idempotency-Replayed"] == "true"


def test_what_writes_nothing_is_answered_once_too(mine: TestClient) -> None:
    path = "/api/memory/"
    id = mine.post(path, json={"content": "Lives in Oslo"}).json()["id"]
    again = [mine.post(path, json={"content": "Lives in Oslo"}, headers=KEY).json() for _ in range(2)]
    assert [one["id"] for one in again] == [id, id]


def test_a_chat_with_its_memories_is_deleted_in_pieces_with_a_key_too(
    kb: Any, mine: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob = kb.book("alice"), kb.book("bob")
    chat = alice.threads.start()
    for nth in range(4):
        alice.remember(f"Said here, {nth}", thread_id=chat.id, force=True)
    monkeypatch.setattr(learned_memories, "PIECE_SECONDS", 0)
    monkeypatch.setattr(in_pieces.Gaps, "wait", lambda _: bob.remember(f"Bob's turn {bob.list().total}", force=True))
    path = f"/api/chat/threads/{chat.id}"
    told = [mine.delete(path, params={"memories": True}, headers=KEY) for _ in range(2)]
    assert [one.status_code for one in told] == [200, 200]
    assert told[0].json() == told[1].json()
    assert (alice.list().total, alice.list(state="trash").total, bob.list().total) == (0, 4, 3)
    back = [mine.post(f"{path}/restore", headers={"Idempotency-Key": "back"}) for _ in range(2)]
    assert (back[0].json(), back[1].headers["Idempotency-Replayed"]) == (back[1].json(), "true")
    assert (alice.list().total, bob.list().total) == (4, 6)
    gone = [mine.delete(path, params={"forever": True}, headers={"Idempotency-Key": "gone"}) for _ in range(2)]
    assert [one.status_code for one in gone] == [204, 204]
    assert alice.verify().ok
