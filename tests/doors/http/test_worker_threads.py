"""The threads that serve requests: what is asked of them is done, and whoever asked gets what came of it."""

import asyncio
import threading
import time
from contextvars import ContextVar
from typing import NoReturn

import pytest

from keepbook.doors.http.worker_threads import MOST_OF_ONE, WorkerThreads, turn_to_serve
from keepbook.errors import Invalid

WHO: ContextVar[str] = ContextVar("who", default="nobody")


def test_what_is_made_or_raised_comes_back() -> None:
    def refuse() -> NoReturn:
        raise Invalid("no", field="it")

    async def ask() -> None:
        threads = WorkerThreads(2)
        assert await threads.do(lambda: 7) == 7
        with pytest.raises(Invalid) as refused:
            await threads.do(refuse)
        assert refused.value.field == "it"
        assert await threads.do(lambda: 8) == 8  # the thread is still there

    asyncio.run(ask())


def test_work_that_ends_like_an_iterator_is_not_waited_for_for_ever() -> None:
    async def ask() -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await WorkerThreads(1).do(lambda: next(iter(())))

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_it_is_done_elsewhere_and_in_the_context_of_whoever_asks() -> None:
    async def ask() -> None:
        WHO.set("ada")
        assert await WorkerThreads(1).do(WHO.get) == "ada"
        assert await WorkerThreads(1).do(threading.get_ident) != threading.get_ident()

    asyncio.run(ask())


def test_one_thread_serves_who_comes_one_after_the_other_and_more_serve_a_crowd() -> None:
    threads, at_once, most, lock = WorkerThreads(3), 0, 0, threading.Lock()
    crowd, all_at_work = False, threading.Event()

    def work(number: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
            if at_once == 3:
                all_at_work.set()
        if crowd:
            all_at_work.wait(60)
        with lock:
            at_once -= 1
        return number

    async def ask() -> None:
        for number in range(5):
            assert await threads.do(lambda: work(0)) == 0, number
        assert most == 1
        nonlocal crowd
        crowd = True
        assert await asyncio.gather(*(threads.do(lambda one=one: work(one)) for one in range(20))) == list(range(20))
        assert most == 3  # never more than it has, and nobody was forgotten

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_who_leaves_before_it_is_done_leaves_the_thread_to_others() -> None:
    threads, go_on = WorkerThreads(1), threading.Event()

    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(threads.do(lambda: go_on.wait(60)), 0.01)

    async def stay() -> None:
        assert await threads.do(lambda: "served") == "served"

    asyncio.run(leave())  # its loop is gone when the work is done
    go_on.set()
    asyncio.run(asyncio.wait_for(stay(), 60))


def test_told_to_end_they_finish_and_go_and_who_asks_later_finds_new_ones() -> None:
    threads, done = WorkerThreads(2), []

    def work() -> None:
        time.sleep(0.05)
        done.append(threading.current_thread())

    async def ask() -> None:
        asked = [asyncio.ensure_future(threads.do(work)) for _ in range(4)]
        await asyncio.sleep(0)
        await threads.end()
        assert len(done) == 4
        assert not any(thread.is_alive() for thread in done)
        await asyncio.gather(*asked)
        assert await threads.do(threading.current_thread) not in done
        await threads.end()

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_whatever_else_is_sent_makes_nobody_another_caller() -> None:
    """Each caller has a few writes at a time: a header that nobody has checked yet gives no further turns."""
    sent = [
        *([(b"authorization", b"Bearer kb_1"), (b"cookie", b"a=%d" % nth)] for nth in range(MOST_OF_ONE)),
        [(b"authorization", b"bearer   kb_1")], [(b"x-other", b"1"), (b"authorization", b"Bearer kb_1")],
    ]  # fmt: skip
    pages = [[(b"cookie", b"a=%d; keepbook_session=s1; b=2" % nth)] for nth in range(MOST_OF_ONE + 2)]
    others = [[(b"authorization", b"Bearer kb_2")], [(b"cookie", b"keepbook_session=s2")]]

    async def ask() -> int:
        inside, leave = 0, asyncio.Event()

        async def one(headers: list[tuple[bytes, bytes]]) -> None:
            nonlocal inside
            async with turn_to_serve({"method": "POST", "headers": headers}):
                inside += 1
                await leave.wait()

        asked = [asyncio.create_task(one(headers)) for headers in (*sent, *pages, *others)]
        await asyncio.sleep(0.1)
        found = inside
        leave.set()
        await asyncio.gather(*asked)
        return found

    assert asyncio.run(ask()) == 2 * MOST_OF_ONE + len(others)
