"""Connections of a server in hand, wherever a signal comes: made, rolled back and let go, or given up."""

from collections.abc import Sequence
from traceback import clear_frames
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Engine

from keepbook.storage.prepared_statement import driver_of

CANCEL_SECONDS = 5.0


def connect(engine: Engine) -> Connection:
    """A connection of the pool, or a new one."""
    try:
        return engine.connect()
    except BaseException as error:
        # Core's frames keep the error, and the driver's a connection that was half made when a signal came: nobody
        # would close it before the collector comes by.
        clear_frames(error.__traceback__)
        raise


def roll_back(held: Sequence[Connection]) -> None:
    """Take back what was begun. Where a signal came before the answer, the server is still at it: it is told to stop,
    or it would take a lock for nobody, and the connection is given up."""
    for conn in held:
        if conn.invalidated:  # Core gave it up when it saw the signal
            return
        driver: Any = driver_of(conn)
        try:
            if driver.info.transaction_status == TransactionStatus.ACTIVE:
                driver.cancel_safe(timeout=CANCEL_SECONDS)
                conn.invalidate()
            else:
                driver.rollback()
        except psycopg.Error:  # it fell on the way, and the server has taken back what was begun
            conn.invalidate()
        except BaseException:  # a signal came in the middle of that: the server takes it back where nobody is
            conn.invalidate()
            raise


def put_back(held: list[Connection]) -> None:
    while held:
        held.pop().close()
