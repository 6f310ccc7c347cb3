"""How often somebody may come: a bucket for each token or address, refilled evenly.

The buckets of one process lie in its memory. Those of several workers lie in one small file that all of them map: a
database would cost a write for each request. Whoever comes is a number there, under a key that only this server knows,
and takes one of a few places; when all of them are taken, the one longest away makes room. The file is locked as the
system locks files, so that a worker that is killed holds up nobody.
"""

import hashlib
import math
import mmap
import os
import secrets
import struct
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from keepbook.errors import LimitReached

KEY_BYTES = 16
PLACES = 8
"""How many places there are for one number: as many as are looked through."""
SLOTS = 65_536
MOST_IN_MEMORY = 10_000
_BUCKET = struct.Struct("=Qdd")
"""Who, how many requests are left, and when that was: a clock that all processes of a machine share."""


class Buckets(Protocol):
    def take(self, who: str, per_minute: int) -> float:
        """Take one request out of somebody's bucket and return what is left. If it is empty nothing is taken, and what
        is missing is returned below zero."""


@dataclass(slots=True)
class OwnBuckets:
    """The buckets of this process. Past ten thousand it starts anew."""

    _held: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, who: str, per_minute: int) -> float:
        if len(self._held) > MOST_IN_MEMORY:
            self._held.clear()
        now = time.monotonic()
        left, at = self._held.get(who, (per_minute, now))
        left, answer = _pour(left, now - at, per_minute)
        self._held[who] = (left, now)
        return answer


class SharedBuckets:
    """The buckets of all workers of one server, in the file that `shared_file` makes."""

    def __init__(self, path: Path) -> None:
        import fcntl  # not on every system, and only several workers need it

        self._lock_file = fcntl.lockf
        self._exclusive, self._unlock = fcntl.LOCK_EX, fcntl.LOCK_UN
        self._file = os.open(path, os.O_RDWR)
        self._held = mmap.mmap(self._file, 0)
        self._key = self._held[:KEY_BYTES]
        self._threads = threading.Lock()  # the file's lock parts processes, not threads

    def take(self, who: str, per_minute: int) -> float:
        number = int.from_bytes(hashlib.blake2b(who.encode(), digest_size=8, key=self._key).digest()) or 1
        with self._threads:
            self._lock_file(self._file, self._exclusive)
            try:
                return self._take(number, per_minute)
            finally:
                self._lock_file(self._file, self._unlock)

    def _take(self, number: int, per_minute: int) -> float:
        now = time.monotonic()
        start = KEY_BYTES + number % (SLOTS // PLACES) * PLACES * _BUCKET.size
        places = list(_BUCKET.iter_unpack(self._held[start : start + PLACES * _BUCKET.size]))
        known = next((place for place, held in enumerate(places) if held[0] == number), None)
        if known is None:
            known = min(range(PLACES), key=lambda place: places[place][2])
            places[known] = (number, per_minute, now)
        _, left, at = places[known]
        left, answer = _pour(left, now - at, per_minute)
        _BUCKET.pack_into(self._held, start + known * _BUCKET.size, number, left, now)
        return answer


def shared_file() -> Path:
    """A new file for `SharedBuckets`, for this user alone; who made it removes it."""
    descriptor, name = tempfile.mkstemp(prefix="keepbook-rates-")
    with open(descriptor, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.truncate(KEY_BYTES + SLOTS * _BUCKET.size)
    return Path(name)


def _pour(left: float, seconds: float, per_minute: int) -> tuple[float, float]:
    """What is left after one more request, and the same as an answer: below zero, if it is too many."""
    left = min(per_minute, left + max(0.0, seconds) * per_minute / 60)
    if left >= 1:
        return left - 1, left - 1
    return left, left - 1


@dataclass(frozen=True, slots=True)
class Meter:
    """One rate for everybody, each counted apart. `kind` parts it from other meters over the same buckets."""

    kind: str
    per_minute: int
    buckets: Buckets

    def count_attempt(self, who: str) -> float:
        """Count one more, and return how many are left; raises `LimitReached` where it is too many."""
        if not self.per_minute:
            return 0.0
        left = self.buckets.take(f"{self.kind} {who}", self.per_minute)
        if left < 0:
            wait = max(1, round(-left * 60 / self.per_minute))
            raise LimitReached(f"too many requests; wait {wait} s", code="rate", retry_after=wait)
        return left

    def headers(self, left: float) -> list[tuple[bytes, bytes]]:
        """What an answer says of the rate: how many are left, and in how many seconds all are there again."""
        if not self.per_minute:
            return []
        full = math.ceil((self.per_minute - left) * 60 / self.per_minute)
        name = f'"{self.kind}"'
        return [
            (b"ratelimit-policy", f"{name};q={self.per_minute};w=60".encode()),
            (b"ratelimit", f"{name};r={int(left)};t={full}".encode()),
        ]
