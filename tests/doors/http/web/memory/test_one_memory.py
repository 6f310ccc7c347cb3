"""`/memory/{id}`: one memory on both clocks, its links, its entries, and who has seen it."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from keepbook.book.ground.when import stamp


def months(alice: Any, clock: Any) -> Any:
    """Three versions, the first two told later than they were true."""
    clock.set("2026-08-14T07:40:00Z")
    memory = alice.remember("Keeps three months of expenses in cash.", valid_from="2026-03-01")
    clock.set("2026-10-03T16:02:00Z")
    alice.update(memory.id, "Keeps four months of expenses in cash.", valid_from="2026-09-01")
    clock.set("2026-11-12T08:19:00Z")
    return alice.update(memory.id, "Keeps six months of expenses in cash.", valid_until="2027-02-28")


# --- versions


def test_the_versions_are_drawn_on_two_clocks_and_told_in_words(person: Page, alice: Any, clock: Any) -> None:
    memory = months(alice, clock)
    person.goto(f"/memory/{memory.id}")
    person.get_by_text("Precisely").click()
    picture = person.get_by_role("img", name="Versions on two clocks")
    expect(picture.locator("text.v")).to_have_text(["v1", "v2", "v3"])
    expect(picture.locator("desc")).to_contain_text(
        "Version 1, three: true from 1 Mar 2026, kept from 14 Aug 2026 to 3 Oct 2026."
    )
    expect(picture.locator("desc")).to_contain_text("Version 3, six: true from 12 Nov 2026 until 28 Feb 2027")
    first, second, last = (bar.bounding_box() for bar in picture.locator("rect.world").all())
    assert first["x"] < second["x"] < last["x"]
    assert first["y"] < second["y"] < last["y"]
    assert picture.locator(".lag").count() == 4


def test_the_list_strikes_the_old_word_and_underlines_the_new(person: Page, alice: Any, clock: Any) -> None:
    memory = months(alice, clock)
    person.goto(f"/memory/{memory.id}")
    told = person.get_by_role("list").filter(has_text="v3").locator(".entry")
    expect(told).to_have_count(3)
    expect(told.nth(0).locator("del")).to_have_text("four")
    expect(told.nth(0).locator("ins")).to_have_text("six")
    expect(told.nth(1)).to_contain_text("so since 1 Sep 2026, told 32 days later")
    expect(told.nth(2).locator("del")).to_have_count(0)


def test_the_exact_times_can_be_copied_as_text(client: Any, alice: Any, clock: Any) -> None:
    memory = months(alice, clock)
    answer = client.get(f"/memory/{memory.id}/times.txt")
    assert answer.headers["content-type"].startswith("text/plain")
    version = alice.get(memory.id).versions[1]
    kept = f"  kept from {stamp(version.recorded_at)} until {stamp(version.retired_at)}"
    assert kept in answer.text.splitlines()


def test_an_edit_and_its_conflict_stay_on_this_page(person: Page, alice: Any) -> None:
    memory = alice.remember("Mortgage of 212,000")
    person.goto(f"/memory/{memory.id}")
    person.get_by_role("link", name="Change it", exact=True).click()
    field = person.get_by_label("What should stand in the book")
    expect(field).to_be_focused()
    alice.update(memory.id, "Mortgage of 208,500")
    field.fill("Mortgage of 200,000")
    person.get_by_role("button", name="Change it").click()
    expect(person.locator(".banner.bad")).to_contain_text("it was changed meanwhile")
    person.get_by_role("button", name="Change it").click()
    expect(person.locator("h1")).to_have_text("Mortgage of 200,000")
    expect(person).to_have_url(re.compile(f"/memory/{memory.id}$"))


def test_only_the_last_entry_about_it_can_be_undone(person: Page, alice: Any) -> None:
    memory = alice.remember("Mortgage of 212,000")
    alice.update(memory.id, "Mortgage of 208,500")
    person.goto(f"/memory/{memory.id}")
    person.get_by_text("Precisely").click()
    undo = person.locator("table").get_by_role("button", name=re.compile("Undo"))
    expect(undo).to_have_count(1)
    undo.click()
    expect(person.locator("h1")).to_have_text("Mortgage of 212,000")
    expect(person.locator("table")).to_contain_text("undid № 2")


def test_an_archived_memory_is_struck_and_can_come_back(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    alice.forget(memory.id)
    text = client.get(f"/memory/{memory.id}").text
    assert "<del>Lives in Vienna</del>" in text
    assert "Put it back" in text
    client.post(f"/memory/{memory.id}/restore", data={"back": f"/memory/{memory.id}"})
    assert alice.get(memory.id).state == "active"


# --- ask the book


def test_the_book_answers_what_it_said_then_about_another_day(client: Any, alice: Any, clock: Any) -> None:
    memory = months(alice, clock)

    def asked(known: str, valid: str) -> str:
        text = client.get(f"/memory/{memory.id}?known={known}&valid={valid}").text
        return " ".join(re.sub("<[^>]+>", "", text[text.index("Ask the book") : text.index("Linked")]).split())

    assert "“Keeps three months of expenses in cash.”" in asked("2026-10-01", "2026-09-15")
    assert "Today the book says of that day: “Keeps four months of expenses in cash.”" in asked(
        "2026-10-01", "2026-09-15"
    )
    assert "It was told on 3 Oct 2026." in asked("2026-10-01", "2026-09-15")
    assert "“Keeps four months of expenses in cash.”" in asked("2026-10-03", "2026-09-15")
    assert "the book did not hold this then" in asked("2026-08-01", "2026-09-15")
    assert "is not a date" in asked("yesterday", "2026-09-15")


def test_asking_follows_the_dates_without_a_button(person: Page, alice: Any, clock: Any) -> None:
    memory = months(alice, clock)
    person.goto(f"/memory/{memory.id}")
    expect(person.locator(".answer")).to_contain_text("six months")
    person.get_by_label("Known on").fill("2026-10-01")
    expect(person.locator(".answer")).to_contain_text("three months")


# --- links, entries, sightings


def test_links_are_added_and_removed(person: Page, alice: Any) -> None:
    memory = alice.remember("Keeps six months in cash")
    other = alice.remember("Jonas is between jobs")
    person.goto(f"/memory/{memory.id}")
    person.get_by_text("Add a link").click()
    person.get_by_label("This memory").select_option("because_of")
    person.get_by_label("the memory that says").fill("Jonas")
    person.get_by_role("button", name="Link", exact=True).click()
    linked = person.locator(".linked li")
    expect(linked).to_contain_text("because of")
    expect(linked.get_by_role("link", name="Jonas is between jobs")).to_have_attribute("href", f"/memory/{other.id}")
    linked.get_by_role("button").click()
    expect(person.locator(".linked")).to_have_count(0)
    person.locator(".done-here").get_by_role("button", name="Undo").click()
    expect(linked).to_have_count(1)


def test_a_link_to_nothing_says_what_is_wrong(client: Any, alice: Any) -> None:
    memory = alice.remember("Keeps six months in cash")
    answer = client.post(f"/memory/{memory.id}/links", data={"to": "unheard of", "relation": "relates_to"})
    assert answer.status_code == 404
    assert "No active memory" in answer.text
    assert 'value="unheard of"' in answer.text


def test_the_chats_that_saw_it_are_listed_with_their_replies(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    chat = alice.threads.start()
    chat.add("user", "Where do I live?")
    chat.inject()
    chat.add("assistant", "In Vienna.")
    alice.threads.rename(chat.id, "Where I live")
    text = client.get(f"/memory/{memory.id}").text
    assert f'<a href="/chat/{chat.id}">Where I live</a></dt><dd>v1, 1 reply</dd>' in text


def test_a_memory_that_never_was_is_not_found(client: Any) -> None:
    answer = client.get("/memory/nothing0")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.text


def test_a_purged_memory_says_when_and_nothing_else(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    alice.delete(memory.id, forever=True)
    answer = client.get(f"/memory/{memory.id}")
    assert answer.status_code == 410
    assert "deleted for good" in answer.text
    assert "Vienna" not in answer.text
