"""A route answers alike in one worker thread and in the framework's usual way, where a newer one lacks what the first
takes of it."""

from typing import Annotated, Any

import pytest
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.testclient import TestClient

from keepbook.doors.auth import Caller
from keepbook.doors.http import fast_path
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute

Reading = Annotated[Call, permitted_call("memories.read")]


def _answers(kb: Any) -> list[tuple[int, Any]]:
    router = APIRouter(route_class=FastRoute)

    @router.get("/things/{name}")
    def show(call: Reading, name: str, limit: int = 3) -> Response:
        return json_response({"owner": call.caller.owner, "name": name, "limit": limit})

    app = FastAPI()

    @app.middleware("http")
    async def let_in(request: Request, go_on: Any) -> Response:
        request.state.kb, request.state.let_in = kb, lambda: None
        request.state.caller = Caller("alice", "person", frozenset({"read"}))
        answer: Response = await go_on(request)
        return answer

    app.router.routes.extend(router.routes)
    client = TestClient(app)
    answers = [client.get(path) for path in ("/things/one?limit=7", "/things/two", "/things/three?limit=many")]
    return [(one.status_code, one.json()) for one in answers]


def test_without_the_frameworks_private_parts_a_route_answers_its_usual_way(
    kb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = _answers(kb)
    asked = []
    monkeypatch.setattr(fast_path, "read_parameters", None)
    monkeypatch.setattr(fast_path, "_serve_fast", lambda *given: asked.append(given))
    usual = _answers(kb)
    assert usual == fast
    assert [status for status, _ in usual] == [200, 200, 422]
    assert usual[0][1] == {"owner": "alice", "name": "one", "limit": 7}
    assert asked == []
