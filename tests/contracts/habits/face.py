"""The habits of one owner (`book.habits`), how ideas come in (`kb.suggest_habit`), and the note on an idle habit."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from sqlalchemy import insert, select, update
from tests.contracts.habits.tables import habit_days, habit_ideas, habits

from keepbook import Keepbook
from keepbook.book.book import Book
from keepbook.book.ground import due
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.errors import Invalid, NotFound
from keepbook.storage.database import Tx

IDLE, IDLE_DAYS = "habits.idle", timedelta(days=7)
_HABITS = select(habits.c.id, habits.c.name, habits.c.memory_id, habits.c.kept_on)


@dataclass(frozen=True)
class Habit:
    id: str
    name: str
    memory_id: str | None  # in which the person said it
    kept_on: str | None  # the last day


class Habits:
    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def add(self, name: str, memory_id: str | None = None) -> Habit:
        """Begin a habit; `memory_id` is the memory in which the person said it."""
        self._book.ask("habits.write")
        habit = Habit(new_id(), clean_line(name, "name", 1, 80), memory_id, None)
        with self._book.writing() as (tx, _):
            tx.conn.execute(insert(habits), {"owner": tx.owner, **vars(habit)})
            _remind(tx, habit.id, tx.clock().date())
        return habit

    def keep(self, id: str, day: date | None = None) -> Habit:
        """Note a day on which a habit was kept, today if none is given; the same day again changes nothing."""
        self._book.ask("habits.write")
        with self._book.writing() as (tx, _):
            kept = day or tx.clock().date()
            if kept > tx.clock().date():
                raise Invalid(f"{kept} is still to come", field="day")
            _write_day(tx, _get_habit(tx, id), kept)
            return _get_habit(tx, id)

    def ideas(self) -> list[str]:
        """What might become a habit, the same for everybody."""
        self._book.ask("habits.read")
        with self._book.reading() as (tx, _, _):
            return [*tx.conn.execute(select(habit_ideas.c.name).order_by(habit_ideas.c.name)).scalars()]

    def list(self) -> list[Habit]:
        """All habits, by name."""
        self._book.ask("habits.read")
        with self._book.reading() as (tx, _, _):
            query = _HABITS.where(habits.c.owner == tx.owner).order_by(habits.c.name, habits.c.id)
            return [Habit(*row) for row in tx.conn.execute(query)]


def suggest_habit(kb: Keepbook, name: str) -> None:
    """Suggest a habit to everybody; again, and nothing changes."""
    idea = {"name": clean_line(name, "name", 1, 80)}
    with kb.book(kb.settings.owner).writing() as (tx, _):
        if tx.conn.execute(select(habit_ideas).filter_by(**idea)).first() is None:
            tx.conn.execute(insert(habit_ideas), idea)


def _get_habit(tx: Tx, id: str) -> Habit:
    found = tx.conn.execute(_HABITS.filter_by(owner=tx.owner, id=id)).first()
    if found is None:
        raise NotFound(f"there is no habit {id}", field="habit")
    return Habit(*found)


def _write_day(tx: Tx, habit: Habit, kept: date) -> None:
    row = {"owner": tx.owner, "habit_id": habit.id, "day": kept.isoformat()}
    if tx.conn.execute(select(habit_days).filter_by(**row)).first() is None:
        tx.conn.execute(insert(habit_days), {**row, "memory_id": habit.memory_id})
        tx.count("habit_days")
    if row["day"] > (habit.kept_on or ""):
        tx.conn.execute(update(habits).filter_by(owner=tx.owner, id=habit.id).values(kept_on=row["day"]))
        _remind(tx, habit.id, kept)


def _remind(tx: Tx, id: str, since: date) -> None:
    due.remind(tx, IDLE, id, stamp(datetime.combine(since + IDLE_DAYS, time(), UTC)))


def _note_idle(book: Book, item: due.Due) -> bool:
    with book.writing() as (tx, _):
        due.cancel(tx, item.work, item.id)
        found = tx.conn.execute(_HABITS.filter_by(owner=tx.owner, id=item.id)).first()
        if found is None or (found.kept_on or "") > (tx.clock().date() - IDLE_DAYS).isoformat():
            return False
        book.notes.write(f"{found.name}: not kept for {IDLE_DAYS.days} days.")
    return True


DUE = {IDLE: _note_idle}
WORDS = {IDLE: ("noted", "idle habit", "idle habits")}
