"""What an operator is told: figures by name, a dashboard that asks for names there are, lines of log without a word of
anybody's."""

import json
import logging
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from opentelemetry import trace
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from keepbook import Invalid
from keepbook.doors.http.app import create_app
from keepbook.doors.http.log import JsonLineFormatter
from keepbook.doors.http.metrics import COUNTERS, GAUGES, Metrics

DASHBOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "keepbook.json"


@pytest.fixture
def mine(kb: Any, client: Any) -> TestClient:
    """The operator's program, which acts as Alice: figures of everybody are no owner's."""
    token = kb.tokens.create(kind="service", scopes=("read", "write", "admin", "person")).token
    found: TestClient = client(token, owner="alice")
    found.headers["X-Keepbook-Actor"] = "person"
    return found


def figures(mine: TestClient) -> dict[tuple[str, ...], float]:
    """By the name of a sample and its labels' values."""
    found = text_string_to_metric_families(mine.get("/metrics").text)
    return {(one.name, *one.labels.values()): one.value for family in found for one in family.samples}


def test_writes_closes_tokens_and_errors_are_counted(kb: Any, mine: TestClient) -> None:
    mine.post("/api/memory/", json={"content": "Likes tea"})
    mine.get("/api/memory/nobodyxx")
    alice = kb.book("alice")
    chat = alice.thread("one")
    chat.add("user", "I live in Oslo")
    chat.close()
    alice.spending.count("chat", "openai:gpt", 1000, 100)
    with suppress(Invalid), alice.transaction():
        alice.remember("Never happened")
        alice.remember("")

    found = figures(mine)
    assert found["keepbook_writes_total", "remember"] == 2  # by hand, and by closing
    assert found["keepbook_closes_total", "closed"] == 1
    assert found["keepbook_model_tokens_in_total", "openai:gpt"] == 1000
    assert found["keepbook_model_cost_total", "openai:gpt"] == 0
    assert found["keepbook_errors_total", "not_found"] == 1
    assert found["keepbook_database_wait_seconds_count", "write"] > 0


def test_a_worker_that_has_just_begun_is_in_nobodys_way(kb: Any, tmp_path: Path) -> None:
    metrics = Metrics(kb, tmp_path)
    (tmp_path / "counter_17.db").touch()
    told = generate_latest(metrics.registry).decode()
    assert "keepbook_due" in told


def test_a_token_for_figures_reads_nothing_else(kb: Any, client: Any) -> None:
    for kind, owner in (("agent", "alice"), ("service", None)):
        scraper = client(kb.tokens.create(owner, kind=kind, scopes=("metrics",)).token)
        assert scraper.get("/metrics").status_code == 200, kind
        assert scraper.get("/api/memory/", headers={"X-Keepbook-Owner": "alice"}).status_code == 403
    with pytest.raises(Invalid, match="no more"):
        kb.tokens.create("alice", kind="agent", scopes=("metrics", "write"))


@pytest.mark.parametrize(("kind", "scopes"), [("person", ("read", "write", "admin")), ("agent", ("read", "write"))])
def test_a_token_for_one_book_reads_no_figures_of_others_and_makes_none_that_does(
    kb: Any, client: Any, kind: str, scopes: tuple[str, ...]
) -> None:
    token = kb.tokens.create("alice", kind=kind, scopes=scopes).token
    told = client(token).get("/metrics")
    assert (told.status_code, told.json()["code"]) == (403, "scope")
    assert "--scopes metrics" in told.json()["detail"]
    made = client(token).post("/api/tokens", json={"kind": "agent", "scopes": ["metrics"]})
    assert (made.status_code, made.json()["code"]) == (403, "scope" if kind == "person" else "person_only")


def test_who_runs_the_server_reads_its_figures(kb: Any, client: Any) -> None:
    assert client().get("/metrics").status_code == 200, "without any token, on this machine"
    service = client(kb.tokens.create(kind="service", scopes=("read", "admin")).token, owner="alice")
    assert service.get("/metrics").status_code == 200
    assert service.post("/api/tokens", json={"kind": "agent", "scopes": ["metrics"]}).status_code == 201
    assert client().get("/metrics").status_code == 401


def test_methods_that_there_are_not_are_counted_as_one(mine: TestClient) -> None:
    for method in ("BREW", "WHEN", "PROPFIND"):
        assert mine.request(method, "/api/memory/").status_code == 405
    found = figures(mine)
    counted = {labels[1] for labels in found if labels[0] == "keepbook_requests_total"}
    assert counted == {"other"}
    assert sum(times for labels, times in found.items() if labels[:2] == ("keepbook_requests_total", "other")) == 3


def test_the_backlog_and_what_the_sweeps_do_are_told(kb: Any, mine: TestClient) -> None:
    alice = kb.book("alice")
    alice.thread("one").add("user", "I live in Oslo", at="2020-01-01")
    found = figures(mine)
    assert found["keepbook_due", "close"] == 1
    assert found["keepbook_due_seconds", "close"] > 86_400

    kb.sweep()
    found = figures(mine)
    assert found["keepbook_jobs_total", "close"] == 1
    assert ("keepbook_due", "close") not in found


def test_every_panel_of_the_dashboard_asks_for_figures_there_are(kb: Any) -> None:
    asked = {
        name
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\bkeepbook_\w+", target["expr"])
    }
    families = {family.name: family.type for family in Metrics(kb).registry.collect()}
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}
    there = {name + end for name, kind in families.items() for end in endings.get(kind, ("",))}
    assert asked <= there
    assert {family + "_total" for family, _, _ in COUNTERS.values()} | {name for name, _, _ in GAUGES.values()} <= asked


# --- the log


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLineFormatter())
        self.lines: list[dict[str, Any]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def kept() -> Any:
    handler, log = Kept(), logging.getLogger("keepbook")
    before, level = log.handlers[:], log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler.lines
    log.handlers[:] = before
    log.setLevel(level)


def test_a_request_has_an_id_and_one_line_without_a_word_of_anybodys(
    mine: TestClient, kept: list[dict[str, Any]]
) -> None:
    secret = "Walnut"
    made = mine.post("/api/memory/", json={"content": f"{secret} is bad for me"}, headers={"X-Request-ID": "abc-1"})
    mine.get("/api/memory/recall", params={"q": secret})
    mine.get(f"/api/memory/{secret}")
    mine.get(f"/nowhere/{secret}")
    mine.get("/api/memory/", headers={"X-Request-ID": f"{secret} <script>"})

    assert made.headers["X-Request-ID"] == "abc-1"
    assert kept[0]["request_id"] == "abc-1"
    assert {key: kept[0][key] for key in ("event", "method", "route", "status", "code")} == {
        "event": "request", "method": "POST", "route": "/api/memory/", "status": 201, "code": None,
    }  # fmt: skip
    assert [line["code"] for line in kept if line["status"] == 404] == ["not_found", "no_such_path"]
    assert len({line["request_id"] for line in kept}) == len(kept)
    told = json.dumps(kept)
    assert secret not in told
    assert "alice" not in told


def test_of_an_exception_the_log_tells_the_kind_and_the_places_alone(
    app: Any, kept: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("Walnuts are bad for alice")

    monkeypatch.setattr("keepbook.book.book.Book.list", broken)
    asking = TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000), raise_server_exceptions=False)
    assert asking.get("/api/memory/").status_code == 500
    [line] = [line for line in kept if "error" in line]
    assert (line["error"], line["event"]) == ("RuntimeError", "GET /api/memory/: RuntimeError")
    assert any(place.endswith(" broken") for place in line["where"])
    assert "Walnut" not in json.dumps(kept)


class Spans(trace.TracerProvider, trace.NoOpTracer):
    """Keeps what programs tell a collector of traces."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def get_tracer(self, *given: Any, **named: Any) -> trace.Tracer:
        return self

    def start_span(self, *given: Any, **named: Any) -> trace.Span:
        self.told.append(f"{given} {named}")
        return super().start_span(*given, **named)


def test_no_trace_of_the_framework_tells_what_is_asked(kb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = Spans()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", spans)
    TestClient(FastAPI()).get("/?q=Oslo")
    assert "Oslo" in " ".join(spans.told), "the framework tells no more; nothing has to be turned off"
    spans.told.clear()
    asking = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    for path in ("/api/memory/?q=Oslo", "/profile/facts?q=Oslo", "/nowhere?q=Oslo"):
        asking.get(path)
    assert spans.told == []
