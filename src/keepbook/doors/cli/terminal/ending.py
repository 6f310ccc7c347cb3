"""Being told to end while a loop runs.

A signal that raises wherever a loop happens to be is lost in some clean-up, or leaves a loop that never closes. So the
work is stopped first, as Ctrl-C stops it, and then the signal reaches whom it would have reached.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_SignalHandler = Callable[[int, Any], Any]


def run_until_done(loop: asyncio.Runner, work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to."""
    told: list[int] = []
    tasks: list[asyncio.Task[Any]] = []

    async def whole() -> T:
        task = asyncio.current_task()
        assert task is not None
        tasks.append(task)
        if told:  # before it began
            task.cancel()
        return await work

    def stop(number: int, _: object) -> None:
        told.append(number)
        for task in tasks:
            loop.get_loop().call_soon_threadsafe(task.cancel)

    before = _listening()
    for each in before:
        signal.signal(each, stop)
    try:
        return loop.run(whole())
    finally:
        for each, heard in before.items():
            signal.signal(each, heard)
        if told:
            before[told[0]](told[0], None)


def _listening() -> dict[int, _SignalHandler]:
    """The present handlers of the signals that end this program. Empty outside the main thread, which alone may set
    them."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    return {each: heard for each in known if callable(heard := signal.getsignal(each))}
