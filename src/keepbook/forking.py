"""After a fork: what a process inherited is its parent's.

A child that used or closed an inherited connection would speak in its parent's name, or confuse its locks; a lock that
another thread held stays locked there, and a pool waits for threads that do not exist. So whoever holds such a thing
says so here. Before a fork it puts down what it can (`before_fork`); in the child it sets aside what it inherited and
makes its own at first use (`renew_in_child`). Where a system cannot fork, nothing is registered.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from threading import get_ident
from typing import Any, Generic, TypeVar
from weakref import ref

from keepbook.errors import Conflict

Made = TypeVar("Made")
Held = TypeVar("Held")
PATIENCE = 5.0
"""So many seconds a fork waits for transactions of other threads. A child of one that took longer cannot use the
file."""


class LivingSet(Generic[Held]):
    """Things for as long as they live. `living` copies them in one step of the interpreter: over a WeakSet goes a loop,
    and another thread that adds something meanwhile ends it with an error."""

    def __init__(self) -> None:
        self._refs: dict[int, ref[Held]] = {}

    def add(self, one: Held) -> None:
        key, refs = id(one), self._refs
        refs[key] = ref(one, lambda _: refs.pop(key, None))

    def discard(self, one: Held) -> None:
        self._refs.pop(id(one), None)

    def clear(self) -> None:
        self._refs.clear()

    def living(self) -> list[Held]:
        found = []
        for each in list(self._refs.values()):
            one = each()
            if one is not None:
                found.append(one)
        return found


_HOLDERS = LivingSet[Any]()
_ONE_FORK = [threading.RLock()]
"""Two threads do not fork at once: the first to be through would let everybody in again while the other forks."""


def follow_forks(holder: Any) -> None:
    """Call `renew_in_child` of the holder in every child, for as long as it lives; before a fork its `before_fork`, if
    it has one."""
    _HOLDERS.add(holder)


def keep_for_ever(inherited: object) -> None:
    """Never finalise this, not even when the interpreter ends: to close it would be to act in the parent's name."""
    import ctypes  # few fork

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


def forked(why: str) -> Conflict:
    return Conflict(f"this process was forked {why}", code="forked")


class OncePerProcess(Generic[Made]):
    """A value that is made when it is first asked for, by one thread for all; in a child anew."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._making = threading.Lock()
        follow_forks(self)

    def get(self) -> Made:
        with self._making:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def renew_in_child(self) -> None:
        keep_for_ever(self._made)
        self._made, self._making = [], threading.Lock()


class ForkGate:
    """A context that many threads are in at the same time, none while the gate is shut.

    SQLite notes the locks of a process in the process itself. A child inherits these notes without the locks, so a file
    that was open at the fork can never be opened safely there. So every use of SQLite passes this gate: before a fork
    whoever comes waits, whoever is inside has a moment to finish, and then the connections are closed.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Nobody is inside, as in a child."""
        self._inside: list[int] = []
        self._open = threading.Event()
        self._shut = False

    def __enter__(self) -> None:
        me = get_ident()
        self._inside.append(me)  # first of all: from now on a fork waits
        while self._shut and self._inside.count(me) == 1:
            self._inside.remove(me)
            self._open.wait()
            self._inside.append(me)

    def __exit__(self, *_: object) -> None:
        try:
            self._inside.remove(get_ident())
        except ValueError:  # entered in another thread, or before a fork
            del self._inside[-1:]

    def shut(self) -> None:
        """Let nobody in, and wait until every other thread is out, or patience ends."""
        if self._shut:
            return
        self._open.clear()
        self._shut = True
        until = time.monotonic() + PATIENCE
        while set(self._inside) - {get_ident()} and time.monotonic() < until:
            time.sleep(0.001)

    def reopen(self) -> None:
        self._shut = False
        self._open.set()


FORK_GATE = ForkGate()


def _before() -> None:
    _ONE_FORK[0].acquire()
    _call("before_fork")


def _in_parent() -> None:
    FORK_GATE.reopen()  # whoever shut it
    _ONE_FORK[0].release()


def _in_child() -> None:
    _ONE_FORK[0] = threading.RLock()
    _renew_property_locks()
    _call("renew_in_child")


def _call(name: str) -> None:
    """Of every holder, whatever another raises; that is raised when all were called."""
    failed: Exception | None = None
    for holder in _HOLDERS.living():
        try:
            if (method := getattr(holder, name, None)) is not None:
                method()
        except Exception as error:  # noqa: BLE001  Python prints what a hook raises, and forks
            failed = error
    try:
        if failed is not None:
            raise failed
    finally:
        failed = None  # or it would hold itself, by the frame that it was raised in


def _renew_property_locks() -> None:
    """Before Python 3.12 each cached property has a lock, which another thread may have held."""
    if sys.version_info < (3, 12):
        for one in _cached_properties():
            one.lock = threading.RLock()


def _cached_properties() -> Iterator[Any]:
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "keepbook":
            continue
        for kind in list(vars(module).values()):
            if isinstance(kind, type):
                yield from (one for one in vars(kind).values() if isinstance(one, cached_property))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
