"""Attacks on the doors that came after the table: what belongs to another agent, to the person, or to everybody."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.contracts.test_authority import exported, key

from keepbook import Keepbook
from keepbook.demo.stage import demo_settings
from keepbook.doors.http.app import create_app
from keepbook.errors import NotAllowed, NotFound
from keepbook.extensions.trading.book.imports.freqtrade_file import NEEDED

# What is another agent's


def test_a_bound_token_names_no_memory_of_another_agent(kb: Keepbook, alice: Any) -> None:
    told, other = (alice.agents.create(name, use_block=True) for name in ("Told", "Other"))
    desk = kb.book("alice", by="agent")
    secret, common = desk.remember("Sells at noon", scope=other.id), desk.remember("Lives in Oslo")
    near = desk.remember("Sells at dusk", scope=other.id)
    joined = desk.link(secret.id, near.id, "relates_to")
    bound = key(kb, "agent", "read", "write", agent=told.id)
    before = exported(alice)
    for method, path, body in (
        ("GET", f"/api/memory/{secret.id}", None),
        ("PUT", f"/api/memory/{secret.id}", {"content": "Sells never"}),
        ("PUT", "/api/memory/Sells at", {"content": "Sells never"}),
        ("DELETE", f"/api/memory/{secret.id}", None),
        ("POST", f"/api/memory/{secret.id}/forget", None),
        ("POST", f"/api/memory/{secret.id}/confirm", None),
        ("POST", "/api/memory/links", {"from_id": common.id, "to_id": secret.id, "relation": "relates_to"}),
        ("DELETE", f"/api/memory/links/{joined.id}", None),
    ):
        got = bound.request(method, path, json=body)
        assert (got.status_code, got.json()["code"]) == (404, "not_found"), (method, path, got.text)
        assert "noon" not in got.text
        assert "dusk" not in got.text
    for name, given in (
        ("history", {"memory": secret.id}),
        ("update", {"memory": "Sells at noon", "content": "Sells never"}),
        ("forget", {"memory": secret.id}),
        ("confirm", {"memory": secret.id}),
    ):
        got = bound.post(f"/api/tools/{name}", json=given)
        assert got.json()["error"] == "not_found", got.text
        assert "dusk" not in got.text
    placed = bound.post("/api/memory/", json={"content": "Buys at noon", "scope": other.id})
    assert (placed.status_code, placed.json()["code"]) == (403, "bound")
    assert exported(alice) == before
    assert bound.put(f"/api/memory/{common.id}", json={"content": "Lives in Bergen"}).status_code == 200
    assert bound.post("/api/memory/", json={"content": "My own", "scope": told.id}).status_code == 201


def test_a_key_sent_again_tells_nobody_else_the_answer(kb: Keepbook, alice: Any) -> None:
    once, note = {"Idempotency-Key": "first"}, {"content": "Sells at noon"}
    mine, other = (alice.agents.create(name, use_block=True) for name in ("Mine", "Other"))
    own, others = (key(kb, "agent", "read", "write", agent=agent.id) for agent in (mine, other))
    first = own.post("/api/memory/", json=note, headers=once)
    assert "noon" in first.text
    again = own.post("/api/memory/", json=note, headers=once)
    assert (again.text, again.headers["Idempotency-Replayed"]) == (first.text, "true")
    for somebody in (others, key(kb), key(kb, "person")):
        got = somebody.post("/api/memory/", json=note, headers=once)
        assert (got.status_code, got.json()["code"]) == (409, "key_reused"), got.text


def test_what_only_reads_is_answered_anew_for_whoever_asks(kb: Keepbook, alice: Any) -> None:
    mine, other = alice.agents.create("Mine"), alice.agents.create("Other")
    alice.decisions.record(mine.id, {"text": "Sells at noon"})
    once = {"Idempotency-Key": "first"}
    own, others = (key(kb, "agent", "read", "write", agent=agent.id) for agent in (mine, other))
    asked = [somebody.post("/api/tools/get_my_decisions", json={}, headers=once) for somebody in (own, others)]
    assert ["noon" in got.text for got in asked] == [True, False]
    assert not any("Idempotency-Replayed" in got.headers for got in asked)


# What is the person's


def test_an_agent_adds_notes_and_neither_rewrites_nor_deletes_one(kb: Keepbook, alice: Any) -> None:
    mine = alice.notes.write("Ask Nora about the boat")
    agent = key(kb)
    for method, body in (("PUT", {"text": "Ask nobody"}), ("DELETE", None)):
        got = agent.request(method, f"/api/journal/{mine.id}", json=body)
        assert (got.status_code, got.json()["code"]) == (403, "person_only"), got.text
    desk = kb.book("alice", by="agent")
    for do in (lambda: desk.notes.edit(mine.id, "x"), lambda: desk.notes.delete(mine.id)):
        with pytest.raises(NotAllowed):
            do()
    assert agent.post("/api/journal", json={"text": "Nora called"}).status_code == 201
    assert {note.text for note in alice.notes.list()} == {"Ask Nora about the boat", "Nora called"}


def test_what_an_agent_put_into_the_trash_waits_for_the_person(kb: Keepbook, alice: Any, clock: Any) -> None:
    """The jobs take away for good only what the person threw away."""
    agent = key(kb)
    desk = kb.book("alice", by="agent")
    chats = [desk.threads.start() for _ in range(2)]
    for chat in chats:
        chat.add("user", "Hello")
    saved = [desk.remember(text) for text in ("Lives in Oslo", "Has a cat")]
    assert agent.delete(f"/api/chat/threads/{chats[0].id}").status_code == 200
    assert agent.delete(f"/api/memory/{saved[0].id}").status_code == 200
    alice.threads.delete(chats[1].id)
    alice.delete(saved[1].id)
    back = agent.post(f"/api/chat/threads/{chats[1].id}/restore")
    assert (back.status_code, back.json()["code"]) == (403, "person_only")
    clock.forward(days=31)
    kb.sweep()
    alice.purge()
    assert alice.get(saved[0].id).state == "trash"
    assert [chat.id for chat in alice.threads.list(trash=True)] == [chats[0].id]
    for gone in (lambda: alice.get(saved[1].id), lambda: alice.threads.get(chats[1].id)):
        with pytest.raises(NotFound):
            gone()
    assert agent.post(f"/api/chat/threads/{chats[0].id}/restore").status_code == 200


# What holds everybody up


@pytest.mark.parametrize("how", ["view", "computed", "virtual"])
def test_a_trade_database_that_computes_is_not_read(kb: Keepbook, alice: Any, tmp_path: Path, how: str) -> None:
    names = sorted(NEEDED)
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
    with sqlite3.connect(tmp_path / "trades.sqlite") as file:
        if how == "view":
            columns = ", ".join(f"1 AS {name}" for name in names)
            file.execute(f"CREATE VIEW trades AS {endless} SELECT {columns} FROM c WHERE x < 0")
        elif how == "virtual":
            file.execute(f"CREATE VIRTUAL TABLE trades USING fts5({', '.join(names)})")
        else:
            columns = ", ".join(name for name in names if name != "pair")
            file.execute(f"CREATE TABLE trades ({columns}, pair AS (hex(zeroblob(400000000))))")
            file.execute("INSERT INTO trades (id, is_open) VALUES (1, 0)")
    sent = (tmp_path / "trades.sqlite").read_bytes()
    got = key(kb).post("/api/trading/import?kind=freqtrade", content=sent)
    assert (got.status_code, got.json()["field"]) == (422, "file"), got.text


def test_a_visitor_of_the_demo_uses_up_nobody_elses_turn() -> None:
    """Each visitor has an own book, of the same made-up owner: they are counted apart, by where they come from."""
    settings = demo_settings().but(rate_per_minute=5)
    with (
        Keepbook(":memory:", settings=settings, demo=True) as one,
        Keepbook(":memory:", settings=settings, demo=True) as other,
    ):
        app = create_app(one, opens=lambda headers: other if "x-other" in headers else one)
        visitor = TestClient(app, base_url="http://127.0.0.1")
        said = [visitor.get("/api/me").status_code for _ in range(7)]
        assert said.count(429) >= 1
        elsewhere = TestClient(app, base_url="http://127.0.0.1", client=("192.0.2.8", 50000))
        assert elsewhere.get("/api/me", headers={"x-other": "1"}).status_code == 200


# What went out comes in


def test_a_text_with_other_line_ends_comes_back_over_http(kb: Keepbook, alice: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "One\u2028two\u2029three\u0085four")
    alice.notes.write("One\u2028two")
    text = exported(alice)
    bob = TestClient(
        create_app(kb),
        base_url="http://127.0.0.1",
        headers={"Authorization": f"Bearer {kb.tokens.create('bob', scopes=('read', 'write', 'admin')).token}"},
    )
    assert bob.post("/api/import", content=text.encode()).status_code == 200
    assert _rows(exported(kb.book("bob"))) == _rows(text)


def _rows(text: str) -> list[str]:
    """Without the chain, which goes on with the key that brought it in."""
    return [
        line for line in text.split("\n") if not any(f'"kind":"{kind}"' in line for kind in ("cover", "seal", "end"))
    ]
