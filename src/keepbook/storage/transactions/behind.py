"""What comes behind a write, once that is kept: removed bytes are overwritten, words of long turns written, and what is
left of a deleted chat removed.

Nothing that fails there is a failure of the write, nor what a signal handler raises meanwhile: it ends that work, which
a sweep does later. Only an order to end the process goes on, with a note that the write is kept.
"""

from logging import getLogger
from typing import Any

from keepbook.errors import KeepbookError


def do_behind(database: Any, tx: Any) -> None:
    """Do what a transaction that is kept has left to do."""
    try:
        if tx.compact and not tx.compact_later:
            database.compact()
        for work in tx.afterwards:
            work(database)
    except KeepbookError as error:
        _log(error.code)
    except Exception as error:  # noqa: BLE001  whatever it is
        _log(type(error).__name__)
    except BaseException as end:
        end.add_note("what was being written is kept")
        raise


def _log(why: str) -> None:
    getLogger("keepbook").warning("what comes behind a write waits: %s", why)
