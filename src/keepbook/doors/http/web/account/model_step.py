"""Who answers, as a step: one of the first ones, and by itself at `/settings/model`."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.web.account import connect
from keepbook.doors.http.web.account.connect import Offer, Tested, Wishes
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Invalid, KeepbookError, NotAllowed

router = APIRouter(include_in_schema=False)

Page = Callable[..., Response]
HERE = "/settings/model"


def told(
    visit: Visit,
    wishes: Wishes,
    wrong: KeepbookError | None = None,
    tested: Tested | None = None,
    asked: bool = False,
) -> dict[str, Any]:
    """What `parts/model_step.html` shows."""
    offer = connect.offer() if visit.keeps_house else None
    known = visit.kb.settings
    return {
        "wishes": wishes, "wrong": wrong, "tested": tested, "asked": asked, "offer": offer, "model": known.model,
        "called": visit.kb.models.called(None), "stopped": _stopped(visit, offer, wishes, wrong),
        "has_key": bool(known.openai_key), "anthropic_key": bool(known.anthropic_key),
        "base_url": known.openai_base_url or "",
    }  # fmt: skip


def _stopped(visit: Visit, offer: Offer | None, wishes: Wishes, wrong: KeepbookError | None) -> str:
    """The server of this machine that was chosen, before or just now, and does not answer."""
    if offer is None or offer.servers:
        return ""
    if wrong is not None and wrong.field == "model":
        return wishes.model[:40]
    return visit.model_here


async def tried(visit: Visit, wishes: Wishes, page: Page) -> Response | None:
    """The page again with what a trial found, or with what is running by now; None where neither was asked for."""
    if wishes.do == "look":  # what was typed stays
        return await run_in_threadpool(page, visit, wishes)
    if wishes.do != "test":
        return None
    wrong, tested = None, None
    try:
        tested = await connect.test(visit, wishes)
    except (Invalid, NotAllowed) as error:
        wrong = error
    if visit.partial:
        return visit.page("parts/tested.html", tested=tested, wrong=wrong)
    shown = {"tested": tested, "asked": True} if wrong is None else {"wrong": wrong, "status": 422}
    return await run_in_threadpool(lambda: page(visit, wishes, **shown))


def _page(visit: Visit, wishes: Wishes, *, status: int = 200, **found: Any) -> Response:
    return visit.page("settings_model.html", status, **told(visit, wishes, **found))


@router.get(HERE)
def show(visit: Visiting) -> Response:
    return _page(visit, Wishes())


@router.post(HERE)
async def choose(visit: Changing, wishes: Annotated[Wishes, Form()]) -> Response:
    answer = await tried(visit, wishes, _page)
    return answer if answer is not None else await run_in_threadpool(_chosen, visit, wishes)


def _chosen(visit: Visit, wishes: Wishes) -> Response:
    visit.writing("choices.change")
    try:
        connect.take_on(visit, wishes)
    except (Invalid, NotAllowed) as error:
        return _page(visit, wishes, wrong=error, status=422)
    return visit.back("/settings#model", done="model")
