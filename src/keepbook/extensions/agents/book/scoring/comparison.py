"""Compares two agents on the questions that both have forecast.

Two forecasts are a pair if they are of the same question, due within a day of each other, and made within a day of each
other; each is in one pair at most, the nearest first. The difference of the two scores counts, so that easy questions
help neither agent. Its interval treats pairs that were resolved on the same day as one unit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta, tzinfo

from keepbook.book.ground.by_days import mean_by_days
from keepbook.book.ground.when import parse_stamp, zone_named
from keepbook.book.owners import owners
from keepbook.errors import Invalid
from keepbook.extensions.agents.book import agents
from keepbook.extensions.agents.book.calibration import forecast_rows
from keepbook.extensions.agents.book.cards import CardTypes
from keepbook.extensions.agents.book.outcomes.series import WITNESSED, series_of
from keepbook.extensions.agents.book.scoring.forms import FORMS, MAIN_SCORE
from keepbook.extensions.agents.book.scoring.resolved import ResolvedForecast, resolved_forecasts
from keepbook.storage.database import Tx

WITHIN = timedelta(days=1)  # of each other two agents must have forecast
ENOUGH_PAIRS = 30  # for a verdict
BETTER, WORSE, UNDECIDED, TOO_FEW = "better", "worse", "undecided", "too_few"

ForecastPair = tuple[ResolvedForecast, ResolvedForecast]
Question = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormComparison:
    """The pairs of one form, by its main `score` (Brier; of numbers the pinball loss): the means of both, the mean
    difference (above 0 the agent is worse than the other) and its 95 % interval by `days`.

    `verdict`: better or worse where the interval lies wholly on that side, else undecided; too_few under 30 pairs.
    """

    form: str
    score: str
    pairs: int
    days: int
    mean: float
    other_mean: float
    difference: float
    interval: tuple[float, float] | None
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentComparison:
    """An agent beside another, form by form; `contradicted` pairs were resolved differently and count nowhere."""

    agent: str
    other: str
    series: str
    tag: str | None
    contradicted: int
    forms: tuple[FormComparison, ...]
    worse: bool
    """Whether the agent is worse in any form."""


# Rules


def pair_forecasts(mine: Sequence[ResolvedForecast], others: Sequence[ResolvedForecast]) -> list[ForecastPair]:
    """The forecasts of the same questions, each at most once, in the order in which they were resolved."""
    asked, pairs = _by_question(others), list[ForecastPair]()
    for key, some in _by_question(mine).items():
        pairs += _nearest_pairs(some, asked.get(key, ()))
    return sorted(pairs, key=lambda pair: (pair[0].closed_at, pair[0].question))


def compare_pairs(pairs: Sequence[ForecastPair], zone: tzinfo) -> tuple[FormComparison, ...]:
    """The comparison of each form that there is."""
    of: Mapping[str, list[ForecastPair]] = {form: [pair for pair in pairs if pair[0].form == form] for form in FORMS}
    return tuple(_compare(form, some, zone) for form, some in of.items() if some)


def is_contradicted(pair: ForecastPair) -> bool:
    """Whether the same question was resolved in two ways."""
    one, other = pair
    if one.came_to is None:
        return one.came != other.came
    return one.came_to != other.came_to


def _by_question(found: Sequence[ResolvedForecast]) -> dict[Question, list[ResolvedForecast]]:
    asked: dict[Question, list[ResolvedForecast]] = {}
    for one in found:
        asked.setdefault((one.form, one.question), []).append(one)
    return asked


def _nearest_pairs(mine: Sequence[ResolvedForecast], others: Sequence[ResolvedForecast]) -> list[ForecastPair]:
    """Pairs of one forecast of each agent that were made and are due within a day of each other; the nearest first."""
    near = []
    for nth, one in enumerate(mine):
        for at, other in enumerate(others):
            apart = _apart(one.began, other.began)
            if apart <= WITHIN and _apart(one.due, other.due) <= WITHIN:
                near.append((apart, one.began, nth, at))
    paired_mine: set[int] = set()
    paired_others: set[int] = set()
    pairs: list[ForecastPair] = []
    for _, _, nth, at in sorted(near):
        if nth not in paired_mine and at not in paired_others:
            paired_mine.add(nth)
            paired_others.add(at)
            pairs.append((mine[nth], others[at]))
    return pairs


def _apart(one: str, other: str) -> timedelta:
    return abs(parse_stamp(one) - parse_stamp(other))


def _compare(form: str, pairs: Sequence[ForecastPair], zone: tzinfo) -> FormComparison:
    """Compare the main scores of one form over all pairs."""
    score = MAIN_SCORE[form]
    both = [(getattr(one.scores, score), getattr(other.scores, score)) for one, other in pairs]
    days = [one.day(zone) for one, _ in pairs]
    found = mean_by_days([one - other for one, other in both], days)
    interval = None
    if found.low is not None and found.high is not None:
        interval = found.low, found.high
    return FormComparison(
        form=form,
        score=score,
        pairs=len(pairs),
        days=found.days,
        mean=sum(one for one, _ in both) / len(both),
        other_mean=sum(other for _, other in both) / len(both),
        difference=found.mean,
        interval=interval,
        verdict=_verdict(len(pairs), interval),
    )


def _verdict(pairs: int, interval: tuple[float, float] | None) -> str:
    if pairs < ENOUGH_PAIRS:
        return TOO_FEW
    if interval is not None and interval[0] > 0:
        return WORSE
    if interval is not None and interval[1] < 0:
        return BETTER
    return UNDECIDED


# Queries


def compare_agents(
    tx: Tx, cards: CardTypes, agent_id: str, other_id: str, *, series: str = WITNESSED, tag: str | None = None
) -> AgentComparison:
    """An agent beside another in one series, on all questions or those with a tag."""
    if agent_id == other_id:
        raise Invalid("an agent is compared with another one", field="other")
    of = {}
    for id in (agent_id, other_id):
        rows = [row for row in forecast_rows(tx, id) if series_of(row) == series]
        of[id] = [one for one in resolved_forecasts(tx, cards, rows) if tag is None or tag in one.tags]
    pairs = pair_forecasts(of[agent_id], of[other_id])
    alike = [pair for pair in pairs if not is_contradicted(pair)]
    forms = compare_pairs(alike, zone_named(owners.zone_name(tx)))
    return AgentComparison(
        agent=agents.name_of(tx, agent_id),
        other=agents.name_of(tx, other_id),
        series=series,
        tag=tag,
        contradicted=len(pairs) - len(alike),
        forms=forms,
        worse=any(one.verdict == WORSE for one in forms),
    )
