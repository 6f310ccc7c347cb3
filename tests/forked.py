"""Children that a test forks, and threads that are at work meanwhile."""

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from keepbook import KeepbookError


class Child:
    """A forked process that does one thing and says what came of it."""

    def __init__(self, act: Callable[[], Any]) -> None:
        heard, told = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            said: Any = None
            try:
                signal.alarm(600)  # whatever becomes of the test
                said = {"came": act()}
            except KeepbookError as error:
                said = {"refused": error.code, "why": error.message}
            except BaseException as error:  # noqa: BLE001 told to the parent, whose test fails by it
                said = {"failed": repr(error)}
            finally:
                os.write(told, json.dumps(said).encode())
                os._exit(0)
        os.close(told)
        self._heard = heard

    def told(self) -> Any:
        with os.fdopen(self._heard) as file:
            said = file.read()
        os.waitpid(self._pid, 0)
        assert said, "the child died"
        found = json.loads(said)
        assert "failed" not in found, found["failed"]
        return found


@contextmanager
def thread_that(act: Callable[[threading.Event], None]) -> Iterator[threading.Event]:
    """Another thread at work; it is told when it may end."""
    end = threading.Event()
    thread = threading.Thread(target=act, args=(end,))
    thread.start()
    try:
        yield end
    finally:
        end.set()
        thread.join()
