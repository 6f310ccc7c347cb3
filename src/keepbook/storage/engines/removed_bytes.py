"""Overwrites what was removed for good and still stands in the bytes of a SQLite file or its log.

SQLite overwrites each row that goes (secure_delete). Copies are left in the log, which keeps older pages, and in the
stretches of a page that no row uses, where a page was rebalanced before. A small file is rewritten whole (VACUUM),
which nobody notices. In a larger one that would hold up all writers, so only those stretches are overwritten, some
pages at a time.

Why that is safe beside other connections: while this one has the writer's lock and the log is empty, nobody changes the
file. Whoever reads meanwhile reads the same, since no row uses what is overwritten. The commit at the end of a piece
makes every connection forget the pages that it has read, so that none writes an old stretch back.

The file itself counts removals (`user_version`) until this is done, so that a sweep does it for a process that was
ended before.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

from keepbook.storage.engines.book_file import FileIdentity, is_locked

SMALL_FILE = 4_000_000
"""Up to so many bytes a file is rewritten whole: a tenth of a second."""
MOST_PAGES = 1 << 25
"""In a file of so many pages, the first byte of a page does not tell its kind any more."""
PAGES_IN_A_PIECE = 1000
MOST_GAP = 0.1
"""The longest time for which the lock is free between two pieces, in seconds: it is free for as long as it was held,
since those who wait for a file's lock try again only now and then."""
PATIENCE = 5.0
"""For how many seconds one waits for readers, who keep the log from being emptied. Nobody waits for that."""

CELLS_BEGIN = {2: 12, 5: 12, 10: 8, 13: 8}
"""Where the list of cells begins, for each kind of page that has rows: after a page's first bytes."""
FILE_HEADER = 100

ByteRange = tuple[int, int]

_HANDLES: dict[FileIdentity, int] = {}
"""Open files, which are never closed: closing any handle on a file releases all locks of this process on it."""

# Rules


def unused_stretches(page: bytes, *, is_first: bool = False) -> list[ByteRange] | None:
    """The stretches of a page that no row uses: between the list of its cells and the first of them, and those that
    were freed. None if the page does not read as one that has rows, as one that is being written meanwhile."""
    begin = FILE_HEADER if is_first else 0
    cells_begin = CELLS_BEGIN.get(page[begin])
    if cells_begin is None:
        return []
    list_end = begin + cells_begin + 2 * _number(page, begin + 3)
    cells = _number(page, begin + 5) or 65536
    if not list_end <= cells <= len(page):
        return None
    found = [(list_end, cells)]
    freed = _number(page, begin + 1)
    last = cells
    while freed:
        end = freed + _number(page, freed + 2) if last <= freed <= len(page) - 4 else 0
        if not freed + 4 <= end <= len(page):
            return None
        found.append((freed + 4, end))
        freed, last = _number(page, freed), end
    return found


def _number(page: bytes, at: int) -> int:
    return int.from_bytes(page[at : at + 2], "big")


def _is_blank(page: bytes, stretch: ByteRange) -> bool:
    begin, end = stretch
    return page.count(0, begin, end) == end - begin


# Operations


def note_removal(driver: sqlite3.Connection) -> None:
    """Count one more removal, in the transaction that removes."""
    driver.execute(f"PRAGMA user_version = {(removals(driver) + 1) % (1 << 31)}")


def removals(driver: sqlite3.Connection) -> int:
    """How many removals are noted."""
    return int(driver.execute("PRAGMA user_version").fetchone()[0])


def overwrite_removed(connect: Callable[[], sqlite3.Connection], path: str) -> list[str]:
    """Overwrite what was removed until now; says what could not be reached."""
    with closing(connect()) as driver:
        try:
            return _Overwriting(driver, path).run()
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
            return ["the free space of the file while another program writes it; a sweep overwrites it"]


class _Overwriting:
    """One going through a file."""

    def __init__(self, driver: sqlite3.Connection, path: str) -> None:
        self._driver, self._path = driver, path
        self._noted = removals(driver)

    def run(self) -> list[str]:
        if self._is_small():
            self._driver.execute("VACUUM")
            done = self._empty_log()
        else:
            done = self._empty_log() and self._overwrite(_handle(self._path)) and self._empty_log()
        if not done:
            return ["the file's free space and its log while another program reads it; a sweep overwrites them"]
        self._settle()
        return []

    def _is_small(self) -> bool:
        pages = self._driver.execute("PRAGMA page_count").fetchone()[0]
        size = os.stat(self._path).st_size
        return size <= SMALL_FILE or pages >= MOST_PAGES or not hasattr(os, "pread")

    def _empty_log(self, patience: float = PATIENCE) -> bool:
        """Write the log into the file and empty it. A reader of older pages keeps it from being emptied; SQLite would
        wait for that one with the writer's lock in its hand, so it is told not to wait."""
        until = time.monotonic() + patience
        waits = self._driver.execute("PRAGMA busy_timeout").fetchone()[0]
        self._driver.execute("PRAGMA busy_timeout = 0")
        try:
            self._driver.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()  # the most of it needs no lock
            while self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > until:
                    return False
                time.sleep(0.02)
            return True
        finally:
            self._driver.execute(f"PRAGMA busy_timeout = {waits}")

    def _overwrite(self, handle: int) -> bool:
        """Overwrite the unused stretches of all pages. Which have any is looked up while nobody waits."""
        size, found = _pages_to_overwrite(handle)
        for start in range(0, len(found), PAGES_IN_A_PIECE):
            if not self._begin_piece():
                return False
            began = time.monotonic()
            for nth in found[start : start + PAGES_IN_A_PIECE]:
                _overwrite_page(handle, size, nth)
            self._driver.execute(f"PRAGMA user_version = {removals(self._driver)}")  # others forget what they have read
            self._driver.execute("COMMIT")
            os.fsync(handle)
            time.sleep(min(MOST_GAP, time.monotonic() - began))
        return True

    def _begin_piece(self) -> bool:
        """Take the writer's lock at a moment when the log is empty."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self._empty_log(until - time.monotonic()):
            self._driver.execute("BEGIN IMMEDIATE")
            if os.stat(f"{os.path.realpath(self._path)}-wal").st_size == 0:
                return True
            self._driver.execute("ROLLBACK")  # somebody wrote in between
        return False

    def _settle(self) -> None:
        """Nothing waits any more, but for what was removed meanwhile."""
        self._driver.execute("BEGIN IMMEDIATE")
        if removals(self._driver) == self._noted:
            self._driver.execute("PRAGMA user_version = 0")
        self._driver.execute("COMMIT")


def _handle(path: str) -> int:
    found = os.stat(path)
    identity = found.st_dev, found.st_ino
    if identity not in _HANDLES:
        _HANDLES[identity] = os.open(path, os.O_RDWR)
    return _HANDLES[identity]


def _overwrite_page(handle: int, size: int, nth: int) -> None:
    page = os.pread(handle, size, nth * size)
    for begin, end in unused_stretches(page) or ():
        if not _is_blank(page, (begin, end)):
            os.pwrite(handle, bytes(end - begin), nth * size + begin)


# Queries


def _pages_to_overwrite(handle: int) -> tuple[int, Sequence[int]]:
    """The size of a page, and which pages have something in stretches that no row uses. Not the first, which holds the
    schema alone."""
    size = int.from_bytes(os.pread(handle, 2, 16), "big")
    if size == 1:
        size = 65536
    return size, [nth for nth, page in _pages(handle, size) if _is_to_overwrite(page)]


def _is_to_overwrite(page: bytes) -> bool:
    stretches = unused_stretches(page)
    return stretches is None or not all(_is_blank(page, one) for one in stretches)


def _pages(handle: int, size: int) -> Iterator[tuple[int, bytes]]:
    at_once = 256
    nth = 1
    while chunk := os.pread(handle, at_once * size, nth * size):
        for start in range(0, len(chunk) - size + 1, size):
            yield nth, chunk[start : start + size]
            nth += 1
        if len(chunk) < size:
            return
