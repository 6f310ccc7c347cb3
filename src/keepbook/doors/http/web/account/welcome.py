"""`/welcome`: the first minute with an empty book. Who you are, who answers, and a first line; each of them can wait.

One form. Whatever button is pressed, what was filled in is kept first; then the button leads on. Skipping keeps the
time zone only, which the browser knows and nobody should have to say.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.demo_by_cookie import COOKIE as DEMO_COOKIE
from keepbook.doors.http.web.account import connect, model_step
from keepbook.doors.http.web.account.connect import Wishes
from keepbook.doors.http.web.account.naming import call_me
from keepbook.doors.http.web.account.settings import zones
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Invalid, NotAllowed

router = APIRouter(include_in_schema=False)

ASKS = (
    "Tell me three things that I should remember: for example what you are allergic to, where you live, "
    "and how you like to be answered. I say what I noted, and you can take each of it back."
)
TITLE = "Three things to remember"


@router.get("/")
def home(visit: Visiting) -> Response:
    """An empty book begins with the first steps, any other with a chat; the demo with one that shows what it is."""
    if visit.demo:
        threads = visit.book.threads
        told = next((chat for chat in threads.list(state="idle") if threads.learned(chat.id)), None)
        return visit.back(f"/chat/{told.id}" if told else "/chat", tour=1)
    return visit.back("/welcome" if _is_new(visit) else "/chat")


def _is_new(visit: Visit) -> bool:
    """Nothing in it, and nobody has taken or skipped the first steps: then its owner would be known here."""
    if visit.demo or visit.book.list(state="all", limit=1).total or visit.book.threads.list(limit=1):
        return False
    return visit.caller.owner not in visit.kb.owners()


@router.get("/welcome")
def show(visit: Visiting) -> Response:
    return _page(visit, Wishes(name=visit.book.choices.name or "", zone=visit.book.zone))


def _page(visit: Visit, wishes: Wishes, *, status: int = 200, **found: Any) -> Response:
    empty = not visit.book.list(state="all", limit=1).total
    step = model_step.model_step_context(visit, wishes, **found)
    return visit.page("welcome.html", status, theme=visit.theme, zones=zones(), empty=empty, **step)


@router.post("/welcome")
async def go_on(visit: Changing, wishes: Annotated[Wishes, Form()]) -> Response:
    answer = await model_step.try_model(visit, wishes, _page)
    if answer is not None:
        return answer
    works, answer = await model_step.prove_model(visit, wishes, _page)
    return answer if answer is not None else await run_in_threadpool(_save_first_steps, visit, wishes, works)


def _save_first_steps(visit: Visit, wishes: Wishes, works: str) -> Response:
    book = visit.writing("choices.change")
    try:
        with book.transaction():
            book.configure(zone=wishes.zone.strip() or None)  # from now on the book is known, and no first steps come
            if wishes.do != "skip":
                call_me(book, wishes.name)
        if wishes.do != "skip":
            connect.take_on(visit, wishes, works)
    except (Invalid, NotAllowed) as error:
        return _page(visit, wishes, wrong=error, status=422)
    answer = visit.back(_next(visit, wishes.do), answers=works or None)
    if wishes.do == "demo":
        answer.set_cookie(DEMO_COOKIE, "1", samesite="lax", httponly=True)
    return answer


def _next(visit: Visit, do: str) -> str:
    if do == "tell":
        chat = visit.writing().threads.start()
        chat.add("assistant", ASKS)
        visit.book.threads.rename(chat.id, TITLE)
        return f"/chat/{chat.id}"
    return {"bring": "/import", "demo": "/"}.get(do, "/chat")


@router.post("/demo/leave")
def leave_demo(visit: Visiting) -> Response:
    """Back to one's own book, from the demo beside it."""
    answer = visit.back("/")
    answer.delete_cookie(DEMO_COOKIE, samesite="lax", httponly=True)
    return answer
