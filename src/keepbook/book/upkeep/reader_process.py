"""The process that reads a stranger's file, started by `reading_apart.py`: it is given one file and one reader, and
prints lines of JSON.

Before it opens the file it gives up all rights that it does not need. The system limits its processor time, address
space and file sizes. Python refuses sockets and other programs. If the kernel allows it, the process gets an empty
network of its own, so that native code, which Python's hooks do not see, reaches nobody either.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from keepbook.errors import KeepbookError

ADDRESS_ROOM = 2_000_000_000
"""Bytes of address space that are added to the memory limit: libraries are mapped into it, and mostly not used."""
LARGEST_WRITTEN = 1_000_000
REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "pty.", "ftplib.")
"""Beginnings of the names of audit events that are refused."""
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints is no answer
    order = json.load(sys.stdin)
    module, _, name = order["reader"].partition(":")
    limit_process(*order["limits"])
    try:
        reader: Callable[[Path, dict[str, Any]], Iterator[Any]] = getattr(import_module(module), name)
        for value in reader(Path(order["path"]), order["told"]):
            _answer(answers, {"value": value})
        _answer(answers, {"end": True})
    except KeepbookError as error:
        told = {"message": error.message, "code": error.code, "field": error.field, "details": error.details}
        _answer(answers, {"error": {"kind": type(error).__name__, **told}})
    except Exception as error:  # noqa: BLE001  whatever it is, the file cannot be read
        _answer(answers, {"error": {"kind": type(error).__name__}})
    answers.flush()
    os._exit(0)  # nothing here needs an orderly end, and a library's threads may wait for ever


def _answer(answers: BinaryIO, told: dict[str, Any]) -> None:
    answers.write(json.dumps(told, default=str).encode() + b"\n")


def limit_process(memory_mb: int, cpu_seconds: int) -> None:
    """Give up all rights that reading does not need. This cannot be undone."""
    with suppress(ImportError):  # Windows has no limits of this kind; there the parent's watch is all
        import resource

        for what, soft, hard in (
            (resource.RLIMIT_CPU, cpu_seconds, cpu_seconds + 1),
            (resource.RLIMIT_AS, memory_mb * 1_000_000 + ADDRESS_ROOM, memory_mb * 1_000_000 + ADDRESS_ROOM),
            (resource.RLIMIT_FSIZE, LARGEST_WRITTEN, LARGEST_WRITTEN),
            (resource.RLIMIT_CORE, 0, 0),
        ):
            with suppress(ValueError, OSError):  # a stricter one is in force already, or this system has none
                resource.setrlimit(what, (soft, hard))
    _leave_network()
    sys.addaudithook(_refuse)


def _leave_network() -> None:
    if not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, AttributeError):
        import ctypes  # only here, and not every Python has it

        ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK)


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event.startswith(REFUSED):
        raise PermissionError(f"a process that reads a file does not {event}")


if __name__ == "__main__":
    main()
