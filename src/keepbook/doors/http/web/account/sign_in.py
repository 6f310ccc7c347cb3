"""`/sign-in`: where tokens are on, a person shows theirs once. The browser keeps a session of its own, out of every
script's reach; the token itself it does not keep. Wrong ones are answered only so often. Where the operator has named a
provider, its way in (`provider_sign_in.py`) stands first."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from keepbook.app import Keepbook
from keepbook.book.owners.tokens import KEPT
from keepbook.doors.http.gate import COOKIE
from keepbook.doors.http.web.frame.visit import own_path, templates
from keepbook.errors import Invalid, LimitReached

router: APIRouter = APIRouter(include_in_schema=False)


@router.get("/sign-in")
def ask(request: Request, to: str = "/chat", invitation: str | None = None) -> Response:
    if invitation:
        return sign_in_form(request, own_path(to), invitation=invitation)
    refusal = getattr(request.state, "refusal", None)
    if refusal is None:
        return RedirectResponse(own_path(to), 303)
    expired = COOKIE in request.cookies
    wrong = None
    if expired:
        wrong = refusal.message
    return sign_in_form(request, own_path(to), wrong)


@router.post("/sign-in")
def sign_in(request: Request, token: Annotated[str, Form()] = "", to: Annotated[str, Form()] = "/chat") -> Response:
    kb: Keepbook = request.state.kb
    begun = kb.tokens.sign_in(token.strip())
    if begun is None:
        try:
            request.state.wrong_key()
        except LimitReached as error:
            return sign_in_form(request, own_path(to), error.message, 429)
        return sign_in_form(request, own_path(to), "this token is unknown, revoked or expired", 422)
    session, known = begun
    if known.kind != "person":
        return sign_in_form(
            request, own_path(to), f"this token is of kind {known.kind}; the pages need a person's", 422
        )
    answer = RedirectResponse(own_path(to), 303)
    keep_session(request, answer, session)
    return answer


def keep_session(request: Request, answer: Response, session: str, how_long: timedelta = KEPT) -> None:
    """Let the browser keep a session."""
    secure = request.url.scheme == "https"
    kept = int(how_long.total_seconds())
    answer.set_cookie(COOKIE, session, max_age=kept, httponly=True, samesite="strict", secure=secure)


@router.post("/sign-out")
def sign_out(request: Request) -> Response:
    kb: Keepbook = request.state.kb
    if (session := request.cookies.get(COOKIE)) is not None:
        kb.tokens.sign_out(session)
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


def sign_in_form(
    request: Request, to: str, wrong: str | None = None, status: int = 200, *, invitation: str | None = None
) -> Response:
    """The page that asks who somebody is. With an invitation it says to whose book that is."""
    provider = getattr(request.app.state, "provider", None)
    kb: Keepbook = request.state.kb
    invited_to = None
    if provider and invitation:
        invited_to = kb.identities.invited_to(invitation)
    if provider and invitation and invited_to is None:
        wrong, status, invitation = "this invitation was used, has ended, or never was; ask for another", 403, None
    refused = None
    if wrong:
        if provider:
            refused = Invalid(wrong, field=None)
        else:
            refused = Invalid(wrong, field="token")
    page = templates.get_template("sign_in.html")
    text = page.render(
        to=to, wrong=refused, theme=None, provider=provider and provider.name, invitation=invitation,
        invited_to=invited_to,
    )  # fmt: skip
    return HTMLResponse(text, status)
