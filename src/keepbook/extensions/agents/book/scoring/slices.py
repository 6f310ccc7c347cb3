"""Forecasts by what made them: model, prompt version, tag.

Figures and intervals, and no sentence: whoever looks at twenty slices finds one that stands out by chance.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from keepbook.extensions.agents.book.scoring.forms import FORMS, FormScores, average_scores
from keepbook.extensions.agents.book.scoring.resolved import ResolvedForecast

SLICE_FROM = 6
"""How many forecasts a slice needs for figures."""

Interval = Callable[[Sequence[ResolvedForecast]], tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """The forecasts of one model, prompt version or tag (`by`): what was stated on the average, how many came true, and
    from six on their share, its 95 % interval and the scores."""

    by: str
    name: str
    count: int
    stated: float
    right: int
    share: float | None
    interval: tuple[float, float] | None
    scores: tuple[FormScores, ...]


def scores_by_form(found: Sequence[ResolvedForecast]) -> tuple[FormScores, ...]:
    """The mean scores of each form that there is."""
    by_form = {form: [one.scores for one in found if one.form == form] for form in FORMS}
    return tuple(average_scores(form, scores) for form, scores in by_form.items() if scores)


def slice_forecasts(found: Sequence[ResolvedForecast], interval: Interval) -> tuple[Slice, ...]:
    """The slices by model, by prompt version and by tag, the largest first. A forecast with two tags is in both."""
    names: dict[str, Callable[[ResolvedForecast], Iterable[str | None]]] = {
        "model": lambda one: (one.model,),
        "prompt_version": lambda one: (one.prompt_version,),
        "tag": lambda one: one.tags,
    }
    return tuple(one for by, names_of in names.items() for one in _by_name(by, found, names_of, interval))


def _by_name(
    by: str,
    found: Sequence[ResolvedForecast],
    names_of: Callable[[ResolvedForecast], Iterable[str | None]],
    interval: Interval,
) -> list[Slice]:
    groups: dict[str, list[ResolvedForecast]] = {}
    for one in found:
        for name in names_of(one):
            if name is not None:
                groups.setdefault(name, []).append(one)
    made = [_to_slice(by, name, some, interval) for name, some in groups.items()]
    return sorted(made, key=lambda one: (-one.count, one.name))


def _to_slice(by: str, name: str, some: Sequence[ResolvedForecast], interval: Interval) -> Slice:
    """The figures of one slice; one with too few forecasts has no share and no scores."""
    count, right = len(some), sum(one.came for one in some)
    stated = 100 * math.fsum(one.probability for one in some) / count
    found = Slice(by=by, name=name, count=count, stated=stated, right=right, share=None, interval=None, scores=())
    if count < SLICE_FROM:
        return found
    return replace(found, share=right / count, interval=interval(some), scores=scores_by_form(some))
