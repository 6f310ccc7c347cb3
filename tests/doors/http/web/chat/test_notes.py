"""The journal's notes: read, write, edit, find, delete and take that back."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from starlette.testclient import TestClient

Opens = Callable[..., BrowserContext]


@pytest.fixture
def alice(kb: Any) -> Any:
    return kb.book("alice")


@pytest.fixture
def bookmarked(alice: Any) -> Any:
    chat = alice.threads.start()
    chat.add("user", "Bonds or funds?")
    chat.add("assistant", "Funds.\n\nThey are **cheap**.")
    alice.threads.rename(chat.id, "Bonds or funds")
    return alice.notes.bookmark(chat.id, 2)


def undo_fields(page: str) -> dict[str, str]:
    form = re.search(r'action="/journal/undo">(.*?)</form>', page, re.DOTALL)
    assert form, page
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[1]))


def test_a_bookmarked_reply_leads_back_to_its_turn(client: TestClient, bookmarked: Any) -> None:
    page = client.get("/journal").text
    assert f'<a href="/chat/{bookmarked.thread_id}#turn-2">Bonds or funds</a>' in page
    assert "Funds.\n\nThey are **cheap**." in page


def test_a_note_of_ones_own_is_written_and_edited(client: TestClient, alice: Any) -> None:
    page = client.post("/journal", data={"text": "Ask the bank\r\nabout fees"})
    assert "Kept." in page.text
    note = alice.notes.list()[0]
    assert note.text == "Ask the bank\nabout fees"
    form = client.get(f"/journal?edit={note.id}").text
    assert f'action="/journal/{note.id}"' in form
    assert "Saved." in client.post(f"/journal/{note.id}", data={"text": "Ask two banks"}).text
    assert alice.notes.get(note.id).text == "Ask two banks"


def test_an_empty_note_is_refused_and_what_was_there_stays(client: TestClient, alice: Any, bookmarked: Any) -> None:
    for path in ("/journal", f"/journal/{bookmarked.id}"):
        page = client.post(path, data={"text": "  "})
        assert page.status_code == 422
        assert "A note needs a text." in page.text
        assert 'aria-invalid="true"' in page.text
    assert [note.text for note in alice.notes.list()] == [bookmarked.text]


def test_notes_are_searched(client: TestClient, alice: Any, bookmarked: Any) -> None:
    alice.notes.write("Ask the bank")
    page = client.get("/journal?q=BANK").text
    assert "1 note says “BANK”" in page
    assert "cheap" not in page
    assert "No note says “tea”" in client.get("/journal?q=tea").text


def test_a_deleted_note_comes_back_as_it_was(client: TestClient, alice: Any, bookmarked: Any, clock: Any) -> None:
    clock.forward(minutes=5)
    page = client.post(f"/journal/{bookmarked.id}/delete")
    assert "The note is deleted." in page.text
    assert not alice.notes.list()
    client.post("/journal/undo", data=undo_fields(page.text))
    (back,) = alice.notes.list()
    for name in ("text", "thread_id", "turn", "created_at", "updated_at"):
        assert getattr(back, name) == getattr(bookmarked, name), name


def test_a_page_loaded_again_after_deleting_is_no_error(client: TestClient, bookmarked: Any) -> None:
    client.post(f"/journal/{bookmarked.id}/delete")
    assert client.post(f"/journal/{bookmarked.id}/delete").url.path == "/journal"


def test_a_note_put_back_after_its_chat_is_gone_keeps_its_text(client: TestClient, alice: Any, bookmarked: Any) -> None:
    page = client.post(f"/journal/{bookmarked.id}/delete")
    alice.threads.delete(bookmarked.thread_id, forever=True)
    client.post("/journal/undo", data=undo_fields(page.text))
    (back,) = alice.notes.list()
    assert (back.text, back.thread_id, back.turn) == (bookmarked.text, None, None)


def test_a_note_without_dates_is_not_put_back(client: TestClient, alice: Any) -> None:
    assert client.post("/journal/undo", data={"text": "hello"}).status_code == 422
    assert (
        client.post("/journal/undo", data={"text": "x", "created_at": "soon", "updated_at": "soon"}).status_code == 422
    )
    assert not alice.notes.list()


def test_notes_outlive_their_chat(client: TestClient, alice: Any, bookmarked: Any) -> None:
    alice.threads.delete(bookmarked.thread_id)
    assert "its chat is in the trash" in client.get("/journal").text
    alice.threads.delete(bookmarked.thread_id, forever=True)
    page = client.get("/journal").text
    assert "They are **cheap**." in page
    assert bookmarked.thread_id not in page


def test_a_note_full_of_markup_stays_text(client: TestClient) -> None:
    page = client.post("/journal", data={"text": '<script>alert(1)</script> "quoted" <b>'})
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text


def test_many_notes_are_shown_page_by_page(client: TestClient, alice: Any) -> None:
    for number in range(60):
        alice.notes.write(f"Note number {number:02}")
    first, second = client.get("/journal").text, client.get("/journal?page=2").text
    assert "Note number 59" in first
    assert "Note number 09" not in first
    assert "Note number 09" in second
    assert client.get("/journal?page=nonsense").status_code == 200


def test_an_empty_journal_says_what_will_be_there(client: TestClient) -> None:
    assert "No notes yet" in client.get("/journal").text


def test_who_may_only_read_writes_no_note(client: TestClient, kb: Any, alice: Any, bookmarked: Any) -> None:
    made = kb.tokens.create("alice", scopes=["read"])
    client.cookies.set("keepbook_session", kb.tokens.session_for(made.known.id))
    assert client.get("/journal").status_code == 200
    assert client.post("/journal", data={"text": "hello"}).status_code == 403
    assert client.post(f"/journal/{bookmarked.id}/delete").status_code == 403
    assert len(alice.notes.list()) == 1


# In a browser


def test_a_person_writes_edits_deletes_and_takes_it_back(person: Page, alice: Any) -> None:
    person.goto("/journal")
    person.get_by_role("link", name="Write a note").click()
    person.wait_for_load_state()
    field = person.get_by_label("Write a note").last
    expect(field).to_be_focused()
    field.fill("Ask the bank\nabout fees")
    field.press("ControlOrMeta+Enter")
    expect(person.get_by_role("listitem").filter(has_text="Ask the bank")).to_be_visible()
    person.get_by_role("link", name="Edit").click()
    person.get_by_label("The note").fill("Ask two banks\nabout fees")
    person.get_by_role("button", name="Save").click()
    expect(person.get_by_role("listitem").filter(has_text="Ask two banks")).to_be_visible()
    person.get_by_role("button", name="Delete").click()
    expect(person.get_by_text("No notes yet")).to_be_visible()
    person.get_by_role("button", name="Undo").click()
    expect(person.get_by_role("listitem").filter(has_text="Ask two banks")).to_be_visible()
    assert [note.text for note in alice.notes.list()] == ["Ask two banks\nabout fees"]


def test_back_to_the_turn(person: Page, bookmarked: Any) -> None:
    person.goto("/journal")
    person.get_by_role("main").get_by_role("link", name="Bonds or funds").click()
    expect(person).to_have_url(re.compile(f"/chat/{bookmarked.thread_id}#turn-2$"))
    expect(person.locator("#turn-2")).to_be_in_viewport()


def test_the_keyboard_alone_edits_and_deletes(person: Page, bookmarked: Any) -> None:
    person.goto("/journal")
    person.keyboard.press("j")
    expect(person.locator(f"#n-{bookmarked.id}")).to_be_focused()
    person.keyboard.press("e")
    expect(person.get_by_label("The note")).to_be_focused()
    expect(person.locator("html.js")).to_have_count(1)
    person.keyboard.press("Escape")
    expect(person.get_by_label("The note")).to_have_count(0)
    expect(person.locator("html.js")).to_have_count(1)
    person.keyboard.press("j")
    person.keyboard.press("#")
    expect(person.get_by_text("The note is deleted.")).to_be_visible()
    expect(person.locator("html.js")).to_have_count(1)
    person.keyboard.press("u")
    expect(person.get_by_role("listitem").filter(has_text="They are")).to_be_visible()


def test_nothing_scrolls_sideways_on_a_small_phone(opens: Opens, alice: Any) -> None:
    alice.notes.write("W" * 400)
    page = opens(width=360).new_page()
    for path in ("/journal", "/journal?edit=new"):
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") == 360
