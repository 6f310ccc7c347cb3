"""Long writes in short pieces, between which others have their turn: a file has one writer at a time."""

import time

PIECE_SECONDS = 0.2
"""So long one piece holds the owner's lock, and about so long the next is made ready before it begins."""
GAP_SECONDS = 0.1
"""At least so long the lock is free between two pieces: who waits for a file asks again only now and then."""


class Gaps:
    """Keeps the lock free between the pieces."""

    def __init__(self) -> None:
        self._freed = float("-inf")

    def wait(self) -> None:
        """Wait until the next piece may begin."""
        time.sleep(max(0.0, self._freed + GAP_SECONDS - time.perf_counter()))

    def freed(self) -> None:
        """A piece has ended."""
        self._freed = time.perf_counter()
