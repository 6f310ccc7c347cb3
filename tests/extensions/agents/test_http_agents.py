"""Agents over HTTP: made, run, talked to, looked at again, resolved; each in its owner's book alone."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from starlette.testclient import TestClient

Clients = Callable[..., TestClient]
HEADER = "symbol,timeframe,time,open,high,low,close,volume"


def bars(kb: Any, until: datetime, closes: list[float]) -> None:
    """Daily bars of ETH/USDT up to a moment, the last one complete by then."""
    first = until.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=len(closes))
    rows = [HEADER]
    for number, close in enumerate(closes):
        at = first + timedelta(days=number)
        rows.append(f"ETH/USDT,1d,{at:%Y-%m-%dT00:00:00Z},{close},{close + 5},{close - 5},{close},100")
    assert kb.market.load(rows).refused == ()


def breakout(kb: Any, clock: Any) -> None:
    bars(kb, clock.now, [3000.0 + number % 3 for number in range(30)] + [3100.0])


def test_an_agent_is_made_with_a_name_alone_and_changed_and_removed(mine: TestClient) -> None:
    made = mine.post("/api/agents", json={"name": "Desk"})
    assert made.status_code == 201
    desk = made.json()
    assert (desk["adapter"], desk["card_type"], desk["model"], desk["schedule"]) == ("native", "note", None, None)
    assert [desk[name] for name in ("use_block", "memory_enabled", "review_decisions")] == [False] * 3
    url = f"/api/agents/{desk['id']}"
    changed = mine.patch(url, json={"schedule": "30 7 * * 1-5", "memory_enabled": True}).json()
    assert (changed["schedule"], changed["memory"]["status"], changed["name"]) == ("30 7 * * 1-5", "fresh", "Desk")
    assert mine.patch(url, json={"schedule": "soon"}).json()["field"] == "schedule"
    assert mine.patch(url, json={"colour": "red"}).status_code == 422
    assert mine.post("/api/agents", json={"name": "desk"}).status_code == 409
    assert [one["id"] for one in mine.get("/api/agents").json()["agents"]] == [desk["id"]]
    assert mine.delete(url).status_code == 200
    assert mine.get(url).status_code == 404
    assert mine.get("/api/agents").json() == {"agents": []}


def test_a_run_answers_with_its_card(kb: Any, mine: TestClient, clock: Any) -> None:
    breakout(kb, clock)
    told = {"name": "Desk", "card_type": "drift-trade", "default_prompt": "ETH/USDT: a trade, or wait?"}
    desk = mine.post("/api/agents", json=told | {"memory_enabled": True}).json()["id"]
    made = mine.post(f"/api/agents/{desk}/runs")
    assert made.status_code == 201
    run = made.json()
    assert (run["status"], run["kind"], run["card"]["type"]) == ("succeeded", "manual", "drift-trade")
    assert (run["model"], run["card"]["computed"]) == ("rule:drift", "drift")
    assert (run["card"]["slots"]["action"], run["card"]["slots"]["entry"]) == ("LONG", 3100)
    shown = mine.get(f"/api/runs/{run['id']}").json()
    assert [line["role"] for line in shown["transcript"]] == ["user", "assistant"]
    assert (shown["decision"]["state"], shown["re_examinable"], shown["session_before"]) == ("open", True, None)
    assert shown["session_after"] == mine.get(f"/api/agents/{desk}").json()["memory"]["session"]
    own = mine.post(f"/api/agents/{desk}/runs", json={"prompt": "SOL/USDT?"}).json()
    assert (own["prompt"], own["card"]["slots"]["action"], own["session_before"]) == (
        "SOL/USDT?", "WAIT", run["session_after"],
    )  # fmt: skip
    runs = mine.get(f"/api/agents/{desk}/runs").json()["runs"]
    assert [one["id"] for one in runs] == [own["id"], run["id"]]


def test_without_a_model_there_is_no_card_and_the_answer_says_so(mine: TestClient) -> None:
    told = {"name": "Desk", "card_type": "trade-decision", "run_tool_calls": 3}
    desk = mine.post("/api/agents", json=told).json()
    assert (desk["run_seconds"], desk["run_tool_calls"], desk["run_tokens"]) == (900, 3, None)
    assert mine.patch("/api/agents/Desk", json={"run_tool_calls": None}).json()["run_tool_calls"] == 40
    assert mine.patch("/api/agents/Desk", json={"run_tokens": 0}).status_code == 422
    run = mine.post(f"/api/agents/{desk['id']}/runs", json={"prompt": "ETH/USDT?"}).json()
    assert (run["status"], run["card"], run["error_code"]) == ("failed", None, "no_model")
    page = mine.get(f"/runs/{run['id']}").text
    assert "No card was made." in page
    assert "/settings/model" in page or "Whoever runs this server chooses it." in page


def test_a_run_that_takes_long_goes_on_after_its_request(kb: Any, mine: TestClient) -> None:
    desk = mine.post("/api/agents", json={"name": "Desk", "card_type": "drift-trade"}).json()["id"]
    with mine:  # one loop for all requests, as in a server
        begun = mine.post(f"/api/agents/{desk}/runs?wait=0", json={"prompt": "Go."}).json()
        assert begun["status"] in ("queued", "running", "succeeded")
        end = time.monotonic() + 30
        while mine.get(f"/api/runs/{begun['id']}").json()["status"] != "succeeded":
            assert time.monotonic() < end
            time.sleep(0.02)


def test_a_run_sent_again_with_the_same_key_is_run_once(mine: TestClient) -> None:
    desk = mine.post("/api/agents", json={"name": "Desk"}).json()["id"]
    once = {"Idempotency-Key": "morning"}
    first = mine.post(f"/api/agents/{desk}/runs", json={"prompt": "Go."}, headers=once).json()
    second = mine.post(f"/api/agents/{desk}/runs", json={"prompt": "Go."}, headers=once)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.json()["id"] == first["id"]
    assert len(mine.get(f"/api/agents/{desk}/runs").json()["runs"]) == 1


def test_a_decision_is_looked_at_again_until_it_is_resolved(kb: Any, mine: TestClient, clock: Any) -> None:
    breakout(kb, clock)
    told = {"name": "Desk", "card_type": "drift-trade", "default_prompt": "ETH/USDT?"}
    desk = mine.post("/api/agents", json=told).json()["id"]
    run = mine.post(f"/api/agents/{desk}/runs").json()["id"]
    before = mine.get(f"/api/runs/{run}").json()
    clock.forward(days=2)
    bars(kb, clock.now, [3090.0])
    looked = mine.post(f"/api/runs/{run}/re-examine")
    assert looked.status_code == 201
    card = looked.json()["card"]
    assert card["type"] == "re-examination"
    assert 0 <= card["slots"]["conviction_score"] < before["card"]["slots"]["conviction"]
    history = mine.get(f"/api/runs/{run}/re-examinations").json()
    assert [one["id"] for one in history] == [looked.json()["id"]]
    after = mine.get(f"/api/runs/{run}").json()
    assert {name: after[name] for name in ("card", "finished_at", "transcript")} == {
        name: before[name] for name in ("card", "finished_at", "transcript")
    }
    resolved = mine.post(f"/api/runs/{run}/resolve", json={"price": 3150})
    assert (resolved.status_code, resolved.json()["state"], resolved.json()["outcome"]) == (200, "resolved", "exited")
    refused = mine.post(f"/api/runs/{run}/re-examine")
    assert (refused.status_code, refused.json()["code"]) == (409, "closed")
    assert mine.post(f"/api/runs/{run}/resolve", json={"price": 1}).status_code == 409
    assert mine.get(f"/api/runs/{run}").json()["re_examinable"] is False
    assert [one["run_id"] for one in mine.get("/api/decisions?state=resolved").json()["decisions"]] == [run]
    assert mine.get("/api/decisions/calibration").json()["enough"] is False
    lines = [one["line"] for one in mine.get(f"/api/agents/{desk}/decisions").json()["decisions"]]
    assert len(lines) == 1
    assert "2d ago · LONG" in lines[0]


def test_chat_with_an_agent_goes_over_the_usual_messages(mine: TestClient) -> None:
    desk = mine.post("/api/agents", json={"name": "Desk", "memory_enabled": True}).json()["id"]
    thread = mine.post(f"/api/agents/{desk}/chat").json()
    assert mine.post(f"/api/agents/{desk}/chat").json()["id"] == thread["id"]
    said = mine.post(
        f"/api/chat/threads/{thread['id']}/messages", json={"text": "Hello"}, headers={"Accept": "application/json"}
    ).json()
    assert said["message"]["role"] == "assistant"
    memory = mine.get(f"/api/agents/{desk}").json()["memory"]
    assert (memory["status"], memory["runs"], memory["chats"]) == ("carrying", 0, 1)
    assert mine.post(f"/api/agents/{desk}/memory/reset").json()["memory"]["status"] == "fresh"
    assert len(mine.get(f"/api/chat/threads/{thread['id']}").json()["messages"]) == 2


def test_nobody_reads_or_runs_anothers_agent(kb: Any, mine: TestClient, client: Clients) -> None:
    desk = mine.post("/api/agents", json={"name": "Desk"}).json()["id"]
    run = mine.post(f"/api/agents/{desk}/runs", json={"prompt": "Go."}).json()["id"]
    bob = client(kb.tokens.create("bob").token)
    reader = client(kb.tokens.create("alice", scopes=("read",)).token)
    for path in (f"/api/agents/{desk}", f"/api/runs/{run}", f"/api/runs/{run}/re-examinations"):
        assert bob.get(path).status_code == 404
        assert reader.get(path).status_code == 200
    for path in (f"/api/agents/{desk}/runs", f"/api/runs/{run}/re-examine", f"/api/runs/{run}/resolve"):
        assert bob.post(path).status_code == 404
        assert reader.post(path).status_code == 403


def test_an_agents_token_may_not_say_that_the_person_got_out(
    kb: Any, mine: TestClient, client: Clients, clock: Any
) -> None:
    breakout(kb, clock)
    desk = mine.post("/api/agents", json={"name": "Desk", "card_type": "trade-decision"}).json()["id"]
    run = mine.post(f"/api/agents/{desk}/runs", json={"prompt": "ETH/USDT?"}).json()["id"]
    agent = client(kb.tokens.create("alice", kind="agent").token)
    assert agent.post(f"/api/runs/{run}/resolve", json={"price": 3200}).status_code == 403


def test_card_types_are_told_and_so_are_the_files_that_are_none(kb: Any, mine: TestClient) -> None:
    kb.settings.cards.mkdir(parents=True, exist_ok=True)
    (kb.settings.cards / "half.toml").write_text("name = 'half'\nline = 3\n")
    told = mine.get("/api/agents/card-types").json()
    assert {"trade-decision", "research-thesis", "note", "re-examination"} <= {one["name"] for one in told["types"]}
    assert any("half.toml" in one for one in told["broken"])


def test_tools_of_agents_are_called_by_name(mine: TestClient) -> None:
    mine.post("/api/agents", json={"name": "Desk"})
    told = mine.post("/api/tools/get_my_decisions", json={"agent": "Desk", "limit": 3}).json()
    assert (told["error"], told["data"]) == (None, {"decisions": []})
    assert mine.post("/api/tools/get_my_decisions", json={}).json()["error"] == "invalid"
    assert mine.post("/api/tools/get_calibration", json={}).json()["data"]["enough"] is False


def test_a_token_bound_to_an_agent_has_that_agents_tools(kb: Any, mine: TestClient, client: Clients) -> None:
    desk = mine.post("/api/agents", json={"name": "Desk"}).json()["id"]
    made = mine.post("/api/tokens", json={"kind": "agent", "agent": "Desk"})
    assert made.status_code == 201
    bound = client(made.json()["token"])
    tools = [one["function"]["name"] for one in bound.get("/api/tools").json()]
    assert tools == ["get_my_decisions", "get_calibration", "get_bars"]
    assert bound.post("/api/tools/get_my_decisions", json={}).json()["data"] == {"decisions": []}
    assert [one["agent"] for one in mine.get("/api/tokens").json()["tokens"]].count(desk) == 1
    assert mine.post("/api/tokens", json={"kind": "person", "agent": "Desk"}).json()["field"] == "agent"
    assert mine.post("/api/tokens", json={"kind": "agent", "agent": "Nobody"}).status_code == 404
    mine.delete(f"/api/agents/{desk}")
    assert bound.get("/api/tools").status_code == 404


# --- from outside ----------------------------------------------------------------------------------------

CARD = {
    "action": "LONG", "symbol": "ETH/USDT", "entry": 100.0, "stop": 90.0, "target": 120.0, "size": 1.5,
    "conviction": 60, "reason": "above the range", "thesis": "A week above it.", "expires": "2031-01-01T00:00:00Z",
}  # fmt: skip


def test_a_foreign_agent_records_its_decisions_once(mine: TestClient) -> None:
    mine.post("/api/agents", json={"name": "Bot", "adapter": "external", "card_type": "trade-decision"})
    sent = {"card": CARD, "key": "a-1", "made_at": "2026-03-01T06:00:00Z", "link": "https://localhost/a-1"}
    made = mine.post("/api/agents/Bot/decisions", json=sent)
    assert made.status_code == 201
    told = made.json()
    assert (told["run"]["kind"], told["run"]["adapter"], told["late"]) == ("recorded", "external", False)
    assert told["decision"]["decided_at"].startswith("2026-03-01T06:00:00")
    again = mine.post("/api/agents/Bot/decisions", json=sent)
    assert (again.status_code, again.json()["run_id"]) == (200, told["run_id"])
    other = mine.post("/api/agents/Bot/decisions", json=sent | {"card": CARD | {"conviction": 5}})
    assert (other.status_code, other.json()["code"]) == (409, "key_reused")
    wrong = mine.post("/api/agents/Bot/decisions", json={"card": CARD | {"stop": 130}})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_card")
    assert mine.post("/api/agents/Bot/runs").json()["code"] == "external"
    assert len(mine.get("/api/agents/Bot/runs?kind=recorded").json()["runs"]) == 1


def test_a_foreign_agent_looks_again_and_is_asked_by_us(mine: TestClient) -> None:
    mine.post("/api/agents", json={"name": "Bot", "adapter": "external", "card_type": "trade-decision"})
    run = mine.post("/api/agents/Bot/decisions", json={"card": CARD}).json()["run_id"]
    asked = mine.get(f"/api/runs/{run}/re-examine").json()
    assert "fully invalidated" in asked["prompt"]
    assert asked["actions"] == ["HOLD", "CLOSE", "SCALE"]
    look = {"conviction_score": 35, "notes": "It faded.", "suggested_action": "CLOSE"}
    made = mine.post(f"/api/runs/{run}/re-examinations", json={"card": look})
    assert (made.status_code, made.json()["run"]["parent_run"]) == (201, run)
    assert [one["card"]["slots"] for one in mine.get(f"/api/runs/{run}/re-examinations").json()] == [look]
    assert mine.post(f"/api/runs/{run}/re-examine").json()["code"] == "external"
    mine.post(f"/api/runs/{run}/resolve", json={"price": 110})
    assert mine.get(f"/api/runs/{run}/re-examine").status_code == 409


def test_forecasts_are_answered_and_scored(mine: TestClient) -> None:
    mine.post("/api/agents", json={"name": "Oracle", "adapter": "external", "card_type": "forecast"})
    said = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
    runs = []
    for nth, likely in enumerate(said):
        card = {"question": f"Does {nth} happen?", "probability": likely, "resolves_by": "2031-01-01T00:00:00Z"}
        runs.append(mine.post("/api/agents/Oracle/decisions", json={"card": card, "key": str(nth)}).json()["run_id"])
    for nth, run in enumerate(runs):
        done = mine.post(f"/api/runs/{run}/resolve", json={"outcome": nth % 2 == 1, "settled_early": "seen"}).json()
        assert (done["state"], done["outcome"]) == ("resolved", "true" if nth % 2 else "false")
    found = mine.get("/api/decisions/calibration?forecasts=true").json()
    brier = sum((likely - nth % 2) ** 2 for nth, likely in enumerate(said)) / 10
    assert (found["resolved"], round(found["brier"], 12)) == (10, round(brier, 12))
    asked = "/api/decisions/calibration?forecasts=true&known_at="
    assert mine.get(f"{asked}2020-01-01").json()["resolved"] == 0
    assert mine.get(f"{asked}yesteryear").json()["field"] == "known_at"
    assert len(mine.get("/api/decisions?forecasts=true&state=resolved").json()["decisions"]) == 10
    assert mine.get("/api/decisions?forecasts=false").json()["decisions"] == []
