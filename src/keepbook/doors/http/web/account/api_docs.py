"""`/docs`: the HTTP API as a page, written from the same OpenAPI document that `/openapi.json` gives to programs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from keepbook.doors.http.problems import USUAL
from keepbook.doors.http.web.frame.visit import Visiting
from keepbook.errors import NotFound

router: APIRouter = APIRouter(include_in_schema=False)

EVERYWHERE = ("idempotency-key", "x-keepbook-owner", "accept")
"""Headers that the page tells once instead of with each operation."""

SchemaView = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldView:
    name: str
    place: str
    kind: str
    required: bool
    about: str


@dataclass(frozen=True, slots=True)
class OperationView:
    id: str
    method: str
    path: str
    about: str
    takes: list[FieldView]
    answers: list[tuple[str, str]]


@router.get("/docs")
def docs(visit: Visiting) -> Response:
    if not visit.kb.settings.api_docs:
        raise NotFound("the description of the API is closed here; see api_docs among the settings")
    document = visit.request.app.openapi()
    return visit.page("docs.html", parts=_parts(document), about=document["info"]["description"])


def _parts(document: SchemaView) -> dict[str, list[OperationView]]:
    parts: dict[str, list[OperationView]] = {}
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            tag = (told.get("tags") or ["server"])[0]
            parts.setdefault(tag, []).append(_operation(document, path, method, told))
    return parts


def _operation(document: SchemaView, path: str, method: str, told: SchemaView) -> OperationView:
    usual = {str(status) for status in USUAL}
    answers = [
        (status, _answer_in_words(answer)) for status, answer in told["responses"].items() if status not in usual
    ]
    about = told.get("description") or told.get("summary", "")
    return OperationView(told["operationId"], method.upper(), path, about, list(_takes(document, told)), answers)


def _takes(document: SchemaView, told: SchemaView) -> Iterator[FieldView]:
    for given in told.get("parameters", ()):
        if given["name"].lower() not in EVERYWHERE:
            about = given.get("description", "")
            yield FieldView(given["name"], given["in"], _kind(given["schema"]), given.get("required", False), about)
    for media, content in told.get("requestBody", {}).get("content", {}).items():
        schema = content["schema"]
        if "$ref" not in schema:
            yield FieldView(media, "body", _kind(schema), True, "")
            continue
        whole = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        for name, one in whole.get("properties", {}).items():
            yield FieldView(name, "body", _kind(one), name in whole.get("required", ()), one.get("description", ""))


def _kind(schema: SchemaView) -> str:
    """The type of a value in a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    if "anyOf" in schema:
        return " or ".join(kind for one in schema["anyOf"] if (kind := _kind(one)) != "null")
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))


def _answer_in_words(answer: SchemaView) -> str:
    kinds = {_kind(content.get("schema", {})) for content in answer.get("content", {}).values()}
    told = answer.get("description", "")
    if told == "Successful Response":
        words = ""
    else:
        words = told
    return " ".join(filter(None, [", ".join(sorted(kinds - {"any"})), f"({words})" if words and kinds else words]))
