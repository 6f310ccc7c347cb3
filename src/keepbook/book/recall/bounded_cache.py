"""A least-recently-used cache with a bound."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from keepbook.forking import follow_forks

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class BoundedCache(Generic[K, V]):
    """Values by key. If they weigh more than `most`, the least recently used go. The newest stays, whatever it
    weighs."""

    def __init__(self, most: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        self._most, self._weigh = most, weigh
        self.renew_in_child()
        follow_forks(self)

    def renew_in_child(self) -> None:
        """Begin empty."""
        self._held: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
            return found

    def put(self, key: K, value: V) -> None:
        with self._lock:
            before = self._held.pop(key, None)
            self._held[key] = value
            self._weight += self._weigh(value) - (0 if before is None else self._weigh(before))
            while self._weight > self._most and len(self._held) > 1:
                self._weight -= self._weigh(self._held.popitem(last=False)[1])
