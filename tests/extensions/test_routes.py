"""The server with one extension of this package or both: what is there, what is not, and what is taken for others."""

from collections.abc import Sequence
from typing import Any

import pytest
from fastapi.routing import APIRoute
from starlette.testclient import TestClient
from tests.doors.http.test_extension_routes import Modules, module, opened, router_of, served

from keepbook.doors.http.app import create_app
from keepbook.doors.http.call import May
from keepbook.doors.http.web.frame.extension_pages import NavItem
from keepbook.errors import Invalid
from keepbook.extension import Extension

__all__ = ["module"]
BOTH = ("agents", "trading")


def test_what_a_stranger_brings_stands_after_them(module: Modules) -> None:
    habits = Extension(
        name="habits",
        api=(module(router=router_of("/api/habits")),),
        menu=module(PLACES=(NavItem("habits", "Habits", "/habits", "mark", "h", hides_empty=True),)),
    )
    client = served(habits, on=BOTH)
    assert "Otherwise Agents, Results, Trading and Habits stand under More until" in client.get("/settings").text
    tags = [one["name"] for one in client.get("/openapi.json").json()["tags"]]
    assert tags[1:4] == ["chat", "agents", "trading"]


def test_what_they_have_is_taken(module: Modules) -> None:
    with pytest.raises(Invalid) as refused:
        served(Extension(name="habits", api=(module(router=router_of("/api/agents")),)), on=BOTH)
    assert refused.value.field == "extensions"
    words = "extension 'habits' brings the path GET /api/agents, which is there already"
    assert refused.value.message == words
    served(Extension(name="habits", api=(module(router=router_of("/api/agents", method="PUT")),)), on=BOTH)
    place = NavItem("habits", "Habits", "/habits", "mark", "d")
    with pytest.raises(Invalid, match="the letter 'd' in the menu, and so has Trading"):
        served(Extension(name="habits", menu=module(PLACES=(place,))), on=BOTH)


PLACES = ("/agents", "/results/trade-decisions", "/trading", "/trading/import", "/api/agents", "/api/trading/skills")


@pytest.mark.parametrize("on", [("agents",), ("trading",)])
def test_what_is_off_is_nowhere(on: tuple[str, ...]) -> None:
    client = served(on=on)
    whose = {path: "trading" if "trading" in path else "agents" for path in PLACES}
    whose["/results/trade-decisions"] = "agents"
    for path, extension in whose.items():
        assert client.get(path).status_code == (200 if extension in on else 404), path
    page = client.get("/settings", headers={"Cookie": "keepbook_pages=all"}).text
    assert ("/trading" in page) == ("trading" in on)
    assert ("/agents" in page) == ("agents" in on)
    assert ("Show every page" in page) == bool(on)
    told = client.get("/openapi.json").json()
    assert {one["name"] for one in told["tags"]} & {"agents", "trading"} == set(on)
    assert not [path for path in told["paths"] if "trading" in path and "trading" not in on]
    for path in ("/chat", "/profile/facts", "/journal", "/time", "/settings", "/import", "/api/me", "/api/tools"):
        assert client.get(path).status_code == 200, path


def test_the_first_page_says_what_a_preset_works_without() -> None:
    words = "Coach works without trading figures here; add trading to extensions."

    def first_page(on: Sequence[str]) -> str:
        app = create_app(opened(on, preset="coach"))
        return TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 1)).get("/chat").text

    assert words in first_page(("agents",))
    assert "works without" not in first_page(("agents", "trading"))


def test_every_route_of_the_api_asks_who_it_is(kb: Any) -> None:
    """The gate leaves letting in to the routes; one that forgot to would answer anybody."""
    routes = [one for one in create_app(kb).routes if isinstance(one, APIRoute) and one.path.startswith("/api/")]
    assert len(routes) > 100
    assert [
        one.path for one in routes if not any(isinstance(asked.call, May) for asked in one.dependant.dependencies)
    ] == []
