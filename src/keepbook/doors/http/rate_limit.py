"""Rate limits: a token bucket for each key or address, refilled evenly.

The buckets of one process are in its memory. Those of several workers are in one small file that all of them map: a
database would cost a write for each request. In the file a caller is a keyed 64-bit hash, so it holds no address. The
hash decides on a set of eight slots; the caller takes one of them, and if all are taken, the one not used for longest
is overwritten. The file is locked by the system's own file lock, which ends with its process: a worker that is killed
blocks nobody.
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
from typing import NamedTuple, Protocol

from keepbook.errors import LimitReached

KEY_BYTES = 16
"""The file begins with the key of the hash."""
WAYS = 8
"""Slots in a set: how many are looked through for one caller."""
SLOTS = 65_536
MOST_IN_MEMORY = 10_000
_SLOT = struct.Struct("=Qdd")
"""A `BucketSlot` as bytes."""


class BucketSlot(NamedTuple):
    """caller: the hash; 0 in an empty slot
    left: how many requests were left
    time: of the last request, by the monotonic clock, which all processes of a machine share
    """

    caller: int
    left: float
    time: float


class Buckets(Protocol):
    def take(self, who: str, per_minute: int) -> float:
        """Take one request out of somebody's bucket and return how many are left. From an empty bucket nothing is
        taken, and the answer is below zero: by how much of a request it falls short."""


@dataclass(slots=True)
class OwnBuckets:
    """The buckets of this process. With more than MOST_IN_MEMORY it forgets them all."""

    _held: dict[str, tuple[float, float]] = field(default_factory=dict)

    def take(self, who: str, per_minute: int) -> float:
        if len(self._held) > MOST_IN_MEMORY:
            self._held.clear()
        now = time.monotonic()
        before, at = self._held.get(who, (per_minute, now))
        left, answer = _refill_and_take(before, now - at, per_minute)
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
        self._threads = threading.Lock()  # the file's lock excludes other processes, but not other threads

    def take(self, who: str, per_minute: int) -> float:
        digest = hashlib.blake2b(who.encode(), digest_size=8, key=self._key).digest()
        caller = int.from_bytes(digest) or 1  # 0 marks an empty slot
        with self._threads:
            self._lock_file(self._file, self._exclusive)
            try:
                return self._take(caller, per_minute)
            finally:
                self._lock_file(self._file, self._unlock)

    def _take(self, caller: int, per_minute: int) -> float:
        now = time.monotonic()
        number_of_set = caller % (SLOTS // WAYS)
        bytes_of_set = WAYS * _SLOT.size
        start = KEY_BYTES + number_of_set * bytes_of_set
        slots = [BucketSlot(*values) for values in _SLOT.iter_unpack(self._held[start : start + bytes_of_set])]
        place = next((place for place, slot in enumerate(slots) if slot.caller == caller), None)
        if place is None:  # an empty slot has the time 0, so it goes first
            place = min(range(WAYS), key=lambda place: slots[place].time)
            slots[place] = BucketSlot(caller, per_minute, now)
        slot = slots[place]
        left, answer = _refill_and_take(slot.left, now - slot.time, per_minute)
        _SLOT.pack_into(self._held, start + place * _SLOT.size, caller, left, now)
        return answer


def shared_file() -> Path:
    """Make a new file for `SharedBuckets`, readable by this user alone. The caller removes it."""
    descriptor, name = tempfile.mkstemp(prefix="keepbook-rates-")
    with open(descriptor, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.truncate(KEY_BYTES + SLOTS * _SLOT.size)
    return Path(name)


def _refill_and_take(before: float, seconds: float, per_minute: int) -> tuple[float, float]:
    """Two numbers: what stays in the bucket, and what `take` answers. They differ only if the request is refused:
    then nothing is taken, and the answer is below zero."""
    filled = min(per_minute, before + max(0.0, seconds) * per_minute / 60)
    after = filled - 1
    if after >= 0:
        return after, after
    return filled, after


@dataclass(frozen=True, slots=True)
class Meter:
    """The same rate for every caller, each counted apart. Two meters over the same buckets have different `kind`s."""

    kind: str
    per_minute: int
    buckets: Buckets

    def count_attempt(self, who: str) -> float:
        """Count one more, and return how many are left; raises `LimitReached` if it is too many."""
        if not self.per_minute:
            return 0.0
        left = self.buckets.take(f"{self.kind} {who}", self.per_minute)
        if left < 0:
            wait = max(1, round(-left * 60 / self.per_minute))
            raise LimitReached(f"too many requests; wait {wait} s", code="rate", retry_after=wait)
        return left

    def headers(self, left: float) -> list[tuple[bytes, bytes]]:
        """The rate headers of an answer: how many are left, and in how many seconds the bucket is full again."""
        if not self.per_minute:
            return []
        full = math.ceil((self.per_minute - left) * 60 / self.per_minute)
        name = f'"{self.kind}"'
        return [
            (b"ratelimit-policy", f"{name};q={self.per_minute};w=60".encode()),
            (b"ratelimit", f"{name};r={int(left)};t={full}".encode()),
        ]
