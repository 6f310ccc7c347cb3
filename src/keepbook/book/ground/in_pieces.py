"""Long writes in short pieces, so that others can write between them: a file has one writer at a time."""

import time

PIECE_SECONDS = 0.2
"""How long one piece holds the owner's lock, and about how long the next one is prepared before that."""
GAP_SECONDS = 0.1
"""How long the lock is free between two pieces (less after a shorter piece). Others that wait for a file's lock try
again only now and then."""


class Gaps:
    """Keeps the lock free between the pieces."""

    def __init__(self) -> None:
        self._began = self._freed = float("-inf")

    def wait(self) -> None:
        """Wait until the next piece may begin."""
        if self._freed > self._began:
            gap = min(GAP_SECONDS, self._freed - self._began)
        else:
            gap = 0.0
        time.sleep(max(0.0, self._freed + gap - time.perf_counter()))
        self._began = time.perf_counter()

    def freed(self) -> None:
        """A piece has ended."""
        self._freed = time.perf_counter()
