"""The OpenAPI document: what the framework reads from the routes, made fit for client generators.

Each path names the version of the API, so that what is generated from it does. Operation ids are short and stable: the
name of the function, which no other endpoint has. Names of schemas are single
words. The examples stand here together, and are tested against the schemas; those of an extension's API stand in the
`DOCUMENT` of one of its modules.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from keepbook.doors.auth import ACTOR_HEADER, OWNER_HEADER
from keepbook.doors.http import problems
from keepbook.doors.http.gate import API, VERSIONED
from keepbook.errors import Invalid
from keepbook.patterns import regex

_NAMED_SCHEMA = regex(r'"#/components/schemas/([^"]+)"')
TAGS = {
    "memory": "Memories: kept, changed, found, put into a prompt; the ledger and undo.",
    "chat": "Chats that end in memory, and notes.",
    "tools": "A preset's tools for any agent.",
    "texts": "Named texts, as stores and files are made of: written together or not at all.",
    "me": "The owner: choices, tokens, and the whole book.",
    "events": "What changed, as a page or a stream.",
    "operation": "Health and metrics.",
}
NAMES = {
    "ChangedChoices": "Chosen",
    "ChatReply": "Reply",
    "ClosingResult": "Closed",
    "EraseConfirmation": "Confirmed",
    "FeedChange": "Changed",
    "ForgetRequest": "Forgotten",
    "FoundSnippets": "FoundTurns",
    "ImportedItem": "Came",
    "InjectRequest": "Session",
    "MemoryDetail": "Detailed",
    "NoteList": "Notes",
    "PencilList": "Pencilled",
    "RenderRequest": "Asked",
    "RestoreRequest": "Restored",
    "SkippedCandidate": "Skipped",
    "ToolAnswer": "Answer",
    "TopicTrial": "Tried",
}
"""Schemas that are published under another name than their class has."""
EXAMPLES: dict[str, Any] = {
    "remember": {"content": "Lives in Oslo", "category": "profile", "tags": ["home"], "metadata": {"source": "crm"}},
    "update_memory": {"content": "Lives in Bergen", "correction": False, "expect_version": 1},
    "forget_memory": {"reason": "user_corrected"},
    "inject_block": {"session": "chat-42"},
    "make_link": {"from_id": "Ab12Cd34", "to_id": "Ef56Gh78", "relation": "because_of"},
    "start_chat": {"session": "chat-42"},
    "say_in_chat": {"text": "I moved to Bergen last week"},
    "write_note": {"text": "Ask Anna about the harbour"},
    "change_me": {"zone": "Europe/Oslo", "never": ["health"]},
    "make_token": {"kind": "agent", "scopes": ["read", "write"], "name": "my agent"},
    "call_tool": {"query": "what is the dog called?"},
    "try_never": {"text": "I saw a doctor today"},
}
"""A valid body for each operation, by its id."""
LAST_TAG_BEFORE = "chat"
"""The tag after which the tags of extensions stand."""
HEADERS = {
    OWNER_HEADER: "Whose book, with a service token.",
    ACTOR_HEADER: "With a service token of scope person: as whom it acts.",
}
"""What the gate reads of every request to the API, before the framework sees it."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """What the document tells of one part of the API.

    tags: what each tag of its routes is about
    names: schemas that are published under another name than their class has
    examples: by operation id, a body that works
    """

    tags: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, Any] = field(default_factory=dict)


def join_document(parts: Iterable[DocumentPart]) -> DocumentPart:
    """What is told of the core and of these parts together; none may speak for another."""
    added_tags: dict[str, str] = {}
    names, examples = dict(NAMES), dict(EXAMPLES)
    for part in parts:
        _refuse_taken("tag", part.tags, {*TAGS, *added_tags})
        _refuse_taken("schema", part.names, names)
        _refuse_taken("schema", part.names.values(), set(names.values()))
        _refuse_taken("example", part.examples, examples)
        added_tags |= part.tags
        names |= part.names
        examples |= part.examples
    tags: dict[str, str] = {}
    for name, about in TAGS.items():
        tags[name] = about
        if name == LAST_TAG_BEFORE:
            tags |= added_tags
    return DocumentPart(tags, names, examples)


def _refuse_taken(what: str, wanted: Iterable[str], taken: Container[str]) -> None:
    for name in wanted:
        if name in taken:
            raise Invalid(f"the API's document has {what} {name!r} already; choose another", field="extensions")


def openapi_document(app: FastAPI, told: DocumentPart) -> dict[str, Any]:
    """The document, with the token that every path but /health takes."""
    if app.openapi_schema is None:
        for route in app.routes:
            if isinstance(route, APIRoute):
                route.operation_id = route.name
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes,
            tags=[{"name": name, "description": about} for name, about in told.tags.items()],
        )  # fmt: skip
        parts = made.setdefault("components", {})
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        parts.setdefault("schemas", {})["Problem"] = problems.Problem.model_json_schema()
        made["security"] = [{"token": []}, {}]
        _show_headers(made)
        _show_examples(made, told.examples)
        made["paths"] = {_with_version(path): operations for path, operations in made["paths"].items()}
        app.openapi_schema = _with_published_names(made, told.names)
        _say_defaults_in_words(app.openapi_schema)
        _title_schemas(app.openapi_schema["components"]["schemas"])
    return app.openapi_schema


def _with_version(path: str) -> str:
    if path.startswith(API):
        return VERSIONED + path.removeprefix(API)
    return path


def _show_headers(made: dict[str, Any]) -> None:
    text = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    for path, operations in made["paths"].items():
        for operation in operations.values() if path.startswith(API) else ():
            operation.setdefault("parameters", []).extend(
                {"name": name, "in": "header", "required": False, "description": told,
                 "schema": text | {"description": told, "title": name}}
                for name, told in HEADERS.items()
            )  # fmt: skip


def _show_examples(made: dict[str, Any], examples: Mapping[str, Any]) -> None:
    for operations in made["paths"].values():
        for operation in operations.values():
            example = examples.get(operation["operationId"])
            if example is not None:
                operation["requestBody"]["content"]["application/json"]["example"] = example
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    content.get("schema", {}).pop("title", None)  # the framework's, made of the path


def _with_published_names(value: Any, names: Mapping[str, str]) -> Any:
    """The document with short names of schemas, where they stand and where they are meant."""
    if isinstance(value, dict):
        return {names.get(key, key): _with_published_names(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_published_names(item, names) for item in value]
    if isinstance(value, str) and value.startswith("#/components/schemas/"):
        name = value.rpartition("/")[2]
        return f"#/components/schemas/{names.get(name, name)}"
    return value


def _say_defaults_in_words(made: dict[str, Any]) -> None:
    """Of bodies, say the default in the description alone: programs that write clients take a field with a `default`
    for one that is always there, and would ask their callers for it."""
    schemas = made["components"]["schemas"]
    waiting = [body["content"] for one in made["paths"].values() for body in _bodies(one)]
    seen: set[str] = set()
    while waiting:
        for name in _schemas_in(waiting.pop()) - seen:
            seen.add(name)
            waiting.append(schemas[name])
            for told in schemas[name].get("properties", {}).values():
                if "default" in told:
                    words = f"{told.get('description', '')} (left out: {json.dumps(told.pop('default'))})"
                    told["description"] = words.strip()


def _bodies(operations: dict[str, Any]) -> Iterator[dict[str, Any]]:
    return (operation["requestBody"] for operation in operations.values() if "requestBody" in operation)


def _schemas_in(value: Any) -> set[str]:
    """The names of the schemas that a part of the document means."""
    return set(_NAMED_SCHEMA.findall(json.dumps(value)))


def _title_schemas(schemas: dict[str, Any]) -> None:
    """A title is what some programs name a class by."""
    for name, schema in schemas.items():
        schema["title"] = name
