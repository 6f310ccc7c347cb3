"""`/agents/new` and `/agents/{id}/edit`: the form of an agent. A refused form comes back as typed, with the reason.

A template fills the form and saves nothing. A dry run shows the next times of the schedule, the prompt that a run would
be sent, and whether there is a model to answer it; it stores nothing and asks no model.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response
from pydantic import BaseModel

from keepbook.book.chats.threads import estimate
from keepbook.doors.http import problems
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Conflict, Invalid, KeepbookError
from keepbook.extensions.agents.book.agents import ADAPTERS, MOST_SPECIALISTS, NAME_LIMIT, RUN_LIMITS, Agent
from keepbook.extensions.agents.book.schedule import following
from keepbook.extensions.agents.models.rehearsal import rehearse_first_run
from keepbook.extensions.agents.pages.agents import HOME
from keepbook.extensions.agents.pages.starts import BY_KEY, HAND, TEMPLATES, WHEN, to_cron, to_words
from keepbook.models.choose import OFFLINE
from keepbook.models.model import with_hidden

router: APIRouter = APIRouter(include_in_schema=False)

SPARE = 2
"""How many empty rows the team's table has, so that specialists can be added without a script."""


class AgentForm(BaseModel):
    """The form as it was sent. A browser leaves out empty fields, hence the defaults."""

    name: str = ""
    instructions: str = ""
    default_prompt: str = ""
    card_type: str = "note"
    schedule: str = ""
    when: str | None = None
    """The choice in the schedule picker; None if the form has no picker, and only `schedule` counts."""
    at: str = "07:00"
    do: str = "save"
    """Which button sent the form: `save`, or `try` for a dry run."""
    template: str = ""
    adapter: str = ADAPTERS[0]
    model: str = ""
    use_block: bool = False
    memory_enabled: bool = False
    review_decisions: bool = False
    team_name: list[str] = []
    team_instructions: list[str] = []
    team_model: list[str] = []
    run_seconds: int | None = None
    run_tool_calls: int | None = None
    run_tokens: int | None = None

    @property
    def team(self) -> list[dict[str, str]]:
        """The rows of the team's table that are not empty."""
        columns = zip(self.team_name, self.team_instructions, self.team_model, strict=False)
        rows = [{"name": name.strip(), "instructions": task, "model": model.strip()} for name, task, model in columns]
        return [row for row in rows if any(row.values())]

    def agent_fields(self) -> dict[str, Any]:
        """The form as arguments of `agents.create` and `agents.update`."""
        only_of_form = {"team_name", "team_instructions", "team_model", "when", "at", "do", "template"}
        fields = self.model_dump(exclude=only_of_form)
        team = [{**row, "model": row["model"] or None} for row in self.team]
        return fields | {"model": self.model.strip() or None, "schedule": self.cron or None, "team": team}

    @property
    def cron(self) -> str:
        """The schedule that was picked or written; empty for none."""
        written = self.schedule.strip()
        if self.when is None:
            return written
        return to_cron(self.when, self.at, written)


def _form_of(agent: Agent) -> AgentForm:
    names = ("name", "instructions", "default_prompt", "card_type", "adapter", "use_block", "memory_enabled")
    return AgentForm(
        **{name: getattr(agent, name) for name in (*names, "review_decisions", *RUN_LIMITS)},
        schedule=agent.schedule or "",
        model=agent.model or "",
        team_name=[one.name for one in agent.team],
        team_instructions=[one.instructions for one in agent.team],
        team_model=[one.model or "" for one in agent.team],
    )


@dataclass(frozen=True, slots=True)
class RunRehearsal:
    """What a dry run found."""

    lines: int
    """How many lines of the block a run would be given."""
    tokens: int
    """An estimate for `sent`."""
    rule: str | None
    """The rule that would compute the card; None if a model would be asked."""
    sent: str


def rehearse_run(visit: Visit, written: AgentForm) -> RunRehearsal:
    """Carry out a dry run: nothing is stored, and no model is asked."""
    book = visit.book
    block = None
    if written.use_block and book.choices.memory:
        block = book.rendered()
    card = book.agents.cards.types.get(written.card_type)
    conversation = rehearse_first_run(
        written.name.strip() or "your agent", written.instructions, written.default_prompt,
        card=card, block=block, now=visit.now, zone=book.zone,
    )  # fmt: skip
    sent = f"{conversation.system}\n\n{with_hidden(conversation.said[-1])}"
    lines = len(block.shown) if block else 0
    rule = card.computed if card else None
    return RunRehearsal(lines=lines, tokens=estimate(sent), rule=rule, sent=sent)


def _from_template(key: str) -> AgentForm:
    """The form as a template fills it; an empty form if there is no such template."""
    start = BY_KEY.get(key)
    if start is None:
        return AgentForm(when=HAND, use_block=True)
    return AgentForm(
        name=start.name, instructions=start.instructions, default_prompt=start.prompt, card_type=start.card_type,
        when=start.when, at=start.at, use_block=True, review_decisions=start.review, template=key,
    )  # fmt: skip


def _next(written: AgentForm, visit: Visit) -> list[datetime]:
    """The next three times of the schedule; empty if there is none, or if it cannot be read."""
    if not written.cron:
        return []
    moment, found = visit.now, list[datetime]()
    try:
        for _ in range(3):
            moment = following(written.cron, moment, visit.book.zone)
            found.append(moment)
    except Invalid:
        return []
    return found


def _form(
    visit: Visit,
    written: AgentForm,
    agent: Agent | None,
    wrong: KeepbookError | None = None,
    dry: "RunRehearsal | None" = None,
) -> Response:
    """The page with the form: as it was filled or sent, with what was wrong, and the result of a dry run."""
    known = visit.book.agents.cards
    team = written.team
    spare = min(SPARE, MOST_SPECIALISTS - len(team))
    return visit.page(
        "agent_form.html", 200 if wrong is None else problems.status_of(wrong), form=written, agent=agent,
        team=[*team, *({"name": "", "instructions": "", "model": ""} for _ in range(spare))], wrong=wrong,
        clash=isinstance(wrong, Conflict), types=[one for one in known.types.values() if one.name != "re-examination"],
        adapters=ADAPTERS, name_limit=NAME_LIMIT, called=visit.kb.models.called, dry=dry, templates=TEMPLATES,
        when=WHEN, picked=to_words(written.cron), next=_next(written, visit), start=BY_KEY.get(written.template),
        lacks_model=_lacks_model(visit, written),
    )  # fmt: skip


def _lacks_model(visit: Visit, written: AgentForm) -> bool:
    """Whether a run would need a model and there is none. Other adapters bring one of their own, and some cards are
    computed by a rule."""
    if written.adapter != ADAPTERS[0]:
        return False
    card = visit.book.agents.cards.types.get(written.card_type)
    if card is not None and card.computed is not None:
        return False
    model = written.model.strip() or visit.kb.models.chat.name
    return model == OFFLINE


@router.get(f"{HOME}/new")
def new(visit: Visiting, template: str = "") -> Response:
    return _form(visit, _from_template(template), None)


@router.post(f"{HOME}/new")
def create(visit: Changing, written: Annotated[AgentForm, Form()]) -> Response:
    visit.caller.ask("agents.change")
    if written.do == "try":
        return _form(visit, written, None, dry=rehearse_run(visit, written))
    given = written.agent_fields()
    try:
        agent = visit.writing().agents.create(given.pop("name"), **given)
    except (Invalid, Conflict) as error:
        return _form(visit, written, None, error)
    return visit.back(f"{HOME}/{agent.id}", done="made", agent=agent.id)


@router.get(f"{HOME}/{{id}}/edit")
def edit(visit: Visiting, id: str) -> Response:
    agent = visit.book.agents.get(id)
    return _form(visit, _form_of(agent), agent)


@router.post(f"{HOME}/{{id}}/edit")
def save(visit: Changing, id: str, written: Annotated[AgentForm, Form()]) -> Response:
    agent = visit.writing().agents.get(id)
    if written.do == "try":
        return _form(visit, written, agent, dry=rehearse_run(visit, written))
    try:
        visit.book.agents.update(agent.id, **written.agent_fields())
    except (Invalid, Conflict) as error:
        return _form(visit, written, agent, error)
    return visit.back(f"{HOME}/{agent.id}", done="saved", agent=agent.id)
