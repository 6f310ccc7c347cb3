"""Server-sent events: their format, how many streams are open at once, and when a stream ends.

A stream ends with the token that opened it: within half a second of its revocation, its expiry or a sign-out.
"""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from keepbook.book.ground.to_json import to_json
from keepbook.errors import LimitReached

MEDIA_TYPE = "text/event-stream"


def event(name: str, data: Any, id: int | None = None) -> bytes:
    """One event; its data are one line of JSON."""
    if id is None:
        head = ""
    else:
        head = f"id: {id}\n"
    return f"{head}event: {name}\ndata: {json.dumps(to_json(data), ensure_ascii=False)}\n\n".encode()


DESCRIBED: dict[str, dict[str, Any]] = {
    MEDIA_TYPE: {
        "schema": {
            "type": "object",
            "properties": {"event": {"type": "string"}, "data": {"type": "string"}, "id": {"type": "string"}},
        }
    }
}
"""A stream in the OpenAPI document, event by event."""

REST = b": still here\n\n"
"""A comment that is sent while nothing happens, so that no proxy closes the connection."""

LOOK_EVERY = 0.5
"""Seconds between two checks whether the token is still valid."""


class OpenStreams:
    """Counts the open streams of this process: up to `each` for one token, up to `most` in all."""

    def __init__(self, each: int, most: int) -> None:
        self._each, self._most = each, most
        self._open: Counter[str] = Counter()

    def enter(self, who: str) -> None:
        if self._open[who] >= self._each:
            raise LimitReached(f"{self._each} streams are open with this key; close one", code="streams", retry_after=5)
        if self._open.total() >= self._most:
            raise LimitReached("too many streams are open here; try again", code="streams", retry_after=5)
        self._open[who] += 1

    def leave(self, who: str) -> None:
        self._open[who] -= 1
        if self._open[who] <= 0:
            del self._open[who]

    async def hold(self, who: str, stream: AsyncIterator[bytes], stands: Callable[[], bool]) -> AsyncIterator[bytes]:
        """Pass a stream on until it ends, or until `stands` says that its token is not valid any more."""
        coming: asyncio.Task[bytes] | None = None
        try:
            looked = time.monotonic()
            while True:
                coming = coming or asyncio.ensure_future(anext(stream))
                done, _ = await asyncio.wait({coming}, timeout=LOOK_EVERY)
                if time.monotonic() - looked >= LOOK_EVERY:
                    if not await asyncio.to_thread(stands):
                        return
                    looked = time.monotonic()
                if done:
                    try:
                        piece = coming.result()
                    except StopAsyncIteration:
                        return
                    coming = None
                    yield piece
        finally:
            self.leave(who)
            if coming is not None:
                coming.cancel()
                with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                    await coming
            await stream.aclose()  # type: ignore[attr-defined]
