"""The file of a SQLite book: where it may lie, who may read it, whether it is still there.

A file that was moved or deleted while it is open takes writes that nobody finds again, and one whose log or the log's
index was deleted is written over by whoever makes a new one. So each connection knows the device and inode of all
three, and before and after every commit they are looked at; the index also before anything is written. Connections that
a child inherits are refused there, and never closed.
"""

import os
import sqlite3
from pathlib import Path
from typing import Any

from keepbook.errors import Conflict, Invalid, KeepbookError, LimitReached, NotAllowed
from keepbook.forking import LivingSet, forked, keep_for_ever
from keepbook.storage.engines.sqlite_connection import WatchedConnection

APPLICATION_ID = 0x4B424F4B
"""Marks a SQLite file as a book ("KBOK"), so that another program's file is never taken for one."""

FileIdentity = tuple[int, int] | None
"""Device and inode; None if there is no file."""

_OPEN: "LivingSet[FileConnection]" = LivingSet()
_OPEN_AT_FORK: set[FileIdentity] = set()
"""Files that SQLite believes locked in this process, since its parent had them open."""


class FileConnection(WatchedConnection):
    """A connection that knows which file it was opened on."""

    path: str
    beside: tuple[str, ...]
    """The paths of the log and of its index, which say to every process where the log ends and who writes it."""
    file: FileIdentity
    place: tuple[FileIdentity, ...] | None = None
    """The file, its log and the index, once the connection has read its file."""
    is_set_aside = False
    """Whether it is a parent's, and nothing is to be done with it here."""

    def close(self) -> None:
        """The last one to close empties its log into the file and deletes it: not where others have made a new one."""
        was = self.place or ()
        if any(now not in (before, None) for before, now in zip(was, self._found(), strict=False)):
            keep_for_ever(self)
            return
        super().close()
        _OPEN.discard(self)

    def note_place(self) -> None:
        """Remember the log and its index, which are there now. This process has one index for all connections."""
        self.place = self._found()
        if any(other.place not in (None, self.place) for other in _OPEN.living() if other.file == self.file):
            raise moved(self.path)

    def check_index(self) -> None:
        """Refuse to write where others have made an index of their own: they would be written over."""
        if self.place is not None and identity_of(self.beside[1]) != self.place[2]:
            raise moved(self.path)

    def check_in_place(self) -> None:
        """Refuse to write to a file, a log or an index that no longer stands where the book is, or what was written."""
        if self._found() != self.place:
            raise moved(self.path)

    def _found(self) -> tuple[FileIdentity, ...]:
        return identity_of(self.path), identity_of(self.beside[0]), identity_of(self.beside[1])


def connect_file(path: str, **options: Any) -> FileConnection:
    """Open a file, which is made if there is none: for its owner alone."""
    real = os.path.realpath(path)
    _make_private(real)
    found = identity_of(path)
    if found in _OPEN_AT_FORK:
        raise _open_at_fork(path)
    conn = sqlite3.connect(path, factory=FileConnection, **options)
    conn.path, conn.file = path, found
    conn.beside = (f"{real}-wal", f"{real}-shm")  # beside the file itself, not beside a link to it
    _OPEN.add(conn)
    return conn


def moved(path: str) -> Conflict:
    return Conflict(
        f"{path} or its log was moved, replaced or deleted while it was open; put it back, open the book again in a "
        "new process, and look whether the last write is in it",
        code="moved",
    )


def set_open_files_aside() -> None:
    """In a child: what is still open was in use at the fork."""
    for conn in _OPEN.living():
        _OPEN_AT_FORK.add(conn.file)
        keep_for_ever(conn)
        conn.is_set_aside = True
        for name in ("commit", "rollback", "execute", "executemany", "executescript", "cursor", "backup", "close"):
            setattr(conn, name, _refused_call(conn.path))
    _OPEN.clear()


def identity_of(path: str) -> FileIdentity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_place(path: Path) -> None:
    """What SQLite would call "unable to open database file", said so that one can act on it."""
    if path.is_dir():
        raise Invalid(f"{path} is a folder; give the path of a file, such as {path / 'keepbook.db'}", field="db")
    if not path.exists():
        if not path.parent.is_dir():
            raise Invalid(f"the folder {path.parent} does not exist; make it first, or choose another path", field="db")
        if not os.access(path.parent, os.W_OK):
            raise NotAllowed(f"the folder {path.parent} cannot be written to; choose another path", code="read_only")
        return
    if not os.access(path, os.R_OK):
        raise NotAllowed(f"{path} cannot be read by this user; check its permissions", code="read_only")
    if identity_of(str(path)) in {conn.file for conn in _OPEN.living()}:
        return  # known; and to close a file lets go of all locks that this process has on it
    with path.open("rb") as file:
        head = file.read(100)
    if head and not head.startswith(b"SQLite format 3\x00"):
        raise Invalid(
            f"{path} is not a book (not even a SQLite file); choose another path",
            code="not_a_book",
            field="db",
        )
    # Read off the file's header, so that another program's file is not even opened.
    schema_cookie, application = int.from_bytes(head[40:44], "big"), int.from_bytes(head[68:72], "big")
    if schema_cookie and application != APPLICATION_ID:
        raise not_a_book(str(path))


def not_a_book(place: str) -> Invalid:
    return Invalid(
        f"{place} is a SQLite file of another program, not a book; choose another path", code="not_a_book", field="db"
    )


def is_locked(error: BaseException) -> bool:
    """Whether somebody else is writing the file."""
    return isinstance(error, sqlite3.OperationalError) and "database is locked" in str(error)


def refusal_of(words: str, place: str) -> KeepbookError | None:
    """What SQLite's own words mean to a person, if they are about the file."""
    if "database is locked" in words or "database table is locked" in words:
        return Conflict(f"{place} is busy: another program has been writing to it for long; try again", code="busy")
    if "readonly database" in words or "unable to open database file" in words:
        return NotAllowed(
            f"{place} cannot be written to; check the permissions of the file and its folder",
            code="read_only",
        )
    if "disk is full" in words:
        return LimitReached(
            f"the disk that holds {place} is full; nothing was written; make room and try again",
            code="disk_full",
        )
    if "disk I/O error" in words:
        return KeepbookError(f"the disk that holds {place} gave an error; nothing was written", code="disk_error")
    if "malformed" in words or "not a database" in words or "Could not decode to UTF-8" in words:
        return damaged_file(place)
    return None


def damaged_file(place: str) -> Invalid:
    return Invalid(f"{place} is damaged or not a book; restore it from a backup", code="not_a_book", field="db")


def _make_private(path: str) -> None:
    """A file with rights for its owner alone; SQLite gives its log the same."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError:  # it is there, or SQLite will say why it cannot be
        return


def _open_at_fork(path: str) -> Conflict:
    return forked(
        f"while a transaction on {path} was open; it cannot use that book: fork outside of transactions, or start "
        "the process anew (multiprocessing's spawn)"
    )


def _refused_call(path: str) -> Any:
    def refuse(*_: object, **__: object) -> Any:
        raise _open_at_fork(path)

    return refuse
