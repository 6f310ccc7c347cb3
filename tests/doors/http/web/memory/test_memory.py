"""`/profile/facts`: what a person does with their memories, in the browser and without script."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals
from keepbook.doors.http.web.memory import rows

FACTS = "/profile/facts"
HOSTILE = "Likes <script>alert('x')</script> and **bold** [links](javascript:alert(1))"


def extract(book: Any, content: str, score: float, **told: Any) -> Any:
    """Keep what the close of a chat found."""
    with book.writing() as (tx, preset):
        origin = Origin("extractor", "chat", source="extracted")
        return changes.remember(tx, origin, preset, changes.Statement(content, score=score, made_by="rules", **told))


def propose(book: Any, content: str, *, op: str = "add", nature: str = "proposal", memory_id: str | None = None) -> Any:
    with book.writing() as (tx, _):
        return proposals.propose(
            tx, stamp(tx.clock()), nature=nature, op=op, content=content, turn_ids=[], memory_id=memory_id
        )


def form(content: str, **told: Any) -> dict[str, Any]:
    return {"content": content, "back": FACTS, **told}


def row(page: Page, text: str) -> Any:
    return page.locator(".facts-list .entry", has_text=text)


def more(page: Page, text: str, what: str) -> None:
    """Open a row's menu and choose from it."""
    row(page, text).locator("summary").click()
    row(page, text).locator(".menu-list").get_by_text(what, exact=True).click()


# --- what the page says


def test_an_empty_book_says_so_and_takes_the_first_entry(person: Page, alice: Any) -> None:
    person.goto(FACTS)
    expect(person.locator(".empty")).to_contain_text("The book is empty")
    person.locator(".empty").get_by_role("link", name="Add a memory").click()
    person.get_by_label("What should stand in the book").fill("Lives in Vienna")
    person.get_by_role("button", name="Add to the book").click()
    expect(row(person, "Lives in Vienna")).to_be_visible()
    assert [memory.content for memory in alice.list()] == ["Lives in Vienna"]


def test_the_head_counts_what_was_said_found_and_inferred(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    read = alice.remember("Dislikes risk", confidence="inferred")
    extract(alice, "Has a dog", 0.82)
    page = " ".join(client.get(FACTS).text.split())
    assert "3 memories: 2 you said (1 of them found in chats), 1 inferred. 3 of them go into every new chat." in page
    assert "Read between the lines</h3>" in page
    assert "In your book, and not said by you. Unanswered, it stays." in page
    alice.forget(read.id)
    page = client.get(FACTS).text
    assert "Found in what you said. Unanswered, it fades and then leaves new chats." in page
    assert "Read between the lines" not in page


def test_each_row_says_whether_the_next_chat_is_given_it(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    extract(alice, "Has a dog", 0.4)
    alice.remember("Starts school next year", valid_from="2027-09-01")
    alice.remember("Rents a flat in Graz", valid_from="2020-01-01", valid_until="2021-01-01")
    alice.remember("Watches one pair only", scope="desk")
    text = client.get(FACTS).text
    assert "in new chats" in text
    assert "recall only: its score is under 0.7" in text
    assert "not true yet" in text
    assert "no longer true, so not in new chats" in text
    assert "only for desk" in text


def test_what_the_budget_leaves_out_says_so(client: Any, alice: Any) -> None:
    for number in range(200):
        alice.remember(f"Number {number} " + "of the long things that are worth keeping for ever " * 3, force=True)
    assert "left out of new chats: over the token budget" in client.get(FACTS).text


def test_with_memory_switched_off_no_chat_is_given_any(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    alice.choose(memory=False)
    text = client.get(FACTS).text
    assert "no chat is given any of them" in " ".join(text.split())
    assert "in no chat: memory is switched off" in text


def test_a_stale_memory_is_marked_with_its_days(client: Any, alice: Any, clock: Any) -> None:
    alice.remember("Lives in Vienna")
    clock.forward(days=74)
    assert "Not used for 74 days" in client.get(FACTS).text


def test_what_software_found_says_when_it_leaves_new_chats(client: Any, alice: Any, clock: Any) -> None:
    extract(alice, "Has a dog", 0.71)
    assert re.search(r"leaves new chats on <time[^>]*>\d+ \w+</time> unless you confirm it", client.get(FACTS).text)


def test_a_row_leads_to_the_turn_it_was_said_in(client: Any, alice: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "I live in Vienna")
    alice.threads.rename(chat.id, "Where I live")
    alice.remember("Lives in Vienna", thread_id=chat.id, turn_ids=["1"])
    alice.remember("Said in a chat of another time", thread_id="gone0000")
    text = client.get(FACTS).text
    assert f'said in <a href="/chat/{chat.id}#turn-1">Where I live</a>' in text
    assert "said in a chat that is not here" in text


def test_memories_stand_in_groups_with_their_count_in_the_margin(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    alice.remember("Works as an engineer", category="profile")
    alice.remember("Wants short answers", category="response_style")
    person.goto(FACTS)
    heads = person.locator(".facts-list .entry.first .when")
    assert [" ".join(text.split()) for text in heads.all_inner_texts()] == [
        "Profile 2 memories",
        "Response style 1 memory",
    ]


def test_a_long_book_comes_in_pages_and_an_edit_opens_on_the_right_one(client: Any, alice: Any) -> None:
    with alice.transaction():
        made = [alice.remember(f"Fact number {number} of a long book", force=True) for number in range(230)]
    first, second = client.get(FACTS).text, client.get(f"{FACTS}?page=2").text
    assert first.count('id="m-') == second.count('id="m-') == 100
    assert "Page 1 of 3" in first
    assert made[0].content in first
    assert made[0].content not in second
    assert "Save as version 2" in client.get(f"{FACTS}?edit={made[-1].id}").text
    assert made[-1].content in client.get(f"{FACTS}?q=number+229").text, "a search looks on every page"
    assert made[-1].content in client.get(f"{FACTS}?print=1").text, "and paper has no pages"


def test_what_is_done_to_all_reaches_every_page_and_is_undone_at_once(client: Any, alice: Any) -> None:
    with alice.transaction():
        for number in range(120):
            alice.remember(f"Fact number {number} of a long book", force=True)
        alice.remember("Plays the piano")
    assert "All 120 on 2 pages" in client.get(f"{FACTS}?select=1&q=long+book").text
    done = client.post(f"{FACTS}/many/archive", data={"every": "1", "back": f"{FACTS}?select=1&q=long+book"})
    assert "120 memories archived." in done.text
    assert [memory.content for memory in alice.list()] == ["Plays the piano"]
    events = re.search(r'name="events" value="([0-9-]+)"', done.text)
    assert events is not None
    client.post(f"{FACTS}/undo", data={"events": events[1], "back": FACTS})
    assert alice.list(limit=1).total == 121


def test_what_the_page_knows_of_all_memories_follows_every_write(client: Any, alice: Any) -> None:
    """It is worked out once for each state of the ledger: nothing written may be missed, by whoever."""
    first = alice.remember("Lives in Vienna")
    assert "1 memory: 1 you said" in client.get(FACTS).text
    alice.remember("Dislikes risk", confidence="inferred")
    assert "2 memories: 1 you said, 1 inferred." in client.get(FACTS).text
    alice.forget(first.id)
    assert "1 memory: 0 you said" in client.get(FACTS).text
    alice.undo(alice.ledger(limit=1)[0].event)
    assert "2 memories: 1 you said" in client.get(FACTS).text


def test_a_row_that_is_shown_as_it_was_is_what_it_would_be_anew(client: Any, alice: Any, kb: Any, clock: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "I live in Vienna")
    ids = [alice.remember(f"Likes tea number {number}", category="fact").id for number in range(3)]
    ids.append(alice.remember("Dislikes risk", confidence="inferred", category="profile").id)
    for change in (
        lambda: None, lambda: alice.confirm(ids[0]), lambda: alice.demote(ids[1]), lambda: alice.promote(ids[3]),
        lambda: alice.update(ids[0], "Likes coffee"), lambda: alice.remember("Has a cat", thread_id=chat.id),
        lambda: alice.threads.rename(chat.id, "Where I live"), lambda: alice.threads.start().inject(),
        lambda: alice.choose(memory=False), lambda: clock.set("2026-11-13T09:00:00Z"),
        lambda: clock.set("2027-02-01T09:00:00Z"), lambda: alice.configure(zone="Pacific/Auckland"),
        lambda: alice.forget(ids[2]),
    ):  # fmt: skip
        change()
        for path in (FACTS, f"{FACTS}?select=1", f"{FACTS}?archived=1"):
            shown = client.get(path).text
            rows._LAST.clear()
            assert client.get(path).text == shown
    assert {len(pieces) for pieces in rows._LAST.values()} == {5}  # those of the last showing, and no others


@pytest.mark.parametrize(
    "path", [FACTS, f"{FACTS}?print=1", f"{FACTS}?block=1", "/time", "/memory/{id}", "/memory/{id}/purge"]
)
def test_markup_in_a_memory_stays_text(client: Any, alice: Any, path: str) -> None:
    memory = alice.remember(HOSTILE)
    text = client.get(path.format(id=memory.id)).text
    assert "<script>alert" not in text
    assert "<strong>bold" not in text
    assert "<b>bold" not in text
    assert "&lt;script&gt;" in text or "‹script›" in text
    assert 'href="javascript' not in text


def test_hostile_words_run_nowhere_while_they_are_edited_and_searched(person: Page, alice: Any) -> None:
    alerted: list[str] = []
    person.on("dialog", lambda dialog: (alerted.append(dialog.message), dialog.dismiss()))
    memory = alice.remember(HOSTILE)
    person.goto(f"{FACTS}?edit={memory.id}")
    expect(person.get_by_label("What should stand in the book")).to_have_value(HOSTILE)
    person.get_by_role("button", name="Save as version 2").click()
    person.goto(f"{FACTS}?q=<script>alert(1)</script>")
    expect(person.locator(".empty")).to_contain_text("Nothing fits")
    person.goto(f"/memory/{memory.id}")
    expect(person.locator("h1")).to_have_text(HOSTILE)
    assert not alerted


def test_odd_dates_at_the_ends_of_the_calendar_are_shown(client: Any, alice: Any) -> None:
    alice.configure(zone="America/New_York")
    memory = alice.remember("Has always been so", valid_from="0001-01-01", valid_until="9999-12-31")
    assert client.get(FACTS).status_code == client.get(f"/memory/{memory.id}").status_code == 200


# --- changing one


def test_an_edit_in_place_makes_version_two_and_keeps_the_row_in_hand(person: Page, alice: Any) -> None:
    alice.remember("Mortgage of 212,000")
    person.goto(FACTS)
    person.evaluate("window.stayed = true")
    row(person, "Mortgage").get_by_role("link", name="Edit").click()
    field = person.get_by_label("What should stand in the book")
    expect(field).to_be_focused()
    field.fill("Mortgage of 208,500")
    expect(person.locator("#e-count")).to_have_text("19 of 500 characters")
    person.get_by_role("button", name="Save as version 2").click()
    expect(row(person, "208,500")).to_contain_text("version 2")
    expect(row(person, "208,500")).to_be_focused()
    expect(person.locator(".toast")).to_contain_text("Saved as a new version.")
    assert person.evaluate("window.stayed")

    person.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row(person, "212,000")).to_be_visible()
    expect(person.locator(".toast")).to_contain_text("Undone.")
    assert person.evaluate("window.stayed")
    assert [version.content for version in alice.history(alice.list()[0].id)][-1] == "Mortgage of 212,000"


def test_an_edit_can_be_opened_cancelled_and_saved_by_keys(person: Page, alice: Any) -> None:
    alice.remember("Mortgage of 212,000")
    person.goto(FACTS)
    person.keyboard.press("j")
    person.keyboard.press("e")
    field = person.get_by_label("What should stand in the book")
    expect(field).to_be_focused()
    person.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(row(person, "Mortgage")).to_be_focused()
    person.keyboard.press("e")
    expect(field).to_be_focused()
    field.fill("Mortgage of 208,500")
    person.keyboard.press("Control+Enter")
    expect(row(person, "208,500")).to_contain_text("version 2")
    person.keyboard.press("u")
    expect(row(person, "212,000")).to_be_visible()


def test_two_tabs_do_not_overwrite_each_other(opens: Any, alice: Any) -> None:
    alice.remember("Mortgage of 212,000")
    browser = opens()
    one, other = browser.new_page(), browser.new_page()
    for tab in (one, other):
        tab.goto(FACTS)
        row(tab, "Mortgage").get_by_role("link", name="Edit").click()
    one.get_by_label("What should stand in the book").fill("Mortgage of 208,500")
    one.get_by_role("button", name="Save as version 2").click()
    expect(row(one, "208,500")).to_be_visible()

    other.get_by_label("What should stand in the book").fill("Mortgage of 200,000")
    other.get_by_role("button", name="Save as version 2").click()

    refused = other.locator(".banner.bad")
    expect(refused).to_contain_text("Not saved: version 2 was written meanwhile.")
    expect(refused).to_contain_text("Mortgage of 208,500")
    expect(refused).to_contain_text("Mortgage of 200,000")
    assert alice.list()[0].content == "Mortgage of 208,500"
    other.get_by_role("button", name="Save as version 3").click()
    expect(other.locator("textarea")).to_have_count(0)
    expect(row(other, "200,000")).to_contain_text("version 3")
    assert alice.list()[0].content == "Mortgage of 200,000"


def test_an_edit_works_as_a_plain_form(opens: Any, alice: Any) -> None:
    alice.remember("Mortgage of 212,000")
    page = opens(java_script_enabled=False).new_page()
    page.goto(FACTS)
    row(page, "Mortgage").get_by_role("link", name="Edit").click()
    page.get_by_label("What should stand in the book").fill("Mortgage of 208,500")
    page.get_by_label("True until").fill("2029-06-30")
    page.get_by_role("button", name="Save as version 2").click()
    expect(row(page, "208,500")).to_contain_text("true until 30 Jun 2029")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "212,000")).to_be_visible()
    more(page, "212,000", "Archive")
    expect(row(page, "212,000")).to_have_count(0)


def test_a_correction_holds_from_the_start_and_a_change_from_now_on(client: Any, alice: Any) -> None:
    changed = alice.remember("Lives in Vienna", valid_from="2020-01-01")
    wrong = alice.remember("Works as a painter", valid_from="2020-01-01")
    client.post(f"/memory/{changed.id}", data=form("Lives in Graz", expect_version=1))
    client.post(f"/memory/{wrong.id}", data=form("Works as a pianist", expect_version=1, correction="1"))
    assert sorted(memory.content for memory in alice.as_of(valid="2021")) == ["Lives in Vienna", "Works as a pianist"]


def test_what_is_true_until_a_day_is_true_on_that_day(client: Any, alice: Any) -> None:
    alice.configure(zone="Europe/Vienna")
    memory = alice.remember("Lives in Vienna")
    client.post(f"/memory/{memory.id}", data=form("Lives in Vienna", expect_version=1, valid_until="2027-02-28"))
    assert stamp(alice.get(memory.id).valid_until) == "2027-02-28T22:59:59.999999Z"
    again = form("Lives in Vienna still", expect_version=2, valid_until="2027-02-28")
    client.post(f"/memory/{memory.id}", data=again)
    assert stamp(alice.get(memory.id).valid_until) == "2027-02-28T22:59:59.999999Z"
    client.post(f"/memory/{memory.id}", data=form("Lives in Vienna still", expect_version=3, valid_until=""))
    assert alice.get(memory.id).valid_until is None


def test_a_wording_that_breaks_a_rule_stands_in_the_form_with_the_reason(client: Any, alice: Any) -> None:
    memory = alice.remember("Drinks coffee")
    answer = client.post(f"/memory/{memory.id}", data=form("Tea", expect_version=1))
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert ">Tea</textarea>" in answer.text
    bad_day = client.post(f"/memory/{memory.id}", data=form("Drinks tea", expect_version=1, valid_from="soon"))
    assert bad_day.status_code == 422
    assert "is not a date" in bad_day.text
    assert alice.get(memory.id).version == 1


def test_archive_trash_and_restore(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    alice.remember("Plays the piano")
    person.goto(FACTS)
    person.set_viewport_size({"width": 390, "height": 500})
    row(person, "Vienna").evaluate("row => row.scrollIntoView({ block: 'end' })")
    row(person, "Vienna").locator("summary").click()
    expect(row(person, "Vienna").locator(".menu-list").get_by_text("Delete", exact=True)).to_be_in_viewport(ratio=1)
    row(person, "Vienna").locator("summary").click()
    more(person, "Vienna", "Archive")
    expect(row(person, "Vienna")).to_have_count(0)
    expect(person.locator(".toast")).to_contain_text("Archived.")
    more(person, "piano", "Delete")
    expect(row(person, "piano")).to_have_count(0)
    expect(person.locator(".toast")).to_contain_text("In the trash for 30 days.")

    expect(person.get_by_label("Search memories")).to_be_hidden()  # on a phone the tools are behind one button
    expect(person.get_by_role("main").get_by_role("link", name="Bring in")).to_be_visible()
    person.get_by_text("Search and more").click()
    person.get_by_label("Archived (1)").check()
    expect(row(person, "Vienna").locator("del")).to_be_visible()
    person.get_by_label("Trash (1)").check()
    row(person, "piano").get_by_role("button", name="Restore").click()
    expect(person.get_by_label("Trash (0)")).to_be_visible()
    row(person, "Vienna").get_by_role("button", name="Restore").click()
    expect(person.get_by_label("Archived (0)")).to_be_visible()
    assert {memory.state for memory in alice.list(state="all")} == {"active"}


def test_deleting_for_good_asks_first_and_leaves_a_blank_line(person: Page, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    alice.remember("Plays the piano")
    alice.delete(memory.id)
    person.goto(f"{FACTS}?trash=1")
    row(person, "Vienna").get_by_role("link", name="Delete for good").click()
    expect(person.locator("h1")).to_have_text("Delete this for good?")
    person.get_by_role("link", name="Keep it").click()
    expect(row(person, "Vienna")).to_be_visible()
    row(person, "Vienna").get_by_role("link", name="Delete for good").click()
    person.get_by_role("button", name="Delete for good").click()
    expect(person.get_by_label("Trash (0)")).to_be_visible()
    person.goto(f"/memory/{memory.id}")
    expect(person.locator("h1")).to_have_text("This memory was deleted for good")
    assert "Vienna" not in person.content()


def test_nothing_is_deleted_for_good_without_the_answer(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    client.post(f"/memory/{memory.id}/purge", data={})
    assert alice.get(memory.id).content == "Lives in Vienna"


def test_confirm_promote_and_demote(client: Any, alice: Any) -> None:
    read = extract(alice, "Has a dog", 0.82)
    client.post(f"/memory/{read.id}/confirm", data={"back": FACTS})
    assert alice.get(read.id).last_confirmed_at is not None
    assert "You confirmed it" in client.post(f"/memory/{read.id}/promote", data={"back": FACTS}).text
    assert "Found in what you said" in client.post(f"/memory/{read.id}/demote", data={"back": FACTS}).text


def test_a_write_comes_back_to_the_same_filters(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna", category="profile")
    answer = client.post(
        f"/memory/{memory.id}/confirm", data={"back": f"{FACTS}?category=profile"}, follow_redirects=False
    )
    assert answer.headers["location"].startswith(f"{FACTS}?category=profile&undo=")


def test_a_form_never_leads_to_another_site(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    for back in ("https://example.org/", "//example.org", "/\\example.org"):
        answer = client.post(f"/memory/{memory.id}/confirm", data={"back": back}, follow_redirects=False)
        assert answer.headers["location"].startswith(FACTS)


# --- adding


def test_something_like_it_is_shown_before_it_is_added_twice(person: Page, alice: Any) -> None:
    alice.remember("Keeps six months of expenses in cash", category="fact")
    person.goto(FACTS)
    person.get_by_role("link", name="Add a memory").click()
    person.get_by_label("What should stand in the book").fill("Keeps six months of his expenses in cash")
    person.get_by_label("Category", exact=True).last.select_option("fact")
    person.get_by_role("button", name="Add to the book").click()
    warning = person.locator(".banner.amber")
    expect(warning).to_contain_text("You already have something like this. Update that one, or keep both?")
    expect(warning).to_contain_text("Keeps six months of expenses in cash")
    assert alice.list().total == 1

    warning.get_by_role("button", name="Update that one").click()
    expect(row(person, "of his expenses")).to_contain_text("version 2")
    assert alice.list().total == 1


def test_both_are_kept_where_the_person_says_so(client: Any, alice: Any) -> None:
    alice.remember("Keeps six months of expenses in cash", category="fact")
    new = form("Keeps six months of his expenses in cash", category="fact")
    assert client.post(FACTS, data=new).status_code == 409
    assert client.post(FACTS, data=new | {"keep_both": "1"}).status_code == 200
    assert alice.list().total == 2


def test_the_same_thing_is_not_added_twice(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    assert "You have this already" in client.post(FACTS, data=form("Lives in Vienna")).text
    assert alice.list().total == 1


def test_what_cannot_be_added_stays_in_the_form(client: Any, alice: Any) -> None:
    answer = client.post(FACTS, data=form("Hm"))
    assert answer.status_code == 422
    assert ">Hm</textarea>" in answer.text
    assert alice.list().total == 0


# --- finding


def test_search_and_filters_narrow_the_page(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    alice.remember("Wants short answers", category="response_style")
    alice.remember("Dislikes risk", category="profile", confidence="inferred")
    person.goto(FACTS)
    person.get_by_role("searchbox", name="Search memories").fill("vienna")
    person.keyboard.press("Enter")
    expect(person.locator(".facts-list .entry")).to_have_count(1)
    expect(person).to_have_url(re.compile("q=vienna"))
    person.get_by_role("searchbox", name="Search memories").fill("")
    person.keyboard.press("Enter")
    expect(person.locator(".facts-list .entry")).to_have_count(3)
    person.get_by_label("Category").select_option("profile")
    expect(person.locator(".facts-list .entry")).to_have_count(2)
    person.get_by_label("Source").select_option("inferred")
    expect(person.locator(".facts-list .entry")).to_have_count(1)
    expect(row(person, "Dislikes risk")).to_be_visible()


def test_the_block_is_shown_word_for_word(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    person.goto(FACTS)
    person.get_by_role("link", name="What chats are given").click()
    assert person.locator("#block pre").text_content() == alice.block()


def test_the_printable_view_has_everything_and_no_buttons(client: Any, alice: Any) -> None:
    for number in range(70):
        alice.remember(f"Fact number {number} of a long book", force=True)
    text = client.get(f"{FACTS}?print=1").text
    assert text.count("of a long book") == 70
    assert "<button" not in text
    assert "<form" not in text


# --- many at once


def test_several_are_archived_together_with_one_undo_for_all(person: Page, alice: Any) -> None:
    for fact in ("Lives in Vienna", "Plays the piano", "Drinks coffee"):
        alice.remember(fact)
    person.goto(FACTS)
    person.get_by_role("link", name="Select several").click()
    person.get_by_label("Select “Lives in Vienna”").check()
    person.get_by_label("Select “Drinks coffee”").check()
    expect(person.locator("[data-selected]")).to_have_text("2 selected:")
    person.locator(".many").get_by_role("button", name="Archive").click()
    expect(person.locator(".toast")).to_contain_text("2 memories archived.")
    assert [memory.content for memory in alice.list()] == ["Plays the piano"]
    person.locator(".toast").get_by_role("button", name="Undo").click()
    expect(person.locator(".facts-list .entry")).to_have_count(3)
    person.locator(".toast").get_by_role("button", name="Redo").click()
    expect(person.locator(".facts-list .entry")).to_have_count(1)


def test_many_are_changed_together_or_not_at_all(client: Any, alice: Any) -> None:
    kept, gone = alice.remember("Lives in Vienna"), alice.remember("Plays the piano")
    alice.forget(gone.id)
    answer = client.post(f"{FACTS}/many/confirm", data={"id": [kept.id, gone.id], "back": FACTS})
    assert answer.status_code == 409
    assert alice.get(kept.id).last_confirmed_at is None


def test_nothing_selected_is_said_kindly(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    answer = client.post(f"{FACTS}/many/delete", data={"back": FACTS})
    assert answer.status_code == 422
    assert "Select at least one memory first." in answer.text


@pytest.mark.parametrize("events", ["", "1", "2-1", "1-9999", "x-y", "0-3", "1-2-3"])
def test_made_up_entries_are_not_undone_together(client: Any, alice: Any, events: str) -> None:
    alice.remember("Lives in Vienna")
    assert client.post(f"{FACTS}/undo", data={"events": events}).status_code in (404, 409, 422)
    assert alice.list().total == 1


# --- are these right?


def test_the_queue_asks_about_three_at_most_and_yes_makes_it_the_persons_word(person: Page, alice: Any) -> None:
    made = [
        alice.remember(fact, confidence="inferred") for fact in ("Dislikes risk", "Sleeps late", "Has a dog", "Is shy")
    ]
    person.goto(FACTS)
    queue = person.locator(".queue .entry")
    expect(queue).to_have_count(3)
    expect(queue.first).to_contain_text("1 of 4")
    expect(queue.first).to_contain_text("Is shy")
    person.get_by_role("link", name="Show all 4").click()
    expect(queue).to_have_count(4)
    expect(queue.last).to_contain_text("4 of 4")
    person.goto(FACTS)
    queue.first.get_by_role("button", name="Yes").click()
    expect(queue.first).to_contain_text("1 of 3")
    expect(person.locator("#pages .count")).to_contain_text("3 to review")
    assert alice.get(made[3].id).confidence == "asserted"
    queue.first.get_by_role("button", name="No, forget it").click()
    expect(queue).to_have_count(2)
    assert alice.get(made[2].id).state == "archived"
    person.locator(".toast").get_by_role("button", name="Undo").click()
    expect(queue).to_have_count(3)


def test_not_quite_puts_it_into_the_persons_words(person: Page, alice: Any) -> None:
    read = alice.remember("Dislikes risk", confidence="inferred")
    person.goto(FACTS)
    person.locator(".queue").get_by_role("link", name="Not quite").click()
    person.get_by_label("What should stand in the book").fill("Dislikes risk with the rent money")
    person.get_by_role("button", name="Save as version 2").click()
    expect(person.locator(".queue")).to_have_count(0)
    assert alice.get(read.id).confidence == "asserted"


def test_a_proposal_is_accepted_declined_and_asked_again(person: Page, alice: Any) -> None:
    propose(alice, "Has a dog called Rex")
    person.goto(FACTS)
    queue = person.locator(".queue .entry")
    queue.get_by_role("button", name="No, forget it").click()
    expect(person.locator(".queue")).to_have_count(0)
    person.locator(".toast").get_by_role("button", name="Undo").click()
    queue.get_by_role("button", name="Yes").click()
    expect(row(person, "Has a dog called Rex")).to_contain_text("You confirmed it")
    person.locator(".toast").get_by_role("button", name="Undo").click()
    expect(queue).to_have_count(1)
    assert alice.list().total == 0


def test_a_proposal_in_better_words_is_kept_and_not_asked_again(person: Page, alice: Any) -> None:
    propose(alice, "Has a dog called Rex")
    person.goto(FACTS)
    person.locator(".queue").get_by_role("link", name="Not quite").click()
    expect(person.get_by_label("What should stand in the book")).to_have_value("Has a dog called Rex")
    person.get_by_label("What should stand in the book").fill("Has a cat called Rex")
    person.get_by_role("button", name="Add to the book").click()
    expect(row(person, "Has a cat called Rex")).to_be_visible()
    expect(person.locator(".queue")).to_have_count(0)


def test_what_was_skipped_for_the_persons_word_is_shown_against_it(person: Page, alice: Any) -> None:
    said = alice.remember("Keeps six months of expenses in cash")
    propose(alice, "Keeps two months of expenses in cash", op="update", nature="conflict", memory_id=said.id)
    person.goto(FACTS)
    asked = person.locator(".queue .entry")
    expect(asked).to_contain_text("Against your word")
    expect(asked.locator("del")).to_have_text("six")
    expect(asked.locator("ins")).to_have_text("two")
    asked.get_by_role("button", name="No, keep mine").click()
    expect(person.locator(".queue")).to_have_count(0)
    assert alice.get(said.id).version == 1


def test_a_question_is_answered_by_its_buttons_and_taken_back(person: Page, alice: Any) -> None:
    old, new = alice.remember("Works at Equinor"), alice.remember("Works at a bakery")
    with alice.writing() as (tx, _):
        proposals.ask_question(
            tx, stamp(tx.clock()), question="over", op="end", content=new.content, memory_id=old.id, beside=new.id
        )
    person.goto(FACTS)
    asked = person.locator(".queue .entry")
    expect(asked).to_contain_text("Works at Equinor")
    asked.get_by_role("button", name="It is over").click()
    expect(person.locator(".queue")).to_have_count(0)
    assert not alice.get(old.id).current
    person.locator(".toast").get_by_role("button", name="Undo").click()
    expect(asked).to_have_count(1)
    assert alice.get(old.id).current
    asked.get_by_role("button", name="Keep both").click()
    expect(person.locator(".queue")).to_have_count(0)
    assert alice.list().total == 2


def test_opposites_stand_side_by_side_until_the_person_says_which_holds(person: Page, alice: Any) -> None:
    alice.remember("Likes opera")
    alice.remember("Does not like opera")
    person.goto(FACTS)
    asked = person.locator(".queue .entry")
    expect(asked).to_contain_text("Likes opera")
    expect(asked).to_contain_text("Does not like opera")
    asked.get_by_role("button", name="Both hold").click()
    expect(person.locator(".queue")).to_have_count(0)
    assert alice.list().total == 2
    person.locator(".toast").get_by_role("button", name="Undo").click()
    asked.get_by_role("button", name="Archive the first").click()
    expect(person.locator(".queue")).to_have_count(0)
    assert [memory.content for memory in alice.list()] == ["Does not like opera"]


# --- who may


def test_a_token_that_only_reads_changes_nothing(client: Any, kb: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    made = kb.tokens.create("alice", scopes=("read",))
    headers = {"Authorization": f"Bearer {made.token}"}
    assert client.get(FACTS, headers=headers).status_code == 200
    for path in (f"/memory/{memory.id}/archive", f"{FACTS}/many/archive", f"/memory/{memory.id}"):
        answer = client.post(path, data=form("Lives in Graz", id=memory.id), headers=headers)
        assert answer.status_code == 403
    assert alice.get(memory.id).version == 1


def test_another_site_cannot_send_the_forms(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    headers = {"Origin": "https://example.org", "Sec-Fetch-Site": "cross-site"}
    assert client.post(f"/memory/{memory.id}/delete", data={}, headers=headers).status_code == 403
    assert alice.get(memory.id).state == "active"


def test_another_owners_memory_is_not_there(client: Any, kb: Any) -> None:
    memory = kb.book("bob").remember("Lives in Graz")
    assert client.get(f"/memory/{memory.id}").status_code == 404
    assert client.post(f"/memory/{memory.id}/archive", data={}).status_code == 404
    assert client.post(f"{FACTS}/many/archive", data={"id": memory.id}).status_code == 404
