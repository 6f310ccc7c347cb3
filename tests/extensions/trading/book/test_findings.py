"""What a sample supports: held against pandas and numpy, and against noise, in which there is nothing to learn."""

from random import Random
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.extensions.trading.trade_rows import many_trades, moral, trade

from keepbook.book.ground.when import instant
from keepbook.extensions.trading.book import chance
from keepbook.extensions.trading.book.chance import (
    Chance,
    bootstrap,
    discovery_bound,
    in_errors,
    judged_trades,
    level_of_look,
)
from keepbook.extensions.trading.book.findings import (
    COMBINATIONS,
    FEWEST,
    MOST,
    Finding,
    Findings,
    check_wording,
    find_effects,
    gather,
    to_finding,
)
from keepbook.extensions.trading.book.trades import net

OSLO = ZoneInfo("Europe/Oslo")


def closed(rows: list[dict[str, Any]]) -> list[Any]:
    """Rows of a file as the book has them, in the order of their exits."""
    told = [
        SimpleNamespace(
            **row | {name: instant(row[name], field=name) for name in ("entry_time", "exit_time")},
            pnl=net(row["side"], row["quantity"], row["entry_price"], row["exit_price"], row["fees"]),
        )
        for row in rows
    ]
    return sorted(told, key=lambda one: one.exit_time)


def found_in(rows: list[dict[str, Any]], zone: ZoneInfo = OSLO) -> Findings:
    return find_effects(gather(closed(rows), zone))


def one_of(rows: list[dict[str, Any]], subject: str) -> Finding:
    return next(finding for finding in found_in(rows).findings if finding.subject == subject)


# --- the other way to compute it --------------------------------------------------------------------------


def frame_of(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    for name in ("entry_time", "exit_time"):
        frame[name] = pd.to_datetime(frame[name], utc=True, format="ISO8601")
    sign = frame["side"].map({"long": 1, "short": -1})
    earned = sign * (frame["exit_price"] - frame["entry_price"]) * frame["quantity"] - frame["fees"]
    frame["effect"] = earned / (frame["entry_price"] * frame["quantity"])
    frame["regime"] = frame["entry_regime_tag"]
    hours = frame["entry_time"].dt.tz_convert("Europe/Oslo").dt.hour
    begins = (hours + 22) % 24 // 4 * 4 + 2
    frame["hour"] = [f"{begin:02d}:00–{(begin + 4) % 24:02d}:00" for begin in begins]
    held = (frame["exit_time"] - frame["entry_time"]).dt.total_seconds() / 3600
    frame["holding"] = np.select([held < 1, held <= 9], ["under 1 hour", "1 to 9 hours"], "longer than 9 hours")
    return frame.sort_values("exit_time", kind="stable")


def by_pandas(rows: list[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Of every group with enough trades: count, wins, mean and median."""
    frame, expected = frame_of(rows), {}
    for names in COMBINATIONS:
        for values, group in frame.groupby(list(names)):
            if len(group) >= 6:
                effect = group["effect"].tail(500)
                key = ";".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
                expected[key] = (len(effect), int((effect > 0).sum()), effect.mean(), effect.median())
    return expected


def test_every_group_is_the_one_that_pandas_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = many_trades(5, 700)
    monkeypatch.setattr(chance, "RESAMPLES", 40)
    monkeypatch.setattr(chance, "INTERVAL_SAMPLES", 40)
    groups = gather(closed(rows), OSLO).groups
    every = [to_finding(group, effects, 0.5, 1) for group, effects in groups.items() if len(effects) >= FEWEST]
    tested, found, expected = {one.key: one for one in every}, found_in(rows), by_pandas(rows)
    assert tested.keys() == expected.keys()
    assert found.tried == len(expected) > 30
    for key, figures in expected.items():
        one = tested[key]
        assert (one.trades, one.wins, one.mean, one.median) == pytest.approx(figures), key
    assert found.trades == 700


def test_what_is_kept_is_what_numpy_and_another_procedure_keep() -> None:
    """Another generator draws other samples: the interval agrees to a few hundredths of its width."""
    others = [row for row in many_trades(2, 160, begin=500) if row["symbol"] != "BTC/USDT"]
    rows = moral(14) + [row | {"entry_regime_tag": "trend_up"} for row in others]
    found, frame, generator = found_in(rows), frame_of(rows), np.random.default_rng(1)
    tested = []
    for names in COMBINATIONS:
        for values, group in frame.groupby(list(names)):
            if len(group) >= FEWEST:
                effect = group["effect"].to_numpy()
                low, high = np.percentile(generator.choice(effect, (20_000, len(effect))).mean(axis=1), [2.5, 97.5])
                p = _by_numpy(effect, frame["effect"].to_numpy(), generator)
                tested.append((p, low, high, names, values, group.index))
    tested.sort(key=lambda one: one[0])
    bounds = 0.1 * np.arange(1, len(tested) + 1) / len(tested)
    passed = np.nonzero([one[0] <= bound for one, bound in zip(tested, bounds, strict=True)])[0]
    kept = [one for one in tested[: passed.max() + 1] if one[1] > 0 or one[2] < 0]
    assert len(tested) == found.tried
    assert kept
    assert {frozenset(one[5]) for one in kept} == {frozenset(_members(frame, finding)) for finding in found.findings}
    for finding in found.findings:
        low, high = next((one[1], one[2]) for one in kept if frozenset(one[5]) == frozenset(_members(frame, finding)))
        assert (finding.low, finding.high) == pytest.approx((low, high), abs=0.08 * (high - low))


def _by_numpy(effect: Any, every: Any, generator: Any) -> float:
    """How often as many of all trades, their mean taken out, get as far in their own errors; or so of normal noise."""
    shape = (40_000, len(effect))
    drawn = generator.choice(every - every.mean(), shape) if len(effect) <= 60 else generator.normal(size=shape)
    seen, reached = effect.mean() / effect.std(ddof=1), drawn.mean(axis=1) / drawn.std(axis=1, ddof=1)
    return float(min(1.0, 2 * min((reached <= seen).mean(), (reached >= seen).mean())))


def _members(frame: pd.DataFrame, finding: Finding) -> Any:
    chosen = frame
    for name, value in finding.group:
        chosen = chosen[chosen[name] == value]
    return chosen.index


@given(st.lists(st.sampled_from([0.001, 0.004, 0.01, 0.02, 0.03, 0.05, 0.2, 0.9]), min_size=1, max_size=20))
def test_benjamini_and_hochberg_by_adjusted_values(ps: list[float]) -> None:
    """The same by the other form of the procedure: adjust every p, then hold it against the rate."""
    order = sorted(range(len(ps)), key=lambda place: ps[place])
    adjusted, smallest = {}, 1.0
    for rank in range(len(ps), 0, -1):
        smallest = min(smallest, ps[order[rank - 1]] * len(ps) / rank)
        adjusted[order[rank - 1]] = smallest
    bound = discovery_bound(ps, 0.1)
    assert [p <= bound for p in ps] == [adjusted[place] <= 0.1 + 1e-12 for place in range(len(ps))]


# --- what is learnt ---------------------------------------------------------------------------------------


def test_of_noise_next_to_nothing_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Books of noise, each with dozens of groups: about one in ten may find something by chance, skewed or not."""
    monkeypatch.setattr(chance, "RESAMPLES", 1000)
    learnt = 0
    for seed in range(20):
        draw = Random(seed)
        rows = [
            trade(
                3.0 * number, draw.gauss(0, 0.01) if seed % 2 else 0.01 * (draw.expovariate(1) - 1),
                symbol=draw.choice(("BTC/USDT", "ETH/USDT")), side=draw.choice(("long", "short")),
                entry_regime_tag=draw.choice(("chop", "trend_up")), held=draw.choice((0.5, 4.0, 12.0)),
            )
            for number in range(90)
        ]  # fmt: skip
        learnt += bool(found_in(rows).findings)
    assert learnt <= 4


def test_what_is_there_is_found_and_said_plainly() -> None:
    rows = moral(6)
    finding = one_of(rows, "BTC/USDT long · chop")
    assert finding.text == "The last 6 BTC/USDT longs in chop all lost, median −1.1 %."
    assert (finding.trades, finding.wins, finding.losses) == (6, 0, 6)
    assert finding.low < finding.mean < finding.high < 0
    assert f"Groups tried: {found_in(rows).tried};" in finding.details
    assert "6 trades closed from 2026-01-05 to 2026-01-11 on 6 days, 0 of them won." in finding.details


def test_five_are_too_few() -> None:
    assert not any("BTC" in finding.subject for finding in found_in(moral(5)).findings)


def test_a_mixed_finding_says_its_mean_and_its_interval() -> None:
    nets = (0.028, 0.021, 0.019, 0.03, -0.004, 0.017, 0.022, -0.002, 0.012, 0.009, 0.004)
    rows = [trade(31.0 * n, x, symbol="ETH/USDT", held=12, entry_regime_tag=None) for n, x in enumerate(nets * 2)]
    rows += [trade(31.0 * n + 5, (0.01, -0.01)[n % 2], symbol="ETH/USDT", side="short", held=4) for n in range(24)]
    finding = one_of(rows, "ETH/USDT · held longer than 9 hours")
    shown = [f"{100 * value:+.1f}".replace("-", "−") for value in (finding.mean, finding.low, finding.high)]
    assert finding.text == (
        f"ETH/USDT trades held longer than 9 hours paid {shown[0]} % on average "
        f"(22 trades, interval {shown[1]} to {shown[2]} %)."
    )
    assert shown[0] == "+1.4"
    turned = [row | {"exit_price": 200 - row["exit_price"]} for row in rows]
    lost = one_of(turned, "ETH/USDT · held longer than 9 hours").text
    assert lost.startswith("ETH/USDT trades held longer than 9 hours lost 1.4 % on average (22 trades, interval −")


def test_small_effects_are_not_rounded_away() -> None:
    nets = (-0.0004, -0.0003, -0.0005, -0.0002, -0.0004, -0.0006, -0.0003)
    finding = one_of([trade(25.0 * n, x) for n, x in enumerate(nets)] + moral(0), "BTC/USDT long · chop")
    assert "median −0.04 %" in finding.text


def test_of_groups_with_the_very_same_trades_the_narrowest_is_kept() -> None:
    rows = [trade(25.0 * n, -0.01 - n * 1e-4) for n in range(8)] + moral(0)
    subjects = {finding.subject for finding in found_in(rows).findings}
    assert "BTC/USDT long · chop" in subjects
    assert subjects.isdisjoint({"BTC/USDT", "chop", "BTC/USDT · held 1 to 9 hours"})


def test_the_same_trades_teach_the_same_in_whatever_order() -> None:
    rows = many_trades(9, 60) + moral(9)
    shuffled = rows.copy()
    Random(4).shuffle(shuffled)
    assert found_in(rows) == found_in(shuffled)


def test_a_large_group_is_judged_by_its_last_trades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chance, "RESAMPLES", 4000)
    draw = Random(8)
    rows = [trade(2.0 * n, draw.gauss(0.05, 0.001)) for n in range(40)]  # long ago
    rows += [trade(100 + 2.0 * n, draw.gauss(-0.01, 0.03)) for n in range(MOST)]
    finding = one_of(rows, "BTC/USDT long · chop")
    assert (finding.trades, finding.capped) == (MOST, True)
    assert "lost" in finding.text
    assert "the last 500 trades" in finding.text
    assert "Only the last 500 of the group count." in finding.details


def test_the_hour_is_that_of_the_entry_where_the_owner_lives_and_bands_go_over_midnight() -> None:
    rows = [trade(24.0 * n + 23, -0.01 - n * 1e-4, held=1) for n in range(8)]  # in at 22:00 UTC, 23:00 in Oslo
    rows += [trade(24.0 * n + 12, (0.01, -0.01)[n % 2] * (1 + n / 40), held=1) for n in range(24)]
    for zone, band in ((OSLO, "22:00–02:00"), (ZoneInfo("America/New_York"), "14:00–18:00")):
        subjects = [finding.subject for finding in found_in(rows, zone).findings]
        assert f"entry {band}" in subjects, (zone, subjects)
    text = next(one.text for one in found_in(rows).findings if one.subject == "entry 22:00–02:00")
    assert text == "The last 8 trades entered between 22:00 and 02:00 all lost, median −1.0 %."


@pytest.mark.parametrize(
    ("held", "band"),
    [(0.99, "under 1 hour"), (1.0, "1 to 9 hours"), (9.0, "1 to 9 hours"), (9.01, "longer than 9 hours")],
)
def test_holding_times_have_edges(held: float, band: str) -> None:
    groups = gather(closed([trade(20, held=held)]), OSLO).groups
    assert (("holding", band),) in groups


def test_a_bootstrap_is_of_its_seed_alone() -> None:
    days = ((0.01, 1), (-0.02, 1), (0.03, 2), (0.004, 1), (0.002, 1), (-0.001, 1))
    assert bootstrap(days, seed="a") == bootstrap.__wrapped__(days, seed="a")
    assert bootstrap(days, seed="a") != bootstrap(days, seed="b")
    assert bootstrap(((0.01, 1),) * 6, seed="a") == pytest.approx((0.01, 0.01))


def test_a_mean_in_the_errors_of_its_days() -> None:
    values = [0.011, -0.02, 0.03, 0.004, 0.002, -0.001]
    assert in_errors(values, [1] * 6) == pytest.approx(np.mean(values) / np.std(values, ddof=1) * np.sqrt(6))
    twice = [2 * value for value in values]
    assert in_errors(twice, [2] * 6) == pytest.approx(in_errors(values, [1] * 6)), "said twice a day it is no surer"
    assert in_errors([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.6], [1, 1, 1, 1, 1, 2]) == np.inf
    assert in_errors([-0.01] * 6, [1] * 6) == -np.inf
    assert in_errors([0.0] * 6, [1] * 6) == 0
    assert in_errors([-0.5], [6]) == 0, "one day tells nothing"


def test_six_stops_in_a_row_are_luck_where_six_of_ten_trades_are_stopped() -> None:
    """A fixed stop and a fixed target: 0.6 to the sixth is 4.7 %."""
    every = [(f"{nth:03}", -0.01 if nth % 5 < 3 else 0.015) for nth in range(200)]
    assert Chance(every).p_value(((-0.01, 1),) * 6) == pytest.approx(2 * 0.6**6, abs=0.04)


def test_a_bad_day_is_no_habit() -> None:
    """Twelve losses on two bad days, where whole days are good or bad: by days that is two, of twenty-four a dozen."""
    draw = Random(2)
    days = [draw.gauss(0, 0.01) for _ in range(24)]
    every = [(f"{day:02}", days[day] + draw.gauss(0, 0.001)) for day in range(24) for _ in range(6)]
    assert Chance(every).p_value(((-0.09, 6), (-0.07, 6))) > 0.05
    assert Chance(every).p_value(((-0.06, 6),) * 6 + ((-0.065, 6),) * 6) < 0.001


def test_there_is_nothing_to_learn_before_thirty_trades_and_twelve_days() -> None:
    rows = moral(6)
    assert found_in(rows).findings
    assert not found_in(rows[:-1]).findings, "29 trades"
    few = [row | {"exit_time": row["exit_time"].replace("2026-01", "2026-03")} for row in moral(8)]
    packed = [trade(3.0 * nth, -0.01 - nth % 7 * 1e-4, held=1) for nth in range(60)]
    assert len(few) == 32
    assert found_in(packed).days < 12
    assert (found_in(packed).findings, found_in(packed).tried) == ((), 0)


def test_weeks_are_taken_whole_where_positions_are_held_for_days() -> None:
    rows = [trade(20.0 * nth, -0.01 - nth % 7 * 1e-4, held=60) for nth in range(60)]
    assert (found_in(rows).unit, found_in(rows).days) == ("week", 8)
    assert not found_in(rows).findings, "eight weeks are fewer than twelve"
    longer = [trade(60.0 * nth, -0.01 - nth % 7 * 1e-4, held=60) for nth in range(60)]
    assert found_in(longer).days > 12
    assert "weeks, 0 of them won" in found_in(longer).findings[0].details
    assert found_in([row | {"entry_time": row["exit_time"]} for row in rows]).unit == "day"


def test_looks_share_the_level() -> None:
    assert [judged_trades(count) for count in (0, 29, 30, 59, 60, 119, 120, 500)] == [0, 0, 30, 30, 60, 60, 120, 480]
    assert sum(level_of_look(30 << nth) for nth in range(60)) == pytest.approx(0.1)


def test_six_losers_among_noise_are_found() -> None:
    """However the noise falls."""
    for seed in range(5):
        draw, rows = Random(seed), []
        for number in range(100):
            symbol, side = draw.choice(("BTC/USDT", "ETH/USDT")), draw.choice(("long", "short"))
            regime = "calm" if (symbol, side) == ("BTC/USDT", "long") else draw.choice(("chop", "trend_up"))
            net = draw.gauss(0, 0.01)
            rows.append(trade(3.0 * number, net, symbol=symbol, side=side, entry_regime_tag=regime))
        losers = [trade(49.0 * n + 1, net) for n, net in enumerate((-0.011, -0.009, -0.01, -0.012, -0.011, -0.013))]
        assert "BTC/USDT long · chop" in {one.subject for one in found_in(rows + losers).findings}, seed


# --- in other words ---------------------------------------------------------------------------------------

LOSERS = one_of(moral(6), "BTC/USDT long · chop")


@pytest.mark.parametrize(
    "said",
    [
        "Six times in a row you bought BTC in chop, and each time it cost you, about 1.1 % in the middle.",
        "Your last 6 BTC/USDT longs in chop lost money every time (median −1.1 %).",
        "In chop, BTC longs have not worked: 0 of 6 won.",
        "Buying BTC in chop has cost you each time; leave it alone.",
    ],
)
def test_other_words_are_taken_where_the_numbers_are_ours(said: str) -> None:
    assert check_wording(LOSERS, said) == said


@pytest.mark.parametrize(
    "said",
    [
        "Your last 7 BTC longs in chop all lost, median −1.1 %.",
        "Your last seven BTC longs in chop all lost.",
        "Your last 6 BTC longs in chop lost 1.2 % each.",
        "Your last 6 BTC longs in chop made +1.1 %.",
        "Your last 6 BTC longs in chop lost 6 % each.",
        "Half of your BTC longs in chop lose.",
        "A dozen BTC longs in chop lost.",
        "BTC longs in chop lost ½ of the time.",
        "Your last 6 BTC longs in chop lost 1.15 %, 11e3 in money.",
        "Your last 6 BTC longs lost; expect 90% losses.",
        "",
        "Lost.",
        "x" * 1000,
        None,
        6,
    ],
)
def test_words_with_a_number_of_their_own_are_not_taken(said: Any) -> None:
    assert check_wording(LOSERS, said) == LOSERS.text


def test_digits_in_a_name_are_no_numbers() -> None:
    rows = [trade(25.0 * n, -0.01 - n * 1e-4, symbol="1000PEPE/USDT", entry_regime_tag="phase2") for n in range(8)]
    rows += moral(0)
    finding = one_of(rows, "1000PEPE/USDT long · phase2")
    said = "All 8 longs in 1000PEPE during phase2 lost."
    assert check_wording(finding, said) == said
    assert check_wording(finding, "All 1000 longs in 1000PEPE lost.") == finding.text
