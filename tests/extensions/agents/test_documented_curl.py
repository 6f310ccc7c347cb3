"""The curl lines of the pages on agents and trading run as they stand, by curl itself against a server."""

import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import uvicorn

from keepbook import Keepbook
from keepbook.doors.http.app import create_app

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "calibrate-your-agent.md"


@pytest.fixture
def port() -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    with closing(Keepbook(":memory:", embedder="none")) as kb:
        kb.book(kb.settings.owner).agents.create("My bot", adapter="external", card_type="forecast")
        server = uvicorn.Server(uvicorn.Config(create_app(kb), port=number, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield number
        server.should_exit = True
        thread.join()


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_the_lines_run_as_they_stand(port: int) -> None:
    blocks = PAGE.read_text(encoding="utf-8").split("```sh no-run\n")[1:]
    lines = next(block.split("```")[0] for block in blocks if "curl" in block)
    done = subprocess.run(
        ["sh", "-e"], input=lines.replace("localhost:8765", f"127.0.0.1:{port}"), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"state":"resolved"' in done.stdout.replace(" ", "")
