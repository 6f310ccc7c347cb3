"""Errors that a program catches inside `with book.transaction()`: whatever it does then, a block is kept whole or not
at all, and the ledger holds.

Sixty random blocks an engine by default; `BLOCKS=2000` draws as many.
"""

import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from keepbook import Conflict, Invalid, Keepbook, KeepbookError, NotAllowed, NotFound

BLOCKS = int(os.environ.get("BLOCKS", "60"))
"""How many random blocks on each engine."""
UNLUCKY = "Refused by the database itself"
RULES = {
    "sqlite": f"""CREATE TRIGGER unlucky BEFORE INSERT ON versions WHEN NEW.content LIKE '{UNLUCKY}%'
        BEGIN SELECT RAISE(ABORT, 'unlucky'); END""",
    "postgresql": f"""
        CREATE FUNCTION unlucky() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'unlucky' USING ERRCODE = '23514'; END $$;
        CREATE TRIGGER unlucky BEFORE INSERT ON versions FOR EACH ROW WHEN (NEW.content LIKE '{UNLUCKY}%')
            EXECUTE FUNCTION unlucky()""",
}


@pytest.fixture
def unlucky(kb: Any, book_url: str, engine_name: str) -> Iterator[str]:
    """Words that the database refuses half-way: the entry stands by then, and the memory's row."""
    connect: Any = sqlite3.connect if engine_name == "sqlite" else psycopg.connect
    with closing(connect(book_url)) as admin:
        admin.execute(RULES[engine_name])
        admin.commit()
        yield UNLUCKY
        if engine_name == "postgresql":
            admin.execute("DROP FUNCTION unlucky CASCADE")
            admin.commit()


def contents(book: Any) -> list[str]:
    return sorted(memory.content for memory in book.list(limit=1000))


def is_refused(code: str, call: Callable[..., Any], *args: Any) -> bool:
    with pytest.raises(KeepbookError) as refused:
        call(*args)
    return refused.value.code == code


# A statement that failed


def test_a_failed_statement_spoils_the_block_whoever_catches_it(alice: Any, unlucky: str) -> None:
    kept = alice.remember("Was here before")

    def block() -> None:
        with alice.transaction():
            alice.remember("Lives in Oslo")
            with pytest.raises(Invalid) as refused:
                alice.remember(unlucky)
            assert refused.value.code == "refused"
            for call in (lambda: alice.remember("Has a cat"), alice.list, lambda: alice.get(kept.id), alice.verify):
                assert is_refused("transaction_failed", call)

    with pytest.raises(Conflict) as failed:
        block()
    assert failed.value.code == "transaction_failed"
    assert contents(alice) == ["Was here before"]
    alice.remember("Has a cat")
    assert alice.verify().ok


def test_its_own_error_goes_out_of_a_block_that_nobody_stops(alice: Any, unlucky: str) -> None:
    def block() -> None:
        with alice.transaction():
            alice.remember("Lives in Oslo")
            alice.remember(unlucky)

    with pytest.raises(Invalid, match="unlucky"):
        block()
    assert contents(alice) == []
    assert alice.verify().ok


def test_an_operation_that_swallows_a_failed_statement_is_not_kept(kb: Any, alice: Any) -> None:
    def swallows(conn: Any) -> None:
        with suppress(DBAPIError):
            conn.execute(text("INSERT INTO no_such_table VALUES (1)"))

    def block() -> None:
        with alice.writing() as (tx, _):
            alice.remember("Lives in Oslo")
            swallows(tx.conn)

    assert is_refused("transaction_failed", block)
    assert contents(alice) == []
    with pytest.raises(Conflict) as failed, kb._database.unscoped(writes=True) as conn:
        swallows(conn)
    assert failed.value.code == "transaction_failed"
    assert alice.remember("Has a cat").event == 1


def test_an_operation_that_is_refused_after_it_wrote_spoils_the_block(alice: Any) -> None:
    def refused_half_way() -> None:
        with alice.writing():
            alice.remember("Half of it")
            raise NotFound("the other half is not there")

    def block() -> None:
        with alice.transaction():
            alice.remember("Lives in Oslo")
            with suppress(NotFound):
                refused_half_way()

    assert is_refused("transaction_failed", block)
    assert contents(alice) == []


# A block inside another


def test_a_block_inside_another_leaves_nothing_when_it_is_raised_through(alice: Any, unlucky: str) -> None:
    def inner(last: Callable[[], Any]) -> None:
        with alice.transaction():
            alice.remember("Has a dog")
            chat = alice.threads.start()
            chat.add("user", "Hello")
            with alice.transaction():
                alice.remember("Likes tea")
            last()

    with alice.transaction():
        alice.remember("Lives in Oslo")
        with pytest.raises(ZeroDivisionError):
            inner(lambda: 1 // 0)
        with pytest.raises(Invalid):
            inner(lambda: alice.remember(unlucky))
        assert contents(alice) == ["Lives in Oslo"]
        second = alice.remember("Has a cat")
        with alice.transaction():
            alice.remember("Likes coffee")
    assert second.event == 2
    assert contents(alice) == ["Has a cat", "Likes coffee", "Lives in Oslo"]
    assert [entry.event for entry in alice.ledger()] == [3, 2, 1]
    assert list(alice.threads.list()) == []
    assert alice.verify().ok


def test_an_inner_block_that_is_spoiled_says_so_at_its_end_and_the_outer_goes_on(alice: Any, unlucky: str) -> None:
    def inner() -> None:
        with alice.transaction():
            alice.remember("Has a dog")
            with suppress(Invalid):
                alice.remember(unlucky)

    with alice.transaction():
        alice.remember("Lives in Oslo")
        assert is_refused("transaction_failed", inner)
        alice.remember("Has a cat")
    assert contents(alice) == ["Has a cat", "Lives in Oslo"]
    assert alice.verify().ok


def test_what_is_counted_and_compacted_is_what_was_kept(kb: Any, alice: Any) -> None:
    gone = alice.remember("Lives in Oslo").id
    with alice._database.write("alice") as tx:
        with suppress(ZeroDivisionError), alice.transaction():
            alice.delete(gone, forever=True)
            tx.count("drawn", times=2)
            assert (tx.compact, tx.counted["drawn", ""]) == (True, 2)
            raise ZeroDivisionError
        assert not tx.compact
        assert ("drawn", "") not in tx.counted
    assert contents(alice) == ["Lives in Oslo"]


# Refusals


def test_a_refusal_before_anything_was_written_spoils_nothing(kb: Any, alice: Any) -> None:
    mine = alice.remember("Lives in Oslo")
    agent = kb.book("alice", by="agent")
    with agent.transaction():
        agent.remember("Has a cat")
        assert is_refused("invalid", agent.remember, "")
        assert is_refused("not_found", agent.get, "nothing1")
        assert is_refused("not_found", agent.forget, "nothing1")
        assert is_refused("persons_word", agent.update, mine.id, "Lives in Bergen")
        assert is_refused("person_only", agent.choose)
        agent.remember("Has a dog")
    assert contents(alice) == ["Has a cat", "Has a dog", "Lives in Oslo"]
    assert alice.verify().ok


def test_a_refusal_promises_a_proposal_only_if_it_is_kept(kb: Any, alice: Any) -> None:
    mine = alice.remember("Lives in Oslo")
    agent = kb.book("alice", by="agent")
    with agent.transaction():
        with pytest.raises(NotAllowed) as caught:
            agent.update(mine.id, "Lives in Bergen")
        assert "left" not in str(caught.value)
        said = kb.tools("general", owner="alice").call("forget", {"memory": mine.id})
        assert said.error == "persons_word"
        assert "finds it" not in said.text
    assert list(alice.proposals.list()) == []
    with pytest.raises(NotAllowed, match="left for them to decide") as kept:
        agent.update(mine.id, "Lives in Bergen")
    (waiting,) = alice.proposals.list()
    assert kept.value.details["proposal"] == waiting.id
    assert kept.value.message == str(kept.value)
    alice.proposals.decline(waiting.id)
    with pytest.raises(NotAllowed) as again:
        agent.update(mine.id, "Lives in Bergen")
    assert "left" not in again.value.message


# Signals


swallowed = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""What is raised while Python clears away a generator, it swallows: then the operation goes on, and is whole."""


class Ringing(Exception):
    """What a program's own handler raises, to put an end to what takes too long."""


@contextmanager
def ringing_at(nth: int) -> Iterator[None]:
    """A signal comes at the nth moment, a call or a return of any function of ours; its handler raises."""
    left = nth

    def count(frame: Any, event: str, _: object) -> None:
        nonlocal left
        if "keepbook" not in frame.f_code.co_filename or event not in ("call", "return"):
            return
        left -= 1
        if left == 0:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGUSR1)

    def ring(*_: object) -> None:
        raise Ringing

    before = signal.signal(signal.SIGUSR1, ring)
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGUSR1, before)


@swallowed
def test_an_exception_out_of_a_signal_handler_is_a_failure(alice: Any) -> None:
    """Wherever it comes in the middle of an operation: all of it is there, or the block is spoiled."""
    draw, kept, spoiled = random.Random(0), [], 0
    for nth in sorted(draw.sample(range(1, 400), 16)):
        try:
            with alice.transaction():
                alice.remember(f"Began block {nth}")
                with suppress(Ringing), ringing_at(nth):
                    alice.remember(f"Was rung at {nth}", force=True)
            kept.append(f"Began block {nth}")
        except Conflict as failed:
            assert failed.code == "transaction_failed"  # noqa: PT017
            spoiled += 1
    assert spoiled > 5
    assert [one for one in contents(alice) if one.startswith("Began")] == sorted(kept)
    assert alice.verify().ok


# Anything at all


def random_block(draw: random.Random, kb: Any, book: Any, depth: int = 0) -> None:
    """Some operations, some of which fail in one way or another; most errors are caught, some are not."""
    for _ in range(draw.randint(1, 5)):
        try:
            random_step(draw, kb, book, depth)
        except (KeepbookError, ZeroDivisionError, Ringing):
            if draw.random() < 0.2:
                raise


def random_step(draw: random.Random, kb: Any, book: Any, depth: int) -> None:
    known = [memory.id for memory in book.list(state=draw.choice(("active", "archived")), limit=20)] or ["nothing1"]
    some = draw.choice(known)
    match draw.randrange(12):
        case 0:
            book.update(some, f"Says {draw.random()} now")
        case 1:
            book.forget(some)
        case 2:
            book.delete(some, forever=draw.random() < 0.5)
        case 3:
            kb.book(book.owner, by="agent").update(some, "An agent's own idea")
        case 4:
            book.remember("")
        case 5:
            book.remember(f"{UNLUCKY} {draw.random()}", force=True)
        case 6:
            book.threads.start().add("user", "Hello" if draw.random() < 0.7 else "")
        case 7 | 8 if depth < 3:
            with book.transaction():
                random_block(draw, kb, book, depth + 1)
        case 9:
            raise ZeroDivisionError
        case 10 if draw.random() < 0.5:
            with ringing_at(draw.randint(1, 400)):
                book.remember(f"Fact {draw.random()}", force=True)
        case _:
            book.remember(f"Fact {draw.random()}", force=True)


@swallowed
@pytest.mark.usefixtures("unlucky")
def test_random_blocks_with_caught_errors_leave_a_ledger_that_holds(kb: Any) -> None:
    seed = 0 if BLOCKS == 60 else random.randrange(1 << 30)
    draw, outcomes = random.Random(seed), set()
    for nth in range(BLOCKS):
        book = kb.book(f"owner {nth // 20}")
        before = contents(book)
        try:
            with book.transaction():
                random_block(draw, kb, book)
                inside = contents(book)
            assert contents(book) == inside, f"seed {seed}, block {nth}"
            outcomes.add("kept")
        except (KeepbookError, ZeroDivisionError, Ringing) as error:
            assert contents(book) == before, f"seed {seed}, block {nth}"
            outcomes.add(getattr(error, "code", "raised"))
        if nth % 20 == 19 or BLOCKS > 60:
            assert book.verify().ok, f"seed {seed}, block {nth}"
    assert {"kept", "transaction_failed", "raised"} <= outcomes


def test_a_book_in_memory_loses_nothing_that_it_acknowledged() -> None:
    with closing(Keepbook(":memory:", embedder="none")) as kb:
        book = kb.book("alice")
        with book.transaction():
            book.remember("Lives in Oslo")
            assert is_refused("busy", kb.tokens.list)  # it has one connection
            with suppress(ZeroDivisionError), book.transaction():
                book.remember("Has a dog")
                raise ZeroDivisionError
            book.remember("Has a cat")
        assert contents(book) == ["Has a cat", "Lives in Oslo"]
        assert book.verify().ok


def test_statements_are_watched_where_they_are_run(alice: Any) -> None:
    """Through Core and past it, one at a time and many: each that writes is counted, and none that reads."""
    changes, given = alice._database.backend.changes, {"owner": "alice"}
    with alice._database.write("alice") as tx:
        alice.remember("Lives in Oslo")
        counts = [changes(tx.conn)]
        tx.conn.execute(text("SELECT count(*) FROM memories WHERE owner = :owner"), given)
        counts.append(changes(tx.conn))
        tx.conn.execute(text("UPDATE memories SET importance = importance WHERE owner = 'nobody'"))
        counts.append(changes(tx.conn))
        alice.list()
        counts.append(changes(tx.conn))
        assert len(set(counts)) == 1
        alice.threads.start()
        assert changes(tx.conn) > counts[0]


def test_an_error_that_nobody_foresaw_holds_nothing_that_was_said(kb: Any) -> None:
    database = kb.book("alice")._database
    with pytest.raises(DBAPIError) as told, database.backend.unscoped(writes=False) as conn:
        conn.execute(text("SELECT * FROM there_is_none WHERE said = :said"), {"said": "Plays the oboe"})
    assert "oboe" not in str(told.value)
