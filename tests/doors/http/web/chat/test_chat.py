"""The Chat page: talking, what a reply kept, and everything around a chat. In the browser, and without script."""

import asyncio
import html
import re
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.app import adopt
from keepbook.book.chats import threads
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.ground.when import stamp
from keepbook.doors.http.web.frame import sidebar
from keepbook.errors import ModelFailed
from keepbook.models.notebook.scene import target_of
from keepbook.models.notebook.values import TurnStep
from keepbook.models.offline.model import OfflineModel
from keepbook.models.providers.remote import RemoteModel

FACT = "Remember that I keep four months of expenses in cash."
SAID = "I keep four months of expenses in cash"
LINE = "Keeps four months of expenses in cash"
SIX = "Keeps six months of expenses in cash"


def text_of(answer: Any) -> str:
    """What a person reads of a page: tags gone, spaces as one."""
    bare = re.sub(r"<(script|template|title).*?</\1>|<[^>]+>", " ", answer.text, flags=re.DOTALL)
    return " ".join(html.unescape(bare).split())


def say(person: Page, text: str) -> None:
    """As a person does it: not before it is her turn. Enter while the other one writes means stop."""
    expect(person.get_by_role("button", name="Send")).to_be_visible()
    person.get_by_label("Message").fill(text)
    person.get_by_label("Message").press("Enter")


# Talking


def test_a_message_is_answered_in_place_and_the_chat_gets_an_address_and_a_title(person: Page, alice: Any) -> None:
    person.goto("/chat")
    say(person, "I live in Graz.")
    expect(person.locator(".turn.me .bubble")).to_have_text("I live in Graz.")
    expect(person.locator(".turn .said")).to_have_text(re.compile(r"^\s*Kept\.\s*I am your book"))
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    expect(person.locator(".turn .by b")).to_have_text("Your book")
    (chat,) = alice.threads.list()
    expect(person).to_have_url(re.compile(f"/chat/{chat.id}$"))
    expect(person.locator("main h1")).to_have_text(chat.title)
    expect(person.locator("#chats [aria-current=page]")).to_have_text(chat.title)
    expect(person.get_by_label("Message")).to_have_value("")
    expect(person.locator("#announced")).to_have_text("Kept: “I live in Graz”. Undo is available.")
    say(person, "Please don't keep anything about my health.")
    expect(person.locator("#announced")).to_have_text("From now on: Nothing about health. Undo is available.")


def test_a_streamed_turn_looks_as_it_does_after_a_reload(person: Page) -> None:
    person.goto("/chat")
    say(person, FACT)
    expect(person.locator(".kept-line")).to_be_visible()
    expect(person.locator("[aria-busy]")).to_have_count(0)
    before = person.locator(".turn").evaluate_all("turns => turns.map(turn => turn.outerHTML)")
    person.reload()
    assert person.locator(".turn").evaluate_all("turns => turns.map(turn => turn.outerHTML)") == before


def test_enter_sends_and_shift_enter_begins_a_new_line(person: Page, alice: Any) -> None:
    person.goto("/chat")
    field = person.get_by_label("Message")
    field.type("one")
    field.press("Shift+Enter")
    field.type("two")
    field.press("Enter")
    expect(person.locator(".bubble")).to_have_text("one\ntwo")
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    (chat,) = alice.threads.list()
    assert alice.threads.get(chat.id).messages()[0].text == "one\ntwo"


def test_a_reply_stopped_before_its_first_word_is_asked_for_again(
    person: Page, kb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = kb.models.chat.reply

    async def slow(*_: Any) -> AsyncIterator[Any]:
        await asyncio.sleep(60)
        yield

    monkeypatch.setattr(kb.models.chat, "reply", slow)
    person.goto("/chat")
    say(person, "Hello")
    expect(person).to_have_url(re.compile("/chat/.+"))
    person.get_by_role("button", name="Stop writing").click()
    expect(person.get_by_role("alert")).to_contain_text("no answer yet")
    expect(person.get_by_role("button", name="Send")).to_be_visible()
    monkeypatch.setattr(kb.models.chat, "reply", reply)
    person.get_by_role("button", name="Ask again").click()
    expect(person.locator(".turn .said")).to_contain_text("Hello")
    expect(person.locator(".turn")).to_have_count(2)


def test_a_failing_model_leaves_the_message_and_says_so(
    person: Page, kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> AsyncIterator[Any]:
        raise ModelFailed("the model is not reachable")
        yield

    monkeypatch.setattr(kb.models.chat, "reply", broken)
    person.goto("/chat")
    say(person, "Hello")
    expect(person.get_by_role("alert").filter(has_text="not reachable")).to_be_visible()
    expect(person.get_by_role("alert")).to_have_count(1)  # one box, with what can be done
    expect(person.get_by_role("button", name="Ask again")).to_be_visible()
    expect(person.get_by_role("link", name="Choose another model")).to_be_visible()
    expect(person.locator(".bubble")).to_have_text("Hello")
    with person.expect_navigation():
        person.get_by_role("button", name="Ask again").click()
    expect(person.get_by_role("alert")).to_contain_text("The model is not reachable.")  # as it is still


def test_without_script_a_form_posts_and_the_page_shows_the_reply(opens: Any, alice: Any) -> None:
    person = opens(java_script_enabled=False).new_page()
    person.goto("/chat")
    person.get_by_label("Message").fill(FACT)
    person.get_by_role("button", name="Send").click()
    expect(person.locator(".turn .said")).to_contain_text("Kept.")
    person.get_by_role("button", name="Undo").click()
    expect(person.locator(".kept-line")).to_contain_text("Taken out again")
    assert alice.list().total == 0
    person.get_by_label("Message").fill("What do you know about me?")
    person.get_by_role("button", name="Send").click()
    expect(person.locator(".turn")).to_have_count(4)


def test_an_empty_message_is_no_turn(client: TestClient, alice: Any) -> None:
    client.post("/chat", data={"text": "  \n"})
    assert not alice.threads.list()


# What a reply kept


def test_a_fact_told_in_chat_shows_its_line_and_is_undone_from_there(person: Page, alice: Any, decides: Any) -> None:
    person.goto("/chat")
    say(person, FACT)
    line = person.locator(".kept-line")
    expect(line.locator(".book")).to_have_text(f"“{SAID}”")
    expect(line).to_contain_text("In your book")
    line.get_by_role("button", name="Undo").click()
    expect(line).to_contain_text("Taken out again")
    assert alice.list().total == 0
    person.reload()
    expect(line).to_contain_text("Taken out again")
    say(person, "Remember that I sail on Sundays.")
    sails, forgot = line.nth(1), line.nth(2)
    expect(sails).to_contain_text("In your book")
    expect(person.locator("[aria-busy]")).to_have_count(0)
    (memory,) = alice.list()
    decides(TurnStep("withdraw", 0, 10, targets=(target_of(memory),)))
    say(person, "Forget that I sail.")
    expect(forgot).to_contain_text("Taken out")
    expect(sails).to_contain_text("Not in your book any more")
    forgot.get_by_role("button", name="Undo").click()
    expect(forgot).to_contain_text("Back in your book")
    expect(sails).to_contain_text("In your book")
    assert alice.list().total == 1


def test_what_a_models_tools_wrote_stands_in_the_margin_with_its_undo(
    client: TestClient, kb: Any, alice: Any, talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = talk("Hello")
    kept = alice.acting(thread_id=chat.id).remember("Likes tea")
    event = {"op": "remember", "id": kept.id, "before": None, "after": {"content": "Likes tea"}, "event": kept.event}
    call = {"id": "1", "name": "remember", "arguments": {}, "answer": "", "memory_event": event, "round": 0, "at": 0}
    chat.add("user", "I like tea")
    chat.add("assistant", "Tea it is.", parts=[call])
    page = client.get(f"/chat/{chat.id}").text
    exchange = page[page.index('id="exchange-3"') :]
    assert exchange.index('id="turn-3"') < exchange.index('id="kept-1"') < exchange.index('id="turn-4"')


def test_an_undo_that_something_newer_stands_on_says_what_touched_it(client: TestClient, talk: Any, alice: Any) -> None:
    chat = talk(FACT)
    (memory,) = alice.list().items
    changed = alice.update(memory.id, "Keeps seven months of expenses in cash")
    answer = client.post(f"/chat/{chat.id}/turns/1/undo", data={"event": changed.event - 1})
    assert "Changed since · See its history Not undone: something newer touched this memory." in text_of(answer)
    assert alice.get(memory.id).content == "Keeps seven months of expenses in cash"


def test_two_tabs_agree_on_what_was_undone(opens: Any, talk: Any, alice: Any) -> None:
    chat = talk(FACT)
    context = opens()
    one, other = context.new_page(), context.new_page()
    for tab in (one, other):
        tab.goto(f"/chat/{chat.id}")
    one.get_by_role("button", name="Undo").click()
    expect(one.locator(".kept-line")).to_contain_text("Taken out again")
    other.get_by_role("button", name="Undo").click()
    expect(other.locator(".kept-line")).to_contain_text("Taken out again")
    assert alice.list().total == 0
    assert [entry.action for entry in alice.ledger()] == ["undo", "remember"]


def test_what_closing_kept_stands_in_the_margin_with_undo(client: TestClient, recorded: Any, alice: Any) -> None:
    chat = recorded("I live in Graz.")
    chat.close()
    assert alice.list().total == 1
    page = client.get(f"/chat/{chat.id}")
    assert "Answers come from your book alone." in text_of(page)
    assert "AI can make mistakes" not in text_of(page)
    assert "“I live in Graz” In your book · Undo" in text_of(page)
    client.post(f"/chat/{chat.id}/turns/1/undo", data={"event": 1})
    assert alice.list().total == 0


def test_a_reply_is_pinned_named_in_the_head_and_kept_as_a_note(person: Page, talk: Any, alice: Any) -> None:
    chat = talk("Hello")
    person.goto(f"/chat/{chat.id}")
    person.get_by_role("button", name="Pin this reply").click()
    expect(person.get_by_role("button", name="Pinned")).to_have_attribute("aria-pressed", "true")
    expect(person.get_by_role("link", name="1 pinned reply")).to_have_attribute("href", "#turn-2")
    (note,) = alice.notes.list()
    assert (note.thread_id, note.turn) == (chat.id, 2)
    person.reload()
    person.get_by_role("button", name="Pinned").click()
    expect(person.get_by_role("button", name="Pin this reply")).to_be_visible()
    expect(person.locator(".pinned")).to_be_hidden()
    assert not alice.notes.list()


def test_a_note_one_has_written_in_is_not_dropped_with_the_pin(client: TestClient, talk: Any, alice: Any) -> None:
    chat = talk("Hello")
    note = alice.notes.bookmark(chat.id, 2)
    alice.notes.edit(note.id, "my own words")
    answer = client.post(f"/chat/{chat.id}/turns/2/pin")
    assert answer.status_code == 409
    assert alice.notes.get(note.id).text == "my own words"


def test_copy_puts_the_reply_on_the_clipboard(opens: Any, talk: Any) -> None:
    chat = talk("Hello")
    context = opens(permissions=["clipboard-read", "clipboard-write"])
    person = context.new_page()
    person.goto(f"/chat/{chat.id}")
    person.get_by_role("button", name="Copy").click()
    expect(person.locator(".toast")).to_have_text("Copied.")
    assert person.evaluate("navigator.clipboard.readText()") == chat.messages()[1].text


def test_what_the_chat_was_given_stays_so_and_is_reached_from_its_head(opens: Any, talk: Any, alice: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    chat = talk("Hello")
    alice.remember("Works as an engineer", category="profile")
    person = opens(width=820).new_page()
    person.goto(f"/chat/{chat.id}")
    panel = person.locator("#given")
    expect(panel).to_be_hidden()
    person.locator("#chat-head summary").click()
    person.get_by_role("link", name="What this chat knew").click()
    expect(panel).to_be_visible()
    expect(panel.locator("li")).to_have_text(["Lives in Vienna"])
    panel.get_by_text("As it was sent").click()
    assert panel.locator(".well").text_content() == chat.inject()
    panel.get_by_role("link", name="Close").click()
    expect(panel).to_be_hidden()
    person.goto("/chat")
    expect(panel.locator("li")).to_have_text(["Works as an engineer", "Lives in Vienna"])


# How a chat stands


def test_a_banner_says_that_older_turns_are_summarised_and_with_what(client: TestClient, talk: Any, alice: Any) -> None:
    chat = talk("Hello", "I live in Graz")
    with alice.writing() as (tx, _):
        threads.keep_compression(tx, chat.id, 2, "They greeted <b>each other</b>.")
    page = client.get(f"/chat/{chat.id}")
    assert "Older turns are summarised for the model. All 4 are kept in full" in text_of(page)
    assert "They greeted &lt;b&gt;each other&lt;/b&gt;." in page.text


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        (3, "Nothing is lost; it will be tried again at 10:"),
        (5, "Nothing is lost; it rests"),
    ],
)
def test_a_closing_that_failed_is_told_with_what_happens_next(
    client: TestClient, kb: Any, recorded: Any, alice: Any, failures: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: Any) -> Any:
        raise ModelFailed("the model answered badly")

    chat = recorded("I live in Graz")
    for _ in range(failures):
        with alice.writing() as (tx, _preset):
            now = stamp(tx.clock())
            held = threads.claim_closing(tx, chat.id, now, lease_seconds=60)
            assert held is not None
            threads.release_closing(tx, held, now, "the model answered badly", retry_minutes=15)
    page = text_of(client.get(f"/chat/{chat.id}"))
    assert f"Keepbook could not read this chat for memories. {words}" in page
    assert "What went wrong The model answered badly." in page
    assert "data-unread" not in client.get(f"/chat/{chat.id}").text, "leaving it again tries and tells nothing anew"
    client.post(f"/chat/{chat.id}/leave")
    assert (chat.thread.failures, client.cookies[f"keepbook_left_{chat.id}"]) == (failures, "0.0.0")
    with monkeypatch.context() as broken:
        broken.setattr(OfflineModel, "extract", down)
        tried = text_of(client.post(f"/chat/{chat.id}/close"))
    assert f"Not closed: Keepbook could not read this chat for memories. {words.removesuffix('10:')}" in tried
    assert "0 kept" not in tried
    assert "Keep what your book reads" not in tried, "it was the notebook that failed"
    adopt(kb, replace(kb.settings, model="openai:some-model"))
    named = kb.models.called(None)
    offered = text_of(client.get(f"/chat/{chat.id}"))
    assert f"{named} could not read this chat for memories." in offered
    assert "You need not wait" in offered
    assert "Keep what your book reads" in offered
    with monkeypatch.context() as broken:
        broken.setattr(RemoteModel, "extract", down)
        again = client.post(f"/chat/{chat.id}/close")
        assert f"Not closed: {named} could not read this chat" in text_of(again)
        assert again.text.count("Keep what your book reads") == 3, "the toast, the page, and what the next ones say"
        way = {"keep": "1"} if failures == 3 else {"by": "notebook"}  # a button that promised to keep does so
        kept = text_of(client.post(f"/chat/{chat.id}/close", data=way))
    assert "In your book · Undo" in kept
    assert {one.content for one in alice.list()} == {"I live in Graz"}
    assert chat.thread.state == "idle"
    assert "could not read" not in text_of(client.get(f"/chat/{chat.id}"))


def test_an_incognito_chat_reads_and_writes_no_memory(person: Page, alice: Any, until: Any) -> None:
    alice.remember("Lives in Vienna", category="profile")
    person.goto("/chat")
    person.get_by_role("link", name="Incognito", exact=True).click()
    expect(person.get_by_text("Nothing of this goes into your book")).to_be_visible()
    expect(person.locator("#given")).to_contain_text("An incognito chat reads no memory")
    person.wait_for_load_state()
    say(person, "Remember that my dog is called Rex.")
    expect(person.locator(".turn .said")).to_contain_text("Memory is off in this chat")
    (chat,) = alice.threads.list()
    assert chat.incognito
    person.goto("/chat")
    until(lambda: alice.threads.get(chat.id).thread.state == "idle")
    assert [memory.content for memory in alice.list().items] == ["Lives in Vienna"]


# Moving on


def test_closing_the_tab_extracts_what_was_said(opens: Any, alice: Any, until: Any, recorded: Any) -> None:
    chat = recorded("I live in Graz.")
    context = opens()
    context.new_page()
    person = context.new_page()
    person.goto(f"/chat/{chat.id}")
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    assert alice.list().total == 0
    person.close(run_before_unload=True)
    until(lambda: alice.list().total)
    assert alice.list().items[0].source == "extracted"


@pytest.mark.parametrize("way", ["new", "switch", "other page"])
def test_moving_on_closes_the_chat_and_the_next_page_shows_what_it_kept(
    person: Page, alice: Any, kb: Any, talk: Any, recorded: Any, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next page is drawn before the chat was read: it says so, and then shows by itself what was kept."""
    talk("Hello", close=True)
    drawn, extract = threading.Event(), kb.models.chat.extract

    async def held(reading: Any) -> Any:
        await asyncio.to_thread(drawn.wait, 60)
        return await extract(reading)

    monkeypatch.setattr(type(kb.models.chat), "extract", lambda _, reading: held(reading))
    person.goto(f"/chat/{recorded('I live in Graz.').id}")
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    leaving = {
        "new": person.get_by_role("complementary").get_by_role("link", name="New chat", exact=True),
        "switch": person.locator("#chats a:not([aria-current], .dots)"),
        "other page": person.get_by_role("link", name="Memory"),
    }
    leaving[way].first.click()
    toast = person.locator("#toasts .toast")
    if way == "other page":
        expect(toast).to_have_text("The chat you left is being read for what to keep. You need not wait.")
    assert alice.list().total == 0
    drawn.set()
    if way == "other page":
        expect(toast).to_have_text("1 keptReview")
        expect(toast.get_by_role("link", name="Review")).to_be_visible()
    if way == "new":
        expect(person.locator("#chat-head")).to_contain_text("1 line of your book goes along")
        expect(toast).to_have_count(0)  # in a chat there is no toast for keeping
        expect(person.locator("#given")).to_contain_text("“I live in Graz”")
    elif way == "other page":
        expect(person.locator(".facts-list")).to_contain_text("“I live in Graz”")
        expect(person.locator("#pages .count")).to_be_hidden()  # their own words wait for no answer
    person.wait_for_function("() => !document.cookie.includes('keepbook_left')")


def test_a_reload_asks_no_model(person: Page, alice: Any, kb: Any, until: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    extract = kb.models.chat.extract

    async def counted(reading: Any) -> Any:
        read.append(reading)
        return await extract(reading)

    monkeypatch.setattr(type(kb.models.chat), "extract", lambda _, reading: counted(reading))
    person.goto("/chat")
    say(person, "I work as a structural engineer.")
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    person.reload()
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    (chat,) = alice.threads.list()
    assert (chat.state, read) == ("active", [])
    person.goto("/search")
    until(lambda: len(read) == 1)
    person.goto(f"/chat/{chat.id}")
    person.goto("/search")
    person.goto("/chat")
    assert len(read) == 1


def test_a_chat_is_only_left_with_something_new_and_a_cookie_says_what_came_of_it(
    client: TestClient, recorded: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = recorded("I live in Graz.")
    page = client.get(f"/chat/{chat.id}").text
    assert "data-unread" in page
    assert client.post(f"/chat/{chat.id}/leave?view=older").status_code == 204
    assert (chat.thread.state, client.cookies[f"keepbook_left_{chat.id}"]) == ("active", "0.0.0")
    with monkeypatch.context() as patch:
        for status in ("busy", "failed"):
            patch.setattr(
                "keepbook.doors.http.web.chat.chat.Chat.close", lambda _, status=status: ClosingResult("", status)
            )
            client.cookies.clear()
            client.post(f"/chat/{chat.id}/leave")
            assert client.cookies[f"keepbook_left_{chat.id}"] == status
    page = client.get(f"/chat/{chat.id}").text
    view = re.search(r'data-view="(\w+)"', page)
    assert view is not None
    assert client.post(f"/chat/{chat.id}/leave?view={view[1]}").status_code == 204
    assert (chat.thread.state, client.cookies[f"keepbook_left_{chat.id}"]) == ("idle", "1.0.0")
    assert "data-unread" not in client.get(f"/chat/{chat.id}").text
    spent = alice.spending.list()
    assert client.post(f"/chat/{chat.id}/leave").status_code == 204
    assert alice.spending.list() == spent


# The sidebar


def test_chats_are_listed_by_the_days_of_the_owner(client: TestClient, talk: Any, alice: Any, clock: Any) -> None:
    for at, title in (
        ("2026-09-01T12:00:00Z", "put away"),
        ("2026-11-01T12:00:00Z", "long ago"),
        ("2026-11-08T12:00:00Z", "this week"),
        ("2026-11-10T23:30:00Z", "late last evening"),  # in Vienna it is the 11th already
        ("2026-11-12T09:00:00Z", "just now"),
    ):
        clock.set(at)
        alice.threads.rename(talk("Hello", close=True).id, title)
    put_away = next(chat for chat in alice.threads.list() if chat.title == "put away")
    alice.threads.archive(put_away.id)
    alice.configure(zone="Europe/Vienna")
    side = text_of(client.get("/chat/list"))
    words = "Today just now Yesterday late last evening Previous 7 days this week Older long ago Archived 1 chat"
    assert re.sub(r"\s+", " ", side).strip() == words
    assert "put away" in text_of(client.get("/search?archived=1"))
    for chat in alice.threads.list():
        alice.threads.rename(chat.id, "One and the same")
    told = re.findall(r"One and the same (.*?)(?= One|Today|Yest|Prev|Older|Arch)", text_of(client.get("/chat/list")))
    assert [one.strip() for one in told] == ["10:00", "00:30", "8 Nov", "1 Nov"]


def test_the_sidebar_lists_the_newest_and_a_page_has_them_all(
    client: TestClient, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidebar, "SHOWN", 2)
    for name in ("first", "second", "third"):
        chat = alice.threads.start()
        chat.add("user", "Hello")
        alice.threads.rename(chat.id, name)
    side = text_of(client.get("/chat/list"))
    assert side == "Today third second All chats"
    page = text_of(client.get("/search?all=1"))
    assert page.index("third") < page.index("first")


def test_a_chat_is_renamed_from_its_row_and_keeps_that_name(person: Page, talk: Any, alice: Any) -> None:
    chat = talk("I live in Graz and work as an engineer")
    person.goto("/chat")
    person.locator("#chats li").hover()
    person.get_by_role("link", name="Rename or delete").click()
    field = person.get_by_label("Name of this chat")
    expect(field).to_be_focused()
    field.fill("Where I come from")
    field.press("Enter")
    expect(person.locator("main h1")).to_have_text("Where I come from")
    talk("And my dog is called Rex", chat=chat)
    assert chat.thread.title == "Where I come from"


def test_a_chat_is_deleted_with_what_was_learned_and_all_of_it_comes_back(
    person: Page, client: TestClient, talk: Any, alice: Any
) -> None:
    chat = talk(FACT, "I live in Graz.", close=True)
    alice.remember("Something else")
    person.goto(f"/chat/{chat.id}")
    person.locator(".chat-more summary").click()
    person.locator(".chat-head").get_by_role("link", name="Rename or delete").click()
    person.get_by_label("Also delete the 2 lines learned from it").check()
    person.get_by_role("button", name="Delete").click()
    expect(person.locator(".toast")).to_contain_text("in the trash for 30 days, with 2 lines learned from it")
    assert alice.list().total == 1
    assert not alice.threads.list()
    person.get_by_role("button", name="Undo").click()
    expect(person.locator(".turn")).to_have_count(4)
    assert alice.list().total == 3
    assert [found.id for found in alice.threads.list()] == [chat.id]
    alice.forget(next(one.id for one in alice.list() if one.content == "I live in Graz"))
    assert "Also delete the 1 line learned from it and 1 archived" in text_of(client.get(f"/chat/{chat.id}/manage"))


def test_a_deleted_chat_is_shown_as_such_and_restored_from_the_trash(client: TestClient, talk: Any) -> None:
    chat = talk("Hello")
    client.post(f"/chat/{chat.id}/delete")
    assert "This chat is in the trash." in text_of(client.get(f"/chat/{chat.id}"))
    assert 'id="say"' not in client.get(f"/chat/{chat.id}").text
    assert "No chats yet" not in client.get("/chat/list").text
    trash = client.get("/search?trash=1")
    assert f'action="/chat/{chat.id}/restore"' in trash.text
    client.post(f"/chat/{chat.id}/restore")
    assert chat.thread.deleted_at is None
    client.post(f"/chat/{chat.id}/delete")
    assert f'href="/chat/{chat.id}/purge">Delete for good' in client.get("/search?trash=1").text
    assert "Nobody can undo this" in client.get(f"/chat/{chat.id}/purge").text
    assert "Nobody can undo this" in client.post(f"/chat/{chat.id}/purge").text, "it asks first"
    gone = client.post(f"/chat/{chat.id}/purge", data={"sure": "yes"})
    assert (str(gone.url).endswith("/search?trash=1"), "The trash is empty." in gone.text) == (True, True)
    assert client.get(f"/chat/{chat.id}").status_code == 404


def test_without_script_the_menu_of_a_chat_is_a_page(client: TestClient, talk: Any) -> None:
    chat = talk("Hello")
    page = client.get(f"/chat/{chat.id}/manage")
    assert "Rename or delete" in text_of(page)
    client.post(f"/chat/{chat.id}/rename", data={"title": "By hand"})
    assert chat.thread.title == "By hand"
    client.post(f"/chat/{chat.id}/archive")
    assert chat.thread.state == "archived"


def test_search_marks_the_words_and_leads_to_the_turn(person: Page, talk: Any) -> None:
    talk("Hello")
    chat = talk("The mortgage runs until 2029")
    person.goto("/search?q=mortgage")
    expect(person.locator("mark").first).to_have_text("mortgage")
    person.locator("main .entry a[href$='#turn-1']").click()
    expect(person).to_have_url(re.compile(f"/chat/{chat.id}#turn-1$"))
    expect(person.locator("#turn-1")).to_be_in_viewport()


def test_on_a_phone_the_sidebar_is_a_drawer_and_the_head_of_a_chat_stays_whole(
    opens: Any, talk: Any, alice: Any, until: Any
) -> None:
    alice.remember("Likes tea")
    for number in range(12):
        alice.threads.rename(talk("Hello").id, f"Hello {number}")
    chat = talk("I live in Graz.", "Hello", "Hello again", "Good morning")
    person = opens(width=390, height=844).new_page()
    person.goto("/chat")
    drawer = person.locator("#side")
    expect(drawer).to_be_hidden()
    person.get_by_role("button", name="Open menu").click()
    expect(drawer).to_be_visible()
    person.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    person.get_by_role("button", name="Open menu").click()
    low = person.locator("#chats li").last
    low.locator("[data-manage]").click()
    expect(low.get_by_role("button", name="Delete")).to_be_in_viewport()
    person.locator("#chats li > a", has_text="Graz").click()
    expect(person).to_have_url(re.compile(f"/chat/{chat.id}$"))
    expect(drawer).to_be_hidden()
    more, bar = person.locator(".chat-more summary"), person.locator(".topbar")
    expect(more).to_be_visible()
    person.evaluate("scrollTo({ top: document.scrollingElement.scrollHeight })")

    def head_is_under_the_bar() -> bool:
        """Wherever one reads; a page that scrolls by itself comes to rest."""
        top = (more.bounding_box() or {}).get("y", 0)
        return bool(top >= bar.evaluate("bar => bar.getBoundingClientRect().bottom"))

    until(head_is_under_the_bar)


# Edit in chat


def test_edit_in_chat_waits_for_the_persons_words_and_then_makes_version_two(
    person: Page, client: TestClient, alice: Any
) -> None:
    memory = alice.remember(LINE, category="finance_context")
    other = alice.remember("Lives in Vienna", category="profile")
    client.post(f"/memory/{memory.id}/edit-in-chat")
    (chat,) = alice.threads.list()
    person.goto(f"/chat/{chat.id}")
    expect(person.locator(".turn .said")).to_have_text(f"Your book says: “{LINE}”. What should it say instead?")
    assert alice.get(memory.id).version == 1
    say(person, f"It should say: {SIX}")
    expect(person.locator(".kept-line")).to_contain_text("Changed in your book")
    assert (alice.get(memory.id).content, alice.get(memory.id).version) == (SIX, 2)
    assert alice.get(other.id).version == 1


@pytest.mark.parametrize(
    "answer",
    [f"Change it to: {SIX}", f"It should say: “{SIX}”", f"it is now: {SIX}"],
)
def test_edit_in_chat_takes_a_whole_sentence_at_once(client: TestClient, alice: Any, talk: Any, answer: str) -> None:
    memory = alice.remember(LINE, category="finance_context")
    client.post(f"/memory/{memory.id}/edit-in-chat")
    talk(answer, chat=alice.threads.get(alice.threads.list()[0].id))
    assert alice.get(memory.id).content == SIX


@pytest.mark.parametrize("answer", ["thanks, leave it as it is", "no", "What do you know about me?"])
def test_edit_in_chat_changes_nothing_without_a_new_wording(
    client: TestClient, alice: Any, talk: Any, answer: str
) -> None:
    memory = alice.remember(LINE, category="finance_context")
    client.post(f"/memory/{memory.id}/edit-in-chat")
    talk(answer, chat=alice.threads.get(alice.threads.list()[0].id))
    assert alice.get(memory.id).version == 1


def test_the_hidden_context_appears_nowhere(client: TestClient, alice: Any, talk: Any) -> None:
    memory = alice.remember(LINE, category="finance_context")
    client.post(f"/memory/{memory.id}/edit-in-chat")
    chat = alice.threads.get(alice.threads.list()[0].id)
    talk("leave it", chat=chat)
    stored = chat.messages()
    assert memory.id in stored[1].hidden
    pages = [client.get(path).text for path in (f"/chat/{chat.id}", "/chat/list", "/search?q=person+wants+to+change")]
    for page in pages:
        assert "wants to change the memory" not in page
        assert memory.id not in page
    assert "Word by word" not in pages[2], "no message says it"
    assert "wants" not in (chat.thread.title or "")


def test_a_memory_that_is_not_active_is_not_edited_in_chat(client: TestClient, alice: Any) -> None:
    memory = alice.remember(LINE)
    alice.forget(memory.id)
    assert client.post(f"/memory/{memory.id}/edit-in-chat").status_code == 409
    assert not alice.threads.list()
