"""The page of habits with its place in the menu, and the form that notes a day."""

from fastapi import APIRouter
from fastapi.responses import Response
from tests.contracts.habits.face import Habits

from keepbook.doors.http.web.frame.extension_pages import NavItem
from keepbook.doors.http.web.frame.visit import Changing, Visiting

PLACES = (NavItem("habits", "Habits", "/habits", "check", "h"),)
router = APIRouter(include_in_schema=False)


@router.get("/habits")
def show_habits(visit: Visiting) -> Response:
    face = visit.book.face(Habits)
    return visit.page("habits.html", habits=face.list(), ideas=face.ideas())


@router.post("/habits/{id}/keep")
def keep_today(visit: Changing, id: str) -> Response:
    visit.writing("habits.write").face(Habits).keep(id)
    return visit.back("/habits")
