"""The agents' pages: each form without script, then what a person feels in a browser."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient
from tests.extensions.agents.deciding import LONG, WAIT, ran

from keepbook.extensions.agents.pages.agents import schedule_in_words


@pytest.fixture
def alice(kb: Any) -> Any:
    return kb.book("alice")


@pytest.fixture
def desk(alice: Any) -> Any:
    return alice.agents.create("Swing desk", card_type="trade-decision", default_prompt="ETH/USDT: a trade, or wait?")


def toast(page: str) -> str:
    found = re.search(r'<div class="toast"[^>]*><span>(.*?)</span>', page, re.DOTALL)
    assert found, page
    return found[1]


# Forms


def test_an_agent_is_made_with_a_name_alone(client: TestClient, alice: Any) -> None:
    assert "No agent works for you yet" in client.get("/agents").text
    page = client.post("/agents/new", data={"name": "Desk", "team_name": ["", ""], "team_instructions": ["", ""]})
    [made] = alice.agents.list()
    assert page.url.path == f"/agents/{made.id}"
    assert (made.name, made.card_type, made.adapter, made.team, made.memory_enabled) == (
        "Desk", "note", "native", (), False,
    )  # fmt: skip


def test_everything_of_an_agent_is_edited_in_one_form(client: TestClient, alice: Any, desk: Any) -> None:
    told = {
        "name": "Night desk", "instructions": "Look at night.", "default_prompt": "Now?", "card_type": "note",
        "schedule": "30 7 * * 1-5", "adapter": "native", "model": "", "use_block": "1", "review_decisions": "1",
        "team_name": ["Tape", "", "Macro"], "team_instructions": ["Read the tape.", "", "Rates."],
        "team_model": ["", "", "offline"],
    }  # fmt: skip
    page = client.post(f"/agents/{desk.id}/edit", data=told)
    assert toast(page.text) == "Saved."
    assert "Weekdays 07:30" in page.text
    now = alice.agents.get(desk.id)
    assert (now.name, now.schedule, now.use_block, now.review_decisions) == ("Night desk", "30 7 * * 1-5", True, True)
    assert [(one.name, one.instructions, one.model) for one in now.team] == [
        ("Tape", "Read the tape.", None), ("Macro", "Rates.", "offline"),
    ]  # fmt: skip
    form = client.get(f"/agents/{desk.id}/edit").text
    assert form.count('name="team_name"') == 4, "the two there are, and two to grow by"


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [("schedule", "soon", "five fields"), ("name", "", "1 to 80 characters"), ("name", "swing DESK", "already")],
)
def test_what_does_not_fit_comes_back_with_what_was_typed(
    field: str, value: str, why: str, client: TestClient, alice: Any, desk: Any
) -> None:
    page = client.post("/agents/new", data={"name": "Other", "instructions": "Kept <b>words</b>", field: value})
    assert page.status_code in (409, 422)
    assert f'aria-describedby="bad-{field}"' in page.text
    said = re.search(rf'id="bad-{field}">.*?</svg>(.*?)</p>', page.text, re.DOTALL)
    assert said
    assert why in said[1]
    assert "Kept &lt;b&gt;words&lt;/b&gt;" in page.text
    assert [one.id for one in alice.agents.list()] == [desk.id]


def test_a_switch_says_what_it_did_and_offers_the_way_back_where_there_is_one(
    client: TestClient, alice: Any, desk: Any
) -> None:
    page = client.post(f"/agents/{desk.id}/memory", data={"on": "1"})
    assert alice.agents.get(desk.id).memory_enabled
    assert toast(page.text) == "Active Memory of Swing desk is on. It starts fresh."
    assert f'<form method="post" action="/agents/{desk.id}/memory"><button class="link" data-undo>' in page.text
    assert "Each run reads those before it, so each costs more." in page.text
    page = client.post(f"/agents/{desk.id}/memory", data={})
    assert not alice.agents.get(desk.id).memory_enabled
    assert "data-undo" not in page.text, "switched on again it starts fresh: nothing could be taken back"
    client.post(f"/agents/{desk.id}/review", data={"on": "1"})
    assert alice.agents.get(desk.id).review_decisions


def test_the_pill_counts_runs_and_turns_amber_past_twenty(client: TestClient, alice: Any, desk: Any) -> None:
    assert '<span class="pill">Memory off</span>' in client.get("/agents").text
    desk = alice.agents.update(desk.id, memory_enabled=True)
    for _ in range(20):
        ran(alice, desk, WAIT, "scheduled")
    page = client.get("/agents").text
    assert "Remembers 20 runs" in page
    assert "pill amber" not in page
    ran(alice, desk, WAIT)
    page = client.get("/agents").text
    assert re.search(r'<span class="pill amber">.*?Remembers 21 runs</span>', page, re.DOTALL)
    assert "21 runs since the last reset." in client.get(f"/agents/{desk.id}").text
    page = client.post(f"/agents/{desk.id}/reset", data={"at": "panel"})
    assert page.url.path == f"/agents/{desk.id}"
    assert "starts fresh" in toast(page.text)
    assert "since the last reset." not in page.text
    assert '<span class="mark">Fresh</span>' in page.text


def test_a_removed_agent_leaves_its_runs(client: TestClient, alice: Any, desk: Any) -> None:
    run = ran(alice, desk, LONG)
    page = client.post(f"/agents/{desk.id}/remove")
    assert toast(page.text).startswith("The agent is gone")
    assert alice.agents.list() == []
    assert "Swing desk" in page.text, "in the list of recent runs"
    assert client.get(f"/runs/{run.id}").status_code == 200
    assert client.get(f"/agents/{desk.id}").status_code == 404
    assert f'action="/agents/{desk.id}/restore"' in page.text, "Undo"
    page = client.post(f"/agents/{desk.id}/restore")
    assert page.status_code == 200
    assert [one.id for one in alice.agents.list()] == [desk.id]


def test_words_of_people_are_printed_as_words(client: TestClient, alice: Any) -> None:
    evil = "<script>alert(1)</script>"
    team = [{"name": evil, "instructions": evil}]
    made = alice.agents.create(evil, instructions=evil, default_prompt=evil, team=team)
    run = ran(alice, made, {"title": evil, "text": evil})
    for path in ("/agents", f"/agents/{made.id}", f"/agents/{made.id}/edit", f"/runs/{run.id}"):
        page = client.get(path)
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert" in page.text


def test_older_runs_are_on_further_pages(client: TestClient, alice: Any, desk: Any, clock: Any) -> None:
    for number in range(31):
        clock.forward(minutes=1)
        ran(alice, desk, WAIT | {"reason": f"reason {number} of many"})
    first = client.get(f"/agents/{desk.id}").text
    assert "reason 30 of" in first
    assert "reason 0 of" not in first
    older = re.search(r'href="(/agents/[^"]*before=[^"]*)"', first)
    assert older
    assert "reason 0 of" in client.get(older[1]).text


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        (None, "By hand only"), ("30 7 * * 1-5", "Weekdays 07:30"), ("45 6 * * *", "Every day 06:45"),
        ("0 9 1 * *", "1st of the month 09:00"), ("0 9 22 * *", "22nd of the month 09:00"),
        ("5 10 * * 0", "Sundays 10:05"), ("30 7 * * 1-4", "Mondays to Thursdays 07:30"),
        ("*/5 * * * *", "*/5 * * * *"), ("0 9 1 1 *", "0 9 1 1 *"),
    ],
)  # fmt: skip
def test_a_schedule_is_told_in_words_where_it_is_simple(cron: str | None, words: str) -> None:
    assert schedule_in_words(cron) == words


# In a browser


def test_memory_from_fresh_to_amber_to_reset(person: Page, alice: Any, desk: Any) -> None:
    alice.agents.update(desk.id, card_type="drift-trade")  # a rule answers
    person.goto("/agents")
    card = person.locator(f"#agent-{desk.id}")
    expect(card.locator(".pill")).to_have_text("Memory off")
    card.get_by_role("switch", name="Active Memory").check()
    expect(card.locator(".pill")).to_have_text("Fresh")
    expect(card.locator(".warn")).to_contain_text("Each run reads those before it")
    expect(person.locator(".toast")).to_contain_text("It starts fresh")
    expect(card.get_by_role("switch", name="Active Memory")).to_be_focused()

    card.get_by_role("button", name="Run now").click()
    expect(person.locator("h1")).to_contain_text("Wait", timeout=15_000)
    expect(person.locator("[data-at-work]")).to_have_count(0)
    person.goto("/agents")
    expect(card.locator(".pill")).to_have_text("Remembers 1 run")
    expect(card.locator(".pill")).to_have_class("pill on")

    person.goto(f"/agents/{desk.id}")
    person.get_by_role("button", name="Chat").click()
    expect(person.locator(".chat-head")).to_contain_text("one session with its runs, it remembers 1 run")
    person.wait_for_load_state()  # Enter is the script's
    person.get_by_label("Message").fill("Keep it small this week.")
    person.keyboard.press("Enter")
    expect(person.locator(".turn:not(.me) .by b")).to_have_text("Swing desk")
    expect(person.locator("[aria-busy=true]")).to_have_count(0)
    person.get_by_label("Message").fill("What did you decide?")  # its decisions are within reach of the chat
    person.keyboard.press("Enter")
    expect(person.locator(".turn:not(.me) .said").last).to_contain_text(re.compile("WAIT .*ETH/USDT"))
    expect(person.locator("[aria-busy=true]")).to_have_count(0)
    person.goto(f"/agents/{desk.id}")
    expect(person.locator("#memory")).to_contain_text("2 turns in chat")
    expect(person.locator("#memory .mark").first).to_have_text("Its earlier runs")

    for _ in range(20):
        ran(alice, alice.agents.get(desk.id), WAIT)
    person.goto("/agents")
    expect(card.locator(".pill.amber")).to_have_text("Remembers 21 runs")
    card.get_by_role("button", name="Reset memory").click()
    expect(card.locator(".pill")).to_have_text("Fresh")
    expect(person.locator(".toast").last).to_contain_text("Chats and decisions stay")
    assert alice.agents.get(desk.id).memory.session is None


def test_undo_switches_memory_off_again(person: Page, alice: Any, desk: Any) -> None:
    person.goto(f"/agents/{desk.id}")
    person.get_by_role("switch", name="Active Memory").check()
    expect(person.locator("#memory .banner.amber")).to_contain_text("Each run reads those before it")
    person.get_by_role("button", name="Undo").click()
    expect(person.locator(".pill")).to_have_text("Memory off")
    assert not alice.agents.get(desk.id).memory_enabled
