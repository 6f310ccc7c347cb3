"""The first minute: an empty book, a name and a zone, a model that is found and tried, three ways to begin."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from starlette.testclient import TestClient
from tests.models.providers.test_listing import StandIn
from tests.models.providers.test_nearby import capable
from tests.models.wire import Say, Status, Wire

from keepbook.doors.http.web.account.connect import _full_address

Opens = Callable[..., BrowserContext]
KEY = "sk-a-key-of-nobody"


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Wire]:
    """A stand-in: two models, which answer, call tools and read chats."""
    with Wire("openai", capable) as wire:
        wire.models = ["llama3.1:8b", "qwen2.5:14b"]
        monkeypatch.setenv("OLLAMA_HOST", wire.url.removesuffix("/v1"))
        yield wire


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    path = tmp_path / "house" / "config.toml"
    monkeypatch.setenv("KEEPBOOK_CONFIG", str(path))
    return path


@pytest.fixture
def alice(kb: Any) -> Any:
    return kb.book("alice")


# Without script


def test_an_empty_book_begins_with_the_first_steps_until_they_are_taken_or_skipped(client: TestClient) -> None:
    page = client.get("/")
    assert page.url.path == "/welcome"
    assert "Tell me something;" in page.text
    assert 'value="Ines"' in client.post("/welcome", data={"do": "look", "zone": "UTC", "name": "Ines"}).text
    assert client.get("/").url.path == "/welcome"
    client.post("/welcome", data={"do": "skip", "zone": "Europe/Vienna", "name": "Ines"})
    assert client.get("/").url.path == "/chat"


def test_another_book_at_the_same_address_has_its_own_first_steps(client: TestClient, kb: Any) -> None:
    client.post("/welcome", data={"do": "skip", "zone": "UTC"})
    assert client.get("/").url.path == "/chat"
    kb.book("alice").erase("alice")  # another book, in a browser that has seen one
    assert client.get("/").url.path == "/welcome"


def test_a_book_with_something_in_it_begins_with_a_chat(client: TestClient, alice: Any) -> None:
    alice.remember("Drinks tea", category="fact")
    assert client.get("/").url.path == "/chat"
    assert "Tell me something;" in client.get("/welcome").text


def test_skipping_keeps_the_zone_that_the_browser_knows_and_nothing_else(client: TestClient, alice: Any) -> None:
    client.post("/welcome", data={"do": "skip", "zone": "Europe/Vienna", "name": "Ines", "model": "none"})
    assert (alice.zone, alice.choices.name, alice.list().total) == ("Europe/Vienna", None, 0)


def test_a_name_is_what_the_pages_say_and_what_an_agent_is_told(client: TestClient, alice: Any) -> None:
    page = client.post("/welcome", data={"name": " Ines  Varga ", "zone": "Europe/Vienna", "do": "open"})
    assert "<p>Ines Varga<br>" in page.text
    assert "Vienna" in page.text
    assert [one.content for one in alice.list()] == ["Is called Ines Varga"]
    client.post("/settings/you", data={"name": "Ines", "zone": "Europe/Vienna"})
    assert alice.choices.name == "Ines"
    assert [one.content for one in alice.list()] == ["Is called Ines"]
    assert 'value="Ines"' in client.get("/settings").text


def test_the_login_of_a_machine_is_no_name(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "<p>alice<br>" in client.get("/chat").text
    monkeypatch.setattr("getpass.getuser", lambda: "alice")
    assert "<p>You<br>" in client.get("/chat").text


def test_a_zone_that_is_none_is_refused_and_nothing_is_lost(client: TestClient, alice: Any) -> None:
    page = client.post("/welcome", data={"name": "Ines", "zone": "Middle/Earth", "do": "open"})
    assert page.status_code == 422
    assert "is no time zone" in page.text
    assert 'value="Ines"' in page.text
    assert alice.choices.name is None


def test_a_model_on_this_machine_is_offered_tried_and_taken_on(
    client: TestClient, kb: Any, ollama: Wire, config: Path
) -> None:
    page = client.get("/welcome").text
    assert "Ollama, on this machine" in page
    assert "2 models are ready." in page
    wish = {"model": "Ollama", "found": "Ollama|qwen2.5:14b"}
    tested = client.post("/welcome", data={**wish, "do": "test"}).text
    for words in ("It answers in chats.", "It calls tools", "It reads closed chats", "runs on this machine and costs"):
        assert words in tested
    assert not config.exists()
    asked = len(ollama.received)
    page = client.post("/welcome", data={**wish, "do": "open"})
    assert len(ollama.received) > asked, "what was not tried is tried before it is taken on"
    assert "qwen2.5:14b (Ollama) answers from now on. Tested: it calls tools and reads chats." in page.text
    assert kb.settings.model == "openai:qwen2.5:14b"
    assert kb.models.chat.name == "openai:qwen2.5:14b"
    assert config.read_text() == f'model = "openai:qwen2.5:14b"\nopenai_base_url = "{ollama.url}"\n'
    page = client.get("/welcome").text
    assert "as it is now" not in page, "it is listed once"
    assert page.count("Ollama, on this machine") == page.count("Answers now") == 1
    assert '<option value="Ollama|qwen2.5:14b" selected>' in page
    asked = len(ollama.received)
    client.post("/welcome", data={**wish, "do": "open"})
    assert len(ollama.received) == asked, "nothing was changed"


def test_settings_open_the_model_step_alone_and_come_back(
    client: TestClient, kb: Any, ollama: Wire, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'href="/settings/model"' in client.get("/settings").text
    page = client.get("/settings/model").text
    assert "Ollama, on this machine" in page
    assert "What should it call you" not in page
    wish = {"model": "Ollama", "found": "Ollama|qwen2.5:14b"}
    tested = client.post("/settings/model", data={**wish, "do": "test"})
    assert "It answers in chats." in tested.text.partition("OpenAI, Google, OpenRouter or another")[0]
    assert kb.settings.model == "offline"
    (mark,) = re.findall(r'name="tested" value="([^"]+)"', tested.text)
    asked = len(ollama.received)
    page = client.post("/settings/model", data={**wish, "do": "open", "tested": mark})
    assert len(ollama.received) == asked, "it was tried on that page"
    assert page.url.path == "/settings"
    assert "qwen2.5:14b (Ollama) answers from now on. Tested: it calls tools and reads chats." in page.text
    assert '<p class="small faint">Tested: it calls tools and reads chats.</p>' in page.text, "it stays readable"
    assert page.text.index('id="model"') < page.text.index('id="you"')  # what people look for
    assert "<b>qwen2.5:14b (Ollama)</b>" in page.text
    assert '<a href="/settings#model">qwen2.5:14b (Ollama)</a>' in page.text  # in the drawer, too
    with monkeypatch.context() as nowhere:  # it answers, at a port that a look around does not know
        nowhere.setattr("keepbook.doors.http.web.account.connect.find_servers", lambda *_: [])
        assert "does not answer" not in client.get("/settings/model").text
    ollama.models = []  # stopped, for all that a page can see
    assert "Ollama does not answer on this machine. Start it, or choose" in client.get("/settings").text
    page = client.get("/settings/model").text
    assert page.count("does not answer") == 1
    assert "answers now" not in page, "never both"
    assert "<b>Ollama does not answer on this machine.</b> Start it and" in page
    assert "none is running" not in page
    assert f'value="{ollama.url}"' not in page, "what does not answer is not offered again"
    page = client.get("/settings/model?back=/chat/abc").text
    assert '<a class="btn quiet" href="/chat/abc">Back to the chat</a>' in page
    chat = kb.book("alice").threads.start()
    page = client.post("/settings/model", data={"model": "none", "do": "open", "back": f"/chat/{chat.id}"})
    assert page.url.path == f"/chat/{chat.id}"
    assert "Your book answers from now on." in page.text
    assert client.post("/settings/model", data={"back": "//elsewhere.example/"}).url.host == "127.0.0.1"


def test_a_model_that_does_not_answer_is_told_before_it_is_taken_on(
    client: TestClient, kb: Any, ollama: Wire, config: Path
) -> None:
    ollama.answer = lambda _: Status(401)
    wish = {"model": "Ollama", "found": "Ollama|qwen2.5:14b", "do": "save", "name": "Ines"}
    page = client.post("/welcome", data=wish)
    assert page.url.path == "/welcome"
    assert "No answer:" in page.text
    assert "You can still choose it and mend this later" in page.text
    assert (kb.settings.model, config.exists()) == ("offline", False)
    (mark,) = re.findall(r'name="tested" value="([^"]+)"', page.text)
    page = client.post("/welcome", data={**wish, "tested": mark})
    assert page.url.path == "/welcome"
    assert "qwen2.5:14b (Ollama) is chosen. It did not answer when it was tested." in page.text
    assert kb.settings.model == "openai:qwen2.5:14b"


def test_for_a_model_that_cannot_read_chats_the_notebook_does(
    client: TestClient, kb: Any, ollama: Wire, config: Path
) -> None:
    ollama.answer = lambda _: Say("Fine.")
    wish = {"model": "Ollama", "found": "Ollama|qwen2.5:14b", "do": "open"}
    page = client.post("/settings/model", data=wish).text
    assert "It cannot read chats, so your book reads them." in page
    assert "and your book to read chats that close" in page
    assert 'reader_model = "offline"' in config.read_text()
    chat = kb.book("alice").threads.start()
    chat.add("user", "I live in Graz.")
    closed = chat.close()
    assert (closed.status, closed.made_by, len(closed.written)) == ("closed", "offline", 1)
    ollama.answer = capable
    tested = client.post("/settings/model", data={**wish, "do": "test"}).text
    (mark,) = re.findall(r'name="tested" value="([^"]+)"', tested)
    page = client.post("/settings/model", data={**wish, "tested": mark}).text
    assert "your book to read" not in page, "it can by now"
    assert "reader_model" not in config.read_text()


def test_a_key_goes_into_a_file_for_one_person_and_is_never_shown(client: TestClient, kb: Any, config: Path) -> None:
    config.parent.mkdir()
    config.write_text('# mine\nport = 9000\nmodel = "offline"\n\n[telegram_chats]\n12 = "alice"\n')
    wish = {"model": "openai", "openai_address": "https://models.example/v1/", "openai_key": KEY}
    tested = {"tested": [f"0 openai:{name} {wish['openai_address'].rstrip('/')}" for name in ("big", "small")]}
    page = client.post("/welcome", data={**wish, **tested, "openai_model": "big", "do": "open"})
    assert page.status_code == 200
    text = config.read_text()
    assert text.startswith("# mine\nport = 9000\n")
    assert text.endswith('[telegram_chats]\n12 = "alice"\n')
    assert f'openai_key = "{KEY}"' in text
    assert 'openai_base_url = "https://models.example/v1"' in text
    assert stat.S_IMODE(os.stat(config).st_mode) == 0o600
    assert kb.settings.openai_key.reveal() == KEY
    for path in ("/welcome", "/settings", "/api/me", "/settings/export"):
        assert KEY not in client.get(path).text
    # An empty field goes on with the key, but never to another address.
    client.post("/welcome", data={**wish, **tested, "openai_key": "", "openai_model": "small", "do": "open"})
    assert f'openai_key = "{KEY}"' in config.read_text()
    other = {"openai_address": "https://other.example/v1", "tested": "0 openai:x https://other.example/v1"}
    client.post("/welcome", data={"model": "openai", "openai_model": "x", **other})
    assert KEY not in config.read_text()


@pytest.mark.parametrize(
    ("typed", "address"),
    [
        ("localhost:1234/v1", "http://localhost:1234/v1"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        (" https://api.example.org/v1/ ", "https://api.example.org/v1"),
        ("api.example.org", "api.example.org"),
    ],
)
def test_a_machine_near_by_is_named_without_a_scheme(typed: str, address: str) -> None:
    assert _full_address(typed) == address


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"model": "openai", "openai_address": "ftp://x", "openai_model": "m"}, "An address begins with http://"),
        ({"model": "openai", "openai_address": "http://x/v1"}, "Write the model&#39;s name"),
        ({"model": "anthropic", "anthropic_model": "m"}, "Anthropic wants a key"),
        ({"model": "Ollama"}, "does not answer on this machine"),
    ],
)
def test_what_cannot_be_a_model_is_said_and_changes_nothing(
    client: TestClient, kb: Any, config: Path, wish: dict[str, str], words: str
) -> None:
    page = client.post("/welcome", data={**wish, "do": "open"})
    assert page.status_code == 422
    assert words in page.text
    assert kb.settings.model == "offline"
    assert not config.exists()


def test_a_config_file_that_cannot_be_changed_safely_is_left_alone(
    client: TestClient, config: Path, ollama: Wire
) -> None:
    config.parent.mkdir()
    config.write_text('model = """\noffline"""\n')
    page = client.post("/welcome", data={"model": "Ollama", "do": "open"})
    assert page.status_code == 422
    assert "cannot be changed from here" in page.text
    assert config.read_text() == 'model = """\noffline"""\n'


def test_with_many_owners_the_model_is_the_operators(client: TestClient, kb: Any, ollama: Wire, config: Path) -> None:
    kb.book("bob").remember("Drinks tea")
    page = client.get("/welcome").text
    assert "chosen by whoever runs this server" in page
    assert "Found" not in page
    refusal = client.post("/welcome", data={"model": "Ollama", "do": "open"})
    assert refusal.status_code == 422
    assert not config.exists()
    assert "Choose a model" not in client.get("/settings").text


def test_a_request_that_came_through_a_proxy_sets_no_model(app: Any, kb: Any, ollama: Wire, config: Path) -> None:
    token = kb.tokens.create("alice", scopes=("read", "write", "admin")).token
    headers = {"Accept": "text/html", "Authorization": f"Bearer {token}"}
    away = TestClient(app, base_url="http://127.0.0.1", headers=headers, client=("127.0.0.1", 50000))
    assert "Ollama, on this machine" in away.get("/welcome").text
    away.headers["X-Forwarded-For"] = "203.0.113.9"
    assert "chosen by whoever runs this server" in away.get("/welcome").text
    away.post("/welcome", data={"model": "Ollama", "do": "open"})
    assert not config.exists()


def test_what_the_environment_decides_is_not_offered(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, ollama: Wire
) -> None:
    monkeypatch.setenv("KEEPBOOK_MODEL", "offline")
    assert "KEEPBOOK_MODEL decides it where Keepbook runs" in client.get("/welcome").text


def test_the_first_line_begins_a_chat_with_what_it_kept_beside_it(client: TestClient, alice: Any) -> None:
    begun = client.get("/welcome?begin=eat").text
    assert ">I don’t eat …</textarea>" in begun
    page = client.post("/welcome", data={"do": "write", "zone": "Europe/Vienna", "text": "I live in Graz."})
    assert page.url.path.startswith("/chat/")
    assert "“I live in Graz”" in page.text
    assert [one.content for one in alice.list()] == ["I live in Graz"]
    assert (alice.zone, alice.choices.name) == ("Europe/Vienna", None)
    assert client.get("/").url.path == "/chat"


def test_each_row_of_later_is_saved_and_shows_its_value(client: TestClient, alice: Any) -> None:
    page = client.post("/welcome", data={"do": "save", "name": "Ines", "zone": "Europe/Vienna"})
    assert page.url.path == "/welcome"
    assert "<span>Ines</span>" in page.text
    assert (alice.zone, alice.choices.name) == ("Europe/Vienna", "Ines")


def test_accounts_that_people_know_fill_in_their_address_and_no_key_goes_along(opens: Opens, config: Path) -> None:
    person = opens().new_page()
    person.goto("/settings/model")
    person.locator("input[value=openai]").check()
    person.get_by_label("Key").first.fill(KEY)
    person.get_by_role("button", name="Google").click()
    address = person.get_by_label("Address")
    expect(address).to_have_value("https://generativelanguage.googleapis.com/v1beta/openai")
    expect(person.locator("#openai_key")).to_have_value("")
    expect(person.locator("#openai_key")).to_be_focused()
    person.get_by_role("button", name="OpenRouter").click()
    expect(address).to_have_value("https://openrouter.ai/api/v1")
    with StandIn({"data": [{"id": "big"}, {"id": "small"}]}) as there:
        address.fill(there.url)
        person.get_by_role("button", name="Show its models").first.click()
        person.get_by_role("button", name="small").click()
        expect(person.locator("#openai_model")).to_have_value("small")
    person.goto("/welcome")
    person.locator("#model summary").click()
    person.locator("input[value=openai]").check()
    expect(person.get_by_role("button", name="Google")).to_be_visible()


def test_the_models_of_an_account_are_listed_and_the_key_goes_to_its_host_alone(
    client: TestClient, kb: Any, config: Path
) -> None:
    def keys(stand_in: StandIn) -> list[str | None]:
        return [headers.get("authorization") for path, headers in stand_in.asked if path == "/models"]

    with StandIn({"data": [{"id": "big"}, {"id": "small"}]}) as there:
        asked = {"model": "openai", "openai_address": there.url, "openai_key": KEY, "do": "list-openai"}
        page = client.post("/settings/model", data=asked).text
        assert '<datalist id="openai-models"><option value="big"><option value="small"></datalist>' in page
        assert KEY not in page
        piece = client.post("/settings/model", data=asked, headers={"X-Partial": "1"}).text
        assert "2 models to choose from" in piece
        assert "<h1>" not in piece
        chosen = {"openai_model": "big", "tested": f"1 openai:big {there.url}", "do": "save"}
        client.post("/settings/model", data={**asked, **chosen})
        client.post("/settings/model", data={**asked, "openai_key": ""})
        with StandIn({"data": [{"id": "big"}]}) as other:
            client.post("/settings/model", data={**asked, "openai_address": other.url, "openai_key": ""})
    assert keys(there) == [f"Bearer {KEY}"] * 3
    assert keys(other) == [None]
    with StandIn({}, 401) as there:
        page = client.post("/settings/model", data={**asked, "openai_address": there.url})
    assert page.status_code == 422
    assert "does not take this key" in page.text
    kb.book("bob").remember("Drinks tea")
    assert "chosen by whoever runs this server" in client.post("/settings/model", data=asked).text


def test_the_starters_lead_on(client: TestClient, alice: Any) -> None:
    client.cookies.clear()
    page = client.post("/welcome", data={"do": "demo"}, follow_redirects=False)
    assert "keepbook_demo=1" in page.headers["set-cookie"]


def test_the_demo_stands_beside_the_own_book_and_there_is_a_way_back(app: Any, alice: Any) -> None:
    headers = {"Accept": "text/html", "Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}
    with TestClient(app, base_url="http://127.0.0.1", headers=headers, client=("127.0.0.1", 50000)) as client:
        answer = client.post("/welcome", data={"do": "demo"})
        page = answer.text
        assert answer.url.path.startswith("/chat/")
        for words in ("What was kept:", "What it saw:", "Undo:"):
            assert words in page
        assert "data-unread" not in page  # to look and leave reads nothing
        assert "Ines is made up" in page
        assert "Back to my own book" in page
        client.post("/api/memory/", json={"content": "Only in the demo", "category": "fact"})
        assert alice.list(state="all").total == 0
        page = client.post("/demo/leave")
        assert "Ines is made up" not in page.text
        assert page.url.path == "/chat"


# In a browser


@pytest.mark.parametrize("width", [1440, 390])
def test_the_first_minute(width: int, opens: Opens, kb: Any, ollama: Wire, config: Path) -> None:
    """A name, the zone of the browser, a model that is tried, and a first line; by keyboard where it matters."""
    person = opens(width=width, timezone_id="Europe/Vienna").new_page()
    person.goto("/")
    expect(person.get_by_role("heading", name="Tell me something")).to_be_visible()
    expect(person.locator("#zone")).to_have_value("Europe/Vienna")
    expect(person.get_by_text("as this computer says")).to_be_visible()
    for row in ("Your name", "An AI to talk with"):
        person.locator("summary", has_text=row).click()
    person.get_by_label("What should I call you?").fill("Ines")
    person.get_by_label("Ollama, on this machine").check()
    person.locator("#found-1").select_option("Ollama|qwen2.5:14b")
    found = person.locator(".choice", has_text="Ollama, on this machine").locator("[data-tested]")
    if width == 1440:
        person.get_by_role("button", name="Test").click()
        expect(found).to_contain_text("It calls tools")
        expect(found).to_contain_text("costs nothing")
        assert person.url.endswith("/welcome")
    else:  # not tried by hand: going on tries it, and what does not answer is told before anything is taken on
        ollama.answer = lambda _: Status(401)
        person.locator("#model").get_by_role("button", name="Save").click()
        expect(found).to_contain_text("No answer:")
        assert kb.settings.model == "offline"
        ollama.answer = capable
        person.locator("#found-1").select_option("Ollama|llama3.1:8b")
        expect(found).to_be_empty()
        person.locator("#found-1").select_option("Ollama|qwen2.5:14b")
    person.get_by_label("What should I call you?").press("Enter")
    expect(person.get_by_text("Tested: it calls tools and reads chats.")).to_be_visible()
    person.goto("/chat")
    if width == 390:
        person.get_by_role("button", name="Open menu").click()
    expect(person.get_by_text("Ines", exact=False).first).to_be_visible()
    expect(person.get_by_text("Vienna · qwen2.5:14b (Ollama)")).to_be_visible()
    assert kb.settings.model == "openai:qwen2.5:14b"
    if width == 1440:
        look_at_the_demo(person)


def look_at_the_demo(person: Page) -> None:
    """The three things of its tour: what was kept, what it saw, undo. Then back to one's own book."""
    person.goto("/welcome")
    person.get_by_role("button", name="See somebody’s book instead").click()
    tour = person.get_by_role("list", name="Three things to look at").get_by_role("listitem")
    expect(tour).to_have_text([re.compile("^What was kept:"), re.compile("^What it saw:"), re.compile("^Undo:")])
    person.wait_for_load_state()  # the panel opens in place by script
    person.locator("[data-saw]").last.click()
    expect(person.locator("#saw .given-lines li").first).to_be_visible()
    person.locator("#saw").get_by_role("link", name="Close").click()
    kept = person.locator("details.saved, .kept").last
    if kept.locator("summary").count() and kept.get_attribute("open") is None:
        kept.locator("summary").click()
    expect(kept.locator(".book").first).to_be_visible()
    kept.get_by_role("button", name="Undo").first.click()
    expect(kept).to_contain_text(re.compile("undone|taken out again", re.IGNORECASE))
    person.get_by_role("button", name="Back to my own book").click()
    expect(person.get_by_text("Ines is made up")).to_have_count(0)


@pytest.mark.parametrize("width", [1440, 390])
def test_an_allergy_is_told_with_the_starter_and_proved_in_a_new_chat(
    width: int, opens: Opens, kb: Any, until: Any
) -> None:
    person: Page = opens(width=width).new_page()
    person.goto("/")
    person.wait_for_load_state()  # a starter sets the caret once the page's script is there
    person.get_by_role("link", name="I don’t eat …").click()
    person.keyboard.press("Control+A")
    person.keyboard.type("I am allergic to peanuts.")
    person.keyboard.press("Control+Enter")
    until(lambda: kb.book("alice").list().total)
    expect(person.locator(".kept-line")).to_contain_text("“I am allergic to peanuts”")
    expect(person.locator("[data-turn]")).to_have_count(2)
    person.goto("/chat")
    person.get_by_label("Message").fill("What am I allergic to?")
    person.get_by_label("Message").press("Enter")
    expect(person.locator("[data-turn]").last).to_contain_text("peanuts")
    head = person.locator("#chat-head p").first
    expect(head).to_contain_text("in your book")
    expect(head).to_have_css("white-space", "nowrap" if width == 390 else "normal")  # one line on a phone
