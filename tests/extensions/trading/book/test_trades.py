"""Trades and positions: what was earned, what is open, and what was known when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extensions.storage.every_table import TABLES
from tests.extensions.trading.floor import POSITIONS, TRADES, busy_floor, floor

from keepbook import Invalid, Keepbook
from keepbook.book.ground.when import stamp
from keepbook.book.owners.authority import Actor
from keepbook.book.upkeep import import_checks
from keepbook.extensions.trading.book import trades
from keepbook.extensions.trading.book.face import Trading
from keepbook.extensions.trading.book.trades import Trade

HEADER = TRADES.splitlines()[0]
LATE = "2031-01-01T00:00:00.000000Z"


@pytest.fixture
def trading(alice: Any) -> Trading:
    floor(alice)
    return Trading(alice)


def counts(loaded: Any) -> tuple[int, int, int, int]:
    return loaded.added, loaded.changed, loaded.unchanged, loaded.wrong


def known(book: Any, at: str = LATE, since: str | None = None, *names: str) -> list[Trade]:
    ids = [Trading(book).deployment(name).id for name in names or ("Floor",)]
    with book.reading() as (tx, _, _):
        return list(trades.known_trades(tx, ids, at, since))


def test_what_a_trade_earned_is_net_of_its_fees_on_either_side(alice: Any, trading: Trading) -> None:
    assert counts(trading.load("trades", TRADES.splitlines())) == (2, 0, 0, 0)
    long, short = known(alice)
    assert (long.side, long.pnl) == ("long", (61_000 - 60_000) * 0.5 - 30)
    assert (short.side, short.pnl) == ("short", pytest.approx((3000 - 3050.5) * 4 - 12.1))
    assert short.entry_time == "2026-01-06T09:00:00.000000Z"  # told with an offset
    assert (long.key, long.entry_regime_tag, long.exit_reason) == ("t1", "trend_up", "target")
    assert (short.entry_reason, short.mfe, short.mae) == ("faded, late", None, None)
    assert long.known_at == long.exit_time


def test_loading_trades_twice_changes_nothing_and_other_figures_are_taken_over(alice: Any, trading: Trading) -> None:
    lines = TRADES.splitlines()
    trading.load("trades", lines)
    before = known(alice)
    assert counts(trading.load("trades", lines)) == (0, 0, 2, 0)
    assert known(alice) == before
    assert counts(trading.load("trades", [lines[0], lines[1].replace(",30,", ",31.5,"), lines[2]])) == (0, 1, 1, 0)
    assert [one.pnl for one in known(alice)] == [before[0].pnl - 1.5, before[1].pnl]
    assert alice.verify().ok


def test_a_corrected_trade_stays_what_it_was_as_of_then(alice: Any, trading: Trading, clock: Any) -> None:
    lines = TRADES.splitlines()
    trading.load("trades", lines)

    def asked() -> list[Any]:
        figures = trading.performance(deployment="Floor", known_at=then)
        return [
            figures,
            trading.trades(deployment="Floor", known_at=then),
            trading.breakdown(deployment="Floor", known_at=then),
        ]

    then = stamp(clock.now)
    clock.forward(days=1)
    before = asked()
    for fees in ("31.5", "32", "30"):
        assert counts(trading.load("trades", [lines[0], lines[1].replace(",30,", f",{fees},")])) == (0, 1, 0, 0)
        clock.forward(days=1)
        assert asked() == before
    assert trading.performance(deployment="Floor").pnl == before[0].pnl
    assert alice.verify().ok


def test_without_an_id_the_nth_of_equal_rows_is_the_nth_trade(alice: Any, trading: Trading) -> None:
    row = "Floor,BTC/USDT,long,1,2026-01-05,100,2026-01-06,110,0,,,,,"
    lines = [HEADER, row + ",", row + ",", row.replace(",110,", ",111,") + ","]
    assert counts(trading.load("trades", lines)) == (3, 0, 0, 0)
    assert counts(trading.load("trades", lines)) == (0, 0, 3, 0)
    assert counts(trading.load("trades", [HEADER, row + ",one", row + ",two"])) == (2, 0, 0, 0)
    assert len(known(alice)) == 5


WRONG = {
    "Nowhere,BTC,long,1,2026-01-05,100,2026-01-06,110": "no deployment 'Nowhere' in this book; create it",
    "Floo,BTC,long,1,2026-01-05,100,2026-01-06,110": "no deployment 'Floo'",
    ",BTC,long,1,2026-01-05,100,2026-01-06,110": "deployment is missing",
    "Floor,,long,1,2026-01-05,100,2026-01-06,110": "symbol is missing",
    "Floor,BTC,up,1,2026-01-05,100,2026-01-06,110": "long or short",
    "Floor,BTC,long,0,2026-01-05,100,2026-01-06,110": "quantity is a number above 0",
    "Floor,BTC,long,-1,2026-01-05,100,2026-01-06,110": "quantity is a number above 0",
    "Floor,BTC,long,nan,2026-01-05,100,2026-01-06,110": "quantity is a number above 0",
    "Floor,BTC,long,1,2026-01-05,0,2026-01-06,110": "entry_price is a number above 0",
    "Floor,BTC,long,1,2026-01-05,100,2026-01-06,-1": "exit_price is a number from 0 on",
    "Floor,BTC,long,1,2026-01-06,100,2026-01-05,110": "exit_time is before entry_time",
    "Floor,BTC,long,1,0001-01-01,100,2026-01-05,110": "entry_time is before 1900: 0001-01-01",
    "Floor,BTC,long,1,soon,100,2026-01-05,110": "entry_time",
    "Floor,BTC,long,1e200,2026-01-05,1e200,2026-01-06,110": "too large",
    "Floor,BTC,long,1,2026-01-05,100,2026-01-06,110,free": "fees is a number",
    "Floor,BTC,long,1,2026-01-05,100,2026-01-06,110,0,far": "mfe is a number",
    "Floor,BTC,long,1,2026-01-05,100": "exit_time is missing",
}


def test_wrong_trades_are_named_and_cost_no_good_one(alice: Any, trading: Trading) -> None:
    lines = TRADES.splitlines()
    loaded = trading.load("trades", [*lines[:2], *WRONG, lines[2]])
    assert counts(loaded) == (2, 0, 0, len(WRONG))
    for place, (refused, why) in enumerate(zip(loaded.refused, WRONG.values(), strict=True), 3):
        assert (refused.row, why in refused.reason) == (place, True), refused
    assert len(known(alice)) == 2


def test_a_deployment_may_be_told_beside_the_file(alice: Any, trading: Trading) -> None:
    rows = [line.partition(",")[2] for line in TRADES.splitlines()]
    with pytest.raises(Invalid, match="no column 'deployment'"):
        trading.load("trades", rows)
    assert counts(trading.load("trades", rows, deployment="floor")) == (2, 0, 0, 0)


def test_a_trade_is_known_from_its_exit_on_or_later_but_never_earlier(alice: Any, trading: Trading) -> None:
    row = "Floor,BTC/USDT,long,1,2026-01-05,100,2026-01-06,110"
    rows = [
        "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,id,known_at",
        f"{row},plain,", f"{row},late,2026-01-08", f"{row},early,2026-01-01",
    ]  # fmt: skip
    trading.load("trades", rows)
    assert {one.key for one in known(alice, "2026-01-05T23:59:59.999999Z")} == set()
    assert {one.key for one in known(alice, "2026-01-06T00:00:00.000000Z")} == {"plain", "early"}
    assert {one.key for one in known(alice, "2026-01-08T00:00:00.000000Z")} == {"plain", "early", "late"}


def test_trades_of_several_deployments_come_in_the_order_of_their_exits(alice: Any, trading: Trading) -> None:
    trading.create_deployment("Other", "Scalper")
    rows = [
        f"{'Floor' if n % 3 else 'Other'},BTC/USDT,long,1,2026-01-01,100,2026-02-{28 - n % 25:02},110,,,,,,,{n}"
        for n in range(60)
    ]
    trading.load("trades", [HEADER, *rows])
    found = known(alice, LATE, None, "Floor", "Other")
    assert len(found) == 60
    assert found == sorted(found, key=lambda one: (one.exit_time, one.deployment_id, one.key))
    since = "2026-02-15T00:00:00.000000Z"
    assert known(alice, LATE, since, "Floor", "Other") == [one for one in found if one.exit_time >= since]
    for limit in (1, 7, 60, 100):
        walked: list[Trade] = []
        cursor = None
        while True:
            page = trading.trades(limit=limit, cursor=cursor, known_at=datetime(2031, 1, 1, tzinfo=UTC))
            assert page.total == 60
            assert len(page) <= limit
            walked += page
            cursor = page.next
            if cursor is None:
                break
        assert walked == found[::-1]
    with pytest.raises(Invalid, match="limit"):
        trading.trades(limit=0)


# --- positions -------------------------------------------------------------------------------------------


def held(trading: Trading, at: Any = None) -> list[str]:
    return [f"{one.symbol} {one.side} {one.quantity:g}" for one in trading.positions(known_at=at)]


def test_a_file_of_positions_says_what_is_open_now(trading: Trading, clock: Any) -> None:
    clock.set("2026-02-03T00:00:00Z")
    lines = POSITIONS.splitlines()
    assert counts(trading.load("positions", lines)) == (2, 0, 0, 0)
    assert counts(trading.load("positions", lines)) == (0, 0, 2, 0)
    assert held(trading) == ["BTC/USDT long 0.25", "SOL/USDT short 30"]
    clock.set("2026-02-04T00:00:00Z")
    assert counts(trading.load("positions", [lines[0], lines[2].replace(",30,", ",20,")])) == (0, 2, 0, 0)
    assert held(trading) == ["SOL/USDT short 20"]
    assert held(trading, "2026-02-03T12:00:00Z") == ["BTC/USDT long 0.25", "SOL/USDT short 30"], "as it was known then"
    assert counts(trading.load("positions", lines)) == (0, 2, 0, 0)  # open after all
    assert held(trading) == ["BTC/USDT long 0.25", "SOL/USDT short 30"]


def test_a_file_without_positions_closes_those_of_the_deployment_it_is_for(trading: Trading, clock: Any) -> None:
    clock.set("2026-02-03T00:00:00Z")
    trading.load("positions", POSITIONS.splitlines())
    assert counts(trading.load("positions", [POSITIONS.splitlines()[0]])) == (0, 0, 0, 0)
    assert len(held(trading)) == 2
    clock.set("2026-02-04T00:00:00Z")
    assert counts(trading.load("positions", [POSITIONS.splitlines()[0]], deployment="Floor")) == (0, 2, 0, 0)
    assert held(trading) == []


def test_a_file_with_a_wrong_row_closes_nothing(trading: Trading, clock: Any) -> None:
    clock.set("2026-02-03T00:00:00Z")
    lines = POSITIONS.splitlines()
    trading.load("positions", lines)
    clock.set("2026-02-04T00:00:00Z")
    loaded = trading.load("positions", [*lines[:2], "Floor,SOL/USDT,short,thirty,2026-02-02,150"])
    assert counts(loaded) == (0, 0, 1, 1)
    assert len(held(trading)) == 2


def test_other_deployments_keep_what_they_hold(trading: Trading, clock: Any) -> None:
    clock.set("2026-02-03T00:00:00Z")
    trading.create_deployment("Other", "Scalper")
    trading.load("positions", POSITIONS.splitlines())
    lines = [line.replace("Floor", "Other") for line in POSITIONS.splitlines()[:2]]
    assert counts(trading.load("positions", lines)) == (1, 0, 0, 0)
    assert len(held(trading)) == 3


def test_a_position_is_open_from_its_entry_and_a_part_that_was_sold_leaves_the_rest(
    trading: Trading, clock: Any
) -> None:
    clock.set("2026-03-01T00:00:00Z")
    row = "Floor,BTC/USDT,long,0.25,2026-02-01T00:00:00Z,62000,2026-02-10T00:00:00Z,63000,,,,,,,"
    trading.load("trades", [HEADER, row])
    trading.load("positions", POSITIONS.splitlines())
    assert held(trading, "2026-01-31T23:59:59Z") == []
    assert held(trading, "2026-02-01T00:00:00Z") == ["BTC/USDT long 0.25"]
    assert held(trading) == ["BTC/USDT long 0.25", "SOL/USDT short 30"]


def test_a_position_that_changed_counts_from_when_it_was_known(trading: Trading, clock: Any) -> None:
    clock.set("2026-02-20T00:00:00Z")
    header = "deployment,symbol,side,quantity,entry_time,entry_price,known_at"
    trading.load("positions", [header, "Floor,BTC/USDT,long,1,2026-02-01,60000,"])
    trading.load("positions", [header, "Floor,BTC/USDT,long,3,2026-02-01,60000,2026-02-10"])
    assert held(trading, "2026-02-09T00:00:00Z") == ["BTC/USDT long 1"]
    assert held(trading, "2026-02-10T00:00:00Z") == ["BTC/USDT long 3"]
    assert held(trading) == ["BTC/USDT long 3"]


# --- properties ------------------------------------------------------------------------------------------

START = datetime(2026, 1, 1, tzinfo=UTC)
ENTRIES = st.tuples(st.integers(0, 200), st.integers(0, 50), st.integers(0, 30), st.sampled_from(["long", "short"]))


@settings(max_examples=6)
@given(early=st.lists(ENTRIES, max_size=12), late=st.lists(ENTRIES, max_size=12), at=st.integers(0, 260))
def test_what_comes_later_never_changes_what_was_known(
    early: list[tuple[int, int, int, str]], late: list[tuple[int, int, int, str]], at: int
) -> None:
    """Later is: what was not over, or not told, by the instant."""
    moment = stamp(START + timedelta(hours=at))

    def rows(given: list[tuple[int, int, int, str]], name: str) -> list[str]:
        lines = [f"{HEADER},known_at"]
        for n, (enters, lasts, told, side) in enumerate(given):
            entry, left = START + timedelta(hours=enters), START + timedelta(hours=enters + lasts)
            known_at = left + timedelta(hours=told)
            lines.append(
                f"Floor,BTC/USDT,{side},1,{stamp(entry)},100,{stamp(left)},{100 + n},1,,,,,,{name}{n},{stamp(known_at)}"
            )
        return lines

    later = [one for one in late if one[0] + one[1] + one[2] > at]
    with Keepbook(":memory:", embedder="none", clock=lambda: START + timedelta(days=400)) as kb:
        book = kb.book("alice")
        floor(book)
        trading = Trading(book)
        trading.load("trades", rows(early, "early"))
        before = known(book, moment), trading.trades(known_at=moment), trading.positions(known_at=moment)
        trading.load("trades", rows(later, "late"))
        assert (known(book, moment), trading.trades(known_at=moment), trading.positions(known_at=moment)) == before
        assert len(before[0]) == sum(one[0] + one[1] + one[2] <= at for one in early)


def test_all_of_it_goes_with_its_owner(kb: Any, alice: Any) -> None:
    busy_floor(alice)
    bob = kb.book("bob")
    busy_floor(bob)
    counts_of = alice.erase(confirm="alice").counts
    expected = {"skills": 1, "skill_fields": 3, "deployments": 1, "positions": 2, "trades": 2, "lessons": 1}
    assert {name: counts_of[name] for name in expected} == expected
    assert Trading(kb.book("alice")).skills() == []
    assert len(known(bob)) == 2


@pytest.mark.parametrize("at", ["", "yesterday", "2026-02-30T00:00:00.000000Z", "\u202e", "2026-03-01"])
def test_a_trade_that_closed_at_no_instant_does_not_come_in(at: str) -> None:
    with pytest.raises(Invalid, match="is no exit_time of a trade"):
        import_checks.check_import({"trade": [{"id": "abcdefgh", "exit_time": at}]}, Actor("person"), TABLES)


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_taking_back_a_load_looks_at_each_former_trade_a_few_times(alice: Any, trading: Trading) -> None:
    """It looked at all of them for each: minutes for some thousand."""
    begins = datetime(2025, 1, 1, tzinfo=UTC)
    times = [(begins + timedelta(minutes=nth), begins + timedelta(minutes=nth + 1)) for nth in range(300)]
    rows = [
        f"Floor,BTC/USDT,long,1,{stamp(entry)},60000,{stamp(exit)},61000,1,,,,,,k{nth}"
        for nth, (entry, exit) in enumerate(times)
    ]
    assert trading.load("trades", [HEADER, *rows]).added == 300
    with alice.writing() as (tx, _):
        alice.take_back(alice.loads()[0].nth)
        looked = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'former_trades'"
        assert tx.conn.exec_driver_sql(looked).scalar() < 20 * 300
    assert known(alice) == []
