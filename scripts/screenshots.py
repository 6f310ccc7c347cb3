"""Makes the pictures of the README: starts the demo, looks at it in a real browser, writes docs/pictures/*.png.

    make screenshots

Chromium is taken from KEEPBOOK_CHROMIUM, else from the usual places. Each picture stays under 250 kB: one that does
not is a mistake, and the script says so.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
MOST_BYTES = 250_000
DAYS_BACK = 38
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--font-render-hinting=none"]


class Shot(NamedTuple):
    """One picture: what is opened, and how."""

    name: str
    page: str
    width: int = 1440
    height: int = 840
    theme: str = "light"


SHOTS = (
    Shot("chat", "chat"),
    Shot("chat-phone", "chat", 390, 844),
    Shot("memory", "memory"),
    Shot("memory-phone", "memory", 390, 844),
    Shot("one-memory", "one"),
    Shot("one-memory-dark", "one", theme="dark"),
    Shot("one-memory-phone", "one", 390, 844),
    Shot("time-travel", "time"),
    Shot("time-travel-phone", "time", 390, 844),
    Shot("results-dark", "results", theme="dark"),
    Shot("trading", "trading", height=1000),
    Shot("trading-phone", "trading", 390, 844),
)


@contextmanager
def demo() -> Iterator[str]:
    """The address of a running demo."""
    command = [sys.executable, "-m", "keepbook", "demo", "--port", "0", "--json", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield json.loads(running.stdout.readline())["address"]
        running.terminate()


def open_page(page: Page, what: str) -> None:
    """Go where a person would go; what is seen there is the story's."""
    if what == "chat":
        page.goto("/chat")
        page.goto(str(page.locator("#chats a").first.get_attribute("href")))
        page.locator("details.saved").first.evaluate("slip => { slip.open = true }")
        page.locator("#turn-3").evaluate("turn => turn.scrollIntoView()")
    elif what == "memory":
        page.goto("/profile/facts")
    elif what == "one":
        page.goto("/profile/facts?q=Lives+in+Vienna")
        page.locator("main a[href^='/memory/']").first.click()
    elif what == "results":
        page.goto("/results/trade-decisions")
    elif what == "trading":
        page.goto("/trading")
        page.locator("main a", has_text="Range breakout on Kraken").first.click()
    else:
        page.goto("/time")
        travel(page)
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")


def travel(page: Page) -> None:
    """Some weeks back, by the page's own fields."""
    fields = page.locator("input[type=datetime-local]")
    earlier = page.evaluate(
        "([value, days]) => { const then = new Date(value + 'Z'); then.setUTCDate(then.getUTCDate() - days);"
        " return then.toISOString().slice(0, value.length) }",
        [fields.first.input_value(), DAYS_BACK],
    )
    for field in fields.all():
        field.fill(earlier)
    page.get_by_role("button", name="Look").click()


def take(browser: Browser, address: str, shot: Shot) -> None:
    context = browser.new_context(
        base_url=address,
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.theme == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    open_page(page, shot.page)
    file = PICTURES / f"{shot.name}.png"
    page.screenshot(path=file)
    context.close()
    size = file.stat().st_size
    print(f"{file.name:24} {shot.width} × {shot.height}  {size / 1000:.0f} kB")
    if size > MOST_BYTES:
        sys.exit(f"{file.name} has {size:,} bytes; {MOST_BYTES:,} are allowed")


def main() -> None:
    chromium = os.environ.get("KEEPBOOK_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with demo() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for shot in SHOTS:
            take(browser, address, shot)
        browser.close()


if __name__ == "__main__":
    main()
