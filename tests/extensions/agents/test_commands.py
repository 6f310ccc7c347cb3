"""`keepbook agent`, `run` and `trading import`: agents at work, from the command line."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.doors.conftest import Run

Ask = Callable[..., Any]


@pytest.fixture
def bars(tmp_path: Path, run: Run) -> Callable[[list[float]], Any]:
    """Loads daily bars of ETH/USDT that end with yesterday's."""

    def load(closes: list[float]) -> Any:
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        rows = ["symbol,timeframe,time,open,high,low,close,volume"]
        for number, close in enumerate(closes):
            at = today - timedelta(days=len(closes) - number)
            rows.append(f"ETH/USDT,1d,{at:%Y-%m-%dT00:00:00Z},{close},{close + 2},{close - 2},{close},9")
        file = tmp_path / "bars.csv"
        file.write_text("\n".join(rows) + "\n")
        return run("trading", "import", "bars", file)

    return load


def test_bars_are_loaded_once_and_a_wrong_row_costs_no_good_one(run: Run, bars: Any, tmp_path: Path) -> None:
    assert bars([100.0, 101.0]).out == "Loaded 2 bars.\n"
    assert bars([100.0, 101.0]).out == "Loaded 0 bars, 2 were there already.\n"
    file = tmp_path / "half.csv"
    file.write_text(
        "symbol,timeframe,time,open,high,low,close,volume\n"
        "SOL/USDT,1d,2026-01-01T00:00:00Z,1,2,0.5,1,5\nSOL/USDT,1d,2026-01-02T00:00:00Z,1,x,0.5,1,5\n"
    )
    ran = run("trading", "import", "bars", file)
    assert ran.code == 1
    assert "Loaded 1 bar." in ran.out
    assert "row 3" in ran.out
    missing = run("trading", "import", "bars", tmp_path / "no.csv")
    assert (missing.code, "cannot read" in missing.err) == (1, True)


def test_bars_in_the_shape_of_ccxt_need_their_symbol_said(run: Run, ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "ohlcv.json"
    file.write_text("[[1767225600000, 1, 2, 0.5, 1.5, 10], [1767312000000, 1.5, 2, 1, 1.5, 10]]")
    assert run("trading", "import", "bars", file).code == 1
    loaded = ask("trading", "import", "bars", file, "--symbol", "SOL/USDT", "--timeframe", "1d")
    assert (loaded["added"], loaded["refused"]) == (2, [])


def test_an_agent_is_made_shown_changed_and_taken_away(run: Run, ask: Ask, tmp_path: Path) -> None:
    skill = tmp_path / "skill.md"
    skill.write_text("One trade idea a day.\n")
    made = ask(
        "agent", "create", "Swing desk", "--instructions", f"@{skill}", "--prompt", "ETH/USDT?", "--card",
        "trade-decision", "--schedule", "30 7 * * 1-5", "--specialist", "Tape=Read the tape.", "--review",
    )  # fmt: skip
    assert (made["instructions"], made["review_decisions"]) == ("One trade idea a day.", True)
    assert made["team"] == [{"name": "Tape", "instructions": "Read the tape.", "model": None}]
    assert ask("agent", "update", "swing", "--schedule", "")["schedule"] is None
    shown = run("agent", "show", "Swing desk").out
    assert "One trade idea a day." in shown
    assert "by hand" in shown
    assert "off" in run("agent", "list").out
    refused = run("agent", "create", "Other", "--schedule", "sometimes")
    assert (refused.code, "five fields" in refused.err) == (1, True)
    assert run("agent", "update", "Swing desk").code == 1
    assert run("agent", "delete", "Swing desk").code == 0
    gone = run("agent", "show", "Swing desk")
    assert (gone.code, "keepbook agent list" in gone.err) == (1, True)
    assert "There is no agent yet" in run("agent", "list").out


def test_memory_is_switched_on_with_a_warning_carried_and_reset(run: Run, ask: Ask) -> None:
    ask("agent", "create", "Desk", "--prompt", "Go.", "--card", "drift-trade")
    switched = run("agent", "enable-memory", "Desk")
    assert switched.code == 0
    assert "cost" in switched.err
    ask("agent", "run", "Desk")
    ask("agent", "run", "Desk", "And now?")
    carried = ask("agent", "show", "Desk")["memory"]
    assert (carried["status"], carried["runs"]) == ("carrying", 2)
    assert "2 runs carried" in run("agent", "list").out
    assert ask("agent", "reset", "Desk")["memory"]["status"] == "fresh"
    assert ask("agent", "disable-memory", "Desk")["memory"]["enabled"] is False


def test_a_decision_from_its_making_to_its_end(run: Run, ask: Ask, bars: Any) -> None:
    bars([100.0] * 30 + [110.0])
    ask("agent", "create", "Desk", "--card", "drift-trade", "--prompt", "ETH/USDT?")
    said = run("agent", "run", "Desk")
    assert said.code == 0
    assert "LONG" in said.out
    assert "the rule drift; no model was asked" in said.out
    (decided,) = ask("run", "list")
    assert "ranges above its mean of 15 bars" in run("agent", "decisions", "Desk").out
    looked = ask("run", "re-examine", decided["id"])
    assert (looked["kind"], looked["parent_run"]) == ("re-examination", decided["id"])
    shown = run("run", "show", decided["id"]).out
    assert "get_bars(symbol='ETH/USDT'" in shown
    assert looked["card"]["slots"]["notes"] in shown
    assert "Look at it again" in shown
    whole = ask("run", "show", decided["id"])
    assert (whole["decision"]["state"], whole["re_examinable"]) == ("open", True)
    assert [one["id"] for one in whole["re_examinations"]] == [looked["id"]]
    closed = ask("run", "resolve", decided["id"], "--price", "115")
    assert (closed["state"], closed["outcome"], closed["exit_price"]) == ("resolved", "exited", 115)
    refused = run("run", "re-examine", decided["id"], "--json")
    assert (refused.code, refused.error["code"]) == (1, "closed")
    assert run("run", "resolve", decided["id"], "--price", "1").code == 1
    assert ask("agent", "calibration")["enough"] is False
    assert "10" in run("agent", "calibration", "Desk").out
    asked = ("agent", "calibration", "--known-at")
    assert [ask(*asked, when)["resolved"] for when in ("2020-01-01", "2100-01-01")] == [0, 1]


def test_a_run_that_fails_says_why_and_ends_with_1(run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_AGENT_COMMAND", "no-such-program-here")
    monkeypatch.setenv("KEEPBOOK_AGENT_PROGRAMS", '["no-such-program-here"]')
    ask("agent", "create", "Desk", "--adapter", "claude-cli")
    ran = run("agent", "run", "Desk", "Go.")
    assert ran.code == 1
    assert "The run failed: no-such-program-here cannot be started" in ran.out
    assert ask("run", "list", "--status", "failed")[0]["error"].startswith("no-such-program-here")


def test_without_a_model_the_run_fails_with_1_and_says_what_to_do(run: Run, ask: Ask) -> None:
    made = ask("agent", "create", "Desk", "--run-seconds", "60", "--run-tool-calls", "5", "--run-tokens", "9000")
    assert (made["run_seconds"], made["run_tool_calls"], made["run_tokens"]) == (60, 5, 9000)
    assert ask("agent", "update", "Desk", "--run-seconds", "90")["run_seconds"] == 90
    assert run("agent", "update", "Desk", "--run-seconds", "0").code == 1
    assert "90 s, 5 tool calls, 9,000 tokens" in run("agent", "show", "Desk").out
    failed = run("agent", "run", "Desk", "Go.")
    assert failed.code == 1
    assert "Choose one in Settings" in " ".join(failed.out.split())
    (kept,) = ask("run", "list")
    assert (kept["status"], kept["error_code"], kept["card"]) == ("failed", "no_model", None)
    assert "(no_model)" in run("run", "show", kept["id"]).out


def test_a_card_type_of_ones_own_is_listed_and_a_broken_file_named(
    run: Run, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cards"
    folder.mkdir()
    monkeypatch.setenv("KEEPBOOK_CARDS", str(folder))
    (folder / "bet.toml").write_text(
        'name = "bet"\ntitle = "Bet"\nline = "{age} · {what}"\n[slots.what]\ntype = "text"\n'
    )
    (folder / "torn.toml").write_text('name = "torn"\nline = \n')
    told = ask("agent", "cards")
    assert "bet" in [one["name"] for one in told["types"]]
    assert "torn.toml, line 2" in told["broken"][0]
    assert "Not a card type" in run("agent", "cards").out


def test_chat_with_an_agent_goes_on_in_its_one_thread(run: Run, ask: Ask) -> None:
    ask("agent", "create", "Desk", "--memory")
    assert run("chat", "--agent", "Desk", stdin="hello\n").code == 0
    assert run("chat", "--agent", "Desk", stdin="hello again\n").code == 0
    (thread,) = ask("threads", "list")
    assert (thread["title"], thread["turns"]) == ("Desk", 4)
    assert ask("agent", "show", "Desk")["memory"]["chats"] == 2
    both = run("chat", "--agent", "Desk", "--thread", thread["id"])
    assert both.code == 1


def test_the_sweep_leaves_an_agent_alone_whose_hour_has_not_come(ask: Ask) -> None:
    ask("agent", "create", "Desk", "--schedule", "0 0 1 1 *", "--prompt", "Go.")
    assert ask("jobs", "--once")["done"] == {}
