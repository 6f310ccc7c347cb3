"""Words that are not an agent's to bring in, in every field that the API and the tools take: a topic that the person
wants never kept, and a line that they forgot.

The fields come from the OpenAPI document and from the schemas of the tools, so that a new one is tried without being
named here. What is stored all the same stands in `MAY`, with its reason.
"""

import copy
import io
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepbook.tools.bound import outside_tools
from keepbook.tools.catalogue import build_tools

GONE = "Plays chess on Mondays"
OWN_NAMES = "a name by which the program finds its own again, as an id is"
AS_SAID = "what was said in a chat stays as it was said"
MAY = {
    ("POST /api/memory/", "thread_id"): OWN_NAMES,
    ("POST /api/memory/", "turn_ids.0"): OWN_NAMES,
    ("PUT /api/memory/{id}", "thread_id"): OWN_NAMES,
    ("PUT /api/memory/{id}", "turn_ids.0"): OWN_NAMES,
    ("POST /api/memory/inject", "session"): OWN_NAMES,
    ("POST /api/memory/inject", "scope"): OWN_NAMES,
    ("POST /api/chat/threads/{id}/inject", "scope"): OWN_NAMES,
    ("POST /api/chat/threads", "session"): OWN_NAMES,
    ("record_turns", "session"): OWN_NAMES,
    ("POST /api/chat/threads/{id}/messages", "text"): AS_SAID,
    ("POST /api/chat/threads/{id}/messages", "speaker"): AS_SAID,
    ("POST /api/chat/threads/{id}/messages", "hidden"): AS_SAID,
    ("POST /api/chat/threads/{id}/turns", "turns.0.text"): AS_SAID,
    ("POST /api/chat/threads/{id}/turns", "turns.0.speaker"): AS_SAID,
    ("POST /api/chat/threads/{id}/turns", "turns.0.parts.why"): AS_SAID,
    ("POST /api/chat/threads/{id}/turns", "turns.0.parts.*"): AS_SAID,
    ("record_turns", "turns.0.text"): AS_SAID,
    ("record_turns", "turns.0.speaker"): AS_SAID,
}  # fmt: skip
NO_BODY_TO_FILL = {
    "POST /api/me/never/try": "it stores nothing",
    "POST /api/tools/{name}": "each tool has a schema of its own",
}


def bodies(ids: dict[str, str]) -> dict[str, Any]:
    """For each route and tool that an agent may write by: something that it takes."""
    new, changed = {"content": "Has a red bike", "force": True}, {"content": "Plays the viola"}
    joined = {"from_id": ids["memory"], "to_id": ids["other"], "relation": "relates_to"}
    said = {"role": "user", "text": "Hello"}
    return {
        "POST /api/memory/": new,
        "PUT /api/memory/{id}": changed,
        "POST /api/memory/{id}/forget": {},
        "POST /api/memory/{id}/restore": {},
        "POST /api/memory/{id}/confirm": {},
        "POST /api/memory/inject": {"session": "one"},
        "POST /api/memory/links": joined,
        "POST /api/texts": {"changes": [{"scope": "walk", "name": "a", "line": "Has a red bike"}]},
        "POST /api/chat/threads": {},
        "PATCH /api/chat/threads/{id}": {"title": "Music"},
        "POST /api/chat/threads/{id}/inject": {},
        "POST /api/chat/threads/{id}/messages": {"text": "Hello", "reply": False},
        "POST /api/chat/threads/{id}/turns": {"turns": [said]},
        "POST /api/journal": {"text": "Call Nora"},
        "remember": {"content": "Has a red bike"},
        "update": {"memory": ids["memory"], "content": "Plays the viola"},
        "forget": {"memory": ids["gone"]},
        "confirm": {"memory": ids["memory"]},
        "link": {"from_memory": ids["memory"], "to_memory": ids["other"], "relation": "relates_to"},
        "record_turns": {"session": "two", "turns": [said]},
        "restore": {"memory": ids["memory"]},
    }


def fields(schema: Any, shared: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every place for free text in a JSON schema; "0" is an item of a list, "*" a key of a map."""
    if "$ref" in schema:
        yield from fields(shared[schema["$ref"].rpartition("/")[2]], shared, path)
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from fields(one, shared, path)
    kind = schema.get("type")
    if kind == "string" and not schema.keys() & {"enum", "const"}:
        yield path
    if kind == "array":
        yield from fields(schema.get("items", {}), shared, (*path, "0"))
    for name, inner in schema.get("properties", {}).items():
        yield from fields(inner, shared, (*path, name))
    if schema.get("additionalProperties"):
        yield from ((*path, "why"), (*path, "*"))


def filled(body: Any, path: tuple[str, ...], word: str) -> Any:
    """The body with the word in one place."""
    name, *rest = path
    if not rest:
        inner = word
    else:
        there = (body[0] if body else None) if isinstance(body, list) else body.get(name)
        empty: Any = [] if rest[0] == "0" else {}
        inner = filled(copy.deepcopy(there) if isinstance(there, list | dict) else empty, tuple(rest), word)
    if name == "0":
        return [inner]
    return body | ({word: "yes"} if name == "*" else {name: inner})


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize("word", ["salary", GONE])
def test_in_no_field_does_an_agent_bring_in_what_the_person_wants_out(
    kb: Any, alice: Any, client: Callable[..., Any], engine_name: str, word: str
) -> None:
    agent = client(kb.tokens.create("alice", kind="agent", scopes=("read", "write")).token)
    book = kb.book("alice", by="agent")
    chat = alice.threads.start()
    ids = {name: book.remember(text).id for name, text in _LINES.items()} | {"threads": chat.id}
    alice.forget(alice.remember(GONE).id)
    alice.choose(never=["money"])
    document = agent.app.openapi()
    sendable, tried, stored, said = bodies(ids), set(), set(), [0]

    def told() -> int:
        """How often the book says it, but for what waits for the person."""
        out = io.StringIO()
        alice.export(out)
        lines = (line for line in out.getvalue().splitlines() if '"kind":"proposal"' not in line)
        return sum(line.count(word) for line in lines)

    def attempt(what: str, path: str, method: str, schema: Any, shared: Any) -> None:
        for place in dict.fromkeys(fields(schema, shared)):
            answer = agent.request(method, path, json=filled(sendable[what], place, word))
            assert answer.status_code < 500, (what, place, answer.text)
            tried.add((what, ".".join(place)))
            if answer.status_code < 300 and told() > said[-1]:
                stored.add((what, ".".join(place)))
                said.append(told())

    said.append(told())
    for versioned, told_of in document["paths"].items():
        path = versioned.replace("/api/v1/", "/api/")
        for method, operation in told_of.items():
            route = f"{method.upper()} {path}"
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is None or route in NO_BODY_TO_FILL or _is_the_persons(route):
                continue
            assert route in sendable, f"{route}: say in `bodies` what it takes"
            url = path.replace("/memory/{id}", f"/memory/{ids['memory']}").replace("{id}", chat.id)
            attempt(route, url, method, content["schema"], document["components"]["schemas"])
    for tool in build_tools("general", book, outside=True, extra=outside_tools(book, "general")):
        if not tool.annotations.read_only and tool.name != "undo":
            schema = tool.parameters
            attempt(tool.name, f"/api/tools/{tool.name}", "post", schema, schema.get("$defs", {}))
    assert ("POST /api/memory/", "tags.0") in tried
    assert ("remember", "metadata.*") in tried
    assert stored - MAY.keys() == set()
    assert MAY.keys() - tried == set(), "there is no such field any more"


_LINES = {"memory": "Plays the cello", "other": "Has a boat in Bergen", "gone": "Is learning Norwegian"}


_EXPECTED = tomllib.loads((Path(__file__).parents[3] / "contracts" / "authority.toml").read_text())["api"]


def _is_the_persons(route: str) -> bool:
    """Whether an agent is refused whatever it sends."""
    return "agent" not in _EXPECTED[route].split()
