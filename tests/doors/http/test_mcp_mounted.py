"""`/mcp` inside the server: the same tokens, the same owners, the same gate as every other path."""

import subprocess
import sys
from typing import Any

from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.doors.http.app import create_app


def ask(client: TestClient, token: str | None, method: str, **params: Any) -> Any:
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return client.post("/mcp", json=body, headers=headers)


def test_a_token_opens_its_owners_book_over_mcp(kb: Keepbook) -> None:
    alice, bob = (kb.tokens.create(owner, kind="agent").token for owner in ("alice", "bob"))
    kb.book("alice").remember("The walrus secret of alice")
    with TestClient(create_app(kb), base_url="http://127.0.0.1") as client:
        mine = ask(client, alice, "tools/call", name="recall", arguments={"query": "walrus"})
        assert "walrus secret" in mine.text, mine.text
        theirs = ask(client, bob, "tools/call", name="recall", arguments={"query": "walrus"})
        assert "secret" not in theirs.text
        saved = ask(client, bob, "tools/call", name="remember", arguments={"content": "Bob has a boat"})
        assert saved.status_code == 200
    assert [memory.content for memory in kb.book("bob").list()] == ["Bob has a boat"]
    assert kb.book("bob").ledger()[0].actor == "agent"
    assert kb.book("alice").list().total == 1


def test_without_a_token_or_with_a_wrong_one_mcp_is_closed(kb: Keepbook) -> None:
    kb.tokens.create("alice")
    with TestClient(create_app(kb), base_url="http://127.0.0.1") as client:
        for token in (None, "kb_wrong"):
            refused = ask(client, token, "tools/list")
            assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")


def test_a_token_that_may_only_read_gets_the_reads_and_writes_nothing(kb: Keepbook) -> None:
    token = kb.tokens.create("alice", kind="agent", scopes=("read",)).token
    with TestClient(create_app(kb), base_url="http://127.0.0.1") as client:
        named = {tool["name"] for tool in ask(client, token, "tools/list").json()["result"]["tools"]}
        assert "recall" in named
        assert "remember" not in named
        refused = ask(client, token, "tools/call", name="remember", arguments={"content": "Not to be kept"})
        assert refused.status_code < 500
    assert kb.book("alice").list(state="all").total == 0


def test_an_attackers_host_name_does_not_reach_mcp(kb: Keepbook) -> None:
    with TestClient(create_app(kb), base_url="http://evil.example", client=("127.0.0.1", 1)) as client:
        assert ask(client, None, "tools/list").status_code == 421


def test_a_server_loads_the_protocol_with_its_first_request_alone() -> None:
    code = "import sys, keepbook.doors.http.app; print('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
