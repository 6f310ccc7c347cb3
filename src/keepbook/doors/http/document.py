"""The OpenAPI document: what the framework reads from the routes, made fit for client generators.

Operation ids are short and stable: the name of the function, which no other endpoint has. Names of schemas are single
words. The examples stand here together, and are tested against the schemas.
"""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from keepbook.doors.auth import ACTOR_HEADER, OWNER_HEADER
from keepbook.doors.http import problems

TAGS = {
    "memory": "Memories: kept, changed, found, put into a prompt; the ledger and undo.",
    "chat": "Chats that end in memory, and notes.",
    "agents": "Agents, their runs, decisions and how those turned out.",
    "trading": "Skills, deployments, trades, lessons, and the files they come from.",
    "tools": "A preset's tools for any agent.",
    "me": "The owner: choices, tokens, and the whole book.",
    "events": "What changed, as a page or a stream.",
    "operation": "Health and metrics.",
}
NAMES = {
    "ActiveMemory": "Carried",
    "AgentList": "Agents",
    "BarList": "Bars",
    "BreakdownPart": "Part",
    "ChangedChoices": "Chosen",
    "ChatReply": "Reply",
    "ClosingResult": "Closed",
    "DecisionCounts": "Counted",
    "DecisionGroup": "Group",
    "DecisionList": "Decisions",
    "EquityAnswer": "Equity",
    "EquityPoint": "Point",
    "EraseConfirmation": "Confirmed",
    "FeedChange": "Changed",
    "FieldVersion": "Field",
    "ForgetRequest": "Forgotten",
    "FoundSnippets": "FoundTurns",
    "ImportedItem": "Came",
    "InjectRequest": "Session",
    "LessonVersion": "Told",
    "LoadedFile": "Loaded",
    "MemoryDetail": "Detailed",
    "NoteList": "Notes",
    "OutcomeHistory": "History",
    "PastCard": "Past",
    "PencilList": "Pencilled",
    "PeriodFigures": "Period",
    "RecordedDecision": "Recorded",
    "RecordedTurn": "Turn",
    "ReflectRequest": "Reflected",
    "RefusedRow": "Refused",
    "RenderRequest": "Asked",
    "RestoreRequest": "Restored",
    "RunList": "Runs",
    "SkippedCandidate": "Skipped",
    "ToolAnswer": "Answer",
    "TopicTrial": "Tried",
    "TranscriptTurn": "Line",
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
    "create_agent": {"name": "Swing desk", "card_type": "trade-decision"},
    "record_decision": {
        "card": {"question": "Will it rain?", "probability": 0.7, "resolves_by": "2027-01-01"},
        "key": "rain-1",
    },
    "run_agent": {"prompt": "BTC/USDT, the daily close"},
    "change_me": {"zone": "Europe/Oslo", "never": ["health"]},
    "make_token": {"kind": "agent", "scopes": ["read", "write"], "name": "my agent"},
    "call_tool": {"query": "what is the dog called?"},
    "try_never": {"text": "I saw a doctor today"},
}
"""By operation id: a body that works."""
HEADERS = {
    OWNER_HEADER: "Whose book, with a service token.",
    ACTOR_HEADER: "With a service token of scope person: as whom it acts.",
}
"""What the gate reads of every request to the API, before the framework sees it."""


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """The document, with the token that every path but /health takes."""
    if app.openapi_schema is None:
        for route in app.routes:
            if isinstance(route, APIRoute):
                route.operation_id = route.name
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes,
            tags=[{"name": name, "description": told} for name, told in TAGS.items()],
        )  # fmt: skip
        parts = made.setdefault("components", {})
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        parts.setdefault("schemas", {})["Problem"] = problems.Problem.model_json_schema()
        made["security"] = [{"token": []}, {}]
        _show_headers(made)
        _show_examples(made)
        app.openapi_schema = _with_published_names(made)
        _title_schemas(app.openapi_schema["components"]["schemas"])
    return app.openapi_schema


def _show_headers(made: dict[str, Any]) -> None:
    text = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    for path, operations in made["paths"].items():
        for operation in operations.values() if path.startswith("/api/") else ():
            operation.setdefault("parameters", []).extend(
                {"name": name, "in": "header", "required": False, "description": told,
                 "schema": text | {"description": told, "title": name}}
                for name, told in HEADERS.items()
            )  # fmt: skip


def _show_examples(made: dict[str, Any]) -> None:
    for operations in made["paths"].values():
        for operation in operations.values():
            example = EXAMPLES.get(operation["operationId"])
            if example is not None:
                operation["requestBody"]["content"]["application/json"]["example"] = example
            for answer in operation["responses"].values():
                for content in answer.get("content", {}).values():
                    content.get("schema", {}).pop("title", None)  # the framework's, made of the path


def _with_published_names(value: Any) -> Any:
    """The document with short names of schemas, where they stand and where they are meant."""
    if isinstance(value, dict):
        return {NAMES.get(key, key): _with_published_names(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_published_names(item) for item in value]
    if isinstance(value, str) and value.startswith("#/components/schemas/"):
        name = value.rpartition("/")[2]
        return f"#/components/schemas/{NAMES.get(name, name)}"
    return value


def _title_schemas(schemas: dict[str, Any]) -> None:
    """A title is what some programs name a class by."""
    for name, schema in schemas.items():
        schema["title"] = name
