"""Does conviction mean anything? What was stated against what came of it.

Only decisions that were resolved count: one that was never filled had no outcome. It came right when it made money.
Figures of a handful are noise and look like knowledge, so under ten there are none.
"""

from dataclasses import dataclass

from keepbook.storage.database import Tx

ENOUGH = 10


@dataclass(frozen=True, slots=True)
class Band:
    """Decisions stated from `low` up to below `high`; `share` came right, with its 95 % Wilson interval."""

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
    """`enough` is false under ten resolved decisions: then `words` says so and there are no bands and no scores."""

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
    """Re-examinations of resolved decisions that moved the conviction, and how many moved it the right way."""
    looks_right: int


def calibration(tx: Tx, *, agent_id: str | None = None) -> Calibration:
    raise NotImplementedError
