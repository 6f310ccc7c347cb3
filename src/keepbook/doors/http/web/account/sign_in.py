"""`/sign-in`: where tokens are on, a person shows theirs once and the browser keeps it out of every script's reach."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from keepbook.app import Keepbook
from keepbook.doors.http.gate import COOKIE
from keepbook.doors.http.web.frame.visit import own_path, templates

router = APIRouter(include_in_schema=False)

KEPT_SECONDS = 30 * 24 * 3600


@router.get("/sign-in")
def ask(request: Request, to: str = "/chat") -> Response:
    refusal = getattr(request.state, "refusal", None)
    if refusal is None:
        return RedirectResponse(own_path(to), 303)
    expired = COOKIE in request.cookies
    return _form(own_path(to), refusal.message if expired else None)


@router.post("/sign-in")
def sign_in(request: Request, token: Annotated[str, Form()] = "", to: Annotated[str, Form()] = "/chat") -> Response:
    kb: Keepbook = request.state.kb
    known = kb.tokens.check(token.strip())
    if known is None:
        return _form(own_path(to), "this token is unknown, revoked or expired", 422)
    if known.kind != "person":
        return _form(own_path(to), f"this token is of kind {known.kind}; the pages need a person's", 422)
    answer = RedirectResponse(own_path(to), 303)
    answer.set_cookie(
        COOKIE,
        token.strip(),
        max_age=KEPT_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/sign-out")
def sign_out() -> Response:
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def _form(to: str, wrong: str | None, status: int = 200) -> Response:
    page = templates.get_template("sign_in.html")
    return HTMLResponse(page.render(to=to, wrong=wrong, theme=None), status)
