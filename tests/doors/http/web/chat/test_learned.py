"""Learning is seen: pencil under its turn with its answers, the panel, what closing made of it, what is not kept."""

import re
from typing import Any

from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.book.chats.pencil import Pencil, key_of

GIG = "I have a wedding gig in Porto on the 14th of September."
GIG_LINE = "Has a wedding gig in Porto on the 14th of September"
DOG = "I have a dog called Bo."
DOG_LINE = "Has a dog called Bo"


def text_of(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))


def test_each_line_is_kept_left_out_or_taken_up_again_and_closing_says_what_became_of_it(
    person: Page, alice: Any, talk: Any
) -> None:
    """One chat from pencil to ink, by mouse."""
    chat = talk(GIG, DOG, "My sister Anna lives in Graz.")
    person.goto(f"/chat/{chat.id}")
    gig, dog = person.locator("#turn-1 .line"), person.locator("#turn-3 .line")
    expect(gig).to_contain_text(GIG_LINE)
    expect(person.locator(".given .would")).to_contain_text("3 kept when you close this chat.")
    gig.get_by_role("button", name="Keep now").click()
    saved = person.locator("#turn-1 .saved")
    expect(saved.locator("summary")).to_contain_text("Memory saved · 1 change")
    expect(person.get_by_role("button", name="Close and keep 2")).to_be_visible()
    dog.get_by_role("button", name="No", exact=True).click()
    expect(dog).to_have_class("line out")
    expect(dog).to_contain_text(re.compile(r"left out\s*you said No at \d\d:\d\d"))
    expect(person.locator(".given .would")).to_contain_text("1 kept when you close this chat. 1 left out.")
    dog.get_by_role("button", name="Undo").click()
    expect(dog.get_by_role("button", name="Keep now")).to_be_visible()
    dog.get_by_role("button", name="No", exact=True).click()
    expect(dog).to_have_class("line out")
    person.reload()
    expect(dog).to_have_class("line out")
    expect(saved).to_have_count(1)
    person.get_by_role("button", name="Close and keep 1").click()
    expect(person.locator(".compose .toast")).to_have_text(re.compile(r"^\s*1 kept · 1 left out\s*Review\s*$"))
    expect(person.locator(".toast").get_by_role("link", name="Review")).to_be_visible()
    expect(person.get_by_label("Message", exact=True)).to_have_attribute("placeholder", re.compile("opens again"))
    assert sorted(one.content for one in alice.list()) == [GIG_LINE, "Sister Anna lives in Graz"]
    saved.locator("summary").click()
    saved.get_by_role("button", name="Undo").click()
    expect(saved.locator("summary")).to_contain_text("Undone. Nothing was kept from this message.")
    assert "closed=" not in person.url


def test_the_keyboard_walks_the_lines_and_answers_them(person: Page, alice: Any, talk: Any) -> None:
    chat = talk(GIG, DOG)
    person.goto(f"/chat/{chat.id}")
    gig, dog = person.locator("#turn-1 .line"), person.locator("#turn-3 .line")
    expect(dog).to_be_visible()
    note = person.locator(".compose .note")
    expect(person.get_by_label("Message", exact=True)).to_be_focused()
    expect(note.get_by_text("keep now")).to_be_hidden()  # there y is a letter
    expect(note.get_by_text("send")).to_be_visible()
    person.keyboard.press("Escape")
    expect(dog).to_be_focused()
    expect(note.get_by_text("keep now")).to_be_visible()
    expect(note.get_by_text("send")).to_be_hidden()
    person.keyboard.press("k")
    expect(gig).to_be_focused()
    person.keyboard.press("n")
    expect(gig).to_have_class("line out")
    expect(gig).to_be_focused()
    person.keyboard.press("u")
    expect(gig.get_by_role("button", name="Keep now")).to_be_visible()
    expect(gig).to_be_focused()
    person.keyboard.press("j")
    expect(dog).to_be_focused()
    person.keyboard.press("y")
    expect(person.locator("#turn-3 .saved")).to_be_visible()
    assert [one.content for one in alice.list()] == [DOG_LINE]


def test_without_script_each_line_is_a_form_and_the_page_does_not_wait_for_the_reader(
    opens: Any, alice: Any, talk: Any, kb: Any, monkeypatch: Any
) -> None:
    chat = talk(GIG)
    person = opens(java_script_enabled=False).new_page()
    with monkeypatch.context() as patch:
        patch.setattr("keepbook.models.orders.obey.noted", lambda *_, **__: 1 / 0)
        person.goto(f"/chat/{chat.id}")
        expect(person.locator(".pencils")).to_have_count(0)
    person.get_by_role("link", name="What is noted").click()
    expect(person.locator("#turn-1 .line")).to_contain_text(GIG_LINE)
    person.get_by_role("button", name="No", exact=True).click()
    expect(person.locator("#turn-1 .line")).to_contain_text("left out")
    person.get_by_role("button", name="Undo").click()
    person.get_by_role("button", name="Keep now").click()
    expect(person.locator("#turn-1 .saved")).to_contain_text("Memory saved")
    person.get_by_label("Message", exact=True).fill(DOG)
    person.get_by_role("button", name="Send").click()
    expect(person.locator("#turn-3 .line")).to_contain_text(DOG_LINE)
    person.get_by_role("button", name="Close and keep 1").click()
    expect(person.locator(".toast")).to_have_text(re.compile(r"^\s*1 kept\s*Review\s*$"))
    assert alice.list().total == 2


def test_a_change_of_what_stands_in_the_book_is_shown_as_one_and_asked(
    client: TestClient, alice: Any, talk: Any, monkeypatch: Any
) -> None:
    stands = alice.remember("Works as a nurse, four days a week", category="profile")
    chat = talk("Hello")
    line = "Works as a nurse, five days a week"
    found = Pencil(key_of(1, line), 1, line, "profile", "update", stands.id, 0.7, False)
    monkeypatch.setattr("keepbook.models.pencil.pencil", lambda *_: [found])
    page = client.get(f"/chat/{chat.id}?pencil=1")
    assert "<del>four</del> <ins>five</ins> days a week" in page.text
    assert "This changes what stands in the book. Is that right?" in text_of(page)
    both = client.post(f"/chat/{chat.id}/pencil/{found.key}/keep?both=1", headers={"X-Partial": "1"})
    assert both.status_code == 200
    assert [one.content for one in alice.list()] == [stands.content, line]
    alice.undo(alice.ledger()[0].event)
    client.post(f"/chat/{chat.id}/pencil/{found.key}/keep")
    assert alice.get(stands.id).content == line


def test_what_is_forgotten_is_shown_as_not_kept(client: TestClient, alice: Any, talk: Any) -> None:
    alice.remember("Salary is 3,400 euros a month", category="finance_context")
    chat = talk("My salary is 3,600 euros a month and my dog is called Bo.", "Forget my salary.")
    page = text_of(client.get(f"/chat/{chat.id}"))
    assert "Not kept · 1 taken out" in page
    assert "What you wrote stays in this chat." in page
    (event,) = {entry.event for entry in alice.ledger() if entry.action in ("forget", "delete")}
    undone = client.post(f"/chat/{chat.id}/turns/4/undo", data={"event": event}, headers={"X-Partial": "1"})
    assert "Undone. It is back in your book." in text_of(undone)
    assert alice.list().total == 1


def test_a_preset_that_saves_silently_shows_pencil_in_the_panel_only(client: TestClient, talk: Any) -> None:
    chat = talk(GIG, preset="coach")
    page = client.get(f"/chat/{chat.id}?pencil=1")
    assert 'class="pencils"' not in page.text
    assert "What closing keeps 1 kept when you close this chat." in text_of(page)


def test_where_closing_proposes_pencil_says_so(client: TestClient, talk: Any, alice: Any) -> None:
    chat = talk(GIG, preset="assistant")
    page = text_of(client.get(f"/chat/{chat.id}?pencil=1"))
    assert "Noted in this chat 1 not sure: it waits in Review for your yes. Keep now keeps a line at once." in page
    assert page.count("Noted; waits in Review once you close this chat") == 1
    closed = text_of(client.post(f"/chat/{chat.id}/close"))
    assert re.search(r"1 proposed +Review", closed)
    assert " kept ·" not in closed
    review = text_of(client.get("/profile/facts"))
    assert "Not kept yet Found in what you said, and kept only if you say Yes" in review
    assert "Read between the lines" not in review


def test_a_no_that_was_never_said_is_not_taken_back(client: TestClient, talk: Any) -> None:
    chat = talk(GIG)
    key = chat.pencil()[0].key
    assert client.post(f"/chat/{chat.id}/pencil/{key}/undo").status_code == 404
    assert client.post(f"/chat/{chat.id}/pencil/nothing/no").status_code == 404
