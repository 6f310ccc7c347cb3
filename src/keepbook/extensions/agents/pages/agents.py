"""`/agents`: the agents, what each of them carries, and what they did last.

A switch acts at once, and a toast says what it did. The toast offers to undo it where that is possible: Active Memory
that was switched on can be switched off again, but not the other way round, because switching it on always starts
fresh.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import NotFound
from keepbook.extension import missing_extensions
from keepbook.extensions.agents.book import agents as book_agents
from keepbook.extensions.agents.book import schedule
from keepbook.extensions.agents.book.agents import MANY_RUNS, Agent
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.pages import cards
from keepbook.patterns import regex

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/agents"
RECENT = 12
"""How many runs the page of all agents lists."""
A_PAGE = 30
"""How many runs one page of an agent lists."""
WAIT = 1.0
"""Seconds that a form waits for the end of a run before it shows the run at work."""
ABOUT = 180
"""Characters of its instructions by which an agent is described."""
DAYS = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")


@dataclass(frozen=True, slots=True)
class AgentDone:
    """What a form has just done, and the form that takes it back, if one can."""

    words: str
    action: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run in a list."""

    run: Run
    agent: str
    result: str


@dataclass(frozen=True, slots=True)
class AgentCard:
    """An agent on its card."""

    agent: Agent
    about: str
    schedule: str
    last: RunRow | None


# Words


_DAY_SPAN = regex(r"[0-6]-[1-7]")


def schedule_in_words(text: str | None) -> str:
    """A cron schedule in words: `Weekdays 07:30`, `1st of the month 09:00`. One that is less simple is returned as it
    is."""
    if not text:
        return "By hand only"
    minute, hour, day, month, weekday = text.split()
    if not (minute.isdecimal() and hour.isdecimal() and month == "*"):
        return text
    at = f"{int(hour):02}:{int(minute):02}"
    match day, weekday.lower():
        case "*", "*":
            return f"Every day {at}"
        case "*", "1-5" | "mon-fri":
            return f"Weekdays {at}"
        case "*", one if one.isdecimal() and int(one) <= 7:
            return f"{DAYS[int(one) % 7]} {at}"
        case "*", span if _DAY_SPAN.fullmatch(span):
            return f"{DAYS[int(span[0])]} to {DAYS[int(span[2]) % 7]} {at}"
        case one, "*" if one.isdecimal():
            return f"{_ordinal(int(one))} of the month {at}"
    return text


def _ordinal(number: int) -> str:
    if number in (11, 12, 13):
        return f"{number}th"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def describe_agent(agent: Agent) -> str:
    """What an agent does: the beginning of its instructions, and whom it leads."""
    first_paragraph = (agent.instructions or agent.default_prompt).split("\n\n")[0]
    text = " ".join(first_paragraph.split())
    if len(text) > ABOUT:
        text = f"{text[:ABOUT].rsplit(' ', 1)[0]}…"
    if not agent.team:
        return text
    names = ", ".join(one.name for one in agent.team)
    return f"{text} Leads {names}.".strip()


def names(visit: Visit, ids: set[str]) -> Mapping[str, str]:
    """The names of these agents by id; also of those that were removed."""
    with visit.book.reading() as (tx, _, _):
        return {id: book_agents.name_of(tx, id) for id in ids}


def run_rows(visit: Visit, runs: Sequence[Run]) -> list[RunRow]:
    types, agent_names = visit.book.agents.cards, names(visit, {run.agent_id for run in runs})
    return [RunRow(run, agent_names[run.agent_id], cards.result(run, types, visit.now)) for run in runs]


def agent_card(visit: Visit, agent: Agent) -> AgentCard:
    own_runs = [run for run in visit.book.runs.list(agent.id, limit=10) if run.kind != "chat"]
    last = None
    if own_runs:
        last = run_rows(visit, own_runs[:1])[0]
    return AgentCard(agent, about=describe_agent(agent), schedule=schedule_in_words(agent.schedule), last=last)


def _done_from_address(visit: Visit) -> AgentDone | None:
    """What the form did from which a redirect led here: its query says so (`?done=reset&agent=…`)."""
    query = visit.request.query_params
    if query.get("done") == "removed":
        return AgentDone("The agent is gone. Its runs and decisions stay.", f"{HOME}/{query.get('agent', '')}/restore")
    if "agent" not in query or "done" not in query:
        return None
    try:
        return _done(visit.book.agents.get(query["agent"]), query["done"])
    except NotFound:
        return None


def _runs_when(agent: Agent) -> str:
    if not agent.schedule:
        return "It runs when you say so."
    when = schedule_in_words(agent.schedule)
    if when == agent.schedule:
        return "It runs by itself, by the schedule you wrote."
    return f"It runs by itself: {when[:1].lower() + when[1:] if when.startswith('Every') else when}."


def _done(agent: Agent, done: str) -> AgentDone | None:
    """What to say of a form that was just sent, and the form that undoes it."""
    at = f"{HOME}/{agent.id}"
    match done:
        case "memory" if agent.memory_enabled:
            return AgentDone(f"Active Memory of {agent.name} is on. It starts fresh.", f"{at}/memory")
        case "memory":
            return AgentDone(f"Active Memory of {agent.name} is off. What it carried is kept, and no longer read.")
        case "review" if agent.review_decisions:
            return AgentDone(f"{agent.name} looks at its previous decisions first.", f"{at}/review")
        case "review":
            return AgentDone(f"{agent.name} no longer looks at its previous decisions.", f"{at}/review", {"on": "1"})
        case "reset":
            return AgentDone(f"{agent.name} starts fresh. Chats and decisions stay.")
        case "armed":
            return AgentDone(f"{agent.name} may run here.")
        case "made":
            return AgentDone(f"{agent.name} is made. {_runs_when(agent)}", f"{at}/remove")
        case "saved":
            return AgentDone("Saved.")
        case _:
            return None


# Reading


@router.get(HOME)
def show(visit: Visiting) -> Response:
    runs = visit.book.runs.list(limit=RECENT)
    return visit.page(
        "agents.html",
        agents=[agent_card(visit, agent) for agent in visit.book.agents.list()],
        rows=run_rows(visit, runs),
        outcome=_done_from_address(visit),
        many=MANY_RUNS,
        broken=visit.book.agents.cards.broken,
    )


@router.get(f"{HOME}/{{id}}")
def one(visit: Visiting, id: str, before: str = "") -> Response:
    return _agent_page(visit, visit.book.agents.get(id), before)


def _agent_page(visit: Visit, agent: Agent, before: str = "") -> Response:
    runs = visit.book.runs.list(agent.id, limit=A_PAGE + 1, before=before or None)
    following = _following(visit, agent)
    return visit.page(
        "agent.html", told=agent_card(visit, agent), agent=agent, rows=run_rows(visit, runs[:A_PAGE]), before=before,
        more=runs[A_PAGE - 1].id if len(runs) > A_PAGE else None, next=following, sent=_tokens_sent(visit, agent),
        outcome=_done_from_address(visit), many=MANY_RUNS, missing=_missing(visit),
    )  # fmt: skip


def _missing(visit: Visit) -> list[str]:
    """The extensions that the owner's preset names and that are off."""
    preset = visit.book.preset()
    return missing_extensions(preset.name, preset.extensions, visit.kb.extensions)


def _following(visit: Visit, agent: Agent) -> datetime | None:
    if agent.schedule:
        return schedule.following(agent.schedule, visit.now, visit.book.zone)
    return None


def _tokens_sent(visit: Visit, agent: Agent) -> int | None:
    """How many tokens the last run that moved the session was sent; None if none of the last runs did."""
    for run in visit.book.runs.list(agent.id, status="succeeded", limit=20):
        if run.session_after:
            return run.tokens_in
    return None


# Forms


def _after(visit: Visit, agent: Agent, done: str, where: str) -> Response:
    """The answer to a form: the card or the panel it stood in, or without a script, a redirect to its page."""
    if not visit.partial:
        if where == "panel":
            at = f"{HOME}/{agent.id}#memory"
        else:
            at = f"{HOME}#agent-{agent.id}"
        return visit.back(at, done=done, agent=agent.id)
    outcome = _done(agent, done)
    return visit.page(
        "agents_part.html", told=agent_card(visit, agent), agent=agent, where=where, outcome=outcome,
        sent=_tokens_sent(visit, agent), many=MANY_RUNS,
    )  # fmt: skip


ReturnField = Annotated[str, Form(alias="at")]


@router.post(f"{HOME}/{{id}}/memory")
def memory(visit: Changing, id: str, on: Annotated[bool, Form()] = False, where: ReturnField = "") -> Response:
    """Switch Active Memory on, which starts fresh, or off."""
    return _after(visit, visit.writing("agents.change").agents.update(id, memory_enabled=on), "memory", where)


@router.post(f"{HOME}/{{id}}/review")
def review(visit: Changing, id: str, on: Annotated[bool, Form()] = False, where: ReturnField = "") -> Response:
    return _after(visit, visit.writing("agents.change").agents.update(id, review_decisions=on), "review", where)


@router.post(f"{HOME}/{{id}}/reset")
def reset(visit: Changing, id: str, where: ReturnField = "") -> Response:
    return _after(visit, visit.writing("agents.change").agents.reset(id), "reset", where)


@router.post(f"{HOME}/{{id}}/arm")
def arm(visit: Changing, id: str) -> Response:
    """Allow it to run by its schedule, and to start its program, on this machine."""
    return _after(visit, visit.writing("agents.change").agents.arm(id), "armed", "panel")


@router.post(f"{HOME}/{{id}}/run")
async def run(visit: Changing, id: str, prompt: Annotated[str, Form()] = "") -> Response:
    """Run it now. The run goes on in the server, and its page shows how far it is."""
    runner = visit.kb.runner(visit.writing("agents.run"))
    queued = await run_in_threadpool(runner.queue, id, prompt.strip() or None)
    await visit.request.app.state.runs.stay(runner.perform(queued.id), wait=WAIT)
    return visit.back(f"/runs/{queued.id}")


@router.post(f"{HOME}/{{id}}/chat")
def chat(visit: Changing, id: str) -> Response:
    """Open the one chat with it; it is started if there is none."""
    chat = visit.kb.chat_with(visit.writing("chats.write"), id)
    return visit.back(f"/chat/{chat.id}")


@router.post(f"{HOME}/{{id}}/remove")
def remove(visit: Changing, id: str) -> Response:
    visit.writing("agents.change").agents.delete(id)
    return visit.back(HOME, done="removed", agent=id)


@router.post(f"{HOME}/{{id}}/restore")
def restore(visit: Changing, id: str) -> Response:
    """Undo a removal."""
    agent = visit.writing("agents.change").agents.restore(id)
    return visit.back(f"{HOME}#agent-{agent.id}")
