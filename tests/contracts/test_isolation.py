"""Owners are apart at every door: random operations of many, through Python, HTTP, MCP and tools, never meet.

Each owner's texts hold a word that only theirs have. Whatever any door answers is searched for the words of the
others, and for ids of what extensions keep for them. The names are chosen to collide: prefixes, wildcards, quotes,
letters that look alike or fold into each other.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import pytest
from mcp.client import Client
from sqlalchemy import select
from starlette.testclient import TestClient
from tests.conftest import DEEPER
from tests.contracts.contract_folders import Contract, contracts, every_extension, strangers, with_their_tables
from tests.extensions.trading.contract.bodies import small_desk, tool_calls

from keepbook import Keepbook
from keepbook.doors.auth import Caller
from keepbook.doors.http.app import create_app
from keepbook.doors.mcp.server import build_server as build_mcp
from keepbook.errors import KeepbookError
from keepbook.extensions.trading.tools import TOOLS as TRADING_TOOLS
from keepbook.storage.tables import tables_of
from keepbook.tools.catalogue import build_tools

OWNERS = ("ann", "anna", "ann%", "ann_", "Ann", "аnn", "ann\u0301", "änn", "ann'", 'ann"', "*", "ann/../anna", "アン")
STEPS = 340


def word_of(owner: str) -> str:
    """A word that stands in this owner's texts and in nobody else's."""
    return f"zq{OWNERS.index(owner):02d}secret"


class Draw(random.Random):
    """Remembers what it chose: an id that somebody sent may be quoted back."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.chosen: list[Any] = []

    def choice(self, several: Any) -> Any:
        self.chosen.append(super().choice(several))
        return self.chosen[-1]


@pytest.fixture(autouse=True)
def _every_extension() -> Iterator[None]:
    with every_extension():
        yield


@pytest.fixture
def book_url(book_url: str) -> str:
    return with_their_tables(book_url)


# What contracts bring to the walk; without calls of its own, a contract's lines and bodies are walked


def furnish_strangers(kb: Keepbook) -> dict[str, str]:
    """Rows of extensions that say in no text whose they are; answers whose each id is."""
    for owner in OWNERS[:6]:
        for one in strangers():
            one.part("furnish").furnish(kb, kb.book(owner))
    return {id: owner for owner in OWNERS for id in kept_ids(kb, owner)}


def kept_ids(kb: Keepbook, owner: str) -> set[str]:
    """What is an owner's in the tables of strangers, by the id of each row."""
    names = {one.name for one in strangers()}
    with kb._database.read(owner) as tx:
        tables = [table for one in kb.extensions if one.name in names for table in tables_of(one) if "id" in table.c]
        found = [tx.conn.execute(select(table.c.id).where(table.c.owner == owner)).scalars() for table in tables]
        return {id for ids in found for id in ids}


def python_calls(book: Any, other: str, said: str) -> list[Callable[[], Any]]:
    parts = [one.part("bodies") for one in contracts()]
    return [call for part in parts if hasattr(part, "python_calls") for call in part.python_calls(book, other, said)]


def requests(other: str, said: str) -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for one in contracts():
        part = one.part("bodies")
        found += part.requests(other, said) if hasattr(part, "requests") else _requests_by_line(one, other)
    return found


def _requests_by_line(contract: Contract, other: str) -> list[tuple[str, str, Any]]:
    """Each path and page of a contract, with an id that may be anybody's."""
    bodies = contract.part("bodies").BODIES
    found = []
    for route in (*contract.lines.get("api", {}), *contract.lines.get("pages", {})):
        method, path = route.split(" ", 1)
        body = bodies.get(route, {}) if method != "GET" else None
        found.append((method, re.sub(r"\{\w+\}", other, path), body))
    return found


def outside_calls() -> list[tuple[str, dict[str, Any]]]:
    """The tools that agents outside have of contracts which name no calls, without arguments."""
    plain = [one for one in contracts() if not hasattr(one.part("bodies"), "tool_calls")]
    return [(name, {}) for one in plain for name in one.lines.get("tools", {})]


class Doors:
    """Every way in, for any owner; each answers with all the text it gave out."""

    def __init__(self, kb: Keepbook) -> None:
        self.kb = kb
        self.kept: dict[str, str] = {}
        """Whose each id is in the tables of strangers."""
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
            book.notes.list,
            book.verify,
            lambda: book.undo(draw.randrange(1, 40)),
            *python_calls(book, others, said),
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
                ("GET", "/api/memory/timeline?q=secret+thing", None),
                ("GET", "/api/memory/ledger?limit=1000", None),
                ("GET", "/api/memory/block", None),
                ("POST", "/api/memory/inject", {"session": "session-1"}),
                ("GET", "/api/events?limit=1000", None),
                ("GET", "/api/export", None),
                ("GET", "/api/chat/threads/search?q=secret", None),
                ("GET", "/api/journal", None),
                ("GET", "/api/me", None),
                ("POST", "/api/tools/recall", {"query": "secret"}),
                ("GET", "/profile/facts", None),
                ("GET", "/time", None),
                ("GET", "/chat", None),
                *requests(other, said),
            ]
        )
        key = {"Idempotency-Key": str(draw.randrange(5))} if method == "POST" and draw.random() < 0.3 else {}
        answered = client.request(method, path, json=body, headers=key)
        assert answered.status_code < 500, (method, path, answered.text)
        if self.kept.get(other, owner) != owner and f"/{other}" in path:
            assert answered.status_code in (403, 404), (method, path, answered.text)
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
                        *outside_calls(),
                    ]
                )
                if coached:
                    name, arguments = draw.choice(tool_calls(draw.choice(ids) if ids else "secret", said))
                answered = await client.call_tool(name, arguments)
                block = await client.read_resource("keepbook://block")
                return answered.model_dump_json() + block.model_dump_json()

        return anyio.run(ask)

    def by_tools(self, owner: str, draw: random.Random, ids: list[str]) -> str:
        said = f"{word_of(owner)} keeps thing {draw.randrange(9)}"
        if draw.random() < 0.3:
            coach = build_tools("coach", self.kb.book(owner, by="agent"), mode="authoring")
            return str(coach.call(*draw.choice(tool_calls(draw.choice(ids), said))))
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


def test_every_tool_of_trading_is_tried_with_an_id_that_may_be_anybodys() -> None:
    tried = {name for name, _ in tool_calls("id", "said")}
    assert tried == {function.__name__ for function, _ in TRADING_TOOLS}, "add a call to tool_calls of its contract"


@pytest.mark.parametrize("seed", range(DEEPER))
def test_no_answer_of_any_door_holds_another_owners_text(kb: Keepbook, seed: int) -> None:
    draw = Draw(seed)
    doors = Doors(kb)
    ids = [kb.book(owner).remember(f"{word_of(owner)} is here").id for owner in OWNERS]
    doors.kept = furnish_strangers(kb)
    ids += doors.kept
    for owner in OWNERS[:6]:
        small_desk(kb.book(owner), word_of(owner))
        trading = kb.book(owner).trading
        assert trading.lessons()
        ids += [one.id for one in (*trading.skills(), *trading.deployments(), *trading.lessons())]
    for step in range(STEPS):
        draw.chosen.clear()
        owner = draw.choice(OWNERS)
        door = draw.choice((doors.python, doors.over_http, doors.over_http, doors.over_mcp, doors.by_tools))
        try:
            told = door(owner, draw, ids)
        except KeepbookError as error:
            told = f"{error.message} {json.dumps(error.details, default=str)}"
        theirs = [other for other in OWNERS if other != owner and word_of(other) in told]
        # What an owner asked about may be quoted back; it was never anybody's text.
        assert not theirs or f"'{word_of(theirs[0])}'" in told, (step, door.__name__, owner, theirs)
        seen = [id for id, other in doors.kept.items() if other != owner and id in told and id not in draw.chosen]
        assert not seen, (step, door.__name__, owner, seen)
    for owner in OWNERS:
        assert kb.book(owner).verify().ok
        assert {id for id, other in doors.kept.items() if other == owner} <= kept_ids(kb, owner)
        assert word_of(owner) in kb.book(owner).list(state="all", scope="*").items[0].content
        trading = kb.book(owner).trading
        named = [*trading.skills(), *trading.deployments()]
        assert all(word_of(owner) in one.name for one in named)
        written = trading.field_history(named[0].id) if named else []
        assert all(word_of(owner) in one.value for one in written)
