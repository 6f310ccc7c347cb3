"""What a stranger's extension brings to the server, what is refused of it, and what is there when one is off."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastapi import APIRouter
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.doors.http.app import create_app
from keepbook.doors.http.document import DocumentPart
from keepbook.doors.http.gate import PathRules
from keepbook.doors.http.web.frame import visit as frame
from keepbook.doors.http.web.frame.extension_pages import LoadPage, NavItem
from keepbook.doors.http.web.frame.visit import Visiting
from keepbook.errors import Invalid
from keepbook.extension import Extension, load_part
from keepbook.patterns import regex
from keepbook.settings import load_settings

PAGE = """{% extends "shell.html" %}
{% set nav = "habits" %}
{% block title %}Habits{% endblock %}
{% block main %}<p>Daily run</p>{% endblock %}
"""
Modules = Callable[..., str]


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    """Makes a module with these names; answers what it is called."""
    made = 0

    def make(**names: Any) -> str:
        nonlocal made
        made += 1
        one = ModuleType(f"habits_for_a_test_{made}")
        vars(one).update(names)
        monkeypatch.setitem(sys.modules, one.__name__, one)
        return one.__name__

    yield make
    load_part.cache_clear()


def opened(on: Sequence[str], **told: Any) -> Keepbook:
    settings = load_settings(owner="alice", extensions=list(on), **told)
    return Keepbook(":memory:", embedder="none", settings=settings)


def served(*extensions: Extension, on: Sequence[str] = ()) -> TestClient:
    kb = opened(on)
    kb.extensions = (*kb.extensions, *extensions)
    return TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))


def router_of(path: str, name: str = "list_habits", method: str = "GET", **told: Any) -> APIRouter:
    def endpoint() -> list[str]:
        return ["run"]

    endpoint.__name__ = name
    router = APIRouter(tags=["habits"])
    router.add_api_route(path, endpoint, methods=[method], **told)
    return router


def test_an_extension_brings_a_path_a_page_a_place_and_words_of_the_document(
    module: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "habit_pages" / "templates").mkdir(parents=True)
    (tmp_path / "habit_pages" / "__init__.py").touch()
    (tmp_path / "habit_pages" / "templates" / "habits.html").write_text(PAGE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(frame, "_PACKAGES", set(frame._PACKAGES))
    monkeypatch.setattr(frame, "_FOLDERS", folders := list(frame._FOLDERS))
    monkeypatch.setattr(frame.templates.loader, "loaders", folders)
    pages = APIRouter(include_in_schema=False)

    def habits_page(visit: Visiting) -> Any:
        return visit.page("habits.html")

    pages.add_api_route("/habits", habits_page, methods=["GET"], response_model=None)
    document = DocumentPart(tags={"habits": "What one does every day."})
    rules = PathRules(imports=regex(r"/api/habits/import"), command="keepbook habits import")
    habits = Extension(
        name="habits",
        api=(module(router=router_of("/api/habits"), DOCUMENT=document, PATHS=rules),),
        pages=(module(router=pages),),
        templates="habit_pages",
        menu=module(
            PLACES=(NavItem("habits", "Habits", "/habits", "mark", "h", hides_empty=True),),
            hidden=lambda _: {"habits"},
            LOADS={"habits": LoadPage("/habits/import", "Bring in habits", "habits.html")},
        ),
    )
    client = served(habits)
    assert client.get("/api/habits").json() == ["run"]
    assert "Daily run" in client.get("/habits").text
    assert 'href="/habits"' in client.get("/habits").text
    assert re.search(r'More</summary>\s*<a href="/habits"', client.get("/chat").text)
    assert 'href="/habits/import">Bring in habits</a>' in client.get("/import").text
    assert "Otherwise Habits stands under More until" in client.get("/settings").text
    told = client.get("/openapi.json").json()
    assert "/api/v1/habits" in told["paths"]
    assert [one["name"] for one in told["tags"]][1:3] == ["chat", "habits"]
    large = client.post("/api/habits/import", content=b"", headers={"Content-Length": str(10**12)})
    assert "keepbook habits import" in large.json()["detail"]


@pytest.mark.parametrize(
    ("path", "name", "method", "words"),
    [
        ("/api/memory/block", "list_habits", "GET", "the path GET /api/memory/block"),
        ("/api/memory/{habit}", "list_habits", "GET", "the path GET /api/memory/{habit}"),
        ("/api/memory/today", "list_habits", "GET", "the path GET /api/memory/today"),
        ("/api/{anything}", "list_habits", "GET", "the path GET /api/{anything}"),
        ("/static/habits", "list_habits", "GET", "the path GET /static/habits"),
        ("/api/habits", "remember", "POST", "the operation 'remember'"),
    ],
)
def test_a_path_or_operation_that_is_taken_is_refused(
    module: Modules, path: str, name: str, method: str, words: str
) -> None:
    habits = Extension(name="habits", api=(module(router=router_of(path, name, method)),))
    with pytest.raises(Invalid) as refused:
        served(habits)
    assert refused.value.field == "extensions"
    assert refused.value.message == f"extension 'habits' brings {words}, which is there already"


def test_another_method_of_a_path_is_free(module: Modules) -> None:
    served(Extension(name="habits", api=(module(router=router_of("/api/memory", method="PATCH")),)))


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (DocumentPart(tags={"me": "Mine."}), "tag 'me' already"),
        (DocumentPart(names={"HabitList": "Notes"}), "schema 'Notes' already"),
        (DocumentPart(examples={"remember": {}}), "example 'remember' already"),
    ],
)
def test_words_of_the_document_that_are_taken_are_refused(module: Modules, part: DocumentPart, words: str) -> None:
    habits = Extension(name="habits", api=(module(router=router_of("/api/habits"), DOCUMENT=part),))
    with pytest.raises(Invalid, match=words):
        served(habits)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (NavItem("chat", "Habits", "/habits", "mark", "h"), "Habits has the key 'chat' in the menu, and so has Chat"),
        (NavItem("habits", "Habits", "/time", "mark", "h"), "the path '/time' in the menu, and so has Time travel"),
        (NavItem("habits", "Habits", "/habits", "mark", "c"), "the letter 'c' in the menu, and so has Chat"),
    ],
)
def test_a_place_of_the_menu_that_is_taken_is_refused(module: Modules, place: NavItem, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        served(Extension(name="habits", menu=module(PLACES=(place,))))


def test_templates_and_counters_that_are_taken_are_refused(
    module: Modules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken_pages" / "templates").mkdir(parents=True)
    (tmp_path / "taken_pages" / "__init__.py").touch()
    (tmp_path / "taken_pages" / "templates" / "chat.html").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Invalid, match=r"taken_pages has a template 'chat.html', and there is one already"):
        served(Extension(name="habits", templates="taken_pages"))
    counters = module(COUNTERS={"writes": ("habit_writes", "Habits.", None)})
    with pytest.raises(Invalid, match="extension 'habits' counts 'writes', which is counted already"):
        served(Extension(name="habits", metrics=f"{counters}:COUNTERS"))


def test_an_extensions_counter_is_among_the_metrics(module: Modules) -> None:
    counters = module(COUNTERS={"habits": ("keepbook_habits", "Habits kept.", "kind")})
    client = served(Extension(name="habits", metrics=f"{counters}:COUNTERS"))
    assert "# HELP keepbook_habits_total Habits kept." in client.get("/metrics").text


def test_without_extensions_none_is_anywhere() -> None:
    client = served(on=())
    for path in ("/agents", "/results/trade-decisions", "/trading", "/trading/import", "/api/agents"):
        assert client.get(path).status_code == 404, path
    page = client.get("/settings", headers={"Cookie": "keepbook_pages=all"}).text
    assert "/trading" not in page
    assert "/agents" not in page
    assert "Show every page" not in page
    told = client.get("/openapi.json").json()
    assert not {one["name"] for one in told["tags"]} & {"agents", "trading"}
    assert not [path for path in told["paths"] if "trading" in path or "/agents" in path]
    for path in ("/chat", "/profile/facts", "/journal", "/time", "/settings", "/import", "/api/me", "/api/tools"):
        assert client.get(path).status_code == 200, path
