"""What it saw, per reply: held against the stored block and the requests that a model server received."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient
from tests.doors.http.web.conftest import settled_as_alice
from tests.models.wire import Call, Received, Say, Wire

from keepbook.models.notebook.values import TurnStep

LINE = "Keeps three months of expenses in cash"
OTHER = "Lives in Vienna"


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> Iterator[Wire]:
    with Wire(str(request.param)) as server:
        yield server


@pytest.fixture
def alices_house(monkeypatch: pytest.MonkeyPatch, wire: Wire) -> None:
    settled_as_alice(monkeypatch)
    kind = wire.kind.upper()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("KEEPBOOK_MODEL", f"{wire.kind}:some-model")
    monkeypatch.setenv(f"KEEPBOOK_{kind}_BASE_URL", wire.url)
    monkeypatch.setenv(f"KEEPBOOK_{kind}_KEY", "k")


only_openai = pytest.mark.parametrize("wire", ["openai"], indirect=True)


def script(wire: Wire) -> list[list[int]]:
    """Three replies: a plain one, one that recalls twice, one that looks up. Answers which requests made each."""
    wire.script += [
        Say("Good morning.", tokens=(310, 12)),
        Say("A talk about money", tokens=(50, 4)),  # the title
        Say(
            "Let me look.",
            calls=[Call("recall_preferences", {"query": "expenses in cash", "limit": 3}, "a1")],
            tokens=(400, 20),
        ),
        Say(calls=[Call("recall_preferences", {"query": "zzz qqq"}, "a2")], tokens=(430, 8)),
        Say("Three months of expenses.", tokens=(460, 9)),
        Say(calls=[Call("list_preferences", {"category": "profile"}, "b1")], tokens=(500, 15)),
        Say("You live in Vienna.", tokens=(540, 6)),
    ]
    return [[0], [2, 3, 4], [5, 6]]


SAID = ("Good morning, I am looking at my savings.", "How much cash do I keep?", "And what is in my profile?")


def panel(client: TestClient, chat: Any, turn: int) -> str:
    page = client.get(f"/chat/{chat.id}?saw={turn}")
    assert page.status_code == 200
    return re.search(r'<aside class="saw".*?</aside>', page.text, re.DOTALL)[0]  # type: ignore[index]


def texts(panel: str, what: str) -> list[str]:
    """What stands in the elements of a panel that a pattern names."""
    found = re.findall(rf"<{what}>(.*?)</", panel, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", one)) for one in found]


def test_the_panel_of_each_reply_is_the_stored_block_and_what_was_sent(
    client: TestClient, talk: Any, alice: Any, wire: Wire
) -> None:
    alice.remember(LINE, category="finance_context")
    alice.remember(OTHER, category="profile")
    made_of = script(wire)
    chat = talk(*SAID)
    block = chat.inject()
    replies = [one for one in chat.messages() if one.role == "assistant"]
    before: set[str] = set()
    for reply, numbers in zip(replies, made_of, strict=True):
        shown, requests = panel(client, chat, reply.turn), [wire.received[number] for number in numbers]
        last: Received = requests[-1]
        # given: the stored block, and the very text in the system prompt of each request
        assert texts(shown, 'p class="well" data-block') == [block]
        assert all(block in one.system for one in requests)
        lines = [line.removeprefix("- ") for line in block.splitlines() if line.startswith("- ")]
        listed = re.findall(r'<ul class="given-lines">(.*?)</ul>', shown, re.DOTALL)
        assert [text for one in listed for text in texts(one, "li")] == lines
        # recalled and looked up: the calls of this reply with their answers, and no other's
        fresh = [call for call in last.calls if call[0] not in before]
        before |= {call[0] for call in fresh}
        answers = dict(last.answers)
        recalls = [call for call in fresh if call[1] == "recall_preferences"]
        assert texts(shown, 'p class="asked"') == [f"“{call[2]['query']}”" for call in recalls]
        found = [line for call in recalls for line in answers[call[0]].splitlines() if line.startswith("[")]
        hits = re.findall(r"<li><a href=\"/memory/(\w+)\">(.*?)</a>", shown)
        assert [f"[{id}] {html.unescape(text)}" for id, text in hits] == found
        others = [call for call in fresh if call not in recalls]
        assert texts(shown, 'div class="well" data-asked') == [
            name + "(" + ", ".join(f'{key}="{value}"' for key, value in arguments.items()) + ")"
            for _, name, arguments in others
        ]
        assert texts(shown, 'div class="well" data-answer') == [answers[call[0]] for call in others]
        # tokens: what the server counted over all requests of this reply
        assert texts(shown, "dd") == [f"{reply.tokens_in:,} word pieces", f"{reply.tokens_out:,} word pieces"]
        assert "Runs on this machine." in shown
    assert [(one.tokens_in, one.tokens_out) for one in replies] == [(310, 12), (1290, 37), (1040, 21)]
    assert "Nothing stored answers that." in panel(client, chat, replies[1].turn)
    assert "No look-ups." in panel(client, chat, replies[0].turn)


@only_openai
def test_the_panel_opens_in_place_and_is_true_at_once_and_after_a_reload(person: Page, alice: Any, wire: Wire) -> None:
    alice.remember(LINE, category="finance_context")
    script(wire)
    person.goto("/chat")
    given = person.locator("#given")
    expect(given).to_contain_text("What this chat will know")
    for text, said in zip(SAID[:2], ("Good morning.", "Three months"), strict=True):
        person.get_by_label("Message").fill(text)
        person.get_by_label("Message").press("Enter")
        expect(person.locator(".turn:not([aria-busy]) .said").last).to_contain_text(said)
    expect(given).to_contain_text("What this chat knew")
    expect(person.locator("#chat-head")).to_contain_text("looked for when you leave this chat")
    buttons = person.get_by_role("link", name="What it saw")
    names = buttons.evaluate_all("all => all.map(one => one.innerText)")
    assert len(set(names)) == len(names), "replies of one minute are told apart"
    buttons.nth(1).click()
    saw = person.locator("#saw")
    expect(saw.locator(".asked")).to_have_text(["“expenses in cash”", "“zzz qqq”"])
    expect(saw.locator(".sum .all").last).to_have_text("1,327 word pieces")
    expect(given).to_be_hidden()
    expect(person.locator(".turn.seen")).to_have_count(1)
    before = saw.inner_text()
    person.keyboard.press("Escape")
    expect(saw).to_have_count(0)
    expect(buttons.nth(1)).to_be_focused()
    person.keyboard.press("w")
    expect(saw).to_have_count(1)
    buttons.nth(0).click()
    expect(saw).to_contain_text("Recalled nothing.")
    person.reload()
    buttons.nth(1).click()
    expect(saw.locator(".asked")).to_have_count(2)
    assert saw.inner_text() == before


@only_openai
@pytest.mark.parametrize("script_runs", [True, False])
def test_on_a_phone_it_is_a_sheet_with_and_without_script(
    opens: Any, talk: Any, alice: Any, wire: Wire, script_runs: bool
) -> None:
    alice.remember(LINE, category="finance_context")
    script(wire)
    chat = talk(*SAID)
    person = opens(width=390, height=800, java_script_enabled=script_runs).new_page()
    person.goto(f"/chat/{chat.id}")
    person.get_by_role("link", name="What it saw").nth(1).click()
    saw = person.locator("#saw")
    expect(saw.get_by_text("expenses in cash", exact=False).first).to_be_visible()
    box = saw.bounding_box()
    assert box
    assert round(box["y"] + box["height"]) == 800
    saw.get_by_text("What it took").scroll_into_view_if_needed()
    expect(saw.get_by_role("link", name="Close")).to_be_in_viewport(ratio=1)  # the way out does not scroll away
    saw.get_by_role("link", name="Close").click()
    expect(saw).to_have_count(0)
    person.set_viewport_size({"width": 390, "height": 260})
    person.locator(".chat-more summary").click()
    person.locator(".chat-head a[href='#given']").click()
    given = person.locator("#given")
    expect(given.get_by_role("link", name="Close")).to_be_visible()
    given.locator("summary").last.evaluate("summary => summary.scrollIntoView()")
    expect(given.get_by_role("link", name="Close")).to_be_in_viewport(ratio=1)


@only_openai
def test_after_edit_in_chat_it_says_what_the_answer_will_be_given(
    client: TestClient, alice: Any, wire: Wire, talk: Any
) -> None:
    memory = alice.remember(LINE, category="finance_context")
    page = client.post(f"/memory/{memory.id}/edit-in-chat")
    assert "What this chat will know" in page.text
    assert re.search(rf'id="given".*<li>{LINE}</li>', page.text, re.DOTALL)
    assert "1 line goes along" in re.sub(r"<[^>]+>", "", page.text)
    wire.script += [Say("What should it be?"), Say("Cash")]
    (thread,) = alice.threads.list()
    chat = talk("Hm, let me think.", chat=alice.threads.get(thread.id))
    assert texts(panel(client, chat, 3), 'p class="well" data-block') == [chat.inject()]


@only_openai
def test_a_block_erased_with_a_memory_is_not_shown_as_another_one(
    client: TestClient, alice: Any, wire: Wire, talk: Any, clock: Any
) -> None:
    memory = alice.remember(LINE, category="finance_context")
    alice.remember(OTHER, category="profile")
    wire.script += [Say("Hello."), Say("Hello"), Say("Yes.")]
    chat = talk("Hello")
    alice.delete(memory.id, forever=True)
    clock.forward(minutes=1)
    talk("Still there?", chat=chat)
    assert "were erased together with a memory" in panel(client, chat, 2)
    assert texts(panel(client, chat, 4), 'p class="well" data-block') == [chat.inject()]
    assert LINE not in client.get(f"/chat/{chat.id}?saw=2").text


def test_all_of_it_can_be_read_as_it_was_sent_with_what_was_left_out(
    client: TestClient, talk: Any, alice: Any, wire: Wire
) -> None:
    line = alice.remember(LINE, category="finance_context")
    alice.remember(OTHER, category="profile")
    made_of = script(wire)
    chat = talk(*SAID)
    for reply, numbers in zip([one for one in chat.messages() if one.role == "assistant"], made_of, strict=True):
        assert f'href="/chat/{chat.id}/turns/{reply.turn}/sent"' in panel(client, chat, reply.turn)
        page = client.get(f"/chat/{chat.id}/turns/{reply.turn}/sent").text
        shown = dict(
            zip(
                texts(page, "summary><svg[^>]*><use[^>]*></svg><b"),
                texts(page, 'pre tabindex="0" aria-label="[^"]*"'),
                strict=False,
            )
        )
        last = wire.received[numbers[-1]]
        assert shown["The whole request"] == last.body.decode()
        assert shown["What it knew"] == chat.inject()
        before, _, after = shown["Instructions"].partition("[ the lines of the book stand here ]")
        assert last.system == before + chat.inject() + after
        assert list(shown) == [
            "Instructions", "What it knew", "What was said", "Tools", "The form around them", "The whole request",
        ]  # fmt: skip
        sizes = [int(one.replace(",", "")) for one in re.findall(r"([\d,]+) letters", page)]
        assert sum(sizes[:-1]) == sizes[-1] == len(shown["The whole request"]), "the sizes add up"
    assert "Taken out of your book since" not in page
    assert "behind a line says" not in page
    alice.forget(line.id)
    page = client.get(f"/chat/{chat.id}/turns/2/sent?left=1").text
    assert f"Taken out of your book since:</strong> {LINE}" in page
    assert "Nothing was left out." in page
    piece = client.get(f"/chat/{chat.id}/turns/2/sent", headers={"X-Partial": "1"}).text
    assert "<html" not in piece
    assert client.get(f"/chat/{chat.id}/turns/1/sent").status_code == 404


@only_openai
def test_a_name_behind_a_line_is_explained_wherever_the_line_is_shown(
    client: TestClient, kb: Any, talk: Any, wire: Wire
) -> None:
    kb.book("alice", by="agent", name="ChatGPT").remember("Likes tea", category="profile")
    wire.script += [Say("Hello."), Say("Hello")]
    chat = talk("Hello")
    assert "Likes tea (by ChatGPT)" in chat.inject()
    explained = "“(by ChatGPT)” behind a line says where it was written down."
    for page in (f"/chat/{chat.id}", f"/chat/{chat.id}?saw=2", f"/chat/{chat.id}/turns/2/sent"):
        assert explained in client.get(page).text, page


@only_openai
def test_a_reply_that_is_not_there_is_not_found(client: TestClient, wire: Wire, talk: Any) -> None:
    wire.script += [Say("Hello."), Say("Hello")]
    chat = talk("Hello")
    assert client.get(f"/chat/{chat.id}?saw=1").status_code == 404
    assert client.get(f"/chat/{chat.id}/turns/9/saw").status_code == 404


@only_openai
def test_the_price_is_told_where_one_is_set_and_never_as_nought(
    client: TestClient, kb: Any, wire: Wire, talk: Any
) -> None:
    wire.script += [Say("Hello.", tokens=(4000, 100)), Say("Hello")]
    chat = talk("Hello")
    assert "Runs on this machine." in panel(client, chat, 2)
    kb.settings = kb.settings.but(price_in=2.5, price_out=10.0)
    assert "It cost 0.0110, at the prices in the settings." in panel(client, chat, 2)
    kb.settings = kb.settings.but(price_in=0.001, price_out=0.0)
    assert "It cost less than 0.0001" in panel(client, chat, 2)
    recorded = chat.add("assistant", "Said elsewhere.")
    assert "Recorded from elsewhere" in panel(client, chat, recorded.turn)


@only_openai
def test_the_notebook_costs_nothing(client: TestClient, kb: Any, talk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kb, "models", replace(kb.models, chat=kb.models.offline))
    chat = talk("What can you do?")
    assert "Your book answered." in panel(client, chat, 2)
    assert "/sent" not in panel(client, chat, 2)
    assert client.get(f"/chat/{chat.id}/turns/2/sent").status_code == 404
    page = client.get(f"/chat/{chat.id}").text
    assert f'<a href="/settings/model?back=/chat/{chat.id}">Settings → Model</a>' in page
    assert "<b>Your book</b>" in page
    assert 'placeholder="Write a message"' in page


@only_openai
def test_an_order_that_a_model_says_nothing_of_is_told_by_the_page(
    client: TestClient, alice: Any, wire: Wire, decides: Any
) -> None:
    decides(TurnStep("withdraw", 0, 29, matter="Mark"))
    earlier = alice.threads.start()
    earlier.add("user", "Mark and I shared a flat in the Old Town.")
    earlier.add("assistant", "How was it?")
    alice.threads.rename(earlier.id, "Old flat")
    wire.script += [Say("Sure."), Say("A title")]
    begun = client.post("/chat", data={"text": "Forget everything about Mark."}, headers={"X-Partial": "1"})
    (chat,) = (one for one in alice.threads.list() if one.id != earlier.id)
    page = html.unescape(re.sub(r"<[^>]+>", " ", client.get(f"/chat/{chat.id}").text))
    assert begun.status_code == 200
    assert "Earlier chats speak of it (“Old flat”)" in page
