"""`/health` and `/metrics`: for whoever runs the server."""

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from keepbook.doors.http.call import json_response
from keepbook.doors.http.metrics import Metrics
from keepbook.doors.http.problems import USUAL, problem_answers
from keepbook.errors import KeepbookError

router: APIRouter = APIRouter(tags=["operation"], responses=USUAL)


@dataclass(frozen=True)
class Health:
    status: str


@router.get("/health", response_model=Health, responses=problem_answers(503))
def health(request: Request) -> Response:
    """Ready to serve, on the database's own word. Anybody may ask, so what runs here is not told."""
    try:
        request.state.kb.facts()
    except KeepbookError as error:
        raise KeepbookError(error.message, code="unavailable") from error
    return json_response(Health("ok"))


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"description": "Prometheus", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(request: Request) -> Response:
    request.state.caller.ask("server.metrics")
    found: Metrics = request.app.state.metrics
    return Response(generate_latest(found.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})
