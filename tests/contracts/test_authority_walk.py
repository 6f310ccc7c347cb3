"""The walk: every route, page action, tool and command with every kind of key, held against `authority.toml`.

What that file says, and those of extensions say, was written from the spec, not from the code's table. Who is refused
is sent in with real ids and a body that would do something, and the book must be the same afterwards; who gets through
asks for what is not there.
"""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import typer
from sqlalchemy import select
from starlette.testclient import TestClient
from tests.conftest import DEEPER, ENGINES, Clock
from tests.contracts.contract_folders import (
    all_extensions,
    authority_lines,
    every_extension,
    example_bodies,
    furnish_all,
    known_ids,
    with_their_tables,
)

from keepbook import Keepbook
from keepbook.demo.stage import demo_settings
from keepbook.doors.auth import Caller
from keepbook.doors.cli import command_line
from keepbook.doors.http.app import create_app
from keepbook.doors.http.extension_routes import extension_routers
from keepbook.doors.http.web.routes import ROUTERS
from keepbook.doors.mcp.server import _call_tool, _Handlers, _list_tools
from keepbook.errors import KeepbookError
from keepbook.extension import find_extensions


def on(engine: str) -> Any:
    """Who is refused is refused at the door: each walk goes on one engine, in `make test-deep` on both."""
    return pytest.mark.parametrize("engine_name", ENGINES if DEEPER > 1 else [engine], indirect=True)


EXPECTED = authority_lines()
ALL = ("read", "write", "admin")
USUAL = ("read", "write")
NOWHERE = "zzzzzzzz"
NOW = "2026-12-31T09:00:00Z"
BODIES: dict[str, Any] = {
    "POST /api/memory/": {"content": "Votes green"},
    "PUT /api/memory/{id}": {"content": "Votes blue"},
    "POST /api/texts": {"changes": [{"scope": "walk", "name": "a", "line": "Votes green"}]},
    "POST /api/chat/threads/{id}/turns": {"turns": [{"role": "user", "text": "Hello"}]},
    "POST /api/memory/links": {"from_id": "?", "to_id": "?", "relation": "relates_to"},
    "POST /api/memory/inject": {"session": "walk"},
    "POST /api/chat/threads": {"session": "walk"},
    "PATCH /api/chat/threads/{id}": {"title": "Walked"},
    "POST /api/chat/threads/{id}/messages": {"text": "Hello", "reply": False},
    "POST /api/journal": {"text": "A note"},
    "PUT /api/journal/{id}": {"text": "Another note"},
    "PATCH /api/me": {"never": ["money"]},
    "POST /api/tokens": {"kind": "agent", "scopes": ["read"]},
    "POST /api/erase": {"confirm": "alice"},
    "POST /api/tools/{name}": {"content": "Votes green"},
    **example_bodies(),
}

REFUSED = [(403, code) for code in ("scope", "person_only", "bound")]
EMPTY = {"POST /api/tokens": {"kind": "agent", "scopes": []}}
"""What asks for nothing, where an empty body asks for the usual."""


class Key(NamedTuple):
    """A kind of actor with the scopes of its key."""

    kind: str
    scopes: tuple[str, ...]
    client: TestClient
    caller: Caller

    @property
    def name(self) -> str:
        return f"{self.kind} {'+'.join(self.scopes)}"


class House(NamedTuple):
    kb: Keepbook
    ids: dict[str, str]
    keys: list[Key]

    def state(self) -> str:
        """The whole book, its keys, and what extensions keep beside books, in one text."""
        out = io.StringIO()
        self.kb.book("alice").export(out)
        tokens = [(token.id, token.scopes, token.revoked_at) for token in self.kb.tokens.list()]
        return f"{out.getvalue()}{tokens}{self._unexported()}"

    def _unexported(self) -> list[str]:
        """What no export holds: what everybody shares, and what is of this machine alone."""
        with self.kb._database.read("alice") as tx:
            tables = [table for table in tx.tables.of_extensions if table not in tx.tables.exported.values()]
            found = [tx.conn.execute(select(table).order_by(*table.primary_key.columns)).all() for table in tables]
        return [f"{table.name}: {rows}" for table, rows in zip(tables, found, strict=True)]


def furnished(kb: Keepbook, owner: str) -> dict[str, str]:
    """A book with one of each thing in it; answers their ids by what a path calls them."""
    book = kb.book(owner)
    furnish_all(kb, book)
    known = known_ids(kb, owner)
    memory, other = book.remember("Lives in Oslo"), book.remember("Has a cat")
    chat = book.threads.start()
    chat.add("user", "Hello")
    mine, told = book.agents.create("Mine"), book.agents.create("Told", use_block=True)
    return known | {
        "memory": memory.id, "links": book.link(memory.id, other.id, "relates_to").id, "threads": chat.id,
        "chat": chat.id, "journal": book.notes.write("A note").id, "event": "1",
        "mine": mine.id, "told": told.id, "tokens": NOWHERE, "proposals": NOWHERE,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def _every_extension() -> Iterator[None]:
    with every_extension():
        yield


@pytest.fixture
def book_url(book_url: str) -> str:
    return with_their_tables(book_url)


@pytest.fixture
def house(kb: Keepbook, clock: Clock) -> House:
    clock.set(NOW)
    ids = furnished(kb, "alice")
    app = create_app(kb)
    keys = []

    def add(column: str, scopes: tuple[str, ...], **told: Any) -> None:
        owner = None if told.get("kind") == "service" else "alice"
        made = kb.tokens.create(owner, scopes=scopes, **told)
        headers = {"Authorization": f"Bearer {made.token}"}
        if owner is None:
            headers["X-Keepbook-Owner"] = "alice"
        if column == "host":
            headers["X-Keepbook-Actor"] = "person"
        caller = Caller(
            "alice",
            made.known.kind,
            frozenset(scopes),
            made.known.id,
            agent=made.known.agent,
            as_person=column == "host",
        )
        client = TestClient(app, base_url="http://127.0.0.1", headers=headers, client=("127.0.0.1", 50000))
        keys.append(Key(column, scopes, client, caller))

    for scopes in (ALL, ("read",), ("write",), ("admin",)):
        add("person", scopes)
    for scopes in (USUAL, ("read",), ("write",)):
        add("agent", scopes, kind="agent")
    add("bound", USUAL, kind="agent", agent=ids["mine"])
    add("told", USUAL, kind="agent", agent=ids["told"])
    add("told", ("read",), kind="agent", agent=ids["told"])
    add("service", ALL, kind="service")
    add("host", (*ALL, "person"), kind="service")
    return House(kb, ids, keys)


@pytest.fixture
def visitor(clock: Clock) -> Iterator[Key]:
    """Somebody who looks at a demo."""
    clock.set(NOW)
    settings = demo_settings().but(extensions=all_extensions())
    with Keepbook(":memory:", settings=settings, demo=True, clock=clock) as demo:
        furnished(demo, demo.settings.owner)
        shown = TestClient(create_app(demo), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
        yield Key("visitor", ALL, shown, Caller(demo.settings.owner, "visitor"))


def line(said: str) -> tuple[str, set[str]]:
    scope, _, kinds = said.partition(":")
    return scope, set(kinds.split())


def filled(path: str, ids: dict[str, str] | None) -> str:
    """The path with ids in it: real ones by the folder they stand in, or one that is nowhere."""
    given = {"event": "1" if ids else "99999", "turn": "1", "act": "archive", "field": "strategy"} | {
        "name": "remember" if ids else "get_my_decisions"
    }
    parts: list[str] = []
    for part in path.split("/"):
        name, _, query = part.strip("{").partition("}")
        if not part.startswith("{"):
            parts.append(part)
        elif name in given:
            parts.append(given[name] + query)
        else:
            parts.append((NOWHERE if ids is None else ids.get(parts[-1], ids["memory"])) + query)
    return "/".join(parts)


def send(key: Key, route: str, ids: dict[str, str] | None) -> Any:
    method, path = route.split(" ", 1)
    body = BODIES.get(route, {}) if ids is not None else EMPTY.get(route, {})
    body = {name: ids["memory"] if value == "?" and ids else value for name, value in body.items()}
    sent = {} if method == "GET" else {"json": body}
    if ("q=" not in path and "recall" in path) or "search" in path:
        path += "?q=oslo"
    return key.client.request(method, filled(path, ids), **sent)


# The API


def routes_of(app: Any) -> set[str]:
    paths = {path.replace("/api/v1/", "/api/"): told for path, told in app.openapi()["paths"].items()}
    return {f"{method.upper()} {path}" for path, told in paths.items() for method in told}


@on("sqlite")
def test_every_route_has_a_line_and_every_line_a_route(kb: Keepbook) -> None:
    written = {route for route in EXPECTED["api"] if "?" not in route}
    assert routes_of(create_app(kb)) == written


@on("postgresql")
def test_every_route_answers_every_key_as_it_is_written(house: House, visitor: Key) -> None:
    before = house.state()
    for route, said in EXPECTED["api"].items():
        scope, kinds = line(said)
        if scope == "none":
            continue
        for key in house.keys:
            if key.kind in kinds and scope in key.scopes:
                continue
            got = send(key, route, house.ids)
            assert got.status_code == 403, (route, key.name, got.status_code, got.text)
            assert got.json()["code"] in ("scope", "person_only", "bound"), (route, key.name, got.text)
        if DEEPER > 1:
            assert house.state() == before, f"{route}: a refusal left something behind"
    assert house.state() == before, "a refusal left something behind: `make test-deep` says which"
    for route, said in EXPECTED["api"].items():
        scope, kinds = line(said)
        for key in (*house.keys, visitor):
            if key.kind not in kinds or scope not in key.scopes:
                continue
            got = send(key, route, None)
            assert got.status_code not in (401, 403, 500), (route, key.name, got.status_code, got.text)


@on("postgresql")
def test_a_chat_in_which_the_person_spoke_answers_every_key_as_it_is_written(house: House) -> None:
    def spoken() -> dict[str, str]:
        chat = house.kb.book("alice").threads.start()
        asyncio.run(anext(house.kb.talk(chat).say("I live in Oslo.")))
        return house.ids | {"threads": chat.id}

    ids = spoken()
    before = house.state()
    for route, said in EXPECTED["persons_chats"].items():
        scope, kinds = line(said)
        for key in house.keys:
            if key.kind in kinds and scope in key.scopes:
                continue
            got = send(key, route, ids)
            assert (got.status_code, got.json().get("code")) in REFUSED, (route, key.name, got.text)
    assert house.state() == before
    for route, said in EXPECTED["persons_chats"].items():
        scope, kinds = line(said)
        ids = spoken()
        for key in house.keys:
            if key.kind in kinds and scope in key.scopes:
                got = send(key, route, ids)
                assert got.status_code == 200, (route, key.name, got.text)


def test_a_visitor_of_the_demo_is_refused_as_it_is_written(visitor: Key) -> None:
    for route, said in EXPECTED["api"].items():
        scope, kinds = line(said)
        if scope != "none" and "visitor" not in kinds:
            got = send(visitor, route, None)
            assert got.status_code == 403, (route, got.text)


@on("sqlite")
def test_without_a_key_nothing_opens(house: House) -> None:
    nobody = TestClient(house.keys[0].client.app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    before = house.state()
    for route, said in EXPECTED["api"].items():
        got = send(Key("nobody", (), nobody, Caller("alice")), route, house.ids)
        assert got.status_code == (200 if said.startswith("none") else 401), (route, got.text)
    assert house.state() == before


# Pages


def pages() -> set[str]:
    found = set()
    for router in (*ROUTERS, *extension_routers(find_extensions(all_extensions()), "pages")):
        for route in router.routes:
            found |= {f"{method} {route.path}" for method in route.methods - {"HEAD"}}  # type: ignore[attr-defined]
    return found


def test_every_page_action_has_a_line_and_every_line_an_action() -> None:
    written = {route for route in EXPECTED["pages"] if " " in route}
    assert {route for route in pages() if not route.startswith("GET ")} == {
        route for route in written if not route.startswith("GET ")
    }
    assert {route for route in written if route.startswith("GET ")} <= pages()


@on("sqlite")
def test_every_page_answers_every_key_as_it_is_written(house: House, visitor: Key) -> None:
    before = house.state()
    usual, _ = line(EXPECTED["pages"]["GET"])
    for route in sorted(pages()):
        scope = EXPECTED["pages"].get(route, usual)
        if scope == "none":
            continue
        method, path = route.split(" ", 1)
        for key in house.keys:
            if key.kind == "person" and scope in key.scopes and "read" in key.scopes:
                continue
            got = key.client.request(method, filled(path, house.ids), follow_redirects=False)
            assert got.status_code == 403, (route, key.name, got.status_code, got.text[:300])
    assert house.state() == before
    for route in sorted(pages()):
        scope = EXPECTED["pages"].get(route, usual)
        method, path = route.split(" ", 1)
        for key in (house.keys[0], visitor):
            if scope == "admin" and key.kind == "visitor" and "tokens" in path:
                continue  # a visitor makes no tokens
            got = key.client.request(method, filled(path, None), follow_redirects=False)
            assert got.status_code not in (401, 403, 500), (route, key.name, got.status_code, got.text[:300])


# Tools, over MCP and over HTTP


@on("postgresql")
def test_every_tool_answers_every_key_as_it_is_written(house: House) -> None:
    desk = _Handlers(house.kb, lambda _: Caller("alice"))
    before, seen = house.state(), set()
    for key in house.keys:
        tools = desk._tools(key.caller)
        listed = {schema["name"] for schema in _list_tools(tools, key.caller)}
        expected = set()
        for name, said in EXPECTED["tools"].items():
            scope, kinds = line(said)
            if key.kind in kinds and scope in key.scopes:
                expected.add(name)
        assert listed == expected, f"{key.name}: say in authority.toml [tools] who may call what"
        seen |= {tool.name for tool in tools}
        for name in seen - expected:
            if name in tools:
                with pytest.raises(KeepbookError) as refused:
                    _call_tool(tools, key.caller, name, {"content": "Votes green"})
                assert refused.value.code == "scope"
            over_http = key.client.post(f"/api/tools/{name}", json={"content": "Votes green"})
            assert over_http.status_code in (403, 404), (key.name, name, over_http.text)
    assert seen == set(EXPECTED["tools"]), "say in authority.toml [tools] who may call what"
    assert house.state() == before


# The command line


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))
    else:
        yield "-".join(path)


def test_every_command_has_a_line_and_acts_as_it_is_written() -> None:
    written = [name for names in EXPECTED["commands"].values() for name in names.split()]
    assert len(written) == len(set(written))
    assert set(commands(typer.main.get_command(command_line()))) == set(written)


def test_the_command_line_is_the_person_and_mcp_an_agent(
    kb: Keepbook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from keepbook.doors.cli.terminal.command import GlobalOptions, Invocation  # here: it loads the command line

    desk = Invocation(GlobalOptions(db=str(tmp_path / "line.db"), owner="alice"))
    try:
        assert desk.book.hand.kind == "person"
        assert desk.book.hand.scopes == frozenset(ALL)
    finally:
        desk.close()
    assert Caller("alice").tools_book(kb, "mcp").hand.kind == "agent"
    assert SimpleNamespace(kind=kb.book("alice", by="agent").hand.kind).kind == "agent"
