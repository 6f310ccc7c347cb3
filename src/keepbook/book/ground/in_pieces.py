"""Long writes in short pieces, so that others can write between them: a file has one writer at a time."""

import time
from collections.abc import Callable

PIECE_SECONDS = 0.2
"""How long one piece holds the owner's lock, and about how long the next one is prepared before that."""
GAP_SECONDS = 0.1
"""How long the lock is free between two pieces (less after a shorter piece). Others that wait for a file's lock try
again only now and then."""


Stopping = Callable[[], bool]
"""Whether the process is told to stop."""


def nobody_stops() -> bool:
    return False


def after_grace(told: Stopping, seconds: float) -> Stopping:
    """The same, some `seconds` after it is noticed: for work that may well be done by then."""
    noticed: list[float] = []

    def is_over() -> bool:
        if not noticed and told():
            noticed.append(time.monotonic())
        return bool(noticed) and time.monotonic() - noticed[0] >= seconds

    return is_over


class ToldToStop(Exception):
    """Somebody ends the process. What is left to do is done when it is begun again."""


class Gaps:
    """Keeps the lock free between the pieces, and begins none once it is `told` to stop: give it the database's
    `told_to_stop` where a sweep does what is left."""

    def __init__(self, told: Stopping = nobody_stops) -> None:
        self.told = told
        self._began = self._freed = float("-inf")

    def go_on(self) -> None:
        """Begin no more where it is told to stop."""
        if self.told():
            raise ToldToStop

    def wait(self) -> None:
        """Wait until the next piece may begin."""
        self.go_on()
        if self._freed > self._began:
            gap = min(GAP_SECONDS, self._freed - self._began)
        else:
            gap = 0.0
        time.sleep(max(0.0, self._freed + gap - time.perf_counter()))
        self._began = time.perf_counter()

    def freed(self) -> None:
        """A piece has ended."""
        self._freed = time.perf_counter()
