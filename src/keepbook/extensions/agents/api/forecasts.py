"""`/api/agents/{id}/forecasts` and `/api/forecasts`: forecasts made elsewhere, brought in as JSON lines, and the
comparison of two agents.

A wrong line is reported and the good ones are stored; the same file sent again changes nothing. Like every load, one is
taken back under `/api/loads/{nth}/undo`.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.gate import PathRules
from keepbook.doors.http.problems import USUAL
from keepbook.errors import Invalid
from keepbook.extensions.agents.api.agents import AgentId, LimitQuery, ReadingDecisions, Recording
from keepbook.extensions.agents.book.outcomes.series import SERIES, WITNESSED
from keepbook.extensions.agents.book.scoring.brought_in import BroughtForecast, BroughtIn
from keepbook.extensions.agents.book.scoring.comparison import AgentComparison
from keepbook.patterns import regex

router: APIRouter = APIRouter(prefix="/api", tags=["agents"], responses=USUAL, route_class=FastRoute)

PATHS = PathRules(imports=regex(r"/api/agents/[^/]+/forecasts"), command="keepbook agent bring-in AGENT FILE")

ReadingOfSeveral = Annotated[Call, permitted_call("decisions.read")]
"""Unlike `ReadingDecisions` this refuses a caller that is bound to one agent."""

_FILE = {
    "requestBody": {
        "required": True,
        "description": "One forecast on each line, as JSON, or all in one JSON list.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@dataclass(frozen=True)
class BroughtForecasts:
    forecasts: list[BroughtForecast]


@router.post("/agents/{id}/forecasts", response_model=BroughtIn, openapi_extra=_FILE)
async def bring_in_forecasts(
    call: Recording,
    request: Request,
    id: AgentId,
    dry_run: Annotated[bool, Query(description="Show what would come of it.")] = False,
) -> Response:
    """Bring in what this agent forecast elsewhere, each line a card with `made_at` and, where known, `outcome` and
    `resolved_at`. It is a record of its own, not witnessed here."""
    sent = await request.body()
    return await run_in_threadpool(_bring_in, call, id, sent, dry_run)


@router.get("/forecasts/brought-in", response_model=BroughtForecasts)
def list_brought_forecasts(
    call: ReadingDecisions,
    agent: Annotated[str | None, Query(max_length=200)] = None,
    limit: LimitQuery = 100,
    offset: Annotated[int, Query(ge=0, le=10_000_000, description="So many of the newest are left out.")] = 0,
) -> Response:
    """What was brought in, the newest made first."""
    found = call.book.decisions.brought_in(call.own(agent), limit=limit, offset=offset)
    return json_response(BroughtForecasts(list(found)))


@router.get("/forecasts/comparison", response_model=AgentComparison)
def compare_agents(
    call: ReadingOfSeveral,
    agent: Annotated[str, Query(max_length=200, description="Its name, or its id.")],
    other: Annotated[str, Query(max_length=200, description="The agent it is held against.")],
    series: Annotated[str, Query(description=", ".join(SERIES))] = WITNESSED,
    tag: Annotated[str | None, Query(max_length=1000, description="Only forecasts with this tag.")] = None,
) -> Response:
    """Two agents on the questions that both forecast within a day of each other. `worse`: the interval of the
    difference lies wholly on that side, with 30 pairs or more."""
    found = call.book.decisions.compare(agent, other, series=series, tag=tag)
    return json_response(found)


def _bring_in(call: Call, id: str, sent: bytes, dry_run: bool) -> Response:
    try:
        lines = sent.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Invalid("the file is not text in UTF-8", field="file") from None
    agent = call.agent(id)
    if dry_run:
        return json_response(call.book.decisions.bring_in(agent, lines, dry_run=True))
    return call.write(lambda book: book.decisions.bring_in(agent, lines))
