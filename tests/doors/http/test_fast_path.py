"""A route answers alike in one worker thread and in the framework's usual way, whatever was sent."""

from typing import Annotated, Any, Literal

import pytest
from fastapi import APIRouter, Body, FastAPI, Header, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.testclient import TestClient

from keepbook.doors.auth import Caller
from keepbook.doors.http import fast_path
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute

Reading = Annotated[Call, permitted_call("memories.read")]
Writing = Annotated[Call, permitted_call("memories.write")]


class Thing(BaseModel):
    name: str = Field(min_length=2)
    size: int = 3
    tags: list[str] = []


def _show(
    call: Reading,
    request: Request,
    name: Annotated[str, Path(max_length=5)],
    q: Annotated[str, Query(min_length=1)],
    limit: Annotated[int, Query(ge=1, le=9)] = 3,
    order: Literal["up", "down"] = "up",
    share: float | None = None,
    whole: bool = False,
    tags: Annotated[list[str] | None, Query(alias="tag")] = None,
    if_match: Annotated[str | None, Header(max_length=4)] = None,
) -> Response:
    told = (name, q, limit, order, share, whole, tags, if_match, request.url.path)
    return json_response({"owner": call.caller.owner, "told": told})


def _make(call: Writing, thing: Thing, twice: bool = False) -> Response:
    return json_response({"thing": thing.model_dump(), "twice": twice}, 201)


def _take(call: Writing, thing: Annotated[dict[str, Any], Body()]) -> Response:
    return json_response(thing)


def _wait(call: Reading, days: Annotated[list[int] | None, Body(embed=True)] = None) -> Response:
    """Asks for what the framework alone reads."""
    return json_response(days)


def _client(kb: Any, route_class: type[APIRoute]) -> TestClient:
    router = APIRouter(route_class=route_class)
    router.add_api_route("/things/{name}", _show)
    router.add_api_route("/things", _make, methods=["POST"])
    router.add_api_route("/taken", _take, methods=["POST"])
    router.add_api_route("/waits", _wait, methods=["POST"])
    app = FastAPI()

    @app.middleware("http")
    async def let_in(request: Request, go_on: Any) -> Response:
        request.state.kb, request.state.caller_check = kb, lambda: None
        request.state.sender = lambda: (None, None)
        request.state.caller = Caller("alice", "person", frozenset({"read", "write"}))
        answer: Response = await go_on(request)
        return answer

    app.router.routes.extend(router.routes)
    return TestClient(app)


SENT: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("GET", "/things/one?q=a", {}),
    ("GET", "/things/one", {}),
    ("GET", "/things/toolong?q=&limit=many&order=sideways&share=x&whole=maybe", {}),
    ("GET", "/things/two?q=a&limit=0&limit=7&order=down&share=.5&whole=1&tag=a&tag=b", {}),
    ("GET", "/things/two?q=a&limit=7&limit=0&tag=", {"headers": {"If-Match": '"12"'}}),
    ("GET", "/things/two?q=a", {"headers": {"If-Match": "too long"}}),
    ("POST", "/things?twice=yes", {"json": {"name": "lamp", "size": "4", "other": 1}}),
    ("POST", "/things?twice=perhaps", {"json": {"name": "l", "size": "big", "tags": [1, "a"]}}),
    ("POST", "/things", {"json": ["lamp"]}),
    ("POST", "/things", {"json": "lamp"}),
    ("POST", "/things", {}),
    ("POST", "/things", {"content": b"{", "headers": {"Content-Type": "application/json"}}),
    ("POST", "/things", {"content": b'{"name":"lamp"}', "headers": {"Content-Type": "text/plain"}}),
    ("POST", "/things", {"json": {"name": "lamp"}, "headers": {"Idempotency-Key": "k" * 201}}),
    ("POST", "/taken", {"json": {"name": "lamp"}}),
    ("POST", "/taken", {"json": 3}),
    ("POST", "/waits", {"json": {"days": [1]}}),
    ("POST", "/waits", {"json": {"days": ["x"]}}),
)


def test_a_route_answers_alike_in_both_ways(kb: Any) -> None:
    fast, usual = _client(kb, FastRoute), _client(kb, APIRoute)
    statuses = set()
    for method, path, sent in SENT:
        answers = [client.request(method, path, **sent) for client in (fast, usual)]
        told = [(one.status_code, one.json()) for one in answers]
        assert told[0] == told[1], (method, path)
        statuses.add(told[0][0])
    assert statuses == {200, 201, 422}


@pytest.mark.parametrize(("endpoint", "is_fast"), [(_show, True), (_make, True), (_take, True), (_wait, False)])
def test_what_only_the_framework_reads_goes_its_way(
    endpoint: Any, is_fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(fast_path, "_serve_fast", lambda *given: made.append(given))
    FastRoute("/things/{name}", endpoint)
    assert bool(made) == is_fast
