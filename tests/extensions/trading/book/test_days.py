"""What is kept of each day equals what its trades say, whatever was written, in whatever order and however often."""

from datetime import timedelta
from io import StringIO
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update
from tests.extensions.trading.trade_rows import BEGIN, Desk, at, many_trades, trade

from keepbook.book.ground.when import stamp
from keepbook.extensions.trading.book import days
from keepbook.extensions.trading.book.performance import EquityCurve
from keepbook.extensions.trading.tables import trade_days


@pytest.fixture
def desk(kb: Any, clock: Any) -> Desk:
    return Desk(kb, clock)


def answers(desk: Desk, known_at: Any = BEGIN + timedelta(days=199)) -> list[Any]:
    """All that is put together from days."""
    asked = {"known_at": known_at}
    which = ({"deployment": "Main"}, {"skill": "Scalper"}, {})
    since = {"since": BEGIN + timedelta(days=11, hours=5)}
    trading = desk.trading
    return [
        [trading.performance(**one, **asked), trading.performance(**one, **since, **asked),
         trading.equity(**one, **asked), trading.breakdown(**one, **asked), trading.trades(**one, **asked).total]
        for one in which
    ]  # fmt: skip


def kept(desk: Desk) -> list[Any]:
    with desk.book.reading() as (tx, _, _):
        query = select(trade_days).where(trade_days.c.owner == tx.owner).order_by(*trade_days.primary_key.columns)
        return [tuple(row) for row in tx.conn.execute(query)]


def forget(desk: Desk) -> None:
    """Nothing is kept of any day: all of it is read from the trades."""
    with desk.book.writing() as (tx, _):
        tx.conn.execute(update(trade_days).where(trade_days.c.owner == tx.owner).values(trades=None))


def fresh(desk: Desk, **asked: Any) -> list[Any]:
    forget(desk)
    found = answers(desk, **asked)
    with desk.book.writing() as (tx, _):
        assert days.fold_marked_days(tx)
    return found


def test_kept_figures_are_those_of_a_fresh_fold_to_the_last_digit(desk: Desk) -> None:
    draw = Random(3)
    desk.trading.create_deployment("Second", "Scalper", capital=5_000, started_at=BEGIN)
    rows, second = many_trades(7, 400), many_trades(8, 90)
    for start in range(0, 400, 100):  # as they come, not in the order of time
        desk.load(rows[start : start + 100])
        assert answers(desk) == fresh(desk)
    desk.load(second, deployment="Second")
    corrected = [row | {"exit_price": row["exit_price"] * 1.02, "fees": 0.3} for row in draw.sample(rows, 40)]
    desk.load(corrected)
    before = kept(desk)
    assert answers(desk) == fresh(desk)
    assert before == kept(desk)
    assert all(row[3] is not None for row in before)
    desk.load(corrected)  # once more the same: nothing is touched
    assert kept(desk) == before


def test_what_was_known_earlier_is_read_from_the_trades(desk: Desk) -> None:
    rows = many_trades(4, 300)
    late = [row | {"known_at": at(24 * 150)} for row in rows[:40]]
    desk.load(late + rows[40:])
    for moment in (BEGIN + timedelta(days=20, hours=7), BEGIN + timedelta(days=151)):
        assert answers(desk, known_at=moment) == fresh(desk, known_at=moment)


def test_a_write_marks_its_days_and_nobody_reads_the_old_figures_meanwhile(desk: Desk) -> None:
    desk.load(many_trades(5, 200))
    asked = {"deployment": "Main", "known_at": BEGIN + timedelta(days=199)}
    known = desk.trading.performance(**asked)
    with desk.book.writing() as (tx, _):
        days.mark_days(tx, {(desk.deployment.id, str((BEGIN + timedelta(days=3)).date()))})
    assert desk.trading.performance(**asked) == known
    assert [row[2] for row in kept(desk) if row[3] is None] == ["2026-01-08"]
    desk.load([trade(24 * 90, 0.5)])  # the next write settles what another left
    assert not [row for row in kept(desk) if row[3] is None]


def test_a_long_load_is_settled_in_steps(desk: Desk, monkeypatch: Any) -> None:
    monkeypatch.setattr(days, "MOST_AT_ONCE", 20)
    desk.load(many_trades(6, 300))
    assert not [row for row in kept(desk) if row[3] is None]
    assert answers(desk) == fresh(desk)


def test_a_day_whose_trades_are_gone_is_gone(desk: Desk) -> None:
    with desk.book.writing() as (tx, _):
        days.mark_days(tx, {(desk.deployment.id, "2026-01-08")})
    assert desk.trading.performance(deployment="Main").trades == 0
    desk.load([trade(1)])
    assert [row[2] for row in kept(desk)] == ["2026-01-05"]


def test_an_export_has_no_days_and_the_book_that_reads_it_has_them(desk: Desk, kb: Any) -> None:
    desk.load(many_trades(9, 120))
    out = StringIO()
    desk.book.export(out)
    lines = out.getvalue().splitlines()
    assert '"figures"' not in out.getvalue()
    other = kb.book("bob")
    other.import_(lines)
    asked = {"deployment": "Main", "known_at": BEGIN + timedelta(days=199)}
    assert other.trading.performance(**asked) == desk.trading.performance(**asked)
    with other.reading() as (tx, _, _):
        rows = tx.conn.execute(select(trade_days.c.day, trade_days.c.trades).where(trade_days.c.owner == "bob")).all()
    assert [tuple(row) for row in rows] == [(row[2], row[3]) for row in kept(desk)]


# --- the path ---------------------------------------------------------------------------------------------


def walked(rows: list[days.ClosedTrade], base: float) -> list[tuple[str, float, float, float]]:
    """Day by day: equity, and the deepest under the peak after a trade, in money and as a share; trade by trade."""
    found: dict[str, tuple[float, float, float]] = {}
    level = peak = base
    for when, pnl, _ in rows:
        level += pnl
        peak = max(peak, level)
        _, deepest, share = found.get(when[:10], (0.0, 0.0, 0.0))
        down = peak - level
        found[when[:10]] = (level, max(deepest, down), max(share, down / peak))
    return [(day, *told) for day, told in found.items()]


@given(
    told=st.lists(st.tuples(st.integers(-300, 300), st.integers(0, 9)), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 300), max_size=3),
)
def test_the_curve_of_pieces_is_the_curve_of_trades(told: list[tuple[int, int]], cuts: list[int]) -> None:
    hours, rows = 0, []
    for pnl, step in told:
        hours += step
        rows.append((stamp(BEGIN + timedelta(hours=hours)), float(pnl), 0.0))
    curve = EquityCurve(1000.0)
    for piece in days.fold_days(rows, [stamp(BEGIN + timedelta(hours=one)) for one in cuts]):
        curve.add(piece)
    expected = walked(rows, 1000.0)
    assert [one.day for one in curve.days] == [one[0] for one in expected]
    for one, (_, level, down, share) in zip(curve.days, expected, strict=True):
        assert (one.equity, one.drawdown, one.drawdown_pct) == pytest.approx((level, down, share), abs=1e-12)
