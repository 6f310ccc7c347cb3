"""`/api/me`: what the person chooses, and that nobody waits for it."""

from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.book.owners.test_many_topics import Strict
from tests.embedding import meant

from keepbook import NotAllowed

TOPICS = [f"garden affair number{nth}" for nth in range(20)]
AS_SENT = {"Content-Type": "application/json; charset=utf-8"}


def test_topics_are_embedded_before_anything_is_locked(kb: Any, mine: TestClient) -> None:
    embedder = Strict(kb)
    book = meant(kb, embedder=embedder)
    agent = kb.book("alice", by="agent")
    for nth in range(3):
        kept = book.remember(f"I keep {nth} otters")
        with pytest.raises(NotAllowed):
            agent.update(kept.id, f"I keep {nth} cats")
    assert mine.get("/api/memory/proposals").json()["proposals"]
    embedder.held.clear()
    changed = mine.patch("/api/me", json={"never": TOPICS, "zone": "Europe/Oslo"})
    assert (changed.status_code, changed.json()["never"], changed.json()["zone"]) == (200, TOPICS, "Europe/Oslo")
    assert len(embedder.held) >= len(TOPICS)
    assert not any(embedder.held)
    embedder.held.clear()
    keyed = mine.patch("/api/me", json={"never": [*TOPICS, "the kitchen"]}, headers={"Idempotency-Key": "k"})
    assert keyed.status_code == 200
    assert embedder.held
    assert not any(embedder.held)
    embedder.held.clear()
    refused = mine.patch("/api/me", json={"never": [f"kitchen topic {nth}" for nth in range(300)], "zone": "UTC"})
    assert (refused.status_code, refused.json()["field"]) == (422, "never")
    assert embedder.held == []
    assert mine.get("/api/me").json()["zone"] == "Europe/Oslo"


def test_half_a_surrogate_is_refused_where_a_topic_is_set(kb: Any, mine: TestClient) -> None:
    book = meant(kb, embedder=Strict(kb))
    book.choose(never=TOPICS[:2])
    thread = mine.post("/api/chat/threads", json={"session": "one"}).json()["id"]
    at = f"/api/chat/threads/{thread}"
    for method, path, body in (
        ("POST", "/api/memory/", '{"content": "I feed \\ud800 otters"}'),
        ("PATCH", "/api/me", '{"never": ["otters \\ud800"]}'),
        ("PATCH", "/api/me", '{"name": "Ines \\ud800"}'),
        ("PATCH", at, '{"title": "Otters \\ud800 at sea"}'),
        ("POST", f"{at}/messages", '{"text": "I feed \\ud800 otters", "reply": false}'),
        ("POST", f"{at}/turns", '{"turns": [{"role": "tool", "text": "zz", "parts": {"n": "\\ud800"}}]}'),
        ("POST", f"{at}/turns", '{"turns": [{"role": "tool", "text": "zz", "parts": {"n": 99999999999999999999}}]}'),
    ):
        answered = mine.request(method, path, content=body, headers=AS_SENT)
        assert answered.status_code == 422, (path, body, answered.text)
    said = mine.post(
        f"{at}/messages",
        content='{"text": "I feed \\ud800 otters"}',
        headers=AS_SENT | {"Accept": "application/json"},
    )
    assert said.status_code == 422, said.text
    assert mine.get(at).json()["messages"] == []
