"""Forks: what a child process inherits still belongs to its parent.

A child that used or closed an inherited connection would speak in its parent's name, or disturb its locks; a lock that
another thread held at the fork stays locked in the child for ever; and a pool waits for threads that do not exist
there. So an object that holds such things registers with `follow_forks`. Before a fork its `before_fork` closes what it
can; in the child its `renew_in_child` sets aside what was inherited, and new ones are made when they are needed. On a
system without fork, nothing is registered.
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
"""Seconds for which a fork waits for the transactions of other threads. If one takes longer, the fork goes on, and the
child cannot use the SQLite file."""


class LivingSet(Generic[Held]):
    """A set of weak references that several threads may use at once. It is no WeakSet, because that is copied in a
    Python loop, which raises an error when another thread adds something meanwhile; `living` copies in one step."""

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
        """The members that have not been collected."""
        found = []
        for each in list(self._refs.values()):
            one = each()
            if one is not None:
                found.append(one)
        return found


_HOLDERS = LivingSet[Any]()
_ONE_FORK = [threading.RLock()]
"""Held during a fork, so that two threads do not fork at once: the first to finish would open the gate while the other
still forks. In a list, because the child replaces it."""


def follow_forks(holder: Any) -> None:
    """From now on, and for as long as the holder lives, call its `before_fork` before each fork, if it has one, and its
    `renew_in_child` in each child."""
    _HOLDERS.add(holder)


def keep_for_ever(inherited: object) -> None:
    """Never finalise this object, not even when the interpreter ends: closing it would act in the parent's name."""
    import ctypes  # loaded in a child alone

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))


def forked(why: str) -> Conflict:
    return Conflict(f"this process was forked {why}", code="forked")


class OncePerProcess(Generic[Made]):
    """A value that is made once for all threads, when it is first asked for; a child makes its own."""

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
    """A context manager that any number of threads may be in, but none while the gate is shut.

    SQLite keeps a list of the locks of a process in its memory. A child inherits this list without the locks, so it can
    never safely open a file that was open at the fork. So every use of SQLite enters this gate. Before a fork the gate
    is shut: threads that come must wait, those inside have PATIENCE to finish, and then the connections are closed.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Begin again with nobody inside: in a child the other threads do not exist."""
        self._inside: list[int] = []
        self._open = threading.Event()
        self._shut = False

    def __enter__(self) -> None:
        me = get_ident()
        self._inside.append(me)  # before the gate is looked at: from now on a fork waits for this thread
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
        """Let nobody in, and wait until every other thread is out, or for PATIENCE."""
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
    FORK_GATE.reopen()  # some holder's `before_fork` has shut it
    _ONE_FORK[0].release()


def _in_child() -> None:
    _ONE_FORK[0] = threading.RLock()
    _renew_property_locks()
    _call("renew_in_child")


def _call(name: str) -> None:
    """Call this method of every holder that has it. If one raises, the others are called all the same, and the error is
    raised afterwards."""
    failed: Exception | None = None
    for holder in _HOLDERS.living():
        method = getattr(holder, name, None)
        if method is None:
            continue
        try:
            method()
        except Exception as error:  # noqa: BLE001  raised below; Python prints what a fork hook raises, and forks
            failed = error
    try:
        if failed is not None:
            raise failed
    finally:
        failed = None  # the error refers to this frame: without this the two would keep each other alive


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
