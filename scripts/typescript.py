"""Build the TypeScript package from the OpenAPI document, and run its tests against a real server on this machine."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from openapi import document

from keepbook import Keepbook

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "clients" / "typescript"
PAGE = ROOT / "docs" / "typescript.md"
SCOPES = ("read", "write", "admin", "person")
OPENED = re.compile(r'new Keepbook\("https://host".*?\);')
OPENS = 'new Keepbook(process.env["KEEPBOOK_ADDRESS"]!, { token: process.env["KEEPBOOK_PAGE_TOKEN"]! });'


def main() -> None:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("the TypeScript package needs Node 20 or newer, with npm")
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "openapi.json").write_text(document(), encoding="utf-8")
    _write_page()
    for step in (["install", "--no-audit", "--no-fund"], ["run", "types"], ["run", "build"]):
        subprocess.run([npm, *step], cwd=PACKAGE, check=True)
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "book.db")
        with Keepbook(place, embedder="none") as kb:
            keys = {
                "KEEPBOOK_TOKEN": kb.tokens.create(kind="service", scopes=SCOPES).token,
                "KEEPBOOK_PAGE_TOKEN": kb.tokens.create("page").token,
            }
        _test(npm, place, keys)


def _write_page() -> None:
    """The examples of the page as tests: each runs by itself, on the server of the test."""
    for old in PACKAGE.glob("test/page-*"):
        old.unlink()
    for nth, code in enumerate(re.findall(r"```ts\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL), 1):
        whole = OPENED.sub(OPENS, code).replace('from "keepbook"', 'from "../src/index.js"')
        (PACKAGE / "test" / f"page-{nth}.test.ts").write_text(whole, encoding="utf-8")


def _test(npm: str, place: str, keys: dict[str, str]) -> None:
    command = [sys.executable, "-m", "keepbook", "--db", place, "serve", "--port", "0", "--no-open"]
    no_config = {"KEEPBOOK_CONFIG": f"{place}.toml"}  # what this machine's user has set, a model say, is not tested
    env = {**os.environ, **no_config, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as server:
        try:
            assert server.stdout is not None
            address = next(word for line in server.stdout for word in line.split() if word.startswith("http://"))
            told = {**os.environ, "KEEPBOOK_ADDRESS": address.rstrip("/.,"), **keys}
            subprocess.run([npm, "test"], cwd=PACKAGE, check=True, env=told)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
