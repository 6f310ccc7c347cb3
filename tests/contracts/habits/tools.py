"""The one tool: which habits the person has."""

from functools import partial

from tests.contracts.habits.face import Habits

from keepbook.book.book import Book
from keepbook.book.ground.to_json import to_json
from keepbook.tools.definition import READS, Tool, ToolAnswer, define


def get_habits(book: Book, /) -> ToolAnswer:
    """The person's habits, and the day on which each was kept last."""
    found = book.face(Habits).list()
    words = "\n".join(f"{one.name}: {one.kept_on or 'not kept yet'}" for one in found)
    return ToolAnswer(words or "There are no habits.", {"habits": to_json(found)})


def habit_tools(book: Book) -> list[Tool]:
    return [define(partial(get_habits, book), name="get_habits", tags=("habits",), annotations=READS)]
