"""`/api/trading`: the results of a skill, of a deployment, or of all if none is named; and the market's bars."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from keepbook.doors.http.api.me import Loads
from keepbook.doors.http.api.memory import MomentQuery, SpokenQuery
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.document import DocumentPart
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL
from keepbook.extensions.trading.api.trading import EventShown, OfDeployment, OfSkill, PositionShown
from keepbook.extensions.trading.book.breakdown import Breakdown
from keepbook.extensions.trading.book.performance import EquityPoint, Performance

router: APIRouter = APIRouter(prefix="/api/trading", tags=["trading"], responses=USUAL, route_class=FastRoute)

DOCUMENT = DocumentPart(
    tags={"trading": "Skills, deployments, trades, lessons, and the files they come from."},
    names={
        "BarList": "Bars",
        "BreakdownPart": "Part",
        "EquityAnswer": "Equity",
        "EquityPoint": "Point",
        "FieldVersion": "Field",
        "LessonVersion": "Told",
        "LoadedFile": "Loaded",
        "PeriodFigures": "Period",
        "ReflectRequest": "Reflected",
        "RefusedRow": "Refused",
    },
)

ReadTradingCall = Annotated[Call, permitted_call("trading.read")]
IntoCurrency = Annotated[str | None, Query(description="Convert into it, by the bars there are.", max_length=20)]


@dataclass(frozen=True)
class Positions:
    positions: list[PositionShown]


@dataclass(frozen=True)
class EquityAnswer:
    """A point for every day from the first exit to the last."""

    equity: list[EquityPoint]


@dataclass(frozen=True)
class Mappings:
    """The mappings of columns that were kept, by name: ours, and what a file calls it."""

    mappings: dict[str, dict[str, str]]


@router.get("/positions", response_model=Positions)
def list_positions(call: ReadTradingCall, deployment_id: OfDeployment = None, known_at: MomentQuery = None) -> Response:
    """What is open."""
    return json_response({"positions": call.book.trading.positions(deployment_id, known_at=known_at)})


@router.get("/performance", response_model=Performance)
def get_performance(
    call: ReadTradingCall,
    skill_id: OfSkill = None,
    deployment_id: OfDeployment = None,
    since: SpokenQuery = None,
    known_at: MomentQuery = None,
    currency: IntoCurrency = None,
) -> Response:
    """Every figure; with `since` as if trading had begun then. Several currencies stand apart, in `by_currency`."""
    found = call.book.trading.performance(
        skill=skill_id, deployment=deployment_id, since=since, known_at=known_at, currency=currency
    )
    return json_response(found)


@router.get("/breakdown", response_model=Breakdown)
def get_breakdown(
    call: ReadTradingCall, skill_id: OfSkill = None, deployment_id: OfDeployment = None, known_at: MomentQuery = None
) -> Response:
    """By symbol, hour, weekday and tag, with the time in the market and what holding would have made."""
    return json_response(call.book.trading.breakdown(skill=skill_id, deployment=deployment_id, known_at=known_at))


@router.get("/equity", response_model=EquityAnswer)
def get_equity(
    call: ReadTradingCall,
    skill_id: OfSkill = None,
    deployment_id: OfDeployment = None,
    known_at: MomentQuery = None,
    currency: IntoCurrency = None,
) -> Response:
    """The equity curve, day by day."""
    found = call.book.trading.equity(skill=skill_id, deployment=deployment_id, known_at=known_at, currency=currency)
    return json_response(EquityAnswer(list(found)))


@router.get("/mappings", response_model=Mappings)
def list_mappings(call: ReadTradingCall) -> Response:
    """What `format` may name when a broker's file is sent."""
    return json_response({"mappings": {name: dict(one) for name, one in call.book.trading.mappings().items()}})


@router.get("/loads", response_model=Loads)
def list_loads(call: ReadTradingCall, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """What came in by brokers' files, file by file; `undone_at` is when one was taken back."""
    return json_response(Loads(list(call.book.trading.loads(limit=limit))))


# Bars and market events, which belong to the whole installation


@dataclass(frozen=True)
class BarShown:
    symbol: str
    timeframe: str
    time: str
    open: float
    high: float
    low: float
    close: float
    volume: float | None = None


@dataclass(frozen=True)
class BarList:
    bars: list[BarShown]


@dataclass(frozen=True)
class Symbols:
    symbols: list[str]


@dataclass(frozen=True)
class MarketEvent:
    """`event` is null where there is none of that id."""

    event: EventShown | None


@router.get("/bars", response_model=BarList)
def list_bars(
    call: ReadTradingCall,
    symbol: Annotated[str, Query(max_length=40)],
    timeframe: Annotated[str | None, Query(description="The finest there is, if not said.", max_length=10)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 60,
) -> Response:
    """The last complete bars, oldest first."""
    return json_response({"bars": call.kb.market.recent(symbol, timeframe=timeframe, limit=limit)})


@router.get("/symbols", response_model=Symbols)
def list_symbols(call: ReadTradingCall) -> Response:
    """Those there are bars of."""
    return json_response(Symbols(list(call.kb.market.symbols())))


@router.get("/market-events/{id}", response_model=MarketEvent)
def get_market_event(
    call: ReadTradingCall, id: Annotated[str, Path(description="An event's id.", max_length=200)]
) -> Response:
    return json_response({"event": call.kb.market.event(id)})
