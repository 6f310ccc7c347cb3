"""Trading over HTTP: skills, deployments, files, figures, events, lessons; each in its owner's book alone."""

import json
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.extensions.trading.book.imports.brokers import bybit
from tests.extensions.trading.desks import DESKS, learn, market, traded, world

from keepbook import Keepbook
from keepbook.demo.market import (
    bar_lines,
    deployment_lines,
    event_lines,
    market_trade_lines,
    position_lines,
    skill_lines,
)
from keepbook.doors.http.app import create_app
from keepbook.extensions.trading.api import trading
from keepbook.extensions.trading.book.market.events import Event
from keepbook.extensions.trading.book.trades import Position, Trade
from keepbook.extensions.trading.tools import TOOLS
from keepbook.settings import load_settings

Clients = Callable[..., TestClient]
WORLD = world()
API = "/api/trading"
FEW = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,fees,id\n"
ROW = "Main,BTC/USDT,long,2,2026-02-20,100,2026-02-2{0},{1},1,t{0}\n"


@pytest.fixture
def desk(kb: Any) -> None:
    market(kb, WORLD)
    traded(kb.book("alice"), WORLD)


@pytest.fixture
def main(mine: TestClient) -> str:
    """A skill and a deployment of it."""
    assert mine.post(f"{API}/skills", json={"name": "Scalper"}).status_code == 201
    made = mine.post(f"{API}/deployments", json={"name": "Main", "skill_id": "Scalper", "capital": 1000})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


def sent(client: TestClient, kind: str, text: str | bytes, **told: str) -> Any:
    return client.post(f"{API}/import", params={"kind": kind, **told}, content=text)


def test_the_shapes_that_are_documented_are_those_of_the_engine() -> None:
    pairs = {trading.TradeShown: Trade, trading.PositionShown: Position, trading.EventShown: Event}
    for shown, real in pairs.items():
        assert tuple(each.name for each in fields(shown)) == real._fields  # type: ignore[arg-type]


def test_a_skill_is_made_and_written_version_by_version(mine: TestClient) -> None:
    made = mine.post(f"{API}/skills", json={"name": "Scalper", "strategy": "Buy low."})
    skill = made.json()
    assert (made.status_code, skill["versions"]) == (201, {"strategy": 1, "schedule": 0, "chat": 0})
    first = made.headers["ETag"]
    url = f"{API}/skills/{skill['id']}"
    changed = mine.patch(url, json={"strategy": "Sell high.", "chat": "Brief."}, headers={"If-Match": first})
    assert (changed.json()["strategy"], changed.json()["versions"]["strategy"]) == ("Sell high.", 2)
    assert changed.headers["ETag"] != first
    late = mine.patch(url, json={"strategy": "Hold."}, headers={"If-Match": first})
    assert (late.status_code, late.json()["code"]) == (412, "precondition")
    assert mine.get(url).json()["skill"]["strategy"] == "Sell high."
    assert mine.post(f"{API}/skills", json={"name": "scalper"}).json()["code"] == "name_taken"
    assert mine.patch(url, json={"colour": "red"}).status_code == 422
    assert [one["id"] for one in mine.get(f"{API}/skills").json()["skills"]] == [skill["id"]]


def test_a_deployment_is_made_changed_and_ended(mine: TestClient, main: str) -> None:
    url = f"{API}/deployments/{main}"
    assert mine.patch(url, json={"account": "paper", "currency": "eur"}).json()["currency"] == "EUR"
    assert mine.patch(url, json={"capital": -5}).json()["field"] == "capital"
    assert mine.patch(url, json={"capital": None}).json()["capital"] is None
    assert mine.get(url).json()["deployment"]["account"] == "paper"
    assert mine.post(f"{API}/deployments", json={"name": "Two", "skill_id": "nope"}).status_code == 404
    assert mine.get(f"{API}/deployments", params={"skill_id": "Scalper"}).json()["deployments"][0]["id"] == main


def test_trades_are_loaded_once_and_a_wrong_row_costs_no_good_one(mine: TestClient, main: str) -> None:
    text = FEW + ROW.format(1, 110) + ROW.format(2, "x") + ROW.format(3, 90) + ROW.format(4, 95).replace("Main", "Moon")
    first = sent(mine, "trades", text).json()
    assert (first["added"], first["wrong"]) == (2, 2)
    assert [one["row"] for one in first["refused"]] == [3, 5]
    assert "no deployment 'Moon'" in first["refused"][1]["reason"]
    again = sent(mine, "trades", text).json()
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 2)
    found = mine.get(f"{API}/deployments/{main}", params={"detail": "full"}).json()
    assert (found["performance"]["pnl"], found["performance"]["return_pct"]) == (-2.0, -0.002)
    assert [one["pnl"] for one in found["trades"]] == [-21.0, 19.0]
    assert [one["equity"] for one in found["equity"]] == [1019.0, 1019.0, 998.0]
    then = mine.get(f"{API}/skills/Scalper", params={"known_at": "2026-02-22", "detail": "trades"}).json()
    assert ([one["pnl"] for one in then["trades"]], then["performance"]["pnl"]) == ([19.0], 19.0)


def test_a_file_sent_twice_under_one_key_is_loaded_once_and_answered_alike(mine: TestClient, main: str) -> None:
    def send() -> Any:
        told = {"kind": "trades", "deployment_id": "Main"}
        text = FEW.removeprefix("deployment,") + ROW.format(1, 110).removeprefix("Main,")
        return mine.post(f"{API}/import", params=told, content=text, headers={"Idempotency-Key": "k1"})

    first, second = send(), send()
    assert first.json() == second.json() == {
        "added": 1, "changed": 0, "unchanged": 0, "wrong": 0, "refused": [], "offered": 0, "corrections": [],
        "load": 1, "dry_run": False,
    }  # fmt: skip
    assert second.headers["Idempotency-Replayed"] == "true"


def test_json_lines_parquet_and_positions(mine: TestClient, main: str, tmp_path: Path) -> None:
    held = {"deployment": "Main", "symbol": "ETH/USDT", "side": "short", "quantity": 1, "entry_price": 9}
    first, second = (json.dumps(held | {"entry_time": day}) for day in ("2026-02-20", "2026-02-21"))
    both = f"{first}\n{second}\n"
    assert sent(mine, "positions", both).json()["added"] == 2
    assert len(mine.get(f"{API}/deployments/Main").json()["positions"]) == 2
    assert sent(mine, "positions", second).json()["changed"] == 1
    assert [one["entry_time"][:10] for one in mine.get(f"{API}/deployments/Main").json()["positions"]] == ["2026-02-21"]
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    parquet.write_table(arrow.table({"name": ["From parquet"]}), tmp_path / "skills.parquet")
    assert sent(mine, "skills", (tmp_path / "skills.parquet").read_bytes()).json()["added"] == 1
    assert "From parquet" in [one["name"] for one in mine.get(f"{API}/skills").json()["skills"]]
    broken = sent(mine, "skills", b"PAR1 and no more")
    assert (broken.status_code, broken.json()["field"]) == (422, "file")
    assert sent(mine, "freqtrade", b"no database").status_code == 422


def test_shared_data_is_loaded_by_the_installation_alone(kb: Any, client: Clients, mine: TestClient) -> None:
    bars, events = "".join(bar_lines(WORLD, ["BTC/USDT"])), "".join(event_lines(WORLD))
    for caller in (mine, client(kb.tokens.create("bob", kind="agent").token)):
        for kind, text in (("bars", bars), ("events", events)):
            refused = sent(caller, kind, text)
            assert (refused.status_code, refused.json()["code"]) == (403, "installation_only")
            assert "service token" in refused.json()["detail"]
    assert kb.market.recent("BTC/USDT") == []
    service = client(kb.tokens.create(kind="service").token, owner="anybody")
    assert sent(service, "bars", bars).json()["wrong"] == 0
    assert sent(service, "events", events).json()["added"] == len(events.splitlines()) - 1
    assert len(kb.market.recent("BTC/USDT")) == 60
    assert mine.get(f"{API}/events", params={"lookahead_hours": 72}).json()["events"]


def test_what_everybody_shares_is_about_no_owner_and_nothing_else_is(kb: Any, client: Clients) -> None:
    host = client(kb.tokens.create(kind="service", scopes=("read", "write", "admin")).token)
    bars, symbol = list(bar_lines(WORLD, ["BTC/USDT"]))[:4], "BTC/USDT"
    assert sent(host, "bars", "".join(bars)).json()["added"] == 3
    assert host.get(f"{API}/symbols").json() == {"symbols": [symbol]}
    assert len(host.get(f"{API}/bars", params={"symbol": symbol}).json()["bars"]) == 3
    assert host.get(f"{API}/market-events/none").json() == {"event": None}
    for kinds in ("trades", ["bars", "trades"], ["trades", "bars"], []):
        refused = host.post(f"{API}/import", params={"kind": kinds}, content="x")
        assert (refused.status_code, refused.json()["field"]) == (422, "X-Keepbook-Owner")
    for path in ("/trades", "/positions", "/performance", "/bars/", "/symbols/x"):
        assert host.get(API + path).status_code in (404, 422)
    assert kb.owners() == []


def test_a_server_without_tokens_is_the_installation(client: Clients) -> None:
    assert sent(client(), "bars", "".join(bar_lines(world(minutes=240)))).json()["added"] > 100


def test_every_kind_of_file_over_http_is_what_the_loaders_make_of_it(kb: Any, mine: TestClient, desk: None) -> None:
    files = {
        "skills": skill_lines(DESKS),
        "deployments": deployment_lines(WORLD, DESKS),
        "trades": market_trade_lines(WORLD, DESKS),
        "positions": position_lines(WORLD, DESKS),
    }
    for kind, lines in files.items():
        text = list(lines)
        again = sent(mine, kind, "".join(text)).json()
        assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, len(text) - 1)


def test_figures_and_the_page_of_trades_are_those_of_the_engine(kb: Any, mine: TestClient, desk: None) -> None:
    book = kb.book("alice")
    shown = mine.get(f"{API}/skills/BTC scalper", params={"detail": "full"}).json()
    assert shown["performance"]["pnl"] == book.trading.performance(skill="BTC scalper").pnl
    assert shown["performance"]["periods"]["this_week"]["trades"] > 0
    assert len(shown["equity"]) > 30
    assert [one["name"] for one in shown["deployments"]] == ["BTC scalper main"]
    seen: list[str] = []
    cursor = None
    while True:
        told = {"skill_id": "BTC scalper", "limit": 100} | ({"cursor": cursor} if cursor else {})
        page = mine.get(f"{API}/trades", params=told).json()
        seen += [one["key"] for one in page["trades"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == page["total"] == shown["performance"]["trades"]
    assert mine.get(f"{API}/trades", params={"limit": 0}).status_code == 422


def test_events_take_what_the_tool_takes(mine: TestClient, desk: None) -> None:
    told = {"lookahead_hours": 72, "deployment_id": "ETH swing paper"}
    found = mine.get(f"{API}/events", params=told).json()
    assert [one["kind"] for one in found["events"]] == ["jobs", "unlock"]
    assert [row["event_id"] for row in found["your_exposure"]] == [one["id"] for one in found["events"]]
    asked = mine.post("/api/tools/get_upcoming_events", params={"preset": "coach"}, json=told).json()["data"]
    assert asked["your_exposure"] == found["your_exposure"]
    only = mine.get(f"{API}/events", params={"lookahead_hours": 72, "types": ["unlock", "x"], "symbols": "ETH"}).json()
    assert ([one["kind"] for one in only["events"]], only["your_exposure"]) == (["unlock"], None)
    for wrong in ({"lookahead_hours": 73}, {"lookahead_hours": 0}, {"min_importance": 1.5}):
        assert mine.get(f"{API}/events", params=wrong).json()["field"] == next(iter(wrong))


def test_lessons_are_found_pinned_retired_and_restored(kb: Any, mine: TestClient, desk: None) -> None:
    def standing(state: str = "active") -> dict[str, Any]:
        return {one["id"]: one for one in mine.get(f"{API}/lessons", params={"state": state}).json()["lessons"]}

    learn(kb.book("alice"), reflects=False)
    said = mine.post(f"{API}/lessons/reflect", json={"skill_id": "BTC scalper"}).json()
    assert list(standing()) == [one["lesson"]["id"] for one in said["outcomes"]]
    lesson = next(iter(standing()))
    url = f"{API}/lessons/{lesson}"
    pinned = mine.post(f"{url}/pin").json()
    assert (pinned["pinned"], pinned["state"]) == (True, "active")
    assert mine.post(f"/api/memory/undo/{pinned['event']}").status_code == 200
    assert standing()[lesson]["pinned"] is False
    mine.post(f"{url}/pin")
    assert mine.post(f"{url}/unpin").json()["pinned"] is False
    assert mine.post(f"{url}/retire").json()["state"] == "retired"
    assert lesson not in standing()
    assert standing("all")[lesson]["state"] == "retired"
    again = mine.post(f"{API}/lessons/reflect", json={"skill_id": "BTC scalper"}).json()
    assert {one["lesson"]["id"]: one["what"] for one in again["outcomes"]}[lesson] == "retired"
    assert mine.post(f"{url}/restore").json()["state"] == "active"
    assert mine.post(f"{API}/lessons/reflect", json={}).json()["field"] == "skill"
    fact = kb.book("alice").remember("Has a dog")
    assert mine.post(f"{API}/lessons/{fact.id}/pin").status_code == 404


def test_an_agent_reflects_but_only_the_person_pins(kb: Any, client: Clients, desk: None) -> None:
    agent = client(kb.tokens.create("alice", kind="agent").token)
    learn(kb.book("alice"), reflects=False)
    found = agent.post(f"{API}/lessons/reflect", json={"skill_id": "BTC scalper"}).json()
    lesson = found["outcomes"][0]["lesson"]["id"]
    for verb in ("pin", "unpin", "retire", "restore"):
        refused = agent.post(f"{API}/lessons/{lesson}/{verb}")
        assert (refused.status_code, refused.json()["code"]) == (403, "person_only")


def test_trades_that_are_sent_twice_come_in_once_and_go_once(mine: TestClient, main: str) -> None:
    key = {"Idempotency-Key": "a file"}
    told = {"params": {"kind": "trades"}, "content": FEW + ROW.format(1, 110), "headers": key}
    first, again = (mine.post(f"{API}/import", **told) for _ in range(2))
    assert (first.json()["added"], again.text, again.headers["Idempotency-Replayed"]) == (1, first.text, "true")
    url = f"{API}/loads/{first.json()['load']}/undo"
    gone, told_again = (mine.post(url, headers={"Idempotency-Key": "undone"}) for _ in range(2))
    assert (gone.status_code, told_again.text) == (200, gone.text)
    assert mine.post(url).status_code == 409


def test_with_memory_off_no_kept_answer_tells_a_lesson_again(kb: Any, client: Clients, desk: None) -> None:
    agent = client(kb.tokens.create("alice", kind="agent").token)
    learn(kb.book("alice"), reflects=False)
    asked = {"url": f"{API}/lessons/reflect", "json": {"skill_id": "BTC scalper"}, "headers": {"Idempotency-Key": "a"}}
    took = {"url": f"{API}/import", "params": {"kind": "trades"}, "content": FEW, "headers": {"Idempotency-Key": "b"}}
    learned, loaded = agent.post(**asked), agent.post(**took)
    assert learned.json()["outcomes"]
    kb.book("alice").choose(memory=False)
    refused, again = agent.post(**asked), agent.post(**took)
    assert (refused.status_code, refused.json()["code"]) == (403, "memory_off")
    assert (again.text, again.headers["Idempotency-Replayed"]) == (loaded.text, "true")
    kb.book("alice").choose(memory=True)
    assert agent.post(**asked).text == learned.text


def test_a_reader_reads_and_writes_nothing(kb: Any, client: Clients, desk: None) -> None:
    reader = client(kb.tokens.create("alice", scopes=("read",)).token)
    assert reader.get(f"{API}/skills").status_code == 200
    for method, path, body in (
        ("POST", "/skills", {"name": "X"}),
        ("PATCH", "/skills/BTC scalper", {"chat": "X"}),
        ("POST", "/deployments", {"name": "X", "skill_id": "BTC scalper"}),
        ("PATCH", "/deployments/BTC scalper main", {"name": "X"}),
        ("POST", "/lessons/reflect", {"skill_id": "BTC scalper"}),
        ("POST", "/import?kind=skills", None),
    ):
        assert reader.request(method, API + path, json=body).json()["code"] == "scope", path
    tools = {"preset": "coach", "mode": "authoring"}
    told = {"skill_id": "BTC scalper", "text": "X"}
    assert reader.post("/api/tools/set_chat", params=tools, json=told).json()["code"] == "scope"


def test_the_tools_over_http_are_those_of_the_preset_and_mode(mine: TestClient, desk: None) -> None:
    def names(**told: str) -> set[str]:
        return {each["function"]["name"] for each in mine.get("/api/tools", params=told).json()}

    writers = {function.__name__ for function, may in TOOLS if not may.read_only}
    assert names(preset="coach", mode="authoring") - names(preset="coach") == writers
    assert not names(preset="general", mode="authoring") & (writers | {"get_skill_performance"})
    told = {"skill_id": "BTC scalper", "text": "Brief."}
    assert mine.post("/api/tools/set_chat", params={"preset": "coach"}, json=told).status_code == 404
    alone = mine.post("/api/tools/set_chat", params={"preset": "coach", "mode": "authoring"}, json=told)
    assert "nly the person may create and change skills" in alone.text, "a tool called from outside is an agent's"


def test_another_owner_meets_none_of_it(kb: Any, client: Clients, desk: None) -> None:
    learn(kb.book("alice"))
    own = kb.book("alice").trading
    skill, running, lesson = own.skills()[0].id, own.deployments()[0].id, own.lessons()[0].id
    bob = client(kb.tokens.create("bob", scopes=("read", "write", "admin")).token)
    assert bob.get(f"{API}/skills").json() == {"skills": []}
    assert bob.get(f"{API}/trades").json()["total"] == 0
    assert bob.get(f"{API}/lessons?state=all").json() == {"lessons": []}
    for method, path, body in (
        ("GET", f"/skills/{skill}", None),
        ("PATCH", f"/skills/{skill}", {"chat": "Mine"}),
        ("GET", f"/deployments/{running}", None),
        ("PATCH", f"/deployments/{running}", {"name": "Mine"}),
        ("GET", f"/events?deployment_id={running}", None),
        ("POST", "/lessons/reflect", {"skill_id": skill}),
        ("POST", f"/lessons/{lesson}/pin", None),
        ("POST", f"/lessons/{lesson}/retire", None),
    ):
        assert bob.request(method, API + path, json=body).status_code == 404, path


def test_a_brokers_file_is_looked_at_and_brought_in(mine: TestClient) -> None:
    sent = {"content": bybit().text.encode(), "headers": {"Content-Type": "text/plain"}}
    shown = mine.post("/api/trading/import?kind=trades&dry_run=true", **sent).json()
    assert (shown["format"], shown["trades"], shown["dry_run"], len(shown["preview"])) == ("bybit", 5, True, 5)
    assert mine.get("/api/trading/trades").json()["total"] == 0
    made = mine.post("/api/trading/import?kind=trades", **sent).json()
    assert made["rows"] == made["added"] + made["paired"] + made["unchanged"] + made["wrong"] == 8
    assert mine.get("/api/trading/trades").json()["total"] == 5
    wrong = mine.post("/api/trading/import?kind=trades&format=kraken", **sent)
    assert (wrong.status_code, wrong.json()["field"]) == (422, "format")
    sent["content"] = b"Date,Symbol,Side,Quantity,Price\n2/6/2026,A,buy,1,$100\n3/6/2026,A,sell,1,$110\n"
    way = "/api/trading/import?kind=trades&dry_run=true"
    assert mine.post(way, **sent).json()["field"] == "dates"
    assert mine.post(f"{way}&dates=day", **sent).json()["preview"][0]["entry_time"].startswith("2026-06-02")


def test_a_dry_run_holds_a_trade_is_taken_back_and_a_split_is_said(mine: TestClient, main: str) -> None:
    told = {"kind": "trades", "deployment_id": main}
    text = FEW.removeprefix("deployment,") + ROW.format(1, 110).removeprefix("Main,")
    shown = mine.post(f"{API}/import", params=told | {"dry_run": "true"}, content=text).json()
    assert (shown["added"], shown["dry_run"], mine.get(f"{API}/trades").json()["total"]) == (1, True, 0)
    database = bytearray((Path(__file__).parent / "book" / "data" / "tradesv3.sqlite").read_bytes())
    database[18:20] = b"\x01\x01"  # whole without the file beside it
    tried = mine.post(f"{API}/import?kind=trades&dry_run=true", content=bytes(database)).json()
    assert (tried["added"], len(mine.get(f"{API}/deployments").json()["deployments"])) == (8, 1)
    mine.post(f"{API}/import", params=told, content=text)
    (one,) = mine.get(f"{API}/trades").json()["trades"]
    gone = mine.post(f"{API}/trades/take-back", json={"key": one["key"][:9]}).json()
    assert mine.get(f"{API}/trades").json()["total"] == 0
    assert mine.post(f"{API}/loads/{gone['nth']}/undo").json()["undone_at"]
    assert mine.get(f"{API}/trades").json()["total"] == 1
    said = mine.post(f"{API}/splits", json={"symbol": "AAPL", "ratio": "4:1", "on": "2026-02-02"})
    assert (said.status_code, said.json()["title"]) == (201, "Split of AAPL, 4 for 1 on 2026-02-02")


def test_half_of_a_database_is_refused_in_words(mine: TestClient) -> None:
    """In write-ahead mode the last rows stand in a file beside it, which nobody sends."""
    half = b"SQLite format 3\x00" + b"\x10\x00\x02\x02" + b"\x00" * 200
    told = mine.post("/api/trading/import?kind=freqtrade", content=half)
    assert told.status_code == 422
    assert "tradesv3.sqlite-wal" in told.json()["detail"]


def test_a_file_that_is_brought_in_may_be_larger_but_not_any_size(book_url: str) -> None:
    settings = load_settings(db=book_url, max_body_bytes=2000, max_import_bytes=9000)
    rows = b"time,symbol,side,quantity,price\n" + b"2026-01-05 10:00,EURUSD,buy,2,1.10\n" * 200
    with Keepbook(book_url, settings=settings) as kb:
        reads = {"Accept": "text/html"}
        mine = TestClient(create_app(kb), base_url="http://localhost", client=("127.0.0.1", 1), headers=reads)
        for path in ("/trading/import", "/trading/load", "/trading/mine/load", "/api/trading/import?kind=trades"):
            assert mine.post(path, files={"file": ("fills.csv", rows)}).status_code != 413, path
            assert mine.post(path, files={"file": ("fills.csv", b"x" * 9001)}).status_code == 413, path
