"""The way of a foreign agent to its plot, as the how-to has it: no chat, no preset, trading off; Python, then curl."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.docs.pages import DOCS, blocks

from keepbook import Keepbook
from keepbook.doors.http.app import create_app
from keepbook.settings import load_settings

PAGE = DOCS / "how-to/plot-your-calibration.md"


def open_house(place: str) -> tuple[Keepbook, TestClient]:
    kb = Keepbook(place, settings=load_settings(db=place, owner="me", extensions=["agents"]))
    return kb, TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))


def curl(client: TestClient, line: str) -> Any:
    """What curl sends for a line of the page."""
    words = shlex.split(line)
    assert words.pop(0) == "curl"
    given: dict[str, str] = {}
    while len(words) > 1:
        at = words.index(next(word for word in words if word.startswith("-")))
        option, value = words.pop(at), words.pop(at)
        given[option] = value
    url = words[0].removeprefix("localhost:8765")
    sent = given.get("-d") or given.get("--data-binary")
    if sent is None:
        return client.get(url)
    name, _, kind = given.get("-H", "Content-Type: application/x-www-form-urlencoded").partition(": ")
    body = Path(sent[1:]).read_bytes() if sent.startswith("@") else sent.encode()
    return client.post(url, content=body, headers={name: kind})


def test_the_plot_has_three_series_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    code = [block.code for block in blocks(PAGE) if block.language == "python"]
    assert len(code[0].splitlines()) <= 11, "ten lines, and one between"
    monkeypatch.setenv("KEEPBOOK_EXTENSIONS", "agents")
    names: dict[str, Any] = {"__name__": "docs"}
    for block in code:
        exec(compile(block, str(PAGE), "exec"), names)
    kb, client = open_house(str(tmp_path / "keepbook.db"))
    shown = client.get("/results/forecasts").text
    assert "Witnessed; Brought in, not witnessed; Graded by the forecaster" in shown
    assert re.findall(r'<g class="(\w+)">', shown) == ["brought_in", "self_graded"]
    kb.close()


def test_curl_alone_fills_it_with_forty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "docs", "book": None}
    code = [block.code for block in blocks(PAGE) if block.language == "python"]
    rows = code[0][code[0].index("past =") : code[0].index("print(")]
    exec(compile(rows + code[1], str(PAGE), "exec"), names)
    kb, client = open_house(":memory:")
    [lines] = [block.code for block in blocks(PAGE) if block.code.startswith("curl")]
    made, brought, found = [curl(client, line) for line in lines.replace("\\\n", " ").splitlines()]
    assert (made.status_code, brought.json()["added"], brought.json()["wrong"]) == (201, 40, 0)
    assert (found.json()["resolved"], found.json()["series"]) == (40, "brought_in")
    shown = client.get("/results/forecasts").text
    assert re.findall(r'<g class="(\w+)">', shown) == ["brought_in"]
    kb.close()
