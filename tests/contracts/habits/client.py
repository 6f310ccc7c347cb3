"""The same face on a server."""

from tests.contracts.habits.face import Habit, Habits

from keepbook.client.asks import Asks
from keepbook.client.faces import remote_face_of

ASKS = {
    "list": Asks("GET", "/api/habits", list[Habit]),
    "ideas": Asks("GET", "/api/habits/ideas", list[str]),
    "add": Asks("POST", "/api/habits", Habit),
    "keep": Asks("POST", "/api/habits/{id}/days", Habit, query=("day",)),
}
HABITS = remote_face_of(Habits, ASKS)
