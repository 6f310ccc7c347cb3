"""Answers routes that do not wait in one worker thread: it authenticates the caller, checks the right, reads what was
sent and serves it, where the framework would switch threads for each step.

What is sent is read from the endpoint's own signature and checked by pydantic; the framework reads the same signature
for the document, and what is wrong with a request is told in its words. A parameter that was not sent costs nothing. A
route that waits (for a stream, a run, a file) goes the framework's usual way, and so does a body that is not plainly
JSON, and an endpoint that asks for more than `read_declaration` knows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter, iscoroutinefunction, signature
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import Body, Depends, Form, Header, Path, Query
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.doors.http.call import May
from keepbook.doors.http.worker_threads import WORKER_THREADS

RECEIVED = {"path": attrgetter("path_params"), "query": attrgetter("query_params"), "header": attrgetter("headers")}

Errors = list[dict[str, Any]]
FastAnswer = Callable[[Request, bytes], Response | None]
"""What makes the answer to a request; None for one that the framework itself should look at."""

PLACES: tuple[tuple[type, str], ...] = ((Path, "path"), (Query, "query"), (Header, "header"))
SCALARS = (str, int, float, bool, NoneType)
"""Also what a value may be when it is left out: nothing that one request could change for the next."""


class FastRoute(APIRoute):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if iscoroutinefunction(self.endpoint):
            return
        declared = read_declaration(self.endpoint, self.param_convertors)
        if declared is None or len(declared.rights) != 1 or len(declared.bodies) > 1:
            return
        may = declared.rights[0][1]
        if isinstance(may, May):
            waits = bool(declared.bodies) or not may.reads
            self.app: ASGIApp = _serve_fast(_answering(self.endpoint, declared, may), self.app, waits)


def _answering(endpoint: Callable[..., Response], declared: "Declaration", may: May) -> FastAnswer:
    [(call_name, _)] = declared.rights
    for_the_right = read_declaration(may.__call__, {})
    assert for_the_right is not None, "a right reads headers alone"
    headers_of_right = _Values(for_the_right.values)
    places = [(RECEIVED[place], _Values([one for one in declared.values if one.place == place])) for place in RECEIVED]
    places = [(received, values) for received, values in places if values.asked]
    body_asked = next(iter(declared.bodies), None)

    def answered(request: Request, body: bytes) -> Response | None:
        said = None
        if body_asked is not None:
            said = _json(request, body)
            if said is None:
                return None
        errors: Errors = []
        of_right = headers_of_right.read(request.headers, errors)
        if errors:
            raise RequestValidationError(errors)
        given: dict[str, Any] = {call_name: may.at_once(request, body, **of_right)}
        for received, values in places:
            given |= values.read(received(request), errors)
        if body_asked is not None:
            given[body_asked.name] = body_asked.check(said, errors)
        if errors:
            raise RequestValidationError(errors)
        for name in declared.requests:
            given[name] = request
        return endpoint(**given)

    return answered


def _serve_fast(answered: FastAnswer, usual: ASGIApp, waits: bool) -> ASGIApp:
    """`waits` says that there is a body to wait for."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        body = b""
        if waits:
            body = await request.body()
        made = await WORKER_THREADS.do(lambda: answered(request, body))
        if made is None:
            await usual(scope, _again(body, receive), send)
        else:
            await made(scope, receive, send)

    return app


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read, as if it came now; what comes after it comes as it does."""
    read = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receiving() -> Message:
        return next(read, None) or await receive()

    return receiving


class _Values:
    """Values of one place: what was sent is checked, the rest is what it is when left out."""

    def __init__(self, asked: "Sequence[Declared]") -> None:
        self.asked = asked
        self._left_out = {one.name: one.default for one in asked if not one.is_required}

    def read(self, received: Mapping[str, Any], errors: Errors) -> dict[str, Any]:
        """By name; what is wrong with them is added to `errors`."""
        found = self._left_out.copy()
        for one in self.asked:
            if one.spelled in received:
                found[one.name] = one.check(one.sent(received), errors)
            elif one.is_required:
                one.tell_missing(errors)
        return found


def _json(request: Request, body: bytes) -> Any:
    """What a body says that calls itself JSON and is; else None."""
    if request.headers.get("content-type") != "application/json":
        return None
    try:
        return orjson.loads(body)
    except ValueError:
        return None


class Declared:
    """One value that an endpoint asks for, by its annotation and what else is said of it."""

    def __init__(self, name: str, place: str, kind: Any, told: FieldInfo | None, default: Any) -> None:
        self.name, self.place = name, place
        self.spelled = _spelled(name, told)
        self.default = default
        self._many = any(get_origin(one) is list for one in _choices(kind))
        if told is not None and told.metadata:
            kind = Annotated[(kind, *told.metadata)]
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    @property
    def is_required(self) -> bool:
        return self.default is Parameter.empty

    def sent(self, received: Mapping[str, Any]) -> Any:
        """What a request says of it, of repeated ones all where many are asked for."""
        if self._many:
            return received.getlist(self.spelled)  # type: ignore[attr-defined]
        return received[self.spelled]

    def check(self, value: Any, errors: Errors) -> Any:
        """The value in its type; what is wrong with it is added to `errors`."""
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
    """Parameters that a dependency fills, with what is called for them."""
    values: list[Declared]
    bodies: list[Declared]
    requests: list[str]
    """Parameters that get the request itself."""


def read_declaration(endpoint: Callable[..., Any], in_path: Mapping[str, Any]) -> Declaration | None:
    found = Declaration([], [], [], [])
    hints = get_type_hints(endpoint, include_extras=True)
    for name, parameter in signature(endpoint).parameters.items():
        if not _note(found, name, hints[name], parameter.default, in_path):
            return None
    return found


def _note(found: Declaration, name: str, hint: Any, default: Any, in_path: Mapping[str, Any]) -> bool:
    """Take one parameter in; False for a kind that is not known here."""
    kind, *said = _parts(hint)
    told = next(iter(said), None)
    makes_its_own = isinstance(told, FieldInfo) and not told.is_required()
    if len(said) > 1 or makes_its_own or not isinstance(default, (*SCALARS, type)):
        return False
    if isinstance(told, Depends):
        found.rights.append((name, told.dependency))
        return True
    if kind is Request:
        found.requests.append(name)
        return True
    place = _place(name, kind, told, in_path)
    if place is None:
        return False
    declared = Declared(name, place, kind, told, default)
    if place == "body":
        found.bodies.append(declared)
    else:
        found.values.append(declared)
    return True


def _parts(hint: Any) -> tuple[Any, ...]:
    """A type, and what is said of it beside."""
    if get_origin(hint) is Annotated:
        return get_args(hint)
    return (hint,)


def _place(name: str, kind: Any, told: Any, in_path: Mapping[str, Any]) -> str | None:
    """Where a value is looked for, by the framework's rules."""
    if isinstance(told, Body):
        return None if told.embed or isinstance(told, Form) else "body"
    for marker, place in PLACES:
        if isinstance(told, marker):
            return place
    if told is not None:
        return None
    if name in in_path:
        return "path"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "body"
    if all(one in SCALARS or get_origin(one) is Literal for one in _choices(kind)):
        return "query"
    return None


def _choices(kind: Any) -> Iterator[Any]:
    if get_origin(kind) in (Union, UnionType):
        yield from get_args(kind)
    else:
        yield kind


def _spelled(name: str, told: FieldInfo | None) -> str:
    """As a request spells it."""
    if told is not None and told.alias is not None:
        return told.alias
    if isinstance(told, Header):
        return name.replace("_", "-")
    return name
