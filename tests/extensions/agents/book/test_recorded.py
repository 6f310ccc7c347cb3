"""Decisions made elsewhere: written down once, checked like our own, answered and scored."""

import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, WAIT, ran

from keepbook import Conflict, Invalid, NotAllowed
from keepbook.book.ground.when import stamp

FORECAST = {"question": "Does it rain on Friday?", "probability": 0.7, "resolves_by": "2030-01-05T00:00:00Z"}
EARLY = "it rains"


@pytest.fixture
def card_folder(alice: Any, tmp_path: Path) -> Path:
    """A folder of card types of one's own, known to this book."""
    folder = tmp_path / "cards"
    folder.mkdir()
    alice.settings = alice.settings.but(cards=folder)
    return folder


@pytest.fixture
def desk(alice: Any) -> Any:
    return alice.agents.create("My own bot", adapter="external", card_type="trade-decision")


@pytest.fixture
def oracle(alice: Any) -> Any:
    return alice.agents.create("Oracle", adapter="external", card_type="forecast")


def bar(at: Any, prices: str, timeframe: str = "1h") -> str:
    return f"ETH/USDT,{timeframe},{stamp(at)},{prices},1\n"


HEAD = "symbol,timeframe,time,open,high,low,close,volume\n"


def test_with_memory_off_only_the_person_reads_what_was_said_in_a_run(kb: Any, alice: Any, desk: Any) -> None:
    said = [{"role": "tool", "text": "Owns a telescope"}, {"role": "assistant", "text": "Long."}]
    made = alice.decisions.record(desk.id, LONG, transcript=said)
    agent = kb.book("alice", by="agent")
    assert len(agent.runs.transcript(made.run_id)) == 2
    alice.choose(memory=False)
    with pytest.raises(NotAllowed) as refused:
        agent.runs.transcript(made.run_id)
    assert refused.value.code == "memory_off"
    assert len(alice.runs.transcript(made.run_id)) == 2


def test_a_card_made_elsewhere_is_a_run_like_any_other(alice: Any, desk: Any) -> None:
    said = [{"role": "user", "text": "What now?"}, {"role": "assistant", "text": "Long."}]
    made = alice.decisions.record(desk.id, LONG, transcript=said, link="https://example.org/7", key="a-1")
    assert (made.run.kind, made.run.adapter, made.run.status) == ("recorded", "external", "succeeded")
    assert (made.run.key, made.run.link, made.late, made.replayed) == ("a-1", "https://example.org/7", False, False)
    assert made.decision.state == "open"
    assert made.decision.action == "LONG"
    assert [line.text for line in alice.runs.transcript(made.run_id)] == ["What now?", "Long."]
    assert [one.run_id for one in alice.agents.decisions(desk.id)] == [made.run_id]
    assert alice.runs.list(desk.id, kind="recorded")[0].id == made.run_id


def test_it_is_checked_like_one_of_our_own(alice: Any, desk: Any) -> None:
    with pytest.raises(Invalid) as wrong:
        alice.decisions.record(desk.id, LONG | {"stop": 150.0})
    assert wrong.value.code == "invalid_card"
    with pytest.raises(Invalid):
        alice.decisions.record(desk.id, ["no", "card"])
    assert not alice.runs.list(desk.id)


def test_the_same_key_is_recorded_once_and_another_card_under_it_refused(alice: Any, desk: Any) -> None:
    first = alice.decisions.record(desk.id, LONG, key="k")
    again = alice.decisions.record(desk.id, LONG, key="k")
    assert again.replayed
    assert again.run_id == first.run_id
    with pytest.raises(Conflict) as used:
        alice.decisions.record(desk.id, LONG | {"conviction": 61}, key="k")
    assert used.value.code == "key_reused"
    other = alice.agents.create("Another", adapter="external", card_type="trade-decision")
    assert not alice.decisions.record(other.id, LONG, key="k").replayed, "a key is its agent's own"
    assert len(alice.runs.list(desk.id)) == 1


def test_slots_ahead_are_held_against_when_it_was_made(alice: Any, oracle: Any, clock: Any) -> None:
    day = timedelta(days=1)
    ahead = FORECAST | {"resolves_by": stamp(clock.now - day)}
    made = alice.decisions.record(oracle.id, ahead, made_at=clock.now - 3 * day)
    assert made.late
    with pytest.raises(Invalid):
        alice.decisions.record(oracle.id, ahead, made_at=clock.now - day / 2)
    with pytest.raises(Invalid, match="future"):
        alice.decisions.record(oracle.id, FORECAST, made_at=clock.now + day)


def test_an_external_agent_is_never_run_here(alice: Any, desk: Any) -> None:
    with pytest.raises(Conflict) as refused:
        alice.runs.queue(desk.id, "manual", prompt="go")
    assert refused.value.code == "external"
    with pytest.raises(Invalid, match="schedule"):
        alice.agents.update(desk.id, schedule="30 7 * * *")
    with pytest.raises(Invalid):
        alice.runs.queue(alice.agents.create("Ours").id, "recorded", prompt="")


def test_its_second_looks_are_its_own_too(alice: Any, desk: Any, clock: Any) -> None:
    made = alice.decisions.record(desk.id, LONG)
    asked = alice.decisions.second_look(made.run_id)
    assert '"entry": 100.0' in asked.prompt
    assert asked.actions == ("HOLD", "CLOSE", "SCALE")
    clock.forward(hours=1)
    look = alice.decisions.record_second_look(made.run_id, SECOND_LOOK, key="look-1")
    assert (look.run.kind, look.run.parent_run, look.run.adapter) == ("re-examination", made.run_id, "external")
    assert look.run.prompt.startswith("Re-examine one earlier conclusion")
    assert alice.decisions.record_second_look(made.run_id, SECOND_LOOK, key="look-1").replayed
    assert [one.id for one in alice.runs.re_examinations(made.run_id)] == [look.run_id]
    with pytest.raises(Invalid):
        alice.decisions.record_second_look(made.run_id, SECOND_LOOK | {"suggested_action": "PRAY"})
    with pytest.raises(Invalid, match="after what it looks at"):
        alice.decisions.record_second_look(made.run_id, SECOND_LOOK, made_at=clock.now - timedelta(days=1))
    alice.decisions.exit(made.run_id, 105.0)
    with pytest.raises(Conflict):
        alice.decisions.second_look(made.run_id)


def test_our_own_agents_runs_can_be_looked_at_from_outside_too(alice: Any) -> None:
    agent = alice.agents.create("Swing desk", card_type="trade-decision")
    run = ran(alice, agent, LONG)
    assert alice.decisions.record_second_look(run.id, SECOND_LOOK).run.parent_run == run.id


def test_a_note_is_looked_at_again_where_its_agent_has_opted_in(alice: Any) -> None:
    agent = alice.agents.create("Reader", adapter="external")
    note = alice.decisions.record(agent.id, {"text": "Rates will stay."})
    assert note.decision is None
    with pytest.raises(Conflict):
        alice.decisions.second_look(note.run_id)
    alice.agents.update(agent.id, second_looks=True)
    assert alice.runs.may_re_examine(note.run_id)
    look = alice.decisions.record_second_look(note.run_id, SECOND_LOOK)
    assert look.run.parent_run == note.run_id


# --- forecasts --------------------------------------------------------------------------------------------


def test_a_forecast_waits_for_its_answer(alice: Any, oracle: Any, clock: Any) -> None:
    made = alice.decisions.record(oracle.id, FORECAST)
    assert (made.decision.probability, made.decision.state) == (0.7, "open")
    alice.decisions.follow()
    assert alice.decisions.get(made.run_id).state == "open", "its date does not close it: somebody must say"
    with pytest.raises(Conflict):
        alice.decisions.exit(made.run_id, 3.0)
    clock.forward(hours=1)
    done = alice.decisions.answer(made.run_id, True, note="I got wet", settled_early=EARLY)
    assert (done.state, done.outcome, done.closed_by, done.note) == ("resolved", "true", "person", "I got wet")


def test_an_agent_may_answer_once_and_only_the_person_anew(alice: Any, oracle: Any, clock: Any) -> None:
    made = alice.decisions.record(oracle.id, FORECAST)
    agent = alice.acting(actor="agent")
    assert agent.decisions.answer(made.run_id, False, settled_early=EARLY).closed_by == "agent"
    with pytest.raises(Conflict):
        agent.decisions.answer(made.run_id, True, settled_early=EARLY)
    done = alice.decisions.answer(made.run_id, True, settled_early=EARLY)
    assert done.outcome == "true"
    assert "before: false, said by agent" in done.note
    with pytest.raises(Conflict):
        agent.decisions.answer(made.run_id, None)


def test_what_cannot_be_told_is_left_out(alice: Any, oracle: Any) -> None:
    made = alice.decisions.record(oracle.id, FORECAST)
    assert alice.decisions.answer(made.run_id, None, settled_early=EARLY).state == "expired"
    assert alice.decisions.calibration(forecasts=True).resolved == 0
    with pytest.raises(Invalid):
        alice.decisions.answer(alice.decisions.record(oracle.id, FORECAST).run_id, "perhaps")


def test_twenty_forecasts_score_as_by_hand(alice: Any, oracle: Any, clock: Any) -> None:
    said = [
        0.05,
        0.1,
        0.15,
        0.2,
        0.25,
        0.3,
        0.35,
        0.4,
        0.45,
        0.5,
        0.55,
        0.6,
        0.65,
        0.7,
        0.75,
        0.8,
        0.85,
        0.9,
        0.95,
        1.0,
    ]
    came = [nth % 3 == 0 for nth in range(20)]
    for nth, (probability, true) in enumerate(zip(said, came, strict=True)):
        made = alice.decisions.record(oracle.id, FORECAST | {"probability": probability}, key=f"f-{nth}")
        clock.forward(minutes=1)
        look = SECOND_LOOK | {"suggested_action": "RAISE", "probability": min(1.0, probability + 0.1)}
        alice.decisions.record_second_look(made.run_id, look)
        clock.forward(minutes=1)
        alice.decisions.answer(made.run_id, true, settled_early=EARLY)
    late = alice.decisions.record(
        oracle.id,
        FORECAST | {"resolves_by": stamp(clock.now - timedelta(days=1))},
        made_at=clock.now - timedelta(days=9),
    )
    alice.decisions.answer(late.run_id, True)
    found = alice.decisions.calibration(oracle.name, forecasts=True)
    brier = sum((p - t) ** 2 for p, t in zip(said, came, strict=True)) / 20
    assert found.resolved == 20
    assert found.right == sum(came)
    assert found.brier == pytest.approx(brier, abs=1e-12)
    before = [(sum(came[:nth]) + 0.5) / (nth + 1) for nth in range(20)]  # each was answered before the next was made
    base = sum((p - t) ** 2 for p, t in zip(before, came, strict=True)) / 20
    assert found.base_brier == pytest.approx(base, abs=1e-12)
    assert found.skill.mean == pytest.approx(base - brier, abs=1e-12)
    moved = [t for p, t in zip(said, came, strict=True) if min(1.0, p + 0.1) != p]
    assert (found.looks, found.looks_right) == (len(moved), sum(moved))
    assert found.expectancy is None
    assert alice.decisions.calibration().resolved == 0


def test_twenty_trades_from_outside_calibrate_as_by_hand(kb: Any, alice: Any, desk: Any, clock: Any) -> None:
    """Entries are filled by one bar and closed by the next, every third at its stop."""
    r, right, stated = [], [], []
    start = clock.now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    rows = HEAD
    for nth in range(20):
        stated.append(30 + 3 * nth)
        alice.decisions.record(desk.id, LONG | {"symbol": f"S{nth}/USDT", "conviction": stated[-1]}, key=str(nth))
        wins = nth % 3 != 0
        second = "110,121,109,120" if wins else "95,96,89,90"
        rows += bar(start, "101,102,99,101").replace("ETH", f"S{nth}")
        rows += bar(start + timedelta(hours=1), second).replace("ETH", f"S{nth}")
        r.append(2.0 if wins else -1.0)
        right.append(wins)
    clock.forward(hours=5)
    kb.market.load(rows.splitlines(keepends=True))
    assert alice.decisions.follow() == 20
    found = alice.decisions.calibration(desk.name)
    assert (found.resolved, found.right) == (20, sum(right))
    assert found.expectancy == pytest.approx(sum(r) / 20, abs=1e-12)
    assert found.brier == pytest.approx(sum((c / 100 - w) ** 2 for c, w in zip(stated, right, strict=True)) / 20)


CHOICE = """
name = "election"
title = "Election"
line = "{age} · {winner}"
re_examinable = "until_resolved"
[forecast]
probability = "sure"
due = "by"
claim = "winner"
[slots.winner]
type = "choice"
choices = ["RED", "BLUE", "GREEN"]
[slots.sure]
type = "number"
min = 0
max = 1
[slots.by]
type = "time"
future = true
"""
RULED = """
name = "level"
title = "Level"
line = "{age} · {symbol}"
re_examinable = "until_resolved"
[forecast]
probability = "probability"
due = "by"
[forecast.rule]
symbol = "symbol"
test = "%s"
level = "level"
[slots.symbol]
type = "text"
max = 40
[slots.level]
type = "number"
[slots.probability]
type = "number"
min = 0
max = 1
[slots.by]
type = "time"
future = true
"""


def test_a_choice_is_right_where_it_came_so(alice: Any, card_folder: Path) -> None:
    (card_folder / "election.toml").write_text(CHOICE)
    agent = alice.agents.create("Pollster", adapter="external", card_type="election")
    card = {"winner": "RED", "sure": 0.6, "by": "2030-01-01T00:00:00Z"}
    right, wrong = (alice.decisions.record(agent.id, card).run_id for _ in range(2))
    assert alice.decisions.answer(right, "red", settled_early="counted").outcome == "true"
    done = alice.decisions.answer(wrong, "BLUE", settled_early="counted")
    assert (done.outcome, done.note) == ("false", "it was BLUE")


@pytest.mark.parametrize(
    ("test", "outcome"),
    [("close_above", "true"), ("close_below", "false"), ("reaches_above", "true"), ("reaches_below", "false")],
)
def test_a_rule_in_the_card_type_answers_by_the_bars(
    kb: Any, alice: Any, clock: Any, card_folder: Path, test: str, outcome: str
) -> None:
    (card_folder / "level.toml").write_text(RULED % test)
    agent = alice.agents.create("Levels", adapter="external", card_type="level")
    start = clock.now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    card = {"symbol": "ETH/USDT", "level": 100, "probability": 0.8, "by": stamp(start + timedelta(hours=2))}
    made = alice.decisions.record(agent.id, card)
    first = "100.5,100.8,100.2,100.4" if test == "reaches_below" else "99,99.5,98,99"
    kb.market.load((HEAD + bar(start, first)).splitlines(keepends=True))
    clock.forward(hours=2)
    alice.decisions.follow()
    assert alice.decisions.get(made.run_id).state == "open"
    clock.forward(hours=2)
    kb.market.load((HEAD + bar(start + timedelta(hours=1), "100.3,101,100.2,100.9")).splitlines(keepends=True))
    assert alice.decisions.follow() == 1
    done = alice.decisions.get(made.run_id)
    assert (done.outcome, done.closed_by, done.late) == (outcome, "bars", False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ('probability = "sure"', "forecast.probability"),
        ("max = 1", "forecast.probability"),
        ('due = "by"', "forecast.due"),
        ('claim = "winner"', "forecast.claim"),
    ],
)
def test_a_broken_forecast_type_says_where(card_folder: Path, alice: Any, change: str, said: str) -> None:
    spoiled = change.split("=", maxsplit=1)[0] + '= "nothing"' if "max" not in change else "max = 5"
    (card_folder / "election.toml").write_text(CHOICE.replace(change, spoiled))
    broken = [str(one) for one in alice.agents.cards.broken]
    assert len(broken) == 1
    assert said in broken[0]


def test_a_recorded_run_goes_out_and_in_with_the_book(alice: Any, desk: Any, kb: Any) -> None:
    alice.decisions.record(desk.id, WAIT, key="w", link="https://example.org")
    out = io.StringIO()
    alice.export(out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert any(line.get("key") == "w" and line.get("link") == "https://example.org" for line in lines)


def test_only_the_person_exits(alice: Any, desk: Any) -> None:
    made = alice.decisions.record(desk.id, LONG)
    with pytest.raises(NotAllowed):
        alice.acting(actor="agent").decisions.exit(made.run_id, 101.0)
