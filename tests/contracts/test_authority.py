"""Who may do what, one attack at a time: each of these once succeeded. What is refused leaves the book as it was."""

import io
import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.book.ground.when import stamp
from keepbook.book.owners import authority
from keepbook.demo.stage import demo_settings
from keepbook.doors.http.app import create_app
from keepbook.errors import Invalid, NotAllowed
from keepbook.settings import load_settings


def client(kb: Any, token: str | None = None, **headers: str) -> TestClient:
    sent = headers | ({"Authorization": f"Bearer {token}"} if token else {})
    return TestClient(create_app(kb), base_url="http://127.0.0.1", headers=sent, client=("127.0.0.1", 50000))


def key(kb: Any, kind: str = "agent", *scopes: str, **told: Any) -> TestClient:
    return client(kb, kb.tokens.create("alice", kind=kind, scopes=scopes or ("read", "write"), **told).token)


def exported(book: Any) -> str:
    out = io.StringIO()
    book.export(out)
    return out.getvalue()


# The person's word


def test_an_agent_does_not_delete_demote_or_change_what_the_person_said(kb: Keepbook, alice: Any) -> None:
    mine = alice.remember("Is allergic to nuts")
    agent = key(kb)
    for method, path, body in (
        ("DELETE", f"/api/memory/{mine.id}?forever=true", None),
        ("POST", f"/api/memory/{mine.id}/demote", None),
        ("POST", f"/api/memory/{mine.id}/promote", None),
    ):
        got = agent.request(method, path, json=body)
        assert (got.status_code, got.json()["code"]) == (403, "person_only"), got.text
    for method, path, body in (
        ("PUT", f"/api/memory/{mine.id}", {"content": "Is allergic to nothing"}),
        ("POST", f"/api/memory/{mine.id}/forget", None),
        ("DELETE", f"/api/memory/{mine.id}", None),
    ):
        got = agent.request(method, path, json=body)
        assert (got.status_code, got.json()["code"]) == (403, "persons_word"), got.text
    assert (alice.get(mine.id).content, alice.get(mine.id).state) == ("Is allergic to nuts", "active")
    waiting = alice.proposals.list()
    assert {(one.op, one.memory_id) for one in waiting} == {("update", mine.id), ("forget", mine.id)}
    assert alice.verify().ok


def test_what_the_person_confirmed_or_promoted_is_their_word_too(kb: Keepbook, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    saved, read = agent.remember("Lives in Oslo"), agent.remember("Seems to like jazz", confidence="inferred")
    sure = agent.remember("Plays the cello")
    agent.update(saved.id, "Lives in Bergen")
    alice.confirm(saved.id)
    assert not alice.promote(read.id).unchanged
    assert not alice.promote(sure.id).unchanged
    assert alice.promote(read.id).unchanged
    assert alice.promote(sure.id).unchanged
    for id in (saved.id, read.id, sure.id):
        with pytest.raises(NotAllowed) as refused:
            agent.forget(id)
        assert refused.value.code == "persons_word"
    alice.demote(read.id)
    assert agent.forget(read.id).state == "archived"


def test_what_a_tool_saved_an_agent_may_change_forget_and_bring_back(kb: Keepbook, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    saved = agent.remember("Lives in Oslo")
    agent.confirm(saved.id)
    assert agent.update(saved.id, "Lives in Bergen").content == "Lives in Bergen"
    assert agent.forget(saved.id).state == "archived"
    assert agent.restore(saved.id).state == "active"
    alice.forget(saved.id)
    with pytest.raises(NotAllowed, match="only they bring it back"):
        agent.restore(saved.id)


def test_the_proposal_of_a_refusal_stays_although_all_else_is_taken_back(kb: Keepbook, alice: Any) -> None:
    mine = alice.remember("Lives in Oslo")
    agent = kb.book("alice", by="agent")

    def both() -> None:
        with agent.transaction():
            agent.remember("Has a cat")
            agent.update(mine.id, "Lives in Bergen")

    with pytest.raises(NotAllowed):
        both()
    assert [memory.content for memory in alice.list()] == ["Lives in Oslo"]
    assert [one.content for one in alice.proposals.list()] == ["Lives in Bergen"]


@pytest.mark.parametrize("actor", ["agent", "extractor", "job"])
def test_nobody_else_takes_back_what_the_person_did(alice: Any, actor: str) -> None:
    one, two = alice.remember("Lives in Oslo"), alice.remember("Has a cat")
    gone = (alice.forget(one.id).event, alice.delete(two.id).event)
    for event in gone:
        with pytest.raises(NotAllowed, match="only they take it back"):
            alice.acting(actor=actor).undo(event)
    assert [alice.get(id).state for id in (one.id, two.id)] == ["archived", "trash"]


# A token for one agent


def test_a_bound_token_reaches_its_own_runs_and_nothing_else(kb: Keepbook, alice: Any) -> None:
    mine, other = alice.agents.create("Mine"), alice.agents.create("Other")
    run, theirs = (alice.runs.queue(agent.id, "manual", prompt="Look") for agent in (mine, other))
    alice.remember("Is allergic to nuts")
    bound = key(kb, "agent", "read", "write", agent=mine.id)
    before = exported(alice)
    for path in ("/api/export", "/api/chat/threads", "/api/memory/", "/api/memory/ledger", "/api/journal"):
        assert (bound.get(path).status_code, bound.get(path).json()["code"]) == (403, "bound"), path
    assert bound.post("/api/memory/", json={"content": "Votes green"}).status_code == 403
    patched = bound.patch(f"/api/agents/{mine.id}", json={"use_block": True, "instructions": "Obey"})
    assert (patched.status_code, patched.json()["code"]) == (403, "person_only")
    assert len(bound.get("/api/tools?format=mcp").json()) == 3
    assert [agent["id"] for agent in bound.get("/api/agents").json()["agents"]] == [mine.id]
    assert [one["id"] for one in bound.get("/api/runs").json()["runs"]] == [run.id]
    assert bound.get(f"/api/runs/{run.id}").status_code == 200
    assert bound.get(f"/api/runs/{theirs.id}").status_code == 403
    assert bound.get(f"/api/agents/{other.id}/runs").status_code == 403
    assert bound.post(f"/api/agents/{other.id}/runs", json={}).status_code == 403
    assert bound.get("/api/me").json()["never"] == []
    assert exported(alice) == before


def test_what_an_agents_settings_give_it_its_token_may_read(kb: Keepbook, alice: Any) -> None:
    told = alice.agents.create("Told", use_block=True)
    alice.remember("Lives in Oslo")
    alice.remember("Only for another", scope="other")
    bound = key(kb, "agent", "read", "write", agent=told.id)
    listed = bound.get("/api/memory/?scope=*").json()["memories"]
    assert [memory["content"] for memory in listed] == ["Lives in Oslo"]
    alice.choose(memory=False)
    assert bound.get("/api/memory/").status_code == 403


# Tokens


def test_kinds_and_scopes_of_tokens_only_go_down(kb: Keepbook, alice: Any) -> None:
    def make(maker: TestClient, **wanted: Any) -> tuple[int, str]:
        got = maker.post("/api/tokens", json=wanted)
        return got.status_code, got.json().get("code", "")

    agent = key(kb, "agent", "read", "write")
    assert make(agent, kind="person", scopes=["read", "write", "admin"]) == (403, "person_only")
    assert make(agent, kind="agent", scopes=["read"]) == (403, "person_only")
    person = key(kb, "person", "read", "admin")
    assert make(person, kind="agent", scopes=["read"])[0] == 201
    assert make(person, kind="agent", scopes=["read", "admin"]) == (422, "invalid")
    with pytest.raises(Invalid, match="of kind agent the scopes are of read, write, metrics, resolve"):
        key(kb, "agent", "admin")
    assert make(person, kind="person", scopes=["write"]) == (403, "scope")
    assert make(person, kind="service", scopes=["read"]) == (403, "service_token")
    service = kb.tokens.create(kind="service", scopes=("read", "write", "admin")).token
    host = kb.tokens.create(kind="service", scopes=("read", "write", "admin", "person")).token
    assert make(client(kb, service, **{"X-Keepbook-Owner": "alice"}), kind="person", scopes=["read"]) == (403, "kind")
    assert make(client(kb, service, **{"X-Keepbook-Owner": "alice"}), kind="agent", scopes=["read"])[0] == 201
    assert make(client(kb, host, **{"X-Keepbook-Owner": "alice"}), kind="person", scopes=["read"])[0] == 201


def test_a_token_made_with_another_ends_no_later(kb: Keepbook, alice: Any) -> None:
    end = "2026-03-05T09:00:00.000000Z"
    first = kb.tokens.create("alice", scopes=("read", "write", "admin"), expires=end)
    maker = client(kb, first.token)
    for expires, status in ((None, 201), ("2026-03-04T09:00:00Z", 201), ("2026-03-06T09:00:00Z", 422)):
        assert maker.post("/api/tokens", json={"scopes": ["read"], "expires": expires}).status_code == status
    made = [token for token in kb.tokens.list("alice") if token.id != first.known.id]
    assert sorted(stamp(token.expires_at) for token in made if token.expires_at) == ["2026-03-04T09:00:00.000000Z", end]


def test_a_service_token_acts_as_an_agent_unless_it_may_and_says_otherwise(kb: Keepbook, alice: Any) -> None:
    plain = kb.tokens.create(kind="service").token
    host = kb.tokens.create(kind="service", scopes=("read", "write", "person")).token
    owner = {"X-Keepbook-Owner": "alice"}
    for token, headers, source in (
        (plain, owner, "chat"),
        (host, owner, "chat"),
        (host, owner | {"X-Keepbook-Actor": "person"}, "profile"),
    ):
        got = client(kb, token, **headers).post("/api/memory/", json={"content": f"Said to {len(headers)} {token[:8]}"})
        assert got.json()["source"] == source, got.text
    refused = client(kb, plain, **owner, **{"X-Keepbook-Actor": "person"}).get("/api/memory/")
    assert (refused.status_code, refused.json()["code"]) == (403, "scope")
    assert client(kb, host, **owner, **{"X-Keepbook-Actor": "job"}).get("/api/memory/").status_code == 422


def test_the_scope_person_is_a_service_tokens_alone(kb: Keepbook) -> None:
    from keepbook.errors import Invalid  # beside its one use

    with pytest.raises(Invalid, match="scopes are of"):
        kb.tokens.create("alice", scopes=("read", "person"))


# Hosts and proxies


@pytest.mark.parametrize(
    "headers", [{"Host": "book.example.org"}, {"X-Forwarded-For": "192.0.2.7"}, {"Forwarded": "for=192.0.2.7"}]
)
def test_a_name_or_a_proxy_without_a_token_is_nobody(
    kb: Keepbook, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setenv("KEEPBOOK_ALLOWED_HOSTS", '["book.example.org"]')
    kb.settings = load_settings()
    got = client(kb).get("/api/memory/", headers=headers)
    assert got.status_code == 401, got.text
    assert client(kb).get("/api/memory/").status_code == 200


def test_a_proxy_that_adds_nothing_is_known_by_how_it_speaks(kb: Keepbook) -> None:
    app = create_app(kb)

    async def as_a_bare_proxy_asks(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "http_version": "1.0"}, receive, send)

    asked = TestClient(as_a_bare_proxy_asks, base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    assert asked.get("/api/memory/").status_code == 401
    token = kb.tokens.create(kb.settings.owner).token
    assert asked.get("/api/memory/", headers={"Authorization": f"Bearer {token}"}).status_code == 200


# Agents, programs and the demo


def test_an_agent_neither_makes_nor_changes_agents(kb: Keepbook, alice: Any) -> None:
    desk = alice.agents.create("Desk")
    agent = key(kb, "agent", "read", "write")
    before = exported(alice)
    for method, path, body in (
        ("POST", "/api/agents", {"name": "Mine", "adapter": "claude-cli"}),
        ("PATCH", f"/api/agents/{desk.id}", {"schedule": "* * * * *"}),
        ("DELETE", f"/api/agents/{desk.id}", None),
        ("POST", f"/api/agents/{desk.id}/arm", None),
    ):
        got = agent.request(method, path, json=body)
        assert (got.status_code, got.json()["code"]) == (403, "person_only"), got.text
    assert exported(alice) == before


def test_the_demo_knows_nothing_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-operator")
    monkeypatch.setenv("KEEPBOOK_MODEL", "openai:gpt-4o")
    monkeypatch.setenv("KEEPBOOK_OPENAI_KEY", "sk-operator")
    monkeypatch.setenv("KEEPBOOK_AGENT_PROGRAMS", '["claude"]')
    settings = demo_settings()
    assert (settings.openai_key, settings.model, settings.agent_programs) == (None, "offline", ())


def test_a_visitor_starts_no_program_and_calls_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with Keepbook(":memory:", settings=demo_settings(), demo=True) as demo:
        visitor = client(demo)
        for wanted in (
            {"name": "Mine", "adapter": "claude-cli"},
            {"name": "Mine", "model": "openai:gpt-4o"},
            {"name": "Mine", "team": [{"name": "One", "model": "openai:gpt-4o"}]},
        ):
            got = visitor.post("/api/agents", json=wanted)
            assert (got.status_code, got.json()["code"]) == (403, "demo"), got.text
        made = visitor.post("/api/agents", json={"name": "Mine", "model": "offline"}).json()
        changed = visitor.patch(f"/api/agents/{made['id']}", json={"adapter": "claude-cli"})
        assert changed.status_code == 403
        # Even one that got in some other way is not started.
        demo.book(demo.settings.owner).agents.update(made["id"], adapter="claude-cli")
        got = visitor.post(f"/api/agents/{made['id']}/runs", json={})
        assert (got.status_code, got.json()["code"]) == (403, "programs"), got.text
        assert demo.models.chat is demo.models.offline
        assert demo.models.find is None


def test_python_by_an_agent_is_held_to_the_same_table(kb: Keepbook, alice: Any) -> None:
    mine = alice.remember("Lives in Oslo")
    agent = kb.book("alice", by="agent")
    before = exported(alice)
    for do in (
        lambda: agent.promote(mine.id),
        lambda: agent.demote(mine.id),
        lambda: agent.delete(mine.id, forever=True),
        lambda: agent.erase("alice"),
        lambda: agent.import_([json.dumps({"content": "Votes green"})], merge=True),
        lambda: agent.choose(never=["money"]),
        lambda: agent.configure(zone="Europe/Oslo"),
        lambda: agent.agents.create("Mine"),
    ):
        with pytest.raises(NotAllowed) as refused:
            do()
        assert refused.value.code in ("person_only", "scope")
    assert exported(alice) == before


def test_every_operation_has_a_row_and_every_row_an_operation() -> None:
    assert set(authority.OPERATIONS.values()) == set(authority.TABLE)
    for row in authority.TABLE.values():
        assert set(row.may) == set(authority.KINDS)
