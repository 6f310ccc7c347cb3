"""Counts what happened in this process, by kind, for its operator. The counts have no owner, no id and no text.

A transaction counts for itself. Its counts are added when it is committed, and dropped when it is rolled back.
"""

import threading
from collections.abc import Callable, Mapping
from weakref import WeakMethod

from keepbook.forking import follow_forks

Counts = Mapping[tuple[str, str], float]
"""Counts by name and kind, such as ("writes", "remember")."""


class EventTally:
    """Counts that only grow."""

    def __init__(self) -> None:
        self._followers: list[WeakMethod[Callable[[Counts], None]]] = []
        self.renew_in_child()
        follow_forks(self)

    def follow(self, told: Callable[[Counts], None]) -> None:
        """Call a method with everything that is counted from now on, as long as its object lives."""
        self._followers = [each for each in self._followers if each() is not None]
        self._followers.append(WeakMethod(told))

    def renew_in_child(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], float] = {}

    def add(self, counts: Counts) -> None:
        with self._lock:
            for what, times in counts.items():
                self._counts[what] = self._counts.get(what, 0) + times
        for each in self._followers:
            method = each()
            if method is not None:
                method(counts)

    def counts(self) -> Counts:
        with self._lock:
            return dict(self._counts)
