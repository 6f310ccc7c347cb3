"""The file of a SQLite book: where it may lie, who may read it, whether it is still there.

If a file is moved or deleted while it is open, writes to it are lost. If its log or the log's index is deleted, another
process makes new ones, and the two overwrite each other. So each connection remembers device and inode of all three,
and compares them before and after every commit; those of the index also before anything is written. Connections that a
forked child inherits are never used or closed there.
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
"""Files that the parent had open at the fork: SQLite wrongly believes that this process holds locks on them."""


class FileConnection(WatchedConnection):
    """A connection that knows which file it was opened on."""

    path: str
    real: str
    """The path without links, as it was when the connection was opened."""
    beside: tuple[str, ...]
    """The paths of the log and of its index. All processes share the index: it tells where the log ends."""
    file: FileIdentity
    place: tuple[FileIdentity, ...] | None = None
    """The identities of the file, its log and the index; None until the connection has read its file."""
    is_set_aside = False
    """Whether the connection is a parent's, so that it must not be used here."""

    def close(self) -> None:
        """Close the connection. The last one to close writes the log into the file and deletes it; that must not happen
        if others have made a new log, so then the connection is left open."""
        was = self.place or ()
        if any(now not in (before, None) for before, now in zip(was, self._found(), strict=False)):
            keep_for_ever(self)
            return
        super().close()
        _OPEN.discard(self)

    def note_place(self) -> None:
        """Remember the identities of the file, log and index, which exist now. They must be the same for all
        connections of this process, since SQLite uses one index for all."""
        self.place = self._found()
        if any(other.place not in (None, self.place) for other in _OPEN.living() if other.file == self.file):
            raise moved(self.path)

    def check_index(self) -> None:
        """Refuse to write if others have made a new index: what they write would be overwritten."""
        if self.place is not None and identity_of(self.beside[1]) != self.place[2]:
            raise moved(self.path)

    def check_in_place(self) -> None:
        """Refuse a commit if the file, its log or the index was replaced, or tell that one may be lost."""
        if self._found() != self.place:
            raise moved(self.path)

    def _found(self) -> tuple[FileIdentity, ...]:
        return self._identity_of_file(), identity_of(self.beside[0]), identity_of(self.beside[1])

    def _identity_of_file(self) -> FileIdentity:
        """None too if the file is found by a link that was put in its place: others look for its log beside the file
        itself."""
        found = identity_of(self.path)
        if found != identity_of(self.real, follows=False):
            return None
        return found


def connect_file(path: str, **options: Any) -> FileConnection:
    """Open a file, which is made if there is none: for its owner alone."""
    real = os.path.realpath(path)
    _make_private(real)
    found = identity_of(path)
    if found in _OPEN_AT_FORK:
        raise _open_at_fork(path)
    conn = sqlite3.connect(path, factory=FileConnection, **options)
    conn.path, conn.real, conn.file = path, real, found
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
    """In a forked child, make the parent's connections unusable: those still open were in use at the fork."""
    for conn in _OPEN.living():
        _OPEN_AT_FORK.add(conn.file)
        keep_for_ever(conn)
        conn.is_set_aside = True
        for name in ("commit", "rollback", "execute", "executemany", "executescript", "cursor", "backup", "close"):
            setattr(conn, name, _refused_call(conn.path))
    _OPEN.clear()


def identity_of(path: str, *, follows: bool = True) -> FileIdentity:
    look = os.stat if follows else os.lstat
    try:
        found = look(path)
    except OSError as error:
        if error.errno is None:  # not the system's: what a signal handler raised, such as TimeoutError
            raise
        return None
    return found.st_dev, found.st_ino


def check_place(path: Path) -> None:
    """Refuse a path that SQLite could not open, with an error that says what is wrong."""
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
        return  # open already, so it is a book; and closing any handle on it would release this process's locks
    with path.open("rb") as file:
        head = file.read(100)
    if head and not head.startswith(b"SQLite format 3\x00"):
        raise Invalid(
            f"{path} is not a book (not even a SQLite file); choose another path",
            code="not_a_book",
            field="db",
        )
    # Read from the header, so that SQLite does not even open another program's file.
    schema_cookie = int.from_bytes(head[40:44], "big")
    application = int.from_bytes(head[68:72], "big")
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
    """The Keepbook error for a message of SQLite about the file; None for other messages."""
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
    """Make the file, with rights for its owner alone; SQLite gives its log the same rights."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:  # it is there, or SQLite will say why it cannot be
        if error.errno is None:  # see `identity_of`
            raise


def _open_at_fork(path: str) -> Conflict:
    return forked(
        f"while a transaction on {path} was open; it cannot use that book: fork outside of transactions, or start "
        "the process anew (multiprocessing's spawn)"
    )


def _refused_call(path: str) -> Any:
    def refuse(*_: object, **__: object) -> Any:
        raise _open_at_fork(path)

    return refuse
