"""Handles connections to a server so that none is lost if a signal interrupts the program: connects, rolls back, and
returns a connection to the pool or gives it up. `held` is a list of at most one connection."""

from collections.abc import Sequence
from traceback import clear_frames
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine

from keepbook.storage.prepared_statement import driver_of

CANCEL_SECONDS = 5.0
"""How long the server may take to cancel a statement."""


def connect(engine: Engine) -> Connection:
    """A connection of the pool, or a new one."""
    try:
        return engine.connect()
    except BaseException as error:
        # SQLAlchemy's frames keep the error, and the driver's frames a connection that was only half made when a signal
        # came. Without this, it would stay open until the garbage collector runs.
        clear_frames(error.__traceback__)
        raise


def roll_back(held: Sequence[Connection]) -> None:
    """Roll back the transaction. If a signal came before the server has answered, it is still executing a statement;
    that is cancelled, because it could take a lock that nobody would release, and the connection is given up."""
    for conn in held:
        if conn.invalidated:  # SQLAlchemy has given it up already, because of the signal
            return
        driver: Any = driver_of(conn)
        try:
            if driver.info.transaction_status == TransactionStatus.ACTIVE:
                driver.cancel_safe(timeout=CANCEL_SECONDS)
                conn.invalidate()
            else:
                driver.rollback()
        except psycopg.Error:  # the connection is broken, so that the server has rolled back
            conn.invalidate()
        except BaseException:  # a signal came meanwhile: without a connection the server rolls back
            conn.invalidate()
            raise


def put_back(held: list[Connection]) -> None:
    """Return the connections to the pool."""
    while held:
        held.pop().close()
