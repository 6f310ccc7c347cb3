"""`/agents/new` and `/agents/{id}/edit`: one form. What does not fit comes back with what was typed, and says why."""

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response
from pydantic import BaseModel

from keepbook.book.agents.agents import ADAPTERS, MOST_SPECIALISTS, NAME_LIMIT, Agent
from keepbook.doors.http import problems
from keepbook.doors.http.web.agents.agents import HOME
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Conflict, Invalid, KeepbookError

router = APIRouter(include_in_schema=False)

SPARE = 2
"""How many empty rows the team has, so that it can grow without a script."""


class Written(BaseModel):
    """The form as it was sent: a field that was left empty is not there."""

    name: str = ""
    instructions: str = ""
    default_prompt: str = ""
    card_type: str = "note"
    schedule: str = ""
    adapter: str = ADAPTERS[0]
    model: str = ""
    use_block: bool = False
    memory_enabled: bool = False
    review_decisions: bool = False
    team_name: list[str] = []
    team_instructions: list[str] = []
    team_model: list[str] = []

    @property
    def team(self) -> list[dict[str, str]]:
        """The rows of the team that say anything."""
        rows = zip(self.team_name, self.team_instructions, self.team_model, strict=False)
        found = [{"name": name.strip(), "instructions": task, "model": model.strip()} for name, task, model in rows]
        return [row for row in found if any(row.values())]

    def given(self) -> dict[str, Any]:
        """As the book takes it."""
        plain = self.model_dump(exclude={"team_name", "team_instructions", "team_model"})
        team = [{**row, "model": row["model"] or None} for row in self.team]
        return plain | {"model": self.model.strip() or None, "schedule": self.schedule.strip() or None, "team": team}


def _of(agent: Agent) -> Written:
    names = ("name", "instructions", "default_prompt", "card_type", "adapter", "use_block", "memory_enabled")
    return Written(
        **{name: getattr(agent, name) for name in (*names, "review_decisions")},
        schedule=agent.schedule or "",
        model=agent.model or "",
        team_name=[one.name for one in agent.team],
        team_instructions=[one.instructions for one in agent.team],
        team_model=[one.model or "" for one in agent.team],
    )


def _form(visit: Visit, written: Written, agent: Agent | None, wrong: KeepbookError | None = None) -> Response:
    known = visit.book.agents.cards
    team = written.team
    spare = min(SPARE, MOST_SPECIALISTS - len(team))
    field = "name" if isinstance(wrong, Conflict) else (wrong.field if wrong is not None else None)
    return visit.page(
        "agent_form.html", 200 if wrong is None else problems.status_of(wrong), form=written, agent=agent,
        team=[*team, *({"name": "", "instructions": "", "model": ""} for _ in range(spare))], wrong=wrong,
        field=field or "", types=[one for one in known.types.values() if one.name != "re-examination"],
        adapters=ADAPTERS, name_limit=NAME_LIMIT, model=visit.kb.settings.model,
    )  # fmt: skip


@router.get(f"{HOME}/new")
def new(visit: Visiting) -> Response:
    return _form(visit, Written(), None)


@router.post(f"{HOME}/new")
def create(visit: Changing, written: Annotated[Written, Form()]) -> Response:
    given = written.given()
    try:
        agent = visit.writing().agents.create(given.pop("name"), **given)
    except (Invalid, Conflict) as error:
        return _form(visit, written, None, error)
    return visit.back(f"{HOME}/{agent.id}")


@router.get(f"{HOME}/{{id}}/edit")
def edit(visit: Visiting, id: str) -> Response:
    agent = visit.book.agents.get(id)
    return _form(visit, _of(agent), agent)


@router.post(f"{HOME}/{{id}}/edit")
def save(visit: Changing, id: str, written: Annotated[Written, Form()]) -> Response:
    agent = visit.writing().agents.get(id)
    try:
        visit.book.agents.update(agent.id, **written.given())
    except (Invalid, Conflict) as error:
        return _form(visit, written, agent, error)
    return visit.back(f"{HOME}/{agent.id}", done="saved", agent=agent.id)
