"""Routes that wait for nobody are answered at once: when the request is there, one worker thread lets the caller in,
asks for the right, reads what was sent and serves it, where the framework would go there and back for each.

What was sent is read by the framework's own rules; a parameter that was not sent needs none of them. A route that waits
(for a stream, a run, a file) goes the framework's usual way, and so does a body that is not plainly JSON.
"""

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from inspect import iscoroutinefunction
from typing import Any

from fastapi import Request
from fastapi._compat import ModelField
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.params import Form, Header
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.call import May

_FIXED = (str, int, float, bool, type(None))


class AtOnce(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        usual, needs = super().get_route_handler(), self.dependant
        asks = [one.call for one in needs.dependencies]
        if len(asks) != 1 or not isinstance(asks[0], May) or iscoroutinefunction(self.endpoint) or needs.cookie_params:
            return usual
        if self._embed_body_fields or isinstance(getattr(self.body_field, "field_info", None), Form):
            return usual
        may, asked, endpoint = asks[0], needs.dependencies[0], self.endpoint
        path, query, headers = _Sent(needs.path_params), _Sent(needs.query_params), _Sent(needs.header_params)
        for_the_right = _Sent(asked.header_params)
        body_field = needs.body_params[0] if needs.body_params else None

        def answered(request: Request, body: bytes) -> Response | None:
            """None for what the framework itself should look at."""
            said = None
            if body_field is not None and (said := _json(request, body)) is None:
                return None
            errors: list[Any] = []
            key = for_the_right.values(request.headers, errors)
            if errors:
                raise RequestValidationError(errors)
            given: dict[str, Any] = {str(asked.name): may.at_once(request, body, **key)}
            given |= path.values(request.path_params, errors)
            given |= query.values(request.query_params, errors)
            given |= headers.values(request.headers, errors)
            if body_field is not None:
                given[body_field.name], wrong = body_field.validate(said, {}, loc=("body",))
                errors += wrong
            if errors:
                raise RequestValidationError(errors)
            if needs.request_param_name:
                given[needs.request_param_name] = request
            made: Response = endpoint(**given)
            return made

        waits = body_field is not None or not may.reads

        async def handler(request: Request) -> Response:
            made = await run_in_threadpool(answered, request, await request.body() if waits else b"")
            return await usual(request) if made is None else made

        return handler


class _Sent:
    """Parameters of one kind: what was sent goes by the framework's rules, the rest is what it is when left out."""

    def __init__(self, fields: Sequence[ModelField]) -> None:
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
        found, wrong = request_params_to_args(sent, received)
        errors += wrong
        return self._left_out | found


def _json(request: Request, body: bytes) -> Any:
    """What a body says that calls itself JSON and is; else None."""
    if request.headers.get("content-type") != "application/json":
        return None
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
