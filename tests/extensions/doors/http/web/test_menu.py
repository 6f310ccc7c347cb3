"""The menu with what extensions bring: it leads to each page, and shows a place once there is something in it."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook.doors.http.web.frame import sidebar
from keepbook.doors.http.web.frame.extension_pages import NavItem, join_places
from keepbook.extension import shipped

PLACES = join_places(sidebar.PLACES, list(shipped().values()))
BROUGHT = [place for place in PLACES if place not in sidebar.PLACES]


@pytest.mark.parametrize("place", BROUGHT, ids=lambda place: place.key)
def test_the_navigation_leads_to_each_page_and_marks_it(client: TestClient, place: NavItem) -> None:
    page = client.get(place.path)
    assert page.status_code == 200
    marked = re.findall(r'<a href="([^"]*)" data-go="\w" aria-current="page">', page.text)
    assert marked == [place.path]


def test_results_and_trading_appear_once_there_is_something_in_them(client: TestClient, alice: Any) -> None:
    def places() -> set[str]:
        return set(re.findall(r'<a href="([^"]*)" data-go=', client.get("/chat").text))

    parts = {"/results/trade-decisions", "/trading"}
    assert not places() & parts
    alice.trading.create_skill("Scalper")
    assert places() & parts == {"/trading"}
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    card = {"question": "Rain?", "probability": 0.7, "resolves_by": "2031-01-01T00:00:00Z"}
    alice.decisions.record("Oracle", card)
    assert places() >= parts


def test_a_switch_shows_every_page(client: TestClient) -> None:
    client.post("/settings/look", data={"theme": "system", "keys": "on", "pages": "all"})
    assert 'href="/trading"' in client.get("/chat").text
