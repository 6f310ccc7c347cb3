"""The step in which the person chooses the model: one of the first steps, and a page at `/settings/model`."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.web.account import connect
from keepbook.doors.http.web.account.connect import Listed, Offer, TrialResult, Wishes
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, own_path, templates
from keepbook.errors import Invalid, KeepbookError, ModelFailed, NotAllowed
from keepbook.models.providers.address import Address, ProviderKind, weights_name
from keepbook.models.providers.nearby import answers_at
from keepbook.settings import Settings

router: APIRouter = APIRouter(include_in_schema=False)

PageFunction = Callable[..., Response]
HERE = "/settings/model"
UNTRIED = "-"
"""The value in an address that says: the model was changed, and there was nothing to try."""
ABLE = {
    "11": "Tested: it calls tools and reads chats.",
    "10": "It saves to your book while you talk. It cannot read chats, so your book reads them.",
    "01": "It answers and reads chats, but cannot save to your book by itself while you talk.",
    "00": "It answers, but cannot save to your book by itself while you talk. It cannot read chats, so your book "
    "reads them.",
}
"""What the result of a trial means for the person. First digit: it calls tools; second digit: it reads chats."""
LISTS: Mapping[str, ProviderKind] = {"list-openai": "openai", "list-anthropic": "anthropic"}
"""The buttons that ask a provider for its models."""


def model_step_context(
    visit: Visit,
    wishes: Wishes,
    wrong: KeepbookError | None = None,
    tested: TrialResult | None = None,
    asked: bool = False,
    listed: Listed | None = None,
) -> dict[str, Any]:
    """The context of `parts/model_step.html`."""
    offer = None
    if visit.keeps_house:
        offer = connect.offer(visit.kb.outward)
    known = visit.kb.settings
    down = not_answering(visit)
    base_url = _address(visit, down)
    now = ""
    if offer:
        now = next((one.name for one in offer.servers if connect.serves(one, known)), "")
    return {
        "wishes": wishes, "wrong": wrong, "tested": tested, "asked": asked, "offer": offer, "model": known.model,
        "called": visit.kb.models.called(None), "stopped": _stopped_server(offer, wishes, wrong, down),
        "has_key": bool(known.openai_key), "anthropic_key": bool(known.anthropic_key), "serving": now,
        "base_url": base_url, "same_address": base_url == (known.openai_base_url or ""), "able": able(known),
        "down": down, "providers": connect.PROVIDERS, "listed": listed,
    }  # fmt: skip


def _address(visit: Visit, down: str) -> str:
    """The address that was chosen before; "" if it is of this machine and no server answers there."""
    there = visit.kb.settings.openai_base_url or ""
    local = there and Address("openai", "", there).here
    if down or (local and not visit.model_here and not answers_at(there, visit.kb.outward)):
        return ""
    return there


def _stopped_server(offer: Offer | None, wishes: Wishes, wrong: KeepbookError | None, down: str) -> str:
    """The local server that was chosen, before or just now, and does not answer, if none is there to be chosen
    instead."""
    if offer is None or offer.servers:
        return ""
    if wrong is not None and wrong.field == "model":
        return wishes.model[:40]
    return down


async def try_model(visit: Visit, wishes: Wishes, page: PageFunction) -> Response | None:
    """The page again with the result of a trial, a list of models, or the servers that run by now; None if the form
    asks for none of these."""
    if wishes.do == "look":  # look for servers again
        return await run_in_threadpool(page, visit, wishes)
    if wishes.do in LISTS:
        return await run_in_threadpool(_list_models, visit, wishes, page)
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


def _list_models(visit: Visit, wishes: Wishes, page: PageFunction) -> Response:
    """The page again, or for a script its part, with the models that the provider lists."""
    wrong, listed, kind = None, None, LISTS[wishes.do]
    try:
        listed = connect.models_listed(visit, wishes, kind)
    except (Invalid, NotAllowed, ModelFailed) as error:
        wrong = error
    if visit.partial:
        return visit.page("parts/models_listed.html", listed=listed, wrong=wrong, kind=kind)
    wishes.model = kind
    if wrong is None:
        return page(visit, wishes, listed=listed)
    if isinstance(wrong, ModelFailed):
        wrong = Invalid(wrong.message, field=f"{kind}_model")
    return page(visit, wishes, wrong=wrong, status=422)


async def prove_model(visit: Visit, wishes: Wishes, page: PageFunction) -> tuple[str, Response | None]:
    """Try the model that was chosen, unless it was tried on this page. Returns what works, and the page again if it
    does not answer; the person may then go on without another trial."""
    try:
        works = await run_in_threadpool(connect.found_before, visit, wishes) if wishes.do != "skip" else ""
        if works is not None:
            return works, None
        tested = await connect.test(visit, wishes)
    except (Invalid, NotAllowed):
        return "", None  # `take_on` will raise the same error
    if tested is None or tested.trial.answers:
        return tested.works if tested else "", None
    return "", await run_in_threadpool(lambda: page(visit, wishes, tested=tested, asked=True))


def model_toast(called: str, works: str) -> str:
    """The toast after a choice: who answers now, and what its trial found."""
    if works.startswith("0"):
        return f"{called} is chosen. It did not answer when it was tested."
    return f"{called} answers from now on. {ABLE.get(works[1:], '')}".strip()


def not_answering(visit: Visit) -> str:
    """The program of this machine that serves the model, if it does not answer now."""
    there = visit.kb.settings.openai_base_url
    if visit.keeps_house and there and not answers_at(there, visit.kb.outward):
        return visit.model_here
    return ""


def able(settings: Settings) -> str:
    """The result of the last trial of the current model, for as long as this process remembers it."""
    return ABLE.get(connect.last_trial_of(settings)[1:], "")


templates.globals.update(answering=model_toast, weights_name=weights_name)


def _page(visit: Visit, wishes: Wishes, *, status: int = 200, **found: Any) -> Response:
    return visit.page("settings_model.html", status, back=wishes.back, **model_step_context(visit, wishes, **found))


@router.get(HERE)
def show(visit: Visiting, back: str = "") -> Response:
    return _page(visit, Wishes(back=own_path(back) if back else ""))


@router.post(HERE)
async def choose(visit: Changing, wishes: Annotated[Wishes, Form()]) -> Response:
    if wishes.back:
        wishes.back = own_path(wishes.back)
    else:
        wishes.back = ""
    answer = await try_model(visit, wishes, _page)
    if answer is not None:
        return answer
    works, answer = await prove_model(visit, wishes, _page)
    if answer is not None:
        return answer
    return await run_in_threadpool(_chosen, visit, wishes, works)


def _chosen(visit: Visit, wishes: Wishes, works: str) -> Response:
    visit.writing("choices.change")
    try:
        connect.take_on(visit, wishes, works)
    except (Invalid, NotAllowed) as error:
        return _page(visit, wishes, wrong=error, status=422)
    return visit.back(wishes.back or "/settings#model", answers=works or UNTRIED)
