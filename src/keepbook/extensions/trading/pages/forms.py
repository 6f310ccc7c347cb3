"""What the trading pages change: reflecting, lessons, a new deployment, and files of trades or positions.

What is done to a lesson is a write of the book, and the toast takes it back. A file is loaded row by row: what is wrong
with a row stands on the page with its line, and costs no other row.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile
from fastapi.responses import Response

from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, own_path
from keepbook.doors.http.web.frame.written import read_events
from keepbook.errors import Invalid, KeepbookError, NotFound
from keepbook.extensions.trading.book import trades
from keepbook.extensions.trading.book.files import Layout
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.reflection import Reflection
from keepbook.extensions.trading.book.skill_files import DEPLOYMENT_FILE, SKILL_FILE
from keepbook.extensions.trading.book.skills import CURRENCY, NAME_LIMIT, Deployment
from keepbook.extensions.trading.pages.pages import HOME, encode_reflection

router: APIRouter = APIRouter(include_in_schema=False)

FILES: dict[str, Layout] = {
    "trades": trades.TRADES, "positions": trades.POSITIONS, "skills": SKILL_FILE, "deployments": DEPLOYMENT_FILE,
}  # fmt: skip
OF_ONE = ("trades", "positions")
BackPathField = Annotated[str, Form()]
ShortField = Annotated[str, Form(max_length=400)]


# Lessons


@router.post(f"{HOME}/skills/{{id}}/reflect")
def reflect_on_skill(visit: Changing, id: str) -> Response:
    return _back_with_reflection(visit, f"{HOME}/skills/{id}", visit.writing().trading.reflect(skill=id))


@router.post(f"{HOME}/{{id}}/reflect")
def reflect(visit: Changing, id: str) -> Response:
    return _back_with_reflection(visit, f"{HOME}/{id}", visit.writing().trading.reflect(deployment=id))


def _back_with_reflection(visit: Visit, at: str, found: Reflection) -> Response:
    written = [one.lesson.event for one in found.outcomes if one.lesson is not None and one.lesson.event is not None]
    events = None
    if written:
        events = f"{min(written)}-{max(written)}"
    return visit.back(
        f"{at}#lessons",
        reflected=encode_reflection(found.trades, found.tried, [one.what for one in found.outcomes]),
        events=events,
    )


@router.post(f"{HOME}/undo")
def undo_reflection(visit: Changing, events: ShortField, back: BackPathField = HOME) -> Response:
    """Take back all that one reflection wrote: its entries have numbers in a row."""
    first, last = read_events(events)
    book = visit.writing()
    with book.transaction():
        undone = [book.undo(event) for event in range(last, first - 1, -1)]
    numbers = [one.event for one in undone if one.event is not None]
    return visit.back(own_path(back), events=f"{min(numbers)}-{max(numbers)}" if numbers else None)


@router.post(f"{HOME}/lessons/{{id}}/pin")
def pin(visit: Changing, id: str, back: BackPathField = HOME) -> Response:
    return _back_to_lesson(visit, back, id, visit.writing().trading.pin(id).event)


@router.post(f"{HOME}/lessons/{{id}}/unpin")
def unpin(visit: Changing, id: str, back: BackPathField = HOME) -> Response:
    return _back_to_lesson(visit, back, id, visit.writing().trading.unpin(id).event)


@router.post(f"{HOME}/lessons/{{id}}/retire")
def retire(visit: Changing, id: str, back: BackPathField = HOME) -> Response:
    return _back_to_lesson(visit, back, id, visit.writing().trading.retire(id).event)


@router.post(f"{HOME}/lessons/{{id}}/restore")
def restore(visit: Changing, id: str, back: BackPathField = HOME) -> Response:
    return _back_to_lesson(visit, back, id, visit.writing().trading.restore_lesson(id).event)


def _back_to_lesson(visit: Visit, back: str, id: str, event: int | None) -> Response:
    path = own_path(back).partition("#")[0]
    return visit.back(f"{path}#l-{id}", event=event)


# A new deployment


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """What stands in the form."""

    skill: str = ""
    name: str = ""
    account: str = ""
    capital: str = ""
    currency: str = CURRENCY


@router.get(f"{HOME}/new")
def new(visit: Visiting, skill: str = "") -> Response:
    return _form(visit, SkillDraft(skill=skill[:NAME_LIMIT]))


@router.post(f"{HOME}/new")
def create(
    visit: Changing,
    skill: ShortField = "",
    name: ShortField = "",
    account: ShortField = "",
    capital: ShortField = "",
    currency: ShortField = "",
) -> Response:
    """Create a deployment, and its skill too, if there is none of that name."""
    draft = SkillDraft(skill.strip(), name.strip(), account.strip(), capital.strip(), currency.strip())
    book = visit.writing()
    try:
        with book.transaction():
            made = book.trading.create_deployment(
                draft.name, _skill(visit, draft.skill), account=draft.account or None,
                capital=draft.capital.replace(",", "") or None, currency=draft.currency or None,
            )  # fmt: skip
    except KeepbookError as error:
        return _form(visit, draft, error)
    return visit.back(f"{HOME}/{made.id}/load")


def _skill(visit: Visit, name: str) -> str:
    trading = visit.book.trading
    try:
        return trading.skill(name).id
    except NotFound:
        try:
            return trading.create_skill(name).id
        except Invalid as error:
            raise Invalid(error.message, field="skill") from None


def _form(visit: Visit, draft: SkillDraft, wrong: KeepbookError | None = None) -> Response:
    return visit.page(
        "trading_new.html", 422 if wrong else 200, draft=draft, wrong=wrong,
        known=[one.name for one in visit.book.trading.skills()], name_limit=NAME_LIMIT,
    )  # fmt: skip


# One trade


@router.post(f"{HOME}/{{id}}/trades/take-back")
def take_back_trade(visit: Changing, id: str, key: ShortField = "") -> Response:
    """One trade out; its load, to which this leads, puts it back."""
    load = visit.writing().trading.take_back_trade(key, deployment=id)
    return visit.back(f"/import/{load.nth}")


# Files


@router.get(f"{HOME}/load")
def load_form(visit: Visiting) -> Response:
    return _loading(visit, None)


@router.get(f"{HOME}/{{id}}/load")
def load_form_of_one(visit: Visiting, id: str, kind: str = "trades") -> Response:
    return _loading(visit, visit.book.trading.deployment(id), kind)


@router.post(f"{HOME}/load")
def load(visit: Changing, kind: ShortField = "", file: Annotated[UploadFile | None, File()] = None) -> Response:
    return _load(visit, None, kind, file)


@router.post(f"{HOME}/{{id}}/load")
def load_of_one(
    visit: Changing, id: str, kind: ShortField = "", file: Annotated[UploadFile | None, File()] = None
) -> Response:
    return _load(visit, visit.book.trading.deployment(id), kind, file)


def _load(visit: Visit, deployment: Deployment | None, kind: str, file: UploadFile | None) -> Response:
    """Answered with the page itself: what became of each row is nowhere kept, and sending it again changes nothing."""
    book = visit.writing()
    try:
        if kind not in (OF_ONE if deployment else FILES):
            raise Invalid("say what is in the file", field="kind")
        if file is None or not file.filename:
            raise Invalid("choose a file first", field="file")
        with tempfile.TemporaryDirectory(prefix="keepbook-") as folder:
            path = Path(folder) / "sent"
            with path.open("wb") as kept:
                shutil.copyfileobj(file.file, kept)
            loaded = book.trading.load(kind, path, deployment=None if deployment is None else deployment.id)
    except Invalid as error:
        return _loading(visit, deployment, kind, wrong=_at_the_file(error))
    return _loading(visit, deployment, kind, loaded=loaded, name=(file.filename or "")[:200])


def _at_the_file(error: Invalid) -> Invalid:
    """What is wrong with the whole file is said at the file."""
    if error.field in ("kind", "file"):
        return error
    return Invalid(error.message, field="file")


def _loading(
    visit: Visit,
    deployment: Deployment | None,
    kind: str = "",
    *,
    loaded: LoadedFile | None = None,
    wrong: Invalid | None = None,
    name: str = "",
) -> Response:
    kinds = {one: FILES[one] for one in (OF_ONE if deployment else FILES)}
    return visit.page(
        "trading_load.html", 422 if wrong else 200, deployment=deployment, kinds=kinds, kind=kind, loaded=loaded,
        wrong=wrong, name=name, most=visit.request.state.max_import // 1_000_000,
    )  # fmt: skip
