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
from tests.deciding import busy_desk

from keepbook import Keepbook
from keepbook.doors.auth import Caller
from keepbook.doors.http.app import create_app
from keepbook.doors.mcp.server import build as build_mcp
from keepbook.errors import KeepbookError

OWNERS = ("ann", "anna", "ann%", "ann_", "Ann", "аnn", "ann\u0301", "änn", "ann'", 'ann"', "*", "ann/../anna", "アン")
STEPS = 260


def word_of(owner: str) -> str:
    """A word that stands in this owner's texts and in nobody else's."""
    return f"zq{OWNERS.index(owner):02d}secret"


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
            server = build_mcp(self.kb, lambda _: Caller(owner, "agent"))
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
                answered = await client.call_tool(name, arguments)
                block = await client.read_resource("keepbook://block")
                return answered.model_dump_json() + block.model_dump_json()

        return anyio.run(ask)

    def by_tools(self, owner: str, draw: random.Random, ids: list[str]) -> str:
        tools = self.kb.tools("general", owner=owner)
        said = f"{word_of(owner)} keeps thing {draw.randrange(9)}"
        name, arguments = draw.choice(
            [
                ("remember", {"content": said}),
                ("forget", {"memory": draw.choice(ids) if ids else "thing"}),
                ("recall", {"query": "secret thing", "limit": 50}),
                ("list_memories", {}),
            ]
        )
        return str(tools.call(name, arguments))


@pytest.mark.parametrize("seed", [1, 2])
def test_no_answer_of_any_door_holds_another_owners_text(kb: Keepbook, seed: int) -> None:
    draw = random.Random(seed)
    doors = Doors(kb)
    ids = [kb.book(owner).remember(f"{word_of(owner)} is here").id for owner in OWNERS]
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
