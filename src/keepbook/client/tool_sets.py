"""Sets of tools for a book on a server, whose calls are requests, and for async programs, whose calls are awaited.

A server is asked for the definitions once. Mistakes of a model are answered in words, as by a local set; errors that
the program has to solve (a token, a server that is away) are raised.
"""

import json
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from keepbook.client.connection import JSON, AsyncConnection, Connection, Request, Steps
from keepbook.client.off_loop import ThreadsBeside
from keepbook.client.values import value_of
from keepbook.errors import Invalid, KeepbookError
from keepbook.presets import Argument
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import Annotations, JsonSchema, Tool, ToolAnswer, parse_arguments

FOR_THE_PROGRAM = frozenset({"unavailable", "unauthenticated", "other_owner"})
"""Codes of errors that no model can do anything about; these are raised."""
TOOLS = "/api/tools"
Query = tuple[tuple[str, str], ...]
_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)


class RemoteToolSet(ToolSet):
    """Tools that a server defines and carries out. Over a connection that awaits, `call` is awaited."""

    def __init__(self, connection: Connection | AsyncConnection, query: Query, schemas: Iterable[JsonSchema]) -> None:
        self._connection, self._query = connection, query
        super().__init__(_tool_of(schema, self.call) for schema in schemas)

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
        return self._connection.run(self._steps(name, arguments))

    def without(self, operations: Iterable[str]) -> "RemoteToolSet":
        left_out = tuple(operations)
        kept = [schema for schema in self.schemas("mcp") if schema["_meta"].get("does") not in left_out]
        return RemoteToolSet(self._connection, self._query, kept)

    def _steps(self, name: str, arguments: Mapping[str, Any] | str | None) -> Steps[ToolAnswer]:
        tool = None
        try:
            tool = self[name]
            sent = _as_json(parse_arguments(arguments))
            path = f"{TOOLS}/{quote(tool.name, safe='')}"
            told = yield Request("POST", path, self._query, text=sent, headers={"Content-Type": JSON})
        except KeepbookError as error:
            if error.code in FOR_THE_PROGRAM:
                raise
            return self._refusal(error, tool)
        answer: ToolAnswer = value_of(ToolAnswer, told)
        return answer


def remote_tools(connection: Connection | AsyncConnection, query: Query) -> Any:
    """The tools that a server has for these choices; awaited if the connection awaits."""
    return connection.run(_defined(connection, query))


def _defined(connection: Connection | AsyncConnection, query: Query) -> Steps[RemoteToolSet]:
    schemas = yield Request("GET", TOOLS, (*query, ("format", "mcp")))
    return RemoteToolSet(connection, query, schemas)


def _as_json(arguments: Mapping[str, Any]) -> bytes:
    """The arguments as JSON. Halves of surrogate pairs and NaN are sent too: the tool refuses them."""
    try:
        return json.dumps(arguments).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"the arguments are not valid JSON ({error}); send one JSON object", code="json") from None


def _tool_of(schema: JsonSchema, call: Any) -> Tool:
    takes, hints, told = schema["inputSchema"], schema["annotations"], schema["_meta"]
    return Tool(
        name=schema["name"],
        description=schema["description"],
        arguments={name: _argument_of(name, one, takes["required"]) for name, one in takes["properties"].items()},
        parameters=takes,
        handler=lambda **given: call(schema["name"], given),
        tags=tuple(told["tags"]),
        does=told.get("does"),
        annotations=Annotations(hints["readOnlyHint"], hints["destructiveHint"], hints["idempotentHint"]),
        returns=schema["outputSchema"],
        _readers=dict.fromkeys(takes["properties"], _ANYTHING),
    )


def _argument_of(name: str, schema: JsonSchema, required: Iterable[str]) -> Argument:
    return Argument(name, schema.get("description", ""), required=name in required, default=schema.get("default"))


class AsyncToolSet(ToolSet):
    """Tools of a book that is here, for a program that awaits: each call runs in a thread."""

    def __init__(self, held: ToolSet, pool: ThreadsBeside) -> None:
        super().__init__(held)
        self._held, self._pool = held, pool

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> Any:
        return self._pool.run(partial(self._held.call, name, arguments))

    def without(self, operations: Iterable[str]) -> "AsyncToolSet":
        return AsyncToolSet(self._held.without(operations), self._pool)
