"""Owners are apart at every door: random operations of many, through Python, HTTP, MCP and tools, never meet.

Each owner's texts hold a word that only theirs have. Whatever any door answers is searched for the words of the
others. The names are chosen to collide: prefixes, wildcards, quotes, letters that look alike or fold into each other.
"""

import json
import random
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp.client import Client
from starlette.testclient import TestClient
from tests.conftest import DEEPER
from tests.deciding import busy_desk

from keepbook import Keepbook
from keepbook.doors.auth import Caller
from keepbook.doors.http.app import create_app
from keepbook.doors.mcp.server import build_server as build_mcp
from keepbook.errors import KeepbookError
from keepbook.tools.catalogue import build_tools
from keepbook.tools.trading import TOOLS as TRADING_TOOLS

OWNERS = ("ann", "anna", "ann%", "ann_", "Ann", "аnn", "ann\u0301", "änn", "ann'", 'ann"', "*", "ann/../anna", "アン")
STEPS = 340


def word_of(owner: str) -> str:
    """A word that stands in this owner's texts and in nobody else's."""
    return f"zq{OWNERS.index(owner):02d}secret"


def small_desk(book: Any) -> None:
    """A skill, a deployment that lost seven times, what it holds and what it taught: all of it says whose it is."""
    trading, word = book.trading, word_of(book.owner)
    if not trading.skills():
        trading.create_deployment(f"{word} main", trading.create_skill(f"{word} skill", strategy=f"{word} buys").id)
    days = range(7)
    header = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,entry_regime_tag,exit_reason"
    rows = [f"{word} main,BTC/USDT,long,1,2026-02-1{day},100,2026-02-1{day},9{day},{word},{word}" for day in days]
    trading.load("trades", [header, *rows])
    header = "deployment,symbol,side,quantity,entry_time,entry_price"
    trading.load("positions", [header, f"{word} main,BTC/USDT,long,1,2026-02-20,100"])
    trading.reflect(skill=f"{word} skill")


class Doors:
    """Every way in, for any owner; each answers with all the text it gave out."""

    def __init__(self, kb: Keepbook) -> None:
        self.kb = kb
        app = create_app(kb)
        service = kb.tokens.create(kind="service").token
        self.http = {
            owner: TestClient(
                app,
                base_url="http://127.0.0.1",
                headers={"Authorization": f"Bearer {service}", "X-Keepbook-Owner": owner.encode()},  # type: ignore[dict-item]
            )
            for owner in OWNERS
        }
        self.own = {
            owner: TestClient(
                app,
                base_url="http://127.0.0.1",
                headers={"Authorization": f"Bearer {kb.tokens.create(owner, scopes=('read', 'write', 'admin')).token}"},
            )
            for owner in OWNERS
        }

    def python(self, owner: str, draw: random.Random, ids: list[str]) -> str:
        book = self.kb.book(owner)
        said = f"{word_of(owner)} likes thing {draw.randrange(9)}"
        others = draw.choice(ids) if ids else "nonesuch"
        chat = book.thread(f"session-{draw.randrange(3)}")
        work: list[Callable[[], Any]] = [
            lambda: book.remember(said),
            lambda: book.update(others, said),
            lambda: book.get(others),
            lambda: book.forget("likes thing"),
            lambda: book.delete(others),
            lambda: book.recall("secret likes thing", 50),
            lambda: book.recall(word_of(draw.choice(OWNERS))),
            lambda: book.list(state="all", scope="*", limit=1000).items,
            lambda: book.inject(f"session-{draw.randrange(3)}"),
            lambda: chat.add("user", f"I am {said}"),
            lambda: book.recall_chats("who likes thing"),
            lambda: book.threads.search("likes"),
            lambda: book.ledger(limit=1000),
            lambda: book.notes.write(said),
            lambda: busy_desk(book, f"{said} {draw.randrange(1000)}"),
            lambda: [book.agents.list(), book.runs.list(limit=1000), book.decisions.list(), book.agents.get("secret")],
            lambda: [book.runs.transcript(run.id) for run in book.runs.list(limit=1000)],
            book.decisions.calibration,
            lambda: small_desk(book),
            lambda: [book.trading.skills(), book.trading.deployments(), book.trading.positions()],
            lambda: [book.trading.trades(limit=1000).items, book.trading.lessons(state="all")],
            lambda: [book.trading.performance(), book.trading.equity(), book.trading.field_history("secret")],
            lambda: book.trading.performance(skill=others),
            lambda: book.trading.set_field(others, "chat", said),
            lambda: book.trading.change_deployment(others, account=said),
            lambda: book.trading.events(deployment=others, min_importance=0),
            lambda: book.trading.retire(others),
            book.notes.list,
            book.verify,
            lambda: book.undo(draw.randrange(1, 40)),
        ]
        return str(draw.choice(work)())

    def over_http(self, owner: str, draw: random.Random, ids: list[str]) -> str:
        client = draw.choice((self.http, self.own))[owner]
        said = f"{word_of(owner)} has thing {draw.randrange(9)}"
        other = draw.choice(ids) if ids else "nonesuch"
        method, path, body = draw.choice(
            [
                ("POST", "/api/memory/", {"content": said}),
                ("PUT", f"/api/memory/{other}", {"content": said}),
                ("GET", f"/api/memory/{other}", None),
                ("DELETE", f"/api/memory/{other}", None),
                ("POST", f"/api/memory/{other}/restore", None),
                ("GET", "/api/memory/?state=all&limit=1000", None),
                ("GET", "/api/memory/?q=secret", None),
                ("GET", "/api/memory/recall?q=secret+thing", None),
                ("GET", "/api/memory/recall-chats?q=secret+thing", None),
                ("GET", "/api/memory/ledger?limit=1000", None),
                ("GET", "/api/memory/block", None),
                ("POST", "/api/memory/inject", {"session": "session-1"}),
                ("GET", "/api/events?limit=1000", None),
                ("GET", "/api/export", None),
                ("GET", "/api/chat/threads/search?q=secret", None),
                ("GET", "/api/journal", None),
                ("GET", "/api/me", None),
                ("POST", "/api/tools/recall", {"query": "secret"}),
                ("GET", "/api/trading/skills", None),
                ("GET", "/api/trading/skills/secret?detail=full", None),
                ("GET", f"/api/trading/skills/{other}?detail=full", None),
                ("PATCH", f"/api/trading/skills/{other}", {"chat": said}),
                ("GET", "/api/trading/deployments", None),
                ("GET", f"/api/trading/deployments/{other}?detail=full", None),
                ("PATCH", f"/api/trading/deployments/{other}", {"account": said}),
                ("GET", "/api/trading/trades?limit=1000", None),
                ("GET", f"/api/trading/trades?deployment_id={other}", None),
                ("GET", f"/api/trading/events?deployment_id={other}&min_importance=0", None),
                ("GET", "/api/trading/lessons?state=all", None),
                ("POST", f"/api/trading/lessons/{other}/pin", None),
                ("POST", f"/api/trading/lessons/{other}/retire", None),
                ("POST", "/api/trading/lessons/reflect", {"skill_id": "secret"}),
                ("POST", "/api/tools/get_my_deployments?preset=coach", {"detail": "full"}),
                ("GET", "/profile/facts", None),
                ("GET", "/time", None),
                ("GET", "/chat", None),
            ]
        )
        key = {"Idempotency-Key": str(draw.randrange(5))} if method == "POST" and draw.random() < 0.3 else {}
        answered = client.request(method, path, json=body, headers=key)
        assert answered.status_code < 500, (method, path, answered.text)
        return answered.text

    def over_mcp(self, owner: str, draw: random.Random, ids: list[str]) -> str:
        async def ask() -> str:
            coached = draw.random() < 0.3
            how = {"preset": "coach", "mode": "authoring"} if coached else {}
            server = build_mcp(self.kb, lambda _: Caller(owner, "agent", **how))
            async with Client(server) as client:
                said = f"{word_of(owner)} owns thing {draw.randrange(9)}"
                name, arguments = draw.choice(
                    [
                        ("remember", {"content": said}),
                        ("update", {"memory": draw.choice(ids) if ids else "thing", "content": said}),
                        ("forget", {"memory": "owns thing"}),
                        ("list_memories", {}),
                        ("recall", {"query": "secret thing"}),
                        ("recall_chats", {"query": "secret thing"}),
                        ("history", {"memory": draw.choice(ids) if ids else "thing"}),
                    ]
                )
                if coached:
                    name, arguments = draw.choice(_trading_calls(draw.choice(ids) if ids else "secret", said))
                answered = await client.call_tool(name, arguments)
                block = await client.read_resource("keepbook://block")
                return answered.model_dump_json() + block.model_dump_json()

        return anyio.run(ask)

    def by_tools(self, owner: str, draw: random.Random, ids: list[str]) -> str:
        said = f"{word_of(owner)} keeps thing {draw.randrange(9)}"
        if draw.random() < 0.3:
            coach = build_tools("coach", self.kb.book(owner, by="agent"), mode="authoring")
            return str(coach.call(*draw.choice(_trading_calls(draw.choice(ids), said))))
        tools = self.kb.tools("general", owner=owner)
        name, arguments = draw.choice(
            [
                ("remember", {"content": said}),
                ("forget", {"memory": draw.choice(ids) if ids else "thing"}),
                ("recall", {"query": "secret thing", "limit": 50}),
                ("list_memories", {}),
            ]
        )
        return str(tools.call(name, arguments))


def _trading_calls(id: str, said: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls of the coach's tools, with an id that may be anybody's."""
    return [
        ("list_my_skills", {}),
        ("get_my_deployments", {"detail": "full"}),
        ("get_my_deployments", {"deployment_id": id}),
        ("get_skill_performance", {"skill_id": "secret", "detail": "full"}),
        ("get_skill_performance", {"skill_id": id, "detail": "full"}),
        ("get_upcoming_events", {"deployment_id": id}),
        ("prepare_action", {"kind": "close", "deployment_id": id, "reason": said}),
        ("prepare_action", {"kind": "pause", "deployment_id": "secret", "reason": said}),
        ("set_strategy", {"skill_id": id, "text": said}),
        ("set_schedule", {"skill_id": id, "text": said}),
        ("set_chat", {"skill_id": "secret", "text": said}),
    ]


def test_every_tool_of_trading_is_tried_with_an_id_that_may_be_anybodys() -> None:
    tried = {name for name, _ in _trading_calls("id", "said")}
    assert tried == {function.__name__ for function, _ in TRADING_TOOLS}, "add a call to _trading_calls above"


@pytest.mark.parametrize("seed", range(DEEPER))
def test_no_answer_of_any_door_holds_another_owners_text(kb: Keepbook, seed: int) -> None:
    draw = random.Random(seed)
    doors = Doors(kb)
    ids = [kb.book(owner).remember(f"{word_of(owner)} is here").id for owner in OWNERS]
    for owner in OWNERS[:6]:
        small_desk(kb.book(owner))
        trading = kb.book(owner).trading
        assert trading.lessons()
        ids += [one.id for one in (*trading.skills(), *trading.deployments(), *trading.lessons())]
    for step in range(STEPS):
        owner = draw.choice(OWNERS)
        door = draw.choice((doors.python, doors.over_http, doors.over_http, doors.over_mcp, doors.by_tools))
        try:
            told = door(owner, draw, ids)
        except KeepbookError as error:
            told = f"{error.message} {json.dumps(error.details, default=str)}"
        theirs = [other for other in OWNERS if other != owner and word_of(other) in told]
        # What an owner asked about may be quoted back; it was never anybody's text.
        assert not theirs or f"'{word_of(theirs[0])}'" in told, (step, door.__name__, owner, theirs)
    for owner in OWNERS:
        assert kb.book(owner).verify().ok
        assert word_of(owner) in kb.book(owner).list(state="all", scope="*").items[0].content
        trading = kb.book(owner).trading
        named = [*trading.skills(), *trading.deployments()]
        assert all(word_of(owner) in one.name for one in named)
        written = trading.field_history(named[0].id) if named else []
        assert all(word_of(owner) in one.value for one in written)
