"""Figures of whole records, computed a second time: scores by form, slices, and two agents side by side."""

import random
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from keepbook import Invalid
from keepbook.book.ground.when import stamp

BEGIN = pd.Timestamp("2025-01-01T08:00:00Z")


def brought(book: Any, agent: str, frame: pd.DataFrame, **told: Any) -> Any:
    done = book.decisions.bring_in(agent, frame.to_dict("records"), **told)
    assert done.wrong == 0, done.refused[:3]
    return done


def questions(seed: int, count: int, days: int, bias: float) -> pd.DataFrame:
    """Yes or no questions; what was said is off by `bias`."""
    drawn = random.Random(seed)
    rows = []
    for nth in range(count):
        truth, day = drawn.uniform(0.1, 0.9), nth % days
        rows.append(
            {
                "question": f"Number {nth}?", "probability": round(min(max(truth + bias, 0.01), 0.99), 3),
                "made_at": stamp((BEGIN + timedelta(days=day)).to_pydatetime()),
                "resolved_at": stamp((BEGIN + timedelta(days=day, hours=9)).to_pydatetime()),
                "outcome": drawn.random() < truth, "model": f"m-{nth % 2}", "prompt_version": f"v{nth % 3}",
                "tags": ["all", f"t{nth % 2}"],
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def interval_by_days(part: pd.DataFrame) -> tuple[float, float]:
    """Wilson's interval of as many outcomes as these are worth, if those of a day hang together."""
    days, count, share = part.groupby(part["resolved_at"].str[:10])["outcome"], len(part), part["outcome"].mean()
    spread = days.agg(lambda some: (some - share).sum())
    together = len(spread) / (len(spread) - 1) * (spread**2).sum() / count**2
    alone = share * (1 - share) / count
    worth = count if together <= alone else max(1, count * alone / together)
    from scipy import stats  # here: each worker collects this file, and one runs it

    z = stats.norm.ppf(0.975)
    middle = (share + z**2 / 2 / worth) / (1 + z**2 / worth)
    half = z / (1 + z**2 / worth) * np.sqrt(share * (1 - share) / worth + z**2 / 4 / worth**2)
    return middle - half, middle + half


@pytest.fixture
def agents(alice: Any) -> Any:
    for name in ("A", "B"):
        alice.agents.create(name, adapter="external", card_type="forecast")
    return alice


def test_what_was_brought_in_is_a_series_with_scores_and_slices(agents: Any) -> None:
    frame = questions(3, 60, 20, 0.2)
    brought(agents, "A", frame)
    assert agents.decisions.calibration("A", forecasts=True).resolved == 0, "nobody witnessed them"
    found = agents.decisions.calibration("A", forecasts=True, series="brought_in")
    said, came = frame["probability"].to_numpy(), frame["outcome"].to_numpy().astype(float)
    assert (found.resolved, found.right, found.resolved_by_series["brought_in"]) == (60, came.sum(), 60)
    assert found.brier == pytest.approx(((said - came) ** 2).mean())
    [form] = found.scores
    given = np.where(came == 1, said, 1 - said).clip(0.001)
    assert (form.form, form.count, form.ranked, form.pinball) == ("yes_no", 60, 0, None)
    assert form.log_score == pytest.approx(-np.log(given).mean())
    slices = {(one.by, one.name): one for one in found.slices}
    assert {by for by, _ in slices} == {"model", "prompt_version", "tag"}
    for column, by in (("model", "model"), ("prompt_version", "prompt_version")):
        for name, part in frame.groupby(column):
            one = slices[by, name]
            share = part["outcome"].mean()
            assert (one.count, one.right, one.share) == (len(part), part["outcome"].sum(), pytest.approx(share))
            assert one.interval == pytest.approx(interval_by_days(part))
            assert one.scores[0].brier == pytest.approx(((part["probability"] - part["outcome"]) ** 2).mean())
    assert (slices["tag", "all"].count, slices["tag", "t1"].count) == (60, 30)
    agents.take_back(agents.loads()[0].nth)
    assert agents.decisions.calibration("A", forecasts=True, series="brought_in").resolved == 0


def test_two_agents_are_compared_on_what_both_forecast(agents: Any) -> None:
    a, b = questions(5, 90, 30, 0.3), questions(5, 90, 30, 0.0)
    b["question"] = [f"  number   {nth}? " for nth in range(90)]
    later = pd.to_datetime(b["made_at"]) + pd.to_timedelta([5 if nth < 80 else 25 for nth in range(90)], unit="h")
    b["made_at"] = [stamp(one.to_pydatetime()) for one in later]
    b["resolved_at"] = [stamp((one + timedelta(hours=6)).to_pydatetime()) for one in later]
    b.loc[0, "outcome"] = not b.loc[0, "outcome"]
    brought(agents, "A", a)
    brought(agents, "B", b)
    found = agents.decisions.compare("A", "B", series="brought_in")
    [one] = found.forms
    both = slice(1, 80)  # one was resolved in two ways, ten were made more than a day apart
    first, second = (((x["probability"] - x["outcome"]) ** 2).to_numpy()[both] for x in (a, b))
    frame = pd.DataFrame({"difference": first - second, "day": [nth % 30 for nth in range(1, 80)]})
    mean = frame["difference"].mean()
    by_day = frame.groupby("day")["difference"].agg(lambda some: (some - mean).sum())
    error = np.sqrt(30 / 29 * (by_day**2).sum()) / len(frame)
    sizes = frame.groupby("day").size()
    from scipy import stats  # as above

    half = stats.t.ppf(0.975, int(len(frame) ** 2 / (sizes**2).sum()) - 1) * error
    assert (one.pairs, one.days, found.contradicted, one.score) == (79, 30, 1, "brier")
    assert (one.mean, one.other_mean) == (pytest.approx(first.mean()), pytest.approx(second.mean()))
    assert one.difference == pytest.approx(mean)
    assert one.interval == pytest.approx((mean - half, mean + half))
    assert (one.verdict, found.worse) == ("worse", True)
    [turned] = agents.decisions.compare("B", "A", series="brought_in").forms
    assert (turned.verdict, turned.difference) == ("better", pytest.approx(-mean))
    [few] = agents.decisions.compare("A", "B", series="brought_in", tag="t1").forms
    assert few.pairs == 40
    assert agents.decisions.compare("A", "B").forms == (), "nothing of it was witnessed"
    with pytest.raises(Invalid, match="another one"):
        agents.decisions.compare("A", "A")
    with pytest.raises(Invalid, match="series"):
        agents.decisions.compare("A", "B", series="all")


def test_classes_and_numbers_are_recorded_answered_and_scored(alice: Any, clock: Any) -> None:
    alice.agents.create("C", adapter="external", card_type="forecast-classes")
    alice.agents.create("N", adapter="external", card_type="forecast-number")
    drawn = random.Random(11)
    shares, values, levels = [], [], (0.1, 0.5, 0.9)
    runs = []
    for nth in range(10):
        cut = sorted(drawn.random() for _ in range(2))
        shares.append([round(cut[0], 3), round(cut[1] - cut[0], 3), round(1 - cut[1], 3)])
        values.append(sorted(round(drawn.gauss(10, 4), 2) for _ in levels))
        card = {"question": f"{nth}?", "resolves_by": stamp(clock.now + timedelta(days=1))}
        stated = dict(zip(("low", "mid", "high"), shares[-1], strict=True))
        runs.append(alice.decisions.record("C", card | {"probabilities": stated, "ordered": nth < 6}).run_id)
        stated = dict(zip(map(str, levels), values[-1], strict=True))
        runs.append(alice.decisions.record("N", card | {"quantiles": stated}).run_id)
    clock.forward(days=2)
    due = {one.run_id: one for one in alice.decisions.due()}
    assert due[runs[0]].choices == ("low", "mid", "high")
    assert not {"probabilities", "quantiles"} & {name for one in due.values() for name in one.asked}
    for wrong, nth in (("Hmoe", 0), (True, 0), (0.5, 0), ("warm", 1), (True, 1), (float("nan"), 1)):
        with pytest.raises(Invalid, match="an outcome is"):
            alice.decisions.answer(runs[nth], wrong)
    came = [drawn.randrange(3) for _ in range(10)]
    number = [round(drawn.gauss(10, 5), 2) for _ in range(10)]
    for nth in range(10):
        alice.decisions.answer(runs[2 * nth], ("Low", "mid ", "HIGH")[came[nth]])
        alice.decisions.answer(runs[2 * nth + 1], number[nth])
    done = alice.decisions.get(runs[1])
    inside = values[0][0] <= number[0] <= values[0][2]
    assert (done.probability, done.claim) == (0.8, f"{values[0][0]:.12g} to {values[0][2]:.12g}")
    assert (done.came_to, done.outcome) == (repr(float(number[0])), str(inside).lower())
    [one] = alice.decisions.calibration("C", forecasts=True).scores
    said, hot = np.array(shares), np.eye(3)[came]
    ranked = ((said.cumsum(axis=1) - hot.cumsum(axis=1)) ** 2).sum(axis=1)
    assert (one.form, one.count, one.ranked) == ("classes", 10, 6)
    assert one.brier == pytest.approx(((said - hot) ** 2).sum(axis=1).mean())
    assert one.log_score == pytest.approx(-np.log((said * hot).sum(axis=1).clip(0.001)).mean())
    assert one.rps == pytest.approx(ranked[:6].mean())
    [one] = alice.decisions.calibration("N", forecasts=True).scores
    below, at, truth = np.array(values), np.array(levels), np.array(number)[:, None]
    losses = np.maximum(at * (truth - below), (at - 1) * (truth - below))
    width = below[:, 2] - below[:, 0]
    missed = np.maximum(below[:, 0] - truth[:, 0], 0) + np.maximum(truth[:, 0] - below[:, 2], 0)
    assert (one.form, one.count, one.intervals, one.brier) == ("number", 10, 10, None)
    assert one.pinball == pytest.approx(losses.mean())
    assert one.crps_approximation == pytest.approx(2 * losses.mean())
    assert one.interval_score == pytest.approx((width + 2 / 0.2 * missed).mean())
