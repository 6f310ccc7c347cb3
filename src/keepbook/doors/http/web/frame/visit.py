"""What every page uses: the visit, the templates, and the redirect after a form.

A page is a plain function of a `Visit`. Forms post to the address of what they change and are answered with a
redirect; a script that sends `X-Partial: 1` gets the changed piece of the page instead, from the same template.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Annotated, Any
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import BaseLoader, ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.ground.open_book import viewing
from keepbook.book.memory import review
from keepbook.book.owners.authority import refusal_reason as why_not
from keepbook.book.text.quotation import shown_text
from keepbook.doors.auth import VISITOR, Caller
from keepbook.doors.http.demo_by_cookie import COOKIE as DEMO_COOKIE
from keepbook.doors.http.gate import COOKIE
from keepbook.doors.http.web.frame.assets import asset
from keepbook.doors.http.web.frame.compression import compressed_page
from keepbook.doors.http.web.frame.diff import word_diff
from keepbook.doors.http.web.frame.form_error import FormError
from keepbook.doors.http.web.frame.times import form_day, time, time_text
from keepbook.errors import Invalid, KeepbookError, NotAllowed
from keepbook.models.providers.address import HERE
from keepbook.models.providers.remote import RemoteModel
from keepbook.settings import default_of


def capitalised_sentence(text: str) -> str:
    """The text as a sentence: with a capital letter and a full stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")


@lru_cache
def icon(name: str, also: str = "") -> Markup:
    """An icon of `parts/icons.html`; `also` is a further CSS class."""
    return Markup('<svg class="{}" aria-hidden="true"><use href="#i-{}"/></svg>').format(f"ico {also}".strip(), name)


def plural(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


_FOLDERS: list[BaseLoader] = [PackageLoader("keepbook.doors.http.web")]
"""The folders that are searched for templates: the core's, then those that `add_templates` added."""
_PACKAGES: set[str] = set()

templates: Environment = Environment(
    loader=ChoiceLoader(_FOLDERS),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
templates.filters.update(
    form_day=form_day, time=time, time_text=time_text, sentence=capitalised_sentence, shown=shown_text
)
templates.globals.update(
    asset=asset, word_diff=word_diff, icon_of=icon, plural_of=plural, trash_days=TRASH_DAYS, form_error=FormError
)


def add_templates(package: str) -> None:
    """Search a package's `templates` folder too. Refuses a template with the name of another, which would never be
    found."""
    if package in _PACKAGES:
        return
    folder = PackageLoader(package)
    taken = {name for one in _FOLDERS for name in one.list_templates()} & set(folder.list_templates())
    if taken:
        raise Invalid(f"{package} has a template {min(taken)!r}, and there is one already", field="extensions")
    _FOLDERS.append(folder)
    _PACKAGES.add(package)


class SignInNeeded(Exception):
    """This visitor has no token yet; `to` is the path that they asked for."""

    def __init__(self, to: str) -> None:
        super().__init__(to)
        self.to = to


class Visit:
    """One request of a person to the pages; raises if they may not see them."""

    def __init__(self, request: Request) -> None:
        refusal: KeepbookError | None = getattr(request.state, "refusal", None)
        if refusal is not None:
            raise SignInNeeded(request.url.path) if refusal.code == "unauthenticated" else refusal
        self.request = request
        self.kb: Keepbook = request.state.kb
        self.caller: Caller = request.state.caller
        if self.caller.kind not in ("person", VISITOR):
            raise NotAllowed("these pages are the person's own; sign in with a person's token", code="person_only")
        self.caller.ask("memories.read")

    @cached_property
    def book(self) -> Book:
        return self.caller.book(self.kb, "web")

    @cached_property
    def waiting(self) -> int:
        """How many questions wait for the person's yes or no."""
        return review.count_waiting(self.book)

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.book.zone)

    @property
    def now(self) -> datetime:
        return self.book.now

    @property
    def partial(self) -> bool:
        """Whether a script asks for a piece of the page only."""
        return self.request.headers.get("x-partial") == "1"

    @property
    def demo(self) -> bool:
        """Whether this is the demo: a made-up book that is deleted after the visit."""
        return bool(getattr(self.request.app.state, "demo", False))

    @property
    def beside(self) -> bool:
        """Whether this demo was opened from the visitor's own book, to which there is then a way back."""
        return self.demo and DEMO_COOKIE in self.request.cookies

    @property
    def command_key(self) -> str:
        """The name of the key for shortcuts on this browser's system."""
        system = self.request.headers.get("user-agent", "")
        if any(name in system for name in ("Mac OS", "iPhone", "iPad")):
            return "⌘"
        return "Ctrl"

    @cached_property
    def called(self) -> str:
        """What the pages call the person: the name they have chosen, else the owner's name; "You" if that is only the
        login of this machine."""
        if self.book.choices.name:
            return self.book.choices.name
        is_login = self.caller.owner == self.kb.settings.owner == default_of("owner")
        return "You" if is_login else self.caller.owner

    @cached_property
    def keeps_house(self) -> bool:
        """Whether this person may choose model and keys: the local owner on this machine, if there is no other owner in
        the database."""
        local = bool(getattr(self.request.state, "local", False)) and self.caller.as_actor.kind == "person"
        mine = local and not self.kb.demo and self.caller.owner == self.kb.settings.owner
        return mine and self.may("book.import") and set(self.kb.owners()) <= {self.caller.owner}

    @property
    def model_here(self) -> str:
        """The name of the local program that serves the model; "" if a remote one does, or there is no model."""
        model = self.kb.models.chat
        if not isinstance(model, RemoteModel) or not model.address.here:
            return ""
        return {HERE: "the model's server"}.get(model.address.server, model.address.server)

    @property
    def signed_in(self) -> bool:
        """Whether this browser is signed in with a token, and so can sign out."""
        return COOKIE in self.request.cookies

    @property
    def theme(self) -> str | None:
        """`light` or `dark`, if the person has chosen one."""
        chosen = self.request.cookies.get("keepbook_theme")
        if chosen in ("light", "dark"):
            return chosen
        return None

    @property
    def keys(self) -> bool:
        """Whether single letters are shortcuts."""
        return self.request.cookies.get("keepbook_keys") != "off"

    @property
    def every_page(self) -> bool:
        """Whether the navigation also shows parts that are still empty."""
        return self.request.cookies.get("keepbook_pages") == "all"

    def may(self, operation: str) -> bool:
        """Whether this person may do an operation."""
        return why_not(self.caller.as_actor, operation) is None

    def writing(self, operation: str = "memories.write") -> Book:
        """The book, for a form that does this operation; raises if the person may not."""
        self.caller.ask(operation)
        return self.book

    def page(self, template: str, status: int = 200, *, shows_secret: bool = False, **told: Any) -> Response:
        with viewing(self.book):
            text = templates.get_template(template).render(visit=self, zone=self.zone, now=self.now, **told)
        if shows_secret:
            return HTMLResponse(text, status)
        body, headers = compressed_page(self.request, text)
        return HTMLResponse(body, status, headers)

    def back(self, to: str, **query: object) -> Response:
        """The redirect after a form. `query` is added to the address; with `undo`, the page offers to undo that
        entry."""
        known: Mapping[str, object] = {name: value for name, value in query.items() if value is not None}
        path, _, fragment = to.partition("#")
        address = quote(path, safe="/?=&%+")
        if known:
            address += f"{'&' if '?' in path else '?'}{urlencode(known)}"
        if fragment:
            address += f"#{quote(fragment)}"
        return RedirectResponse(address, 303)


def own_path(path: str) -> str:
    """The path that a form or link asks to return to, if it is a path on this server; else `/`."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    if is_ours:
        return path
    return "/"


def visit(request: Request) -> Visit:
    return Visit(request)


def writing_visit(request: Request) -> Visit:
    """The visit of a form. Checks that the person may write before the form is read."""
    made = Visit(request)
    made.caller.ask("memories.write")
    return made


Visiting = Annotated[Visit, Depends(visit)]
Changing = Annotated[Visit, Depends(writing_visit)]
"""The visit of a form that changes the book; a form that needs another right asks with `writing`."""
