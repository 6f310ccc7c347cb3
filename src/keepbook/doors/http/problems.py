"""Errors as problem documents (RFC 9457): the one place where an error becomes an HTTP answer."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from logging import Logger
from typing import Any, ClassVar, get_args

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope, Send

from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.to_json import to_json
from keepbook.errors import (
    Ambiguous,
    Conflict,
    Invalid,
    KeepbookError,
    LimitReached,
    ModelFailed,
    NotAllowed,
    NotFound,
)
from keepbook.strict_toml import nearest_name

log: Logger = get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

_BY_CODE = {
    "unauthenticated": 401,
    "too_slow": 408,
    "precondition": 412,
    "too_large": 413,
    "wrong_host": 421,
    "canceled": 503,
    "newer_schema": 503,
    "unavailable": 503,
}
_BY_KIND: tuple[tuple[type[KeepbookError], int], ...] = (
    (Invalid, 422),
    (NotFound, 404),
    (Ambiguous, 409),
    (Conflict, 409),
    (NotAllowed, 403),
    (LimitReached, 429),
    (ModelFailed, 502),
)


class Problem(BaseModel):
    """What went wrong: `code` for programs, `detail` for people, `field` where one is to blame."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    kind: str = Field("KeepbookError", description="Which of Keepbook's errors it is: Invalid, NotFound, Conflict…")
    field: str | None = Field(None, description="The argument that is wrong.")


def status_of(error: KeepbookError) -> int:
    known = _BY_CODE.get(error.code)
    return known or next((status for kind, status in _BY_KIND if isinstance(error, kind)), 500)


def document(error: KeepbookError) -> dict[str, Any]:
    status = status_of(error)
    details: dict[str, Any] = to_json(error.details)
    if isinstance(error, Conflict) and error.similar:
        details["similar"] = to_json(error.similar)
    return details | {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": error.message,
        "code": error.code,
        "kind": type(error).__name__,
        "field": error.field,
    }


def response(error: KeepbookError) -> Response:
    body = document(error)
    headers = {}
    if body["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.code in ("busy", "unavailable", "rate", "streams"):
        headers["Retry-After"] = str(error.details.get("retry_after", 1))
    return ProblemResponse(body, body["status"], headers, MEDIA_TYPE)


class ProblemResponse(JSONResponse):
    """A problem document that stores its code with the request, for the metrics."""

    def __init__(self, body: dict[str, Any], *rest: Any) -> None:
        super().__init__(body, *rest)
        self._code = body["code"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["problem"] = self._code
        await super().__call__(scope, receive, send)


def from_status(status: int, detail: str) -> KeepbookError:
    """An error of the web framework, in our words."""
    if status == 404:
        return NotFound("there is nothing at this address; the API is described at /docs", code="no_such_path")
    if status == 405:
        return Invalid("this address does not take that method; the API is described at /docs", code="method")
    return Invalid(detail, code="invalid")


def install_problems(app: FastAPI) -> None:
    @app.exception_handler(KeepbookError)
    def refused(_: Request, error: KeepbookError) -> Response:
        return response(error)

    @app.exception_handler(RequestValidationError)
    def unreadable(request: Request, error: RequestValidationError) -> Response:
        found = error.errors()
        unknown = (one for one in found if one["type"] == "extra_forbidden")  # it may explain one that is missing
        first = next(unknown, found[0])
        where = [str(part) for part in first["loc"] if part not in ("body", "query", "path", "header")]
        if first["type"] == "json_invalid":
            where = []  # it names the letter where reading ended
        field = ".".join(where) or "body"
        words = _unreadable_in_words(first, field)
        if first["type"] == "extra_forbidden":
            words += _advice(request, where)
        return response(Invalid(words, field=field))

    @app.exception_handler(HTTPException)
    def framework(_: Request, error: HTTPException) -> Response:
        made = from_status(error.status_code, str(error.detail))
        body = document(made) | {"status": error.status_code, "title": HTTPStatus(error.status_code).phrase}
        return ProblemResponse(body, error.status_code, error.headers, MEDIA_TYPE)

    @app.exception_handler(ClientDisconnect)
    def gone(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_GONE)

    @app.exception_handler(Exception)
    def broken(request: Request, error: Exception) -> Response:
        route = getattr(request.scope.get("route"), "path", "-")
        log.error("%s %s: %s", request.method, route, type(error).__name__, exc_info=error)
        return response(KeepbookError("something broke here; it is in the server's log", code="error"))


def _unreadable_in_words(error: Mapping[str, Any], field: str) -> str:
    if error["type"] == "json_invalid":
        return f"the body is not JSON: reading ends at letter {error['loc'][-1]}"
    if field == "body" and error["type"] in ("missing", "dict_type", "model_attributes_type", "dataclass_type"):
        return "the body is a JSON object, sent with the header Content-Type: application/json"
    if error["type"] == "missing":
        return f"{field} is missing"
    if error["type"] == "extra_forbidden":
        return f"there is no field {field}"
    return f"{field}: {error['msg']}"


def _advice(request: Request, where: Sequence[str]) -> str:
    """Which field of the body was probably meant by one that there is not."""
    body = getattr(request.scope.get("route"), "body_field", None)
    if body is None:
        return ""
    shape = _model_in(body.field_info.annotation)
    for part in where[:-1]:
        if shape is not None and part in shape.model_fields:  # a number in a list stays with the list's model
            shape = _model_in(shape.model_fields[part].annotation)
    if shape is None:
        return ""
    meant = nearest_name(where[-1], shape.model_fields)
    if meant is None:
        return ""
    return f"; did you mean {meant!r}?"


def _model_in(shape: Any) -> type[BaseModel] | None:
    """The model in an annotation such as `list[NewTurn] | None`."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return shape
    models = (_model_in(one) for one in get_args(shape))
    return next(filter(None, models), None)


CLIENT_GONE = 499
"""The status of a request whose client hung up before it was read: no error of the server. Nobody receives it."""
_WORDS = {
    401: "No token, or one that opens nothing",
    403: "Not allowed",
    404: "Not found",
    409: "The book has moved on, or several memories fit",
    412: "If-Match does not fit",
    413: "Too large",
    422: "The input breaks a rule",
    429: "A limit is reached",
    502: "A language model failed",
    503: "The database cannot be reached",
}


def problem_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The entries of the OpenAPI document that say that these answers are problem documents."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _WORDS[status], "content": content} for status in statuses}


USUAL = problem_answers(401, 403, 404, 409, 413, 422, 429, 503)
