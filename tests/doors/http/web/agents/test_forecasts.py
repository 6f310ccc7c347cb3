"""`/results/forecasts`: what waits for an answer first, then what is open, then how it came out."""

from typing import Any

from starlette.testclient import TestClient

CARD = {"question": "Does it rain?", "probability": 0.7, "resolves_by": "2031-01-01T00:00:00Z"}


def recorded(book: Any, **changed: Any) -> str:
    return str(book.decisions.record("Oracle", CARD | changed).run_id)


def test_an_empty_page_says_what_comes_here(client: TestClient) -> None:
    assert "No forecasts yet" in client.get("/results/forecasts").text


def test_a_forecast_is_shown_answered_and_answered_anew(client: TestClient, alice: Any, clock: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    open_one, due = recorded(alice), recorded(alice, question="Is it <b>due</b>?", resolves_by="2026-11-12T12:00:00Z")
    look = {"conviction_score": 55, "notes": "Less so.", "suggested_action": "LOWER", "probability": 0.4}
    alice.decisions.record_second_look(open_one, look)
    clock.forward(days=1)
    shown = client.get("/results/forecasts").text
    assert "Is it &lt;b&gt;due&lt;/b&gt;?" in shown
    assert shown.index("Is it &lt;b&gt;") < shown.index("Does it rain?")
    assert "From outside" in shown
    assert "40 %" in shown
    told = client.post(f"/results/forecasts/{due}/answer", data={"outcome": "yes", "note": "seen"})
    assert "True" in told.text
    assert alice.decisions.get(due).outcome == "true"
    client.post(f"/results/forecasts/{due}/answer", data={"outcome": "no"})
    done = alice.decisions.get(due)
    assert (done.outcome, "before: true" in done.note) == ("false", True)
    client.post(f"/results/forecasts/{open_one}/answer", data={"outcome": "void"})
    assert alice.decisions.get(open_one).state == "expired"


def test_a_date_that_cannot_be_is_said_in_place(client: TestClient, alice: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    run = recorded(alice)
    wrong = client.post(f"/results/forecasts/{run}/answer", data={"outcome": "yes", "known": "2050-01-01"})
    assert wrong.status_code == 422
    assert "known between" in wrong.text
    assert alice.decisions.get(run).state == "open"
