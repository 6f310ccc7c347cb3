"""The forms of a forecast (yes or no, several classes, a number), and how each is answered and scored.

In every form a forecast has one claim with one probability, and calibration uses these: a yes, the likeliest class, or
that the number is inside the widest central interval (without one: that it is at most the highest quantile). The scores
use everything that was stated.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from keepbook.errors import Invalid
from keepbook.extensions.agents.book.cards.distributions import find_class, levels_of
from keepbook.extensions.agents.book.cards.types import Forecast
from keepbook.extensions.agents.book.scoring import proper_scores

YES_NO, CLASSES, NUMBER = "yes_no", "classes", "number"
FORMS = (YES_NO, CLASSES, NUMBER)
MAIN_SCORE = {YES_NO: "brier", CLASSES: "brier", NUMBER: "pinball"}
"""The score by which two forecasts of one question are compared."""


class StatedForecast(NamedTuple):
    """The claim of a forecast (None for a yes), and its probability."""

    probability: float | None
    claim: str | None


class ForecastScores(NamedTuple):
    """The scores of one forecast; those that its form does not have are None."""

    brier: float | None = None
    log_score: float | None = None
    rps: float | None = None
    pinball: float | None = None
    interval_score: float | None = None
    crps_approximation: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormScores:
    """The mean scores of the resolved forecasts of one form; lower is better.

    `yes_no`: Brier and log score. `classes`: Brier over all classes (0 to 2), the log score of what it came to, and of
    the `ranked` ones the ranked probability score. `number`: the mean pinball loss over the levels, the score of the
    widest central interval of the `intervals` that have one, and twice the pinball loss as an approximation of the
    CRPS. The log score counts a probability under 0.001 as 0.001.
    """

    form: str
    count: int
    brier: float | None
    log_score: float | None
    ranked: int
    rps: float | None
    pinball: float | None
    intervals: int
    interval_score: float | None
    crps_approximation: float | None


# Rules


def form_of(told: Forecast) -> str:
    if told.classes is not None:
        return CLASSES
    if told.quantiles is None:
        return YES_NO
    return NUMBER


def stated_forecast(told: Forecast, slots: Mapping[str, Any]) -> StatedForecast:
    """The claim of a card, and its probability."""
    if told.classes is not None:
        shares: Mapping[str, float] = slots[told.classes]
        likeliest = max(shares, key=lambda name: shares[name])
        return StatedForecast(shares[likeliest], likeliest)
    if told.quantiles is not None:
        low, high, probability = _held_range(levels_of(slots[told.quantiles]))
        if low is None:
            return StatedForecast(probability, f"at most {high:.12g}")
        return StatedForecast(probability, f"{low:.12g} to {high:.12g}")
    claim = None
    if told.claim is not None:
        claim = slots.get(told.claim)
    return StatedForecast(slots.get(str(told.probability)), claim)


def parse_class_outcome(told: Forecast, slots: Mapping[str, Any], outcome: object) -> tuple[str, str]:
    """Whether the likeliest class came (`true`, `false`), and which it was."""
    shares: Mapping[str, float] = slots[str(told.classes)]
    found = None
    if isinstance(outcome, str):
        found = find_class(shares, " ".join(outcome.split()))
    if found is None:
        raise Invalid(f"an outcome is one of {', '.join(shares)}, not {str(outcome)[:40]!r}", field="outcome")
    return str(found == stated_forecast(told, slots).claim).lower(), found


def parse_number_outcome(told: Forecast, slots: Mapping[str, Any], outcome: object) -> tuple[str, str]:
    """Whether a number fell into the interval that was stated (`true`, `false`), and the number."""
    number = _to_number(outcome)
    low, high, _ = _held_range(levels_of(slots[str(told.quantiles)]))
    return str((low is None or low <= number) and number <= high).lower(), repr(number)


def score_forecast(
    told: Forecast, slots: Mapping[str, Any], probability: float, outcome: str, came_to: str | None
) -> ForecastScores:
    """The scores of a resolved forecast (`outcome` is `true` or `false`)."""
    came = outcome == "true"
    if told.classes is not None and came_to is not None:
        shares: Mapping[str, float] = slots[told.classes]
        ranked = None
        if _is_ordered(told, slots):
            ranked = proper_scores.ranked_probability_score(shares, came_to)
        return ForecastScores(
            proper_scores.brier_over_classes(shares, came_to), proper_scores.log_score(shares[came_to]), ranked
        )
    if told.quantiles is not None and came_to is not None:
        return _score_number(levels_of(slots[told.quantiles]), float(came_to))
    given_to_it = probability if came else 1 - probability
    return ForecastScores(proper_scores.brier(probability, came), proper_scores.log_score(given_to_it))


def average_scores(form: str, scored: Sequence[ForecastScores]) -> FormScores:
    """The means over forecasts of one form."""
    return FormScores(
        form=form,
        count=len(scored),
        ranked=sum(one.rps is not None for one in scored),
        intervals=sum(one.interval_score is not None for one in scored),
        **{name: _mean(getattr(one, name) for one in scored) for name in ForecastScores._fields},
    )


def _held_range(quantiles: Mapping[float, float]) -> tuple[float | None, float, float]:
    """The widest central interval and its probability; without one, nothing below and the highest quantile."""
    around = proper_scores.widest_interval(list(quantiles))
    if around is None:
        level = max(quantiles)
        return None, quantiles[level], level
    return quantiles[around[0]], quantiles[around[1]], round(around[1] - around[0], 12)


def _is_ordered(told: Forecast, slots: Mapping[str, Any]) -> bool:
    if isinstance(told.ordered, str):
        return bool(slots.get(told.ordered))
    return bool(told.ordered)


def _score_number(quantiles: Mapping[float, float], came: float) -> ForecastScores:
    low, high, probability = _held_range(quantiles)
    of_interval = None
    if low is not None:
        of_interval = proper_scores.interval_score(low, high, came, 1 - probability)
    return ForecastScores(
        pinball=proper_scores.mean_pinball(quantiles, came),
        interval_score=of_interval,
        crps_approximation=proper_scores.crps_approximation(quantiles, came),
    )


def _to_number(outcome: object) -> float:
    try:
        number = math.nan if isinstance(outcome, bool) else float(outcome)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= 1e15:
        raise Invalid(f"an outcome is a number, not {str(outcome)[:40]!r}", field="outcome")
    return number


def _mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    if there:
        return math.fsum(there) / len(there)
    return None
