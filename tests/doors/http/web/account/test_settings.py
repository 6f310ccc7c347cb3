"""Settings: each part as a plain form, then the few things that a person feels in a browser."""

import io
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


def toast(page: str) -> str:
    found = re.search(r'<div class="toast"[^>]*><span>(.*?)</span>', page, re.DOTALL)
    assert found, page
    return found[1]


# How the book is kept


def test_zone_preset_and_tier_are_saved_and_can_be_undone(client: TestClient, alice: Any) -> None:
    alice.configure(zone="Europe/Oslo")
    page = client.post("/settings/you", data={"zone": "Europe/Vienna", "tier": "advanced", "preset": "coach"})
    assert page.status_code == 200
    assert (alice.zone, alice.choices.tier, alice.preset("coach").name) == ("Europe/Vienna", "advanced", "coach")
    assert toast(page.text) == "Saved."
    client.post("/settings/you", data={"zone": "Europe/Oslo", "preset": "advisor"})
    assert alice.zone == "Europe/Oslo"


def test_the_pages_say_whose_choice_the_model_is(client: TestClient, kb: Any) -> None:
    assert "Chosen for this machine, and so for every book on it" in client.get("/settings").text
    assert "belongs to this machine and not to your book" in client.get("/settings/model").text
    kb.book("bob").remember("Drinks coffee")
    page = client.get("/settings").text
    assert "Choose a model" not in page, "with another book on the machine it is nobody's alone"


def test_a_zone_that_is_none_is_refused_beside_its_field(client: TestClient, alice: Any) -> None:
    page = client.post("/settings/you", data={"zone": "Middle/Earth", "tier": "advanced"})
    assert page.status_code == 422
    assert 'value="Middle/Earth" aria-describedby="bad-zone" aria-invalid="true"' in page.text
    assert "is no time zone" in page.text
    assert alice.choices.tier is None


def test_memory_is_switched_off_and_on(client: TestClient, alice: Any) -> None:
    page = client.post("/settings/memory", data={})
    assert not alice.choices.memory
    assert toast(page.text).startswith("Memory is off")
    assert 'action="/settings/memory"><input type="hidden" name="on" value="1">' in page.text
    client.post("/settings/memory", data={"on": "1"})
    assert alice.choices.memory


def test_a_sentence_is_tried_against_the_topics_and_not_kept(client: TestClient, alice: Any) -> None:
    alice.choose(never=["health"])
    page = client.post("/settings/never/try", data={"text": "I have diabetes"})
    assert "This would never be kept: it speaks of health." in page.text
    assert "illness, pain, doctors" in page.text
    page = client.post("/settings/never/try", data={"text": "I live in Oslo"})
    assert "This may be kept" in page.text
    assert not alice.list()


def test_topics_never_to_be_remembered_come_and_go(client: TestClient, alice: Any) -> None:
    client.post("/settings/never", data={"topic": "  my   health "})
    page = client.post("/settings/never", data={"topic": "My Health"})
    assert alice.choices.never == ("my health",)
    assert "Nothing about “My Health” will be remembered." in page.text
    page = client.post("/settings/never/remove", data={"topic": "my health"})
    assert alice.choices.never == ()
    assert "may be remembered again" in page.text


def test_an_empty_topic_is_refused_beside_its_field(client: TestClient, alice: Any) -> None:
    page = client.post("/settings/never", data={"topic": " "})
    assert page.status_code == 422
    assert 'aria-describedby="bad-topic"' in page.text
    assert alice.choices.never == ()


def test_a_topic_full_of_markup_stays_text(client: TestClient, alice: Any) -> None:
    page = client.post("/settings/never", data={"topic": "<script>alert(1)</script>"})
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text


# This browser


def test_theme_and_letters_are_this_browsers_own(client: TestClient) -> None:
    page = client.post("/settings/look", data={"theme": "dark"})
    assert client.cookies.get("keepbook_theme") == "dark"
    assert client.cookies.get("keepbook_keys") == "off"
    assert '<html lang="en" data-theme="dark" data-keys="off">' in page.text
    page = client.post("/settings/look", data={"theme": "system", "keys": "on"})
    assert '<html lang="en">' in page.text


def test_a_theme_that_is_none_counts_as_the_systems(client: TestClient) -> None:
    page = client.post("/settings/look", data={"theme": '"><script>', "keys": "on"})
    assert '<html lang="en">' in page.text


# Model


def test_the_model_and_what_it_cost_are_shown(client: TestClient, alice: Any) -> None:
    alice.spending.count("chat", "openai:large", 1200, 34)
    page = client.get("/settings").text
    assert "<b>Your book</b>" in page
    assert "1,234 tokens, no cap" in page
    assert "<td>large</td>" in page


# Tokens


def test_a_token_is_shown_once_and_this_browser_stays_signed_in(client: TestClient, kb: Any) -> None:
    page = client.post("/settings/tokens", data={"name": "laptop", "kind": "agent", "may": ["read", "write"]})
    secret = re.search(r"kb_[\w-]{40,}", page.text)
    assert secret
    known = kb.tokens.check(secret[0])
    assert (known.kind, known.scopes, known.name) == ("agent", ("read", "write"), "laptop")
    assert "so you stay signed in" in page.text
    assert "<td>This browser" in page.text
    again = client.get("/settings")
    assert again.status_code == 200
    assert again.url.path == "/settings"
    assert secret[0] not in again.text
    assert "This browser" in again.text


def test_a_token_can_be_revoked(client: TestClient, kb: Any) -> None:
    page = client.post("/settings/tokens", data={"name": "laptop", "may": ["read"]})
    secret = re.search(r"kb_[\w-]{40,}", page.text)
    assert secret
    page = client.post(f"/settings/tokens/{kb.tokens.check(secret[0]).id}/revoke")
    assert kb.tokens.check(secret[0]) is None
    assert "Revoked" in toast(page.text)


def test_revoking_ones_own_token_signs_out(client: TestClient, kb: Any) -> None:
    client.post("/settings/tokens", data={"name": "laptop", "may": ["read"]})
    own = next(token for token in kb.tokens.list("alice") if token.name == "This browser")
    assert client.post(f"/settings/tokens/{own.id}/revoke").url.path == "/sign-in"


def test_a_token_without_rights_is_refused_in_words(client: TestClient, kb: Any) -> None:
    page = client.post("/settings/tokens", data={"name": "laptop"})
    assert page.status_code == 422
    assert "Not made." in page.text
    assert not kb.tokens.asked_for()


def test_a_service_token_is_not_made_on_a_page(client: TestClient, kb: Any) -> None:
    page = client.post("/settings/tokens", data={"kind": "service", "may": ["read"]})
    assert page.status_code == 422
    assert not kb.tokens.asked_for()


def test_who_may_not_govern_sees_no_tokens_and_erases_nothing(client: TestClient, kb: Any, alice: Any) -> None:
    alice.remember("Likes bonds")
    made = kb.tokens.create("alice")
    client.cookies.set("keepbook_session", kb.tokens.session_for(made.known.id))
    page = client.get("/settings").text
    assert "needs the scope “admin”" in page
    assert "Make a token" not in page
    assert client.post("/settings/tokens", data={"may": ["read"]}).status_code == 403
    assert client.get("/settings/erase").status_code == 403
    assert client.post("/settings/erase", data={"confirm": "alice"}).status_code == 403
    assert alice.list().total == 1


def test_a_token_never_has_more_rights_than_its_maker(client: TestClient, kb: Any) -> None:
    made = kb.tokens.create("alice", scopes=["read", "admin"])
    client.cookies.set("keepbook_session", kb.tokens.session_for(made.known.id))
    assert client.post("/settings/tokens", data={"may": ["write"]}).status_code == 403


def test_who_may_only_read_changes_nothing(client: TestClient, kb: Any, alice: Any) -> None:
    made = kb.tokens.create("alice", scopes=["read"])
    client.cookies.set("keepbook_session", kb.tokens.session_for(made.known.id))
    assert client.get("/settings").status_code == 200
    for path in ("you", "memory", "never", "never/remove"):
        assert client.post(f"/settings/{path}", data={"topic": "health", "zone": "UTC"}).status_code == 403, path
    assert alice.choices.never == ()
    assert alice.choices.memory


# Carrying away


def test_all_of_it_is_downloaded_and_files_come_in_elsewhere(client: TestClient, alice: Any) -> None:
    alice.remember("Likes bonds")
    answer = client.get("/settings/export")
    assert answer.headers["content-disposition"] == 'attachment; filename="keepbook-2026-11-12.jsonl"'
    written = io.StringIO()
    alice.export(written)
    assert answer.content == written.getvalue().encode()
    page = client.get("/settings").text
    assert '<a class="btn" href="/import">' in page
    assert 'type="file"' not in page


# The ledger


def test_the_ledger_is_verified(client: TestClient, alice: Any) -> None:
    alice.remember("Likes bonds")
    alice.remember("Lives in Oslo")
    assert "every one holds" not in client.get("/settings").text
    assert "2 entries, and every one holds." in client.get("/settings?verify=1").text


def test_a_broken_ledger_is_named(client: TestClient, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from keepbook.book.ledger import verify
    from keepbook.book.ledger.verify import Verification

    monkeypatch.setattr(verify, "verify", lambda *_: Verification(False, 9, 4, "its text was altered"))
    page = client.get("/settings?verify=1").text
    assert "Entry № 4 does not hold: its text was altered." in page


# Erasing


def test_erasing_asks_for_the_name(client: TestClient, alice: Any) -> None:
    alice.remember("Likes bonds")
    asked = client.get("/settings/erase").text
    assert "Nobody can undo this." in asked
    assert "1 line goes" in asked
    refused = client.post("/settings/erase", data={"confirm": "Alice"})
    assert refused.status_code == 422
    assert 'aria-describedby="bad-confirm"' in refused.text
    assert alice.list().total == 1


def test_erasing_asks_for_the_name_that_the_pages_show(client: TestClient, alice: Any) -> None:
    alice.choose(name="Alice Moen")
    alice.remember("Likes bonds")
    assert "type the name of this book: <b>“Alice Moen”</b>" in client.get("/settings/erase").text
    assert client.post("/settings/erase", data={"confirm": "alice"}).status_code == 422
    receipt = client.post("/settings/erase", data={"confirm": " Alice Moen "})
    assert "Everything in the book of Alice Moen is gone" in receipt.text
    assert alice.list(state="all").total == 0


def test_erasing_leaves_a_receipt_and_nothing_else(client: TestClient, alice: Any) -> None:
    alice.remember("Likes bonds")
    alice.notes.write("A note")
    receipt = client.post("/settings/erase", data={"confirm": "alice"})
    assert receipt.status_code == 200
    assert "The book is erased" in receipt.text
    assert '<tr><td>Lines</td><td class="n">1</td></tr>' in receipt.text
    assert '<tr><td>Notes</td><td class="n">1</td></tr>' in receipt.text
    assert alice.list(state="all").total == 0
    assert not alice.notes.list()


def test_another_site_changes_nothing(client: TestClient, alice: Any) -> None:
    client.headers.update({"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"})
    for path in ("you", "memory", "never", "look", "tokens", "erase", "import"):
        assert client.post(f"/settings/{path}", data={"confirm": "alice"}).status_code == 403, path
    assert alice.choices.memory


# In a browser


def test_a_switch_acts_at_once_and_has_its_way_back(person: Page, alice: Any) -> None:
    person.goto("/settings")
    switch = person.get_by_role("switch", name="Remember what I say")
    switch.click()
    expect(person.get_by_role("status").filter(has_text="Memory is off")).to_be_visible()
    assert not alice.choices.memory
    expect(switch).not_to_be_checked()
    expect(switch).to_be_focused()
    person.get_by_role("button", name="Undo").click()
    expect(person.get_by_role("status").filter(has_text="Memory is on again")).to_be_visible()
    assert alice.choices.memory


def test_colours_change_as_they_are_chosen(person: Page) -> None:
    person.goto("/settings")
    person.get_by_role("radio", name="Dark").check()
    expect(person.locator("html")).to_have_attribute("data-theme", "dark")
    expect(person.get_by_role("status").filter(has_text="Saved for this browser")).to_be_visible()
    person.goto("/journal")
    expect(person.locator("html")).to_have_attribute("data-theme", "dark")


def test_letters_can_be_switched_off(person: Page) -> None:
    person.goto("/settings")
    person.get_by_role("switch", name="Single letters are shortcuts").click()
    expect(person.get_by_role("status").filter(has_text="Saved for this browser")).to_be_visible()
    person.goto("/settings")
    person.keyboard.press("?")
    expect(person.locator("dialog#keys")).not_to_be_visible()


def test_a_topic_is_added_in_place(person: Page, alice: Any) -> None:
    person.goto("/settings")
    person.get_by_label("Add a topic").fill("health")
    person.get_by_label("Add a topic").press("Enter")
    expect(person.get_by_role("button", name="Remove “health”")).to_be_visible()
    person.get_by_role("button", name="Remove “health”").click()
    expect(person.get_by_role("button", name="Remove “health”")).to_have_count(0)
    person.get_by_role("button", name="Undo").last.click()
    expect(person.get_by_role("button", name="Remove “health”")).to_be_visible()
    assert alice.choices.never == ("health",)


def test_what_is_wrong_is_said_beside_the_form(person: Page) -> None:
    person.goto("/settings")
    person.get_by_label("Time zone").fill("Middle/Earth")
    person.locator("#you").get_by_role("button", name="Save").click()
    expect(person.get_by_label("Time zone")).to_have_accessible_description(re.compile("is no time zone"))
    expect(person.get_by_label("Time zone")).to_be_focused()


def test_everything_works_without_script(opens: Opens, alice: Any) -> None:
    page = opens(java_script_enabled=False).new_page()
    page.goto("/settings")
    page.get_by_role("switch", name="Remember what I say").uncheck()
    page.locator("#memory").get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("Memory is off")
    assert not alice.choices.memory
    page.get_by_role("radio", name="Dark").check()
    page.locator("#look").get_by_role("button", name="Save").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("link", name="Erase everything").click()
    page.get_by_label("to confirm").fill("alice")
    page.get_by_role("button", name="Erase everything").click()
    expect(page.get_by_role("heading", name="The book is erased")).to_be_visible()


@pytest.mark.parametrize("path", ["/settings", "/settings/erase", "/settings?verify=1"])
def test_nothing_scrolls_sideways_on_a_small_phone(opens: Opens, path: str, alice: Any) -> None:
    alice.remember("Likes bonds")
    page = opens(width=360).new_page()
    page.goto(path)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
