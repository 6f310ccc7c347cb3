"""A row in each table."""

from tests.contracts.habits.face import Habits, suggest_habit

from keepbook import Keepbook
from keepbook.book.book import Book


def furnish(kb: Keepbook, book: Book) -> None:
    """A habit that a memory names, a day on which it was kept, and an idea for everybody."""
    said = book.remember("Wants to go for a walk every day")
    habit = book.face(Habits).add("Walk", memory_id=said.id)
    book.face(Habits).keep(habit.id)
    suggest_habit(kb, "Drink water")
