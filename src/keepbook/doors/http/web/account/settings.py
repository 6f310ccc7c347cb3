"""`/settings`: how the book is kept, how it looks here, who may open it, and what leaves it.

Each part is a form of its own that acts at once; where there is a way back the toast offers it. Theme and keyboard
are this browser's own and live in cookies, the rest is the owner's and lives in the book.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any
from zoneinfo import available_timezones

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.owners.authority import EVERYTHING, ask_token
from keepbook.book.owners.choices import TIERS
from keepbook.book.owners.tokens import NewToken
from keepbook.book.text.topics import describe_topic
from keepbook.book.upkeep.set_aside_files import mended_in_words
from keepbook.doors.http.web.account.model_step import able, not_answering
from keepbook.doors.http.web.account.naming import call_me
from keepbook.doors.http.web.account.sign_in import keep_session
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.errors import Invalid, KeepbookError
from keepbook.presets import preset_names

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/settings"
THEMES = ("system", "light", "dark")
MOST_TRIED = 2000
YEAR = 365 * 24 * 3600
COUNTED = {
    "memories": "lines",
    "versions": "wordings of them, earlier ones too",
    "ledger": "changes in their history",
    "links": "links between them",
    "threads": "chats",
    "messages": "messages",
    "notes": "notes",
    "proposals": "questions that waited or were answered",
    "injections": "what chats were given to know",
    "agents": "agents",
    "runs": "runs of agents",
    "decisions": "decisions and forecasts",
    "trades": "trades",
}
"""What a receipt counts, in words; the other tables are bookkeeping of these."""
_NOTHING: Mapping[str, object] = {}
_NOTHING_TYPED: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class SettingsDone:
    """What a form has just done, and the form that takes it back."""

    words: str
    action: str = ""
    fields: dict[str, str] = field(default_factory=dict)


@lru_cache
def zones() -> tuple[str, ...]:
    """The names people know; offsets and historical names are accepted too but not offered."""
    apart = ("Etc/", "SystemV/", "US/", "posix/", "right/")
    return (*sorted(name for name in available_timezones() if "/" in name and not name.startswith(apart)), "UTC")


def settings_page(
    visit: Visit,
    *,
    part: str = "",
    done: SettingsDone | None = None,
    wrong: KeepbookError | None = None,
    typed: Mapping[str, str] = _NOTHING_TYPED,
    made: NewToken | None = None,
    status: int = 200,
    **told: Any,
) -> Response:
    """The whole page, or the part of it that a script asked for. `wrong` is shown in `part`, with what was `typed`."""
    book = visit.book
    admin = visit.may("tokens.read")
    asked = visit.request.query_params
    known: dict[str, Any] = {
        "choices": book.choices,
        "preset": book.preset().name,
        "presets": preset_names((visit.kb.settings.presets,)),
        "tiers": TIERS,
        "themes": THEMES,
        "zones": zones(),
        "settings": visit.kb.settings,
        "spent": [one for one in book.spending.list() if one.month == f"{visit.now:%Y-%m}"],
        "called": visit.kb.models.called,
        "spent_tokens": book.spending.this_month(),
        "head": next(iter(book.ledger(limit=1)), None),
        "checked": book.verify() if "verify" in asked else None,
        "since": mended_in_words(book),
        "admin": admin,
        "tokens": visit.kb.tokens.list(visit.caller.owner) if admin else (),
        "part": part,
        "outcome": done or _done_from_address(visit, asked),
        "theme": visit.theme or "system",
        "keys": visit.keys,
        "every_page": visit.every_page,
        "wrong": wrong,
        "typed": typed,
        "made": made,
        "own": None,
        "tried": None,
        "down": "" if visit.partial else not_answering(visit),
        "able": able(visit.kb.settings),
        "covered": {topic: describe_topic(topic) for topic in book.choices.never},
    }
    if visit.partial:
        template = "settings_part.html"
    else:
        template = "settings.html"
    return visit.page(template, status, shows_secret=made is not None, **(known | told))


def _done_from_address(visit: Visit, asked: Mapping[str, str]) -> SettingsDone | None:
    """What the form before a redirect did: it stands in the address."""
    match asked.get("done"):
        case "you":
            was = {name: asked[name] for name in ("zone", "tier", "preset", "name") if name in asked}
            return SettingsDone("Saved.", f"{HOME}/you", was)
        case "memory":
            if visit.book.choices.memory:
                words = "Memory is on again."
            else:
                words = "Memory is off: chats read and keep nothing."
            if not visit.book.choices.memory:
                fields = {"on": "1"}
            else:
                fields = {}
            return SettingsDone(words, f"{HOME}/memory", fields)
        case "added" if topic := asked.get("topic"):
            return SettingsDone(
                f"Nothing about “{topic}” will be remembered.", f"{HOME}/never/remove", {"topic": topic}
            )
        case "removed" if topic := asked.get("topic"):
            return SettingsDone(f"“{topic}” may be remembered again.", f"{HOME}/never", {"topic": topic})
        case "look":
            return SettingsDone("Saved for this browser.")
        case "revoked":
            return SettingsDone("Revoked. That token opens nothing any more.")
        case _:
            return None


def _answer(visit: Visit, part: str, done: str, query: Mapping[str, object] = _NOTHING, **told: Any) -> Response:
    """After a form: its part of the page for a script, else the page at that part. `query` is for the toast."""
    if not visit.partial:
        return visit.back(f"{HOME}#{part}", done=done, **query)
    asked = {"done": done} | {name: str(value) for name, value in query.items() if value is not None}
    return settings_page(visit, part=part, done=_done_from_address(visit, asked), **told)


@router.get(HOME)
def show(visit: Visiting) -> Response:
    if "verify" in visit.request.query_params:
        return settings_page(visit, part="ledger")
    return settings_page(visit, part="")


# How the book is kept


@router.post(f"{HOME}/you")
def you(
    visit: Changing,
    zone: Annotated[str, Form()] = "",
    tier: Annotated[str, Form()] = "",
    preset: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
) -> Response:
    book = visit.writing("choices.change")
    before = {"zone": book.zone, "tier": book.choices.tier, "preset": book.preset().name, "name": book.choices.name}
    wanted = {"zone": zone.strip() or None, "tier": tier or None, "preset": preset or None}
    wanted["name"] = " ".join(name.split()) or None
    changed = {name: value for name, value in wanted.items() if value is not None and value != before[name]}
    try:
        with book.transaction():
            book.configure(zone=changed.get("zone"), preset=changed.get("preset"))
            book.choose(tier=changed.get("tier"))
            call_me(book, changed.get("name"))
    except Invalid as error:
        return settings_page(visit, part="you", wrong=error, typed={"zone": zone, "name": name}, status=422)
    return _answer(visit, "you", "you", {name: before[name] for name in changed})


@router.post(f"{HOME}/memory")
def memory(visit: Changing, on: Annotated[str, Form()] = "") -> Response:
    visit.writing("choices.change").choose(memory=bool(on))
    return _answer(visit, "memory", "memory")


@router.post(f"{HOME}/never")
def never(visit: Changing, topic: Annotated[str, Form()] = "") -> Response:
    book, topic = visit.writing("choices.change"), " ".join(topic.split())
    topics = book.choices.never
    if topic.casefold() not in map(str.casefold, topics):
        try:
            book.choose(never=[*topics, topic])
        except Invalid as error:
            return settings_page(visit, part="memory", wrong=error, typed={"topic": topic}, status=422)
    return _answer(visit, "memory", "added", {"topic": topic})


@router.post(f"{HOME}/never/remove")
def allow(visit: Changing, topic: Annotated[str, Form()] = "") -> Response:
    book = visit.writing("choices.change")
    book.choose(never=[one for one in book.choices.never if one != topic])
    return _answer(visit, "memory", "removed", {"topic": topic})


@router.post(f"{HOME}/never/try")
def try_never(visit: Changing, text: Annotated[str, Form()] = "") -> Response:
    """Which topics a sentence touches. Nothing of it is kept, so the page comes back at once, not by a redirect."""
    said = " ".join(text.split())[:MOST_TRIED]
    tried = None
    if said:
        tried = said, visit.book.never_of(said)
    return settings_page(visit, part="memory", tried=tried)


# How it looks here


@router.post(f"{HOME}/look")
def look(
    visit: Visiting,
    theme: Annotated[str, Form()] = "system",
    keys: Annotated[str, Form()] = "",
    pages: Annotated[str, Form()] = "",
) -> Response:
    if theme not in THEMES:
        theme = "system"
    answer = _answer(visit, "look", "look", theme=theme, keys=bool(keys), every_page=bool(pages))
    kept = (
        ("keepbook_theme", theme, "system"),
        ("keepbook_keys", "on" if keys else "off", "on"),
        ("keepbook_pages", "all" if pages else "some", "some"),
    )
    for name, value, usual in kept:
        if value == usual:
            answer.delete_cookie(name, samesite="lax", httponly=True)
        else:
            answer.set_cookie(name, value, max_age=YEAR, samesite="lax", httponly=True)
    return answer


# Who may open it


@router.post(f"{HOME}/tokens")
def make_token(
    visit: Visiting,
    name: Annotated[str, Form()] = "",
    kind: Annotated[str, Form()] = "person",
    may: Annotated[list[str] | None, Form()] = None,
    expires: Annotated[str, Form()] = "",
) -> Response:
    """The secret is in this answer and nowhere else, so it is no redirect."""
    visit.caller.ask("tokens.make")
    try:
        if kind == "service":
            raise Invalid("a service token opens every book; make it with keepbook token create", field="kind")
        ask_token(visit.caller.as_actor, kind, may or ())
        made = visit.kb.tokens.create(
            visit.caller.owner, kind=kind, scopes=may or (), name=name, expires=expires.strip() or None,
            made_with=visit.caller.token_id,
        )  # fmt: skip
    except Invalid as error:
        return settings_page(visit, part="tokens", wrong=error, typed={"name": name}, status=422)
    own = None
    if visit.caller.token_id is None:  # the first token locks the book, and whoever made it should not stand outside
        own = visit.kb.tokens.create(visit.caller.owner, scopes=sorted(EVERYTHING), name="This browser")
    answer = settings_page(visit, part="tokens", made=made, own=own, done=SettingsDone("Made. It is shown this once."))
    if own is not None:
        keep_session(visit.request, answer, visit.kb.tokens.session_for(own.known.id))
    return answer


@router.post(f"{HOME}/tokens/{{id}}/revoke")
def revoke_token(visit: Visiting, id: str) -> Response:
    visit.caller.ask("tokens.revoke")
    visit.kb.tokens.revoke(id, owner=visit.caller.owner)
    if id == visit.caller.token_id:
        return visit.back("/sign-in")
    return _answer(visit, "tokens", "revoked")


# What leaves it, and what comes in


@router.get(f"{HOME}/export")
def export(visit: Visiting) -> Response:
    lines = io.StringIO()
    visit.book.export(lines)
    name = f"keepbook-{visit.now.astimezone(visit.zone):%Y-%m-%d}.jsonl"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(lines.getvalue().encode(), media_type="application/jsonl", headers=headers)


@router.get(f"{HOME}/erase")
def ask_to_erase(visit: Visiting) -> Response:
    visit.caller.ask("book.erase")
    return _erase_form(visit)


@router.post(f"{HOME}/erase")
def erase(visit: Visiting, confirm: Annotated[str, Form()] = "") -> Response:
    visit.caller.ask("book.erase")
    if confirm.strip() != visit.called:
        return _erase_form(visit, typed=confirm, status=422)
    called, receipt = visit.called, visit.book.erase(visit.book.owner)
    counts = [(words, receipt.counts[name]) for name, words in COUNTED.items() if receipt.counts.get(name)]
    return visit.page("settings_erased.html", receipt=receipt, called=called, counts=counts)


def _erase_form(visit: Visit, *, typed: str = "", status: int = 200) -> Response:
    wrong = None
    if status != 200:
        asked = f"not erased: this is not the name. It is {visit.called}, in exactly these letters"
        wrong = Invalid(asked, field="confirm")
    held = visit.book.list(state="all", limit=1).total
    return visit.page("settings_erase.html", status, typed=typed, wrong=wrong, memories=held)
