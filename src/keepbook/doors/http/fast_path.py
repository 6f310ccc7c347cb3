"""Answers routes that do not wait in one worker thread: it authenticates the caller, checks the right, reads what was
sent and serves it, where the framework would switch threads for each step.

What was sent is read by the framework's own rules; a parameter that was not sent needs none of them. A route that waits
(for a stream, a run, a file) goes the framework's usual way, and so does a body that is not plainly JSON. What this
takes of the framework is no promise of it: where a newer one no longer has it, all routes go the usual way.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import iscoroutinefunction
from operator import attrgetter
from typing import Any

import orjson
from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form, Header
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.doors.http.call import May
from keepbook.doors.http.worker_threads import WORKER_THREADS

try:
    from fastapi.dependencies.utils import request_params_to_args as read_parameters
except ImportError:
    read_parameters = None  # type: ignore[assignment]

_FIXED = (str, int, float, bool, type(None))


FastAnswer = Callable[[Request, bytes], Response | None]
"""What makes the answer to a request; None for one that the framework itself should look at."""


class FastRoute(APIRoute):
    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        may = None
        if read_parameters is not None:
            may = self._asks_once()
        if may is not None:
            waits = bool(self.dependant.body_params) or not may.reads
            self.app: ASGIApp = _serve_fast(self._answering(may), self.app, waits)

    def _asks_once(self) -> May | None:
        """The right that it asks for, if that is all there is to wait for."""
        needs = self.dependant
        asks = [one.call for one in needs.dependencies]
        if len(asks) != 1 or not isinstance(asks[0], May) or iscoroutinefunction(self.endpoint) or needs.cookie_params:
            return None
        if self._embed_body_fields or isinstance(getattr(self.body_field, "field_info", None), Form):
            return None
        return asks[0]

    def _answering(self, may: May) -> FastAnswer:
        needs, asked, endpoint = self.dependant, self.dependant.dependencies[0], self.endpoint
        for_the_right = _Parameters(asked.header_params)
        kinds = {"path_params": needs.path_params, "query_params": needs.query_params, "headers": needs.header_params}
        sent = [(_Parameters(fields), attrgetter(kind)) for kind, fields in kinds.items() if fields]
        body_field = needs.body_params[0] if needs.body_params else None

        def answered(request: Request, body: bytes) -> Response | None:
            said = None
            if body_field is not None and (said := _json(request, body)) is None:
                return None
            errors: list[Any] = []
            key = for_the_right.values(request.headers, errors)
            if errors:
                raise RequestValidationError(errors)
            given: dict[str, Any] = {str(asked.name): may.at_once(request, body, **key)}
            for fields, received in sent:
                given |= fields.values(received(request), errors)
            if body_field is not None:
                given[body_field.name], wrong = body_field.validate(said, {}, loc=("body",))
                errors += wrong
            if errors:
                raise RequestValidationError(errors)
            if needs.request_param_name:
                given[needs.request_param_name] = request
            made: Response = endpoint(**given)
            return made

        return answered


def _serve_fast(answered: FastAnswer, usual: ASGIApp, waits: bool) -> ASGIApp:
    """`waits` says that there is a body to wait for."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        body = await request.body() if waits else b""
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


class _Parameters:
    """Parameters of one kind: what was sent goes by the framework's rules, the rest is what it is when left out."""

    def __init__(self, fields: Sequence[Any]) -> None:
        self._spelled = [
            (one, one.alias.replace("_", "-") if isinstance(one.field_info, Header) else one.alias) for one in fields
        ]
        self._left_out = {
            one.name: one.default
            for one in fields
            if not one.field_info.is_required() and isinstance(one.default, _FIXED)
        }

    def values(self, received: Mapping[str, Any], errors: list[Any]) -> dict[str, Any]:
        """By name; what is wrong with them is added to `errors`."""
        sent = [one for one, name in self._spelled if one.name not in self._left_out or name in received]
        if not sent:
            return self._left_out
        found, wrong = read_parameters(sent, received)
        errors += wrong
        return self._left_out | found


def _json(request: Request, body: bytes) -> Any:
    """What a body says that calls itself JSON and is; else None."""
    if request.headers.get("content-type") != "application/json":
        return None
    try:
        return orjson.loads(body)
    except ValueError:
        return None
