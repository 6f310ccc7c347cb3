"""A new agent: begun from a template, its schedule in words, rehearsed before it is saved."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.extensions.agents.pages.starts import BY_KEY, TEMPLATES, to_cron, to_words


@pytest.fixture
def alice(kb: Any) -> Any:
    book = kb.book("alice")
    book.configure(zone="Europe/Vienna")
    return book


@pytest.mark.parametrize("one", TEMPLATES, ids=lambda one: one.key)
def test_a_template_fills_the_form_and_says_who_can_do_its_work(client: TestClient, alice: Any, one: Any) -> None:
    page = client.get(f"/agents/new?template={one.key}").text
    assert f'value="{one.name}"' in page
    assert one.prompt in page
    assert ("This needs a model." in page) is one.needs_model
    assert ("Save, without running" in page) is one.needs_model
    assert not list(alice.agents.list())


def test_a_dry_run_says_who_would_judge_and_without_a_model_nobody(client: TestClient, alice: Any) -> None:
    form = {"name": "It", "use_block": "1", "when": "hand", "instructions": "Look.", "do": "try"}
    tried = {one.key: client.post("/agents/new", data={**form, "card_type": one.card_type}).text for one in TEMPLATES}
    assert "The rule “drift” would compute the card" in tried.pop("drift")
    assert all("No model, so no card" in page for page in tried.values())
    assert not list(alice.agents.list())


def test_the_schedule_is_picked_in_words_and_the_next_three_times_are_the_owners(
    client: TestClient, alice: Any
) -> None:
    form = {"name": "Brief", "when": "weekdays", "at": "06:45", "do": "try"}
    page = client.post("/agents/new", data=form).text
    for time in ("Fri 13 Nov, 06:45", "Mon 16 Nov, 06:45", "Tue 17 Nov, 06:45"):
        assert time in page
    client.post("/agents/new", data={**form, "do": "save"})
    (agent,) = alice.agents.list()
    assert agent.schedule == "45 6 * * 1-5"
    page = client.get(f"/agents/{agent.id}/edit").text
    assert '<option value="weekdays" selected>' in page
    assert 'value="06:45"' in page


def test_a_template_that_is_to_run_only_by_hand_gets_no_schedule(client: TestClient, alice: Any) -> None:
    page = client.get("/agents/new?template=planner").text
    by_hand = re.search(r'<option value="([^"]*)"[^>]*>Only by hand', page)
    assert by_hand
    assert 'name="schedule"' in page
    assert 'value="0 7 * * 1"' in page
    form = {"name": "Planner", "template": "planner", "when": by_hand[1], "at": "07:00", "schedule": "0 7 * * 1"}
    assert "It runs only when you say so." in client.post("/agents/new", data={**form, "do": "try"}).text
    client.post("/agents/new", data=form)
    (agent,) = alice.agents.list()
    assert agent.schedule is None
    client.post(f"/agents/{agent.id}/edit", data={**form, "when": "1"})
    assert alice.agents.get(agent.id).schedule == "0 7 * * 1"
    client.post(f"/agents/{agent.id}/edit", data=form)
    assert alice.agents.get(agent.id).schedule is None


def test_a_cron_that_words_cannot_say_is_kept_as_written(client: TestClient, alice: Any) -> None:
    client.post("/agents/new", data={"name": "Odd", "when": "cron", "schedule": "*/5 8-10 * * 2"})
    (agent,) = alice.agents.list()
    assert agent.schedule == "*/5 8-10 * * 2"
    assert '<option value="cron" selected>' in client.get(f"/agents/{agent.id}/edit").text
    tried = client.post("/agents/new", data={"name": "Bad", "when": "cron", "schedule": "soon", "do": "try"}).text
    assert "The schedule cannot be read" in tried


@pytest.mark.parametrize(
    ("cron", "picked"),
    [
        ("", ("hand", "07:00")),
        ("5 18 * * *", ("daily", "18:05")),
        ("0 7 * * 0", ("0", "07:00")),
        ("0 7 1 * *", ("cron", "07:00")),
    ],
)
def test_words_and_cron_say_the_same(cron: str, picked: tuple[str, str]) -> None:
    assert to_words(cron) == picked
    assert to_cron(*picked, cron) == cron


def test_an_agent_is_made_from_a_template_in_the_browser(person: Page, alice: Any) -> None:
    person.goto("/agents/new")
    person.get_by_role("link", name="Weekly planner").click()
    expect(person.get_by_label("Name", exact=True).first).to_have_value("Weekly planner")
    expect(person.locator("#next")).to_contain_text("Mon 16 Nov, 07:00")
    expect(person.locator("#runs-when")).to_contain_text(
        "Once there is a model it runs by itself, next Mon 16 Nov at 07:00."
    )
    person.get_by_label("On which days").select_option("daily")
    times = person.get_by_role("list", name="The next times").get_by_role("listitem")
    expect(times).to_have_text(["Next:", "Fri 13 Nov, 07:00", "Sat 14 Nov, 07:00", "Sun 15 Nov, 07:00"])
    person.get_by_label("At what time").fill("18:30")
    person.get_by_label("At what time").blur()
    expect(times).to_have_text(["Next:", "Thu 12 Nov, 18:30", "Fri 13 Nov, 18:30", "Sat 14 Nov, 18:30"])
    cron = person.get_by_label("The schedule as cron")
    expect(cron).to_be_hidden()
    person.locator("main").get_by_text("More", exact=True).click()
    cron.fill("0 9 1 * *")
    cron.blur()
    expect(person.get_by_label("On which days")).to_have_value("cron")  # what was written is what counts
    expect(times).to_have_text(["Next:", "Tue 1 Dec, 09:00", "Fri 1 Jan, 09:00", "Mon 1 Feb, 09:00"])
    cron.fill("soon")
    cron.blur()
    expect(person.locator("#next")).to_have_text("This schedule cannot be read.")
    person.get_by_label("On which days").select_option("daily")
    person.get_by_label("At what time").fill("07:00")
    person.get_by_label("At what time").blur()
    expect(times.last).to_have_text("Sun 15 Nov, 07:00")
    person.get_by_role("button", name="Try without running").click()
    expect(person.get_by_text("No model, so no card")).to_be_visible()
    person.get_by_role("button", name="Save, without running").click()
    expect(person.get_by_role("heading", name="Weekly planner")).to_be_visible()
    (agent,) = alice.agents.list()
    assert agent.schedule == "0 7 * * *"
    person.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(person.get_by_text("The agent is gone.")).to_be_visible()
    assert not list(alice.agents.list())


def test_a_template_fills_only_what_nobody_typed_and_is_undone_in_the_toast(person: Page) -> None:
    person.goto("/agents/new")
    expect(person.get_by_role("button", name="Save, without running")).to_be_visible()
    person.get_by_label("Name", exact=True).first.fill("My own name")
    person.get_by_role("link", name="Desk by rule").click()
    expect(person.get_by_label("What a run asks it")).to_have_value(BY_KEY["drift"].prompt)
    expect(person.get_by_label("Name", exact=True).first).to_have_value("My own name")
    expect(person.get_by_role("button", name="Make the agent")).to_be_visible()
    expect(person.get_by_text("This needs a model.")).to_have_count(0)
    person.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(person.get_by_label("What a run asks it")).to_have_value("")
    expect(person.get_by_text("This needs a model.")).to_be_visible()
    expect(person.get_by_role("button", name="Save, without running")).to_be_visible()
