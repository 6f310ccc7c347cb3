"""`/welcome`: the first minute with an empty book. One writes on its first line; everything else can wait.

The first line begins a chat, and takes along the time zone, which the browser knows and nobody should have to say.
Below it, who you are and who answers: one form whose rows are saved by any of its buttons.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.demo_by_cookie import COOKIE as DEMO_COOKIE
from keepbook.doors.http.web.account import connect, model_step
from keepbook.doors.http.web.account.connect import Wishes
from keepbook.doors.http.web.account.naming import call_me
from keepbook.doors.http.web.account.settings import zones
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Invalid, NotAllowed

router: APIRouter = APIRouter(include_in_schema=False)

BEGINNINGS = {"live": "I live in … with …", "eat": "I don’t eat …", "week": "Every week I …"}
"""Sentences that somebody else begins, by the name in their address."""
NEXT = {"bring": "/import", "demo": "/", "save": "/welcome"}
"""The address to which a button leads; buttons that are not here open the book."""


@router.get("/")
def home(visit: Visiting) -> Response:
    """An empty book begins with the first steps, any other with a chat; the demo with one that shows what it is."""
    if visit.demo:
        threads = visit.book.threads
        told = next((chat for chat in threads.list(state="idle") if threads.learned(chat.id)), None)
        if told:
            return visit.back(f"/chat/{told.id}", tour=1)
        return visit.back("/chat", tour=1)
    if _is_new(visit):
        return visit.back("/welcome")
    return visit.back("/chat")


def _is_new(visit: Visit) -> bool:
    """Nothing in it, and nobody has taken or skipped the first steps: then its owner would be known here."""
    if visit.demo or visit.book.list(state="all", limit=1).total or visit.book.threads.list(limit=1):
        return False
    return visit.caller.owner not in visit.kb.owners()


@router.get("/welcome")
def show(visit: Visiting, begin: str = "") -> Response:
    return _page(visit, Wishes(name=visit.book.choices.name or "", zone=visit.book.zone), begin=begin)


def _page(visit: Visit, wishes: Wishes, *, status: int = 200, begin: str = "", **found: Any) -> Response:
    step = model_step.model_step_context(visit, wishes, **found)
    local = bool(getattr(visit.request.state, "local", False))
    return visit.page(
        "welcome.html", status, theme=visit.theme, zones=zones(), beginnings=BEGINNINGS,
        first_line=BEGINNINGS.get(begin, ""), local=local, **step,
    )  # fmt: skip


@router.post("/welcome")
async def go_on(visit: Changing, wishes: Annotated[Wishes, Form()]) -> Response:
    answer = await model_step.try_model(visit, wishes, _page)
    if answer is not None:
        return answer
    works, answer = await model_step.prove_model(visit, wishes, _page)
    if answer is not None:
        return answer
    return await run_in_threadpool(_save_first_steps, visit, wishes, works)


def _save_first_steps(visit: Visit, wishes: Wishes, works: str) -> Response:
    book = visit.writing("choices.change")
    try:
        with book.transaction():
            book.configure(zone=wishes.zone.strip() or None)  # from now on the book is known, and no first steps come
            if wishes.do not in ("skip", "write"):
                call_me(book, wishes.name)
        if wishes.do not in ("skip", "write"):
            connect.take_on(visit, wishes, works)
    except (Invalid, NotAllowed) as error:
        return _page(visit, wishes, wrong=error, status=422)
    if wishes.do == "write":  # the same form goes on to the chat, as its first message
        return RedirectResponse("/chat", status_code=307)
    answer = visit.back(NEXT.get(wishes.do, "/chat"), answers=works or None)
    if wishes.do == "demo":
        answer.set_cookie(DEMO_COOKIE, "1", samesite="lax", httponly=True)
    return answer


@router.post("/demo/leave")
def leave_demo(visit: Visiting) -> Response:
    """Back to one's own book, from the demo beside it."""
    answer = visit.back("/")
    answer.delete_cookie(DEMO_COOKIE, samesite="lax", httponly=True)
    return answer
