"""The figures of trading, held against pandas, which knows nothing of how they are computed here."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extensions.trading.trade_rows import BEGIN, Desk, at, lines, many_trades, position, trade

from keepbook.book.ground.when import stamp
from keepbook.errors import Conflict
from keepbook.extensions.trading.book.days import fold_days
from keepbook.extensions.trading.book.performance import Performance, equity_points, measure_performance

# --- the other way to compute it --------------------------------------------------------------------------


def as_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Trades in the order of their exits, with what each earned."""
    frame = pd.DataFrame(rows)
    for name in ("entry_time", "exit_time"):
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    sign = frame["side"].map({"long": 1, "short": -1})
    frame["pnl"] = sign * (frame["exit_price"] - frame["entry_price"]) * frame["quantity"] - frame["fees"]
    return frame.sort_values("exit_time", kind="stable").reset_index(drop=True)


def by_pandas(frame: pd.DataFrame, capital: float | None) -> dict[str, Any]:
    pnl = frame["pnl"]
    daily = pnl.groupby(frame["exit_time"].dt.floor("D")).sum()
    daily = daily.reindex(pd.date_range(daily.index.min(), daily.index.max(), freq="D"), fill_value=0.0)
    level = (capital or 0.0) + pnl.cumsum()
    peak = level.cummax().clip(lower=capital or 0.0)
    losses = -pnl[pnl < 0].sum()
    enough = capital and len(daily) >= 30 and len(frame) >= 30
    returns = daily / capital if enough else None
    deviation = 0.0 if returns is None else returns.std(ddof=1)
    below = 0.0 if returns is None else np.sqrt((returns.clip(upper=0) ** 2).mean())
    deepest = ((peak - level) / peak).max() if capital else 0.0
    lost = -pnl[pnl <= 0].mean() if (pnl <= 0).any() else None
    return {
        "trades": len(frame),
        "wins": int((pnl > 0).sum()),
        "pnl": pnl.sum(),
        "fees": frame["fees"].sum(),
        "return_pct": pnl.sum() / capital if capital else None,
        "sharpe": returns.mean() / deviation * np.sqrt(365) if deviation else None,
        "sortino": returns.mean() / below * np.sqrt(365) if below > 1e-12 else None,
        "calmar": returns.mean() * 365 / deepest if enough and deepest else None,
        "days": len(daily),
        "average_win": pnl[pnl > 0].mean() if (pnl > 0).any() else None,
        "average_loss": lost,
        "expectancy_r": pnl.mean() / lost if lost else None,
        "max_drawdown": (peak - level).max(),
        "max_drawdown_pct": ((peak - level) / peak).max() if capital else None,
        "win_rate": (pnl > 0).mean(),
        "profit_factor": pnl[pnl > 0].sum() / losses if losses else None,
        "expectancy": pnl.mean(),
        "best": pnl.max(),
        "worst": pnl.min(),
        "first": frame["exit_time"].min().to_pydatetime(),
        "last": frame["exit_time"].max().to_pydatetime(),
    }


def agrees(found: Performance, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        wanted = pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
        assert getattr(found, name) == wanted, name


# --- against pandas ---------------------------------------------------------------------------------------


@pytest.fixture
def desk(kb: Any, clock: Any) -> Desk:
    return Desk(kb, clock)


@pytest.mark.parametrize("capital", [10_000_000.0, None])
def test_every_figure_is_the_one_that_pandas_computes(kb: Any, clock: Any, capital: float | None) -> None:
    desk, rows = Desk(kb, clock, capital=capital), many_trades(7, 400)
    desk.load(rows)
    frame = as_frame(rows)
    gaps = frame["exit_time"].dt.floor("D").drop_duplicates().diff().dt.days.max()
    assert gaps > 2
    assert set(frame["side"]) == {"long", "short"}
    agrees(desk.trading.performance(deployment="Main"), by_pandas(frame, capital))
    points = desk.trading.equity(deployment="Main")
    level = (capital or 0.0) + frame["pnl"].groupby(frame["exit_time"].dt.strftime("%Y-%m-%d")).sum().cumsum()
    days = pd.date_range(level.index[0], level.index[-1]).strftime("%Y-%m-%d")
    assert [point.day for point in points] == list(days)
    assert [point.equity for point in points] == pytest.approx(list(level.reindex(days).ffill()))
    whole = desk.trading.performance(deployment="Main")
    assert max(point.drawdown for point in points) == pytest.approx(whole.max_drawdown)
    if capital:
        assert max(point.drawdown_pct for point in points) == pytest.approx(whole.max_drawdown_pct)
    else:
        assert {point.drawdown_pct for point in points} == {None}


def test_as_of_an_instant_only_what_was_known_then_counts(desk: Desk) -> None:
    rows = many_trades(3, 200)
    late = [row | {"known_at": at(24 * 150)} for row in rows[:40]]
    desk.load(late + rows[40:])
    moment = BEGIN + timedelta(days=20)
    frame = as_frame(rows[40:])
    before = frame[frame["exit_time"] <= moment]
    assert 10 < len(before) < len(frame)
    agrees(desk.trading.performance(deployment="Main", known_at=moment), by_pandas(before, 10_000.0))


def test_since_is_as_if_trading_had_begun_then(desk: Desk) -> None:
    rows = many_trades(5, 200)
    desk.load(rows)
    moment = BEGIN + timedelta(days=15)
    frame = as_frame(rows)
    found = desk.trading.performance(deployment="Main", since=moment)
    agrees(found, by_pandas(frame[frame["exit_time"] >= moment], 10_000.0))
    assert found.since == moment


def test_a_skill_is_all_its_deployments_on_all_their_capital(desk: Desk) -> None:
    desk.trading.create_deployment("Second", "Scalper", capital=5_000, started_at=BEGIN)
    first, second = many_trades(1, 80), many_trades(2, 60)
    desk.load(first)
    desk.load(second, deployment="Second")
    found = desk.trading.performance(skill="scalper")
    agrees(found, by_pandas(as_frame(first + second), 15_000.0))
    assert (found.capital, found.currency) == (15_000.0, "USDT")
    assert desk.trading.performance().trades == 140


prices = st.floats(-500, 500).map(lambda number: round(number, 2))


@given(
    pnl=st.lists(st.tuples(prices, st.integers(0, 60)), min_size=1, max_size=40), capital=st.sampled_from([900.0, None])
)
def test_any_trades_at_all(pnl: list[tuple[float, int]], capital: float | None) -> None:
    hours = np.cumsum([step for _, step in pnl])
    rows = [
        (stamp(BEGIN + timedelta(hours=int(hour))), earned, 1.0) for hour, (earned, _) in zip(hours, pnl, strict=True)
    ]
    found = measure_performance(
        fold_days(rows), known_at=stamp(BEGIN + timedelta(days=300)), since=None, capital=capital, currency="USDT",
        open_positions=0, zone=ZoneInfo("UTC"),
    )  # fmt: skip
    frame = pd.DataFrame({"pnl": [pnl for _, pnl, _ in rows], "fees": [1.0] * len(rows)})
    frame["exit_time"] = pd.to_datetime([at for at, _, _ in rows], utc=True)
    expected = by_pandas(frame, capital)
    for name in ("sortino", "calmar"):
        expected.pop(name)
    wanted = expected.pop("sharpe")
    if wanted is None or abs(wanted) > 1e6:  # the same every day, but for rounding
        assert found.sharpe is None or abs(found.sharpe) > 1e6
    else:
        assert found.sharpe == pytest.approx(wanted, rel=1e-6, abs=1e-9)
    agrees(found, expected)
    days = pd.date_range(frame["exit_time"].min().floor("D"), frame["exit_time"].max().floor("D"))
    assert len(equity_points(fold_days(rows), capital)) == len(days)


# --- single cases -----------------------------------------------------------------------------------------


def test_what_cannot_be_said_is_none_and_not_zero(kb: Any, clock: Any) -> None:
    desk = Desk(kb, clock, capital=None)
    empty = desk.trading.performance(deployment="Main")
    assert (empty.trades, empty.pnl, empty.max_drawdown) == (0, 0, 0)
    for name in ("return_pct", "sharpe", "max_drawdown_pct", "win_rate", "profit_factor", "expectancy", "best", "last"):
        assert getattr(empty, name) is None, name
    assert desk.trading.equity(deployment="Main") == []
    desk.load([trade(1, 0.01), trade(2, 0.02)])
    one_day = desk.trading.performance(deployment="Main")
    assert (one_day.win_rate, one_day.profit_factor, one_day.sharpe, one_day.return_pct) == (1.0, None, None, None)


def test_sharpe_needs_two_days_and_some_deviation(desk: Desk) -> None:
    desk.load([trade(1, 0.01), trade(5, -0.02)])
    assert desk.trading.performance(deployment="Main").sharpe is None
    steady = desk.trading.create_deployment("Steady", "Scalper", capital=1_000)
    desk.load([trade(24 * day, 0.01) for day in range(10)], deployment="Steady")
    assert desk.trading.performance(deployment=steady.id).sharpe is None


def test_under_thirty_trades_or_days_there_is_no_ratio_and_why(desk: Desk) -> None:
    desk.load([trade(24 * day, 0.01 if day % 3 else -0.01) for day in range(29)])
    few = desk.trading.performance(deployment="Main")
    assert (few.sharpe, few.sortino, few.calmar, few.days) == (None, None, None, 29)
    assert few.why["sortino"] == "29 trades in 29 days; from 30 of both on"
    desk.load([trade(24 * 29, 0.01)])
    enough = desk.trading.performance(deployment="Main")
    assert None not in (enough.sharpe, enough.sortino, enough.calmar)
    assert enough.why == {}


def test_the_longest_drawdown_is_counted_in_days(desk: Desk) -> None:
    nets = ((0, 0.1), (24, -0.05), (72, 0.01), (96, 0.06), (120, -0.02), (240, 0.0))
    desk.load([trade(hours, net, quantity=100.0) for hours, net in nets])
    found = desk.trading.performance(deployment="Main")
    assert found.longest_drawdown == 6  # from the fifth day to the last, which is under the peak of then


def test_parts_need_six_trades_and_holding_needs_bars(desk: Desk, kb: Any) -> None:
    desk.load([trade(24 * day, 0.01, symbol="A/USDT") for day in range(7)] + [trade(5, -0.02, symbol="B/USDT")])
    found = desk.trading.breakdown(deployment="Main")
    parts = {one.name: one for one in found.by_symbol}
    assert (parts["A/USDT"].trades, parts["B/USDT"].trades, parts["B/USDT"].mean) == (7, 1, None)
    assert parts["A/USDT"].mean == pytest.approx(parts["A/USDT"].pnl / 7)
    assert sum(one.trades for one in found.by_weekday) == sum(one.trades for one in found.by_hour) == 8
    assert (found.holding_pct, found.why["holding_pct"]) == (None, "no prices of A/USDT for that time")
    rows = [
        f"{symbol},1d,{stamp(BEGIN + timedelta(days=day))},{price},{price},{price},{price}"
        for symbol, first, last in (("A/USDT", 100, 110), ("B/USDT", 100, 130))
        for day, price in ((-30, first), (3, last))
    ]
    kb.market.load(["symbol,timeframe,time,open,high,low,close", *rows])
    assert desk.trading.breakdown(deployment="Main").holding_pct == pytest.approx(0.2)
    assert 0 < (found.exposure_time or 0) <= 1


def test_the_drawdown_is_taken_from_the_peak_which_begins_at_the_capital(desk: Desk) -> None:
    nets = ((1, -0.1), (2, 0.2), (30, -0.15), (200, 0.02))  # of 10,000: −1000, +2000, −1500, +200
    desk.load([trade(hours, net, quantity=100.0) for hours, net in nets])
    found = desk.trading.performance(deployment="Main")
    assert found.max_drawdown == pytest.approx(1_500)
    assert found.max_drawdown_pct == pytest.approx(1_500 / 11_000)
    points = desk.trading.equity(deployment="Main")
    assert len(points) == 9
    assert points[0].drawdown == pytest.approx(1_000)  # in the course of the day, though it ended at its peak
    assert {round(point.drawdown) for point in points[1:8]} == {1_500}  # days without an exit stand where it stood
    assert points[8].drawdown == pytest.approx(1_300)


def test_a_week_begins_on_monday_where_the_owner_lives(desk: Desk) -> None:
    desk.book.configure(zone="Europe/Oslo")
    sunday = 24 * 6
    desk.load([trade(sunday + 22.5, 0.01), trade(sunday + 23.5, 0.02), trade(sunday + 30, -0.01)])
    moment = BEGIN + timedelta(days=8)
    week = desk.trading.performance(deployment="Main", known_at=moment).periods["this_week"]
    assert (week.trades, week.wins, week.since) == (2, 1, datetime(2026, 1, 11, 23, tzinfo=UTC))
    assert week.pnl == pytest.approx(2.0)
    assert week.return_pct == pytest.approx(2.0 / 10_000)
    desk.book.configure(zone="UTC")
    assert desk.trading.performance(deployment="Main", known_at=moment).periods["this_week"].trades == 1


def test_the_last_days_end_at_the_instant_asked_about(desk: Desk) -> None:
    desk.load([trade(24 * day, 0.01) for day in range(60)])
    periods = desk.trading.performance(deployment="Main", known_at=BEGIN + timedelta(days=45)).periods
    assert (periods["last_7_days"].trades, periods["last_30_days"].trades) == (8, 31)
    later = desk.trading.performance(deployment="Main", since=BEGIN + timedelta(days=44), known_at=at(24 * 45)).periods
    assert later == periods


def test_capital_in_two_currencies_or_unknown_is_no_sum(desk: Desk) -> None:
    desk.load([trade(1, 0.01), trade(40, -0.02)])
    other = desk.trading.create_deployment("Euros", "Scalper", capital=900, currency="EUR", started_at=BEGIN)
    mixed = desk.trading.performance(skill="Scalper")
    assert (mixed.capital, mixed.currency, mixed.return_pct, mixed.sharpe) == (None, None, None, None)
    desk.trading.change_deployment(other.id, currency="USDT", capital=None)
    idle = desk.trading.performance(skill="Scalper")
    assert (idle.capital, idle.currency) == (10_000.0, "USDT")
    desk.load([trade(3, 0.01)], deployment="Euros")
    assert desk.trading.performance(skill="Scalper").capital is None


def test_open_positions_are_counted_as_of_then(desk: Desk) -> None:
    desk.load([position(hours=1), position("ETH/USDT", hours=30)], kind="positions")
    counted = [desk.trading.performance(deployment="Main", known_at=at(hours)).open_positions for hours in (0.5, 2, 31)]
    assert counted == [0, 1, 2]


def test_all_of_it_is_plain_data(desk: Desk) -> None:
    from keepbook import to_json

    desk.load(many_trades(1, 20))
    shown = to_json(desk.trading.performance(deployment="Main"))
    assert shown.keys() == {field.name for field in fields(Performance)}
    assert lines([shown])
    assert lines(to_json(desk.trading.equity(deployment="Main")))


def test_currencies_are_not_added_up(kb: Any, alice: Any, clock: Any) -> None:
    """Two deployments of a skill, in euros and in dollars: apart, or converted by bars that are there, or refused."""
    clock.set("2026-04-01T00:00:00Z")
    trading = alice.trading
    trading.create_skill("Swing")
    for name, currency in (("Euros", "EUR"), ("Dollars", "USD")):
        trading.create_deployment(name, "Swing", currency=currency, capital=1000, started_at="2026-01-01")
    header = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price"
    rows = ("Euros,SAP,long,1,2026-01-05,100,2026-01-06,110", "Dollars,AAA,long,1,2026-01-05,100,2026-01-07,95")
    assert trading.load("trades", [header, *rows]).added == 2
    apart = trading.performance(skill="Swing")
    assert (apart.trades, apart.wins, apart.pnl, apart.currency, apart.capital, apart.periods["this_week"].pnl) == (
        2, 1, None, None, None, None,
    )  # fmt: skip
    assert {name: (one.pnl, one.return_pct) for name, one in apart.by_currency.items()} == {
        "EUR": (10, 0.01), "USD": (-5, -0.005),
    }  # fmt: skip
    for ask in (trading.equity, trading.breakdown):
        with pytest.raises(Conflict, match="count in EUR and USD, which are not added up"):
            ask(skill="Swing")
    with pytest.raises(Conflict, match="no rate from EUR to USD for 2026-01-06: load bars of EUR/USD"):
        trading.performance(skill="Swing", currency="usd")
    bars = [f"USD/EUR,1d,2026-0{month}-{day:02},{rate},{rate},{rate},{rate}" for month, day, rate in
            ((1, 4, 0.8), (1, 6, 0.5), (3, 30, 0.5))]  # fmt: skip
    assert not kb.market.load(["symbol,timeframe,time,open,high,low,close", *bars]).wrong
    told = trading.performance(skill="Swing", currency="USD")
    assert (told.pnl, told.capital, told.currency) == (10 / 0.8 - 5, 1000 / 0.5 + 1000, "USD")
    (how,) = told.converted
    assert (how.currency, how.into, how.symbol, how.first[:10], how.last[:10]) == (
        "EUR", "USD", "USD/EUR", "2026-01-05", "2026-03-31",
    )  # fmt: skip
    assert trading.equity(skill="Swing", currency="USD")[-1].equity == 3000 + told.pnl
    assert trading.performance(deployment="Euros").pnl == 10
