"""The person's switches at the HTTP door: memory off is told to programs, and the person's own pages go on."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient

READS = (
    "/api/memory/", "/api/memory/recall?q=tea", "/api/memory/rendered", "/api/memory/ledger", "/api/memory/proposals",
    "/api/memory/recall-chats?q=tea", "/api/memory/as-of", "/api/chat/threads", "/api/chat/threads/search?q=tea",
    "/api/journal", "/api/events", "/api/loads",
)  # fmt: skip


@pytest.mark.parametrize("kind", ["agent", "service", "host", "person", "nobody"])
def test_with_memory_off_no_program_reads_or_writes(kb: Any, alice: Any, client: Callable[..., Any], kind: str) -> None:
    book = kb.book(kb.settings.owner) if kind == "nobody" else alice
    book.remember("Drinks green tea")
    chat = book.threads.start().id
    book.choose(memory=False)
    program = _program(kb, client, kind)
    for path in READS:
        told = program.get(path)
        assert (told.status_code, told.json()["code"]) == (403, "memory_off"), path
    for path, body in (("/api/memory/", {"content": "Lives in Oslo"}), ("/api/chat/threads", {})):
        assert program.post(path, json=body).json()["code"] == "memory_off"
        assert program.post(path, json=body, headers={"Idempotency-Key": "1"}).json()["code"] == "memory_off"
    assert program.get("/api/memory/block").json()["block"] == ""
    assert program.post("/api/memory/inject", json={"session": "s"}).json()["block"] == ""
    for key in ({}, {"Idempotency-Key": "chat"}, {"Idempotency-Key": "chat"}):
        assert program.post(f"/api/chat/threads/{chat}/inject", headers=key).json()["block"] == ""
    for path in ("/api/me", "/api/memory/verify"):
        assert program.get(path).status_code == 200, path
    exported = program.get("/api/export")
    if kind in ("person", "nobody"):
        assert exported.status_code == 200
    else:
        assert (exported.status_code, exported.json()["code"]) == (403, "memory_off")


def test_with_memory_off_no_earlier_answer_is_given_again(kb: Any, alice: Any, client: Callable[..., Any]) -> None:
    alice.remember("Drinks green tea")
    agent, person = _program(kb, client, "agent"), _program(kb, client, "person")
    sent = (
        (agent, "/api/memory/", {"content": "Lives in Oslo"}),
        (agent, "/api/tools/recall", {"query": "tea"}),
        (agent, "/api/memory/inject", {"session": "s"}),
        (person, "/api/memory/", {"content": "Has a green dog"}),
    )

    def answers() -> list[Any]:
        return [
            program.post(path, json=body, headers={"Idempotency-Key": f"k{nth}"})
            for nth, (program, path, body) in enumerate(sent)
        ]

    before = [told.text for told in answers()]
    off = person.patch("/api/me", json={"memory": False}, headers={"Idempotency-Key": "off"})
    kept, tool, block, mine = answers()
    for told in (kept, mine):
        assert (told.status_code, told.json()["code"]) == (403, "memory_off")
    assert (tool.json()["error"], "tea" in tool.text) == ("memory_off", False)
    assert block.json()["block"] == ""
    again = person.patch("/api/me", json={"memory": False}, headers={"Idempotency-Key": "off"})
    assert (again.text, again.headers["Idempotency-Replayed"]) == (off.text, "true")
    alice.choose(memory=True)
    kept, tool, block, mine = answers()
    assert [kept.text, block.text, mine.text] == [before[0], before[2], before[3]]
    assert "Drinks green tea" in tool.text


@pytest.mark.parametrize("kind", ["agent", "service", "person"])
def test_what_was_said_incognito_leaves_with_nobody_but_the_person(
    kb: Any, alice: Any, client: Callable[..., Any], kind: str
) -> None:
    private = alice.threads.start(incognito=True)
    before = _program(kb, client, kind).get("/api/export")
    asyncio.run(_say(kb, private, "I have a secret plan."))
    after = _program(kb, client, kind).get("/api/export")
    assert before.status_code == 200
    if kind == "person":
        assert "secret plan" in after.text
    else:
        assert (after.status_code, after.json()["code"]) == (403, "incognito")


async def _say(kb: Any, chat: Any, text: str) -> None:
    async for _ in kb.talk(chat).say(text):
        pass


def _program(kb: Any, client: Callable[..., Any], kind: str) -> TestClient:
    if kind == "nobody":
        return client()  # type: ignore[no-any-return]
    if kind == "agent":
        return client(kb.tokens.create("alice", kind=kind).token)  # type: ignore[no-any-return]
    if kind == "person":
        return client(kb.tokens.create("alice", scopes=("read", "write", "admin")).token)  # type: ignore[no-any-return]
    scopes = ("read", "write", "admin", *(["person"] if kind == "host" else []))
    program: TestClient = client(kb.tokens.create(kind="service", scopes=scopes).token, owner="alice")
    if kind == "host":
        program.headers["X-Keepbook-Actor"] = "person"
    return program


def test_with_memory_off_the_pages_and_their_chat_go_on(kb: Any, client: Callable[..., Any]) -> None:
    mine = kb.book(kb.settings.owner)
    mine.remember("Drinks green tea")
    mine.choose(memory=False)
    page = client()
    assert "green tea" in page.get("/profile/facts").text
    page.headers["Origin"] = "http://127.0.0.1"  # as the page's own script sends it
    chat = page.post("/api/chat/threads", json={})
    assert chat.status_code == 201
    said = page.post(
        f"/api/chat/threads/{chat.json()['id']}/messages",
        json={"text": "hello"},
        headers={"Accept": "application/json"},
    )
    assert said.status_code == 201
    assert page.patch("/api/me", json={"memory": True}).json()["memory"] is True


def test_a_program_switches_it_on_again_for_the_person(kb: Any, alice: Any, client: Callable[..., Any]) -> None:
    alice.choose(memory=False)
    person = _program(kb, client, "person")
    assert person.patch("/api/me", json={"memory": True}).status_code == 200
    assert person.get("/api/memory/").status_code == 200


def test_an_agents_post_is_held_to_the_topics_and_the_persons_is_asked_once(
    kb: Any, alice: Any, client: Callable[..., Any]
) -> None:
    alice.choose(never=["diabetes"])
    said = {"content": "Has diabetes"}
    refused = _program(kb, client, "agent").post("/api/memory/", json=said)
    assert (refused.status_code, refused.json()["code"]) == (403, "never_topic")
    person = _program(kb, client, "person")
    asked = person.post("/api/memory/", json=said)
    assert (asked.status_code, asked.json()["code"], asked.json()["topic"]) == (409, "against_topic", "diabetes")
    assert person.post("/api/memory/", json=said | {"force": True}).status_code == 201


def test_a_form_asks_once_before_it_keeps_what_is_never_to_be_kept(kb: Any, client: Callable[..., Any]) -> None:
    book = kb.book(kb.settings.owner)
    book.choose(never=["diabetes"])
    page = client()
    asked = page.post("/profile/facts", data={"content": "Has diabetes"})
    assert (asked.status_code, "never to keep anything about diabetes" in asked.text) == (409, True)
    assert 'name="keep_both"' in asked.text
    assert book.list().total == 0
    page.post("/profile/facts", data={"content": "Has diabetes", "keep_both": "1"})
    mine = book.remember("Lives in Oslo")
    asked = page.post(f"/memory/{mine.id}", data={"content": "Lives with diabetes"})
    assert (asked.status_code, 'name="keep_anyway"' in asked.text) == (409, True)
    page.post(f"/memory/{mine.id}", data={"content": "Lives with diabetes", "keep_anyway": "1"})
    assert {memory.content for memory in book.list()} == {"Has diabetes", "Lives with diabetes"}
