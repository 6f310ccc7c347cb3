"""`/api/agents` and `/api/runs`: agents, what they do, and how their decisions turn out.

A run goes on in the server after the request that started it. That request waits for it for `wait` seconds and answers
with the run as it then is: one that takes longer is still `queued` or `running`, and `/api/runs/{id}` shows its end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query
from fastapi.responses import Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from keepbook.book.book import Book
from keepbook.book.chats.threads import Thread
from keepbook.doors.http.api.memory_bodies import RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.document import DocumentPart
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL, problem_answers
from keepbook.extensions.agents.book.agents import ADAPTERS, Agent
from keepbook.extensions.agents.book.cards.types import Broken, CardType
from keepbook.extensions.agents.book.decisions import Decision, PastCard
from keepbook.extensions.agents.book.recording import RecordedDecision
from keepbook.extensions.agents.book.runs import Run, TranscriptTurn
from keepbook.extensions.agents.book.second_looks import SecondLook
from keepbook.extensions.agents.models.runner import Runner

router: APIRouter = APIRouter(prefix="/api", tags=["agents"], responses=USUAL, route_class=FastRoute)

DOCUMENT = DocumentPart(
    tags={"agents": "Agents, their runs, decisions and how those turned out."},
    names={
        "ActiveMemory": "Carried",
        "AgentList": "Agents",
        "DecisionCounts": "Counted",
        "DecisionGroup": "Group",
        "DecisionList": "Decisions",
        "OutcomeHistory": "History",
        "PastCard": "Past",
        "RecordedDecision": "Recorded",
        "RecordedTurn": "Turn",
        "RunList": "Runs",
        "TranscriptTurn": "Line",
    },
    examples={
        "create_agent": {"name": "Swing desk", "card_type": "trade-decision"},
        "record_decision": {
            "card": {"question": "Will it rain?", "probability": 0.7, "resolves_by": "2027-01-01"},
            "key": "rain-1",
        },
        "run_agent": {"prompt": "BTC/USDT, the daily close"},
    },
)

ReadAgentsCall = Annotated[Call, permitted_call("agents.read", own=True)]
ReadingRuns = Annotated[Call, permitted_call("runs.read", own=True)]
ReadingDecisions = Annotated[Call, permitted_call("decisions.read", own=True)]
ReadingDue = Annotated[Call, permitted_call("decisions.due", own=True)]
RunAgentsCall = Annotated[Call, permitted_call("agents.run", own=True)]
Resolving = Annotated[Call, permitted_call("decisions.resolve", own=True)]
Recording = Annotated[Call, permitted_call("decisions.record", own=True)]
Arranging = Annotated[Call, permitted_call("agents.change")]
Chatting = Annotated[Call, permitted_call("chats.write")]

WAIT = 20.0
"""How many seconds a request waits for the end of a run, if it does not say."""
AgentId = Annotated[str, Path(alias="id", description="An agent's id, or its name.", max_length=200)]
RunIdPath = Annotated[str, Path(alias="id", description="A run's id.", max_length=200)]
Wait = Annotated[float, Query(ge=0, le=300, description="Seconds to wait for its end.")]
LimitQuery = Annotated[int, Query(ge=1, le=1000)]


class Member(RequestBody):
    """A specialist of a team."""

    name: str
    instructions: str = ""
    model: str | None = None


class NewAgent(RequestBody):
    name: str
    instructions: str = Field("", description="Its skill, in words.")
    default_prompt: str = Field("", description="What a run is asked where nothing else is said.")
    model: str | None = Field(None, description="As in the settings; the chat model where none is named.")
    adapter: str = Field("native", description=", ".join(ADAPTERS))
    card_type: str = Field("note", description="What its answer must hold.")
    schedule: str | None = Field(None, description="Cron, in the owner's zone: 30 7 * * 1-5.")
    team: list[Member] = Field(default_factory=list)
    use_block: bool = Field(False, description="Whether it is told what is known of the person.")
    memory_enabled: bool = Field(False, description="Active Memory: chat and runs share one session.")
    review_decisions: bool = Field(False, description="Whether it looks at its last decisions first.")
    second_looks: bool = Field(False, description="Whether its notes, too, may be looked at again.")
    run_seconds: int | None = Field(None, description="The longest a run may take; 900.")
    run_tool_calls: int | None = Field(None, description="How often a run may call tools; 40.")
    run_tokens: int | None = Field(None, description="How many tokens a run may use; any number.")


class ChangedAgent(RequestBody):
    name: str | None = None
    instructions: str | None = None
    default_prompt: str | None = None
    model: str | None = None
    adapter: str | None = None
    card_type: str | None = None
    schedule: str | None = Field(None, description="null: by hand only.")
    team: list[Member] | None = None
    use_block: bool | None = None
    memory_enabled: bool | None = Field(None, description="true starts fresh.")
    review_decisions: bool | None = None
    second_looks: bool | None = None
    run_seconds: int | None = Field(None, description="null: 900.")
    run_tool_calls: int | None = Field(None, description="null: 40.")
    run_tokens: int | None = Field(None, description="null: any number.")


class RecordedTurn(RequestBody):
    """One turn of what was said elsewhere."""

    role: str = Field(description="user, assistant, tool or system")
    text: str


class NewDecision(RequestBody):
    """A card made elsewhere."""

    card: dict[str, Any] = Field(description="The slots of the agent's card type; of a second look those it was asked.")
    made_at: str | None = Field(None, description="When it was made; now, if nothing is said.")
    key: str | None = Field(None, max_length=200, description="Sent again under the same key it is recorded once.")
    transcript: str | list[RecordedTurn] | None = None
    link: str | None = Field(None, description="Where more of it stands.")
    model: str | None = Field(None, max_length=200, description="Which model made it.")
    prompt_version: str | None = Field(None, max_length=80, description="With which words it was asked: your own name.")


class NewRun(RequestBody):
    prompt: str | None = Field(None, description="Instead of the agent's default prompt.")


class Exit(RequestBody):
    price: float | None = Field(None, gt=0, description="Where the person got out; the fill, if nothing is said.")
    at: str | None = Field(None, description="When; now, if nothing is said.")
    outcome: bool | float | str | None = Field(
        None, description='Of a forecast: true, false, which choice or number it was; "void" where it cannot be told.'
    )
    note: str | None = Field(None, max_length=500, description="Of a forecast: where that was seen.")
    settled_early: str | None = Field(
        None, max_length=500, description="Of a forecast, before its date: why it is settled already."
    )


@dataclass(frozen=True)
class AgentList:
    agents: list[Agent]


@dataclass(frozen=True)
class RunList:
    runs: list[Run]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRun(Run):
    """A run with what was said in it, its team's runs, its decision, and whether it may be looked at again."""

    transcript: list[TranscriptTurn]
    specialists: list[Run]
    decision: Decision | None
    re_examinable: bool


@dataclass(frozen=True)
class OwnDecisions:
    decisions: list[PastCard]


@dataclass(frozen=True)
class CardTypesShown:
    """`broken` says what is wrong with a file, `files` the same in pieces."""

    types: list[CardType]
    broken: list[str]
    files: list[Broken]


# Agents


def run_of(call: Call, run_id: str) -> str:
    """Return the id, unless the caller is bound to an agent and this run is another's: then raise."""
    call.ask_about(call.book.runs.get(run_id).agent_id)
    return run_id


@router.get("/agents", response_model=AgentList)
def list_agents(call: ReadAgentsCall) -> Response:
    """In the order in which they were made, each with what it carries (`memory`)."""
    agents, bound_to = call.book.agents.list(), call.caller.agent
    return json_response(AgentList([one for one in agents if bound_to is None or one.id == bound_to]))


@router.post("/agents", status_code=201, response_model=Agent)
def create_agent(call: Arranging, new: NewAgent) -> Response:
    """Only the name is needed."""
    given = new.model_dump()
    return call.write(lambda book: book.agents.create(given.pop("name"), **given), 201)


@router.get("/agents/card-types", response_model=CardTypesShown)
def list_card_types(call: ReadAgentsCall) -> Response:
    """What an agent's answer can be, and the files that are no card type, with the line and the reason."""
    known = call.book.agents.cards
    broken = list(known.broken)
    return json_response(CardTypesShown(list(known.types.values()), [str(one) for one in broken], broken))


@router.get("/agents/{id}", response_model=Agent)
def get_agent(call: ReadAgentsCall, id: AgentId) -> Response:
    return json_response(call.book.agents.get(call.agent(id)))


@router.patch("/agents/{id}", response_model=Agent)
def change_agent(call: Arranging, id: AgentId, changed: ChangedAgent) -> Response:
    """Only what is sent changes."""
    given = changed.model_dump(exclude_unset=True)
    return call.write(lambda book: book.agents.update(id, **given))


@router.delete("/agents/{id}", response_model=Agent)
def delete_agent(call: Arranging, id: AgentId) -> Response:
    """Out of every list and never run again; its runs and decisions stay."""
    return call.write(lambda book: book.agents.delete(id))


@router.post("/agents/{id}/restore", response_model=Agent)
def restore_agent(call: Arranging, id: AgentId) -> Response:
    """Put back one that was deleted, by its id; its session starts fresh."""
    return call.write(lambda book: book.agents.restore(id))


@router.post("/agents/{id}/memory/reset", response_model=Agent)
def reset_agent(call: Arranging, id: AgentId) -> Response:
    """The next run starts fresh; chats and decisions stay."""
    return call.write(lambda book: book.agents.reset(id))


@router.post("/agents/{id}/arm", response_model=Agent)
def arm_agent(call: Arranging, id: AgentId) -> Response:
    """Let it run by its schedule, and start its program, on this machine: an import never does."""
    return call.write(lambda book: book.agents.arm(id))


@router.post("/agents/{id}/disarm", response_model=Agent)
def disarm_agent(call: Arranging, id: AgentId) -> Response:
    """Let its schedule rest, and its program not be started here."""
    return call.write(lambda book: book.agents.disarm(id))


@router.post("/agents/{id}/chat", response_model=Thread)
def chat_with_agent(call: Chatting, id: AgentId) -> Response:
    """The one chat with this agent, begun if need be; talk in it under `/api/chat/threads/{id}/messages`."""
    return call.write(lambda book: call.kb.chat_with(book, id).thread)


@router.get("/agents/{id}/decisions", response_model=OwnDecisions)
def list_own_decisions(call: ReadingDecisions, id: AgentId, limit: Annotated[int, Query(ge=1, le=50)] = 5) -> Response:
    """Its own last cards, as `get_my_decisions` answers them."""
    return json_response(OwnDecisions(list(call.book.agents.decisions(call.agent(id), limit))))


@router.post("/agents/{id}/decisions", status_code=201, response_model=RecordedDecision, responses=problem_answers(409))
def record_decision(call: Recording, id: AgentId, new: NewDecision) -> Response:
    """Record a card of this agent's type that was made elsewhere. 200 where it was recorded under this key before, 409
    where another card was."""
    given = new.model_dump()
    return call.write(lambda book: book.decisions.record(call.agent(id), given.pop("card"), **given), _recorded_status)


# Runs


@router.get("/agents/{id}/runs", response_model=RunList)
def list_runs(
    call: ReadingRuns,
    id: AgentId,
    kind: Annotated[str | None, Query(description="scheduled, manual, chat, recorded or re-examination")] = None,
    status: Annotated[str | None, Query(description="queued, running, succeeded or failed")] = None,
    limit: LimitQuery = 50,
    before: Annotated[str | None, Query(description="`next` of the page before.", max_length=200)] = None,
) -> Response:
    """Newest first."""
    return json_response(_page(call.book, limit, agent=call.agent(id), kind=kind, status=status, before=before))


@router.get("/runs", response_model=RunList)
def list_all_runs(
    call: ReadingRuns,
    kind: str | None = None,
    status: str | None = None,
    limit: LimitQuery = 50,
    before: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """Those of every agent, newest first."""
    return json_response(_page(call.book, limit, agent=call.own(None), kind=kind, status=status, before=before))


@router.post("/agents/{id}/runs", status_code=201, response_model=Run)
async def run_agent(
    call: RunAgentsCall, id: AgentId, new: Annotated[NewRun | None, Body()] = None, wait: Wait = WAIT
) -> Response:
    """Run it now, with its default prompt or this one."""
    prompt = None
    if new is not None:
        prompt = new.prompt
    return await _start_run(call, lambda runner: runner.queue(call.agent(id), prompt), wait)


@router.get("/runs/{id}", response_model=ShownRun)
def get_run(call: ReadingRuns, id: RunIdPath) -> Response:
    book = call.book
    found = book.runs.get(run_of(call, id))
    known = {name: getattr(found, name) for name in Run.__dataclass_fields__}
    return json_response(
        ShownRun(
            **known,
            transcript=list(book.runs.transcript(id)),
            specialists=list(book.runs.specialists(id)),
            decision=book.decisions.find(id),
            re_examinable=book.runs.may_re_examine(id),
        )
    )


@router.post("/runs/{id}/re-examine", status_code=201, response_model=Run)
async def re_examine_run(call: RunAgentsCall, id: RunIdPath, wait: Wait = WAIT) -> Response:
    """Look again at what this run concluded; refused where its card does not allow it, or not any more."""
    return await _start_run(call, lambda runner: runner.queue_again(run_of(call, id)), wait)


@router.get("/runs/{id}/re-examine", response_model=SecondLook)
def get_second_look(call: ReadingDecisions, id: RunIdPath) -> Response:
    """What to ask an agent that runs elsewhere for a second look: the whole prompt, made here. 409 where there is none
    any more."""
    return json_response(call.book.decisions.second_look(run_of(call, id)))


@router.post(
    "/runs/{id}/re-examinations", status_code=201, response_model=RecordedDecision, responses=problem_answers(409)
)
def record_second_look(call: Recording, id: RunIdPath, new: NewDecision) -> Response:
    """Record a second look that was made elsewhere, with the card it was asked for."""
    given = new.model_dump()
    return call.write(
        lambda book: book.decisions.record_second_look(run_of(call, id), given.pop("card"), **given), _recorded_status
    )


@router.get("/runs/{id}/re-examinations", response_model=list[Run])
def list_re_examinations(call: ReadingRuns, id: RunIdPath) -> Response:
    """In time order."""
    return json_response(list(call.book.runs.re_examinations(run_of(call, id))))


@router.post("/runs/{id}/resolve", response_model=Decision)
def resolve_run(call: Resolving, id: RunIdPath, told: Annotated[Exit | None, Body()] = None) -> Response:
    """The person got out of an open trade; or somebody says how a forecast came out (`outcome`)."""
    given = told or Exit()
    if "outcome" in given.model_fields_set:
        said = {"at": given.at, "note": given.note, "settled_early": given.settled_early}
        return call.write(lambda book: book.decisions.answer(run_of(call, id), given.outcome, **said))
    return call.write(lambda book: book.decisions.exit(run_of(call, id), given.price, at=given.at))


def _recorded_status(made: RecordedDecision) -> int:
    if made.replayed:
        return 200
    return 201


def _page(book: Book, limit: int, *, agent: str | None, **filters: Any) -> RunList:
    found = list(book.runs.list(agent, limit=limit, **filters))
    is_full = len(found) == limit
    return RunList(found, next=found[-1].id if is_full else None)


async def _start_run(call: Call, queue: Callable[[Runner], Run], wait: float) -> Response:
    """Queue a run, carry it out in this process, and answer with it at its end or after `wait` seconds.

    A request that is sent again with the same key gets the first answer, and nothing is run again.
    """
    queued: list[Run] = []

    def do(book: Book) -> Run:
        queued.append(queue(call.kb.runner(book)))
        return queued[-1]

    answer = await run_in_threadpool(call.write, do, 201)
    if not queued:  # `call.write` did not call `do`: it has answered this key before
        return answer
    await call.request.app.state.runs.stay(call.kb.perform(call.book, queued[0].id), wait=wait)
    return json_response(await run_in_threadpool(call.book.runs.get, queued[0].id), 201)
