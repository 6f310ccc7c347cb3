"""`/runs/{id}`: what a run was asked, what was said in it, the card it ended in, and every second look at that.

While a run is at work, a small script reloads the page until it is done. A second look is a run of its own; the page of
the run that was looked at shows how the conviction changed.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.book.memory import injections
from keepbook.doors.http.web.frame.numbers import plain_number
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, own_path
from keepbook.doors.http.web.memory.block_groups import BlockGroups, group_block_lines
from keepbook.errors import NotFound
from keepbook.extensions.agents.book.cards import RE_EXAMINATION
from keepbook.extensions.agents.book.runs import Run, TranscriptTurn
from keepbook.extensions.agents.pages import cards
from keepbook.extensions.agents.pages.agents import WAIT, names
from keepbook.extensions.agents.pages.forecasts import forecast_to_answer

router: APIRouter = APIRouter(include_in_schema=False)

REVIEW = "get_my_decisions"
"""The tool whose use shows that the agent looked at its previous decisions."""
READ = 160
"""Characters of a specialist's report that are shown."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that was called, with what it answered."""

    text: str
    answer: str


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """One step of the transcript."""

    who: str
    text: str
    calls: list[ToolUse]
    hidden: str


@dataclass(frozen=True, slots=True)
class SpecialistRead:
    """The run of a specialist, and the beginning of its report, or of its error."""

    run: Run
    text: str


# Reading


@router.get("/runs/{id}")
def show(visit: Visiting, id: str) -> Response:
    book = visit.book
    run, types = book.runs.get(id), book.agents.cards
    again: list[Run] = []
    if run.kind != RE_EXAMINATION:
        again = list(book.runs.re_examinations(id))
    decision = book.decisions.find(id)
    said = [_transcript_step(turn) for turn in book.runs.transcript(id)]
    parent = None
    if run.parent_run:
        parent = book.runs.get(run.parent_run)
    return visit.page(
        "run.html", run=run, title=cards.run_title(run, types), agent=names(visit, {run.agent_id})[run.agent_id],
        agent_there=_is_there(visit, run.agent_id), again_at=_way_on(visit, run),
        card=cards.card_view(run, types) if run.card else None,
        decision=decision, ladder=cards.ladder(run, decision), conviction=cards.conviction(run, again), again=again,
        may=book.runs.may_re_examine(id), said=said, calls=sum(len(one.calls) for one in said),
        reviewed=any(call.text.startswith(REVIEW) for one in said for call in one.calls), reads=_reads(visit, id),
        saw=_block_of_run(visit, id), parent=parent, parent_title=cards.run_title(parent, types) if parent else "",
        at_work=[one for one in (run, *again) if one.status in ("queued", "running")], kinds=cards.KINDS,
        busy_until=run.waits_until, states=cards.STATES, figure=plain_number,
        signed=cards.signed_number, due=forecast_to_answer(visit, decision),
        answered="answered" in visit.request.query_params, exited="exited" in visit.request.query_params,
    )  # fmt: skip


def _transcript_step(turn: TranscriptTurn) -> TranscriptStep:
    parts: dict[str, Any] = {}
    if isinstance(turn.parts, dict):
        parts = turn.parts
    calls = [ToolUse(_call(one), one.get("answer") or "") for one in parts.get("calls", ())]
    who = {"user": "prompt", "assistant": "answer"}.get(turn.role, turn.role)
    return TranscriptStep(who=who, text=turn.text, calls=calls, hidden=parts.get("hidden") or "")


def _call(call: dict[str, Any]) -> str:
    """A tool call as it would be written: `get_bars(symbol="ETH/USDT", limit=60)`."""
    arguments = call.get("arguments") or {}
    written = ", ".join(f"{name}={_argument(value)}" for name, value in arguments.items())
    return f"{call.get('name', '')}({written})"


def _argument(value: object) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)


def _is_there(visit: Visit, agent_id: str) -> bool:
    try:
        visit.book.agents.get(agent_id)
    except NotFound:
        return False
    return True


def _way_on(visit: Visit, run: Run) -> str:
    """The address of the form that runs a failed run again; empty if the run did not fail or cannot be repeated."""
    if run.status != "failed" or run.specialist:
        return ""
    if not visit.may("agents.run") or not _is_there(visit, run.agent_id):
        return ""
    if run.kind == RE_EXAMINATION and run.parent_run and visit.book.runs.may_re_examine(run.parent_run):
        return f"/runs/{run.parent_run}/re-examine"
    if run.kind in ("manual", "scheduled"):
        return f"/agents/{run.agent_id}/run"
    return ""


def _reads(visit: Visit, id: str) -> list[SpecialistRead]:
    reads = []
    for one in visit.book.runs.specialists(id):
        answers = [turn.text for turn in visit.book.runs.transcript(one.id) if turn.role == "assistant"]
        text = " ".join(answers[-1].split()) if answers else one.error or ""
        if len(text) > READ:
            text = f"{text[:READ].rstrip()}…"
        reads.append(SpecialistRead(one, text))
    return reads


def _block_of_run(visit: Visit, id: str) -> BlockGroups | None:
    """The block that the run was given; None if it was given none, or if that was erased since."""
    with visit.book.reading() as (tx, _, _):
        kept = injections.find_injection(tx, id, injections.CHAT)
    if kept is None or not kept.block:
        return None
    return group_block_lines(injections.injection_of(kept).lines, visit.book.preset())


# Forms


@router.post("/runs/{id}/re-examine")
async def re_examine(visit: Changing, id: str, back: Annotated[str, Form()] = "") -> Response:
    """Begin a second look at a run. The book refuses it if the card does not allow it now."""
    runner = visit.kb.runner(visit.writing())
    queued = await run_in_threadpool(runner.queue_again, id)
    await visit.request.app.state.runs.stay(runner.perform(queued.id), wait=WAIT)
    if back:
        return visit.back(own_path(back))
    return visit.back(f"/runs/{id}#conviction")
