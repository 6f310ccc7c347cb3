"""Whose an open transaction is: of the thread and the task that opened it, and of nobody else."""

import asyncio
import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any

import pytest

from keepbook import Conflict, Keepbook


async def in_another_task(call: Callable[[], Any]) -> Any:
    async def work() -> Any:
        return call()

    return await asyncio.create_task(work())


def contents(book: Any) -> list[str]:
    return sorted(memory.content for memory in book.list())


def test_another_task_does_not_join_a_block_and_is_told_at_once(alice: Any) -> None:
    """It could only wait, and on its thread that would be for ever."""

    async def main() -> None:
        with suppress(ZeroDivisionError), alice.transaction():
            alice.remember("Lives in Oslo")
            began = time.monotonic()
            with pytest.raises(Conflict, match="task") as refused:
                await in_another_task(lambda: alice.remember("Has a cat"))
            assert refused.value.code == "busy"
            assert time.monotonic() - began < 5
            assert (await in_another_task(alice.list)).total == 0
            assert contents(alice) == ["Lives in Oslo"]
            raise ZeroDivisionError
        assert contents(alice) == []
        alice.remember("Has a dog")

    asyncio.run(main())
    assert contents(alice) == ["Has a dog"]
    assert alice.verify().ok


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_of_another_owner_a_task_has_a_transaction_of_its_own(kb: Any, alice: Any) -> None:
    bob = kb.book("bob")

    async def main() -> None:
        with suppress(ZeroDivisionError), alice.transaction():
            alice.remember("Lives in Oslo")
            await in_another_task(lambda: bob.remember("Lives in Rome"))
            raise ZeroDivisionError

    asyncio.run(main())
    assert (contents(alice), contents(bob)) == ([], ["Lives in Rome"])


def test_two_tasks_may_each_have_a_block_one_after_the_other(alice: Any) -> None:
    async def one(name: str) -> None:
        for nth in range(3):
            while True:
                with suppress(Conflict), alice.transaction():
                    alice.remember(f"{name} began {nth}", force=True)
                    await asyncio.sleep(0)
                    alice.remember(f"{name} ended {nth}", force=True)
                    break
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(one("Ada"), one("Ben"))

    asyncio.run(main())
    assert len(contents(alice)) == 12
    assert alice.verify().ok


def test_a_task_that_outlives_the_block_it_was_made_in_gets_an_error(alice: Any) -> None:
    async def main() -> None:
        over = asyncio.Event()

        async def late(call: Callable[[], Any]) -> Any:
            await over.wait()
            return call()

        with alice.transaction():
            tasks = [asyncio.create_task(late(call)) for call in (lambda: alice.remember("Late"), alice.list)]
            apart = asyncio.create_task(late(lambda: alice.remember("Apart")), context=contextvars.Context())
            alice.remember("Lives in Oslo")
        over.set()
        for task in tasks:
            with pytest.raises(Conflict, match="inside a transaction that has ended") as refused:
                await task
            assert refused.value.code == "transaction_ended"
        await apart
        await in_another_task(lambda: alice.remember("Made after it"))

    asyncio.run(main())
    assert contents(alice) == ["Apart", "Lives in Oslo", "Made after it"]


def test_of_another_book_such_a_task_may_do_what_it_likes(alice: Any) -> None:
    async def main() -> None:
        over = asyncio.Event()

        async def late() -> None:
            await over.wait()
            other.remember("Late")

        with alice.transaction():
            task = asyncio.create_task(late())
        over.set()
        await task

    with closing(Keepbook(":memory:", embedder="none")) as kb:
        other = kb.book("alice")
        asyncio.run(main())
        assert contents(other) == ["Late"]


def test_a_thread_has_a_transaction_of_its_own_whatever_context_it_was_given(alice: Any) -> None:
    alice.remember("Was here before")
    with ThreadPoolExecutor(1) as pool, suppress(ZeroDivisionError), alice.transaction():
        alice.remember("Lives in Oslo")
        for call in (alice.list, lambda: contextvars.copy_context().run(alice.list)):
            context = contextvars.copy_context()
            assert [memory.content for memory in pool.submit(context.run, call).result()] == ["Was here before"]
        writing = threading.Thread(target=contextvars.copy_context().run, args=(alice.remember, "From a thread"))
        writing.start()  # it waits for its turn
        time.sleep(0.02)
        assert contextvars.copy_context().run(alice.list).total == 2  # the same thread and task, in whatever context
        raise ZeroDivisionError
    writing.join()
    assert contents(alice) == ["From a thread", "Was here before"]


def test_what_a_loop_runs_inside_a_block_is_not_in_it(alice: Any) -> None:
    async def main() -> None:
        alice.remember("Has a cat")

    with alice.transaction():
        alice.remember("Lives in Oslo")
        with pytest.raises(Conflict) as refused:
            asyncio.run(main())
        assert refused.value.code == "busy"
    assert contents(alice) == ["Lives in Oslo"]


def test_of_a_book_in_memory_another_task_is_told_too() -> None:
    async def main() -> None:
        with book.transaction():
            book.remember("Lives in Oslo")
            for call in (book.list, lambda: book.remember("Has a cat"), kb.tokens.list):
                with pytest.raises(Conflict) as refused:
                    await in_another_task(call)
                assert refused.value.code == "busy"

    with closing(Keepbook(":memory:", embedder="none")) as kb:
        book = kb.book("alice")
        asyncio.run(main())
        assert contents(book) == ["Lives in Oslo"]
        assert book.verify().ok


@pytest.mark.parametrize("elsewhere", ["context", "thread"])
def test_a_block_that_ends_in_another_context_refuses_nobody_later(alice: Any, elsewhere: str) -> None:
    """As a generator of a web framework is begun and ended."""

    async def main() -> None:
        block = alice.transaction()
        block.__enter__()
        alice.remember("Lives in Oslo")
        if elsewhere == "context":
            contextvars.copy_context().run(contextvars.Context().run, block.__exit__, None, None, None)
        else:
            await asyncio.to_thread(contextvars.Context().run, block.__exit__, None, None, None)
        for nth in range(3):
            await in_another_task(lambda nth=nth: alice.remember(f"Has cat number {nth}", force=True))

    asyncio.run(main())
    assert len(contents(alice)) == 4
    assert alice.verify().ok
