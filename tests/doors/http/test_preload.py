"""A server that forks its workers once the application is loaded, as gunicorn does with --preload: of what was
acknowledged nothing is lost or doubled, and no read is empty. PRELOADED=2000 makes the load long."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from keepbook.doors.http.app import create_app
from keepbook.doors.http.server import bind, run_server

WORKERS = 4
REQUESTS = int(os.environ.get("PRELOADED", "40"))
"""Writes, and as many reads."""

pytestmark = [pytest.mark.process, pytest.mark.both_engines]


@contextmanager
def preloaded(kb: Any) -> Iterator[str]:
    """Four workers of one application that this process has used already; they end by SIGTERM."""
    app = create_app(kb)
    listening = bind("127.0.0.1", 0)
    workers = [fork(lambda: run_server(app, listening, lambda: None)) for _ in range(WORKERS)]
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGTERM)
        for pid in workers:
            os.waitpid(pid, 0)
        listening.close()


def fork(serve: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(600)  # whatever becomes of the test
            serve()
        finally:
            os._exit(0)
    return pid


def test_preloaded_workers_lose_nothing_and_show_no_empty_book(kb: Any) -> None:
    owner = kb.settings.owner
    kb.book(owner).remember("Was here before")
    with preloaded(kb) as address, ThreadPoolExecutor(8) as callers:

        def write_and_read(nth: int) -> tuple[str, int]:
            with httpx.Client(base_url=address, timeout=60, headers={"Connection": "close"}) as client:
                written = client.post("/api/memory/", json={"content": f"Fact number {nth} of many", "force": True})
                read = client.get("/api/memory/", params={"limit": 1})
            assert (written.status_code, read.status_code) == (201, 200), written.text + read.text
            return written.json()["content"], read.json()["total"]

        kb.book(owner).remember("Said by the parent meanwhile")
        answers = list(callers.map(write_and_read, range(REQUESTS)))
    acknowledged = [content for content, _ in answers]
    assert [total for _, total in answers if not total] == []
    found = Counter(one.content for one in everything(kb.book(owner)))
    assert {found[content] for content in acknowledged} == {1}
    assert len(found) == REQUESTS + 2
    assert kb.book(owner).verify().ok


def everything(book: Any) -> Iterator[Any]:
    page = book.list(limit=1000)
    yield from page
    while page.next is not None:
        page = book.list(limit=1000, cursor=page.next)
        yield from page
