"""What is coming and how exposed one is, held against pandas, and in single cases by hand."""

from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.extensions.trading.trade_rows import BEGIN, Desk, at, bars, event, position

from keepbook import Invalid, Keepbook, NotFound
from keepbook.extensions.trading.book.exposure import Exposure
from keepbook.settings import load_settings

NOW = 24 * 30.0
"""Hours after the beginning: when most tests ask."""


@pytest.fixture
def desk(kb: Any, clock: Any) -> Desk:
    return Desk(kb, clock)


# --- the other way to compute it --------------------------------------------------------------------------


def by_pandas(
    bar_rows: list[dict[str, Any]], events: list[dict[str, Any]], held: dict[str, Any], kind: str, now: pd.Timestamp
) -> tuple[float, int, float | None, float | None]:
    """Notional, how many, median and worst move, from one column of closes at the instants at which bars ended."""
    symbol = held["symbol"]
    frame = pd.DataFrame([row for row in bar_rows if row["symbol"] == symbol])
    lengths = pd.to_timedelta(frame["timeframe"].str.removesuffix("m").astype(int), unit="min")
    over = pd.to_datetime(frame["time"], utc=True, format="ISO8601") + lengths
    told = frame.assign(over=over, length=lengths)[over <= now].sort_values(["over", "length"], ascending=[False, True])
    frame = frame[lengths == lengths.min()]
    ended = pd.to_datetime(frame["time"], utc=True, format="ISO8601") + lengths[frame.index]
    closes = pd.Series(frame["close"].to_numpy(), index=pd.DatetimeIndex(ended)).sort_index()
    closes = closes[closes.index <= now]
    window, moves = pd.Timedelta(minutes=60), []
    for one in events:
        time = pd.Timestamp(one["time"]).tz_convert("UTC")
        touched = set(one["symbols"].split(";")) & {symbol, symbol.split("/")[0], "*"}
        if one["kind"] != kind or not touched or time + window > now:
            continue
        before = closes[closes.index <= time]
        after = closes[(closes.index > time) & (closes.index <= time + window)]
        if len(before) and len(after):
            moves.append(after.iloc[-1] / before.iloc[-1] - 1)
    notional = held["quantity"] * told["close"].iloc[0]
    if len(moves) < 3:
        return notional, len(moves), None, None
    sign = 1 if held["side"] == "long" else -1
    return notional, len(moves), float(np.median(np.abs(moves))), float(np.min(np.array(moves) * sign))


def test_every_row_is_the_one_that_pandas_computes(desk: Desk) -> None:
    draw = Random(11)
    rows: list[dict[str, Any]] = []
    for symbol in ("BTC/USDT", "ETH/USDT", "SOL/USDT"):
        closes = np.cumprod([100.0] + [1 + draw.gauss(0, 0.004) for _ in range(24 * 4 * 32)])
        rows += bars(symbol, [close if draw.random() > 0.15 else None for close in closes])  # with gaps
        rows += bars(symbol, list(closes[::4] * 1.01), minutes=60)  # coarser: not for what the fine ones tell
    events = [
        event(f"{kind}{number}", draw.uniform(1, NOW + 20), kind=kind, symbols=symbols)
        for kind, symbols, count in (("cpi", "BTC;ETH", 30), ("fomc", "*", 12), ("fork", "SOL/USDT", 2), ("war", "", 5))
        for number in range(count)
    ]
    for kind, symbols in (("cpi", "BTC;ETH"), ("fomc", "*"), ("fork", "SOL/USDT"), ("war", ""), ("first", "BTC")):
        events.append(event(f"next-{kind}", NOW + 5, kind=kind, symbols=symbols))
    events = [one | {"time": pd.Timestamp(one["time"]).tz_convert("Asia/Kolkata").isoformat()} for one in events]
    held = [
        position("BTC/USDT", "long", quantity=0.3),
        position("BTC/USDT", "short", quantity=1.5),
        position("ETH/USDT", "short"),
        position("SOL/USDT", "long", quantity=7.0),
    ]
    desk.market(rows, events)
    desk.load(held, kind="positions")
    now = pd.Timestamp(BEGIN + timedelta(hours=NOW))
    found = desk.trading.events(deployment="Main", known_at=at(NOW))
    exposed = {(row.event_id, row.symbol, row.position_side): row for row in found.your_exposure}
    expected = {}
    for one in (one for one in events if one["id"].startswith("next-")):
        for each in held:
            if set(one["symbols"].split(";")) & {each["symbol"], each["symbol"].split("/")[0], "*"}:
                figures = by_pandas(rows, events, each, one["kind"], now)
                expected[one["id"], each["symbol"], each["side"]] = figures
    assert {key: key in exposed for key in expected} == dict.fromkeys(expected, True)
    for key, figures in expected.items():
        row = exposed[key]
        shown = (row.notional_usd, row.similar_events_back, row.median_abs_move_pct, row.worst_move_pct)
        assert [one is None for one in shown] == [one is None for one in figures], key
        assert [one or 0.0 for one in shown] == pytest.approx([one or 0.0 for one in figures], rel=1e-9), key
    counts = {one: exposed[f"next-{one}", *which].similar_events_back for one, which in (
        ("cpi", ("BTC/USDT", "long")), ("fomc", ("SOL/USDT", "long")), ("fork", ("SOL/USDT", "long")),
        ("first", ("BTC/USDT", "short")),
    )}  # fmt: skip
    assert counts["cpi"] >= 20
    assert counts["fomc"] >= 6
    assert counts["fork"] <= 2
    assert counts["first"] == 0
    assert exposed["next-fork", "SOL/USDT", "long"].median_abs_move_pct is None
    assert all(0 <= row.median_abs_move_pct <= 1 for row in exposed.values() if row.median_abs_move_pct is not None)
    assert not any(key[0] == "next-war" for key in exposed)


# --- single cases -----------------------------------------------------------------------------------------


def steps(desk: Desk, moves: list[float], *, symbol: str = "BTC/USDT", symbols: str = "BTC", kind: str = "cpi") -> None:
    """An event a day, each followed within the hour by one of these moves, and one more to come."""
    closes, level = [], 100.0
    for move in moves:
        closes += [level] * 48  # 12 hours
        level *= 1 + move
        closes += [level] * 48
    desk.market(
        bars(symbol, closes),
        [event(f"{kind}{day}", 24 * day + 12, kind=kind, symbols=symbols) for day in range(len(moves))]
        + [event(f"{kind}-next", NOW + 3, kind=kind, symbols=symbols)],
    )


def only(desk: Desk, **told: Any) -> Exposure:
    (row,) = desk.trading.events(**({"deployment": "Main", "known_at": at(NOW)} | told)).your_exposure
    return row


def test_the_worst_move_is_against_the_position(desk: Desk) -> None:
    steps(desk, [0.05, -0.02, 0.01])
    desk.load([position(side="long"), position(side="short")], kind="positions")
    rows = {row.position_side: row for row in desk.trading.events(deployment="Main", known_at=at(NOW)).your_exposure}
    assert rows["long"].worst_move_pct == pytest.approx(-0.02)
    assert rows["short"].worst_move_pct == pytest.approx(-0.05)
    assert rows["long"].median_abs_move_pct == rows["short"].median_abs_move_pct == pytest.approx(0.02)
    assert (rows["long"].stale, rows["long"].notional_usd) == (True, None), "its bars ended days ago"
    price = 100 * 1.05 * 0.98 * 1.01
    desk.kb.market.load(
        ["symbol,timeframe,time,open,high,low,close", f"BTC/USDT,1h,{at(NOW - 2)},{price},{price},{price},{price}"]
    )
    fresh = desk.trading.events(deployment="Main", known_at=at(NOW)).your_exposure[0]
    assert (fresh.stale, fresh.notional_usd) == (False, pytest.approx(2 * price))


def test_where_every_move_was_for_the_position_the_worst_is_positive(desk: Desk) -> None:
    steps(desk, [0.05, 0.02, 0.01])
    desk.load([position(side="long")], kind="positions")
    assert only(desk).worst_move_pct == pytest.approx(0.01)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_under_three_earlier_events_there_are_no_moves(desk: Desk, count: int) -> None:
    steps(desk, [0.05] * count)
    desk.load([position()], kind="positions")
    row = only(desk)
    assert (row.similar_events_back, row.median_abs_move_pct, row.worst_move_pct) == (count, None, None)
    assert row.notional_usd is None  # without bars there is no close, and one of days ago is none
    assert row.stale == (count > 0)


def test_an_earlier_event_without_bars_is_none(desk: Desk) -> None:
    steps(desk, [0.05, 0.01, 0.02])
    desk.market(events=[event("long-ago", -500), event("in-a-gap", 24 * 20)])
    desk.load([position()], kind="positions")
    assert only(desk).similar_events_back == 3


def test_an_event_counts_once_its_window_is_over(desk: Desk) -> None:
    steps(desk, [0.05, 0.01, 0.02])
    desk.load([position()], kind="positions")
    desk.market(events=[event("cpi-soon", 24 * 2 + 14)])
    last = 24 * 2 + 12
    assert [only(desk, known_at=at(last + hours)).similar_events_back for hours in (0.99, 1.0)] == [2, 3]


def test_the_impact_window_is_a_setting(book_url: str, clock: Any) -> None:
    with Keepbook(book_url, clock=clock, settings=load_settings(db=book_url, impact_minutes=15)) as kb:
        desk = Desk(kb, clock)
        closes = ([100.0] * 48 + [101.0] + [110.0] * 47) * 3
        desk.market(
            bars("BTC/USDT", closes),
            [event(f"cpi{day}", 24 * day + 12) for day in range(3)] + [event("cpi-next", NOW + 3)],
        )
        desk.load([position()], kind="positions")
        assert only(desk).median_abs_move_pct == pytest.approx(0.01)  # an hour on it would be 0.10


def test_a_bar_counts_when_it_has_ended(desk: Desk) -> None:
    """The bar in which the event falls is the first after it: its close is no price from before."""
    quarter = 0.25
    closes = [100.0] * 4 + [200.0] * 8
    desk.market(
        bars("BTC/USDT", closes) + bars("BTC/USDT", closes, begin=24) + bars("BTC/USDT", closes, begin=48),
        [event(f"cpi{day}", 24 * day + 1 + quarter / 2) for day in range(3)] + [event("cpi-next", NOW + 3)],
    )
    desk.load([position()], kind="positions")
    assert only(desk).median_abs_move_pct == pytest.approx(1.0)


def test_a_base_and_a_star_touch_their_pairs_and_nothing_touches_none(desk: Desk) -> None:
    desk.market(
        events=[
            event("base", NOW + 1, symbols="BTC"),
            event("all", NOW + 2, symbols="*"),
            event("none", NOW + 3, symbols=""),
            event("pair", NOW + 4, symbols="ETH/USDT;SOL/USDT"),
            event("other", NOW + 5, symbols="ETH/EUR"),
        ]
    )
    desk.load([position("BTC/USDT"), position("ETH/USDT", "short")], kind="positions")
    found = desk.trading.events(deployment="Main", known_at=at(NOW))
    assert [one.id for one in found.events] == ["base", "all", "none", "pair", "other"]
    assert [(row.event_id, row.symbol) for row in found.your_exposure] == [
        ("base", "BTC/USDT"), ("all", "BTC/USDT"), ("all", "ETH/USDT"), ("pair", "ETH/USDT"),
    ]  # fmt: skip


def test_without_a_deployment_there_is_no_exposure_and_with_nothing_open_an_empty_one(desk: Desk) -> None:
    desk.market(events=[event("next", NOW + 1)])
    assert desk.trading.events(known_at=at(NOW)).your_exposure is None
    assert desk.trading.events(deployment="Main", known_at=at(NOW)).your_exposure == ()
    with pytest.raises(NotFound):
        desk.trading.events(deployment="Nowhere", known_at=at(NOW))


def test_only_what_is_ahead_and_known_is_coming(desk: Desk) -> None:
    desk.market(
        events=[
            event("now", NOW),
            event("soon", NOW + 0.5),
            event("last", NOW + 24),
            event("beyond", NOW + 24.1),
            event("secret", NOW + 2, known_at=at(NOW + 1)),
            event("told", NOW + 3, known_at=at(NOW)),
            event("small", NOW + 4, importance=0.3),
        ]
    )
    assert [one.id for one in desk.trading.events(known_at=at(NOW)).events] == ["soon", "told", "last"]
    assert [one.id for one in desk.trading.events(known_at=at(NOW), min_importance=0.2, lookahead_hours=5).events] == [
        "soon", "told", "small",
    ]  # fmt: skip


def test_an_unknown_kind_is_refused_with_the_kinds_there_are(desk: Desk) -> None:
    assert desk.trading.events(types=["eclipse"], known_at=at(NOW)).events == ()  # without events there are no kinds
    desk.market(events=[event("next", NOW + 1)])
    with pytest.raises(Invalid, match="the kinds are cpi") as refused:
        desk.trading.events(types=["eclipse"], known_at=at(NOW))
    assert refused.value.field == "types"
    assert len(desk.trading.events(types=["eclipse", "CPI"], known_at=at(NOW)).events) == 1


@pytest.mark.parametrize("asked", [{"symbols": ["DOGE/USDT"]}, {"symbols": ["\x00"]}])
def test_an_unknown_symbol_is_an_empty_answer(desk: Desk, asked: dict[str, Any]) -> None:
    desk.market(events=[event("next", NOW + 1)])
    desk.load([position()], kind="positions")
    found = desk.trading.events(**asked, deployment="Main", known_at=at(NOW))
    assert (found.events, found.your_exposure) == ((), ())


@pytest.mark.parametrize("hours", [72.5, 73, 1000, 0, 0.5, -1, float("nan"), float("inf"), True, "24", None])
def test_a_look_too_far_ahead_is_refused_in_words(desk: Desk, hours: Any) -> None:
    with pytest.raises(Invalid, match="from 1 to 72") as refused:
        desk.trading.events(lookahead_hours=hours)
    assert refused.value.field == "lookahead_hours"


def test_72_hours_are_not_too_far(desk: Desk) -> None:
    desk.market(events=[event("next", NOW + 72)])
    assert [one.id for one in desk.trading.events(lookahead_hours=72, known_at=at(NOW)).events] == ["next"]


@pytest.mark.parametrize("share", [-0.1, 1.1, "much", None, True])
def test_importance_is_a_share(desk: Desk, share: Any) -> None:
    with pytest.raises(Invalid):
        desk.trading.events(min_importance=share)
