"""`/time`: the book as it was, the block as it was, and what has changed since."""

import re
from datetime import UTC, date, datetime
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from keepbook.book.memory.block import ComposedBlock
from keepbook.book.text.block_lines import BlockLine, block_text
from keepbook.doors.http.web.memory.block_comparison import compare
from keepbook.doors.http.web.memory.time_travel import per_day

PAST = "2026-08-20T10:00:00Z"


@pytest.fixture
def story(alice: Any, clock: Any) -> Any:
    """August: three things. October: one changed, one archived, one new."""
    clock.set("2026-08-14T07:40:00Z")
    alice.configure(zone="Europe/Vienna")
    cash = alice.remember("Keeps three months of expenses in cash", category="finance_context")
    alice.remember("Lives in Vienna", category="profile")
    van = alice.remember("Is saving for a camper van", category="fact")
    clock.set("2026-10-03T16:02:00Z")
    alice.update(cash.id, "Keeps six months of expenses in cash")
    alice.forget(van.id)
    alice.remember("Jonas is between jobs", category="profile")
    clock.set("2026-11-12T09:00:00Z")
    return cash


def diff_rows(page: Page) -> list[list[str]]:
    rows = page.locator(".diff .two:not(.head)").all()
    return [[" ".join(side.inner_text().split()) for side in row.locator("> *").all()] for row in rows]


# --- the page


def test_the_title_is_the_instant_and_the_block_is_the_one_of_then(person: Page, alice: Any, story: Any) -> None:
    person.goto(f"/time?known={PAST}")
    expect(person.locator("h1")).to_have_text("What I knew on Thursday, 20 August 2026, 12:00")
    expect(person).to_have_title("What I knew on Thursday, 20 August 2026, 12:00 · Keepbook")
    expect(person.locator(".lede")).to_have_text(
        "On Thursday, 20 August 2026, 12:00 your book had 3 lines. Today it has 3."
    )
    block = person.locator("#block-then").text_content()
    assert block == alice.block(known=PAST, valid=PAST)
    assert "three months" in block
    assert "camper van" in block


def test_what_is_set_apart_is_no_line_that_somebody_told(client: Any, alice: Any, story: Any) -> None:
    alice.remember("Longs paid 1.9 % on average", scope="lesson:desk", confidence="inferred")
    page = client.get("/time?when=week").text
    assert "Longs paid" not in page
    assert "your book had 3 lines. Today it has 3." in page


def test_precisely_is_a_page_of_its_own_until_it_is_opened(person: Page, story: Any) -> None:
    person.goto("/time?when=yesterday&q=cash")
    expect(person.locator("#when")).to_have_count(0)
    person.get_by_role("link", name="Precisely").click()
    expect(person.locator("#when")).to_be_visible()
    expect(person.locator("h1")).to_contain_text("about cash")


def test_then_and_now_stand_side_by_side_with_changed_words_marked(person: Page, alice: Any, story: Any) -> None:
    person.goto(f"/time?known={PAST}")
    rows = diff_rows(person)
    assert [
        "then: - Keeps three months of expenses in cash",
        "now: - Keeps six months of expenses in cash",
    ] in rows
    assert ["", "new: - Jonas is between jobs"] in rows
    assert ["gone: - Is saving for a camper van", ""] in rows
    assert ["- Lives in Vienna", "- Lives in Vienna"] in rows
    expect(person.locator(".diff del")).to_have_text("three")
    expect(person.locator(".diff ins")).to_have_text("six")


def test_what_happened_in_between_is_told_newest_first(person: Page, story: Any) -> None:
    person.goto(f"/time?known={PAST}")
    happened = person.get_by_role("region", name="What happened in between")
    expect(happened.locator(".entry")).to_have_count(3)
    expect(happened.locator(".entry").nth(0)).to_contain_text("Jonas is between jobs")
    expect(happened.locator(".entry").nth(1)).to_contain_text("archived")
    expect(happened.locator(".entry").nth(2).locator("del")).to_have_text("three")


def test_the_arrows_step_from_entry_to_entry_and_a_page_key_by_a_day(person: Page, story: Any) -> None:
    person.goto("/time?known=2026-10-03T16:02:00Z")
    place = person.locator(".travel")
    before = int(re.search(r"№ (\d+)", place.inner_text()).group(1))
    person.locator("#when").focus()
    person.keyboard.press("ArrowLeft")
    expect(place).to_contain_text(f"№ {before - 1} of")
    expect(person.locator("#when")).to_be_focused()
    person.keyboard.press("ArrowRight")
    expect(place).to_contain_text(f"№ {before} of")
    person.keyboard.press("PageUp")
    expect(person.locator("h1")).to_contain_text("4 October 2026")
    expect(person.locator("#when")).to_have_attribute("aria-valuetext", re.compile("Sunday, 4 October 2026"))
    person.keyboard.press("PageDown")
    expect(person.locator("h1")).to_contain_text("3 October 2026")
    person.keyboard.press("End")
    expect(person.locator("h1")).to_contain_text("What I know now")


def test_the_strip_can_be_dragged(person: Page, story: Any) -> None:
    person.goto("/time?when=now")
    expect(person.locator("h1")).to_contain_text("What I know now")
    strip = person.locator("#when").bounding_box()
    person.mouse.click(strip["x"] + strip["width"] * 0.2, strip["y"] + strip["height"] / 2)
    expect(person.locator("h1")).to_contain_text(re.compile("What I knew on .* (August|September) 2026"))
    expect(person).to_have_url(re.compile("known="))
    assert "three months" in person.locator("#block-then").text_content()


def test_it_works_without_script(opens: Any, story: Any) -> None:
    page = opens(java_script_enabled=False).new_page()
    page.goto("/time?when=now")
    page.get_by_label("What I had been told by").fill("2026-08-20T12:00")
    page.get_by_role("button", name="Look").click()
    expect(page.locator("h1")).to_have_text("What I knew on Thursday, 20 August 2026, 12:00")
    expect(page.get_by_label("About how things were on")).to_have_value("2026-08-20T12:00")
    page.get_by_role("link", name="Next entry").click()
    expect(page.locator(".travel")).to_contain_text("№ 5 of")
    page.get_by_role("link", name="Back to now").click()
    expect(page.locator("h1")).to_contain_text("What I know now")


# --- in words


def sections(page: str) -> dict[str, str]:
    """What each section says, by its heading."""
    found = re.findall(r'<section class="back-then"[^>]*><h2[^>]*>(.*?)</h2>(.*?)</section>', page, re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]+>", " ", unescape(text)).split()) for name, text in found}


def test_three_lists_say_what_was_different(client: Any, alice: Any, story: Any, clock: Any) -> None:
    clock.set("2026-10-05T09:00:00Z")
    page = client.get("/time").text
    assert "What I knew last week</h1>" in page
    assert "your book had 3 lines. Today it has 3." in page
    assert sections(page) == {
        "You hadn’t told me yet": "told 3 Oct Jonas is between jobs",
        "It said something else": "changed 3 Oct It said then: Keeps three months of expenses in cash now: "
        "Keeps six months of expenses in cash",
        "It was there, and is not now": "taken out 3 Oct Is saving for a camper van Put it back",
    }
    assert "The same then as now<small>1 line</small>" in page
    about = sections(client.get("/time?when=week&q=vans").text)
    assert list(about) == ["It was there, and is not now"]
    back = re.findall(r'action="(/memory/\w+/restore)"><input type="hidden" name="back" value="([^"]*)"', page)[0]
    again = client.post(back[0], data={"back": back[1]})
    assert again.url.path == "/time"
    assert "It was there" not in again.text


def test_the_moment_is_an_address_in_words(client: Any, alice: Any, story: Any, talk: Any, clock: Any) -> None:
    clock.set("2026-10-04T09:00:00Z")
    chat = talk("I have a cat called Tom.")
    page = client.get(f"/time?when=chat&chat={chat.id}").text
    assert "What I knew before “" in page
    assert "a cat called Tom" in sections(page)["You hadn’t told me yet"]
    assert "nothing was in it then" in client.get("/time?day=2026-08-01").text
    assert "What I knew on 3 Oct 2026</h1>" in client.get("/time?day=2026-10-03").text
    assert list(sections(client.get("/time?when=yesterday").text)) == ["You hadn’t told me yet"]
    assert client.get("/time?day=soon").status_code == 422


# --- the two clocks


def test_the_clocks_move_together_until_they_are_told_not_to(client: Any, story: Any) -> None:
    def values(query: str) -> list[str]:
        return re.findall(r'type="datetime-local" name="\w+" value="([^"]+)"', client.get(f"/time?{query}").text)

    now = "2026-11-12T10:00"
    led = f"known=2026-08-20T12:00&valid={now}&was={now}&together=1"
    assert values(led) == ["2026-08-20T12:00", "2026-08-20T12:00"]
    led = f"known={now}&valid=2026-08-20T12:00&was={now}&together=1"
    assert values(led) == ["2026-08-20T12:00", "2026-08-20T12:00"]
    assert values(f"known={now}&valid=2026-08-20T12:00&was={now}") == [now, "2026-08-20T12:00"]


def test_what_is_known_now_about_then_differs_from_what_was_known_then(client: Any, alice: Any, clock: Any) -> None:
    clock.set("2026-08-14T07:40:00Z")
    memory = alice.remember("Lives in Graz")
    clock.set("2026-10-03T16:02:00Z")
    alice.update(memory.id, "Lives in Vienna", valid_from="2026-08-15")
    then, now = "2026-08-20T00:00:00Z", "2026-11-12T00:00:00Z"

    def block(known: str, valid: str) -> str:
        text = client.get(f"/time?known={known}&valid={valid}").text
        found = re.search(r'id="block-then"[^>]*>(.*?)</pre>', text, re.DOTALL)
        return unescape(found.group(1)) if found else ""

    assert "Lives in Graz" in block(then, then)
    assert "Lives in Vienna" in block(now, then)


def test_looking_again_does_not_step_behind_the_entry(client: Any, alice: Any, clock: Any) -> None:
    clock.set(datetime(2026, 8, 14, 7, 40, 30, 123456, tzinfo=UTC))
    memory = alice.remember("Lives in Graz")
    text = client.get(f"/time?known={memory.recorded_at.isoformat().replace('+00:00', 'Z')}").text
    known = re.search(r'name="known" value="([^"]+)"', text).group(1)
    again = client.get(f"/time?known={known}&valid={known}&was={known}&together=1").text
    assert "Lives in Graz" in again[again.index('id="block-then"') :]


@pytest.mark.parametrize("query", ["known=someday", "valid=2026-13-01", "minute=-1", "minute=x", "known=%00"])
def test_a_time_that_is_none_is_refused_with_a_sentence(client: Any, story: Any, query: str) -> None:
    answer = client.get(f"/time?{query}")
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text


@pytest.mark.parametrize(
    "query", ["known=0001-01-01T00:00Z", "known=9999-12-31T23:59Z", "valid=9999-12-31T23:59Z", "minute=999999999"]
)
def test_the_ends_of_the_calendar_can_be_visited(client: Any, story: Any, query: str) -> None:
    assert client.get(f"/time?{query}").status_code == 200


def test_a_book_without_a_past_says_so(client: Any) -> None:
    assert "There is no past yet" in client.get("/time").text


def test_a_setting_is_told_with_what_it_was_before(client: Any, alice: Any, clock: Any) -> None:
    alice.remember("Has a dog")
    then = clock().isoformat().replace("+00:00", "Z")
    clock.forward(days=1)
    alice.configure(preset="coach")
    page = client.get(f"/time?known={then}").text
    assert "preset" in page
    assert "not set" in page
    assert "coach" in page
    assert "deleted for good" not in page


def test_a_purged_memory_is_nowhere_in_the_past(client: Any, alice: Any, story: Any) -> None:
    alice.delete(story.id, forever=True)
    text = client.get(f"/time?known={PAST}").text
    assert "months of expenses" not in text
    assert "A memory that is deleted for good" in text


# --- rules


def test_entries_are_counted_by_the_owners_days() -> None:
    written = ["2026-08-14T21:59:59.000000Z", "2026-08-14T22:00:00.000000Z", "2026-08-15T12:00:00.000000Z"]
    vienna = per_day(written, ZoneInfo("Europe/Vienna"))
    assert vienna == {date(2026, 8, 14): 1, date(2026, 8, 15): 2}


def block(*texts: str, shown: tuple[str, ...]) -> ComposedBlock:
    """The last ones show these memories; what comes before them is the head."""
    first = len(texts) - len(shown)
    head = [
        BlockLine("head", text.removeprefix("## "), "## " if text.startswith("## ") else "") for text in texts[:first]
    ]
    lines = [BlockLine("line", text[2:], "- ", id, 1) for text, id in zip(texts[first:], shown, strict=True)]
    return ComposedBlock(block_text([*head, *lines]), tuple((id, 1) for id in shown), {}, (*head, *lines))


def test_a_memory_that_only_moved_is_the_same() -> None:
    then = block("## Head", "- one", "- two", "- three", shown=("a", "b", "c"))
    now = block("## Head", "- three", "- one", "- two", shown=("c", "a", "b"))
    found = compare(then, now)
    assert [found.count(kind) for kind in ("same", "changed", "new", "gone")] == [3, 0, 0, 0]


def test_lines_are_matched_by_memory_even_where_every_word_changed() -> None:
    found = compare(block("## H", "- short answers", shown=("a",)), block("## H", "- numbers first", shown=("a",)))
    assert found.count("changed") == 1
    assert "".join(piece.text for piece in found.rows[1].then) == "- short answers"
    assert "".join(piece.text for piece in found.rows[1].now) == "- numbers first"


def test_an_intro_that_begins_with_a_dash_is_no_memory() -> None:
    found = compare(block("- intro", "- one", shown=("a",)), block("- intro", "- one", shown=("a",)))
    assert found.count("same") == 1


def test_an_empty_block_compares_with_a_full_one() -> None:
    found = compare(block(shown=()), block("## H", "- one", shown=("a",)))
    assert found.count("new") == 1
    assert compare(block(shown=()), block(shown=())).rows == []
