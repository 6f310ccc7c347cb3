"""The curl lines of the pages on agents and trading run as they stand, by curl itself against a server."""

import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.docs.pages import DOCS, blocks

from keepbook import Keepbook
from keepbook.doors.http.app import create_app

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")


@contextmanager
def served(kb: Keepbook) -> Iterator[int]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(create_app(kb), port=number, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield number
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture
def house() -> Iterator[tuple[Any, int]]:
    with closing(Keepbook(":memory:", embedder="none")) as kb, served(kb) as port:
        yield kb, port


def curl(page: str, port: int, folder: Path, **stands_for: str) -> str:
    """What the lines of a page answer; `stands_for` is put in for what the page leaves to the reader."""
    [lines] = [one.code for one in blocks(DOCS / "how-to" / page) if one.language == "sh" and "curl " in one.code]
    for name, value in {"localhost:8765": f"127.0.0.1:{port}", **stands_for}.items():
        lines = lines.replace(name, value)
    done = subprocess.run(
        ["sh", "-e"], input=lines.replace("curl ", "curl -f "), capture_output=True, text=True,
        check=False, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.replace(" ", "")


def test_an_agent_that_runs_elsewhere_is_recorded_and_answered(house: tuple[Any, int], tmp_path: Path) -> None:
    kb, port = house
    kb.book(kb.settings.owner).agents.create("My bot", adapter="external", card_type="forecast")
    assert '"state":"resolved"' in curl("calibrate-your-agent.md", port, tmp_path)


def test_forty_forecasts_come_in(house: tuple[Any, int], tmp_path: Path) -> None:
    kb, port = house
    past = [
        {"question": f"Was {n} drawn?", "probability": 0.6, "outcome": n % 2, "made_at": "2026-01-01", "key": str(n),
         "resolved_at": "2026-02-01"}
        for n in range(40)
    ]  # fmt: skip
    (tmp_path / "past.jsonl").write_text("\n".join(map(json.dumps, past)))
    answered = curl("plot-your-calibration.md", port, tmp_path)
    assert '"added":40,"answered":0,"unchanged":0,"wrong":0' in answered
    assert '"series":"brought_in"' in answered
    assert kb.book(kb.settings.owner).decisions.calibration(forecasts=True, series="brought_in").resolved == 40


def test_a_resolver_reads_what_is_due_and_answers_it(house: tuple[Any, int], tmp_path: Path) -> None:
    kb, port = house
    book = kb.book(kb.settings.owner)
    book.agents.create("Pundit", adapter="external", card_type="forecast")
    card = {"question": "Does Ajax win?", "probability": 0.6, "resolves_by": "2026-01-02T22:00:00Z"}
    run = book.decisions.record("Pundit", card, made_at="2026-01-01T12:00:00Z").run_id
    token = kb.tokens.create(book.owner, kind="agent", scopes=("resolve",), name="Match scores").token
    answered = curl("resolve-by-cron.md", port, tmp_path, **{"kb_…": token, "Ab12Cd34": run})
    due, _ = json.JSONDecoder().raw_decode(answered)
    assert due["forecasts"][0]["question"] == "DoesAjaxwin?"
    assert "probability" not in str(due), "whoever answers need not know"
    found = book.decisions.get(run)
    assert (found.outcome, found.closed_by, found.note) == ("true", "resolver", "from the league's table")
