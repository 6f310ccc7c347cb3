"""Learning is seen: what a turn kept and asks, pencil with its answers, the panel, what closing made of it."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from starlette.testclient import TestClient

from keepbook.book.chats.pencil import Pencil, pencil_key
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.book.text.quotation import Span
from keepbook.models.notebook.scene import target_of
from keepbook.models.notebook.values import QuotedLine, TurnStep

NURSE, NURSE_LINE = "I am a nurse in Leeds.", "I am a nurse in Leeds"
GRAZ, GRAZ_LINE = "I live in Graz.", "I live in Graz"
OSLO = "I live in Oslo with Kari and our two kids"
BERGEN = "We live in Bergen now"


def text_of(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))


def quote(turn: int, words: str) -> QuotedLine:
    return QuotedLine((Span(turn, 0, len(words), "said"),), words, "profile", score=0.8)


def opened_with_pencil_held(person: Page, chat: Any) -> Route:
    """A chat's page that still waits for its pencil: the request that brings it."""
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    person.route("**/pencil", hold, times=1)
    with person.expect_request("**/pencil"):
        person.goto(f"/chat/{chat.id}")
    while not waiting:  # the request is told before its route
        person.wait_for_timeout(20)
    return waiting[0]


# Kept at once


def test_what_a_message_kept_stands_under_it_and_is_taken_out_and_put_back(person: Page, alice: Any, talk: Any) -> None:
    chat = talk(NURSE)
    person.goto(f"/chat/{chat.id}")
    kept = person.locator("#exchange-1 .kept-line")
    expect(kept.locator(".book")).to_have_text("“I am a nurse in Leeds”")
    expect(kept.locator(".deed")).to_contain_text("In your book")
    expect(person.locator("#turn-1 .kept, #turn-2 .kept")).to_have_count(0)
    kept.get_by_role("button", name="Undo").click()
    expect(kept.locator(".deed")).to_contain_text("Taken out again")
    assert alice.list().total == 0
    kept.get_by_role("button", name="Put it back").click()
    expect(kept.locator(".deed")).to_contain_text("In your book")
    assert [one.content for one in alice.list()] == [NURSE_LINE]
    person.reload()
    expect(kept.locator(".deed")).to_contain_text("In your book")


def test_what_was_fetched_before_an_answer_does_not_take_its_place(person: Page, alice: Any, talk: Any) -> None:
    chat = talk(NURSE)
    held = opened_with_pencil_held(person, chat)
    kept = person.locator("#exchange-1 .kept-line")
    earlier = held.fetch()
    kept.get_by_role("button", name="Undo").click()
    expect(kept.locator(".deed")).to_contain_text("Taken out again")
    with person.expect_response("**/pencil"):  # what came too late is asked for again
        held.fulfill(response=earlier)
    expect(person.locator("#talk[data-unpencilled]")).to_have_count(0)
    expect(kept.locator(".deed")).to_contain_text("Taken out again")


def test_an_open_menu_stays_open_when_its_piece_comes_anew(person: Page, talk: Any) -> None:
    chat = talk(NURSE)
    person.set_viewport_size({"width": 390, "height": 700})
    held = opened_with_pencil_held(person, chat)
    person.locator(".chat-more summary").click()
    held.continue_()
    expect(person.locator("#talk[data-unpencilled]")).to_have_count(0)
    expect(person.locator(".chat-more[open] a[href='#given']")).to_be_visible()


def test_of_many_lines_three_are_in_sight(client: TestClient, alice: Any, talk: Any, decides: Any) -> None:
    words = "one line two lines three lines four lines five lines"
    spans = [(0, 8), (9, 18), (19, 30), (31, 41), (42, 52)]
    decides(*(TurnStep("keep", *at, quotation=QuotedLine((Span(1, *at, "said"),), words[slice(*at)])) for at in spans))
    chat = talk(words)
    page = client.get(f"/chat/{chat.id}").text
    assert page.count('class="kept-line" id=') == 5
    assert "<summary>2 more</summary>" in page
    assert page.index("“three lines”") < page.index("2 more") < page.index("“four lines”")


def test_what_is_forgotten_is_struck_under_the_message_and_comes_back(
    client: TestClient, alice: Any, talk: Any, decides: Any
) -> None:
    memory = alice.remember("I like tea")
    decides(TurnStep("withdraw", 0, 10, targets=(target_of(memory),)))
    chat = talk("Forget that I like tea.")
    page = client.get(f"/chat/{chat.id}")
    assert "<del>I like tea</del>" in page.text
    assert "Taken out" in text_of(page)
    (event,) = [entry.event for entry in alice.ledger() if entry.action == "forget"]
    undone = client.post(f"/chat/{chat.id}/turns/1/undo", data={"event": event}, headers={"X-Partial": "1"})
    assert "Back in your book" in text_of(undone)
    assert alice.list().total == 1


def test_what_was_taken_back_before_it_was_kept_is_shown_as_not_kept(
    client: TestClient, talk: Any, decides: Any
) -> None:
    decides(TurnStep("withdraw", 0, 15, withdrawn=((1, 16, 35),)))
    chat = talk("Don't keep this: I have a wedding gig")
    page = client.get(f"/chat/{chat.id}")
    assert re.search(r"<del>“I have a wedding g”</del>.*Not kept", page.text, re.DOTALL)


def test_a_change_shows_the_old_word_struck_and_the_new_one(
    client: TestClient, talk: Any, alice: Any, decides: Any
) -> None:
    memory = alice.remember("My salary is 60,000")
    decides(TurnStep("change", 0, 17, target=target_of(memory), exchange=((13, 19), Span(1, 10, 16, "exchanged"))))
    chat = talk("no sorry, 65,000")
    page = client.get(f"/chat/{chat.id}")
    assert 'My salary is <span class="bracket">65,000</span> <span class="was">was <del>60,000</del>' in page.text
    assert "Changed in your book" in text_of(page)


def test_a_line_that_changed_since_leads_to_its_history(client: TestClient, talk: Any, alice: Any) -> None:
    chat = talk(NURSE)
    (memory,) = alice.list()
    alice.update(memory.id, "Works as a nurse")
    page = client.get(f"/chat/{chat.id}")
    assert "Changed since" in text_of(page)
    assert f'<a href="/memory/{memory.id}">See its history</a>' in page.text


# Questions


def test_a_question_is_answered_in_place_and_the_answer_taken_back(person: Page, alice: Any, talk: Any) -> None:
    chat = talk(NURSE, preset="assistant")
    person.goto(f"/chat/{chat.id}")
    asked = person.locator("#exchange-1 form.unsure")
    expect(asked.locator(".book")).to_have_text("“I am a nurse in Leeds”")
    expect(asked).to_contain_text("Keep this?")
    asked.get_by_role("button", name="No").click()
    out = person.locator("#exchange-1 .line")
    expect(out).to_contain_text("Left out")
    expect(asked).to_have_count(0)
    out.get_by_role("button", name="Put it back").click()
    asked.get_by_role("button", name="Yes").click()
    kept = person.locator("#exchange-1 .kept-line")
    expect(kept.locator(".book")).to_have_text("“I am a nurse in Leeds”")
    assert [(one.content, one.quoted, one.source) for one in alice.list()] == [(NURSE_LINE, True, "chat")]
    expect(kept.get_by_role("button", name="Undo")).to_be_focused()
    expect(person.locator("#talk :is(#chat-head, #given, #due)")).to_have_count(0)
    kept.get_by_role("button", name="Undo").click()
    expect(kept.get_by_role("button", name="Put it back")).to_be_focused()
    expect(kept.locator(".deed")).to_contain_text("Taken out again")
    assert alice.list().total == 0


def test_without_script_a_question_is_a_form(opens: Any, alice: Any, talk: Any) -> None:
    chat = talk(NURSE, preset="assistant")
    person = opens(java_script_enabled=False).new_page()
    person.goto(f"/chat/{chat.id}")
    person.get_by_role("button", name="Yes", exact=True).click()
    expect(person.locator("#exchange-1 .kept-line")).to_contain_text("In your book")
    assert [one.content for one in alice.list()] == [NURSE_LINE]


def over_chat(alice: Any, talk: Any, decides: Any) -> tuple[Any, Any]:
    """A chat in which a new line stands beside an old one, and the person is asked whether that is over."""
    memory = alice.remember(OSLO)
    line, target = quote(1, BERGEN), target_of(memory)
    asked = TurnStep(
        "which", 0, 21, target=target, quotation=line, question="over",
        content="I live in [Bergen] with Kari and our two kids", exchange=((10, 14), Span(1, 11, 17, "exchanged")),
    )  # fmt: skip
    decides(TurnStep("keep", 0, 21, quotation=line), asked)
    return talk(BERGEN), memory


@pytest.mark.parametrize(
    ("choice", "lines", "ended"),
    [
        ("Keep both", [OSLO, BERGEN], False),
        ("It is over", [OSLO, BERGEN], True),
        ("Change it", ["I live in [Bergen] with Kari and our two kids", BERGEN], False),
    ],
)
def test_whether_a_line_is_over_is_asked_with_the_line_as_it_would_stand(
    opens: Any, alice: Any, talk: Any, decides: Any, choice: str, lines: list[str], ended: bool
) -> None:
    chat, memory = over_chat(alice, talk, decides)
    person = opens(java_script_enabled=False).new_page()
    person.goto(f"/chat/{chat.id}")
    slip = person.locator("#exchange-1 form.slip")
    expect(slip.locator(".asked")).to_have_count(0)  # the reply asks it
    expect(person.locator("#turn-2 .said")).to_have_text(re.compile(r"Is that over\?$"))
    expect(slip.locator("b")).to_have_text(["Keep both, if you say nothing: ", "It is over: ", "Change it to …: "])
    expect(slip.locator("button").nth(0)).to_contain_text(f"{OSLO}; {BERGEN}")
    expect(slip.locator("button").nth(1).locator("del")).to_have_text(OSLO)
    expect(slip.locator("summary")).to_contain_text("I live in Oslo [Bergen] with Kari")
    if choice == "Change it":
        slip.locator("summary").click()
    slip.get_by_role("button", name=choice, exact=choice == "Change it").click()
    expect(slip).to_have_count(0)
    assert sorted(alice.get(id).content for id in {entry.memory_id for entry in alice.ledger()}) == sorted(lines)
    assert (alice.get(memory.id).valid_until is not None) == ended
    written = {"Keep both": 1, "It is over": 2, "Change it": 2}[choice]
    expect(person.locator("#exchange-1 .kept-line")).to_have_count(written)


def test_an_answer_that_ended_a_line_is_undone_under_its_turn(
    person: Page, alice: Any, talk: Any, decides: Any
) -> None:
    chat, memory = over_chat(alice, talk, decides)
    person.goto(f"/chat/{chat.id}")
    slip = person.locator("#exchange-1 .slip")
    height = slip.bounding_box()["height"]
    person.get_by_role("button", name="It is over").click()
    expect(slip.locator(".chosen")).to_contain_text("It is over")
    expect(slip.locator(".slip-end")).to_contain_text("Done")
    assert slip.bounding_box()["height"] == height, "nothing jumps"
    assert alice.get(memory.id).valid_until is not None
    slip.get_by_role("button", name="Undo").click()
    expect(person.locator("#exchange-1 .kept-line", has_text="Undone")).to_have_count(1)
    assert alice.get(memory.id).valid_until is None


def test_what_was_just_chosen_stays_with_its_undo_when_the_page_is_read_anew(
    person: Page, alice: Any, talk: Any, decides: Any
) -> None:
    chat, _ = over_chat(alice, talk, decides)
    held = opened_with_pencil_held(person, chat)
    slip = person.locator("#exchange-1 .slip")
    person.get_by_role("button", name="It is over").click()
    expect(slip.locator(".slip-end")).to_contain_text("Done")
    held.continue_()
    expect(person.locator("#talk[data-unpencilled]")).to_have_count(0)
    expect(slip.get_by_role("button", name="Undo")).to_be_visible()


def test_a_line_is_changed_in_words_of_ones_own(client: TestClient, alice: Any, talk: Any, decides: Any) -> None:
    chat, memory = over_chat(alice, talk, decides)
    (asked,) = alice.proposals.list()
    to = f"/chat/{chat.id}/questions/{asked.id}/change"
    words = "I live in Bergen with Kari, Nora and Emil"
    changed = client.post(to, data={"words": words}, headers={"X-Partial": "1"})
    assert alice.get(memory.id).content == words
    event = alice.ledger()[0].event
    assert f'name="event" value="{event}"' in changed.text
    client.post(f"/chat/{chat.id}/turns/1/undo", data={"event": event})
    assert alice.get(memory.id).content == OSLO


def test_a_ban_stands_in_the_margin_with_its_undo(client: TestClient, alice: Any, talk: Any, decides: Any) -> None:
    decides(TurnStep("never", 0, 10, topics=("my ex",)))
    chat = talk("Never keep anything about my ex")
    assert alice.choices.never == ("my ex",)
    assert "Nothing about my ex From now on · Undo" in text_of(client.get(f"/chat/{chat.id}"))
    form = {"topic": "my ex", "lift": "1"}
    lifted = client.post(f"/chat/{chat.id}/turns/1/ban", data=form, headers={"X-Partial": "1"})
    assert "<del>Nothing about my ex</del>" in lifted.text
    assert "Taken out again · Put it back" in text_of(lifted)
    assert not alice.choices.never
    client.post(f"/chat/{chat.id}/turns/1/ban", data={**form, "lift": "0"})
    assert alice.choices.never == ("my ex",)


def test_nothing_is_kept_of_a_feeling_and_the_margin_says_so(
    client: TestClient, alice: Any, talk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = "keepbook.models.notebook.reply.compose.compose_answer"
    monkeypatch.setattr(answer, lambda reply: reply.say("felt_low"))
    chat = talk("I feel really down lately.")
    page = client.get(f"/chat/{chat.id}")
    assert "Nothing kept from this" in text_of(page)
    assert alice.list().total == 0


def test_which_line_is_meant_is_a_list(client: TestClient, alice: Any, talk: Any, decides: Any) -> None:
    tea, coffee = alice.remember("I like green tea"), alice.remember("I like tea ceremonies")
    decides(TurnStep("which", 0, 10, targets=(target_of(tea), target_of(coffee)), question="which", matter="tea"))
    chat = talk("Forget the tea thing")
    page = client.get(f"/chat/{chat.id}")
    assert "Which one shall I forget?" in text_of(page)
    under_reply = page.text.partition('id="turn-2"')[2]
    assert under_reply.index('class="slip"') < under_reply.index('class="tools"'), (
        "the answers stand under their question"
    )
    (asked,) = alice.proposals.list()
    for choice in (tea.id, coffee.id, "all", "none"):
        assert f'formaction="/chat/{chat.id}/questions/{asked.id}/{choice}"' in page.text
    answered = client.post(f"/chat/{chat.id}/questions/{asked.id}/{tea.id}", headers={"X-Partial": "1"})
    assert "<del>I like green tea</del>" in answered.text
    assert [one.content for one in alice.list()] == ["I like tea ceremonies"]
    assert client.post(f"/chat/{chat.id}/questions/{asked.id}/none").status_code == 409


def test_all_that_one_answer_took_out_comes_back_with_one_undo(
    client: TestClient, alice: Any, talk: Any, decides: Any
) -> None:
    lines = [alice.remember(words) for words in ("I like green tea", "I like tea ceremonies", "My teapot is blue")]
    decides(TurnStep("which", 0, 10, targets=tuple(map(target_of, lines)), question="which", matter="tea"))
    chat = talk("Forget the tea thing")
    (asked,) = alice.proposals.list()
    answered = client.post(f"/chat/{chat.id}/questions/{asked.id}/all", headers={"X-Partial": "1"})
    assert alice.list().total == 0
    form = answered.text.partition(f'id="question-{asked.id}"')[2].partition("</form>")[0]
    events = re.findall(r'name="event" value="(\d+)"', form)
    assert len(events) == 3
    client.post(f"/chat/{chat.id}/turns/1/undo", data={"event": events})
    assert alice.list().total == 3


def test_nothing_stale_is_asked_after_a_later_turn(person: Page, alice: Any, talk: Any) -> None:
    chat = talk(NURSE, preset="assistant")
    person.goto(f"/chat/{chat.id}")
    expect(person.locator("#exchange-1 form.unsure")).to_be_visible()
    person.get_by_label("Message", exact=True).fill("yes")
    person.get_by_label("Message", exact=True).press("Enter")
    expect(person.locator("#exchange-3 .kept-line .book")).to_have_text("“I am a nurse in Leeds”")
    expect(person.locator("#exchange-1 form.unsure")).to_have_count(0)


def test_stop_remembering_is_a_question_with_a_button(client: TestClient, alice: Any, talk: Any, decides: Any) -> None:
    decides(TurnStep("off", 0, 10))
    chat = talk("Stop remembering things")
    page = client.get(f"/chat/{chat.id}")
    assert "Switch memory off?" in text_of(page)
    assert alice.choices.memory
    client.post(f"/chat/{chat.id}/memory-off")
    assert not alice.choices.memory
    assert "Switch memory off?" not in text_of(client.get(f"/chat/{chat.id}"))


def test_a_fourth_question_waits_in_review(client: TestClient, alice: Any, talk: Any) -> None:
    said = [NURSE, GRAZ, "My sister Clare lives in Bergen.", "I have a dog called Bo."]
    chat = talk(*said, preset="assistant")
    page = client.get(f"/chat/{chat.id}?pencil=1")
    assert page.text.count('class="line unsure"') == 3
    assert len(alice.proposals.list()) == 4


# A preset that saves silently


def test_a_preset_that_saves_silently_shows_what_it_kept_in_the_margin_and_asks_nothing(
    client: TestClient, alice: Any, talk: Any, decides: Any
) -> None:
    chat = talk(NURSE, preset="coach")
    page = client.get(f"/chat/{chat.id}")
    assert "“I am a nurse in Leeds” In your book · Undo" in text_of(page)
    assert "1 line is in your book from this chat" in text_of(page)
    decides(TurnStep("offer", 0, 21, quotation=quote(1, GRAZ_LINE), question="keep"))
    other = client.get(f"/chat/{talk(GRAZ, preset='coach').id}?pencil=1")
    assert 'id="question-' not in other.text
    assert "Keep this?" not in other.text


# Pencil: what closing would keep of turns that came from elsewhere, or that a model answered


def test_each_line_is_kept_left_out_or_taken_up_again_and_closing_says_it_in_the_margin(
    person: Page, alice: Any, recorded: Any
) -> None:
    """One chat from offered to kept, by mouse."""
    chat = recorded(NURSE, GRAZ, "I work at Equinor.")
    person.goto(f"/chat/{chat.id}")
    nurse, graz = person.locator("#exchange-1 .line"), person.locator("#exchange-3 .line")
    expect(nurse).to_contain_text("“I am a nurse in Leeds”")
    expect(nurse).to_contain_text("kept if you say nothing")
    nurse.get_by_role("button", name="Yes").click()
    kept = person.locator("#exchange-1 .kept-line")
    expect(kept.locator(".deed")).to_contain_text("In your book")
    graz.get_by_role("button", name="No", exact=True).click()
    expect(graz).to_contain_text("Left out")
    graz.get_by_role("button", name="Put it back").click()
    expect(graz.get_by_role("button", name="Yes")).to_be_visible()
    graz.get_by_role("button", name="No", exact=True).click()
    expect(graz).to_contain_text("Left out")
    chat.close()
    person.reload()
    expect(kept).to_have_count(1)
    expect(person.locator("#exchange-5 .kept-line")).to_contain_text("“I work at Equinor”")
    expect(person.locator(".toast")).to_have_count(0)
    assert sorted(one.content for one in alice.list()) == [NURSE_LINE, "I work at Equinor"]


def test_the_keyboard_walks_the_lines_and_answers_them(person: Page, alice: Any, recorded: Any) -> None:
    chat = recorded(NURSE, GRAZ)
    person.goto(f"/chat/{chat.id}")
    nurse, graz = person.locator("#exchange-1 .line"), person.locator("#exchange-3 .line")
    expect(graz).to_be_visible()
    note = person.locator(".compose .note")
    expect(person.get_by_label("Message", exact=True)).to_be_focused()
    expect(note.get_by_text("yes")).to_be_hidden()  # there y is a letter
    expect(note.get_by_text("send")).to_be_visible()
    person.keyboard.press("Escape")
    expect(graz).to_be_focused()
    expect(note.get_by_text("yes")).to_be_visible()
    expect(note.get_by_text("send")).to_be_hidden()
    person.keyboard.press("k")
    expect(nurse).to_be_focused()
    person.keyboard.press("n")
    expect(nurse).to_contain_text("Left out")
    expect(nurse).to_be_focused()
    person.keyboard.press("u")
    expect(nurse.get_by_role("button", name="Yes")).to_be_visible()
    expect(nurse).to_be_focused()
    person.keyboard.press("j")
    expect(graz).to_be_focused()
    person.keyboard.press("y")
    expect(person.locator("#exchange-3 .kept-line")).to_be_visible()
    assert [one.content for one in alice.list()] == [GRAZ_LINE]


def test_without_script_each_line_is_a_form_and_the_page_does_not_wait_for_the_reader(
    opens: Any, alice: Any, recorded: Any, monkeypatch: Any
) -> None:
    chat = recorded(NURSE)
    person = opens(java_script_enabled=False).new_page()
    with monkeypatch.context() as patch:
        patch.setattr("keepbook.models.pencil.extract", lambda *_, **__: 1 / 0)
        person.goto(f"/chat/{chat.id}")
        expect(person.locator("#talk .line")).to_have_count(0)
    person.locator(".chat-more summary").click()
    person.get_by_role("link", name="What may be kept").click()
    expect(person.locator("#exchange-1 .line")).to_contain_text(NURSE_LINE)
    person.get_by_role("button", name="No", exact=True).click()
    expect(person.locator("#exchange-1 .line")).to_contain_text("Left out")
    person.get_by_role("button", name="Put it back").click()
    person.get_by_role("button", name="Yes").click()
    expect(person.locator("#exchange-1 .kept-line")).to_contain_text("In your book")
    person.get_by_label("Message", exact=True).fill(GRAZ)
    person.get_by_role("button", name="Send").click()
    expect(person.locator("#exchange-3 .kept-line")).to_contain_text("“I live in Graz”")
    assert alice.list().total == 2


def test_a_change_of_what_stands_in_the_book_is_shown_as_one_and_asked(
    client: TestClient, alice: Any, talk: Any, monkeypatch: Any
) -> None:
    stands = alice.remember("Works as a nurse, four days a week", category="profile")
    chat = talk("Hello")
    line = "Works as a nurse, five days a week"
    found = Pencil(pencil_key(1, line), 1, line, "profile", "update", stands.id, 0.7, False)
    monkeypatch.setattr("keepbook.models.pencil.pencil_lines", lambda *_: [found])
    page = client.get(f"/chat/{chat.id}?pencil=1")
    assert "<del>four</del> <ins>five</ins> days a week" in page.text
    assert "Change this?" in text_of(page)
    both = client.post(f"/chat/{chat.id}/pencil/{found.key}/keep?both=1", headers={"X-Partial": "1"})
    assert both.status_code == 200
    assert [one.content for one in alice.list()] == [stands.content, line]
    alice.undo(alice.ledger()[0].event)
    client.post(f"/chat/{chat.id}/pencil/{found.key}/keep")
    assert alice.get(stands.id).content == line


def test_an_order_that_a_model_left_is_asked_once_and_says_what_silence_does(
    client: TestClient, alice: Any, monkeypatch: Any
) -> None:
    chat = alice.threads.start()
    chat.add("user", NURSE)
    with alice._database.write("alice") as tx:
        asked = proposals.ask_question(
            tx, stamp(tx.clock()), question="keep", op="add", content=NURSE_LINE, thread_id=chat.id, turn_ids=("1",)
        )
    found = Pencil(pencil_key(1, NURSE_LINE), 1, NURSE_LINE, "profile", "add", None, 0.9, True, proposal=asked.id)
    monkeypatch.setattr("keepbook.models.pencil.pencil_lines", lambda *_: [found])
    page = text_of(client.get(f"/chat/{chat.id}?pencil=1"))
    assert page.count("Keep this?") == 1
    assert "Keep this? Yes No kept if you say nothing" in page.replace("Nokept", "No kept")


def test_where_closing_proposes_silence_keeps_nothing(client: TestClient, recorded: Any) -> None:
    chat = recorded(NURSE, preset="assistant")
    page = text_of(client.get(f"/chat/{chat.id}?pencil=1"))
    assert "Keep this? Yes No" in page
    assert "if you say nothing" not in page
    client.post(f"/chat/{chat.id}/close")
    review = text_of(client.get("/profile/facts"))
    assert "1 line waits for your yes or no." in review


def test_a_no_that_was_never_said_is_not_taken_back(client: TestClient, recorded: Any) -> None:
    chat = recorded(NURSE)
    key = chat.pencil()[0].key
    assert client.post(f"/chat/{chat.id}/pencil/{key}/undo").status_code == 404
    assert client.post(f"/chat/{chat.id}/pencil/nothing/no").status_code == 404
