"""`/health` and `/metrics`: for whoever runs the server."""

import time
from dataclasses import dataclass

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keepbook.doors.http.call import answer
from keepbook.doors.http.problems import USUAL, documented
from keepbook.errors import KeepbookError

router = APIRouter(tags=["operation"], responses=USUAL)


@dataclass(frozen=True)
class Health:
    status: str
    engine: str
    schema: str


@router.get("/health", response_model=Health, responses=documented(503))
def health(request: Request) -> Response:
    """Ready to serve, on the database's own word."""
    try:
        facts = request.state.kb.facts()
    except KeepbookError as error:
        raise KeepbookError(error.message, code="unavailable") from error
    return answer(Health("ok", facts["engine"], facts["schema"]))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(request: Request) -> Response:
    request.state.caller.ask("server.metrics")
    found: Metrics = request.app.state.metrics
    return Response(generate_latest(found.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


class Metrics:
    """Counts by route and never by path: a path may name someone."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names = ("method", "route", "status")
        self._requests = Counter("keepbook_requests", "Requests answered.", names, registry=self.registry)
        self._seconds = Histogram(
            "keepbook_request_seconds", "Time to the end of an answer.", ("method", "route"), registry=self.registry
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class Counted:
    """Counts what passes."""

    def __init__(self, app: ASGIApp, owner: FastAPI) -> None:
        self._app = app
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            route = getattr(scope.get("route"), "path", "-")
            self._owner.state.metrics.count(scope["method"], route, status, time.perf_counter() - began)
