"""The trading tools over a real book: the figures of the engine, in words and as data, and drafts that do nothing."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from statistics import median
from typing import Any

import pytest
from tests.extensions.trading.desks import DESKS, NOW, learn, market, traded, world

from keepbook import Book, Keepbook
from keepbook.demo.market import GeneratedTrade, _play_desk, generate_bars
from keepbook.extensions.agents.tools import toolbox
from keepbook.tools.catalogue import ToolSet, build_tools

WRITERS = ("set_strategy", "set_schedule", "set_chat")
WORLD = world()


def fill(kb: Keepbook, clock: Any) -> None:
    market(kb, WORLD)
    traded(kb.book("alice"), WORLD)


@pytest.fixture
def kb(prepared: Any, clock: Any) -> Iterator[Keepbook]:
    with prepared("tools_traded", fill, clock) as (url, _), closing(Keepbook(url, clock=clock)) as keepbook:
        yield keepbook


@pytest.fixture
def alice(kb: Keepbook) -> Book:
    return kb.book("alice")


@pytest.fixture
def tools(alice: Book) -> ToolSet:
    return build_tools("coach", alice)


def pnls(nth: int) -> list[float]:
    """What a desk earned, trade by trade in the order of exits, worked out here once more."""
    closed = [one for one in _play_desk(WORLD, DESKS[nth]) if isinstance(one, GeneratedTrade)]
    sign = {"long": 1, "short": -1}
    return [
        sign[one.held.side] * (one.exit_price - one.held.entry_price) * one.held.quantity - one.fees
        for one in sorted(closed, key=lambda one: one.exit_time)
    ]


def test_performance_is_what_the_trades_come_to(tools: ToolSet) -> None:
    earned = pnls(0)
    answer = tools.call("get_skill_performance", {"skill_id": "btc SCALPER"})
    found = answer.data["performance"]
    assert (found["trades"], found["wins"]) == (len(earned), sum(one > 0 for one in earned))
    assert found["pnl"] == pytest.approx(math.fsum(earned))
    assert found["return_pct"] == pytest.approx(math.fsum(earned) / 10_000)
    assert found["profit_factor"] == pytest.approx(
        math.fsum(one for one in earned if one > 0) / -math.fsum(one for one in earned if one < 0)
    )
    assert (found["best"], found["worst"]) == (pytest.approx(max(earned)), pytest.approx(min(earned)))
    assert f"{len(earned)} closed trades" in answer.text
    assert f"{found['pnl']:+,.2f} USDT".replace("-", "−") in answer.text
    assert {"trades", "lessons"} & answer.data.keys() == set()
    json.dumps(answer.data, allow_nan=False)


@pytest.mark.parametrize(
    ("detail", "more"), [("trades", {"trades"}), ("lessons", {"lessons"}), ("full", {"trades", "lessons"})]
)
def test_detail_says_how_much_there_is_beside_the_figures(
    alice: Book, tools: ToolSet, detail: str, more: set[str]
) -> None:
    learn(alice)
    answer = tools.call("get_skill_performance", {"skill_id": "BTC scalper", "detail": detail})
    assert answer.data.keys() & {"trades", "lessons"} == more
    if "trades" in more:
        listed = answer.data["trades"]
        assert [one["pnl"] for one in listed] == pytest.approx(pnls(0)[:-31:-1])
        assert listed[0].keys() >= {"symbol", "side", "mfe", "mae", "entry_regime_tag", "entry_reason", "exit_reason"}
        assert f"The last 30 of {len(pnls(0)) + 24} closed trades" in answer.text
    if "lessons" in more:
        kept = alice.trading.lessons(skill="BTC scalper")
        assert [one["id"] for one in answer.data["lessons"]] == [one.id for one in kept]
        assert kept
        for one in answer.data["lessons"]:
            assert one["text"] in answer.text
            assert one["trades"] >= 6
            assert one["window_from"] < one["window_until"] <= answer.data["performance"]["known_at"]


def test_deployments_are_told_one_or_all_with_what_they_hold(tools: ToolSet) -> None:
    every = tools.call("get_my_deployments").data["deployments"]
    assert [one["name"] for one in every] == ["BTC scalper main", "ETH swing paper"]
    assert [one["positions"][0]["symbol"] for one in every] == ["BTC/USDT", "ETH/USDT"]
    one = tools.call("get_my_deployments", {"deployment_id": every[1]["id"], "detail": "full"}).data["deployments"]
    assert [(one[0]["name"], len(one[0]["trades"]), one[0]["lessons"])] == [("ETH swing paper", 30, [])]
    assert one[0]["performance"]["pnl"] == pytest.approx(math.fsum(pnls(1)))
    refused = tools.call("get_my_deployments", {"deployment_id": "nowhere"})
    assert (refused.error, "BTC scalper main" in refused.text) == ("not_found", True)


def test_coming_events_and_what_they_may_do_to_what_is_open(alice: Book, tools: ToolSet) -> None:
    plain = tools.call("get_upcoming_events", {"lookahead_hours": 72})
    assert [one["kind"] for one in plain.data["events"]] == ["jobs", "unlock"]
    assert plain.data["your_exposure"] is None
    answer = tools.call("get_upcoming_events", {"lookahead_hours": 72, "deployment_id": "ETH swing paper"})
    rows = answer.data["your_exposure"]
    assert [(row["symbol"], row["position_side"]) for row in rows] == [("ETH/USDT", "short")] * 2
    (held,) = alice.trading.positions("ETH swing paper")
    assert rows[0]["notional_usd"] == pytest.approx(held.quantity * closes("ETH/USDT")[max(closes("ETH/USDT"))])
    moved = moves("jobs", "ETH/USDT")
    assert rows[0]["similar_events_back"] == len(moved) == 3
    assert rows[0]["median_abs_move_pct"] == pytest.approx(median(map(abs, moved)))
    assert rows[0]["worst_move_pct"] == pytest.approx(min(-move for move in moved))
    assert f"{rows[0]['notional_usd']:,.2f} USD" in answer.text


def closes(symbol: str) -> dict[int, float]:
    """By the end of each bar."""

    return {bar.time + WORLD.minutes * 60: bar.close for bar in generate_bars(WORLD, symbol)}


def moves(kind: str, symbol: str) -> list[float]:
    ends = closes(symbol)
    found = []
    for event in WORLD.events:
        if event.kind == kind and event.time + 3600 <= WORLD.ends:
            before = [end for end in ends if end <= event.time]
            after = [end for end in ends if event.time < end <= event.time + 3600]
            if before and after:
                found.append(ends[max(after)] / ends[max(before)] - 1)
    return found


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({"lookahead_hours": 72, "types": ["unlock"]}, ["unlock"]),
        ({"lookahead_hours": 72, "symbols": ["ETH"]}, ["jobs", "unlock"]),
        ({"lookahead_hours": 72, "symbols": ["BTC/USDT"]}, ["jobs"]),
        ({"lookahead_hours": 72, "min_importance": 0.6}, ["jobs"]),
        ({"lookahead_hours": "24"}, ["jobs"]),
        ({"lookahead_hours": 72, "symbols": ["NO/SUCH"]}, ["jobs"]),
    ],
)
def test_events_are_asked_for_by_kind_symbol_and_importance(
    tools: ToolSet, given: dict[str, Any], kinds: list[str]
) -> None:
    assert [one["kind"] for one in tools.call("get_upcoming_events", given).data["events"]] == kinds


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lookahead_hours": 73}, "from 1 to 72"),
        ({"lookahead_hours": 0}, "from 1 to 72"),
        ({"min_importance": 2}, "from 0"),
        ({"types": "cpi"}, "a list of text"),
        ({"lookahead_hours": 72, "types": ["eclipse"]}, "the kinds are"),
        ({"hours": 3}, "no argument 'hours'"),
        ({"deployment_id": "nowhere"}, "no deployment 'nowhere'"),
    ],
)
def test_a_wrong_question_is_answered_with_what_is_wrong(tools: ToolSet, given: dict[str, Any], words: str) -> None:
    answer = tools.call("get_upcoming_events", given)
    assert answer.error
    assert words in answer.text


def test_a_name_that_fits_several_skills_names_them(alice: Book, tools: ToolSet) -> None:
    alice.trading.create_skill("ETH scalper")
    refused = tools.call("get_skill_performance", {"skill_id": "scalper"})
    assert refused.error == "ambiguous"
    assert {one["content"] for one in refused.data["candidates"]} == {"BTC scalper", "ETH scalper"}


def test_what_has_no_figure_is_null_and_never_zero(kb: Keepbook) -> None:
    book = kb.book("carol")
    skill = book.trading.create_skill("Idle")
    book.trading.create_deployment("Idle main", skill.id)
    tools = build_tools("coach", book)
    answer = tools.call("get_skill_performance", {"skill_id": "Idle", "detail": "full"})
    found = answer.data["performance"]
    empty = ("return_pct", "sharpe", "max_drawdown_pct", "win_rate", "profit_factor", "expectancy", "best", "worst")
    assert {name: found[name] for name in empty} == dict.fromkeys(empty)
    assert (answer.data["trades"], answer.data["lessons"]) == ([], [])
    assert "No closed trades yet" in answer.text
    assert tools.call("list_my_skills").data["skills"][0]["deployments"][0]["name"] == "Idle main"
    assert build_tools("coach", kb.book("dave")).call("list_my_skills").text == "There are no skills in this book yet."


# --- drafts


def state(book: Book) -> tuple[Any, ...]:
    trading = book.trading
    everything = (trading.skills(), trading.deployments(), trading.positions(), trading.trades(limit=1000).items)
    return (*everything, trading.field_history("BTC scalper"), book.ledger(limit=1000))


@pytest.mark.parametrize(
    ("given", "symbols"),
    [
        ({"kind": "close", "deployment_id": "ETH swing paper", "symbol": "eth"}, ["ETH/USDT"]),
        ({"kind": "close", "deployment_id": "ETH swing paper"}, ["ETH/USDT"]),
        (
            {"kind": "reduce", "deployment_id": "BTC scalper main", "symbol": "BTC/USDT", "details": "by half"},
            ["BTC/USDT"],
        ),
        ({"kind": "pause", "deployment_id": "BTC scalper main"}, []),
        ({"kind": "change", "deployment_id": "BTC scalper main", "details": "stop at 1 %"}, []),
    ],
)
def test_a_draft_is_words_alone(alice: Book, tools: ToolSet, given: dict[str, Any], symbols: list[str]) -> None:
    before = state(alice)
    answer = tools.call("prepare_action", given | {"reason": "Jobs report today"})
    assert answer.error is None, answer.text
    draft = answer.data["draft"]
    assert (draft["executed"], draft["kind"], draft["reason"]) == (False, given["kind"], "Jobs report today")
    assert [one["symbol"] for one in draft["positions"]] == symbols
    assert "not carried out" in answer.text
    assert answer.memory_event is None
    assert state(alice) == before


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ({"kind": "close", "deployment_id": "BTC scalper main", "symbol": "ETH"}, "no_position", "open are BTC/USDT"),
        ({"kind": "change", "deployment_id": "BTC scalper main"}, "invalid", "what to change"),
        ({"kind": "buy", "deployment_id": "BTC scalper main"}, "invalid", "one of pause, resume, close"),
        ({"kind": "close", "deployment_id": "moon"}, "not_found", "no deployment 'moon'"),
    ],
)
def test_a_draft_of_nothing_is_refused(tools: ToolSet, given: dict[str, Any], code: str, words: str) -> None:
    refused = tools.call("prepare_action", given | {"reason": "Because"})
    assert refused.error == code
    assert words in refused.text


# --- writing what a skill says


def test_in_authoring_a_skill_is_written_version_by_version_at_the_persons_turn(alice: Book) -> None:
    alone = build_tools("coach", alice, mode="authoring").call(
        "set_strategy", {"skill_id": "ETH swing", "text": "Mine."}
    )
    assert "nly the person may create and change skills" in alone.text, "never by an agent on its own"
    tools = build_tools("coach", alice, thread_id="chat-7", turn_ids=("1",), mode="authoring")
    first = tools.call("set_strategy", {"skill_id": "ETH swing", "text": "Fade moves over 2 %."})
    again = tools.call("set_strategy", {"skill_id": "ETH swing", "text": "Fade moves over 2 %."})
    assert (first.data["unchanged"], again.data["unchanged"]) == (False, True)
    assert first.data["before"].startswith("stop 2.0%")
    tools.call("set_schedule", {"skill_id": "ETH swing", "text": "*/15 * * * *"})
    tools.call("set_chat", {"skill_id": "ETH swing", "text": "Brief."})
    skill = alice.trading.skill("ETH swing")
    assert (skill.strategy, skill.schedule, skill.chat) == ("Fade moves over 2 %.", "*/15 * * * *", "Brief.")
    newest, oldest = alice.trading.field_history("ETH swing", "strategy")
    assert (newest.version, newest.actor, newest.thread_id) == (oldest.version + 1, "agent", "chat-7")


def test_the_writers_are_in_authoring_with_a_trading_preset_alone(alice: Book) -> None:
    agent = alice.agents.create("Desk", use_block=True)
    sets: dict[str, Callable[[], ToolSet]] = {
        "coach": lambda: build_tools("coach", alice),
        "coaching": lambda: build_tools("coach", alice, mode="coach"),
        "general": lambda: build_tools("general", alice, mode="authoring"),
        "advisor": lambda: build_tools("advisor", alice, mode="authoring"),
        "specialist": lambda: toolbox(alice, agent, blind=True),
        "agent": lambda: toolbox(alice, agent),
    }
    assert not [(name, each) for name, make in sets.items() for each in WRITERS if each in make()]
    assert all(each in build_tools("coach", alice, mode="authoring") for each in WRITERS)


def test_a_blind_specialist_of_a_coach_knows_nothing_of_positions(alice: Book) -> None:
    alice.configure(preset="coach")
    agent = alice.agents.create("Desk", use_block=True)
    assert [tool.name for tool in toolbox(alice, agent, blind=True)] == ["get_bars"]
    assert "get_skill_performance" in toolbox(alice, agent)


def test_nobody_else_sees_it(kb: Keepbook, alice: Book) -> None:
    tools = build_tools("coach", kb.book("bob"), mode="authoring")
    skill, running = alice.trading.skills()[0].id, alice.trading.deployments()[0].id
    assert tools.call("get_skill_performance", {"skill_id": skill}).error == "not_found"
    assert tools.call("get_upcoming_events", {"deployment_id": running}).error == "not_found"
    assert tools.call("set_strategy", {"skill_id": skill, "text": "Mine now"}).error == "not_found"
    assert tools.call("get_my_deployments").data["deployments"] == []
    assert [one["kind"] for one in tools.call("get_upcoming_events").data["events"]] == ["jobs"]


def test_every_answer_is_of_one_instant(alice: Book, tools: ToolSet) -> None:
    found = tools.call("get_skill_performance", {"skill_id": "BTC scalper", "detail": "trades"}).data
    assert found["performance"]["known_at"] >= f"{NOW:%Y-%m-%dT%H:%M}"
    assert all(one["known_at"] <= found["performance"]["known_at"] for one in found["trades"])
