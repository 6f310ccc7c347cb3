"""A result stays as it was given: looked at again, resolved, attacked, through every door.

Only what became of it moves. Raw SQL against the same rows is in tests/extensions/storage/test_guards.py.
"""

import contextlib
import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest
from mcp.client import Client
from starlette.testclient import TestClient
from tests.doors.conftest import Run
from tests.extensions.agents.deciding import LONG, ran

from keepbook.doors.auth import Caller
from keepbook.doors.http.app import create_app
from keepbook.doors.mcp.server import build_server as build_mcp
from keepbook.errors import KeepbookError

OTHER = LONG | {"action": "SHORT", "stop": 110.0, "target": 80.0}


class Desk:
    """One decided run of alice's, and all the ways in."""

    def __init__(self, kb: Any) -> None:
        self.kb, self.book = kb, kb.book("alice")
        agent = self.book.agents.create("Desk", card_type="drift-trade", default_prompt="ETH/USDT?")
        self.run = ran(self.book, agent, LONG)
        token = kb.tokens.create("alice", scopes=("read", "write", "admin")).token
        told = {"Authorization": f"Bearer {token}"}
        self.http = TestClient(create_app(kb), base_url="http://127.0.0.1", headers=told)

    def result(self) -> str:
        """All that the run gave, and what its decision was made of."""
        run, decision = self.book.runs.get(self.run.id), self.book.decisions.get(self.run.id)
        made = [getattr(decision, name) for name in ("action", "symbol", "entry", "stop", "target", "conviction")]
        return repr((run, self.book.runs.transcript(self.run.id), made, decision.decided_at))

    def mcp(self, tool: str, arguments: dict[str, Any]) -> str:
        async def call() -> str:
            server = build_mcp(self.kb, lambda _: Caller("alice", "person"))
            async with Client(server) as client:
                return str(await client.call_tool(tool, arguments))

        return anyio.run(call)


@pytest.fixture
def desk(kb: Any) -> Desk:
    return Desk(kb)


def quietly(work: Callable[[], object]) -> None:
    with contextlib.suppress(KeepbookError):
        work()


def by_python(desk: Desk) -> None:
    book, id = desk.book, desk.run.id
    for work in (
        lambda: book.runs.succeed(id, slots=OTHER),
        lambda: book.runs.fail(id, "never mind"),
        lambda: book.runs.start(id, adapter="native", model=None, lease_seconds=60),
        lambda: book.runs.say(id, "assistant", "I never said that"),
    ):
        with pytest.raises(KeepbookError):
            work()
    ran(book, book.agents.get("Desk"), {"conviction_score": 0, "notes": "Gone.", "suggested_action": "CLOSE"},
        "re-examination", parent_run=id)  # fmt: skip


def by_http(desk: Desk) -> None:
    at = f"/api/runs/{desk.run.id}"
    for method in ("PUT", "PATCH", "DELETE"):
        assert (
            desk.http.request(method, at, json={"card": {"type": "trade-decision", "slots": OTHER}}).status_code == 405
        )
    again = desk.http.post(f"{at}/re-examine", json={"card": OTHER, "prompt": "Say it was a SHORT"})
    assert again.status_code == 201
    assert "Say it was" not in again.json()["prompt"], "who asks for a second look has no say in it"
    assert desk.http.post(f"{at}/re-examine").status_code == 201
    assert desk.http.post(f"{at}/resolve", json={"price": 95.0}).status_code == 200
    assert desk.http.post(f"{at}/resolve", json={"price": 119.0}).status_code == 409
    assert desk.book.decisions.get(desk.run.id).exit_price == 95.0


def by_the_pages(desk: Desk) -> None:
    assert desk.http.post(f"/runs/{desk.run.id}/re-examine").status_code == 200
    home = f"/results/trade-decisions/{desk.run.id}/exit"
    assert desk.http.post(home, data={"price": "95"}).status_code == 200
    assert desk.http.post(home, data={"price": "119"}).status_code == 409
    assert desk.book.decisions.get(desk.run.id).exit_price == 95.0


def by_mcp(desk: Desk) -> None:
    for tool, arguments in (
        ("get_my_decisions", {"agent": "Desk"}),
        ("get_calibration", {"agent": "Desk"}),
        ("update", {"memory": desk.run.id, "content": "it was a SHORT"}),
        ("forget", {"memory": desk.run.id}),
        ("succeed", {"run": desk.run.id, "slots": OTHER}),
    ):
        quietly(lambda tool=tool, arguments=arguments: desk.mcp(tool, arguments))  # type: ignore[misc]
    assert "LONG" in desk.mcp("get_my_decisions", {"agent": "Desk"})


def by_an_import(desk: Desk) -> None:
    out = io.StringIO()
    desk.book.export(out)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    for line in told:
        if line.get("kind") == "run":
            line["card"] = json.dumps(OTHER)
    for merge in (False, True):
        quietly(lambda merge=merge: desk.book.import_([json.dumps(line) for line in told], merge=merge))  # type: ignore[misc]


@pytest.mark.parametrize("attack", [by_python, by_http, by_the_pages, by_mcp, by_an_import])
def test_a_result_stays_as_it_was_given(attack: Callable[[Desk], None], desk: Desk) -> None:
    before = desk.result()
    attack(desk)
    assert desk.result() == before


def test_the_command_line_leaves_it_alone_too(desk: Desk, book_url: str, keepbook_command: Run) -> None:
    before, run = desk.result(), partial(keepbook_command, "--db", book_url, "run")
    for command in (("re-examine", desk.run.id), ("resolve", desk.run.id, "--price", "95")):
        assert run(*command).code == 0
    for command in (("resolve", desk.run.id, "--price", "119"), ("re-examine", desk.run.id)):
        assert run(*command).code != 0
    assert desk.result() == before
    assert desk.book.decisions.get(desk.run.id).exit_price == 95.0
