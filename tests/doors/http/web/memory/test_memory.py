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


def unfold(page: Page, text: str) -> Any:
    """A row with all that is folded in it."""
    row(page, text).locator("summary .book").click()
    return row(page, text)


def more(page: Page, text: str, what: str) -> None:
    """Open a row's menu and choose from it."""
    unfolded = unfold(page, text)
    unfolded.locator(".menu > summary").click()
    unfolded.locator(".menu-list").get_by_text(what, exact=True).click()


def shown(text: str) -> str:
    """What a page says, without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


# --- what the page says


def test_an_empty_book_says_so_and_takes_the_first_entry(person: Page, alice: Any) -> None:
    person.goto(FACTS)
    expect(person.locator(".empty")).to_contain_text("The book is empty")
    person.locator(".empty").get_by_role("link", name="Write a line").click()
    person.get_by_label("What should stand in the book").fill("Lives in Vienna")
    person.get_by_role("button", name="Write it down").click()
    expect(row(person, "Lives in Vienna")).to_be_visible()
    assert [memory.content for memory in alice.list()] == ["Lives in Vienna"]


def test_chips_count_what_was_said_guessed_and_waits(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    alice.remember("Dislikes risk", confidence="inferred")
    extract(alice, "Has a dog", 0.82)
    propose(alice, "Has a cat")
    page = shown(client.get(FACTS).text)
    assert "3 lines. Change any of them, any time." in page
    assert "3 lines wait for your yes or no." in page
    assert "All Waits for you 3 You said 1 I guessed 2" in page
    assert "Has a cat waits" in page
    assert shown(client.get(f"{FACTS}?show=waits").text).count(" waits ") == 3
    said = shown(client.get(f"{FACTS}?show=said").text)
    assert "Lives in Vienna" in said
    assert "Dislikes risk" not in said


def test_only_what_the_person_worded_is_called_their_own_words(client: Any, kb: Any, alice: Any) -> None:
    kb.book("alice", by="agent", name="Helper").remember("Lives in Vienna", confidence="asserted")
    page = shown(client.get(FACTS).text)
    assert "1 line. Change" in page, "somebody else worded it"
    assert "I guessed 1" in page, "nobody is told that they said what an agent worded"
    assert "You said" not in page
    assert "Lives in Vienna by Helper" in page, "until the person confirms it"
    id = alice.list()[0].id
    assert "Lives in Vienna by Helper" in shown(client.get(f"{FACTS}?show=guessed").text)
    assert "Lives in Vienna" not in shown(client.get(f"{FACTS}?show=said").text)
    assert "Lives in Vienna by Helper" in shown(client.get(f"{FACTS}?show=guessed&q=vienna").text), "as many as counted"
    changed = alice.update(id, "Lives in Bergen")
    assert "It said “Lives in Vienna”" in shown(client.get(f"/memory/{id}").text)
    alice.undo(changed.event)
    alice.confirm(id)
    page = shown(client.get(FACTS).text)
    assert "You said 1" in page
    assert "I guessed" not in page
    assert "Lives in Vienna said" in page
    assert "Lives in Vienna said" in shown(client.get(f"{FACTS}?show=said&q=vienna").text)
    alice.remember("I play the piano")
    alice.remember("I drink tea")
    assert "3 lines, most of them in your own words." in shown(client.get(FACTS).text)


def test_a_quotation_is_said_and_waits_for_nobody(client: Any, alice: Any, talk: Any) -> None:
    talk("I am allergic to peanuts.", close=True)
    page = shown(client.get(FACTS).text)
    assert "“I am allergic to peanuts” said" in page
    assert "for your yes or no" not in page
    assert "You, Thursday, 12 November 2026" in page  # under it the person's own words, with day and chat
    assert re.search(r"“<b>I am allergic to peanuts</b>.”", client.get(FACTS).text)


def test_people_have_cards_that_lead_to_their_lines(client: Any, alice: Any) -> None:
    alice.remember("Kari is my wife", subject="My wife Kari")
    alice.remember("Likes trains")
    page = client.get(FACTS).text
    assert re.search(r'<a class="person" href="([^"]*)"><i[^>]*>K</i><b>Kari</b><span>wife · 1 line</span>', page)
    hers = shown(client.get(f"{FACTS}?person=Kari").text)
    assert "About Kari" in hers
    assert "Likes trains" not in hers


def test_memory_is_where_one_would_type_it(client: Any, alice: Any) -> None:
    assert client.get("/memory").url.path == FACTS


def test_each_row_says_whether_the_next_chat_is_given_it(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    extract(alice, "Has a dog", 0.4)
    alice.remember("Starts school next year", valid_from="2027-09-01")
    alice.remember("Rents a flat in Graz", valid_from="2020-01-01", valid_until="2021-01-01")
    alice.remember("Watches one pair only", scope="desk")
    text = client.get(FACTS).text
    assert "Every new chat knows it" in text
    assert "A chat knows it when it is asked for" in text
    assert "No chat knows it yet" in text
    assert "Not true any more since" in text
    assert "Only desk knows it" in text


def test_what_the_budget_leaves_out_says_so(client: Any, alice: Any) -> None:
    for number in range(200):
        alice.remember(f"Number {number} " + "of the long things that are worth keeping for ever " * 3, force=True)
    assert "New chats have no room for it" in client.get(FACTS).text


def test_with_memory_switched_off_no_chat_is_given_any(client: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    alice.choose(memory=False)
    text = client.get(FACTS).text
    assert "no chat knows it" in " ".join(text.split())
    assert "Memory is switched off, so no chat knows it" in text


def test_a_stale_memory_is_marked_with_its_days(client: Any, alice: Any, clock: Any) -> None:
    alice.remember("Lives in Vienna")
    clock.forward(days=74)
    assert "Not used for 74 days" in client.get(FACTS).text


def test_what_software_found_says_when_it_leaves_new_chats(client: Any, alice: Any, clock: Any) -> None:
    extract(alice, "Has a dog", 0.71)
    assert re.search(
        r"leaves new chats on <time[^>]*>\d+ \w+</time> unless you say that it is right", client.get(FACTS).text
    )


def test_a_row_leads_to_the_turn_it_was_said_in(client: Any, alice: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "I live in Vienna")
    alice.threads.rename(chat.id, "Where I live")
    alice.remember("Lives in Vienna", thread_id=chat.id, turn_ids=["1"])
    alice.remember("Said in a chat of another time", thread_id="gone0000")
    text = client.get(FACTS).text
    assert f'<a href="/chat/{chat.id}#turn-1">Where I live</a>' in text
    assert "a chat that is not here" in text


def test_memories_stand_in_groups_with_their_name_in_the_margin(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    alice.remember("Works as an engineer", category="profile")
    alice.remember("Wants short answers", category="response_style")
    person.goto(FACTS)
    heads = person.locator(".facts-list .entry.first .when")
    assert [" ".join(text.split()) for text in heads.all_inner_texts()] == [
        "About you",
        "How to answer",
    ]


def test_a_long_book_comes_in_pages_and_an_edit_opens_on_the_right_one(client: Any, alice: Any) -> None:
    with alice.transaction():
        made = [alice.remember(f"Fact number {number} of a long book", force=True) for number in range(230)]
    first, second = client.get(FACTS).text, client.get(f"{FACTS}?page=2").text
    assert first.count('id="m-') == second.count('id="m-') == 100
    assert "Page 1 of 3" in first
    assert made[0].content in first
    assert made[0].content not in second
    assert "stays in its history" in client.get(f"{FACTS}?edit={made[-1].id}").text
    assert made[-1].content in client.get(f"{FACTS}?q=number+229").text, "a search looks on every page"
    assert made[-1].content in client.get(f"{FACTS}?print=1").text, "and paper has no pages"


def test_what_is_done_to_all_reaches_every_page_and_is_undone_at_once(client: Any, alice: Any) -> None:
    with alice.transaction():
        for number in range(120):
            alice.remember(f"Fact number {number} of a long book", force=True)
        alice.remember("Plays the piano")
    assert "All 120 on 2 pages" in client.get(f"{FACTS}?select=1&q=long+book").text
    done = client.post(f"{FACTS}/many/archive", data={"every": "1", "back": f"{FACTS}?select=1&q=long+book"})
    assert "120 lines taken out." in done.text
    assert [memory.content for memory in alice.list()] == ["Plays the piano"]
    events = re.search(r'name="events" value="([0-9-]+)"', done.text)
    assert events is not None
    client.post(f"{FACTS}/undo", data={"events": events[1], "back": FACTS})
    assert alice.list(limit=1).total == 121


def test_what_the_page_knows_of_all_memories_follows_every_write(client: Any, alice: Any) -> None:
    """It is worked out once for each state of the ledger: nothing written may be missed, by whoever."""
    first = alice.remember("Lives in Vienna")
    assert "You said 1" in shown(client.get(FACTS).text)
    alice.remember("Dislikes risk", confidence="inferred")
    assert "You said 1 I guessed 1" in shown(client.get(FACTS).text)
    alice.forget(first.id)
    assert "I guessed 1 Taken out 1" in shown(client.get(FACTS).text)
    alice.undo(alice.ledger(limit=1)[0].event)
    assert "You said 1 I guessed 1" in shown(client.get(FACTS).text)


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
        for path in (FACTS, f"{FACTS}?select=1", f"{FACTS}?show=out"):
            shown = client.get(path).text
            rows._LAST.clear()
            assert client.get(path).text == shown
    assert {len(pieces) for pieces in rows._LAST.values()} == {1}  # those of the last showing, and no others


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
    person.get_by_role("button", name="Change it").click()
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
    unfold(person, "Mortgage").get_by_role("link", name="Change it").click()
    field = person.get_by_label("What should stand in the book")
    expect(field).to_be_focused()
    field.fill("Mortgage of 208,500")
    expect(person.locator("#e-count")).to_have_text("19 of 500 characters")
    person.get_by_role("button", name="Change it").click()
    expect(row(person, "208,500")).to_contain_text("said")
    expect(row(person, "208,500")).to_be_focused()
    expect(person.locator(".done-here")).to_contain_text("Changed. What it said before stays in its history.")
    assert person.evaluate("window.stayed")

    person.locator(".done-here").get_by_role("button", name="Undo").click()
    expect(row(person, "212,000")).to_be_visible()
    expect(person.locator(".done-here")).to_contain_text("Undone.")
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
    expect(row(person, "208,500")).to_contain_text("said")
    person.keyboard.press("e")
    field.fill("Mortgage of 207,000")
    person.keyboard.press("Enter")  # a line of the book has no second line
    expect(row(person, "207,000")).to_contain_text("said")
    person.keyboard.press("u")
    expect(row(person, "208,500")).to_be_visible()


def test_two_tabs_do_not_overwrite_each_other(opens: Any, alice: Any) -> None:
    alice.remember("Mortgage of 212,000")
    browser = opens()
    one, other = browser.new_page(), browser.new_page()
    for tab in (one, other):
        tab.goto(FACTS)
        unfold(tab, "Mortgage").get_by_role("link", name="Change it").click()
    one.get_by_label("What should stand in the book").fill("Mortgage of 208,500")
    one.get_by_role("button", name="Change it").click()
    expect(row(one, "208,500")).to_be_visible()

    other.get_by_label("What should stand in the book").fill("Mortgage of 200,000")
    other.get_by_role("button", name="Change it").click()

    refused = other.locator(".banner.bad")
    expect(refused).to_contain_text("Not saved: it was changed meanwhile.")
    expect(refused).to_contain_text("Mortgage of 208,500")
    expect(refused).to_contain_text("Mortgage of 200,000")
    assert alice.list()[0].content == "Mortgage of 208,500"
    other.get_by_role("button", name="Change it").click()
    expect(other.locator("textarea")).to_have_count(0)
    expect(row(other, "200,000")).to_contain_text("said")
    assert alice.list()[0].content == "Mortgage of 200,000"


def test_an_edit_works_as_a_plain_form(opens: Any, alice: Any) -> None:
    alice.remember("Mortgage of 212,000")
    page = opens(java_script_enabled=False).new_page()
    page.goto(FACTS)
    unfold(page, "Mortgage").get_by_role("link", name="Change it").click()
    page.get_by_label("What should stand in the book").fill("Mortgage of 208,500")
    page.get_by_label("Until").fill("2029-06-30")
    page.get_by_role("button", name="Change it").click()
    expect(row(page, "208,500")).to_contain_text("Holds until 30 Jun 2029")
    page.get_by_role("button", name="Undo").click()
    expect(row(page, "212,000")).to_be_visible()
    unfold(page, "212,000").get_by_role("button", name="Forget it").click()
    expect(row(page, "212,000").locator("del")).to_have_count(1)


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


def test_what_is_forgotten_stays_struck_in_its_place_until_the_page_is_left(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna")
    alice.remember("Plays the piano")
    person.goto(FACTS)
    unfold(person, "Vienna").get_by_role("button", name="Forget it").click()
    expect(row(person, "Vienna").locator("del")).to_be_visible()
    expect(person.locator(".sentences > .entry").first).to_contain_text("Vienna")  # no other comes under the pointer
    assert {memory.content for memory in alice.list()} == {"Plays the piano"}
    row(person, "Vienna").get_by_role("button", name="Undo").click()
    expect(row(person, "Vienna").locator("del")).to_have_count(0)
    more(person, "piano", "Delete it")
    expect(person.locator(".done-here")).to_contain_text("after 30 days")
    person.goto(FACTS)
    expect(row(person, "piano")).to_have_count(0)
    person.get_by_role("link", name="Taken out").click()
    unfold(person, "piano").get_by_role("button", name="Put it back", exact=True).click()
    expect(person.get_by_role("link", name="Taken out")).to_have_count(0)
    assert {memory.state for memory in alice.list(state="all")} == {"active"}


def test_what_is_not_true_any_more_stays_with_its_day(client: Any, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    assert "Not true any more since" in client.post(f"/memory/{memory.id}/over", data={"back": FACTS}).text
    kept = alice.get(memory.id)
    assert (kept.state, kept.content, kept.current) == ("active", "Lives in Vienna", False)


def test_deleting_for_good_asks_first_and_leaves_a_blank_line(person: Page, alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    alice.remember("Plays the piano")
    alice.delete(memory.id)
    person.goto(f"{FACTS}?show=out")
    unfold(person, "Vienna").get_by_role("link", name="Delete for good").click()
    expect(person.locator("h1")).to_have_text("Delete this for good?")
    person.get_by_role("link", name="Keep it").click()
    unfold(person, "Vienna").get_by_role("link", name="Delete for good").click()
    person.get_by_role("button", name="Delete for good").click()
    expect(person.get_by_role("link", name="Taken out")).to_have_count(0)
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
    assert "You said" in shown(client.post(f"/memory/{read.id}/promote", data={"back": FACTS}).text)
    assert "I guessed" in shown(client.post(f"/memory/{read.id}/demote", data={"back": FACTS}).text)


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
    person.get_by_role("link", name="Write a line").click()
    person.get_by_label("What should stand in the book").fill("Keeps six months of his expenses in cash")
    person.get_by_label("Stands under").select_option("fact")
    person.get_by_role("button", name="Write it down").click()
    warning = person.locator(".banner.amber")
    expect(warning).to_contain_text("You already have something like this. Update that one, or keep both?")
    expect(warning).to_contain_text("Keeps six months of expenses in cash")
    assert alice.list().total == 1

    warning.get_by_role("button", name="Update that one").click()
    expect(row(person, "of his expenses")).to_contain_text("said")
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
    person.get_by_role("searchbox", name="Find in your book").fill("vienna")
    person.keyboard.press("Enter")
    expect(person.locator(".facts-list .entry")).to_have_count(1)
    expect(person).to_have_url(re.compile("q=vienna"))
    person.get_by_role("searchbox", name="Find in your book").fill("")
    person.keyboard.press("Enter")
    expect(person.locator(".facts-list .entry")).to_have_count(3)
    person.get_by_role("link", name="About you", exact=True).click()
    expect(person.locator(".facts-list .entry")).to_have_count(2)
    person.get_by_role("link", name="I guessed").click()
    expect(person.locator(".facts-list .entry")).to_have_count(1)
    expect(row(person, "Dislikes risk")).to_be_visible()


def test_the_block_is_shown_word_for_word(person: Page, alice: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    person.goto(FACTS)
    person.get_by_text("More", exact=True).click()
    person.get_by_role("link", name="What a new chat knows").click()
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
    person.get_by_text("More", exact=True).click()
    person.get_by_role("link", name="Choose several").click()
    person.get_by_label("Choose “Lives in Vienna”").check()
    person.get_by_label("Choose “Drinks coffee”").check()
    expect(person.locator("[data-selected]")).to_have_text("2 chosen:")
    person.locator(".many").get_by_role("button", name="Forget", exact=True).click()
    expect(person.locator(".done-here")).to_contain_text("2 lines taken out.")
    assert [memory.content for memory in alice.list()] == ["Plays the piano"]
    person.locator(".done-here").get_by_role("button", name="Undo").click()
    expect(person.locator(".facts-list .entry")).to_have_count(3)
    person.locator(".done-here").get_by_role("button", name="Redo").click()
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
    assert "Choose at least one line first." in answer.text


@pytest.mark.parametrize("events", ["", "1", "2-1", "1-9999", "x-y", "0-3", "1-2-3"])
def test_made_up_entries_are_not_undone_together(client: Any, alice: Any, events: str) -> None:
    alice.remember("Lives in Vienna")
    assert client.post(f"{FACTS}/undo", data={"events": events}).status_code in (404, 409, 422)
    assert alice.list().total == 1


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
