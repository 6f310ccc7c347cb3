"""An import in progress while its page is sent piece by piece.

It goes on in a thread of its own when the page is left. An empty file, which every worker of this server sees, marks it
as running; Stop removes the mark, and the load ends at its next step.
"""

import hashlib
import queue
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from keepbook.book.upkeep.importers.incoming import Enough
from keepbook.errors import KeepbookError, NotFound

STEPS = 25
"""How often the count moves while it loads."""
MOST = 50
STOP_SECONDS = 30.0


class LoadUnderWay:
    """One load in progress. `outcome` is its result or its error; whoever has the key may stop it.

    `work` is called with a function to report progress to, which raises `Enough` once somebody has said Stop.
    """

    def __init__(self, owner: str, total: int, work: Callable[[Callable[[int], None]], Any]) -> None:
        self.owner: str = owner
        self.total: int = total
        self._work = work
        self.key: str = secrets.token_urlsafe(12)
        self._mark = _mark(owner, self.key)
        self._told: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.ended: threading.Event = threading.Event()
        self.outcome: Any = None
        self.stopped = False

    def begin(self) -> None:
        for key in list(_HERE)[: -MOST + 1]:
            _HERE.pop(key, None)
        _HERE[self.key] = self
        self._mark.touch(mode=0o600)
        threading.Thread(target=self._run, name="load").start()

    def _run(self) -> None:
        every, last = max(1, self.total // STEPS), -1

        def progress(done: int) -> None:
            nonlocal last
            if not self._mark.exists():
                self.stopped = True
                raise Enough
            if done // every != last:
                last = done // every
                self._told.put(min(done, self.total))

        try:
            self.outcome = self._work(progress)
        except Enough:
            pass  # nothing of it stays, and there is nothing to tell
        except KeepbookError as error:
            self.outcome = error
        finally:
            self._mark.unlink(missing_ok=True)
            self.ended.set()
            self._told.put(None)

    def steps(self) -> Iterator[int]:
        """The progress, for as long as it goes on."""
        while (step := self._told.get()) is not None:
            yield step


_HERE: dict[str, LoadUnderWay] = {}
"""Those of this process, the newest few: who stops one here is shown what came of it."""


def stop_load(owner: str, key: str) -> LoadUnderWay | None:
    """Stop a load; returns it if it ran in this process, once it has ended."""
    mark, load = _mark(owner, key), _HERE.get(key)
    mine = load is not None and load.owner == owner
    if not mine and not mark.exists():
        raise NotFound("this load is not under way here any more; what came in is in your book", field="key")
    mark.unlink(missing_ok=True)
    if not mine or load is None:
        return None
    load.ended.wait(STOP_SECONDS)
    return load


def _mark(owner: str, key: str) -> Path:
    """Nobody but who began it can name it."""
    name = hashlib.blake2b(f"{owner}\n{key}".encode(), digest_size=16).hexdigest()
    return Path(tempfile.gettempdir()) / f"keepbook-load-{name}"
