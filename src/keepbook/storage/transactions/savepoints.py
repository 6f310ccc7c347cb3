"""A block of work on an open transaction: whether it can still be kept, and the savepoints in it.

An operation that is refused before it has written anything leaves its block as it was. After any other error the block
is spoiled: a statement failed, a refusal came half-way, a signal handler raised. What is called in it later is refused,
and its end rolls it back, also if the program caught the error. A block inside another is a savepoint: it is spoiled
and rolled back alone.
"""

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, Protocol

from sqlalchemy import Connection

from keepbook.errors import Conflict, KeepbookError
from keepbook.storage.transactions.signal_safe import signal_safe

WaitsFor = Literal["owner", "writer", "anybody"]
"""Whom a transaction that writes waits for: who writes the same owner's book, who writes at all, or anybody. In the
last case one that reads does so too."""

_MAY_LEAVE_NOTHING = (KeepbookError, GeneratorExit)
"""A refusal, or a reader who wants no more. Whatever else is raised may come from anywhere in an operation."""


class WatchedEngine(Protocol):
    """What an engine knows of the statements that ran on a connection."""

    driver_error: type[Exception]
    waits_for: WaitsFor

    def changes(self, conn: Connection) -> int:
        """A number that grows with every statement that changes a row."""

    def is_sound(self, conn: Connection) -> bool:
        """Whether its transaction is open, and no statement failed in it."""

    def move_savepoint(self, conn: Connection, statement: str) -> None:
        """Make a savepoint, release it or roll back to it. What failed since then is gone with it."""


class OpenBlock(Protocol):
    """A transaction as this module uses it."""

    conn: Connection
    failed: str | None
    savepoints: int

    def state(self) -> tuple[Any, ...]: ...

    def restore(self, state: tuple[Any, ...]) -> None: ...


def refuse_failed(engine: WatchedEngine, block: OpenBlock) -> None:
    """Refuse to go on in a block that is spoiled, or to keep it."""
    if block.failed is None and not engine.is_sound(block.conn):
        block.failed = "a statement failed"
    if block.failed is not None:
        raise transaction_failed(block.failed)


@signal_safe
def operation(engine: WatchedEngine, block: OpenBlock) -> Iterator[None]:
    """One operation inside the block: it is done, it has left nothing, or the block is spoiled."""
    refuse_failed(engine, block)
    before = engine.changes(block.conn)
    try:
        yield
    except BaseException as error:
        # Spoiled first and cleared then, so that a second signal right here clears nothing.
        earlier, block.failed = block.failed, block.failed or _in_words(error)
        wrote_nothing = engine.is_sound(block.conn) and engine.changes(block.conn) == before
        if wrote_nothing and isinstance(error, _MAY_LEAVE_NOTHING):
            block.failed = earlier
        raise


@signal_safe
def savepoint(engine: WatchedEngine, block: OpenBlock) -> Iterator[None]:
    """A block inside the block. Raised through, it leaves nothing, and the outer one goes on."""
    refuse_failed(engine, block)
    state = block.state()
    block.savepoints += 1
    name = f"keepbook_{block.savepoints}"  # never one that was there before: a signal may have left that one open
    engine.move_savepoint(block.conn, f"SAVEPOINT {name}")
    try:
        yield
        refuse_failed(engine, block)
        engine.move_savepoint(block.conn, f"RELEASE SAVEPOINT {name}")
    except BaseException as error:
        block.failed = _in_words(error)
        with suppress(engine.driver_error):  # it cannot be rolled back alone: then the outer one stays spoiled
            engine.move_savepoint(block.conn, f"ROLLBACK TO SAVEPOINT {name}")
            block.restore(state)
            block.failed = None
        raise


def transaction_failed(why: str) -> Conflict:
    return Conflict(
        f"an error inside this transaction was caught ({why}), so nothing of it is kept; begin it again, and catch "
        "errors around a transaction of their own",
        code="transaction_failed",
    )


def _in_words(error: BaseException) -> str:
    if isinstance(error, KeepbookError):
        return error.message
    return type(error).__name__


class Translator(Protocol):
    def raise_translated(self, error: BaseException) -> None:
        """Raise what an error means in its place, if this is known."""


class ErrorTranslation:
    """A block out of which errors of the database come as Keepbook's. Every operation goes through it, so it is no
    generator and one object serves all of a database, which it does not keep alive."""

    __slots__ = ("_translator",)

    def __init__(self, translator: Translator) -> None:
        self._translator = weakref.ref(translator)

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None or isinstance(error, KeepbookError):
            return
        translator = self._translator()
        if translator is not None:
            translator.raise_translated(error)
