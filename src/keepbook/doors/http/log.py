"""The log of requests: gives each an id, counts it for the metrics, and logs it.

With `log_format = "json"` every request is one line of JSON on stderr, and so is everything else that is logged. A line
holds the id of the request, the route, the status, the code of a problem and how long it took: never a path, an owner,
a body or the message of an exception, which may hold anybody's words. The id comes from the client or a proxy
(`X-Request-ID`) or is made here, and is sent with the answer.
"""

import json
import logging
import secrets
import sys
import time
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.book.ground.one_line_log import get_logger, raised_at
from keepbook.patterns import regex

HEADER = "X-Request-ID"
_NAME = HEADER.lower().encode()
_ID = regex(r"[A-Za-z0-9._-]{1,64}")
_request: ContextVar[str | None] = ContextVar("keepbook_request", default=None)
_log = get_logger("keepbook.requests")
OWN = ("event", "method", "route", "status", "ms", "code")
"""The fields that only a line about a request has."""


class AccessLog:
    """Outermost middleware: logs every request, also those that the gate refuses."""

    def __init__(self, app: ASGIApp, owner: FastAPI) -> None:
        self._app = app
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asked = next((value.decode("latin-1") for name, value in scope["headers"] if name == _NAME), "")
        if _ID.fullmatch(asked):
            id = asked
        else:
            id = secrets.token_hex(8)
        status, began, token = 500, time.perf_counter(), _request.set(id)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (_NAME, id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._tell(scope, status, time.perf_counter() - began)
            _request.reset(token)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "-")
        code = scope.get("state", {}).get("problem")
        self._owner.state.metrics.count(scope["method"], route, status, seconds, code)
        if _log.isEnabledFor(logging.INFO):
            told = {"event": "request", "method": scope["method"], "route": route, "status": status}
            _log.info("request", extra=told | {"ms": round(seconds * 1000, 1), "code": code})


class JsonLineFormatter(logging.Formatter):
    """Formats a record as one line of JSON. Of an exception it names the type and the places, never the message."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "request_id": _request.get(),
        }
        own = {name: getattr(record, name) for name in OWN if hasattr(record, name)}
        told |= own or {"event": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            told["error"] = type(error).__name__
            told["where"] = raised_at(error)
        return json.dumps(told)  # as ASCII: some readers take other Unicode characters for the end of a line


def log_as_json() -> None:
    """Let this process log as JSON from now on, the web server's own lines included."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLineFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("keepbook").setLevel(logging.INFO)


def log_in_lines() -> None:
    """Make the web server's own log records one line each too."""
    get_logger("uvicorn.error")
