"""`/api/tools`: what a refusal leaves behind, whether the call carried a key or not."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.both_engines
@pytest.mark.parametrize("key", [{}, {"Idempotency-Key": "once"}])
def test_a_refusal_leaves_the_same_with_a_key_and_without(
    kb: Any, alice: Any, client: Callable[..., Any], key: dict[str, str]
) -> None:
    mine, gone = alice.remember("Lives in Oslo"), alice.remember("Plays chess on Mondays")
    alice.forget(gone.id)
    agent = client(kb.tokens.create("alice", kind="agent", scopes=("read", "write"), name="Helper").token)
    wanted = {"update": {"memory": mine.id, "content": "Lives in Bergen"}, "remember": {"content": gone.content}}
    told = {
        name: agent.post(f"/api/tools/{name}?thread_id=session-7", json=given, headers=_for(key, name)).json()
        for name, given in wanted.items()
    }
    assert {name: answer["error"] for name, answer in told.items()} == {
        "update": "persons_word",
        "remember": "forgotten",
    }
    left = {one.content: one for one in alice.proposals.list()}
    assert left.keys() == {"Lives in Bergen", gone.content}
    assert {answer["data"]["proposal"] for answer in told.values()} == {one.id for one in left.values()}
    assert {(one.asked_by, one.thread_id) for one in left.values()} == {("Helper", "session-7")}
    assert all("finds it among what waits" in answer["text"] for answer in told.values())
    again = agent.post("/api/tools/update?thread_id=session-7", json=wanted["update"], headers=_for(key, "update"))
    assert (again.json() == told["update"]) == bool(key), "with a key the first answer is given again"
    assert len(alice.proposals.list()) == 2
    other = agent.put(f"/api/memory/{mine.id}", json={"content": "Lives in Rome"}, headers=_for(key, "put"))
    assert (other.status_code, other.json()["code"]) == (403, "persons_word")
    assert other.json()["proposal"] in [one.id for one in alice.proposals.list()]
    assert agent.post("/api/tools/nothing", json={}, headers=_for(key, "nothing")).status_code == 404


def _for(key: dict[str, str], name: str) -> dict[str, str]:
    return {header: f"{word}-{name}" for header, word in key.items()}


def test_a_key_that_was_used_for_something_else_is_no_tools_mistake(
    kb: Any, alice: Any, client: Callable[..., Any]
) -> None:
    agent = client(kb.tokens.create("alice", kind="agent", scopes=("read", "write")).token)
    once = {"Idempotency-Key": "once"}
    assert agent.post("/api/tools/remember", json={"content": "Has a cat"}, headers=once).status_code == 200
    other = agent.post("/api/tools/remember", json={"content": "Has a dog"}, headers=once)
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")


def test_no_program_does_in_one_of_the_persons_chats_what_then_counts_as_theirs(
    kb: Any, alice: Any, client: Callable[..., Any]
) -> None:
    chat, bikes = alice.threads.start(), kb.book("alice", by="agent").remember("Rides bicycles")
    agent = client(kb.tokens.create("alice", kind="agent", scopes=("read", "write")).token)
    forged = agent.post(f"/api/tools/forget?thread_id={chat.id}&turn_ids=1", json={"memory": bikes.id})
    assert (forged.status_code, forged.json()["code"]) == (404, "not_found")
    assert agent.post("/api/tools/forget?thread_id=session-7", json={"memory": bikes.id}).json()["error"] is None
    assert agent.post(f"/api/memory/{bikes.id}/restore").status_code == 200
