"""The menu with what extensions bring: it leads to each page; a place that was never used stands under More."""

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


def test_what_was_never_used_stands_under_more(client: TestClient, alice: Any) -> None:
    def places() -> tuple[set[str], set[str]]:
        menu = re.search(r'<nav class="nav".*?</nav>', client.get("/chat").text, re.DOTALL)
        assert menu
        above, _, more = menu[0].partition("More</summary>")
        first, under = (set(re.findall(r'<a href="([^"]*)" data-go=', part)) for part in (above, more))
        return first, under

    parts = {"/agents", "/results", "/trading"}
    assert places()[1] == parts
    assert not places()[0] & parts
    alice.trading.create_skill("Scalper")
    assert places()[1] == parts - {"/trading"}
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    assert places()[1] == {"/results"}
    card = {"question": "Rain?", "probability": 0.7, "resolves_by": "2031-01-01T00:00:00Z"}
    alice.decisions.record("Oracle", card)
    assert places()[0] >= parts
    assert places()[1] == set()


def test_a_switch_shows_every_page(client: TestClient) -> None:
    client.post("/settings/look", data={"theme": "system", "keys": "on", "pages": "all"})
    page = client.get("/chat").text
    assert 'href="/trading"' in page
    assert "More</summary>" not in page
