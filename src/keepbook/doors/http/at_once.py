"""Routes that only read are answered at once: who asks is told from the token, asked for the right, and served by one
worker thread in one go, where the framework would go there and back for each.

What was sent is read by the framework's own rules; a parameter that was not sent needs none of them. A route that
waits for anything (a body, a stream, a run) goes the framework's usual way.
"""

from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from typing import Any

from fastapi import Request
from fastapi.dependencies.utils import request_params_to_args
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.call import May

_FIXED = (str, int, float, bool, type(None))


class AtOnce(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        needs = self.dependant
        asks = [one.call for one in needs.dependencies]
        if len(asks) != 1 or not isinstance(asks[0], May) or not asks[0].reads:
            return super().get_route_handler()
        if self.body_field is not None or iscoroutinefunction(self.endpoint) or needs.cookie_params:
            return super().get_route_handler()
        may, name, endpoint = asks[0], needs.dependencies[0].name, self.endpoint
        left_out = {
            field.name: field.default
            for field in needs.query_params
            if not field.field_info.is_required() and isinstance(field.default, _FIXED)
        }

        def answered(request: Request) -> Response:
            given: dict[str, Any] = {str(name): may.at_once(request)}
            sent = request.query_params
            asked = [one for one in needs.query_params if one.name not in left_out or one.alias in sent]
            values, errors = request_params_to_args(asked, sent)
            for fields, received in ((needs.path_params, request.path_params), (needs.header_params, request.headers)):
                more, wrong = request_params_to_args(fields, received)
                values |= more
                errors += wrong
            if errors:
                raise RequestValidationError(errors)
            if needs.request_param_name:
                given[needs.request_param_name] = request
            made: Response = endpoint(**left_out, **given) if not values else endpoint(**left_out | values | given)
            return made

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(answered, request)

        return handler
