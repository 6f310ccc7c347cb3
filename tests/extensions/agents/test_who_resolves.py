"""Who says how a forecast came out, when, and in which words: kept, checked, and counted apart where it may have been
the forecaster."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook import Conflict, Invalid
from keepbook.book.ground.when import stamp
from keepbook.doors.http.app import create_app

ELECTION = """
name = "match"
title = "Match"
line = "{age} · {winner}"
re_examinable = "until_resolved"
[forecast]
probability = "sure"
due = "by"
claim = "winner"
[slots.game]
type = "text"
max = 80
[slots.winner]
type = "choice"
choices = ["Home", "Draw", "Away"]
[slots.sure]
type = "number"
min = 0
max = 1
[slots.by]
type = "time"
future = true
"""
DAY = timedelta(days=1)


@pytest.fixture
def pundit(kb: Any, tmp_path: Path) -> Any:
    (tmp_path / "match.toml").write_text(ELECTION)
    kb.settings = kb.settings.but(cards=tmp_path)
    return kb.book("alice").agents.create("Pundit", adapter="external", card_type="match")


def record(kb: Any, clock: Any, **changed: Any) -> str:
    card = {"game": "Ajax - Celtic", "winner": "Home", "sure": 0.6, "by": stamp(clock.now + DAY)} | changed
    run: str = kb.book("alice").decisions.record("Pundit", card).run_id
    return run


def test_an_outcome_is_one_of_the_choices_and_comes_at_its_date(kb: Any, clock: Any, pundit: Any) -> None:
    book = kb.book("alice")
    run = record(kb, clock)
    for early in ("Home", None):
        with pytest.raises(Invalid, match="say why it is settled") as refused:
            book.decisions.answer(run, early)
        assert (refused.value.code, refused.value.field) == ("not_due", "settled_early")
    assert book.decisions.due() == []
    clock.forward(days=2)
    for outcome in ("Hmoe", "", "Home or Draw", True, 1, "HOME\x00"):
        with pytest.raises(Invalid, match="one of Home, Draw, Away"):
            book.decisions.answer(run, outcome)
    [waits] = book.decisions.due(agent="Pundit")
    assert (waits.run_id, waits.agent, waits.choices) == (run, "Pundit", ("Home", "Draw", "Away"))
    assert waits.asked.keys() == {"game", "by"}, "whoever answers is not told what was held to be likely"
    assert waits.question == "Ajax - Celtic"
    done = book.decisions.answer(run, " home ")
    assert (done.outcome, done.note, done.settled_early, done.closed_by) == ("true", "it was Home", None, "person")
    other = record(kb, clock)
    won = book.decisions.answer(other, "Away", settled_early="Ajax has withdrawn")
    assert (won.outcome, won.settled_early) == ("false", "Ajax has withdrawn")
    anew = book.decisions.answer(other, "Home")
    assert (anew.outcome, anew.settled_early) == ("true", "Ajax has withdrawn"), "said anew, it is settled all the same"
    assert book.verify().ok


def test_the_forecasters_own_word_counts_apart(kb: Any, clock: Any, pundit: Any) -> None:
    """The same forecast, answered by everybody who can."""
    runs = {name: record(kb, clock) for name in ("person", "bound", "agent", "host", "resolver", "own resolver")}
    clock.forward(days=2)
    with pytest.raises(Invalid, match="leave out 'write'"):
        kb.tokens.create("alice", kind="agent", scopes=("write", "resolve"))
    with pytest.raises(Invalid, match="scopes are of read, write, admin;"):
        kb.tokens.create("alice", kind="person", scopes=("resolve",))
    told: dict[str, dict[str, Any]] = {
        "person": {},
        "bound": {"kind": "agent", "agent": pundit.id},
        "agent": {"kind": "agent", "name": "Helper"},
        "resolver": {"kind": "agent", "scopes": ("resolve",), "name": "Scores"},
        "own resolver": {"kind": "agent", "scopes": ("resolve",), "agent": pundit.id},
    }
    keys = {name: kb.tokens.create("alice", **given).token for name, given in told.items()}
    keys["host"] = kb.tokens.create(kind="service", scopes=("resolve",), name="Scores of all").token
    found = {}
    client = TestClient(create_app(kb), base_url="http://127.0.0.1")
    for name, run in runs.items():
        client.headers["Authorization"] = f"Bearer {keys[name]}"
        client.headers["X-Keepbook-Owner"] = "alice"
        assert run in [one["run_id"] for one in client.get("/api/decisions/due").json()["forecasts"]]
        done = client.post(f"/api/runs/{run}/resolve", json={"outcome": "Home"}).json()
        found[name] = (done["closed_by"], done["resolver"], done["series"])
        anew = client.post(f"/api/runs/{run}/resolve", json={"outcome": "Away"})
        assert anew.status_code == (200 if name == "person" else 409)
        if "resolver" in name or name == "host":
            _may_nothing_else(client, run, pundit.id)
    assert found == {
        "person": ("person", None, "witnessed"),
        "bound": ("agent", pundit.id, "self_graded"),
        "agent": ("agent", "Helper", "self_graded"),
        "resolver": ("resolver", "Scores", "witnessed"),
        "own resolver": ("agent", pundit.id, "self_graded"),
        "host": ("resolver", "Scores of all", "witnessed"),
    }
    book = kb.book("alice")
    weighed = book.decisions.calibration("Pundit", forecasts=True)
    assert (weighed.resolved, weighed.resolved_by_series["self_graded"]) == (3, 3)
    with pytest.raises(Conflict):
        kb.book("alice", by="agent").decisions.answer(runs["person"], "Draw")


def _may_nothing_else(client: TestClient, run: str, agent: str) -> None:
    card = {"game": "Ajax - Celtic", "winner": "Home", "sure": 0.6, "by": "2031-01-01"}
    for method, path, body in (
        ("GET", "/api/memory/", None),
        ("GET", f"/api/runs/{run}", None),
        ("GET", "/api/decisions", None),
        ("GET", "/api/export", None),
        ("POST", f"/api/agents/{agent}/decisions", {"card": card}),
        ("POST", "/api/memory/", {"content": "I was here"}),
        ("POST", "/api/tokens", {"kind": "agent"}),
        ("GET", "/api/tools", None),
    ):
        assert client.request(method, path, json=body).status_code == 403, path


def test_a_token_for_resolving_is_made_by_who_may_write(kb: Any, pundit: Any) -> None:
    wanted = {"kind": "agent", "scopes": ["resolve"], "name": "Scores"}
    client = TestClient(create_app(kb), base_url="http://127.0.0.1")
    for scopes, answer in ((("read", "write", "admin"), 201), (("read", "admin"), 403)):
        client.headers["Authorization"] = f"Bearer {kb.tokens.create('alice', scopes=scopes).token}"
        assert client.post("/api/tokens", json=wanted).status_code == answer
