"""What stands around every page: navigation, keyboard, theme, sign-in, refusals, files, and the API's own page."""

import re
import sys
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.doors.http.web.frame import sidebar
from keepbook.doors.http.web.frame.diff import word_diff
from keepbook.doors.http.web.frame.extension_pages import NavItem
from keepbook.doors.http.web.frame.visit import capitalised_sentence

SESSION = "keepbook_session"


# Navigation


def test_the_first_address_leads_to_the_chat(client: TestClient, alice: Any) -> None:
    alice.remember("Drinks tea", category="fact")
    assert client.get("/").url.path == "/chat"


@pytest.mark.parametrize(
    ("system", "key"), [("Macintosh; Intel Mac OS X 10_15_7", "⌘"), ("X11; Linux x86_64", "Ctrl"), ("", "Ctrl")]
)
def test_the_key_for_shortcuts_is_called_as_the_system_calls_it(client: TestClient, system: str, key: str) -> None:
    page = client.get("/settings", headers={"User-Agent": f"Mozilla/5.0 ({system})"}).text
    assert f'<kbd data-js aria-hidden="true">{key} K</kbd>' in page
    assert f"<kbd>{key} Z</kbd>" in page
    assert f"<kbd>{key} Z</kbd> undo" in client.get("/chat", headers={"User-Agent": f"Mozilla/5.0 ({system})"}).text


def test_the_bar_of_a_phone_names_the_page(client: TestClient) -> None:
    for path in ("/search?all=1", "/no-such-page", "/settings", "/import", "/settings/model", "/docs", "/time"):
        page = client.get(path).text
        bar = re.search(r'<header class="topbar">.*?<b>(.*?)</b>', page, re.DOTALL)
        title = re.search(r"<title>(.*?) · Keepbook</title>", page)
        assert bar is not None
        assert title is not None
        assert bar[1] == title[1] != "Keepbook", path
        # Under the bar it is not said twice: a heading that says something else is marked, and only that one is seen.
        heading = re.search(r"<h1( class=\"own)?[^>]*>(.*?)</h1>", page)
        assert heading is not None
        assert (heading[1] is None) == (heading[2] == bar[1]), path


def test_a_message_becomes_one_sentence() -> None:
    assert [capitalised_sentence(one) for one in ("choose a file", "Is that so?", "done.")] == [
        "Choose a file.",
        "Is that so?",
        "Done.",
    ]


@pytest.mark.parametrize("place", sidebar.PLACES, ids=lambda place: place.key)
def test_the_navigation_leads_to_each_page_and_marks_it(client: TestClient, place: NavItem) -> None:
    page = client.get(place.path)
    assert page.status_code == 200
    marked = re.findall(r'<a href="([^"]*)" data-go="\w" aria-current="page">', page.text)
    assert marked == [place.path]


def test_the_review_count_stands_beside_memory(client: TestClient, alice: Any, talk: Any) -> None:
    assert "> waiting<" not in client.get("/chat").text
    alice.remember("Likes long walks", confidence="inferred")
    alice.acting(actor="agent").remember("Seems to like tea", confidence="inferred")
    assert re.search(r'class="count due" id="due">\d', client.get("/chat").text)


# Keyboard


def test_command_k_finds_anything_from_anywhere_and_its_first_row_is_a_new_chat(person: Page, talk: Any) -> None:
    chat = talk("Something for her birthday, please.", close=True)
    person.goto(f"/chat/{chat.id}")
    field, list_of_all = person.get_by_label("Message"), person.get_by_role("dialog", name="Find or do anything")
    field.fill("half a sente")
    field.press("Control+k")
    chosen = list_of_all.get_by_role("option", selected=True)
    expect(chosen).to_have_text(re.compile("^New chat"))
    person.keyboard.press("Escape")
    expect(list_of_all).to_be_hidden()
    expect(field).to_be_focused()
    expect(field).to_have_value("half a sente")  # the draft is as it was
    field.press("Control+k")
    person.keyboard.type("her birthdays")
    expect(list_of_all.locator("mark").first).to_be_visible()
    expect(chosen).to_have_attribute("href", re.compile(f"^/chat/{chat.id}"))
    assert list_of_all.get_by_role("combobox").get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    person.keyboard.press("ArrowUp")  # round, to the last
    expect(chosen).to_have_text(re.compile("^Forget something"))
    person.keyboard.press("Control+Enter")
    expect(person).to_have_url(re.compile("/chat.begin="))
    expect(field).to_have_value("About her birthdays: ")


def test_what_is_typed_before_the_palette_is_there_is_typed_into_it(person: Page) -> None:
    late: list[Any] = []

    def hold(route: Any) -> None:
        late.append(route)

    person.route(re.compile(r"/palette\."), hold)
    person.goto("/search?archived=1")
    person.keyboard.press("Control+k")
    person.keyboard.type("jo")
    expect(person.get_by_role("dialog")).to_be_hidden()
    late[0].continue_()
    expect(person.get_by_role("dialog").get_by_role("combobox")).to_have_value("jo")


def test_letters_lead_around_and_the_question_mark_lists_them(person: Page) -> None:
    person.goto("/search?archived=1")
    if sys.platform == "linux":  # all that these tests measure is set in the face that they name
        assert faces(person, "main h1, main p, .nav a") <= {"DejaVu Sans Condensed", "DejaVu Serif Condensed"}
    person.keyboard.press("?")
    expect(person.get_by_role("dialog", name="Keyboard")).to_be_visible()
    person.keyboard.press("Escape")
    expect(person.get_by_role("dialog")).to_be_hidden()
    person.keyboard.press("/")
    field = person.get_by_role("combobox")
    expect(field).to_be_focused()
    person.keyboard.type("gc")  # in a field they are letters
    expect(field).to_have_value("gc")
    person.keyboard.press("Escape")
    person.locator("main").focus()
    person.keyboard.press("g")
    person.keyboard.press("c")
    expect(person).to_have_url(re.compile("/chat$"))


def faces(person: Page, what: str) -> set[str]:
    """The faces in which Chromium has set these elements."""
    asked = person.context.new_cdp_session(person)
    asked.send("DOM.enable")
    asked.send("CSS.enable")
    root = asked.send("DOM.getDocument")["root"]["nodeId"]
    nodes = asked.send("DOM.querySelectorAll", {"nodeId": root, "selector": what})["nodeIds"]
    told = [asked.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in nodes]
    return {font["familyName"] for fonts in told for font in fonts}


def test_letters_can_be_switched_off(opens: Any, site: str) -> None:
    context = opens()
    context.add_cookies([{"name": "keepbook_keys", "value": "off", "url": site}])
    person = context.new_page()
    person.goto("/search?archived=1")
    person.keyboard.press("?")
    person.keyboard.press("Control+k")  # no single letter
    expect(person.get_by_role("dialog", name="Find or do anything")).to_be_visible()
    expect(person.get_by_role("dialog", name="Keyboard")).to_be_hidden()


def test_entries_are_stepped_through(person: Page, talk: Any, alice: Any) -> None:
    for name in ("one", "two"):
        chat = talk("Hello", close=True)
        alice.threads.rename(chat.id, name)
        alice.threads.archive(chat.id)
    person.goto("/search?archived=1")
    person.keyboard.press("j")
    expect(person.locator(".entry").first).to_be_focused()
    person.keyboard.press("j")
    expect(person.locator(".entry").last).to_be_focused()
    person.keyboard.press("k")
    expect(person.locator(".entry").first).to_be_focused()


def test_u_undoes_the_last_write_of_the_page(person: Page, talk: Any, alice: Any) -> None:
    chat = talk("Remember that my dog is called Rex.")
    person.goto(f"/chat/{chat.id}")
    person.locator(".bubble").click()
    person.keyboard.press("u")
    expect(person.locator(".kept-line")).to_contain_text("Taken out again")
    assert alice.list().total == 0


def test_the_keyboard_alone_reaches_the_page_past_the_sidebar(person: Page) -> None:
    person.goto("/search")
    person.locator("body").press("Tab")
    person.get_by_role("searchbox", name="What to find").blur()
    person.evaluate("document.activeElement.blur(); getSelection().removeAllRanges()")
    person.locator(".skip").focus()
    expect(person.locator(".skip")).to_be_in_viewport()
    person.keyboard.press("Enter")
    expect(person.locator("main")).to_be_focused()


# Toasts


def test_the_toast_after_a_write_takes_it_back_and_can_redo_it(client: TestClient, alice: Any) -> None:
    memory = alice.remember("Lives in Oslo")
    gone = alice.forget(memory.id)
    page = client.get(f"/search?archived=1&undo={gone.event}")
    assert "Taken out. It is in no new chat." in page.text
    assert '<input type="hidden" name="back" value="/search?archived=1">' in page.text
    back = client.post("/undo", data={"event": gone.event, "back": "/search?archived=1"})
    assert back.url.path == "/search"
    assert alice.get(memory.id).state == "active"
    assert "Redo" in back.text
    client.post("/undo", data={"event": gone.event + 1, "back": "/chat"})
    assert alice.get(memory.id).state == "archived"


@pytest.mark.parametrize("back", ["https://elsewhere.example/", "//elsewhere.example", "/\\elsewhere.example", "chat"])
def test_a_form_never_leads_to_another_site(client: TestClient, alice: Any, back: str) -> None:
    written = alice.remember("Lives in Oslo")
    answer = client.post("/undo", data={"event": written.event, "back": back}, follow_redirects=False)
    assert answer.headers["location"].startswith("/?undo=")


# Looks


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_server_renders_the_chosen_theme(client: TestClient, theme: str) -> None:
    assert "data-theme" not in client.get("/chat").text
    client.cookies.set("keepbook_theme", theme)
    assert f'<html lang="en" data-theme="{theme}">' in client.get("/chat").text
    client.cookies.set("keepbook_theme", '"><script>')
    assert "data-theme" not in client.get("/chat").text


def test_times_are_the_owners_to_the_second_behind_them(client: TestClient, alice: Any, talk: Any) -> None:
    alice.configure(zone="Asia/Kolkata")
    chat = talk("Hello")
    at = chat.messages()[1].at
    page = client.get(f"/chat/{chat.id}").text
    assert f'title="{at:%Y-%m-%d} 14:46:{at:%S}">14:46</time>' in page


def test_a_file_may_be_kept_for_good_under_its_own_version_only(client: TestClient) -> None:
    (versioned,) = re.findall(r'href="(/static/keepbook.css\?v=\w+)"', client.get("/chat").text)
    assert "immutable" in client.get(versioned).headers["cache-control"]
    plain = client.get("/static/keepbook.css")
    assert plain.headers["cache-control"] == "no-cache"
    assert client.get("/static/keepbook.css", headers={"If-None-Match": plain.headers["etag"]}).status_code == 304
    assert client.get("/static/../pages.py").status_code == 404


def test_a_page_weighs_less_than_200_kilobytes(person: Page, talk: Any) -> None:
    chat = talk("Remember that my dog is called Rex.", "What do you know about me?")
    weight: list[int] = []
    person.on("response", lambda answer: weight.append(len(answer.body())))
    person.goto(f"/chat/{chat.id}", wait_until="networkidle")
    assert 50_000 < sum(weight) < 200_000


def test_a_difference_is_told_word_by_word() -> None:
    assert word_diff("Keeps four months", "Keeps six months") == [
        ("same", "Keeps "),
        ("gone", "four"),
        ("new", "six"),
        ("same", " months"),
    ]
    assert [piece.kind for piece in word_diff("a " * 3000, "b")] == ["gone", "new"]
    figures = word_diff("My salary is 60,000 a year", "My salary is [65,000] a year")
    assert [piece.text for piece in figures] == ["My salary is ", "60,000", "[65,000]", " a year"]


# Refusals


def test_an_error_is_a_page_for_a_person_and_a_problem_for_a_program(client: TestClient) -> None:
    page = client.get("/chat/nothing1")
    assert page.status_code == 404
    assert page.headers["content-type"].startswith("text/html")
    assert "There is nothing here" in page.text
    assert "There is no chat" in page.text
    partial = client.get("/chat/nothing1", headers={"X-Partial": "1"})
    assert partial.headers["content-type"] == "application/problem+json"
    api = client.get("/api/chat/threads/nothing1")
    assert api.headers["content-type"] == "application/problem+json"
    unfit = client.post("/undo", data={"event": "none"})
    assert unfit.status_code == 422
    assert "has something that does not fit: event" in unfit.text
    assert client.get("/no/such/page").status_code == 404
    assert "text/html" in client.get("/no/such/page").headers["content-type"]


def test_a_form_that_is_refused_says_so_in_place(person: Page, talk: Any) -> None:
    chat = talk("Hello")
    person.goto(f"/chat/{chat.id}")
    person.locator("form[id^=mark-]").evaluate("form => { form.action = '/chat/nothing1/turns/2/pin'; }")
    person.get_by_role("button", name="Pin this reply").click()
    expect(person.get_by_role("alert")).to_contain_text("has no turn 2")


# Sign-in


@pytest.fixture
def token(kb: Any) -> str:
    return str(kb.tokens.create("alice", scopes=("read", "write", "admin")).token)


def test_with_tokens_on_a_visitor_signs_in_and_comes_back_to_where_they_wanted(client: TestClient, token: str) -> None:
    asked = client.get("/search")
    assert asked.url.path == "/sign-in"
    assert 'value="/search"' in asked.text
    wrong = client.post("/sign-in", data={"token": "kb_wrong", "to": "/search"})
    assert wrong.status_code == 422
    assert "unknown, revoked or expired" in wrong.text
    answer = client.post("/sign-in", data={"token": f" {token} ", "to": "/search"}, follow_redirects=False)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{SESSION}=kbs_")
    assert token not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert answer.headers["location"] == "/search"
    assert client.get("/search").url.path == "/search"


def test_signing_out_forgets_the_token(client: TestClient, token: str) -> None:
    client.post("/sign-in", data={"token": token})
    assert client.get("/chat").url.path == "/chat"
    assert "Sign out" in client.get("/chat").text
    kept = client.cookies[SESSION]
    client.post("/sign-out")
    assert client.get("/chat").url.path == "/sign-in"
    client.cookies.set(SESSION, kept)
    assert client.get("/chat").url.path == "/sign-in", "the session is over, whoever kept its cookie"


def test_the_pages_are_the_persons_alone(client: TestClient, kb: Any, token: str) -> None:
    agent = kb.tokens.create("alice", kind="agent").token
    refused = client.post("/sign-in", data={"token": agent})
    assert refused.status_code == 422
    assert "need a person" in refused.text
    page = client.get("/chat", headers={"Authorization": f"Bearer {agent}"})
    assert page.status_code == 403
    assert "These pages are the person&#39;s own" in page.text


def test_a_token_that_may_only_read_changes_nothing(client: TestClient, kb: Any, alice: Any) -> None:
    reader = kb.tokens.create("alice", scopes=("read",)).token
    client.post("/sign-in", data={"token": reader})
    assert client.get("/chat").status_code == 200
    assert client.post("/chat", data={"text": "Remember that I live in Oslo"}).status_code == 403
    assert not alice.threads.list()


def test_a_revoked_token_leads_back_to_the_door(client: TestClient, kb: Any) -> None:
    made = kb.tokens.create("alice")
    client.post("/sign-in", data={"token": made.token})
    kb.tokens.revoke(made.known.id)
    asked = client.get("/chat")
    assert asked.url.path == "/sign-in"
    assert "This token is unknown, revoked or expired" in asked.text


# The API's own page


def test_every_operation_of_the_api_is_on_its_page(client: TestClient) -> None:
    page = client.get("/docs").text
    document = client.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        assert f">{path}<" in page
        for told in methods.values():
            assert f'id="{told["operationId"]}"' in page


def test_a_first_load_is_small_and_what_shows_a_secret_is_not_compressed(client: TestClient) -> None:
    taken = {"Accept-Encoding": "gzip"}
    page = client.get("/chat", headers=taken)
    assert (page.headers["content-encoding"], page.headers["cache-control"]) == ("gzip", "no-store")
    assert "content-encoding" not in client.get("/chat", headers={"Accept-Encoding": "gzip;q=0, br"}).headers
    scripts = [f"/static/{name}.js" for name in ("shell", "chat")]
    files = {*re.findall(r'(/static/[^"]+)"', page.text), *scripts}
    sizes = []
    for file in files:
        answer = client.get(file, headers=taken)
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.content == client.get(file, headers={"Accept-Encoding": "identity"}).content
        sizes.append(int(answer.headers["content-length"]))
    assert sum(sizes) + int(page.headers["content-length"]) < 100_000
    made = client.post("/settings/tokens", data={"name": "A program", "may": ["read"]}, headers=taken)
    assert "it is shown this once" in made.text
    assert "content-encoding" not in made.headers
