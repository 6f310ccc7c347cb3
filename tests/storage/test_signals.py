"""A signal handler that raises at any step of a transaction leaves none open, no lock taken, and nothing to be lost."""

import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import CodeType, FrameType
from typing import Any

import psycopg
import pytest
from psycopg import waiting

from keepbook import Keepbook
from keepbook.storage.database import Database
from keepbook.storage.engines.postgres import Postgres
from keepbook.storage.engines.sqlite import Sqlite
from keepbook.storage.transactions.open_transactions import OpenTransactions
from keepbook.storage.transactions.signal_safe import _leave, signal_safe

STEPS: tuple[Any, ...] = (
    Database.write, OpenTransactions.hold_writing, Sqlite._begin, Sqlite._take_begun, Sqlite._begin_soon,
    Postgres._begin, Postgres._connect_and_ask,
)  # fmt: skip


class Ringing(BaseException):
    """What a handler raises."""


def code_of(function: Any) -> CodeType:
    code: CodeType = getattr(function, "__wrapped__", function).__code__
    return code


@contextmanager
def raising(is_time: Callable[[FrameType, str], bool]) -> Iterator[None]:
    """Raise once, at the first step for which it is time."""
    over = False

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal over
        frame.f_trace_opcodes = True
        if not over and is_time(frame, event):
            over = True
            raise Ringing
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def line_of_transaction(wanted: int) -> Callable[[FrameType, str], bool]:
    codes, seen = {code_of(step) for step in STEPS}, 0

    def is_time(frame: FrameType, event: str) -> bool:
        nonlocal seen
        seen += event == "line" and frame.f_code in codes
        return seen == wanted

    return is_time


def test_at_no_line_is_a_lock_left_or_a_word_lost(kb: Any, book_url: str) -> None:
    """While the error is kept, with the frames in which it was raised, the same thread writes, and others read that."""
    book, kept, errors = kb.book("alice"), [], list[BaseException]()
    with Keepbook(book_url, settings=kb.settings, embedder="none") as other:
        while True:
            nth = len(errors) + 1
            try:
                with raising(line_of_transaction(nth)):
                    book.remember(f"Thing {nth}", force=True)
            except Ringing as error:
                errors.append(error)
                kept.append(book.remember(f"In between {nth}", force=True).content)
                assert kept[-1] in other.book("alice").block(), nth
            else:
                break
    assert len(errors) > 20
    there = {one.content for one in book.list(limit=1000)}
    assert set(kept) <= there
    assert book.verify().ok


@pytest.mark.connections
@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_who_is_interrupted_while_it_connects_leaves_no_connection(
    kb: Any, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Selector(waiting.DefaultSelector):  # type: ignore[misc, valid-type]
        """A handler raises while the server is asked who it is."""

        def select(self, timeout: float | None = None) -> Any:
            super().select(timeout)
            raise Ringing

    kb._database.backend._engine.dispose()
    gc.collect()
    with psycopg.connect(book_url, autocommit=True) as other:

        def count() -> int:
            found = other.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").fetchone()
            return int(found[0]) if found else 0

        before = count()
        gc.disable()
        try:
            with monkeypatch.context() as patched:
                patched.setattr(waiting, "DefaultSelector", Selector)
                for _ in range(8):
                    with pytest.raises(Ringing):
                        kb.book("alice").list()
            until = time.monotonic() + 2
            while count() > before and time.monotonic() < until:  # the server hears of a closed socket a moment later
                time.sleep(0.02)
            assert count() <= before
        finally:
            gc.enable()
    assert kb.book("alice").remember("Lives in Oslo").version == 1


def between_context_and_with(frame: FrameType, event: str, done: list[str]) -> bool:
    return event == "opcode" and frame.f_code.co_name == "__enter__" and done == ["begun"]


def where_the_with_ends(frame: FrameType, event: str, _: list[str]) -> bool:
    return event == "call" and frame.f_code is code_of(_leave)


@pytest.mark.parametrize("moment", [between_context_and_with, where_the_with_ends])
def test_who_is_interrupted_beside_a_with_has_left_its_context(
    moment: Callable[[FrameType, str, list[str]], bool],
) -> None:
    done: list[str] = []

    @signal_safe
    def context() -> Iterator[str]:
        done.append("begun")
        try:
            yield "given"
        except BaseException as error:
            done.append(type(error).__name__)
            raise

    def use() -> None:
        with context():
            done.append("used")

    with pytest.raises(Ringing) as held, raising(lambda frame, event: moment(frame, event, done)):
        use()
    assert [one for one in done if one != "used"] == ["begun", "GeneratorExit"]
    assert held.value is not None


def test_errors_go_through_such_a_context_as_they_are() -> None:
    @signal_safe
    def context(end: str) -> Iterator[None]:
        try:
            yield
        except KeyError as error:
            raise ValueError(end) from error

    for raised, seen in (
        (ZeroDivisionError, ZeroDivisionError),
        (StopIteration, StopIteration),
        (KeyError, ValueError),
    ):
        with pytest.raises(seen), context("told"):
            raise raised
    with context("all is well"), ExitStack() as stack:
        stack.enter_context(context("and stacked"))
    stack = ExitStack()
    stack.enter_context(context("stacked"))
    with pytest.raises(ValueError, match="stacked"), stack:
        raise KeyError
