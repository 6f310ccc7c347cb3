"""The contract of agents and trading, in every place: the same methods, values and errors."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.trading.trade_rows import BEGIN, lines, many_trades, trade

from keepbook import Conflict, Invalid, NotAllowed, NotFound, Page, to_json
from keepbook.extensions.agents.book.cards import CardTypes
from keepbook.extensions.agents.book.decisions import Decision
from keepbook.extensions.agents.book.scoring.brought_in import BroughtForecast, BroughtIn
from keepbook.extensions.agents.book.scoring.comparison import AgentComparison
from keepbook.extensions.trading.book.breakdown import Breakdown
from keepbook.extensions.trading.book.exposure import Coming
from keepbook.extensions.trading.book.imports.load import ImportedTrades
from keepbook.extensions.trading.book.lessons import Lesson
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.performance import EquityPoint, Performance
from keepbook.extensions.trading.book.reflection import Reflection
from keepbook.extensions.trading.book.skills import Deployment, FieldVersion, Skill
from keepbook.extensions.trading.book.trades import Position, Trade

POSITION = {
    "symbol": "BTC/USDT", "side": "long", "quantity": 1.0, "entry_price": 100.0, "entry_time": "2026-05-01T00:00:00Z",
}  # fmt: skip


@pytest.fixture
def desk(book: Any) -> Any:
    """A book whose skill is at work."""
    book.trading.create_skill("Swing", description="Days to weeks", strategy="Buy dips")
    book.trading.create_deployment("Swing live", "Swing", capital=10_000, started_at=BEGIN)
    return book


def test_skills_say_what_they_do(desk: Any) -> None:
    trading = desk.trading
    skill = trading.skill("Swing")
    assert (type(skill), skill.strategy, [one.id for one in trading.skills()]) == (Skill, "Buy dips", [skill.id])
    told = trading.set_field("Swing", "strategy", "Buy deep dips", expect_version=1)
    assert (type(told), told.version, told.actor) == (FieldVersion, 2, "person")
    with pytest.raises(Conflict) as stale:
        trading.set_field("Swing", "strategy", "Sell rallies", expect_version=1)
    assert stale.value.code == "version"
    with pytest.raises(Invalid) as none:
        trading.set_field("Swing", "colour", "red")
    assert none.value.field == "field"
    assert [one.value for one in trading.field_history("Swing", "strategy")] == ["Buy deep dips", "Buy dips"]
    assert {one.field for one in trading.field_history("Swing")} >= {"strategy"}
    with pytest.raises(NotFound) as unknown:
        trading.skill("Scalp")
    assert unknown.value.field == "skill"


def test_deployments_run_and_end(desk: Any) -> None:
    trading = desk.trading
    live = trading.deployment("Swing live")
    assert (type(live), live.capital, live.started_at) == (Deployment, 10_000, BEGIN)
    ended = trading.change_deployment(live.id, ended_at="2026-07-01T00:00:00Z", account="U1")
    assert (ended.ended_at, ended.account) == (datetime(2026, 7, 1, tzinfo=UTC), "U1")
    assert trading.change_deployment(live.id, ended_at=None).ended_at is None
    assert [one.id for one in trading.deployments("Swing")] == [one.id for one in trading.deployments()] == [live.id]


def test_what_was_traded_comes_in_and_is_measured(desk: Any, tmp_path: Path) -> None:
    trading, heard = desk.trading, []
    file = tmp_path / "trades.jsonl"
    file.write_text("\n".join(lines(many_trades(5, 60))), encoding="utf-8")
    loaded = trading.load("trades", file, deployment="Swing live", progress=heard.append)
    assert (type(loaded), loaded.added, loaded.wrong, heard[-1]) == (LoadedFile, 60, 0, 60)
    assert trading.load("trades", file, deployment="Swing live").unchanged == 60
    assert trading.load("positions", lines([POSITION]), deployment="Swing live").added == 1
    assert [(type(one), one.symbol, one.closed_at) for one in trading.positions()] == [(Position, "BTC/USDT", None)]
    page = trading.trades(skill="Swing", limit=25)
    assert (type(page), page.total, len(page), page.rows, type(page[0])) == (Page, 60, 25, "trades", Trade)
    rest = trading.trades(deployment="Swing live", limit=50, cursor=page.next)
    assert (len(rest), rest.next) == (35, None)
    figures = trading.performance(skill="Swing")
    assert (type(figures), figures.trades, figures.open_positions, type(figures.known_at)) == (
        Performance, 60, 1, datetime,
    )  # fmt: skip
    assert figures.periods == trading.performance(deployment="Swing live", known_at=figures.known_at).periods
    assert trading.performance(since="2026-01-12", known_at=figures.known_at).since == datetime(2026, 1, 12, tzinfo=UTC)
    parts = trading.breakdown(skill="Swing")
    assert (type(parts), parts.trades, sum(one.trades for one in parts.by_symbol)) == (Breakdown, 60, 60)
    assert {type(one) for one in trading.equity(deployment="Swing live")} == {EquityPoint}
    with pytest.raises(Invalid) as kind:
        trading.load("stamps", [])
    assert kind.value.field == "kind"


def test_a_brokers_file_is_recognised(desk: Any) -> None:
    trading = desk.trading
    rows = ["when,what,way,size,at,paid\n", "2026-02-01T10:00:00Z,BTC/USDT,buy,1,100,0\n",
            "2026-02-01T12:00:00Z,BTC/USDT,sell,1,110,0\n"]  # fmt: skip
    columns = {"time": "when", "symbol": "what", "side": "way", "quantity": "size", "price": "at", "fee": "paid"}
    seen = trading.bring_in(rows, deployment="Swing live", columns=columns, format="My broker", dry_run=True)
    assert (type(seen), seen.trades, seen.profit, trading.trades().total) == (ImportedTrades, 1, 10.0, 0)
    kept = trading.bring_in(rows, deployment="Swing live", columns=columns, format="My broker")
    assert (kept.trades, trading.trades().total, dict(trading.mappings()["My broker"])) == (1, 1, columns)


def test_lessons_are_learnt_and_judged(there: Any, desk: Any, owner: str) -> None:
    trading = desk.trading
    gains = [0.02 + nth % 7 / 1000 if nth % 8 else -0.005 for nth in range(48)]
    trading.load("trades", lines([trade(nth * 30, net) for nth, net in enumerate(gains)]), deployment="Swing live")
    learnt = trading.reflect(skill="Swing")
    assert (type(learnt), learnt.trades) == (Reflection, 48)
    lessons = trading.lessons(skill="Swing")
    assert lessons
    assert {type(one) for one in lessons} == {Lesson}
    assert trading.pin(lessons[0].id).pinned
    assert not trading.unpin(lessons[0].id).pinned
    assert trading.retire(lessons[0].id).state == "retired"
    assert trading.restore_lesson(lessons[0].id).state == "active"
    with pytest.raises(NotAllowed) as refused:
        there.book(owner, by="agent").trading.pin(lessons[0].id)
    assert refused.value.code == "person_only"


def test_the_market_is_shared(there: Any, desk: Any, owner: str) -> None:
    symbol = f"X{owner.rsplit(maxsplit=1)[-1]}/USDT"
    bars = [{"symbol": symbol, "timeframe": "1h", "time": f"2026-03-01T0{hour}:00:00Z", "open": 100, "high": 111,
             "low": 99, "close": 110, "volume": 5} for hour in range(3)]  # fmt: skip
    assert there.market.load(lines(bars)).added == 3
    assert [bar.close for bar in there.market.recent(symbol, limit=2)] == [110.0, 110.0]
    assert symbol in there.market.symbols()
    event = {"id": f"fomc {owner}", "kind": "fomc", "time": "2026-03-02T12:00:00Z", "importance": 0.9, "title": "Rates",
             "symbols": [symbol], "known_at": "2026-01-01T00:00:00Z"}  # fmt: skip
    assert there.market.load_events(lines([event])).added == 1
    found = there.market.event(event["id"])
    assert (found.title, found.symbols) == ("Rates", (symbol,))
    assert there.market.event("nothing") is None
    coming = desk.trading.events(known_at="2026-03-02T00:00:00Z", symbols=[symbol], deployment="Swing live")
    assert (type(coming), [one.title for one in coming.events], coming.your_exposure) == (Coming, ["Rates"], ())


def test_agents_decide_and_are_judged(book: Any) -> None:
    agent = book.agents.create("Desk", card_type="forecast")
    assert [one.id for one in book.agents.list()] == [agent.id]
    assert book.agents.update("Desk", instructions="Be brief").instructions == "Be brief"
    slots = {"question": "Will it rain in Oslo?", "resolves_by": "2026-12-31T00:00:00Z", "probability": 0.7}
    made = book.decisions.record("Desk", slots, made_at="2026-01-02T10:00:00Z", key="one")
    assert book.decisions.record("Desk", slots, made_at="2026-01-02T10:00:00Z", key="one").replayed
    run = book.runs.get(made.run.id)
    assert (run.agent_id, [one.id for one in book.runs.list("Desk")]) == (agent.id, [run.id])
    assert book.decisions.due() == []
    assert book.decisions.answer(run.id, True, settled_early="It rains").settled_early == "It rains"
    assert book.decisions.find(run.id).outcome is not None
    told = {"forecasts": True, "series": "recorded_later"}
    known = [book.decisions.calibration("Desk", known_at=at, **told) for at in ("2020-01-01", None)]
    assert [one.resolved for one in known] == [0, 1]
    assert book.decisions.calibration("Desk", forecasts=True).resolved_by_series["recorded_later"] == 1
    assert book.agents.delete("Desk").id == agent.id


def test_forecasts_are_brought_in_compared_and_answered_by_numbers(book: Any, tmp_path: Path) -> None:
    for name in ("A", "B"):
        book.agents.create(name, adapter="external", card_type="forecast")
    rows = [
        {
            "question": f"{nth}?",
            "probability": 0.6,
            "outcome": True,
            "made_at": "2025-01-01",
            "resolved_at": "2025-01-02",
        }
        for nth in range(3)
    ]
    would = book.decisions.bring_in("A", rows, dry_run=True)
    assert (type(would), would.added, would.dry_run) == (BroughtIn, 3, True)
    file = tmp_path / "past.jsonl"
    file.write_text("\n".join(lines(rows)))
    loads = [book.decisions.bring_in("A", file).load, book.decisions.bring_in("B", [*lines(rows), "{"]).load]
    assert [(type(one), one.outcome) for one in book.decisions.brought_in("B", limit=1)] == [(BroughtForecast, "true")]
    found = book.decisions.compare("A", "B", series="brought_in")
    assert (type(found), found.forms[0].pairs, found.forms[0].verdict, found.worse) == (
        AgentComparison, 3, "too_few", False,
    )  # fmt: skip
    assert [book.take_back(load).undone_at is None for load in loads] == [False, False]
    assert len(book.decisions.brought_in()) == 0
    book.agents.create("N", adapter="external", card_type="forecast-number")
    card = {"question": "How warm?", "quantiles": {0.1: 3, 0.9: 8}, "resolves_by": "2031-01-01T00:00:00Z"}
    run = book.decisions.record("N", card, model="m-1", prompt_version="v1").run
    assert (run.model, run.prompt_version) == ("m-1", "v1")
    done = book.decisions.answer(run.id, 7.25, settled_early="measured")
    assert (done.claim, done.probability, done.came_to, done.outcome) == ("3 to 8", 0.8, "7.25", "true")


def test_decisions_are_looked_at(book: Any) -> None:
    agent = book.agents.create("Desk", card_type="forecast")
    cards = book.agents.cards
    assert (type(cards), "forecast" in cards.types, cards.get("forecast").forecast is not None) == (
        CardTypes, True, True,
    )  # fmt: skip
    slots = {"question": "Will it rain in Oslo?", "resolves_by": "2026-12-31T00:00:00Z", "probability": 0.7}
    made = book.decisions.record("Desk", slots, made_at="2026-01-02T10:00:00Z")
    before = book.decisions.get(made.run.id)
    assert (type(before), before.state) == (Decision, "open")
    assert book.decisions.count(agent="Desk")["open"] == 1
    book.decisions.answer(made.run.id, True, settled_early="It rains")
    assert book.decisions.get(made.run.id).state == "resolved"
    assert book.decisions.history(made.run.id) == []
    assert book.decisions.first_resolved("Desk") is None
    assert [one.run_id for one in book.decisions.list(forecasts=True, by_due=True)] == [made.run.id]
    assert book.decisions.list(card_types=["note"]) == []
    with pytest.raises(NotFound):
        book.decisions.get("nowhere0")
    book.agents.delete(agent.id)
    assert book.agents.restore(agent.id).name == "Desk"


def test_an_agent_runs_and_is_talked_to(there: Any, places: Callable[[str], Any], owner: str) -> None:
    for place in ("sqlite", "remote"):
        kb = places(place)
        book = kb.book(f"{owner} {place}")
        book.agents.create("Scribe", card_type="drift-trade", default_prompt="Say something")
        run = asyncio.run(kb.runner(book).run("Scribe"))
        assert (run.status, book.runs.get(run.id).id, run.kind) == ("succeeded", run.id, "manual")
        chat = kb.chat_with(book, "Scribe")
        assert kb.chat_with(book, "Scribe").id == chat.id
        assert chat.thread.agent is not None


def test_figures_are_told_alike(places: Callable[[str], Any], owner: str) -> None:
    """What one place answers about the same trades, every other does."""
    told = []
    for place in ("sqlite", "remote", "postgresql"):
        trading = places(place).book(owner).trading
        trading.create_skill("Swing")
        trading.create_deployment("Live", "Swing", capital=5_000)
        trading.load("trades", lines(many_trades(9, 40)), deployment="Live")
        asked = {"skill": "Swing", "known_at": "2030-01-01T00:00:00Z"}
        told.append([to_json(value) for value in (
            trading.performance(**asked), trading.breakdown(**asked), trading.equity(**asked)
        )])  # fmt: skip
    assert told[0] == told[1] == told[2]
