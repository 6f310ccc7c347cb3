"""Sign in with a real browser at a real OpenID provider: npm's `oidc-provider`, on another site than the server, which
has two workers.

    python3 scripts/openid_check.py        # needs Node 20 and the npm registry

What a lying provider is answered, `tests/doors/http/web/account/test_provider_sign_in.py` says.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from browser import system  # beside this program
from playwright.sync_api import Page, sync_playwright

PACKAGE = "oidc-provider@9.13.3"
SECRET = "of both"
PATIENCE = 300_000
"""Milliseconds, for a page."""
PROVIDER = """
import { Provider } from 'oidc-provider';
const [issuer, port, back, secret] = process.argv.slice(2);
const provider = new Provider(issuer, {
  clients: [{ client_id: 'keepbook', client_secret: secret, redirect_uris: [back] }],
  cookies: { keys: ['for this check alone'] },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('up'));
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start(stack: ExitStack, *command: str, cwd: Path | None = None, **more: str) -> str:
    """Start a process that ends with this one, and return the first line it says."""
    running = subprocess.Popen(
        command, env={**os.environ, **more}, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    stack.callback(running.wait)
    stack.callback(running.terminate)
    assert running.stdout is not None
    return running.stdout.readline()


def keepbook(*words: str, **settings: str) -> Any:
    ran = subprocess.run(
        [sys.executable, "-m", "keepbook", "--json", *words],
        env={**os.environ, **settings}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(ran.stdout)


def sign_in(page: Page, address: str, person: str) -> None:
    """As a person does it: the link of ours, then the provider's own pages, until it sends back."""
    page.goto(address)
    page.get_by_role("link", name="Sign in with").click()
    page.wait_for_url(lambda url: "//localhost:" in url)
    if page.locator("input[name=login]").count():
        page.fill("input[name=login]", person)
        page.fill("input[name=password]", "any")
        page.locator("button[type=submit]").click()
    page.locator("button[type=submit]").click()  # that this program may know who they are
    page.wait_for_url(lambda url: "//127.0.0.1:" in url and "/provider/back" not in url)
    page.wait_for_load_state()


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        subprocess.run(["npm", "install", "--silent", "--no-fund", PACKAGE], cwd=folder, check=True)
        (folder / "provider.mjs").write_text(PROVIDER)
        there, here = free_port(), free_port()
        issuer, address = f"http://localhost:{there}", f"http://127.0.0.1:{here}"
        back = f"{address}/sign-in/provider/back"
        start(stack, "node", "provider.mjs", issuer, str(there), back, SECRET, cwd=folder)
        settings = {
            "KEEPBOOK_DB": str(folder / "book.db"), "KEEPBOOK_OIDC_ISSUER": issuer,
            "KEEPBOOK_OIDC_CLIENT_ID": "keepbook", "KEEPBOOK_OIDC_CLIENT_SECRET": SECRET,
        }  # fmt: skip
        keepbook("remember", "Likes boats that are blue", "--owner", "alice", **settings)
        made = keepbook("people", "invite", "--owner", "alice", **settings)
        serve = [sys.executable, "-m", "keepbook", "serve", "--port", str(here), "--workers", "2", "--no-open"]
        start(stack, *serve, **settings)
        chromium = stack.enter_context(sync_playwright()).chromium
        browser = chromium.launch(executable_path=system(), args=["--no-sandbox"])
        stack.callback(browser.close)
        context = browser.new_context()
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        sign_in(page, f"{address}/sign-in?invitation={made['invitation']}&to=/profile/facts", "s-1")
        assert "boats that are blue" in page.content(), page.content()
        kept = {cookie["name"]: cookie for cookie in page.context.cookies(address)}
        assert kept["keepbook_session"]["sameSite"] == "Strict", kept
        assert "keepbook_away" not in kept, kept
        print("ok: invited, signed in across two sites, and the book is open")
        stranger = browser.new_context().new_page()
        stranger.set_default_timeout(PATIENCE)
        sign_in(stranger, f"{address}/sign-in", "s-2")
        assert "invited" in stranger.content(), stranger.content()
        print("ok: who was not invited stays outside")
        known = next(one for one in keepbook("people", "list", "--all", **settings) if one["subject"] == "s-1")
        assert known["issuer"] == issuer, known
        keepbook("people", "end", known["id"], **settings)
        page.reload()
        assert page.url.startswith(f"{address}/sign-in"), page.url
        print("ok: ended by the operator, the open page is signed out")


if __name__ == "__main__":
    main()
