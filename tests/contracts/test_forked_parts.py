"""What a forked child makes anew beside its connections: background threads, models, pools of threads, clients."""

import asyncio
import importlib.util
import os
import sys
import threading
import time
from typing import Any

import pytest
from tests.embedding import meant
from tests.forked import Child, thread_that

from keepbook import AsyncKeepbook, forking
from keepbook.client.connection import Connection
from keepbook.forking import OncePerProcess

pytestmark = pytest.mark.process


def test_a_child_embeds_behind_its_own_writes(kb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepbook.book.recall.background.QUIET", 0.01)
    book = meant(kb, behind=True)
    book.remember("The dog is called Bamse")

    def embed() -> bool:
        book.remember("The puppy is called Rex")
        until = time.monotonic() + 20
        while book.meaning.count_waiting("alice", 9) and time.monotonic() < until:
            time.sleep(0.01)
        return bool(book.meaning.count_waiting("alice", 9))

    assert Child(embed).told()["came"] is False
    assert kb.counted()["writes", "remember"] == 1, "each process counts for itself"


def test_what_is_opened_once_is_opened_anew_though_a_thread_was_at_it() -> None:
    begun = threading.Event()

    def make(end: threading.Event) -> int:
        begun.set()
        end.wait(10)
        return os.getpid()

    ended = threading.Event()
    opened = OncePerProcess(lambda: make(ended))
    with thread_that(lambda _: opened.get() and None):
        begun.wait()
        child = Child(lambda: (ended.set(), opened.get() == os.getpid())[1])
        ended.set()
        assert child.told()["came"] is True
    assert opened.get() == os.getpid()


def test_who_awaits_has_threads_in_the_child_too(tmp_path: Any) -> None:
    kb = AsyncKeepbook(tmp_path / "book.db")
    book = kb.book("alice")

    async def remember(content: str) -> int:
        await book.remember(content)
        return int((await book.list()).total)

    assert asyncio.run(remember("Plays the cello")) == 1
    assert Child(lambda: asyncio.run(remember("Plays chess"))).told()["came"] == 2
    assert asyncio.run(remember("Plays go")) == 3
    asyncio.run(kb.close())


def test_a_child_has_its_own_connection_to_a_server() -> None:
    connection = Connection("https://example.org", "kb_x")
    of_parent = connection._client.get()
    spoken = connection.speaking("alice", "person")
    assert spoken._client.get() is of_parent
    assert Child(lambda: spoken._client.get() is of_parent).told()["came"] is False
    connection.close()


class _Holder:
    def __init__(self, before_fork: Any = None) -> None:
        self.before_fork = before_fork


def _raise() -> None:
    raise OSError("no room")


def test_what_raises_before_a_fork_holds_up_neither_others_nor_the_next_fork() -> None:
    def fork_twice() -> int:
        called = list[int]()
        holders = [_Holder(_raise), _Holder(lambda: called.append(1)), _Holder(_raise)]
        for one in holders:
            forking.follow_forks(one)
        for _ in range(2):
            assert Child(lambda: 1).told()["came"] == 1
            with forking.FORK_GATE:
                pass
        return len(called)

    assert Child(fork_twice).told()["came"] == 2  # in a child, so that no other test has such holders


def test_holders_are_copied_while_threads_add_others() -> None:
    holders, stop, interval = forking.LivingSet[Any](), threading.Event(), sys.getswitchinterval()
    kept = [_Holder() for _ in range(50)]
    for one in kept:
        holders.add(one)

    def add() -> None:
        while not stop.is_set():
            holders.add(_Holder())

    adding = threading.Thread(target=add)
    sys.setswitchinterval(1e-6)
    adding.start()
    try:
        for _ in range(1_000):
            assert len(holders.living()) >= len(kept)
    finally:
        sys.setswitchinterval(interval)
        stop.set()
        adding.join()


def test_where_nothing_forks_nothing_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "register_at_fork")
    copied = importlib.util.module_from_spec(forking.__spec__)
    forking.__spec__.loader.exec_module(copied)
    assert copied.OncePerProcess(lambda: 7).get() == 7
