"""Does conviction mean anything? What was stated against what came of it.

Only decisions that were resolved count: one that was never filled had no outcome. It came right when it made money.
Figures of a handful are noise and look like knowledge, so under ten there are none.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import select

from keepbook.book.agents import agents
from keepbook.storage.database import Tx
from keepbook.storage.tables import decisions, runs

ENOUGH = 10
BAND = 10
_Z = 1.959963984540054  # 97.5 % of a normal distribution: two-sided 95 %


@dataclass(frozen=True, slots=True)
class Closed:
    """A resolved decision, as far as it matters here; `looks` are the convictions of its re-examinations, in time."""

    agent: str
    symbol: str
    regime: str
    conviction: float
    result_r: float
    looks: tuple[float, ...] = ()

    @property
    def right(self) -> bool:
        return self.result_r > 0


@dataclass(frozen=True, slots=True)
class Band:
    """Decisions stated from `low` up to `high` (100 belongs to the last): `share` came right, in its 95 % interval."""

    low: int
    high: int
    count: int
    stated: float
    right: int
    share: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Group:
    """One agent, symbol or regime: how many, how many came right, and R per decision."""

    name: str
    count: int
    right: int
    hit_rate: float
    expectancy: float


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
    by_agent: tuple[Group, ...]
    by_symbol: tuple[Group, ...]
    by_regime: tuple[Group, ...]
    looks: int
    looks_right: int


# Rules


def wilson(right: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share: honest also for few, and never outside 0 to 1."""
    share, z2 = right / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def weigh(closed: Sequence[Closed]) -> Calibration:
    """Every figure, from the resolved decisions alone."""
    count, right = len(closed), sum(one.right for one in closed)
    moves = [move for one in closed for move in _moves(one)]
    enough = count >= ENOUGH
    share = right / count if enough else 0.0
    bands = _bands(closed) if enough else ()
    return Calibration(
        resolved=count,
        enough=enough,
        words=_words(count, bands),
        right=right,
        hit_rate=share if enough else None,
        interval=wilson(right, count) if enough else None,
        expectancy=_mean(one.result_r for one in closed) if enough else None,
        brier=_mean((one.conviction / 100 - one.right) ** 2 for one in closed) if enough else None,
        base_brier=share * (1 - share) if enough else None,
        bands=bands,
        by_agent=_groups(closed, lambda one: one.agent) if enough else (),
        by_symbol=_groups(closed, lambda one: one.symbol) if enough else (),
        by_regime=_groups(closed, lambda one: one.regime) if enough else (),
        looks=len(moves) if enough else 0,
        looks_right=sum(moves) if enough else 0,
    )


def _moves(one: Closed) -> list[bool]:
    """For each second look that changed the conviction, whether it went towards what happened."""
    line = (one.conviction, *one.looks)
    return [(after > before) == one.right for before, after in pairwise(line) if after != before]


def _bands(closed: Sequence[Closed]) -> tuple[Band, ...]:
    found = []
    for low in range(0, 100, BAND):
        inside = [one for one in closed if min(int(one.conviction // BAND), 100 // BAND - 1) * BAND == low]
        if inside:
            right = sum(one.right for one in inside)
            stated = _mean(one.conviction for one in inside)
            share = right / len(inside)
            found.append(Band(low, low + BAND, len(inside), stated, right, share, wilson(right, len(inside))))
    return tuple(found)


def _groups(closed: Sequence[Closed], name: Callable[[Closed], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Closed]] = {}
    for one in closed:
        groups.setdefault(name(one), []).append(one)
    told = (
        Group(
            key,
            len(ones),
            right := sum(one.right for one in ones),
            right / len(ones),
            _mean(one.result_r for one in ones),
        )
        for key, ones in groups.items()
    )
    return tuple(sorted(told, key=lambda group: (-group.count, group.name)))


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return math.fsum(listed) / len(listed)


def _words(count: int, bands: Sequence[Band]) -> str:
    if count < ENOUGH:
        return (
            f"{count} resolved {'decision' if count == 1 else 'decisions'}; from {ENOUGH} on there is something to say "
            "about how conviction and outcome go together"
        )
    off = [band for band in bands if not band.interval[0] <= band.stated / 100 <= band.interval[1]]
    if not off:
        return f"{count} resolved decisions; what was stated fits what happened, as far as so many can show"
    told = ", ".join(
        f"at {band.low} to {band.high} it was too {'high' if band.stated / 100 > band.share else 'low'} "
        f"(stated {band.stated:.0f}, right {100 * band.share:.0f} % of {band.count})"
        for band in off
    )
    return f"{count} resolved decisions; {told}"


# Queries


def calibration(tx: Tx, *, agent_id: str | None = None) -> Calibration:
    """Of all agents together, or of one."""
    query = select(decisions).where(
        decisions.c.owner == tx.owner,
        decisions.c.state == "resolved",
        decisions.c.result_r.isnot(None),
        decisions.c.conviction.isnot(None),
    )
    if agent_id is not None:
        query = query.where(decisions.c.agent_id == agent_id)
    rows = tx.conn.execute(query.order_by(decisions.c.closed_at, decisions.c.run_id)).all()
    names = {id: agents.name_of(tx, id) for id in {row.agent_id for row in rows}}
    looks = _looks(tx)
    return weigh(
        [
            Closed(
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


def _looks(tx: Tx) -> dict[str, list[tuple[str, Any]]]:
    """The convictions that re-examinations gave, by the run they looked at, in time order."""
    query = (
        select(runs.c.parent_run, runs.c.finished_at, runs.c.card)
        .where(runs.c.owner == tx.owner, runs.c.parent_run.isnot(None), runs.c.card.isnot(None))
        .order_by(runs.c.finished_at, runs.c.id)
    )
    found: dict[str, list[tuple[str, Any]]] = {}
    for row in tx.conn.execute(query):
        found.setdefault(row.parent_run, []).append((row.finished_at, json.loads(row.card)["conviction_score"]))
    return found
