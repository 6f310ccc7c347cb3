"""`/results/forecasts`: what waits for an answer first, then what is open, then how it came out."""

import re
from typing import Any

from starlette.testclient import TestClient

CARD = {"question": "Does it rain?", "probability": 0.7, "resolves_by": "2031-01-01T00:00:00Z"}


def said_beside(page: str, control: str) -> str:
    """The sentence beside a control, which is marked as wrong and takes the focus."""
    [marked] = re.findall(rf'<(?:input|textarea|select)[^>]*name="{control}"[^>]*>', page)
    assert re.search(rf'aria-describedby="bad-{control}[ "]', marked)
    assert 'aria-invalid="true" autofocus' in marked
    [sentence] = re.findall(rf'<p class="error" id="bad-{control}">.*?<span>(.*?)</span>', page)
    return str(sentence)


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
    opened = client.get("/results")
    assert (opened.url.path, "Is it &lt;b&gt;due" in opened.text) == ("/results/forecasts", True), (
        "what waits comes first"
    )
    menu = re.search(r'data-go="r".*?</a>', opened.text, re.DOTALL)
    assert menu
    assert '>1<span class="sr"> waiting</span>' in menu[0]
    assert f"resolve={open_one}#d-{open_one}" in client.get(f"/runs/{open_one}").text
    own = client.get(f"/runs/{due}").text
    assert '<h1 class="own">Is it &lt;b&gt;due&lt;/b&gt;?</h1>' in own, "its question, without a date"
    assert "<b>70\N{NO-BREAK SPACE}% likely</b>" in own
    assert "Did it happen?" in own
    answer = {"outcome": "yes", "note": "seen", "back": f"/runs/{due}"}
    told = client.post(f"/results/forecasts/{due}/answer", data=answer)
    assert told.url.path == f"/runs/{due}"
    assert "See it among the results" in told.text
    assert "Did it happen?" not in told.text
    assert alice.decisions.get(due).outcome == "true"
    client.post(f"/results/forecasts/{due}/answer", data={"outcome": "no"})
    done = alice.decisions.get(due)
    assert (done.outcome, "before: true" in done.note) == ("false", True)
    ahead = client.get(f"/results/forecasts?resolve={open_one}").text
    assert "settled before its date (needed)" in ahead
    assert "to answer it before, say why it is settled. The other fields may stay empty." in ahead
    refused = client.post(f"/results/forecasts/{open_one}/answer", data={"outcome": "void"})
    assert refused.status_code == 422
    why = "This is due on 1 January 2031; to answer it before, say why it is settled."
    assert said_beside(refused.text, "early") == why
    assert refused.text.count(why) == 1, "only the forecast that was answered says so"
    again = client.get(f"/results/forecasts/{open_one}/answer", follow_redirects=False)
    assert (again.status_code, again.headers["location"]) == (303, "/results/forecasts"), "opened anew it is a page"
    client.post(f"/results/forecasts/{open_one}/answer", data={"outcome": "void", "early": "<i>called off</i>"})
    assert "Settled early: &lt;i&gt;called off&lt;/i&gt;" in client.get("/results/forecasts").text
    assert alice.decisions.get(open_one).state == "expired"


def test_a_date_that_cannot_be_is_said_in_place(client: TestClient, alice: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    run = recorded(alice)
    wrong = client.post(
        f"/results/forecasts/{run}/answer", data={"outcome": "yes", "known": "2050-01-01", "early": "seen"}
    )
    assert wrong.status_code == 422
    assert "known between" in said_beside(wrong.text, "known")
    assert alice.decisions.get(run).state == "open"


def test_a_person_records_a_forecast_and_what_is_wrong_is_said_in_place(client: TestClient, alice: Any) -> None:
    assert "Record a forecast" in client.get("/results/forecasts").text
    form = client.get("/results/forecasts?record=1").text
    assert 'action="/results/forecasts/record"' in form
    told = {"question": "Is it <b>dry</b>?", "likely": "70,5 %", "due": "2031-01-01", "reason": "The sky is clear."}
    done = client.post("/results/forecasts/record", data=told)
    assert "Is it &lt;b&gt;dry&lt;/b&gt;?" in done.text
    [made] = alice.decisions.list(forecasts=True)
    assert (made.probability, made.state, str(made.expires.date())) == (0.705, "open", "2031-01-01")
    [agent] = alice.agents.list()
    assert (agent.name, agent.adapter, agent.card_type) == ("Me", "external", "forecast")
    for page in ("/agents", f"/agents/{agent.id}"):  # it works elsewhere: there is nothing to run, chat with or switch
        shown = client.get(page).text
        assert "works elsewhere" in shown
        assert not [one for one in ("Run now", "Active Memory", f"/agents/{agent.id}/chat") if one in shown]
    client.post("/results/forecasts/record", data=told | {"by": "me"})
    assert len(alice.agents.list()) == 1
    for changed, words in (
        ({"likely": "often"}, "in percent"), ({"likely": "170"}, "in percent"), ({"due": ""}, "by when"),
        ({"question": " "}, "This is missing."),
        ({"due": "2001-01-01"}, "in the future"), ({"made": "1990-01-01"}, "2000"),
    ):  # fmt: skip
        [blamed] = changed
        wrong = client.post("/results/forecasts/record", data=told | {"by": "Anna"} | changed)
        beside = said_beside(wrong.text, blamed)
        assert (wrong.status_code, "The sky is clear." in wrong.text) == (422, True), changed
        assert words in beside, beside
        assert not [one for one in ("_", "probability", "does not fit") if one in beside]
    assert [one.name for one in alice.agents.list()] == ["Me"]  # nobody is made for what was refused
    alice.agents.create("Desk", card_type="trade-decision")
    assert "no forecasts of this kind" in client.post("/results/forecasts/record", data=told | {"by": "Desk"}).text


def test_the_history_of_a_forecast_is_drawn_with_its_second_looks(client: TestClient, alice: Any, clock: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    run, other = recorded(alice), recorded(alice, question="And this?")
    assert 'id="history"' not in client.get("/results/forecasts").text
    for nth, (probability, score) in enumerate(((0.45, 40), (0.52, 55), (0.61, 70))):
        clock.forward(days=9)
        look = {"conviction_score": score, "notes": f"Note {nth}.", "suggested_action": "KEEP"}
        alice.decisions.record_second_look(run, look | {"probability": probability})
    shown = client.get("/results/forecasts").text
    assert "Probability 70, 45, 52, 61 percent; sure to 40, 55, 70" in shown
    assert shown.index("Note 2.") < shown.index("Note 0.")
    look = {"conviction_score": 9, "notes": "Quite another.", "suggested_action": "LOWER", "probability": 0.1}
    alice.decisions.record_second_look(other, look)
    assert "Quite another." in client.get(f"/results/forecasts?history={other}").text


def test_open_forecasts_come_in_pages_what_is_due_first(client: TestClient, alice: Any, clock: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    last = recorded(alice, question="Number last?", resolves_by="2032-01-01T00:00:00Z")
    for nth in range(60):
        recorded(alice, question=f"Number {nth}?", resolves_by=f"2031-01-01T00:{nth:02}:00Z")
    due = recorded(alice, question="Due?", resolves_by="2026-11-12T12:00:00Z")
    clock.forward(days=1)
    first, third = client.get("/results/forecasts").text, client.get("/results/forecasts?open=9").text
    assert f'id="d-{due}"' in first
    assert "Page 1 of 3" in first
    assert "Number last?" not in first
    assert "Number last?" in third
    assert "Number 0?" not in third
    assert f'action="/results/forecasts/{last}/answer"' in client.get(f"/results/forecasts?resolve={last}").text


def test_a_curve_is_drawn_from_twenty_on_and_before_that_the_table_alone(client: TestClient, alice: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    for nth in range(20):
        if nth == 12:
            shown = client.get("/results/forecasts").text
            assert "12 resolved; from 20 on a curve is drawn." in shown
            assert '"chart square"' not in shown
        alice.decisions.answer(recorded(alice, question=f"Number {nth}?"), True, settled_early="seen")
    shown = client.get("/results/forecasts").text
    assert '"chart square"' in shown
    assert "a curve is drawn" not in shown


def test_three_series_are_drawn_each_in_its_own_line(client: TestClient, kb: Any, alice: Any, clock: Any) -> None:
    alice.agents.create("Oracle", adapter="external", card_type="forecast")
    rows = [
        {
            "question": f"Elsewhere {nth}?", "probability": 0.25 + nth % 2 / 2, "outcome": nth % 3 == 0,
            "made_at": f"2025-01-{1 + nth // 2:02}", "resolved_at": f"2025-02-{1 + nth // 2:02}",
        }
        for nth in range(40)
    ]  # fmt: skip
    alice.decisions.bring_in("Oracle", rows)
    assert "40 forecasts" in client.get("/import").text
    assert "40 forecasts" in client.get(f"/import/{alice.loads()[0].nth}").text
    shown = client.get("/results/forecasts").text
    assert "No forecasts yet" not in shown
    assert shown.count('<g class="brought_in">') == 1
    assert "Brought in, not witnessed" in shown
    bot = kb.book("alice").acting(actor="agent")
    for nth in range(20):
        for book in (alice, bot):
            book.decisions.answer(recorded(alice, question=f"{nth}?"), nth % 2 == 0, settled_early="seen")
    shown = client.get("/results/forecasts").text
    assert [shown.count(f'<g class="{name}">') for name in ("brought_in", "self_graded", "recorded_later")] == [1, 1, 0]
    assert "Graded by the forecaster" in shown
    assert shown.count("<tfoot>") == 3
    assert "Witnessed; Brought in, not witnessed; Graded by the forecaster" in shown


def test_classes_and_numbers_are_answered_on_the_page(client: TestClient, alice: Any, clock: Any) -> None:
    due = {"resolves_by": "2026-11-12T12:00:00Z"}
    for name, stated in (
        ("forecast-classes", {"probabilities": {"home": 0.5, "draw": 0.3, "away & <b>": 0.2}}),
        ("forecast-number", {"quantiles": {"0.1": 3, "0.5": 5, "0.9": 8}}),
    ):
        alice.agents.create(name, adapter="external", card_type=name)
        alice.decisions.record(name, {"question": f"{name}?", **due, **stated})
    clock.forward(days=1)
    shown = client.get("/results/forecasts").text
    assert 'value="away &amp; &lt;b&gt;"' in shown
    runs = {one.card_type: one.run_id for one in alice.decisions.list(forecasts=True)}
    answer = "/results/forecasts/{}/answer"
    wrong = client.post(answer.format(runs["forecast-number"]), data={"outcome": "warm"})
    assert (wrong.status_code, "a number" in wrong.text) == (422, True)
    client.post(answer.format(runs["forecast-number"]), data={"outcome": "8.5"})
    shown = client.post(answer.format(runs["forecast-classes"]), data={"outcome": "draw"}).text
    told = {name: alice.decisions.get(run) for name, run in runs.items()}
    assert {name: (one.outcome, one.came_to) for name, one in told.items()} == {
        "forecast-number": ("false", "8.5"), "forecast-classes": ("false", "draw"),
    }  # fmt: skip
    assert "0.780" in shown, "the Brier score over all classes"
    assert "0.917" in shown, "the mean pinball loss"
