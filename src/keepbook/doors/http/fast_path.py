"""Serves endpoints that are plain functions in a single worker thread, which authenticates the caller, checks the
permission, validates the input and calls the endpoint. FastAPI would switch threads for each step.

The input is described by the endpoint's own signature and validated by pydantic; FastAPI reads the same signature for
the OpenAPI document, and errors have its form. A parameter that was not sent costs nothing. FastAPI's own way serves
all the rest: coroutines (a stream, a run, a file), a body that is not plain JSON, and a signature with something that
`read_declaration` does not know.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson
from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.params import Body, Depends, Form, Header, Path, Query
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.doors.http.api.query_names import QueryNames
from keepbook.doors.http.call import May
from keepbook.doors.http.worker_threads import WORKER_THREADS, turn_to_serve

RECEIVED = {"path": attrgetter("path_params"), "query": attrgetter("query_params"), "header": attrgetter("headers")}
"""Functions that get the values of a request, by the place where FastAPI looks for them."""

Errors = list[dict[str, Any]]
"""Errors in pydantic's form, as `RequestValidationError` takes them."""
FastAnswer = Callable[[Request, bytes], Response | None]
"""Given a request and its body, returns the answer, or None if FastAPI has to read the request itself."""

PLACES: tuple[tuple[type, str], ...] = ((Path, "path"), (Query, "query"), (Header, "header"))
SCALARS = (str, int, float, bool, NoneType)
"""Types of parameters in the query, and of defaults: a default must be immutable, because requests share it."""


class FastRoute(APIRoute):
    """A route that takes no parameter which it does not know, and is served by the fast path if its endpoint allows
    it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if not iscoroutinefunction(self.endpoint):
            self._serve_fast_if_possible()
        self.app = QueryNames(set(_query_names(self.dependant)), self.openapi_extra).refuse_others(self.app)

    def _serve_fast_if_possible(self) -> None:
        declared = read_declaration(self.endpoint, self.param_convertors)
        if declared is None or len(declared.rights) != 1 or len(declared.bodies) > 1:
            return
        [(_, may)] = declared.rights
        if isinstance(may, May):
            has_body = bool(declared.bodies) or not may.reads
            self.app: ASGIApp = _serve_fast(_answering(self.endpoint, declared, may), self.app, has_body)


def _query_names(dependant: Dependant) -> Iterator[str]:
    """The parameters of a query string that an endpoint and what it depends on declare."""
    for one in dependant.query_params:
        yield one.alias
    for below in dependant.dependencies:
        yield from _query_names(below)


def _answering(endpoint: Callable[..., Response], declared: "Declaration", may: May) -> FastAnswer:
    """The function that serves this endpoint: it makes the `Call`, validates the values, and calls the endpoint."""
    [(call_name, _)] = declared.rights
    declared_by_right = read_declaration(may.__call__, {})
    assert declared_by_right is not None, "a right reads headers alone"
    headers_of_right = _Values(declared_by_right.values)
    places = []
    for place, received in RECEIVED.items():
        declared_here = [one for one in declared.values if one.place == place]
        if declared_here:
            places.append((received, _Values(declared_here)))
    declared_body = next(iter(declared.bodies), None)

    def answered(request: Request, body: bytes) -> Response | None:
        parsed = None
        if declared_body is not None:
            parsed = _json(request, body)
            if parsed is None:
                return None
        errors: Errors = []
        of_right = headers_of_right.read(request.headers, errors)
        if errors:
            raise RequestValidationError(errors)
        given: dict[str, Any] = {call_name: may.at_once(request, body, **of_right)}
        for received, values in places:
            given |= values.read(received(request), errors)
        if declared_body is not None:
            given[declared_body.name] = declared_body.check(parsed, errors)
        if errors:
            raise RequestValidationError(errors)
        for name in declared.requests:
            given[name] = request
        return endpoint(**given)

    return answered


def _serve_fast(answered: FastAnswer, usual: ASGIApp, has_body: bool) -> ASGIApp:
    """The ASGI application of a route: reads the body, calls `answered` in a worker thread, and falls back on `usual`,
    which is FastAPI's own, if that returns None."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        body = b""
        if has_body:
            body = await request.body()
        async with turn_to_serve(scope):
            made = await WORKER_THREADS.do(lambda: answered(request, body))
        if made is None:
            await usual(scope, _again(body, receive), send)
        else:
            await made(scope, receive, send)

    return app


def _again(body: bytes, receive: Receive) -> Receive:
    """A `receive` that first gives a body that was read already, and then what really comes."""
    read = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receiving() -> Message:
        return next(read, None) or await receive()

    return receiving


class _Values:
    """Reads the declared values of one place: validates those that were sent, and takes the default of the others."""

    def __init__(self, declared: "Sequence[Declared]") -> None:
        self._declared = declared
        self._defaults = {one.name: one.default for one in declared if not one.is_required}

    def read(self, received: Mapping[str, Any], errors: Errors) -> dict[str, Any]:
        """The values by name. What is wrong with them is appended to `errors`."""
        found = self._defaults.copy()
        for one in self._declared:
            if one.spelled in received:
                found[one.name] = one.check(one.sent(received), errors)
            elif one.is_required:
                one.tell_missing(errors)
        return found


def _json(request: Request, body: bytes) -> Any:
    """The parsed body. None if it is not labelled as JSON, or is no JSON."""
    if request.headers.get("content-type") != "application/json":
        return None
    try:
        return orjson.loads(body)
    except ValueError:
        return None


class Declared:
    """A parameter of an endpoint, as its annotation and its marker (`Query(...)` and the like) declare it."""

    def __init__(self, name: str, place: str, kind: Any, told: FieldInfo | None, default: Any) -> None:
        self.name: str = name
        self.place: str = place
        self.spelled: str = _spelled(name, told)
        self.default = default
        self._many = any(get_origin(one) is list for one in _choices(kind))
        if told is not None and told.metadata:
            kind = Annotated[(kind, *told.metadata)]
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    @property
    def is_required(self) -> bool:
        return self.default is Parameter.empty

    def sent(self, received: Mapping[str, Any]) -> Any:
        """The value in a request; all values of a repeated key if the parameter is a list."""
        if self._many:
            return received.getlist(self.spelled)  # type: ignore[attr-defined]
        return received[self.spelled]

    def check(self, value: Any, errors: Errors) -> Any:
        """The validated value. What is wrong with it is appended to `errors`."""
        try:
            return self._adapter.validate_python(value, from_attributes=True)
        except ValidationError as wrong:
            for one in wrong.errors(include_url=False):
                errors.append({**one, "loc": (*self._place_of_errors(), *one["loc"])})

    def tell_missing(self, errors: Errors) -> None:
        errors.append({"type": "missing", "loc": self._place_of_errors(), "msg": "Field required", "input": None})

    def _place_of_errors(self) -> tuple[str, ...]:
        if self.place == "body":
            return ("body",)
        return (self.place, self.spelled)


class Declaration(NamedTuple):
    rights: "list[tuple[str, Any]]"
    """Parameters that a dependency fills, each with the dependency."""
    values: list[Declared]
    bodies: list[Declared]
    requests: list[str]
    """Parameters that get the request itself."""


def read_declaration(endpoint: Callable[..., Any], in_path: Mapping[str, Any]) -> Declaration | None:
    """What an endpoint's signature declares; None if it has a parameter that we do not know how to fill. `in_path` has
    the names that are part of the path."""
    found = Declaration([], [], [], [])
    hints = get_type_hints(endpoint, include_extras=True)
    for name, parameter in signature(endpoint).parameters.items():
        if not _note(found, name, hints[name], parameter.default, in_path):
            return None
    return found


def _note(found: Declaration, name: str, hint: Any, default: Any, in_path: Mapping[str, Any]) -> bool:
    """Add one parameter to the declaration; returns False if we do not know how to fill it."""
    kind, *markers = _parts(hint)
    marker = next(iter(markers), None)
    has_default_in_marker = isinstance(marker, FieldInfo) and not marker.is_required()
    if len(markers) > 1 or has_default_in_marker or not isinstance(default, (*SCALARS, type)):
        return False
    if isinstance(marker, Depends):
        found.rights.append((name, marker.dependency))
        return True
    if kind is Request:
        found.requests.append(name)
        return True
    place = _place(name, kind, marker, in_path)
    if place is None:
        return False
    declared = Declared(name, place, kind, marker, default)
    if place == "body":
        found.bodies.append(declared)
    else:
        found.values.append(declared)
    return True


def _parts(hint: Any) -> tuple[Any, ...]:
    """The type of an annotation, followed by the markers in `Annotated`."""
    if get_origin(hint) is Annotated:
        return get_args(hint)
    return (hint,)


def _place(name: str, kind: Any, marker: Any, in_path: Mapping[str, Any]) -> str | None:
    """Where FastAPI looks for a value: `body`, `path`, `query` or `header`; None if it is none of our kinds."""
    if isinstance(marker, Body):
        return None if marker.embed or isinstance(marker, Form) else "body"
    for kind_of_marker, place in PLACES:
        if isinstance(marker, kind_of_marker):
            return place
    if marker is not None:
        return None
    if name in in_path:
        return "path"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "body"
    if all(one in SCALARS or get_origin(one) is Literal for one in _choices(kind)):
        return "query"
    return None


def _choices(kind: Any) -> Iterator[Any]:
    """The members of a union; a type that is none alone."""
    if get_origin(kind) in (Union, UnionType):
        yield from get_args(kind)
    else:
        yield kind


def _spelled(name: str, told: FieldInfo | None) -> str:
    """The name of a parameter in a request."""
    if told is not None and told.alias is not None:
        return told.alias
    if isinstance(told, Header):
        return name.replace("_", "-")
    return name
