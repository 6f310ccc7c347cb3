"""What `Database` asks of each engine."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from keepbook.errors import KeepbookError
from keepbook.extension import Extension
from keepbook.storage.installed import Record
from keepbook.storage.transactions.savepoints import WatchedEngine

Found = TypeVar("Found")


class Backend(WatchedEngine, Protocol):
    """What each engine does in its own way."""

    address: str

    def prepare(self, extensions: Sequence[Extension]) -> Record:
        """Check that this program knows the schema and that it has the tables of these extensions; if not, raise an
        error that says what to do. Returns the record of what is installed."""

    def reading(self, owner: str) -> AbstractContextManager[Connection]:
        """A snapshot that sees `owner` alone."""

    def writing(self, owner: str) -> AbstractContextManager[Connection]:
        """A durable transaction that holds the owner's write lock."""

    def unscoped(self, *, writes: bool, write_lock: str | None = None) -> AbstractContextManager[Connection]:
        """A transaction without an owner. It sees only tables without personal text. `write_lock` names a lock to hold
        meanwhile."""

    def administering(self, address: str | None) -> AbstractContextManager[Connection]:
        """A transaction of the administrator on tables without an owner. `address` is theirs; None: this login."""

    def query_once(self, ask: Callable[[Connection], Found]) -> Found:
        """Run one query outside a transaction, on tables without an owner. It may be repeated if the connection was
        lost."""

    def compact(self) -> list[str]:
        """Overwrite what files and logs still hold after an erasure; returns what could not be reached."""

    def note_removal(self, conn: Connection) -> None:
        """Note in a transaction that it removes something for good, until `compact` is done."""

    def holds_removed(self) -> bool:
        """Whether something was removed after which `compact` was not done."""

    def refusal(self, error: Exception) -> KeepbookError | None:
        """The Keepbook error to raise in place of a database error, if a person can act on it."""

    def damage(self) -> KeepbookError | None:
        """An error that tells of damage to the files under the book, if there is any. May read all of them."""

    def facts(self) -> dict[str, str]:
        """What `keepbook doctor` shows."""

    def close(self) -> None: ...
