"""An upgrade under load, as docs/operating.md tells it: no request fails, and nothing that was acknowledged is lost.

    python3 scripts/upgrade_check.py        # needs Debian's caddy

A wheel of this tree, in an environment of its own, serves with two workers behind Caddy, with the lines of Caddy that
the page prints. This tree, with a revision more that adds a column and a table, brings the schema up meanwhile; a
server of it starts beside the old one, which then stops. The load is of a client that tries nothing twice.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from public_types import UV, build_wheel

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from tests.databases import admin, make, url_of  # noqa: E402  # of the tests, which are not installed
from tests.doors.http.test_upgrade_under_load import CONTRACTS, EXPANDS, Load, newer_program  # noqa: E402

ENVIRONMENT = ROOT / "build" / "upgrade" / "environment"
OLD, NEW, FRONT, TOLD = 18765, 18766, 18767, 18768
STEPS = 20
"""How many writes each client does between two steps."""
PATIENCE = 300


class Program:
    """A Keepbook that can be started: the wheel's, or the newer one."""

    def __init__(self, python: Path | str, database: str, **environment: str) -> None:
        self._python = str(python)
        self._environment = {**os.environ, "KEEPBOOK_DB": database, "KEEPBOOK_OWNER": "alice", **environment}

    def run(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        command = [self._python, "-m", "keepbook", *words]
        told = self._environment | more
        return subprocess.run(command, env=told, cwd="/", capture_output=True, text=True, check=False)

    def serve(self, stack: ExitStack, port: int) -> "subprocess.Popen[bytes]":
        command = [self._python, "-m", "keepbook", "serve", "--no-open", "--workers", "2", "--port", str(port)]
        server = subprocess.Popen(command, env=self._environment, cwd="/", stdout=subprocess.DEVNULL)
        stack.callback(_end, server)
        wait_until(lambda: _is_well(port), f"the server at {port} answers")
        return server


def _end(process: "subprocess.Popen[Any]") -> None:
    process.terminate()
    process.wait(PATIENCE)


def _is_well(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def wait_until(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            sys.exit(f"    FAILED: {what}")
        time.sleep(0.1)
    print(f"    {what}")


def expect(what: str, *, holds: bool, why: object = "") -> None:
    if not holds:
        sys.exit(f"    FAILED: {what} {why}")
    print(f"    {what}")


def start_postgres(stack: ExitStack, folder: Path) -> str:
    """A server of its own; returns the address of an empty database, for its superuser."""
    folder.mkdir()
    server = str(ROOT / "scripts" / "test_postgres.py")
    keeper = subprocess.Popen([sys.executable, server, "keep", str(folder)], stdin=subprocess.PIPE)
    stack.callback(keeper.wait)
    if keeper.stdin is not None:
        stack.callback(keeper.stdin.close)
    started = subprocess.run([sys.executable, server, "start", str(folder)], capture_output=True, text=True, check=True)
    superuser = started.stdout.strip().splitlines()[-1]
    make(superuser, "keepbook")
    return url_of(superuser, "keepbook")


def install(wheel: Path) -> Path:
    subprocess.run([*UV, "venv", "--quiet", "--clear", ENVIRONMENT], check=True)
    wanted = f"{wheel}[serve,postgres]"
    subprocess.run(
        [*UV, "pip", "install", "--quiet", "--compile-bytecode", "--python", ENVIRONMENT, wanted], check=True
    )
    return ENVIRONMENT / "bin" / "python"


def write_caddyfile(folder: Path, port: int) -> list[str]:
    """The lines of the page, for a port of this machine and without a certificate; returns how Caddy is told of it."""
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    found = re.search(r"^```ini\n(books\.example\.org.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert found is not None
    lines = found[1].replace("books.example.org", f"http://127.0.0.1:{FRONT}")
    lines = lines.replace("127.0.0.1:8765", f"127.0.0.1:{port}")
    (folder / "Caddyfile").write_text(f"{{\n\tadmin localhost:{TOLD}\n}}\n{lines}")
    return ["--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def start_caddy(stack: ExitStack, folder: Path) -> None:
    command = ["caddy", "run", *write_caddyfile(folder, OLD)]
    with (folder / "caddy.log").open("wb") as log:
        running = subprocess.Popen(command, stderr=log, env={**os.environ, "HOME": str(folder)})
    stack.callback(_end, running)
    wait_until(lambda: _is_well(FRONT), "Caddy passes on")


def go_on(loads: Sequence[Load], what: str) -> None:
    before = [len(one.kept) for one in loads]

    def has_gone_on() -> bool:
        return all(len(one.kept) >= count + STEPS for one, count in zip(loads, before, strict=True))

    wait_until(has_gone_on, f"{what}: the clients go on, {sum(len(one.failed) for one in loads)} requests failed")


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keepbook-upgrade-")))
        superuser = start_postgres(stack, folder / "postgres")
        old = Program(install(build_wheel()), superuser)
        expect("a wheel brings up an empty database", holds=old.run("db", "upgrade").returncode == 0)
        admin(superuser, "CREATE ROLE keepbook_web LOGIN IN ROLE keepbook_app")
        web = re.sub(r"//[^@/]*@", "//keepbook_web@", superuser, count=1)
        old = Program(ENVIRONMENT / "bin" / "python", web)
        token = str(json.loads(old.run("--json", "token", "create", "--owner", "alice").stdout)["token"])
        newer = newer_program(folder / "two", expands=EXPANDS)
        last = newer_program(folder / "three", expands=EXPANDS, contracts=CONTRACTS)
        before = old.serve(stack, OLD)
        start_caddy(stack, folder)
        loads = [Load(f"http://127.0.0.1:{FRONT}", token) for _ in range(3)]
        for one in loads:
            one.start()
        go_on(loads, "before")
        done = Program(sys.executable, superuser, PYTHONPATH=str(newer)).run("db", "upgrade")
        expect("a revision with a column and a table", holds=done.returncode == 0, why=done.stderr)
        go_on(loads, "the wheel on the newer schema")
        after = Program(sys.executable, web, PYTHONPATH=str(newer)).serve(stack, NEW)
        go_on(loads, "both servers")
        reload = ["caddy", "reload", *write_caddyfile(folder, NEW)]
        subprocess.run(reload, check=True, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": str(folder)})
        go_on(loads, "Caddy knows the newer one")
        before.terminate()
        before.wait(PATIENCE)
        go_on(loads, "the newer server alone")
        refused = Program(sys.executable, superuser, PYTHONPATH=str(last)).run("db", "upgrade")
        waits = "alive within five minutes; stop them first" in refused.stderr
        expect("a revision that takes away is refused meanwhile", holds=waits, why=refused.stderr)
        for one in loads:
            one.stopping.set()
            one.join(PATIENCE)
        failed = [told for one in loads for told in one.failed]
        sent = 2 * sum(len(one.kept) for one in loads)
        expect(f"of {sent} requests {len(failed)} failed", holds=not failed, why=failed[:3])
        kept, there = {id for one in loads for id in one.kept}, set(ids_of(token))
        expect(f"of {len(kept)} writes {len(kept - there)} are lost", holds=kept == there)
        _end(after)
        proved = Program(sys.executable, web, PYTHONPATH=str(newer)).run("verify")
        expect("the ledger holds", holds=proved.returncode == 0, why=proved.stderr)
        done = Program(sys.executable, superuser, PYTHONPATH=str(last)).run("db", "upgrade")
        expect("with no server alive it is taken away", holds=done.returncode == 0, why=done.stderr)
    shutil.rmtree(ENVIRONMENT.parent, ignore_errors=True)


def ids_of(token: str) -> list[str]:
    found, cursor = list[str](), ""
    with httpx.Client(base_url=f"http://127.0.0.1:{FRONT}", headers={"Authorization": f"Bearer {token}"}) as client:
        while True:
            page = client.get("/api/memory/", params={"limit": 200, "cursor": cursor} if cursor else {"limit": 200})
            found += [one["id"] for one in page.json()["memories"]]
            cursor = page.json()["next"]
            if not cursor:
                return found


if __name__ == "__main__":
    main()
