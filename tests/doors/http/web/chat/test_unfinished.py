"""A reply that is stopped, left or failed stays as far as it came, marked as such, and can be gone on with."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.errors import ModelFailed
from keepbook.models.chat import Talk
from keepbook.models.model import ReplyFinished, TextDelta, Usage
from keepbook.models.offline.model import OfflineModel

BEGUN = "April leaves fourteen payments, and th"
REST = "that makes 690 a month."


class Slow:
    """A model that says a few words and then waits; asked to go on, it does."""

    name = "slow"

    def __init__(self, breaks: Callable[[], Any] = lambda: asyncio.sleep(60)) -> None:
        self.asked: list[Any] = []
        self._breaks = breaks

    async def reply(self, conversation: Any, _: Any) -> AsyncIterator[Any]:
        self.asked.append(conversation)
        if len(self.asked) == 1:
            yield TextDelta("April leaves fourteen")
            yield TextDelta(" payments, and th")
            await self._breaks()
        yield TextDelta(REST)
        yield ReplyFinished(REST, (), Usage(50, 7))

    async def title(self, _: Any) -> Any:
        raise ModelFailed("no titles here")

    async def extract(self, reading: Any) -> Any:
        return await OfflineModel().extract(reading)


def remote(kb: Any, model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installation has this model."""
    models = replace(kb.models, chat=model, cheap=model)
    monkeypatch.setattr(type(kb), "models", property(lambda _: models))


def say(person: Page, text: str) -> None:
    person.get_by_label("Message", exact=True).fill(text)
    person.get_by_label("Message", exact=True).press("Enter")


def test_what_was_written_stays_when_it_is_stopped_and_is_gone_on_with(
    person: Page, kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Slow()
    remote(kb, model, monkeypatch)
    person.goto("/chat")
    say(person, "How much a month from April for the school?")
    expect(person.locator(".turn[aria-busy] .said")).to_have_text(BEGUN)
    expect(person.locator("#chats [aria-current]")).to_contain_text("How much a month from April")
    box = person.get_by_label("Message", exact=True)
    box.fill("And for the")  # typed while it writes, and no business of Stop
    person.get_by_role("button", name="Stop writing").click()
    reply = person.locator("#turn-2")
    expect(reply.locator(".said")).to_have_text(BEGUN)
    expect(reply.locator(".broke-off")).to_contain_text("Stopped by you")
    expect(box).to_have_value("And for the")
    person.reload()
    expect(reply.locator(".said")).to_have_text(BEGUN)
    expect(box).to_have_value("And for the")
    (chat,) = alice.threads.list()
    stored = alice.threads.get(chat.id).messages()[-1]
    assert (stored.broke_off, stored.model, stored.tokens_out) == ("stopped", "slow", None)
    reply.get_by_role("button", name="Go on").press("Enter")
    expect(person.locator("#turn-3 .said")).to_have_text(f"April leaves fourteen payments, and {REST}")
    expect(person.locator(".broke-off")).to_have_count(0)
    whole = alice.threads.get(chat.id).messages()[-1]
    assert (whole.instead_of, whole.broke_off, whole.tokens_out) == (2, None, 7)
    piece, wish = model.asked[1].said[-2:]
    assert (piece.role, piece.text, wish.role) == ("assistant", "April leaves fourteen payments, and", "user")
    assert alice.spending.this_month() > 57


def test_stopped_before_it_is_stored_a_message_stays_and_so_does_what_is_typed(
    person: Page, kb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrives, take = threading.Event(), Talk._take

    def held(*told: Any) -> Any:
        assert arrives.wait(60)
        return take(*told)

    monkeypatch.setattr(Talk, "_take", held)
    remote(kb, Slow(), monkeypatch)
    person.goto("/chat")
    say(person, "How much a month?")
    box = person.get_by_label("Message", exact=True)
    box.fill("And for the")
    person.wait_for_url("**/chat/*")
    with person.expect_response(lambda answer: answer.url.endswith("/stop")) as told:
        person.get_by_role("button", name="Stop writing").click()
    assert told.value.status == 404, "nothing is written yet"
    arrives.set()
    expect(person.locator("#turn-2 .broke-off")).to_contain_text("Stopped by you")
    expect(person.locator("#turn-1 .bubble")).to_have_text("How much a month?")
    expect(box).to_have_value("And for the")


def test_a_model_that_fails_midway_leaves_what_it_said(
    person: Page, kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks() -> None:
        raise ModelFailed("the model hung up")

    remote(kb, Slow(breaks), monkeypatch)
    person.goto("/chat")
    say(person, "How much a month?")
    expect(person.locator("#turn-2 .broke-off")).to_contain_text("The model broke off here")
    expect(person.get_by_role("alert").filter(has_text="hung up")).to_be_visible()
    person.get_by_role("button", name="Go on").click()
    expect(person.locator("#turn-3 .said")).to_contain_text(REST)


def test_a_model_that_cannot_read_chats_is_told_once_with_the_way_out(
    person: Page, kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cannot(*_: Any) -> Any:
        raise ModelFailed("there is no JSON object in it")

    monkeypatch.setattr(Slow, "extract", cannot)
    remote(kb, Slow(lambda: asyncio.sleep(0)), monkeypatch)
    person.goto("/chat")
    say(person, "I work as a structural engineer.")
    expect(person.locator("#turn-2 .said")).to_contain_text(REST)
    address = person.url
    person.get_by_role("link", name="Memory").click()
    toast = person.locator("#toasts .toast")
    expect(toast).to_contain_text("slow could not read the chat you left, so nothing of it is kept yet.")
    expect(toast).not_to_contain_text("JSON")
    person.goto(address)
    person.get_by_role("link", name="Memory").click()
    expect(person.get_by_role("heading", name="The book is empty")).to_be_visible()
    assert not person.evaluate("sessionStorage.getItem('left')"), "it was told; nothing is tried on the way"
    person.goto(address)
    person.get_by_role("button", name="Keep what your book reads").click()
    expect(person.locator(".kept-line")).to_contain_text("In your book")
    assert [one.content for one in alice.list()] == ["I work as a structural engineer"]


def test_a_page_that_is_left_keeps_what_was_written(
    opens: Any, kb: Any, alice: Any, until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote(kb, Slow(), monkeypatch)
    person = opens().new_page()
    person.goto("/chat")
    say(person, "How much a month?")
    expect(person.locator(".turn[aria-busy] .said")).to_have_text(BEGUN)
    address = person.url
    person.goto("/journal")
    (chat,) = alice.threads.list()
    until(lambda: len(alice.threads.get(chat.id).messages()) == 2)
    person.goto(address)
    expect(person.locator("#turn-2 .broke-off")).to_contain_text("Broken off when the page was left")


def test_without_script_it_is_gone_on_with_by_a_form(
    client: TestClient, kb: Any, alice: Any, talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks() -> None:
        raise ModelFailed("the model hung up")

    remote(kb, Slow(breaks), monkeypatch)
    with pytest.raises(ModelFailed):
        talk("How much a month?")
    (chat,) = alice.threads.list()
    page = client.post(f"/chat/{chat.id}/go-on").text
    assert f"fourteen payments, and {REST}" in page
    assert client.post(f"/chat/{chat.id}/go-on").status_code == 409
    assert client.post(f"/chat/{chat.id}/stop").status_code == 404
    client.post(f"/chat/{chat.id}/close")
    assert alice.threads.get(chat.id).thread.state == "idle"


def test_the_notebook_writes_a_broken_reply_anew(client: TestClient, alice: Any, talk: Any) -> None:
    from keepbook.book.chats import adding

    chat = talk("Hello")
    with alice.writing() as (tx, _):
        adding.add_message(tx, chat.id, "user", "Remember that my dog is called Rex.", "2026-11-12T09:16:00.000000Z")
        adding.add_message(tx, chat.id, "assistant", "Sav", "2026-11-12T09:16:00.000000Z", broke_off="left")
    client.post(f"/chat/{chat.id}/go-on")
    last = chat.messages()[-1]
    assert (last.instead_of, last.broke_off) == (4, None)
