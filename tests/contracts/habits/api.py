"""The API: `/api/habits`."""

from datetime import date
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import Response
from tests.contracts.habits.face import Habit, Habits

from keepbook.doors.http.api.memory_bodies import RequestBody
from keepbook.doors.http.call import Call, json_response, permitted_call
from keepbook.doors.http.fast_path import FastRoute
from keepbook.doors.http.problems import USUAL

router = APIRouter(prefix="/api/habits", tags=["habits"], responses=USUAL, route_class=FastRoute)
Reading = Annotated[Call, permitted_call("habits.read")]
Writing = Annotated[Call, permitted_call("habits.write")]


class NewHabit(RequestBody):
    name: str
    memory_id: str | None = None


@router.get("", response_model=list[Habit])
def list_habits(call: Reading) -> Response:
    return json_response(call.book.face(Habits).list())


@router.get("/ideas", response_model=list[str])
def list_habit_ideas(call: Reading) -> Response:
    return json_response(call.book.face(Habits).ideas())


@router.post("", response_model=Habit, status_code=201)
def add_habit(call: Writing, habit: NewHabit) -> Response:
    return call.write(lambda book: book.face(Habits).add(habit.name, habit.memory_id), 201)


@router.post("/{id}/days", response_model=Habit)
def keep_habit(call: Writing, id: str, day: date | None = None) -> Response:
    return call.write(lambda book: book.face(Habits).keep(id, day))
