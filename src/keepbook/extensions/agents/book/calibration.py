"""Compares stated conviction with outcomes.

Only resolved decisions count: one that was never filled had no outcome. A trade came right when it made money, a
forecast when what it said came true. What the book has not witnessed counts apart (`outcomes.series`). Figures of a
few decisions are noise and look like knowledge: under ten decisions there are none, and a band or a group of fewer than
six has its count and no share. Intervals treat the outcomes of one day as one. Only the whole is judged in words, and
only where `miscalibration` allows it; bands and groups have figures alone.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Select, select

from keepbook.book.ground import stored_json
from keepbook.book.ground.by_days import MeanByDays, mean_by_days, share_by_days
from keepbook.book.ground.when import in_zone, parse_stamp, zone_named
from keepbook.book.owners import owners
from keepbook.extensions.agents.book import agents, results
from keepbook.extensions.agents.book.cards import CardTypes
from keepbook.extensions.agents.book.evidence.miscalibration import (
    BAND,
    FIRST_LOOK,
    Miscalibration,
    StatedOutcome,
    band_of,
    find_miscalibration,
    last_look,
)
from keepbook.extensions.agents.book.outcomes.series import (
    BROUGHT_IN,
    RECORDED_LATER,
    SERIES,
    WITNESSED,
    is_recorded_later,
    series_of,
)
from keepbook.extensions.agents.book.scoring.forms import FormScores
from keepbook.extensions.agents.book.scoring.proper_scores import brier
from keepbook.extensions.agents.book.scoring.resolved import ResolvedForecast, brought_rows, resolved_forecasts
from keepbook.extensions.agents.book.scoring.slices import Slice, scores_by_form, slice_forecasts
from keepbook.extensions.agents.tables import decisions, runs
from keepbook.storage.database import Tx

ENOUGH = 10
"""How many resolved decisions it takes for any figure."""
SAMPLE = 6
"""How many decisions of a band or a group it takes for its share; as many as a lesson takes trades."""
_STATED = {"decision": "being sure", "forecast": "probability"}


@dataclass(frozen=True, slots=True)
class ResolvedDecision:
    """The fields of a resolved decision that calibration uses.

    `looks` are the convictions of its re-examinations, in time order. `day` is the day of the outcome in the owner's
    zone. Outcomes of one day, or of one `event`, are not independent of each other.
    """

    agent: str
    symbol: str
    regime: str
    conviction: float
    result_r: float | None = None
    looks: tuple[float, ...] = ()
    came: bool | None = None
    """Whether a forecast came true; None of a trade, which has `result_r` instead."""
    day: str = ""
    event: str | None = None
    decided_at: str = ""
    closed_at: str = ""

    @property
    def right(self) -> bool:
        if self.came is not None:
            return self.came
        return (self.result_r or 0.0) > 0


@dataclass(frozen=True, slots=True)
class Band:
    """Decisions stated from `low` up to `high` (100 belongs to the last): `share` came right, in its 95 % interval by
    days.

    Both are None under six: so few show nothing.
    """

    low: int
    high: int
    count: int
    stated: float
    right: int
    share: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class DecisionGroup:
    """One agent, symbol or regime: how many, how many came right, the share with its 95 % interval by days, and R per
    decision; the last three from six on. A group has no words: of many groups one is always off by chance."""

    name: str
    count: int
    right: int
    hit_rate: float | None
    interval: tuple[float, float] | None
    expectancy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Under ten resolved decisions `enough` is false: `words` says so, and there are no bands and no scores.

    `brier` is the mean squared distance of what was stated from what happened; `base_brier` what stating the share
    that was known before each decision would have scored; `skill` is how much better than that it was, decision by
    decision, with its interval by days. `words` are about the first `judged` resolved: 25, 50, 100, 200 … `looks`
    counts re-examinations that moved the conviction, `looks_right` those that moved it towards what happened. Of
    forecasts `by_symbol` has the card types, and there is no `by_regime`.
    """

    resolved: int
    enough: bool
    judged: int
    words: str
    right: int
    hit_rate: float | None
    interval: tuple[float, float] | None
    expectancy: float | None
    brier: float | None
    base_brier: float | None
    skill: MeanByDays | None
    bands: tuple[Band, ...]
    by_agent: tuple[DecisionGroup, ...]
    by_symbol: tuple[DecisionGroup, ...]
    by_regime: tuple[DecisionGroup, ...]
    looks: int
    looks_right: int
    series: str = WITNESSED
    """Which decisions these are: those that the book has witnessed, or a series that is counted apart."""
    resolved_by_series: Mapping[str, int] = field(default_factory=dict)
    """How many are resolved in each series."""
    scores: tuple[FormScores, ...] = ()
    """The mean scores of each form of forecasts; empty for trades."""
    slices: tuple[Slice, ...] = ()
    """The figures of forecasts by model, prompt version and tag; empty for trades."""

    @property
    def skill_words(self) -> str:
        """How much better than the base rate, or worse, with the interval of the skill; empty where there is none."""
        if self.skill is None:
            return ""
        gained = f"{'worse' if self.skill.mean < 0 else 'better'} by {abs(self.skill.mean):.3f}"
        if self.skill.low is None or self.skill.high is None:
            return f"{gained} on {self.skill.days} {'day' if self.skill.days == 1 else 'days'}, too few for an interval"
        edges = " to ".join(f"{edge:+z.3f}".replace("-", "−") for edge in (self.skill.low, self.skill.high))
        return f"{gained} (95 % interval of the gain, by days: {edges})"


# Rules


def calibrate(closed: Sequence[ResolvedDecision], noun: str = "decision") -> Calibration:
    """Every figure, from the resolved decisions alone; without bands and scores if there are too few of them."""
    found = Calibration(
        resolved=len(closed),
        enough=len(closed) >= ENOUGH,
        judged=last_look(len(closed)),
        words=_words(closed, noun),
        right=sum(one.right for one in closed),
        hit_rate=None,
        interval=None,
        expectancy=None,
        brier=None,
        base_brier=None,
        skill=None,
        bands=(),
        by_agent=(),
        by_symbol=(),
        by_regime=(),
        looks=0,
        looks_right=0,
    )
    if not found.enough:
        return found
    scores = [brier(one.conviction / 100, one.right) for one in closed]
    base_scores = [brier(base, one.right) for base, one in zip(base_rates(closed), closed, strict=True)]
    gains = [base - score for base, score in zip(base_scores, scores, strict=True)]
    moves = [move for one in closed for move in _moves(one)]
    return replace(
        found,
        hit_rate=found.right / found.resolved,
        interval=_share_interval(closed),
        expectancy=_in_r(closed),
        brier=_mean(scores),
        base_brier=_mean(base_scores),
        skill=mean_by_days(gains, [one.day for one in closed]),
        bands=_bands(closed),
        by_agent=_groups(closed, lambda one: one.agent),
        by_symbol=_groups(closed, lambda one: one.symbol),
        by_regime=_groups(closed, lambda one: one.regime),
        looks=len(moves),
        looks_right=sum(moves),
    )


def base_rates(closed: Sequence[ResolvedDecision]) -> list[float]:
    """For each decision, the share that came right among those closed before it was made.

    Half a decision that came right and half a one that did not are added to each share, so that the first is one half.
    """
    in_time = sorted(closed, key=lambda one: one.closed_at)
    ends = [one.closed_at for one in in_time]
    right_among_first = [0]
    for one in in_time:
        right_among_first.append(right_among_first[-1] + one.right)
    known_before = [bisect_left(ends, one.decided_at) for one in closed]
    return [(right_among_first[count] + 0.5) / (count + 1) for count in known_before]


def _share_interval(some: Sequence[ResolvedDecision]) -> tuple[float, float]:
    return share_by_days([one.right for one in some], [one.day for one in some])


def _moves(one: ResolvedDecision) -> list[bool]:
    """For each second look that changed the conviction, whether it moved it towards what happened."""
    convictions = (one.conviction, *one.looks)
    return [(after > before) == one.right for before, after in pairwise(convictions) if after != before]


def _bands(closed: Sequence[ResolvedDecision]) -> tuple[Band, ...]:
    """The bands of stated conviction that have decisions; one with too few has no share."""
    found = []
    for low in range(0, 100, BAND):
        inside = [one for one in closed if band_of(one.conviction / 100) == low]
        if not inside:
            continue
        right, share, interval = sum(one.right for one in inside), None, None
        if len(inside) >= SAMPLE:
            share, interval = right / len(inside), _share_interval(inside)
        stated = _mean(one.conviction for one in inside)
        band = Band(
            low=low, high=low + BAND, count=len(inside), stated=stated, right=right, share=share, interval=interval
        )
        found.append(band)
    return tuple(found)


def _groups(closed: Sequence[ResolvedDecision], name: Callable[[ResolvedDecision], str]) -> tuple[DecisionGroup, ...]:
    groups: dict[str, list[ResolvedDecision]] = {}
    for one in closed:
        groups.setdefault(name(one), []).append(one)
    found = [_group(key, ones) for key, ones in groups.items()]
    return tuple(sorted(found, key=lambda group: (-group.count, group.name)))


def _group(name: str, ones: Sequence[ResolvedDecision]) -> DecisionGroup:
    right = sum(one.right for one in ones)
    group = DecisionGroup(name, count=len(ones), right=right, hit_rate=None, interval=None, expectancy=None)
    if len(ones) < SAMPLE:
        return group
    return replace(group, hit_rate=right / len(ones), interval=_share_interval(ones), expectancy=_in_r(ones))


def _in_r(closed: Sequence[ResolvedDecision]) -> float | None:
    """The mean result in R; None if one of them has no result in R."""
    results = [one.result_r for one in closed if one.result_r is not None]
    if len(results) == len(closed):
        return _mean(results)
    return None


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return math.fsum(listed) / len(listed)


def _words(closed: Sequence[ResolvedDecision], noun: str) -> str:
    """The judgement on the whole in one sentence; or how many more decisions it takes."""
    count, judged = len(closed), last_look(len(closed))
    many = f"{count} resolved {noun if count == 1 else f'{noun}s'}"
    if count < ENOUGH:
        return f"{many}; from {ENOUGH} on there is something to say about how {_STATED[noun]} and outcome go together"
    if count < FIRST_LOOK:
        return f"{many}; from {FIRST_LOOK} on it is said whether what was stated fits what happened"
    outcomes = [StatedOutcome(one.conviction / 100, one.right, one.day, one.event) for one in closed]
    found = find_miscalibration(sorted(outcomes, key=lambda one: one.day))
    if judged != count:
        many += f", of which the first {judged} are judged"
    if not found:
        return f"{many}; what was stated fits what happened, as far as so many can show"
    kinds = ("whole", "slope", "band")
    found.sort(key=lambda one: (kinds.index(one.kind), one.band or 0))
    return f"{many}; {', '.join(map(_sentence, found))}"


def _sentence(off: Miscalibration) -> str:
    if off.kind == "slope":
        means = round(100 * min(1.0, max(0.0, 0.5 + 0.3 * off.slope)))
        return f"it was {'too sure' if off.too_high else 'not sure enough'} (80 stated means about {means})"
    if off.band is None:
        where = "on the whole"
    else:
        where = f"at {off.band} to {off.band + BAND}"
    figures = f"stated {100 * off.stated:.0f}, right {100 * off.share:.0f} % of {off.count}"
    return f"{where} it was too {'high' if off.too_high else 'low'} ({figures})"


# Queries


def calibration(
    tx: Tx, *, agent_id: str | None = None, known_at: str | None = None, series: str = WITNESSED
) -> Calibration:
    """The calibration of all agents together, or of one; as it was known at `known_at`, or now."""
    query = select(decisions).where(decisions.c.owner == tx.owner, decisions.c.conviction.isnot(None))
    rows = [row for row in _resolved_rows(tx, query, agent_id, known_at) if row.result_r is not None]
    looks, zone = _second_looks(tx, "conviction_score", series), zone_named(owners.zone_name(tx))

    def resolved(row: Any, agent: str) -> ResolvedDecision:
        return ResolvedDecision(
            agent=agent,
            symbol=row.symbol or "",
            regime=row.regime or "unknown",
            conviction=row.conviction,
            result_r=row.result_r,
            looks=tuple(score for at, score in looks.get(row.run_id, ()) if at <= row.closed_at),
            **_when(row, zone),
        )

    return _calibrate_series(tx, rows, resolved, series, "decision")


def of_forecasts(
    tx: Tx,
    cards: CardTypes,
    *,
    agent_id: str | None = None,
    known_at: str | None = None,
    series: str = WITNESSED,
) -> Calibration:
    """The calibration of forecasts: the stated probabilities against what came true."""
    rows = forecast_rows(tx, agent_id, known_at)
    looks, zone = _second_looks(tx, "probability", series), zone_named(owners.zone_name(tx))

    def resolved(row: Any, agent: str) -> ResolvedDecision:
        end = min(row.closed_at, row.expires or row.closed_at)
        return ResolvedDecision(
            agent=agent,
            symbol=row.card_type,
            regime="",
            conviction=100 * row.probability,
            looks=tuple(100 * share for at, share in looks.get(row.run_id, ()) if at <= end),
            came=row.outcome == "true",
            **_when(row, zone),
        )

    found = _calibrate_series(tx, rows, resolved, series, "forecast")
    if not found.enough:
        return found
    counted = resolved_forecasts(tx, cards, [row for row in rows if series_of(row) == series])

    def interval(some: Sequence[ResolvedForecast]) -> tuple[float, float]:
        return share_by_days([one.came for one in some], [one.day(zone) for one in some])

    slices = slice_forecasts(counted, interval)
    return replace(found, by_regime=(), scores=scores_by_form(counted), slices=slices)


def forecast_rows(tx: Tx, agent_id: str | None = None, known_at: str | None = None) -> list[Any]:
    """The resolved forecasts of every series in the order in which they were closed, with those brought in."""
    query = select(decisions).where(decisions.c.owner == tx.owner, decisions.c.probability.isnot(None))
    rows = [*_resolved_rows(tx, query, agent_id, known_at), *brought_rows(tx, agent_id, known_at)]
    return sorted(rows, key=lambda row: (row.closed_at, row.run_id))


def _calibrate_series(
    tx: Tx, rows: Sequence[Any], resolved: Callable[[Any, str], ResolvedDecision], series: str, noun: str
) -> Calibration:
    """The figures of one series, and how many are resolved in each of them. `resolved` makes a row into what is
    counted, with the name of its agent."""
    counts = Counter(series_of(row) for row in rows)
    counted = [row for row in rows if series_of(row) == series]
    names = {id: agents.name_of(tx, id) for id in {row.agent_id for row in counted}}
    found = calibrate([resolved(row, names[row.agent_id]) for row in counted], noun)
    return replace(found, series=series, resolved_by_series={name: counts[name] for name in SERIES})


def _when(row: Any, zone: ZoneInfo) -> dict[str, Any]:
    """The fields of a `ResolvedDecision` about time and event. One that was closed after its date came out on its
    date."""
    came = min(row.closed_at, row.expires or row.closed_at)
    return {
        "day": in_zone(parse_stamp(came), zone).date().isoformat(), "event": row.event, "decided_at": row.decided_at,
        "closed_at": row.closed_at,
    }  # fmt: skip


def _resolved_rows(tx: Tx, query: Select[Any], agent_id: str | None, known_at: str | None) -> list[Any]:
    """The resolved decisions of a query in the order in which they were closed; as they were known at `known_at`."""
    if agent_id is not None:
        query = query.where(decisions.c.agent_id == agent_id)
    if known_at is None:
        rows: list[Any] = list(tx.conn.execute(query.where(decisions.c.state == "resolved")))
    else:
        rows = list(results.decisions_as_of(tx, tx.conn.execute(query).all(), known_at))
    counted = [row for row in rows if row.state == "resolved"]
    return sorted(counted, key=lambda row: (row.closed_at, row.run_id))


def _second_looks(tx: Tx, slot: str, series: str) -> dict[str, list[tuple[str, Any]]]:
    """What re-examinations stated in `slot`, with the time from which that counts, by the run they looked at.

    The time is that of writing down; for the series of what was brought in, its own date. A second look that was
    recorded long after it was made was not witnessed, and counts only in series that are not.
    """
    query = (
        select(runs.c.parent_run, runs.c.created_at, runs.c.made_at, runs.c.finished_at, runs.c.card)
        .where(runs.c.owner == tx.owner, runs.c.parent_run.isnot(None), runs.c.card.isnot(None))
        .order_by(runs.c.finished_at, runs.c.id)
    )
    found: dict[str, list[tuple[str, Any]]] = {}
    for row in tx.conn.execute(query):
        stated = stored_json.load_json(row.card).get(slot)
        later = row.made_at is not None and is_recorded_later(row.made_at, row.created_at)
        if stated is None or (later and series not in (RECORDED_LATER, BROUGHT_IN)):
            continue
        if series == BROUGHT_IN:
            at = row.finished_at
        else:
            at = max(row.created_at, row.finished_at)
        found.setdefault(row.parent_run, []).append((at, stated))
    return found
