"""Bringing in what another program kept: looked at first, each person placed, loaded with a count, and taken back."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.app import adopt
from keepbook.doors.http.web.frame.loading import LoadUnderWay
from keepbook.doors.http.web.memory import import_form, import_page

LINES = b"Is allergic to peanuts\nCycles to work unless it rains\nMy card is 4111 1111 1111 1111\n"
TWO = json.dumps(
    {
        "results": [
            {"id": "a", "memory": "Prefers the number first", "user_id": "ines", "created_at": "2026-03-01T08:00:00Z"},
            {
                "id": "b",
                "memory": "Is looking for work in Vienna",
                "user_id": "jv",
                "created_at": "2026-04-01T08:00:00Z",
            },
            {"id": "c", "memory": "Plays chess", "user_id": "stranger", "created_at": "2026-05-01T08:00:00Z"},
        ]
    }
).encode()


@pytest.fixture
def alice(kb: Any) -> Any:
    return kb.book("alice")


def contents(book: Any) -> set[str]:
    return {one.content for one in book.list()}


def sent_again(page: str) -> dict[str, Any]:
    """What the form on a page would send: every field as it stands."""
    form = page[page.index('action="/import"') : page.rindex("</form>")]
    known: dict[str, Any] = dict(re.findall(r'type="hidden" name="([\w-]+)" value="([^"]*)"', form))
    known["take"] = re.findall(r'name="take" value="(\d+)" checked', form)
    for name, inside in re.findall(r'<select id="\w+" name="([\w-]+)">(.*?)</select>', form):
        chosen = re.search(r'value="([^"]*)" selected', inside)
        known[name] = chosen[1] if chosen else ""
    return known


def looked(client: TestClient, content: bytes, name: str = "notes.txt") -> str:
    page = client.post("/import", files={"file": (name, content)})
    assert page.status_code == 200, page.text
    return page.text


def loaded(client: TestClient, form: dict[str, Any]) -> tuple[str, str]:
    """Load it, follow where that leads: the address of the load and its page."""
    done = client.post("/import", data={**form, "act": "load"}).text
    to = re.search(r'content="0; url=(/import/\d+)"', done)
    assert to, done
    return to[1], client.get(to[1]).text


def test_nothing_is_written_by_looking(client: TestClient, alice: Any) -> None:
    page = looked(client, LINES)
    assert "Recognised: A plain list" in page
    assert "2 new, 0 you already have, 1 refused" in page
    assert "It holds a secret" in page
    assert "4111 1111" not in page
    assert "Bring in 2 lines" in page
    key = re.search(r'name="key" value="([^"]+)"', page)
    assert key is not None
    assert client.get("/import", params={"file": key[1]}).text == page
    gone = client.get("/import?file=made-up")
    assert (gone.status_code, "This file is not here any more; choose it again" in gone.text) == (422, True)
    assert alice.list(state="all").total == 0


def test_what_is_taken_comes_in_with_its_category_and_goes_again_in_one_step(client: TestClient, alice: Any) -> None:
    form = sent_again(looked(client, LINES))
    form["take"] = ["0"]
    form["category-0"] = "profile"
    at, page = loaded(client, form)
    assert "1 line came in." in page
    assert "№" not in page, "numbers of the ledger stand under Precisely"
    assert "From a plain list, notes.txt" in page
    (kept,) = alice.list()
    assert (kept.content, kept.category, kept.source) == ("Is allergic to peanuts", "profile", "imported")
    listed = client.get("/import").text
    assert "Brought in before" in listed
    assert f'href="{at}">1 line</a>' in listed
    undone = client.post(f"{at}/undo").text
    assert "Undone: 1 line taken out again" in undone
    assert undone == client.get(at).text, "the page stays at its address"
    assert contents(alice) == set()
    assert '<span class="mark">Undone</span>' in client.get("/import").text
    twice = client.post(f"{at}/undo")
    assert (twice.status_code, "was taken back already" in twice.text) == (422, True)
    assert "2 new, 0 you already have" in looked(client, LINES), "the same file may come in again"
    assert client.get("/import/99").status_code == 404


def test_a_second_load_changes_nothing(client: TestClient, alice: Any) -> None:
    client.post("/import", data={**sent_again(looked(client, LINES)), "act": "load"})
    page = looked(client, LINES)
    assert "0 new, 2 you already have, 1 refused" in page
    assert not any("Bring in" in one for one in re.findall(r"<button[^>]*>([^<]*)</button>", page))


def test_what_is_there_already_says_which_line_it_repeats(client: TestClient, alice: Any) -> None:
    alice.remember("Is allergic to peanuts.")
    page = looked(client, b"Is allergic to peanuts\nCycles to work unless it rains\n")
    assert "1 new, 1 you already have, 0 refused" in page
    assert "as “Is allergic to peanuts.”" in page
    assert "Tick it to keep both." not in page, "a full stop makes no second line"
    assert sent_again(page)["take"] == ["1"]
    assert "Bring in 1 line" in client.post("/import", data=sent_again(page) | {"take": ["0", "1"]}).text
    alice.remember("Cycles to work unless it rains.", category="profile")
    page = looked(client, b"Cycles to work unless it rains\n")
    assert "as “Cycles to work unless it rains.”" in page, "also where it stands under another heading"
    for one in alice.list():
        alice.forget(one.id)
    page = looked(client, b"Is allergic to peanuts\nIs fond of trains\n")
    assert "1 new, 0 you already have, 1 you asked to forget, 0 refused" in page
    assert "You asked to forget this. Tick it to keep it." in page
    assert sent_again(page)["take"] == ["1"]
    loaded(client, sent_again(page) | {"take": ["0", "1"]})
    assert contents(alice) == {"Is allergic to peanuts", "Is fond of trains"}


def test_any_line_can_be_left_out_however_long_the_file_is(client: TestClient, alice: Any) -> None:
    page = looked(client, "".join(f"Has visited the place number {nth}\n" for nth in range(450)).encode())
    assert "Lines 1 to 200 of 450" in page
    first = sent_again(page)
    first["take"].remove("7")
    page = client.post("/import", data=first | {"page": "3", "category-3": "profile"}).text
    assert "Lines 401 to 450 of 450" in page
    assert "Bring in 449 lines" in page
    third = sent_again(page)
    third["take"].remove("449")
    page = client.post("/import", data=third | {"page": "1"}).text
    assert "7" not in sent_again(page)["take"], "what was left out on another page stays left out"
    assert "Bring in 448 lines" in page
    client.post("/import", data=sent_again(page) | {"act": "load"})
    assert alice.list(limit=1).total == 448
    assert not {"Has visited the place number 7", "Has visited the place number 449"} & {
        one.content for one in alice.list(limit=1000)
    }
    (kept,) = [one for one in alice.list(limit=1000) if one.content == "Has visited the place number 3"]
    assert kept.category == "profile", "and a category chosen there is kept"


def test_all_or_none_are_ticked_at_once_on_every_page(client: TestClient) -> None:
    page = looked(client, "".join(f"Has visited the place number {nth}\n" for nth in range(250)).encode())
    none = client.post("/import", data=sent_again(page) | {"act": "none"}).text
    assert sent_again(none)["take"] == []
    assert "data-load" not in none
    one = client.post("/import", data=sent_again(none) | {"take": ["4"]}).text
    assert "Bring in 1 line<" in one
    assert "Bring in 250 lines" in client.post("/import", data=sent_again(one) | {"act": "all"}).text


def test_stop_here_keeps_what_has_come_in_and_undoes_it_in_one_step(
    person: Page, alice: Any, tmp_path: Path, held_at: Any
) -> None:
    held_at(import_form, 3)
    file = tmp_path / "notes.txt"
    file.write_text("".join(f"Has visited the place number {nth}\n" for nth in range(5)))
    person.goto("/import")
    person.get_by_label("A file to bring in").set_input_files(file)
    person.get_by_role("button", name="Bring in 5 lines").click(no_wait_after=True)
    expect(person.get_by_text("Bringing in 2 of 5")).to_be_visible()
    person.get_by_role("button", name="Stop here").click()
    expect(person.get_by_text("3 lines came in")).to_be_visible()
    assert alice.list().total == 3
    person.get_by_role("button", name="Undo all of it").click()
    expect(person.get_by_text("3 lines taken out again")).to_be_visible()
    assert alice.list().total == 0
    _stop_reading(person, tmp_path / "conversations.json", held_at)


def _stop_reading(person: Page, file: Path, held_at: Any) -> None:
    """Chats that came in are read one by one, and what was not read yet can be read later."""
    held_at(import_form, -1)
    held_at(import_page, 1)
    file.write_bytes(chatgpt("Oslo", "Bergen", said="I live in {} with my two kids."))
    person.goto("/import")
    person.get_by_label("A file to bring in").set_input_files(file)
    person.get_by_label("Read these chats for what to remember").uncheck()
    person.get_by_role("button", name="Bring in 2 chats").click()
    person.get_by_role("button", name="Read them").click(no_wait_after=True)
    expect(person.get_by_text("Reading 2 chats for what to remember")).to_be_visible()
    person.get_by_role("button", name="Stop here").click()
    expect(person.get_by_text("1 chat not read yet")).to_be_visible()
    held_at(import_page, -1)
    person.get_by_role("button", name="Read it").click()
    expect(person.get_by_role("button", name="Keep what is ticked")).to_be_visible()
    expect(person.get_by_text("not read yet")).to_have_count(0)


def test_only_what_is_under_way_can_be_stopped(client: TestClient, alice: Any) -> None:
    assert client.post("/import/stop", data={"key": "made-up"}).status_code == 404
    at, _ = loaded(client, sent_again(looked(client, LINES)))
    reading = LoadUnderWay("alice", 1, lambda _: None)  # of another worker: only its mark is seen here
    reading._mark.touch()
    stopped = client.post("/import/stop", data={"key": reading.key, "load": at.rpartition("/")[2]})
    assert (stopped.url.path, reading._mark.exists()) == (at, False)


def test_each_person_is_me_somebody_i_know_or_left_out(client: TestClient, alice: Any) -> None:
    page = looked(client, TWO, "mem0.json")
    assert "Recognised: mem0" in page
    assert "Say above who is who" in page
    assert "data-load" not in page
    page = client.post("/import", data=sent_again(page) | {"whose-2": "me"}).text
    assert sent_again(page)["take"] == ["2"]
    form = sent_again(page) | {"whose-0": "me", "whose-1": "known", "called-1": "Jonas", "whose-2": "out"}
    page = client.post("/import", data=form).text
    assert sent_again(page)["take"] == ["0", "1"]
    assert "New, about Jonas" in page
    assert "2 new, 0 you already have, 0 refused" in page
    client.post("/import", data={**sent_again(page), "called-1": "Jonas", "act": "load"})
    assert contents(alice) == {"Prefers the number first", "Is looking for work in Vienna"}
    assert {one.content: one.subject for one in alice.list()}["Is looking for work in Vienna"] == "Jonas"


def test_what_was_changed_since_stays_when_the_load_is_undone(client: TestClient, alice: Any) -> None:
    at, _ = loaded(client, sent_again(looked(client, LINES)))
    changed = next(one for one in alice.list() if "peanuts" in one.content)
    alice.update(changed.id, "Is allergic to peanuts and cashews")
    page = client.post(f"{at}/undo").text
    assert "1 line taken out again" in page
    assert "1 stayed" in page
    assert contents(alice) == {"Is allergic to peanuts and cashews"}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "not text in UTF-8"),
        (b'{"memory": "Likes tea"}\n{"memory": "Likes', "Line 2 is not JSON"),
        (b'{"kind": "keepbook", "version": 1}\n', "nothing was imported"),
    ],
)
def test_what_cannot_be_read_is_said(client: TestClient, content: bytes, words: str) -> None:
    page = client.post("/import", files={"file": ("odd", content)})
    assert page.status_code == 422
    assert words in page.text
    assert client.post("/import", data={"packed": "no base64!"}).status_code == 422


def test_an_export_of_ours_restores_an_empty_book_and_adds_to_another(client: TestClient, alice: Any) -> None:
    alice.remember("Likes bonds")
    sent = client.get("/settings/export").content
    assert "Everything in it is here already" in looked(client, sent, "mine.jsonl")
    alice.erase("alice")
    page = looked(client, sent, "mine.jsonl")
    assert "Recognised: an export of Keepbook" in page
    assert alice.list().total == 0
    done = client.post("/import", data={**sent_again(page), "act": "load"}).text
    assert "Restored: 1 line" in done
    assert client.get("/settings/export").content == sent, "to the byte"
    alice.erase("alice")
    alice.remember("Lives in Oslo")
    page = looked(client, sent, "mine.jsonl")
    assert "Add 1 line" in page
    done = client.post("/import", data={**sent_again(page), "act": "load"})
    assert done.url.path.startswith("/import/")
    assert "From Keepbook" in done.text
    assert contents(alice) == {"Likes bonds", "Lives in Oslo"}


def chatgpt(*titles: str, said: str = "") -> bytes:
    """An export with these chats; `said` is what the person said in each."""

    def chat(title: str, nth: int) -> dict[str, Any]:
        def node(name: str, parent: str | None, children: list[str], role: str, text: str) -> dict[str, Any]:
            message = {
                "id": name, "author": {"role": role}, "create_time": 1700000000 + nth,
                "content": {"content_type": "text", "parts": [text]},
            }  # fmt: skip
            return {"id": name, "message": message, "parent": parent, "children": children}

        asked = said.format(title) if said else f"About {title}"
        nodes = [node("q", None, ["r"], "user", asked), node("r", "q", [], "assistant", "Here you are.")]
        mapping = {one["id"]: one for one in nodes}
        return {"id": f"c{nth}", "title": title, "create_time": 1700000000, "mapping": mapping, "current_node": "r"}

    return json.dumps([chat(title, nth) for nth, title in enumerate(titles)]).encode()


def test_chats_come_in_as_chats_and_go_to_the_trash_again(client: TestClient, alice: Any) -> None:
    page = looked(client, chatgpt("Packing for Oslo", "A present"), "conversations.json")
    assert "Recognised: ChatGPT" in page
    form = sent_again(page)
    assert form["take"] == ["0", "1"]
    at, page = loaded(client, {**form, "take": ["1"]})
    assert "1 chat came in" in page
    assert [chat.title for chat in alice.threads.list()] == ["A present"]
    client.post(f"{at}/undo")
    assert not alice.threads.list()
    assert [chat.title for chat in alice.threads.list(trash=True)] == ["A present"]


def test_who_has_a_model_says_who_reads_the_chats(client: TestClient, alice: Any, kb: Any) -> None:
    adopt(kb, replace(kb.settings, model="openai:some-model"))
    page = looked(client, chatgpt("Oslo", said="I live in {} with my two kids."), "conversations.json")
    assert "some-model" in page.partition(", as when a chat closes")[0][-60:]
    form = sent_again(page)
    assert form["read-by"] == "here"
    at, page = loaded(client, form | {"read-by": "model"})
    assert "some-model" in page.partition(", as when a chat closes")[0][-60:], "without the tick nothing was read"
    client.post(f"{at}/read", data={"by": "here"})
    assert "not read yet" not in client.get(at).text
    alice.choose(memory=False)
    page = looked(client, chatgpt("Oslo", "Rome"), "conversations.json")
    assert "Memory is off in this book" in page
    at, page = loaded(client, sent_again(page) | {"read-chats": "1"})
    assert "Memory is off in this book" in page


def test_many_chats_are_read_when_one_asks_for_it(
    client: TestClient, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_form, "READ_AT_ONCE", 1)
    page = looked(client, chatgpt("Oslo", "Bergen", said="I live in {} with my two kids."), "conversations.json")
    assert "These are many chats" in page
    at, page = loaded(client, sent_again(page))
    assert contents(alice) == set()
    assert "2 chats not read yet" in page
    chat = alice.threads.list()[0]
    assert "Nothing: it was spoken in ChatGPT" in client.get(f"/chat/{chat.id}").text
    done = client.post(f"{at}/read").text
    assert "Reading 2 of 2" in done
    assert f'content="0; url={at}"' in done
    page = client.get(at).text
    assert "not read yet" not in page
    lines = re.findall(r'name="tick" value="(\w+)"', page)
    assert lines
    assert f'href="{at}/read"' not in page
    assert client.post(f"{at}/read").url.path == at, "all is read: it only leads back"
    before = contents(alice)
    saved = client.post(f"{at}/keep", data={"tick": []}).text
    assert re.search(r"0 lines are kept, \d left out\.", saved)
    assert contents(alice) == set() != before
    page = client.post(f"{at}/keep", data={"tick": lines}).text
    assert contents(alice) >= before
    assert set(re.findall(r'name="tick" value="(\w+)" checked', page)) == {one.id for one in alice.list()}
    assert "Not certain" not in page
    facts = client.get("/profile/facts").text
    assert "your yes or no" not in facts, "the person has said yes"
    assert facts.count('<span class="mark said">') == len(contents(alice))
    assert re.search(r">Said <time[^>]*>14 Nov 2023<", facts), "its date is when it was said"
    assert "So since" not in facts
    assert re.search(r"Undone: \d lines? and 2 chats taken out again", client.post(f"{at}/undo").text)
    archived = client.get("/profile/facts?show=out").text
    assert archived.count('<span class="mark archived"><span>taken out</span></span>') == 2
    assert '<p class="small faint">Undone ' in archived
    assert "<b>I live in Oslo with my two kids</b>" in archived, "and what was said"


@pytest.mark.parametrize("width", [1440, 390])
def test_a_chatgpt_export_comes_in_without_what_one_does_not_want(
    width: int, opens: Any, alice: Any, tmp_path: Path, talk: Any
) -> None:
    """From an empty book, by what stands on the pages: find the way, leave one chat out, have the others read, leave a
    line of what was found out, find the load again, take it back. What is to be forgotten stays out the next time."""
    file = tmp_path / "conversations.json"
    file.write_bytes(chatgpt("Oslo", "Paris", "Bergen", said="I have a sister in {} who is a nurse. I live in Graz."))
    person = opens(width=width).new_page()
    person.goto("/")
    person.get_by_role("button", name="Bring in my memory from elsewhere").click()
    expect(person.get_by_label("A file to bring in")).to_be_attached()
    person.wait_for_load_state()  # a file is looked at as it is chosen once the page's script is there
    expect(person.get_by_text("Settings → Data controls → Export data")).to_be_visible()
    person.get_by_label("A file to bring in").set_input_files(file)
    expect(person.get_by_text("Recognised: ChatGPT")).to_be_visible()
    person.wait_for_load_state()  # the button counts once the page's script is there
    expect(person.get_by_role("columnheader").filter(has_text="Chat")).to_have_count(1)  # no line, no category
    expect(person.get_by_role("columnheader")).to_have_count(4)
    expect(person.get_by_role("button", name="Bring in 3 chats")).to_be_visible()
    person.locator("td.full", has_text="Paris").get_by_text("Paris").click()
    expect(person.get_by_label("Take: Paris")).not_to_be_checked()
    expect(person.get_by_label("Read these chats for what to remember")).to_be_checked()
    person.get_by_role("button", name="Bring in 2 chats").click()
    expect(person.get_by_text("2 chats came in")).to_be_visible()
    assert {chat.title for chat in alice.threads.list()} == {"Oslo", "Bergen"}
    expect(person.get_by_role("heading", name="Found in your chats")).to_be_visible()
    kept = contents(alice)
    assert not any("Paris" in line for line in kept)
    unwanted = min(kept)
    person.get_by_label(f"Keep: {unwanted}").uncheck()
    person.get_by_role("button", name="Keep what is ticked").click()
    expect(person.get_by_text(re.compile(rf"{len(kept) - 1} lines? (is|are) kept, 1 left out\."))).to_be_visible()
    assert contents(alice) == kept - {unwanted}
    person.reload()
    expect(person.get_by_label(f"Keep: {unwanted}")).not_to_be_checked()
    person.get_by_role("link", name="See them").click()
    expect(person.get_by_role("main").get_by_role("link", name="Bergen")).to_be_visible()
    expect(person.get_by_role("main").get_by_role("link", name="Paris")).to_have_count(0)
    person.goto("/import")
    person.get_by_role("link", name="2 chats").click()
    person.get_by_role("button", name="Undo all of it").click()
    expect(person.get_by_text("taken out again")).to_be_visible()
    expect(person.get_by_text("beside 1 that you had left out before")).to_be_visible()
    assert contents(alice) == set()
    assert not alice.threads.list()
    talk("Please forget everything about Graz.")
    _what_is_forgotten_stays_out(person, alice, file)


def _what_is_forgotten_stays_out(person: Page, alice: Any, file: Path) -> None:
    person.goto("/import")
    person.wait_for_load_state()
    person.get_by_label("A file to bring in").set_input_files(file)
    person.get_by_role("button", name="Bring in 3 chats").click()
    forgotten = person.get_by_role("row").filter(has_text="You asked to forget this")
    expect(forgotten).to_contain_text("I live in Graz")
    expect(forgotten.get_by_role("checkbox")).not_to_be_checked()
    assert "I live in Graz" not in contents(alice)
    forgotten.get_by_role("checkbox").check()
    person.get_by_role("button", name="Keep what is ticked").click()
    expect(person.get_by_text("You asked to forget this")).to_have_count(0)
    assert "I live in Graz" in contents(alice)


def test_somebody_i_know_is_named_in_the_browser(person: Page, alice: Any, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_bytes(TWO)
    person.goto("/import")
    person.get_by_label("A file to bring in").set_input_files(file)
    person.get_by_label("Who is ines").select_option("me")
    expect(person.get_by_text("1 new")).to_be_visible()
    person.get_by_label("Who is jv").select_option("known")
    expect(person.get_by_text("2 new")).to_be_visible()
    person.get_by_label("Name of jv").fill("Jonas")
    person.get_by_label("Who is stranger").select_option("out")
    expect(person.get_by_text("New, about Jonas")).to_be_visible()
    person.get_by_role("button", name="Bring in 2 lines").click()
    expect(person.get_by_text("2 lines came in")).to_be_visible()
    assert {one.subject for one in alice.list()} == {None, "Jonas"}


def test_a_day_that_the_words_name_is_since_when_it_is_so(client: TestClient, alice: Any) -> None:
    here = alice.acting(thread_id=alice.thread("chatgpt:one").id)
    here.remember("I am vegetarian since 2019", valid_from=datetime(2019, 1, 1, tzinfo=ZoneInfo(alice.zone)))
    here.remember("My sister is called Lena", valid_from=datetime(2024, 12, 6, 17, 5, tzinfo=UTC))
    facts = client.get("/profile/facts").text
    assert re.search(r">So since <time[^>]*>1 Jan 2019<", facts)
    assert re.search(r">Said <time[^>]*>6 Dec 2024<", facts)
