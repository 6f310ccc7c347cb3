"""`/runs/{id}`: what a run was asked, what was said in it, the card it ended in, and every later look at that.

A run that is at work is shown so, and a small script looks again until it is done. A second look is a run of its own;
the page of the first one is where its conviction is followed.
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
READ = 160


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
    """What one of the team made of it."""

    run: Run
    text: str


# Reading


@router.get("/runs/{id}")
def show(visit: Visiting, id: str) -> Response:
    book = visit.book
    run, types = book.runs.get(id), book.agents.cards
    if run.kind != "re-examination":
        again = list(book.runs.re_examinations(id))
    else:
        again = []
    decision = book.decisions.find(id)
    said = [_transcript_step(line) for line in book.runs.transcript(id)]
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


def _transcript_step(line: TranscriptTurn) -> TranscriptStep:
    if isinstance(line.parts, dict):
        parts = line.parts
    else:
        parts = {}
    calls = [ToolUse(_call(one), one.get("answer") or "") for one in parts.get("calls", ())]
    who = {"user": "prompt", "assistant": "answer"}.get(line.role, line.role)
    return TranscriptStep(who, line.text, calls, parts.get("hidden") or "")


def _call(call: dict[str, Any]) -> str:
    """`get_bars(symbol="ETH/USDT", limit=60)`."""
    told = call.get("arguments") or {}
    return f"{call.get('name', '')}({', '.join(f'{name}={_argument(value)}' for name, value in told.items())})"


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
    """Where a run that failed is asked for once more; nothing where that is not the person's to ask here."""
    if run.status != "failed" or run.specialist or not visit.may("agents.run") or not _is_there(visit, run.agent_id):
        return ""
    if run.kind == RE_EXAMINATION and run.parent_run and visit.book.runs.may_re_examine(run.parent_run):
        return f"/runs/{run.parent_run}/re-examine"
    if run.kind in ("manual", "scheduled"):
        return f"/agents/{run.agent_id}/run"
    return ""


def _reads(visit: Visit, id: str) -> list[SpecialistRead]:
    reads = []
    for one in visit.book.runs.specialists(id):
        said = [line.text for line in visit.book.runs.transcript(one.id) if line.role == "assistant"]
        if said:
            text = " ".join(said[-1].split())
        else:
            text = one.error or ""
        reads.append(SpecialistRead(one, f"{text[:READ].rstrip()}…" if len(text) > READ else text))
    return reads


def _block_of_run(visit: Visit, id: str) -> BlockGroups | None:
    """The block that the run was given, unless it was given none or it was erased since."""
    with visit.book.reading() as (tx, _, _):
        kept = injections.find_injection(tx, id, injections.CHAT)
    if kept is None or not kept.block:
        return None
    return group_block_lines(injections.injection_of(kept).lines, visit.book.preset())


# Forms


@router.post("/runs/{id}/re-examine")
async def re_examine(visit: Changing, id: str, back: Annotated[str, Form()] = "") -> Response:
    """Look again, if the card still allows it; where it does not, the book refuses."""
    runner = visit.kb.runner(visit.writing())
    queued = await run_in_threadpool(runner.queue_again, id)
    await visit.request.app.state.runs.stay(runner.perform(queued.id), wait=WAIT)
    if back:
        return visit.back(own_path(back))
    return visit.back(f"/runs/{id}#conviction")
