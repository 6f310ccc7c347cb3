"""What a page must never do: run what people wrote, load from elsewhere, or act for another site."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from keepbook.doors.http.gate import HEADERS

NASTY = '<script>window.hacked = 1</script><img src=x onerror="window.hacked = 1"> **bold** [link](javascript:alert(1))'
PAGES = ("/chat", "/search", "/search?archived=1", "/search?trash=1", "/docs", "/profile/facts", "/journal", "/time",
         "/settings")  # fmt: skip


@pytest.mark.parametrize("path", [*PAGES, "/no-such-page", "/sign-in", "/static/keepbook.css"])
def test_every_page_carries_the_strict_headers(client: TestClient, path: str) -> None:
    answer = client.get(path)
    for name, value in HEADERS.items():
        if name != "Cache-Control" or not path.startswith("/static/"):
            assert answer.headers[name] == value, name
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


@pytest.mark.parametrize("path", [path for path in PAGES if path != "/docs"])
def test_no_page_has_inline_script_style_or_remote_parts(client: TestClient, talk: Any, path: str) -> None:
    talk("Remember that my dog is called Rex.")
    page = client.get(path).text
    for inline in ("<style", " style=", "<script>", "onclick=", "onload=", "http://", "https://", 'src="//'):
        assert inline not in page, inline


def test_what_people_write_stays_text_on_every_page(person: Page, alice: Any, talk: Any) -> None:
    memory = alice.remember(NASTY[:200], category="profile")
    chat = talk(NASTY)
    alice.threads.rename(chat.id, NASTY[:100])
    alice.notes.bookmark(chat.id, 1)
    shown = {
        f"/chat/{chat.id}": ".bubble",
        "/search?q=bold": ".snippet",
        "/chat": "#given li",
        "/profile/facts": "main",
        f"/memory/{memory.id}": "main",
        "/journal": "main",
        "/time": "main",
    }
    for path, place in shown.items():
        person.goto(path)
        expect(person.locator("#chats")).to_contain_text("<script>window.hacked")
        expect(person.locator(place).first).to_contain_text("onerror=" if place != ".snippet" else "bold")
        assert person.evaluate("window.hacked") is None, path
        assert person.locator("main img, main a[href^=javascript], main strong:has-text('bold')").count() == 0, path


def test_a_streamed_message_stays_text_too(person: Page) -> None:
    person.goto("/chat")
    person.get_by_label("Message").fill(NASTY)
    person.get_by_label("Message").press("Enter")
    expect(person.locator(".turn:not(.me) .tools")).to_be_visible()
    expect(person.locator(".bubble")).to_have_text(NASTY)
    assert person.evaluate("window.hacked") is None


# Another site


@contextmanager
def elsewhere(page: str) -> Iterator[str]:
    """A site of somebody else's: another origin that serves one page."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_form_on_another_site_changes_nothing(opens: Any, site: str, alice: Any) -> None:
    person = opens().new_page()
    form = f'<form method="post" action="{site}/chat"><input name="text" value="Remember that I owe them 100"></form>'
    with elsewhere(f"<!doctype html>{form}") as other:
        person.goto(other)
        with person.expect_navigation():
            person.evaluate("document.forms[0].submit()")
        expect(person.locator("body")).to_contain_text("Another site may not write here")
    assert not alice.threads.list()


@pytest.mark.parametrize(
    "attack",
    [
        "fetch(site + '/chat', {method: 'POST', mode: 'no-cors', credentials: 'include',"
        " body: new URLSearchParams({text: 'Remember that I owe them 100'})})",
        "fetch(site + '/api/chat/threads', {method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}'})",
        "fetch(site + '/api/memory/', {method: 'POST', credentials: 'include',"
        " body: '{\"content\": \"I owe them 100\"}', headers: {'Content-Type': 'application/json'}})",
        "Promise.resolve(navigator.sendBeacon(site + '/undo', new URLSearchParams({event: 1})))",
    ],
)
def test_a_script_on_another_site_changes_nothing(opens: Any, site: str, alice: Any, attack: str) -> None:
    alice.remember("Lives in Oslo")
    person = opens().new_page()
    with elsewhere("<!doctype html><p>hello") as other:
        person.goto(other)
        person.evaluate(f"async site => {{ try {{ await ({attack}); }} catch {{}} }}", site)
        person.goto(f"{site}/chat")  # whatever was sent before has been answered by now
    assert not alice.threads.list()
    assert [entry.action for entry in alice.ledger()] == ["remember"]


def test_another_site_reads_nothing_and_frames_nothing(opens: Any, site: str, alice: Any) -> None:
    alice.remember("Lives in Oslo")
    person = opens().new_page()
    with elsewhere(f'<!doctype html><iframe src="{site}/chat"></iframe>') as other:
        person.goto(other, wait_until="networkidle")
        read = person.evaluate(
            "async site => { try { return await (await fetch(site + '/api/me')).text(); } catch { return null; } }",
            site,
        )
        assert read is None
        assert "Keepbook" not in person.frames[1].content()


def test_cookies_are_out_of_reach_of_scripts_and_other_sites(opens: Any, kb: Any, talk: Any) -> None:
    chat = talk("Hello")
    token = kb.tokens.create("alice").token
    context = opens()
    person = context.new_page()
    person.goto(f"/chat/{chat.id}")
    person.get_by_label("Token").fill(token)
    person.get_by_role("button", name="Sign in").click()
    expect(person.locator(".turn")).to_have_count(2)
    kept = context.cookies([person.url, f"{person.url}/leave"])
    assert {cookie["name"] for cookie in kept} == {"keepbook_session", "keepbook_view"}
    for cookie in kept:
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
    assert person.evaluate("document.cookie") == ""
    with elsewhere(f'<!doctype html><a href="http://127.0.0.1:1">x</a><form action="{person.url}">') as other:
        person.goto(other.replace("127.0.0.1", "localhost"))
        with person.expect_navigation():
            person.evaluate("document.forms[0].submit()")
        expect(person.get_by_label("Token")).to_be_visible()  # a link from elsewhere comes without the cookie
