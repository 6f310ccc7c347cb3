"""`/api/trading`: skills, deployments, trades, coming events and lessons. `files` loads what they come from.

A skill or a deployment is given by its id or its name. Whatever is computed takes `known_at`, and uses only what was
known then.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import Response
from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.ground.to_json import to_json
from keepbook.doors.http.api.memory import IfMatch, MomentQuery
from keepbook.doors.http.api.memory_bodies import RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL, problem_answers
from keepbook.errors import Conflict
from keepbook.extensions.trading.book.breakdown import Breakdown
from keepbook.extensions.trading.book.exposure import LONGEST_LOOK, Exposure
from keepbook.extensions.trading.book.lessons import STATES, Lesson
from keepbook.extensions.trading.book.performance import EquityPoint, Performance
from keepbook.extensions.trading.book.reflection import Reflection
from keepbook.extensions.trading.book.skills import CURRENCY, FIELDS, Deployment, FieldVersion, Skill
from keepbook.extensions.trading.tools import trading_answer

router: APIRouter = APIRouter(prefix="/api/trading", tags=["trading"], responses=USUAL, route_class=FastRoute)

ReadTradingCall = Annotated[Call, permitted_call("trading.read")]
WriteTradingCall = Annotated[Call, permitted_call("trading.write")]
ChangeSkillsCall = Annotated[Call, permitted_call("trading.skills")]
Judging = Annotated[Call, permitted_call("lessons.change")]

SKILL, DEPLOYMENT = "A skill's id, or its name.", "A deployment's id, or its name."
SkillIdPath = Annotated[str, Path(alias="id", description=SKILL, max_length=200)]
DeploymentIdPath = Annotated[str, Path(alias="id", description=DEPLOYMENT, max_length=200)]
LessonIdPath = Annotated[str, Path(alias="id", description="A lesson's id.", max_length=200)]
OfSkill = Annotated[str | None, Query(description=SKILL, max_length=200)]
OfDeployment = Annotated[str | None, Query(description=DEPLOYMENT, max_length=200)]


class NewSkill(RequestBody):
    name: str
    description: str = ""
    strategy: str | None = Field(None, description="When it enters and leaves, and how much it risks.")
    schedule: str | None = Field(None, description="When it runs.")
    chat: str | None = Field(None, description="How it talks about itself.")


class SkillFields(RequestBody):
    strategy: str | None = None
    schedule: str | None = None
    chat: str | None = None


class FieldValue(RequestBody):
    value: str
    expect_version: int | None = Field(None, description="Refused if the field is at another version by now.")


class NewDeployment(RequestBody):
    name: str
    skill_id: str = Field(description=SKILL)
    account: str | None = None
    capital: float | None = Field(None, description="Above 0; without it there are no percentages.")
    currency: str = CURRENCY
    started_at: str | None = None
    ended_at: str | None = None


class ChangedDeployment(RequestBody):
    name: str | None = None
    account: str | None = None
    capital: float | None = None
    currency: str | None = None
    started_at: str | None = None
    ended_at: str | None = Field(None, description="null: it runs on.")


class ReflectRequest(RequestBody):
    skill_id: str | None = Field(None, description=SKILL)
    deployment_id: str | None = Field(None, description=DEPLOYMENT)
    window: int | None = Field(None, description="Only the trades of so many last days.")
    known_at: str | None = Field(None, description="As it was known then; now, if nothing is said.")


# Shapes


@dataclass(frozen=True)
class TradeShown:
    """A closed trade; `pnl` is net of fees."""

    deployment_id: str
    exit_time: str
    key: str
    symbol: str
    side: str
    quantity: float
    entry_time: str
    entry_price: float
    exit_price: float
    fees: float
    pnl: float
    mfe: float | None
    mae: float | None
    entry_regime_tag: str | None
    entry_reason: str | None
    exit_reason: str | None
    known_at: str


@dataclass(frozen=True)
class PositionShown:
    deployment_id: str
    symbol: str
    side: str
    entry_time: str
    entry_price: float
    quantity: float
    closed_at: str | None
    known_at: str


@dataclass(frozen=True)
class EventShown:
    id: str
    kind: str
    time: str
    importance: float
    title: str
    symbols: list[str]
    known_at: str | None


@dataclass(frozen=True, kw_only=True)
class ReportAnswer:
    """The figures, and with more `detail` the last trades, the lessons and, in full, the equity curve."""

    performance: Performance
    positions: list[PositionShown]
    trades: list[TradeShown] | None = None
    lessons: list[Lesson] | None = None
    equity: list[EquityPoint] | None = None


@dataclass(frozen=True, kw_only=True)
class SkillShown(ReportAnswer):
    skill: Skill
    deployments: list[Deployment]


@dataclass(frozen=True, kw_only=True)
class DeploymentShown(ReportAnswer):
    deployment: Deployment


@dataclass(frozen=True)
class Skills:
    skills: list[Skill]


@dataclass(frozen=True)
class FieldVersions:
    fields: list[FieldVersion]


@dataclass(frozen=True)
class Deployments:
    deployments: list[Deployment]


@dataclass(frozen=True)
class TradePage:
    trades: list[TradeShown]
    total: int
    next: str | None


@dataclass(frozen=True)
class ComingShown:
    """`your_exposure` is null where no deployment was named."""

    known_at: str
    until: str
    events: list[EventShown]
    your_exposure: list[Exposure] | None


@dataclass(frozen=True)
class Lessons:
    lessons: list[Lesson]


# Skills


@router.get("/skills", response_model=Skills)
def list_skills(call: ReadTradingCall) -> Response:
    """In the order in which they were made, each with what it says now."""
    return json_response(Skills(list(call.book.trading.skills())))


@router.post("/skills", status_code=201, response_model=Skill)
def create_skill(call: ChangeSkillsCall, new: NewSkill) -> Response:
    """Only the name is needed."""
    given = new.model_dump()
    return call.write(lambda book: book.trading.create_skill(given.pop("name"), **given), 201, _etag_header)


@router.get("/skills/{id}", response_model=SkillShown)
def get_skill(
    call: ReadTradingCall,
    id: SkillIdPath,
    detail: Literal["summary", "trades", "lessons", "full"] = "summary",
    known_at: MomentQuery = None,
) -> Response:
    """How it did, all its deployments taken together."""
    trading = call.book.trading
    skill = trading.skill(id)
    shown = {"skill": skill, "deployments": trading.deployments(skill.id)}
    return json_response(shown | _report_data(call.book, detail, known_at, skill=skill.id), headers=_etag_header(skill))


@router.patch("/skills/{id}", response_model=Skill, responses=problem_answers(412))
def change_skill(call: ChangeSkillsCall, id: SkillIdPath, said: SkillFields, if_match: IfMatch = None) -> Response:
    """Each field that is sent gets a new version; the earlier ones stay."""
    given = said.model_dump(exclude_none=True)

    def do(book: Book) -> Skill:
        with book.transaction():
            skill = book.trading.skill(id)
            _refuse_changed(skill, if_match)
            for field, value in given.items():
                book.trading.set_field(skill.id, field, value)
            return book.trading.skill(skill.id)

    return call.write(do, headers=_etag_header)


@router.get("/skills/{id}/fields", response_model=FieldVersions)
def list_field_versions(
    call: ReadTradingCall,
    id: SkillIdPath,
    field: Annotated[str | None, Query(description=", ".join(FIELDS), max_length=40)] = None,
) -> Response:
    """Every version of what it says, of one field or of all."""
    return json_response(FieldVersions(list(call.book.trading.field_history(id, field))))


@router.put("/skills/{id}/fields/{field}", response_model=FieldVersion)
def set_skill_field(
    call: ChangeSkillsCall,
    id: SkillIdPath,
    field: Annotated[str, Path(description=", ".join(FIELDS), max_length=40)],
    told: FieldValue,
) -> Response:
    """A new version of what it says; the earlier ones stay."""
    return call.write(lambda book: book.trading.set_field(id, field, told.value, expect_version=told.expect_version))


# Deployments


@router.get("/deployments", response_model=Deployments)
def list_deployments(call: ReadTradingCall, skill_id: OfSkill = None) -> Response:
    """In the order in which they were made, also those that have ended."""
    return json_response(Deployments(list(call.book.trading.deployments(skill_id))))


@router.post("/deployments", status_code=201, response_model=Deployment)
def create_deployment(call: ChangeSkillsCall, new: NewDeployment) -> Response:
    given = new.model_dump()
    name, skill = given.pop("name"), given.pop("skill_id")
    return call.write(lambda book: book.trading.create_deployment(name, skill, **given), 201)


@router.get("/deployments/{id}", response_model=DeploymentShown)
def get_deployment(
    call: ReadTradingCall,
    id: DeploymentIdPath,
    detail: Literal["list", "trades", "lessons", "full"] = "list",
    known_at: MomentQuery = None,
) -> Response:
    found = call.book.trading.deployment(id)
    return json_response({"deployment": found} | _report_data(call.book, detail, known_at, deployment=found.id))


@router.get("/deployments/{id}/breakdown", response_model=Breakdown)
def break_down(call: ReadTradingCall, id: DeploymentIdPath, known_at: MomentQuery = None) -> Response:
    """By symbol, hour, weekday and tag, with the time in the market and what holding would have made."""
    return json_response(call.book.trading.breakdown(deployment=id, known_at=known_at))


@router.patch("/deployments/{id}", response_model=Deployment)
def change_deployment(call: ChangeSkillsCall, id: DeploymentIdPath, changed: ChangedDeployment) -> Response:
    """Only what is sent changes."""
    given = changed.model_dump(exclude_unset=True)
    return call.write(lambda book: book.trading.change_deployment(id, **given))


# Trades and events


@router.get("/trades", response_model=TradePage)
def list_trades(
    call: ReadTradingCall,
    skill_id: OfSkill = None,
    deployment_id: OfDeployment = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 30,
    cursor: Annotated[str | None, Query(description="`next` of the page before.", max_length=400)] = None,
    known_at: MomentQuery = None,
) -> Response:
    """Closed trades, the newest first."""
    page = call.book.trading.trades(
        skill=skill_id, deployment=deployment_id, limit=limit, cursor=cursor, known_at=known_at
    )
    return json_response(page)


@router.get("/events", response_model=ComingShown)
def list_coming_events(
    call: ReadTradingCall,
    lookahead_hours: Annotated[float, Query(ge=1, le=LONGEST_LOOK)] = 24,
    types: Annotated[list[str], Query(description="Only these kinds.", max_length=50)] = [],  # noqa: B006
    symbols: Annotated[list[str], Query(description="Only what touches these.", max_length=50)] = [],  # noqa: B006
    min_importance: Annotated[float, Query(ge=0, le=1)] = 0.4,
    deployment_id: OfDeployment = None,
    known_at: MomentQuery = None,
) -> Response:
    """What is coming; with a deployment also what each event may do to its open positions."""
    found = call.book.trading.events(
        lookahead_hours=lookahead_hours, types=types, symbols=symbols, min_importance=min_importance,
        deployment=deployment_id, known_at=known_at,
    )  # fmt: skip
    return json_response(found)


# Lessons


@router.get("/lessons", response_model=Lessons)
def list_lessons(
    call: ReadTradingCall,
    skill_id: OfSkill = None,
    deployment_id: OfDeployment = None,
    state: Annotated[str, Query(description=", ".join(STATES))] = "active",
    known_at: MomentQuery = None,
) -> Response:
    """Pinned ones first, then the best supported."""
    found = call.book.trading.lessons(skill=skill_id, deployment=deployment_id, state=state, known_at=known_at)
    return json_response(Lessons(list(found)))


@router.post("/lessons/reflect", response_model=Reflection)
def reflect_on_trades(call: WriteTradingCall, told: Annotated[ReflectRequest, Body()]) -> Response:
    """Turn closed trades into lessons, as far as the sample supports them."""

    def do(book: Book) -> Reflection:
        return book.trading.reflect(
            skill=told.skill_id, deployment=told.deployment_id, window=told.window, known_at=told.known_at
        )

    return call.write(do)


@router.post("/lessons/{id}/pin", response_model=Lesson)
def pin_lesson(call: Judging, id: LessonIdPath) -> Response:
    """The person's own word from now on, told in every chat in the skill's scope."""
    return call.write(lambda book: book.trading.pin(id))


@router.post("/lessons/{id}/unpin", response_model=Lesson)
def unpin_lesson(call: Judging, id: LessonIdPath) -> Response:
    return call.write(lambda book: book.trading.unpin(id))


@router.post("/lessons/{id}/retire", response_model=Lesson)
def retire_lesson(call: Judging, id: LessonIdPath) -> Response:
    """Put away; a later reflection does not bring it back."""
    return call.write(lambda book: book.trading.retire(id))


@router.post("/lessons/{id}/restore", response_model=Lesson)
def restore_lesson(call: Judging, id: LessonIdPath) -> Response:
    return call.write(lambda book: book.trading.restore_lesson(id))


# Shared


def _report_data(book: Book, detail: str, known_at: str | None, **which: str) -> dict[str, Any]:
    data = trading_answer(book, **which, detail=detail, known_at=known_at).data
    if detail == "full":
        several_currencies = bool(data["performance"]["by_currency"])
        data["equity"] = None if several_currencies else to_json(book.trading.equity(**which, known_at=known_at))
    return data


def _tag(skill: Skill) -> str:
    """The ETag of a skill: the versions of its fields, such as `"3-1-1"`."""
    return f'"{"-".join(str(skill.versions[field]) for field in FIELDS)}"'


def _etag_header(skill: Any) -> dict[str, str]:
    return {"ETag": _tag(skill)}


def _refuse_changed(skill: Skill, if_match: str | None) -> None:
    """Raise if `If-Match` names other versions than the skill has now."""
    if if_match is None or if_match.strip() == "*" or _tag(skill) in if_match:
        return
    raise Conflict(
        f"skill {skill.name!r} has changed meanwhile; read it again",
        code="precondition",
        versions=to_json(skill.versions),
    )
