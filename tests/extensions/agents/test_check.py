"""Doors of forecasts made elsewhere: bring in, compare and check by command and over HTTP, and what an agent hears."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.doors.conftest import Run

from keepbook.doors.http.app import create_app
from keepbook.extensions.agents.models.prompts import run_prompt
from keepbook.extensions.agents.tools import get_calibration


def lines(bias: float, count: int = 40) -> str:
    """Forecasts of 80 % of which 63 % came true, said `bias` too high, on ten days."""
    rows = [
        {
            "question": f"Number {nth}?", "probability": round(0.8 + bias, 3), "outcome": nth % 8 < 5,
            "made_at": f"2025-01-{1 + nth % 10:02}T08:00:00Z", "resolved_at": f"2025-01-{1 + nth % 10:02}T20:00:00Z",
        }
        for nth in range(count)
    ]  # fmt: skip
    return "\n".join(map(json.dumps, rows))


def test_check_fails_only_where_an_agent_is_shown_to_be_worse(run: Run, tmp_path: Path) -> None:
    for name, bias in (("good", 0.0), ("bad", 0.19)):
        (tmp_path / f"{name}.jsonl").write_text(lines(bias))
        assert run("agent", "create", name, "--adapter", "external", "--card", "forecast").code == 0
    check = ("agent", "check", "bad", "--fail-if-worse", "good", "--series", "brought_in")
    assert run(*check).code == 0, "nothing in common is nothing shown"
    assert "40 forecasts would come in" in run("agent", "bring-in", "bad", tmp_path / "bad.jsonl", "--dry-run").out
    assert "40 forecasts came in" in run("agent", "bring-in", "bad", "-", stdin=lines(0.19)).out
    assert run("agent", "bring-in", "good", tmp_path / "good.jsonl").code == 0
    worse = run(*check)
    assert (worse.code, "bad is worse." in worse.out) == (1, True)
    assert "40 pairs on 10 days, Brier score: bad" in worse.out
    told = run(*check, "--json")
    assert (told.code, told.json["worse"], told.json["forms"][0]["verdict"]) == (1, True, "worse")
    assert run("agent", "check", "good", "--fail-if-worse", "bad", "--series", "brought_in").code == 0
    assert run(*check[:-1], "witnessed").code == 0
    assert "Taken back: 40 forecasts." in run("undo", "--load", "1").out
    few = run("agent", "bring-in", "bad", "-", stdin=f"{lines(0.19, 29)}\n{{")
    assert (few.code, "29 forecasts came in" in few.out, "line 30: is no JSON object" in few.out) == (1, True, True)
    assert (run(*check).code, "Too few pairs to tell" in run(*check).out) == (0, True)
    refused = run("agent", "check", "nobody", "--fail-if-worse", "good", "--json")
    assert (refused.code, refused.error["code"]) == (2, "not_found"), "1 is said of an agent alone"


@pytest.mark.parametrize("engine_name", ["sqlite"])
def test_over_http_and_from_a_remote_book(kb: Any, alice: Any) -> None:
    for name in ("A", "B"):
        alice.agents.create(name, adapter="external", card_type="forecast")
    token = kb.tokens.create("alice", scopes=("read", "write"), kind="agent").token
    headers = {"Authorization": f"Bearer {token}"}
    client = TestClient(create_app(kb), base_url="http://127.0.0.1", headers=headers)
    for name, bias in (("A", 0.0), ("B", 0.19)):
        would = client.post(f"/api/agents/{name}/forecasts?dry_run=true", content=lines(bias)).json()
        assert (would["added"], would["load"], would["dry_run"]) == (40, None, True)
        done = client.post(f"/api/agents/{name}/forecasts", content="\ufeff" + lines(bias) + "\n{").json()
        assert (done["added"], done["wrong"], done["refused"][0]["line"]) == (40, 1, 41)
        assert client.post(f"/api/agents/{name}/forecasts", content=lines(bias)).json()["unchanged"] == 40
    assert client.post("/api/agents/A/forecasts", content=b"\xff\xfe").status_code == 422
    listed = client.get("/api/forecasts/brought-in", params={"agent": "A", "limit": 5}).json()["forecasts"]
    assert (len(listed), {one["made_at"][:10] for one in listed}) == (5, {"2025-01-09", "2025-01-10"})
    asked = {"agent": "B", "other": "A", "series": "brought_in"}
    found = client.get("/api/forecasts/comparison", params=asked).json()
    assert (found["worse"], found["forms"][0]["pairs"]) == (True, 40)
    own = kb.tokens.create("alice", scopes=("read", "write"), kind="agent", agent="A").token
    bound = TestClient(create_app(kb), base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {own}"})
    assert bound.get("/api/forecasts/comparison", params=asked).status_code == 403
    assert bound.post("/api/agents/B/forecasts", content=lines(0.1)).status_code in (403, 404)
    load = alice.loads()[0]
    assert client.post(f"/api/loads/{load.nth}/undo").json()["undone_at"]
    assert not alice.decisions.brought_in("B")


def test_an_agent_hears_what_its_percentages_have_meant(alice: Any, clock: Any) -> None:
    agent = alice.agents.create("A", adapter="external", card_type="forecast")
    card = {"probability": 0.8, "resolves_by": "2030-01-01T00:00:00Z"}
    runs = [alice.decisions.record("A", card | {"question": f"{nth}?"}).run_id for nth in range(30)]
    for nth, run in enumerate(runs):
        if nth == 29:
            assert "means" not in get_calibration(alice, agent.id).text
        alice.decisions.answer(run, nth < 19, settled_early="seen")
        clock.forward(days=1)
    heard = get_calibration(alice, agent.id).text
    assert "Your 80 means 63: 19 of 30 came true (95 % interval 45 to 78 %)." in heard
    asked = run_prompt("Go.", clock.now, "UTC", feedback=["Your 80 means 63."])
    assert "What the probabilities that you stated have meant so far:\nYour 80 means 63." in str(asked.hidden)
