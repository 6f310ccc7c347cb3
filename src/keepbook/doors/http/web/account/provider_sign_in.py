"""`/sign-in/provider`: signing in at the operator's OpenID provider.

While the browser is at the provider, a cookie of ten minutes (SameSite=Lax, so that it is sent on the way back) holds
the attempt. The session's cookie is SameSite=Strict and would not be sent after a redirect from another site, so the
provider leads back to a page of ours, which then goes on by itself.
"""

from logging import Logger
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from keepbook.app import Keepbook
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.owners.identities import SIGNED_IN
from keepbook.doors.http.web.account.sign_in import keep_session, sign_in_form
from keepbook.doors.http.web.frame.visit import own_path, templates
from keepbook.errors import KeepbookError, LimitReached, NotAllowed, NotFound

AWAY = "keepbook_away"
"""The cookie that holds an attempt while the browser is at the provider."""
PLACE = "/sign-in/provider"

log: Logger = get_logger(__name__)
router: APIRouter = APIRouter(include_in_schema=False)


def provider(request: Request) -> Any:
    found = getattr(request.app.state, "provider", None)
    if found is None:
        raise NotFound("people sign in here with a token; there is no provider")
    return found


Provider = Annotated[Any, Depends(provider)]


@router.get(PLACE)
def leave(request: Request, provider: Provider, to: str = "/chat", invitation: str | None = None) -> Response:
    # Loaded with a provider alone: the library that checks signatures is an extra.
    from keepbook.doors.http.web.account.openid import AWAY_SECONDS, Attempt

    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        raise NotAllowed("another site may not sign you in; open Keepbook itself", code="other_site")
    attempt = Attempt(own_path(to), invitation or None)
    try:
        address = provider.address_for(attempt, _come_back(request))
    except KeepbookError as error:
        return _refused(request, error)
    answer = RedirectResponse(address, 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(
        AWAY, attempt.as_cookie(), max_age=AWAY_SECONDS, path=PLACE, httponly=True, samesite="lax", secure=secure
    )
    return answer


@router.get(f"{PLACE}/back", dependencies=[Depends(provider)])
def come_back(request: Request) -> Response:
    page = templates.get_template("signing_in.html")
    return HTMLResponse(page.render(on=f"{PLACE}/done?{urlencode(request.query_params.multi_items())}", theme=None))


@router.get(f"{PLACE}/done")
def arrive(request: Request, provider: Provider) -> Response:
    # As in `leave`.
    from keepbook.doors.http.web.account.openid import Attempt

    kb: Keepbook = request.state.kb
    try:
        attempt = Attempt.from_cookie(request.cookies.get(AWAY))
        subject = provider.subject_of(attempt, request.query_params, _come_back(request))
        session, _ = kb.identities.sign_in(
            provider.issuer, subject, invitation=attempt.invitation, new_book=kb.settings.oidc_new_books
        )
    except KeepbookError as error:
        return _refused(request, error)
    answer = RedirectResponse(own_path(attempt.to), 303)
    keep_session(request, answer, session, SIGNED_IN)
    answer.delete_cookie(AWAY, path=PLACE, httponly=True, samesite="lax")
    return answer


def _come_back(request: Request) -> str:
    """Our address to which the provider leads back; the gate has checked the host."""
    return f"{request.url.scheme}://{request.url.netloc}{PLACE}/back"


def _refused(request: Request, error: KeepbookError) -> Response:
    log.warning("sign-in: %s: %s", error.code, error.message)
    try:
        request.state.wrong_key()
    except LimitReached as too_often:
        error = too_often
    status = 429 if error.code == "rate" else 403
    answer = sign_in_form(request, "/chat", error.message, status)
    answer.delete_cookie(AWAY, path=PLACE, httponly=True, samesite="lax")
    return answer
