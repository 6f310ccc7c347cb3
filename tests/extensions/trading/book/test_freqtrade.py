"""The trade database of freqtrade, made by that project's own models (scripts/freqtrade_database.py)."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.extensions.trading.floor import floor

from keepbook import Invalid, NotAllowed
from keepbook.extensions.trading.book import trades
from keepbook.extensions.trading.book.face import Trading

REAL = Path(__file__).parent / "data" / "tradesv3.sqlite"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(REAL, tmp_path / "tradesv3.sqlite"))


@pytest.fixture
def trading(alice: Any, clock: Any) -> Trading:
    clock.set("2026-04-01T00:00:00Z")
    return Trading(alice)


def counts(loaded: Any) -> tuple[int, int, int, int]:
    return loaded.added, loaded.changed, loaded.unchanged, loaded.wrong


def by_id(trading: Trading) -> dict[int, trades.Trade]:
    return {int(one.key.removeprefix("freqtrade-")): one for one in trading.trades(limit=100)}


def held(trading: Trading) -> list[tuple[str, str, float, float]]:
    return [(one.symbol, one.side, one.quantity, one.entry_price) for one in trading.positions()]


def test_what_each_trade_earned_is_freqtrades_own_figure(trading: Trading, file: Path) -> None:
    assert counts(trading.load("freqtrade", file)) == (8, 0, 0, 0)
    found = by_id(trading)
    with closing(sqlite3.connect(file)) as raw:
        own = dict(raw.execute("SELECT id, close_profit_abs FROM trades WHERE NOT is_open"))
    assert len(own) == 5
    assert {id: one.pnl for id, one in found.items()} == own
    for one in found.values():
        sign = 1 if one.side == "long" else -1
        assert one.pnl == pytest.approx(sign * (one.exit_price - one.entry_price) * one.quantity - one.fees)


def test_round_trips_equal_a_computation_in_pandas(trading: Trading, file: Path) -> None:
    """From its orders: what went in and out of each closed trade, at which prices; the total is freqtrade's own."""
    with closing(sqlite3.connect(file)) as raw:
        own = pd.read_sql("SELECT * FROM trades WHERE NOT is_open", raw).set_index("id")
        orders = pd.read_sql("SELECT * FROM orders WHERE filled > 0", raw)
    orders["price"] = orders["average"].fillna(orders["price"])
    orders["filled"] -= orders["ft_fee_base"].fillna(0)
    orders["worth"] = orders["filled"] * orders["price"]
    orders["enters"] = orders["ft_order_side"] == orders["ft_trade_id"].map(own["is_short"]).map({0: "buy", 1: "sell"})
    sums = orders.groupby(["ft_trade_id", "enters"])[["filled", "worth"]].sum().unstack().reindex(own.index)
    into, out = sums["worth"][True] / sums["filled"][True], sums["worth"][False] / sums["filled"][False]
    way = own["is_short"].map({0: 1, 1: -1})
    expected = pd.DataFrame({
        "quantity": sums["filled"][False].fillna(own["amount"]), "entry_price": into.fillna(own["open_rate"]),
        "exit_price": out.fillna(own["close_rate"]), "pnl": own["close_profit_abs"],
    })  # fmt: skip
    expected = expected.astype(float)
    moved = way * (expected["exit_price"] - expected["entry_price"]) * expected["quantity"]
    expected["fees"] = moved - own["close_profit_abs"]
    trading.load("freqtrade", file)
    mine = pd.DataFrame([one._asdict() | {"id": id} for id, one in by_id(trading).items()]).set_index("id")
    pd.testing.assert_frame_equal(
        mine.sort_index()[list(expected.columns)], expected.sort_index(), check_names=False, rtol=1e-9, atol=1e-9
    )
    total = sum(trading.performance(deployment=one.id).pnl for one in trading.deployments())
    assert total == pytest.approx(own["close_profit_abs"].sum(), abs=1e-9)


def test_trades_have_their_sides_times_reasons_and_reach(trading: Trading, file: Path) -> None:
    trading.load("freqtrade", file)
    found = by_id(trading)
    assert {id: (one.symbol, one.side) for id, one in found.items()} == {
        1: ("BTC/USDT", "long"), 2: ("ETH/USDT", "long"), 3: ("SOL/USDT:USDT", "short"), 4: ("BTC/USDT:USDT", "short"),
        5: ("ADA/USDT", "long"),
    }  # fmt: skip
    first, short = found[1], found[3]
    assert (first.entry_time, first.exit_time) == ("2026-03-01T10:00:00.000000Z", "2026-03-01T16:30:00.000000Z")
    assert (first.entry_reason, first.exit_reason) == ("breakout", "roi")
    assert (first.mfe, first.mae) == (pytest.approx(89_650 / 88_000 - 1), pytest.approx(87_700 / 88_000 - 1))
    assert (short.mfe, short.mae) == (pytest.approx(1 - 136.9 / 142), pytest.approx(1 - 144.1 / 142))
    assert first.fees == pytest.approx(0.001 * 0.05 * (88_000 + 89_400))
    assert short.fees == pytest.approx(0.001 * 40 * (142 + 137.2) + 0.62)  # the funding it paid is in them
    assert (found[5].mfe, found[5].mae) == (None, None)


def test_bought_and_sold_in_parts_is_one_trade_of_the_whole(trading: Trading, file: Path) -> None:
    trading.load("freqtrade", file)
    whole = by_id(trading)[5]
    assert whole.quantity == 1500
    assert whole.entry_price == pytest.approx((1000 * 0.71 + 500 * 0.68) / 1500)
    assert whole.exit_price == pytest.approx((600 * 0.74 + 900 * 0.69) / 1500)
    assert whole.fees == pytest.approx(0.001 * 1500 * (whole.entry_price + whole.exit_price))


def test_open_trades_are_positions_and_what_is_only_ordered_is_not(trading: Trading, file: Path) -> None:
    trading.load("freqtrade", file)
    assert sorted(held(trading)) == [
        ("BTC/USDT", "long", 0.03, 91_000.0), ("ETH/USDT:USDT", "short", 0.8, 2_990.0),
        ("XRP/USDT", "long", 1500.0, 2.31),
    ]  # fmt: skip


def test_strategies_become_skills_and_deployments_once(trading: Trading, file: Path) -> None:
    trading.load("freqtrade", file)
    assert [one.name for one in trading.skills()] == ["TrendRider", "FadeIt"]
    found = [(one.name, one.skill, one.account, one.currency) for one in trading.deployments()]
    assert found == [
        ("TrendRider on binance USDT", "TrendRider", "binance", "USDT"),
        ("FadeIt on binance USDT", "FadeIt", "binance", "USDT"),
    ]  # fmt: skip
    before = trading.trades(limit=100).items, held(trading), trading.skills(), trading.deployments()
    assert counts(trading.load("freqtrade", file)) == (0, 0, 8, 0)
    assert (trading.trades(limit=100).items, held(trading), trading.skills(), trading.deployments()) == before


def test_a_deployment_may_be_named(trading: Trading, alice: Any, file: Path) -> None:
    floor(alice)
    assert counts(trading.load("freqtrade", file, deployment="Floor")) == (8, 0, 0, 0)
    assert [one.name for one in trading.deployments()] == ["Floor"]
    assert [one.name for one in trading.skills()] == ["Scalper"]
    assert trading.trades(deployment="Floor").total == 5


def test_an_agent_names_a_deployment_that_is_there(alice: Any, file: Path) -> None:
    """For it alone none is made, nor a skill."""
    agent = alice.acting(actor="agent").trading
    with pytest.raises(NotAllowed, match="only the person"):
        agent.load("freqtrade", file)
    assert (alice.trading.deployments(), alice.trading.skills()) == ([], [])


def test_a_name_that_only_looks_like_it_is_not_taken(trading: Trading, file: Path) -> None:
    trading.create_skill("My TrendRider on binance")
    trading.create_deployment("My TrendRider on binance", "My TrendRider on binance")
    trading.load("freqtrade", file)
    assert trading.trades(deployment="My TrendRider on binance").total == 0


def test_what_the_bot_did_since_is_taken_over(trading: Trading, file: Path, clock: Any) -> None:
    trading.load("freqtrade", file)
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute(
            "UPDATE trades SET is_open = 0, close_rate = 92000, close_profit_abs = 24.5, exit_reason = 'roi', "
            "close_date = '2026-03-10 00:00:00.000000' WHERE id = 6"
        )
        raw.execute("UPDATE trades SET amount = 0.5 WHERE id = 8")
    assert counts(trading.load("freqtrade", file)) == (1, 2, 6, 0)  # a trade; a position closed, one made smaller
    assert by_id(trading)[6].pnl == 24.5
    assert sorted(held(trading)) == [("ETH/USDT:USDT", "short", 0.5, 2_990.0), ("XRP/USDT", "long", 1500.0, 2.31)]


def test_the_file_is_only_read_and_nothing_is_left_beside_it(trading: Trading, file: Path) -> None:
    before = file.read_bytes()
    assert before[18] == 2  # freqtrade writes ahead
    trading.load("freqtrade", file)
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.glob("trades*")] == [file.name]


def test_it_is_read_while_the_bot_has_it_open(trading: Trading, file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as bot:
        bot.execute("UPDATE trades SET exit_reason = 'only in the log so far' WHERE id = 1")
        bot.execute("BEGIN IMMEDIATE")
        bot.execute("UPDATE trades SET exit_reason = 'not kept yet' WHERE id = 2")
        assert counts(trading.load("freqtrade", file)) == (8, 0, 0, 0)
        bot.execute("ROLLBACK")
    found = by_id(trading)
    assert (found[1].exit_reason, found[2].exit_reason) == ("only in the log so far", "stop_loss")


def test_other_versions_have_fewer_columns_or_more(trading: Trading, tmp_path: Path) -> None:
    old = tmp_path / "old trades #1?.sqlite"
    with closing(sqlite3.connect(old)) as raw, raw:
        raw.execute(
            "CREATE TABLE trades (id INTEGER PRIMARY KEY, exchange TEXT, pair TEXT, is_open INTEGER, fee_open REAL, "
            "fee_close REAL, open_rate REAL, close_rate REAL, amount REAL, open_date TEXT, close_date TEXT, "
            "sell_reason TEXT, moon_phase TEXT)"
        )
        row = "(?, 'bittrex', ?, ?, 0.0025, 0.0025, 100, ?, 2, '2019-01-01 10:00:00', ?, ?, 'full')"
        raw.execute(f"INSERT INTO trades VALUES {row}", (1, "ETH/BTC", 0, 110, "2019-01-02 10:00:00", "roi"))
        raw.execute(f"INSERT INTO trades VALUES {row}", (2, "ADA/BTC", 1, None, None, None))
    assert counts(trading.load("freqtrade", old)) == (2, 0, 0, 0)
    (one,) = trading.trades()
    assert (one.side, one.exit_reason, one.pnl) == ("long", "roi", pytest.approx(20 - 0.0025 * 2 * 210))
    assert held(trading) == [("ADA/BTC", "long", 2, 100)]
    assert [skill.name for skill in trading.skills()] == ["freqtrade"]


def test_a_wrong_trade_is_named_by_its_id_costs_no_other_and_closes_nothing(trading: Trading, file: Path) -> None:
    trading.load("freqtrade", file)
    with closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("UPDATE trades SET close_date = 'whenever' WHERE id = 2")
        raw.execute("UPDATE trades SET amount = 'lots' WHERE id = 7")
        raw.execute("UPDATE trades SET exit_reason = 'changed' WHERE id = 1")
    loaded = trading.load("freqtrade", file)
    assert counts(loaded) == (0, 1, 5, 2)
    assert [refused.row for refused in loaded.refused] == [2, 7]
    assert len(held(trading)) == 3


def test_what_is_no_such_database_is_refused(trading: Trading, tmp_path: Path) -> None:
    text, other = tmp_path / "trades.csv", tmp_path / "other.sqlite"
    text.write_text("a,b\n1,2\n" * 100)
    with closing(sqlite3.connect(other)) as raw, raw:
        raw.execute("CREATE TABLE trades (id INTEGER)")
    for place in (text, other, tmp_path / "missing.sqlite", tmp_path):
        with pytest.raises(Invalid, match=r"cannot read|no trade database"):
            trading.load("freqtrade", place)
    with pytest.raises(Invalid, match="give its path"):
        trading.load("freqtrade", ["a line"])
    assert trading.skills() == []
