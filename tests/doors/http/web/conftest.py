"""The web app as a person meets it: a real server on a free port, and a real Chromium.

`person` is the browser's page, already pointed at the server (`person.goto("/chat")`); `client` is the same app
without a browser, for what forms do where no script runs. Both are alice, whose book is the fixture `alice`.
"""

import asyncio
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from starlette.testclient import TestClient
from tests.doors.http.web.registry import fonts

from keepbook.doors.http.web.frame.loading import LoadUnderWay

CHROMIUM = Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")
"""Debian's own, where it is, and first the one without a window (see scripts/browser.py); elsewhere the one that
`playwright install chromium` has put in place."""
expect.set_options(timeout=40_000)  # machines are shared: what comes late has come
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # All that is looked at is one site: a window takes one process, where its first blank page had another.
    "--disable-site-isolation-trials",
    "--process-per-site",
    "--renderer-process-limit=1",
)
SAME_EVERYWHERE: dict[str, Any] = {"locale": "en-US", "timezone_id": "UTC", "reduced_motion": "reduce"}


@pytest.fixture
def engine_name() -> str:
    """One engine will do: what the pages show of the book is tested on both, without them."""
    return "sqlite"


def settled_as_alice(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("KEEPBOOK_OWNER", "alice")
    patch.setenv("KEEPBOOK_PRESET", "advisor")
    patch.setenv("KEEPBOOK_JOBS_EVERY", "0")


@pytest.fixture
def alices_house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settled_as_alice(monkeypatch)
    # Of the files that alice sent only a few are kept, and in the folder that all share other tests send some too.
    (folder := tmp_path / "passing").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


@pytest.fixture
def kb(alices_house: None, clock: Any, book_url: str, sqlite_template: str) -> Iterator[Any]:
    from keepbook import Keepbook

    clock.set("2026-11-12T09:16:00Z")
    shutil.copyfile(sqlite_template, book_url)
    with closing(Keepbook(book_url, clock=clock)) as keepbook:
        yield keepbook


@pytest.fixture
def app(kb: Any) -> Any:
    from keepbook.doors.http.app import create_app

    return create_app(kb)


@pytest.fixture
def client(app: Any) -> TestClient:
    """A browser without script, as far as forms go: it follows redirects and asks for HTML."""
    headers = {"Accept": "text/html", "Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}
    return TestClient(app, base_url="http://127.0.0.1", headers=headers, client=("127.0.0.1", 50000))


Serve = Callable[[Any], Any]


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of an application while it is served."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    ready = threading.Event()
    started = server.startup

    async def startup(sockets: Any = None) -> None:
        await started(sockets)
        ready.set()

    server.startup = startup  # type: ignore[method-assign]
    thread.start()
    try:
        assert ready.wait(20), "the server did not start"
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture
def site(app: Any) -> Iterator[str]:
    with serving(app) as address:
        yield address


@pytest.fixture(scope="session")
def npm(pytestconfig: pytest.Config) -> Path:
    """Where what comes from the npm registry is kept."""
    return Path(pytestconfig.cache.mkdir("npm"))  # type: ignore[union-attr]


@pytest.fixture(scope="session")
def browser_and_loop(
    npm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """A browser with the usual fonts, started once. Where there is none these tests fail, for nothing else shows what
    a person sees. Playwright keeps an event loop running in this thread, where other tests need theirs: it runs on
    while pages are looked at."""
    folder = tmp_path_factory.mktemp("browser")
    own = next((str(one) for one in CHROMIUM if one.exists()), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            args=FLAGS,
            executable_path=own,
            env={**os.environ, "FONTCONFIG_FILE": str(fonts(npm, folder))},
        )
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture(scope="module")
def chromium(browser_and_loop: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    browser, loop = browser_and_loop
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


Opens = Callable[..., BrowserContext]


@pytest.fixture
def opens(chromium: Browser, site: str) -> Iterator[Opens]:
    """Opens a fresh browser profile; `opens(width=390, color_scheme="dark", java_script_enabled=False)`."""
    made: list[BrowserContext] = []

    def make(width: int = 1440, height: int = 900, **options: Any) -> BrowserContext:
        size: Any = {"width": width, "height": height}
        context = chromium.new_context(base_url=site, viewport=size, **(SAME_EVERYWHERE | options))
        context.set_default_timeout(60_000)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def person(opens: Opens) -> Iterator[Page]:
    """Alice at her screen. Whatever a page's scripts complain about fails the test."""
    page = opens().new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "Content Security Policy" in said.text else None)
    yield page
    assert not wrong, wrong


Until = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def until() -> Until:
    """Waits for something that happens behind the page, such as a closing; answers what it came to."""

    def wait(condition: Callable[[], Any]) -> Any:
        last = time.monotonic() + 15
        while not (found := condition()) and time.monotonic() < last:
            time.sleep(0.02)
        assert found, "it did not happen"
        return found

    return wait


def talking(kb: Any, *texts: str, chat: Any = None, close: bool = False, **started: Any) -> Any:
    """A chat of alice's without a page."""
    chat = chat or kb.book("alice").threads.start(**started)

    async def all_of_it() -> None:
        for text in texts:
            async for _ in kb.talk(chat).say(text):
                pass

    with ThreadPoolExecutor(1) as apart:  # Playwright has a loop running in this thread
        apart.submit(asyncio.run, all_of_it()).result()
    if close:
        chat.close()
    return chat


@pytest.fixture
def talk(kb: Any) -> Callable[..., Any]:
    """Talks in a chat of alice's: `talk("I live in Oslo", close=True)` answers the chat."""
    return partial(talking, kb)


@pytest.fixture
def held_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, int], None]:
    """Loads of a page's module wait at a row until somebody says stop."""

    def hold(page: Any, row: int) -> None:
        class Held(LoadUnderWay):
            def __init__(self, owner: str, total: int, work: Any) -> None:
                super().__init__(owner, total, lambda progress: work(partial(self._heard, progress)))

            def _heard(self, progress: Any, done: int) -> None:
                last = time.monotonic() + 60  # a test that failed leaves nobody waiting
                while done == row and self._mark.exists() and time.monotonic() < last:
                    time.sleep(0.01)
                progress(done)

        monkeypatch.setattr(page, "LoadUnderWay", Held)

    return hold
