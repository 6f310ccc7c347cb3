"""Compares stated conviction with outcomes.

Only resolved decisions count: one that was never filled had no outcome. A trade came right when it made money, a
forecast when what it said came true. One that was recorded when its end could be known does not count. Figures of a
handful are noise and look like knowledge: under ten decisions there are none, and a band or a group of fewer than six
has its number and no share.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import Select, select

from keepbook.book.ground import stored_json
from keepbook.extensions.agents.book import agents, results
from keepbook.extensions.agents.book.decisions import is_late
from keepbook.extensions.agents.tables import decisions, runs
from keepbook.storage.database import Tx

ENOUGH = 10
SAMPLE = 6
"""From so many on something is said of a part, as with lessons."""
BAND = 10
_STATED = {"decision": "conviction", "forecast": "probability"}
_Z = 1.959963984540054  # 97.5 % of a normal distribution: two-sided 95 %


@dataclass(frozen=True, slots=True)
class ResolvedDecision:
    """The fields of a resolved decision that calibration uses; `looks` are the convictions of its re-examinations, in
    time."""

    agent: str
    symbol: str
    regime: str
    conviction: float
    result_r: float | None = None
    looks: tuple[float, ...] = ()
    came: bool | None = None
    """Whether it came true, of a forecast: that has no result in R."""

    @property
    def right(self) -> bool:
        return self.came if self.came is not None else (self.result_r or 0.0) > 0


@dataclass(frozen=True, slots=True)
class Band:
    """Decisions stated from `low` up to `high` (100 belongs to the last): `share` came right, in its 95 % interval.

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
    """One agent, symbol or regime: how many, how many came right, and R per decision; the last two from six on."""

    name: str
    count: int
    right: int
    hit_rate: float | None
    expectancy: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Under ten resolved decisions `enough` is false: `words` says so, and there are no bands and no scores.

    `brier` is the mean squared distance of what was stated from what happened; `base_brier` what stating the overall
    share each time would have scored. `looks` counts re-examinations that moved the conviction, `looks_right` those
    that moved it towards what happened.
    """

    resolved: int
    enough: bool
    words: str
    right: int
    hit_rate: float | None
    interval: tuple[float, float] | None
    expectancy: float | None
    brier: float | None
    base_brier: float | None
    bands: tuple[Band, ...]
    by_agent: tuple[DecisionGroup, ...]
    by_symbol: tuple[DecisionGroup, ...]
    by_regime: tuple[DecisionGroup, ...]
    looks: int
    looks_right: int


# Rules


def wilson(right: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share: honest also for few, and never outside 0 to 1."""
    share, z2 = right / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def calibrate(closed: Sequence[ResolvedDecision], noun: str = "decision") -> Calibration:
    """Every figure, from the resolved decisions alone."""
    count, right = len(closed), sum(one.right for one in closed)
    moves = [move for one in closed for move in _moves(one)]
    enough = count >= ENOUGH
    share = right / count if enough else 0.0
    bands = _bands(closed) if enough else ()
    return Calibration(
        resolved=count,
        enough=enough,
        words=_words(count, bands, noun),
        right=right,
        hit_rate=share if enough else None,
        interval=wilson(right, count) if enough else None,
        expectancy=_in_r(closed) if enough else None,
        brier=_mean(brier(one.conviction / 100, one.right) for one in closed) if enough else None,
        base_brier=share * (1 - share) if enough else None,
        bands=bands,
        by_agent=_groups(closed, lambda one: one.agent) if enough else (),
        by_symbol=_groups(closed, lambda one: one.symbol) if enough else (),
        by_regime=_groups(closed, lambda one: one.regime) if enough else (),
        looks=len(moves) if enough else 0,
        looks_right=sum(moves) if enough else 0,
    )


def brier(said: float, came: bool) -> float:
    """The score of one forecast: the square of how far off it was."""
    return (said - came) ** 2


def _moves(one: ResolvedDecision) -> list[bool]:
    """For each second look that changed the conviction, whether it went towards what happened."""
    line = (one.conviction, *one.looks)
    return [(after > before) == one.right for before, after in pairwise(line) if after != before]


def _bands(closed: Sequence[ResolvedDecision]) -> tuple[Band, ...]:
    found = []
    for low in range(0, 100, BAND):
        inside = [one for one in closed if min(int(one.conviction // BAND), 100 // BAND - 1) * BAND == low]
        if inside:
            right = sum(one.right for one in inside)
            stated = _mean(one.conviction for one in inside)
            told = len(inside) >= SAMPLE
            share = right / len(inside) if told else None
            span = wilson(right, len(inside)) if told else None
            found.append(Band(low, low + BAND, len(inside), stated, right, share, span))
    return tuple(found)


def _groups(closed: Sequence[ResolvedDecision], name: Callable[[ResolvedDecision], str]) -> tuple[DecisionGroup, ...]:
    groups: dict[str, list[ResolvedDecision]] = {}
    for one in closed:
        groups.setdefault(name(one), []).append(one)
    told = (
        DecisionGroup(
            key,
            len(ones),
            right := sum(one.right for one in ones),
            right / len(ones) if len(ones) >= SAMPLE else None,
            _in_r(ones) if len(ones) >= SAMPLE else None,
        )
        for key, ones in groups.items()
    )
    return tuple(sorted(told, key=lambda group: (-group.count, group.name)))


def _in_r(closed: Sequence[ResolvedDecision]) -> float | None:
    """R per decision, where all of them have it."""
    results = [one.result_r for one in closed if one.result_r is not None]
    return _mean(results) if len(results) == len(closed) else None


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return math.fsum(listed) / len(listed)


def _words(count: int, bands: Sequence[Band], noun: str) -> str:
    many = f"{count} resolved {noun if count == 1 else f'{noun}s'}"
    if count < ENOUGH:
        return f"{many}; from {ENOUGH} on there is something to say about how {_STATED[noun]} and outcome go together"
    told = [
        f"at {band.low} to {band.high} it was too {'high' if band.stated / 100 > band.share else 'low'} "
        f"(stated {band.stated:.0f}, right {100 * band.share:.0f} % of {band.count})"
        for band in bands
        if band.share is not None
        and band.interval is not None
        and not band.interval[0] <= band.stated / 100 <= band.interval[1]
    ]
    if not told:
        return f"{many}; what was stated fits what happened, as far as so many can show"
    return f"{many}; {', '.join(told)}"


# Queries


def calibration(tx: Tx, *, agent_id: str | None = None, known_at: str | None = None) -> Calibration:
    """The calibration of all agents together, or of one; as it was known at an instant."""
    query = select(decisions).where(decisions.c.owner == tx.owner, decisions.c.conviction.isnot(None))
    rows = [row for row in _resolved_rows(tx, query, agent_id, known_at) if row.result_r is not None]
    names = {id: agents.name_of(tx, id) for id in {row.agent_id for row in rows}}
    looks = _second_look_convictions(tx, "conviction_score")
    return calibrate(
        [
            ResolvedDecision(
                agent=names[row.agent_id],
                symbol=row.symbol or "",
                regime=row.regime or "unknown",
                conviction=row.conviction,
                result_r=row.result_r,
                looks=tuple(score for at, score in looks.get(row.run_id, ()) if at <= row.closed_at),
            )
            for row in rows
        ]
    )


def of_forecasts(tx: Tx, *, agent_id: str | None = None, known_at: str | None = None) -> Calibration:
    """The calibration of forecasts: what was said to be likely against what came true."""
    query = select(decisions).where(decisions.c.owner == tx.owner, decisions.c.probability.isnot(None))
    rows = _resolved_rows(tx, query, agent_id, known_at)
    names = {id: agents.name_of(tx, id) for id in {row.agent_id for row in rows}}
    looks = _second_look_convictions(tx, "probability")
    closed = [
        ResolvedDecision(
            agent=names[row.agent_id],
            symbol=row.card_type,
            regime="",
            conviction=100 * row.probability,
            looks=tuple(100 * share for at, share in looks.get(row.run_id, ()) if at <= row.closed_at),
            came=row.outcome == "true",
        )
        for row in rows
    ]
    return calibrate(closed, "forecast")


def _resolved_rows(tx: Tx, query: Select[Any], agent_id: str | None, known_at: str | None) -> list[Any]:
    """The resolved ones in the order in which they were closed, without those that were recorded too late."""
    query = query if agent_id is None else query.where(decisions.c.agent_id == agent_id)
    if known_at is None:
        rows: list[Any] = list(tx.conn.execute(query.where(decisions.c.state == "resolved")))
    else:
        rows = list(results.decisions_as_of(tx, tx.conn.execute(query).all(), known_at))
    counted = [row for row in rows if row.state == "resolved" and not is_late(row)]
    return sorted(counted, key=lambda row: (row.closed_at, row.run_id))


def _second_look_convictions(tx: Tx, slot: str) -> dict[str, list[tuple[str, Any]]]:
    """What re-examinations stated, by the run they looked at, in time order."""
    query = (
        select(runs.c.parent_run, runs.c.finished_at, runs.c.card)
        .where(runs.c.owner == tx.owner, runs.c.parent_run.isnot(None), runs.c.card.isnot(None))
        .order_by(runs.c.finished_at, runs.c.id)
    )
    found: dict[str, list[tuple[str, Any]]] = {}
    for row in tx.conn.execute(query):
        stated = stored_json.load_json(row.card).get(slot)
        if stated is not None:
            found.setdefault(row.parent_run, []).append((row.finished_at, stated))
    return found
