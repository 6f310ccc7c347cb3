"""What has happened in this process, counted by kind: for whoever runs it. No owner, no id, no text is in it.

A transaction counts for itself, and what it counted is added when it was kept; what was taken back never happened.
"""

import threading
from collections.abc import Mapping

Counts = Mapping[tuple[str, str], float]
"""By name and kind: ("writes", "remember")."""


class EventTally:
    """Counts that only grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], float] = {}

    def add(self, counts: Counts) -> None:
        with self._lock:
            for what, times in counts.items():
                self._counts[what] = self._counts.get(what, 0) + times

    def counts(self) -> Counts:
        with self._lock:
            return dict(self._counts)
