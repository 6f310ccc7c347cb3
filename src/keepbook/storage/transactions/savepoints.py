"""A block of work on an open transaction: whether it can still be kept, and the savepoints in it.

An operation that is refused before it has written anything leaves its block as it was. After any other error the block
is spoiled: a statement failed, a refusal came half-way, a signal handler raised. Every later operation in a spoiled
block is refused, and at its end the block is rolled back, even if the program caught the error. A block inside another
is a savepoint: it is spoiled and rolled back alone.
"""

import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, Protocol

from sqlalchemy import Connection

from keepbook.errors import Conflict, KeepbookError
from keepbook.storage.transactions.signal_safe import signal_safe

WaitsFor = Literal["owner", "writer", "anybody"]
"""Which other transactions one that writes waits for: those that write in the same owner's book, all that write, or all
that are open. Under "anybody" a reading transaction waits as well."""

_HARMLESS_IF_NOTHING_WRITTEN = (KeepbookError, GeneratorExit)
"""After these the block may go on, if the operation had written nothing: a refusal, and a generator that its caller
closed early. Any other error, such as that of a signal handler, may come from the middle of a step."""


class WatchedEngine(Protocol):
    """What this module asks of a database engine."""

    driver_error: type[Exception]
    waits_for: WaitsFor

    def changes(self, conn: Connection) -> int:
        """A number that grows with every statement that changes a row."""

    def is_sound(self, conn: Connection) -> bool:
        """Whether its transaction is open, and no statement failed in it."""

    def move_savepoint(self, conn: Connection, statement: str) -> None:
        """Make a savepoint, release it or roll back to it. Rolling back makes the transaction sound again."""


class OpenBlock(Protocol):
    """A transaction as this module uses it."""

    conn: Connection
    failed: str | None
    savepoints: int

    def state(self) -> tuple[Any, ...]: ...

    def restore(self, state: tuple[Any, ...]) -> None: ...


def refuse_failed(engine: WatchedEngine, block: OpenBlock) -> None:
    """Raise `Conflict` if the block is spoiled: nothing more is done in it, and it is not committed."""
    if block.failed is None and not engine.is_sound(block.conn):
        block.failed = "a statement failed"
    if block.failed is not None:
        raise transaction_failed(block.failed)


@signal_safe
def operation(engine: WatchedEngine, block: OpenBlock) -> Iterator[None]:
    """A context for one operation inside the block. If it raises, the block is spoiled, unless it had written
    nothing."""
    refuse_failed(engine, block)
    before = engine.changes(block.conn)
    try:
        yield
    except BaseException as error:
        # First spoil the block, then clear it: if a second signal raises in between, it stays spoiled.
        earlier = block.failed
        block.failed = earlier or _in_words(error)
        wrote_nothing = engine.is_sound(block.conn) and engine.changes(block.conn) == before
        if wrote_nothing and isinstance(error, _HARMLESS_IF_NOTHING_WRITTEN):
            block.failed = earlier
        raise


@signal_safe
def savepoint(engine: WatchedEngine, block: OpenBlock) -> Iterator[None]:
    """A context for a block inside the block. An error that leaves it rolls it back; the outer block goes on."""
    refuse_failed(engine, block)
    state = block.state()
    block.savepoints += 1
    name = f"keepbook_{block.savepoints}"  # always a new name: a signal may have left an earlier savepoint open
    engine.move_savepoint(block.conn, f"SAVEPOINT {name}")
    try:
        yield
        refuse_failed(engine, block)
        engine.move_savepoint(block.conn, f"RELEASE SAVEPOINT {name}")
    except BaseException as error:
        block.failed = _in_words(error)
        with suppress(engine.driver_error):  # if it cannot be rolled back alone, the outer block stays spoiled
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
        """Raise the error of `keepbook.errors` that this one means, if there is one."""


class ErrorTranslation:
    """A context that turns errors of the database into Keepbook's. Every operation enters it, so it is a class, which
    is quicker than a generator, and one instance serves a whole database; it holds that database weakly."""

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
