"""`/welcome`: the first minute with an empty book. Who you are, who answers, and a first line; each of them can wait.

One form. Whatever button is pressed, what was filled in is kept first; then the button leads on. Skipping keeps the
time zone only, which the browser knows and nobody should have to say.
"""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from keepbook.doors.http.beside import COOKIE as BESIDE
from keepbook.doors.http.web.account import connect
from keepbook.doors.http.web.account.connect import Tested, Wishes
from keepbook.doors.http.web.account.naming import call_me
from keepbook.doors.http.web.account.settings import YEAR, zones
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Invalid, KeepbookError, NotAllowed

router = APIRouter(include_in_schema=False)

WELCOMED = "keepbook_welcomed"
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
    if visit.demo or WELCOMED in visit.request.cookies or visit.book.choices.name:
        return False
    return not visit.book.list(state="all", limit=1).total and not visit.book.threads.list(limit=1)


@router.get("/welcome")
def show(visit: Visiting) -> Response:
    return _page(visit, Wishes(name=visit.book.choices.name or "", zone=visit.book.zone))


def _page(
    visit: Visit,
    wishes: Wishes,
    *,
    wrong: KeepbookError | None = None,
    tested: Tested | None = None,
    asked: bool = False,
    status: int = 200,
) -> Response:
    if visit.partial:
        return visit.page("parts/tested.html", tested=tested, wrong=wrong)
    offer = connect.offer() if visit.keeps_house else None
    known = visit.kb.settings
    empty = not visit.book.list(state="all", limit=1).total
    return visit.page(
        "welcome.html", status, theme=visit.theme, wishes=wishes, zones=zones(), offer=offer, wrong=wrong,
        tested=tested, asked=asked, empty=empty, model=known.model, short=connect.short(known.model),
        has_key=bool(known.openai_key), anthropic_key=bool(known.anthropic_key), base_url=known.openai_base_url or "",
    )  # fmt: skip


@router.post("/welcome")
async def go_on(visit: Changing, wishes: Annotated[Wishes, Form()]) -> Response:
    if wishes.do == "look":  # what was typed stays
        return await run_in_threadpool(_page, visit, wishes)
    if wishes.do == "test":
        try:
            return _page(visit, wishes, tested=await connect.test(visit, wishes), asked=True)
        except (Invalid, NotAllowed) as error:
            return _page(visit, wishes, wrong=error, status=200 if visit.partial else 422)
    return await run_in_threadpool(_kept, visit, wishes)


def _kept(visit: Visit, wishes: Wishes) -> Response:
    book = visit.writing("choices.change")
    try:
        with book.transaction():
            if wishes.zone.strip() and wishes.zone.strip() != book.zone:
                book.configure(zone=wishes.zone.strip())
            if wishes.do != "skip":
                call_me(book, wishes.name)
        if wishes.do != "skip":
            connect.take_on(visit, wishes)
    except (Invalid, NotAllowed) as error:
        return _page(visit, wishes, wrong=error, status=422)
    answer = visit.back(_next(visit, wishes.do))
    answer.set_cookie(WELCOMED, "1", max_age=YEAR, samesite="lax", httponly=True)
    if wishes.do == "demo":
        answer.set_cookie(BESIDE, "1", samesite="lax", httponly=True)
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
    answer.delete_cookie(BESIDE, samesite="lax", httponly=True)
    return answer
