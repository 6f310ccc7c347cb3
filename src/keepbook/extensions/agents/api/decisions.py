"""`/api/decisions`: how the decisions of agents turn out, and what was known of that when."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from keepbook.doors.http.api.memory import MomentQuery
from keepbook.doors.http.call import json_response
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.extensions.agents.api.agents import LimitQuery, ReadingDecisions, ReadingDue, RunIdPath, run_of
from keepbook.extensions.agents.book.calibration import Calibration
from keepbook.extensions.agents.book.decisions import Decision
from keepbook.extensions.agents.book.forecasts import DueForecast
from keepbook.extensions.agents.book.outcomes.series import SERIES, WITNESSED
from keepbook.extensions.agents.book.results import Former

router: APIRouter = APIRouter(prefix="/api", tags=["agents"], responses=USUAL, route_class=FastRoute)

Forecasts = Annotated[bool | None, Query(description="Only those, or none of them.")]
CardTypeNames = Annotated[list[str] | None, Query(description="Only cards of these types.", max_length=50)]


@dataclass(frozen=True)
class DecisionList:
    decisions: list[Decision]


@dataclass(frozen=True)
class DecisionCounts:
    """How many there are in each state, `due` among them; and since when there are results of trades."""

    counts: dict[str, int]
    first_resolved: datetime | None


@dataclass(frozen=True)
class DueForecasts:
    """What a resolver asks for: the questions, without what was held to be likely."""

    forecasts: list[DueForecast]


@dataclass(frozen=True)
class OutcomeHistory:
    """What was known of its end before bars came late or were corrected, the oldest first."""

    history: list[Former]


@router.get("/decisions", response_model=DecisionList)
def list_decisions(
    call: ReadingDecisions,
    state: Annotated[str | None, Query(description="open, resolved or expired")] = None,
    agent: Annotated[str | None, Query(max_length=200)] = None,
    limit: LimitQuery = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="So many of the newest are left out.")] = 0,
    forecasts: Forecasts = None,
    card_types: CardTypeNames = None,
    by_due: Annotated[bool, Query(description="What is due first.")] = False,
) -> Response:
    """Newest first."""
    found = call.book.decisions.list(
        state=state, agent=call.own(agent), limit=limit, offset=offset, forecasts=forecasts, by_due=by_due,
        card_types=card_types,
    )  # fmt: skip
    return json_response(DecisionList(list(found)))


@router.get("/decisions/count", response_model=DecisionCounts)
def count_decisions(
    call: ReadingDecisions,
    agent: Annotated[str | None, Query(max_length=200)] = None,
    forecasts: Forecasts = None,
    card_types: CardTypeNames = None,
) -> Response:
    """`due`: forecasts whose date is over and that nobody has answered."""
    decisions, whose = call.book.decisions, call.own(agent)
    counts = decisions.count(agent=whose, forecasts=forecasts, card_types=card_types)
    return json_response(DecisionCounts(counts, first_resolved=decisions.first_resolved(whose)))


@router.get("/decisions/calibration", response_model=Calibration)
def get_calibration(
    call: ReadingDecisions,
    agent: Annotated[str | None, Query(max_length=200)] = None,
    forecasts: Annotated[bool, Query(description="Of forecasts instead of trades.")] = False,
    known_at: MomentQuery = None,
    series: Annotated[str, Query(description=", ".join(SERIES))] = WITNESSED,
) -> Response:
    """Whether stated conviction has meant anything; under ten resolved decisions it says that it cannot tell."""
    found = call.book.decisions.calibration(call.own(agent), forecasts=forecasts, known_at=known_at, series=series)
    return json_response(found)


@router.get("/decisions/due", response_model=DueForecasts)
def list_due_forecasts(
    call: ReadingDue, agent: Annotated[str | None, Query(max_length=200)] = None, limit: LimitQuery = 100
) -> Response:
    """Forecasts past their date that nobody has answered, the longest waiting first; `POST /api/runs/{id}/resolve`
    answers one. Both are open to a token whose only scope is `resolve`."""
    return json_response(DueForecasts(list(call.book.decisions.due(agent=call.own(agent), limit=limit))))


@router.get("/decisions/{id}", response_model=Decision)
def get_decision(call: ReadingDecisions, id: RunIdPath, known_at: MomentQuery = None) -> Response:
    """The decision of a run, as it stands, or as it was known at an instant."""
    return json_response(call.book.decisions.get(run_of(call, id), known_at=known_at))


@router.get("/decisions/{id}/history", response_model=OutcomeHistory)
def get_decision_history(call: ReadingDecisions, id: RunIdPath) -> Response:
    """Other results that it was known by before."""
    return json_response(OutcomeHistory(list(call.book.decisions.history(run_of(call, id)))))
