"""Background work after writes: one thread, one owner after the other. Nobody waits for it.

It begins when an owner has not written for a moment. So a burst of writes is embedded at once, and a program that
writes and ends need not load the embedder; the next program finds what it leaves. At exit the current step is waited
for, however long it takes: a thread inside an embedder's native code would abort the program.
"""

import atexit
import threading
import time
from collections.abc import Callable

from keepbook.book.ground.one_line_log import get_logger
from keepbook.errors import KeepbookError
from keepbook.forking import follow_forks

_log = get_logger("keepbook")

QUIET, LATEST = 0.5, 5.0
"""Work for an owner begins after the first number of seconds without a write, or at the latest the second number after
the first write."""


class Filler:
    """Calls `work` with each owner that was nudged. Long work checks `is_closed` between its steps."""

    def __init__(self, work: Callable[[str], object]) -> None:
        self._work = work
        self.is_closed: bool = False
        self.renew_in_child()
        follow_forks(self)

    def renew_in_child(self) -> None:
        """Begin without a thread in a forked child. The parent does its own waiting work."""
        atexit.unregister(self.close)
        self._waiting: dict[str, tuple[float, float]] = {}
        self._awake = threading.Condition()
        self._thread: threading.Thread | None = None

    def nudge(self, owner: str) -> None:
        """Say that there may be work for this owner."""
        now = time.monotonic()
        with self._awake:
            if self.is_closed:
                return
            first, _ = self._waiting.get(owner, (now, now))
            self._waiting[owner] = first, now
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="keepbook vectors", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._awake.notify()

    def close(self) -> None:
        """Take no new work, and wait for the current step."""
        with self._awake:
            self.is_closed = True
            self._awake.notify()
        atexit.unregister(self.close)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        owner = self._next()
        while owner is not None:
            try:
                self._work(owner)
            except KeepbookError as error:  # only a backlog is left; the next nudge tries again
                _log.warning("vectors wait: %s", error.code)
            except Exception as error:  # noqa: BLE001  one owner's trouble must not end the work for all others
                _log.warning("vectors wait: %s", type(error).__name__)
            owner = self._next()

    def _next(self) -> str | None:
        """Wait until it is some owner's turn, and return them, the longest waiting first; None once this is closed."""
        with self._awake:
            while not self.is_closed:
                if not self._waiting:
                    self._awake.wait()
                    continue
                owner, (first, last) = next(iter(self._waiting.items()))
                left = min(last + QUIET, first + LATEST) - time.monotonic()
                if left <= 0:
                    del self._waiting[owner]
                    return owner
                self._awake.wait(left)
        return None
