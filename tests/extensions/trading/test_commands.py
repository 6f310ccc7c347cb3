"""`keepbook trading`: files in, figures, events and lessons out, from the command line."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.doors.conftest import Run
from tests.extensions.trading.book.imports.brokers import bybit
from tests.extensions.trading.desks import DESKS, world

from keepbook.demo.market import (
    bar_lines,
    deployment_lines,
    event_lines,
    market_trade_lines,
    position_lines,
    skill_lines,
)

Ask = Callable[..., Any]
NINE = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
NINE -= timedelta(days=datetime.now(UTC) < NINE)
"""When it was last nine in the morning. Events come at set hours, so that what is coming then is always the same."""
WORLD = world(NINE)
FILES = {
    "bars": list(bar_lines(WORLD)),
    "events": list(event_lines(WORLD)),
    "skills": list(skill_lines(DESKS)),
    "deployments": list(deployment_lines(WORLD, DESKS)),
    "trades": list(market_trade_lines(WORLD, DESKS)),
    "positions": list(position_lines(WORLD, DESKS)),
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in FILES.items():
        (tmp_path / f"{name}.csv").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def loaded(run: Run, files: Path) -> Path:
    for name, lines in FILES.items():
        ran = run("trading", "import", name, files / f"{name}.csv")
        assert (ran.code, ran.out.split()[1]) == (0, f"{len(lines) - 1:,}"), ran.err
    return files


def test_every_kind_of_file_is_loaded_once(run: Run, ask: Ask, loaded: Path) -> None:
    for name, lines in FILES.items():
        again = ask("trading", "import", name, loaded / f"{name}.csv")
        assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, len(lines) - 1)
    assert "were there already" in run("trading", "import", "trades", loaded / "trades.csv").out
    assert ask("trading", "import", "skills", "-", stdin="name\nFrom stdin\n")["added"] == 1


def test_a_wrong_row_is_named_and_costs_no_good_one(run: Run, loaded: Path) -> None:
    header, row = FILES["trades"][0], FILES["trades"][1].replace("BTC/USDT-1", "new-1")
    file = loaded / "half.csv"
    file.write_text(header + row + row.replace("BTC scalper main", "Moon").replace("new-1", "new-2"))
    ran = run("trading", "import", "trades", file)
    assert ran.code == 1
    assert "Loaded 1 trade." in ran.out
    assert "row 3: there is no deployment 'Moon' in this book; create it" in ran.out
    missing = run("trading", "import", "events", loaded / "no.csv")
    assert (missing.code, "cannot read" in missing.err) == (1, True)


def test_a_file_that_names_no_deployment_is_told_one(ask: Ask, run: Run, loaded: Path) -> None:
    file = loaded / "bare.csv"
    file.write_text("symbol,side,quantity,entry_time,entry_price\nSOL/USDT,long,3,2026-01-02,100\n")
    assert run("trading", "import", "positions", file).code == 1
    assert ask("trading", "import", "positions", file, "--deployment", "ETH swing paper")["added"] == 1
    shown = ask("trading", "performance", "--deployment", "ETH swing paper")
    assert [one["symbol"] for one in shown["positions"]] == ["SOL/USDT"]


def test_skills_and_deployments_are_listed(run: Run, ask: Ask, loaded: Path) -> None:
    assert [one["name"] for one in ask("trading", "skills")] == ["BTC scalper", "ETH swing"]
    assert "BTC scalper main" in run("trading", "skills").out
    told = run("trading", "deployments", "--skill", "eth").out
    assert ("25,000.00 USDT" in told, "BTC" in told) == (True, False)
    assert [one["skill"] for one in ask("trading", "deployments")] == ["BTC scalper", "ETH swing"]


def test_figures_are_told_for_a_skill_a_deployment_and_an_earlier_day(run: Run, ask: Ask, loaded: Path) -> None:
    whole = ask("trading", "performance", "btc", "--detail", "full")
    assert whole["performance"]["trades"] == sum("BTC scalper main" in line for line in FILES["trades"])
    assert (len(whole["trades"]), whole["lessons"]) == (30, [])
    shown = run("trading", "performance", "BTC scalper", "--detail", "full").out
    assert f"{whole['performance']['pnl']:+,.2f} USDT".replace("-", "−") in shown
    assert "this week" in shown
    assert shown.count("BTC/USDT") >= 30
    alone = ask("trading", "performance", "BTC scalper", "--deployment", "BTC scalper main")
    assert alone["performance"]["pnl"] == whole["performance"]["pnl"]
    earlier = ask("trading", "performance", "BTC scalper", "--known-at", "2 weeks ago")
    assert 0 < earlier["performance"]["trades"] < whole["performance"]["trades"]
    assert run("trading", "performance", "ETH swing", "--deployment", "BTC scalper main").code == 1
    assert "trading skills" in run("trading", "performance").err
    assert "there are: BTC scalper, ETH swing" in run("trading", "performance", "moon").err
    refused = run("trading", "performance", "BTC scalper", "--detail", "some")
    assert (refused.code, "summary, trades, lessons, full" in refused.err) == (1, True)


def test_trades_are_paged(run: Run, ask: Ask, loaded: Path) -> None:
    first = ask("trading", "trades", "--deployment", "ETH swing paper", "-n", "2")
    second = ask("trading", "trades", "--deployment", "ETH swing paper", "-n", "2", "--cursor", first["next"])
    keys = [one["key"] for one in (*first["trades"], *second["trades"])]
    assert len(set(keys)) == 4
    assert first["total"] == sum("ETH swing paper" in line for line in FILES["trades"])
    assert f"trading trades --cursor {first['next']}" in run("trading", "trades", "--skill", "eth", "-n", "2").out


def test_coming_events_with_what_is_exposed(run: Run, ask: Ask, loaded: Path) -> None:
    then = ("trading", "events", "--known-at", NINE.isoformat(), "--hours", "72")
    plain = ask(*then)
    assert ([one["kind"] for one in plain["events"]], plain["your_exposure"]) == (["jobs", "unlock"], None)
    told = ask(*then, "--deployment", "BTC scalper main")
    (row,) = told["your_exposure"]
    assert (row["symbol"], row["position_side"], row["event_id"]) == ("BTC/USDT", "long", told["events"][0]["id"])
    shown = run(*then, "--deployment", "BTC scalper main").out
    assert "Jobs report" in shown
    assert f"your BTC/USDT long: {row['notional_usd']:,.2f} USD" in shown
    assert [one["kind"] for one in ask(*then, "--type", "jobs", "--type", "rates")["events"]] == ["jobs"]
    assert [one["kind"] for one in ask(*then, "--symbol", "BTC/USDT")["events"]] == ["jobs"]
    assert len(ask(*then, "--min-importance", "0.6")["events"]) == 1
    assert "the kinds are" in run(*then, "--type", "eclipse").err
    refused = run("trading", "events", "--hours", "73")
    assert (refused.code, "from 1 to 72" in refused.err) == (1, True)


def test_lessons_are_looked_for_pinned_retired_and_restored(run: Run, ask: Ask, files: Path) -> None:
    ask("trading", "import", "skills", "-", stdin="name\nFader\n")
    ask("trading", "import", "deployments", "-", stdin="name,skill,capital\nFader main,Fader,1000\n")
    rows = [f"Fader main,BTC/USDT,long,1,2026-02-1{day},100,2026-02-1{day},9{day},chop" for day in range(7)]
    header = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,entry_regime_tag"
    shorts = [(f"2026-02-{6 + nth // 2:02}", f"{99.5 + nth % 11 / 10:.1f}") for nth in range(25)]
    rows += [f"Fader main,ETH/USDT,short,1,{day}T09:00Z,100,{day}T12:00Z,{price}," for day, price in shorts]
    assert ask("trading", "import", "trades", "-", stdin="\n".join([header, *rows]))["added"] == 32
    assert "No lessons" in run("trading", "lessons").out
    said = run("trading", "reflect", "--skill", "Fader").out
    assert "The last 7 BTC/USDT longs in chop all lost" in said
    lesson, *_ = [one for one in ask("trading", "lessons", "--skill", "Fader") if one["text"].startswith("The last 7")]
    pinned = run("trading", "pin", lesson["id"])
    assert (pinned.code, "Pinned: The last 7" in pinned.out, "undo" in pinned.out) == (0, True, True)
    assert "Pinned already" in run("trading", "pin", lesson["id"]).out
    assert ask("trading", "lessons")[0]["pinned"] is True
    assert "pinned" in run("trading", "lessons").out
    assert ask("trading", "unpin", lesson["id"])["pinned"] is False
    assert ask("trading", "retire", lesson["id"])["state"] == "retired"
    assert ask("trading", "lessons") == []
    assert "retired" in run("trading", "lessons", "--all").out
    assert ask("trading", "reflect", "--deployment", "Fader main", "--window", "36500")["trades"] == 32
    assert ask("trading", "restore", lesson["id"])["state"] == "active"
    assert run("trading", "reflect").code == 1
    assert run("trading", "pin", "zzz").code == 1


def test_an_empty_book_says_what_to_do(run: Run) -> None:
    for words, hint in (
        (("skills",), "trading import skills FILE"),
        (("deployments",), "trading import deployments FILE"),
        (("trades",), "trading import trades FILE"),
        (("lessons",), "trading reflect"),
    ):
        ran = run("trading", *words)
        assert (ran.code, hint in ran.out) == (0, True), words


def test_the_coach_tells_the_figures_in_a_chat(run: Run, ask: Ask, loaded: Path) -> None:
    week = ask("trading", "performance", "BTC scalper")["performance"]["periods"]["this_week"]
    said = run("chat", "--preset", "coach", stdin="how is my BTC scalper doing this week?\n").out
    expected = (
        f"closed trades {week['trades']}, won {week['wins']}, net {week['pnl']:+,.2f} USDT".replace("-", "−")
        if week["trades"]
        else "no trade was closed"
    )
    assert expected in said


def test_a_broken_byte_on_stdin_costs_its_own_row_alone(run: Run, loaded: Path) -> None:
    assert loaded
    head = b"deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,exit_reason\n"
    row = b"BTC scalper main,ADA/USDT,long,1,2026-01-0%d,10,2026-01-05,11,%s\n"
    rows = b"".join(row % (day, words) for day, words in ((1, b"target"), (2, b"caf\xe9"), (3, b"stop")))
    ran = run("trading", "import", "trades", "-", stdin=head + rows)
    assert ran.code == 1
    assert "Loaded 2 trades" in ran.out


def test_a_brokers_file_is_shown_and_then_loaded(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text(bybit().text)
    shown = run("trading", "import", file, "--dry-run")
    assert "Bybit, transaction log" in shown.out
    assert "Would bring 5 trades" in shown.out
    assert shown.code == 1  # a transfer among the rows is no trade, and named
    made = run("trading", "import", "trades", file, "--json").json
    assert (made["paired"], made["wrong"], made["trades"]) == (7, 1, 5)
    again = run("trading", "import", file, "--json").json
    assert (again["unchanged"], again["trades"]) == (7, 0)
    assert "is written NAME=VALUE" in run("trading", "import", file, "--map", "side").err
    file.write_text("Date,Symbol,Side,Quantity,Price\n2/6/2026,A,buy,1,$100\n3/6/2026,A,sell,1,$110\n")
    assert "is the day or the month first?" in run("trading", "import", file, "--dry-run").err
    first = run("trading", "import", file, "--dates", "month", "--dry-run", "--json").json["preview"][0]
    assert first["entry_time"].startswith("2026-02-06")


def test_verify_answers_for_what_everybody_shares_too(ask: Ask) -> None:
    ask("remember", "Likes tea")
    told = ask("verify")
    assert (told["ok"], told["entries"]) == (True, 1)
    assert told["market"] == {"ok": True, "sources": 0, "batches": 0, "why": []}
