"""Puts the web app's pages together: routers, files, and the page for a refusal.

An error on a page is a page with one sentence and a way on; the API and scripts get the same error as a problem
document. A visitor without a token is asked for one, and comes back to where they wanted to go.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Scope

from keepbook.doors.http import problems
from keepbook.doors.http.extension_routes import extension_routers
from keepbook.doors.http.gate import GUARDED
from keepbook.doors.http.web.account import api_docs, model_step, provider_sign_in, settings, sign_in, welcome
from keepbook.doors.http.web.chat import chat, notes, question_forms, request_page, search
from keepbook.doors.http.web.frame import sidebar
from keepbook.doors.http.web.frame.assets import Assets
from keepbook.doors.http.web.frame.extension_pages import check_places, join_places
from keepbook.doors.http.web.frame.visit import SignInNeeded, Visit, add_templates, templates
from keepbook.doors.http.web.memory import deck, import_form, import_page, listing, memory_page, review, time_travel
from keepbook.doors.http.web.memory import forms as memory_forms
from keepbook.errors import KeepbookError
from keepbook.extension import Extension

ROUTERS = (
    api_docs.router,
    welcome.router,
    chat.router,
    question_forms.router,
    request_page.router,
    search.router,
    listing.router,
    memory_forms.router,
    review.router,
    deck.router,
    import_page.router,
    import_form.router,
    memory_page.router,
    time_travel.router,
    sign_in.router,
    provider_sign_in.router,
    notes.router,
    settings.router,
    model_step.router,
)
"""The core's, one for each page; shown in the order of `sidebar.PLACES`. After them come those of extensions."""

HEADINGS = {
    401: "Sign in first",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This address takes no such request",
    409: "The book has moved on",
    412: "The book has moved on",
    413: "That is too much at once",
    422: "That does not fit",
    429: "A limit is reached",
    502: "The model did not answer",
    503: "The book cannot be reached",
}

Handler = Callable[[Request, Any], Response | Awaitable[Response]]


def install_pages(app: FastAPI, extensions: Sequence[Extension]) -> None:
    """Add the pages to an application whose problem documents are installed already."""
    check_places(join_places(sidebar.PLACES, extensions))
    for one in extensions:
        if one.templates is not None:
            add_templates(one.templates)
    sidebar.stand_around(templates)
    for router in (*ROUTERS, *extension_routers(extensions, "pages")):
        app.router.routes.extend(router.routes)
    app.mount("/static", Assets(), "static")
    app.add_exception_handler(SignInNeeded, _to_sign_in)
    for kind in (KeepbookError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _or_page(app.exception_handlers[kind]))


def _to_sign_in(_: Request, error: Exception) -> Response:
    assert isinstance(error, SignInNeeded)
    return RedirectResponse(f"/sign-in?to={error.to}", 303)


def _or_page(otherwise: Handler) -> Handler:
    """A handler that shows a page to a person and leaves the rest to the one before."""

    async def handle(request: Request, error: Any) -> Response:
        if _is_reading(request):
            if _asks_for_a_form(request, error):
                return RedirectResponse(_page_above(request), 303)
            return await run_in_threadpool(_page, request, error)
        answer = otherwise(request, error)
        if isinstance(answer, Response):
            return answer
        return await answer

    return handle


async def refusal_response(scope: Scope, error: KeepbookError) -> Response:
    """The answer of the gate to a refused request, as a page or a problem document."""
    request = Request(scope)
    if _is_reading(request):
        return await run_in_threadpool(_page, request, error)
    return problems.response(error)


def _is_reading(request: Request) -> bool:
    wants = "text/html" in request.headers.get("accept", "") and "x-partial" not in request.headers
    return wants and not request.url.path.startswith((*GUARDED, "/static/"))


def _asks_for_a_form(request: Request, error: Any) -> bool:
    """Whether an address that only takes forms was asked for: a page that stood there was opened anew."""
    is_refused = isinstance(error, HTTPException) and error.status_code == 405
    return is_refused and request.method in ("GET", "HEAD")


def _page_above(request: Request) -> str:
    """The nearest address above that is a page: where the form is."""
    path = request.url.path
    while path := path.rpartition("/")[0]:
        scope = {**request.scope, "path": path, "method": "GET"}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.router.routes):
            return path
    return "/"


def _error_in_words(error: KeepbookError | HTTPException | RequestValidationError) -> tuple[int, str]:
    if isinstance(error, RequestValidationError):
        named = ", ".join(str(one["loc"][-1]) for one in error.errors())
        return 422, f"the form or address is missing something, or has something that does not fit: {named}"
    if isinstance(error, HTTPException):
        missing = error.status_code == 404
        return error.status_code, "nothing of this book is at this address" if missing else str(error.detail)
    return problems.status_of(error), error.message


def _page(request: Request, error: Any) -> Response:
    status, detail = _error_in_words(error)
    told: dict[str, Any] = {
        "heading": HEADINGS.get(status, "Something broke here"),
        "detail": detail[:1].upper() + detail[1:],
    }
    try:
        return Visit(request).page("problem.html", status, **told)
    except (KeepbookError, SignInNeeded, AttributeError):  # nobody's book: no sidebar either
        text = templates.get_template("problem.html").render(visit=None, theme=None, **told)
        return HTMLResponse(text, status)


__all__ = ["install_pages", "refusal_response"]
