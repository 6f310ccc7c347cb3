"""Reads a file that somebody else made in a process of its own, which has no database, no keys, no environment of its
caller and no network.

A file that is packed, binary, markup or large can make its reader use memory and time without end, or crash it. This
module watches the process that reads it: if it exceeds its memory or processor time, it is ended, its folder is
removed, and the error names the limit. The results come as lines of JSON, never as objects. The other side is
`reader_process.py`.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import keepbook.errors
from keepbook.errors import Invalid, KeepbookError
from keepbook.settings import Settings

SMALL = 1_000_000
"""Text of at most this many bytes is read in the caller's own process."""
PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PAR1", b"SQLite format 3\x00")
"""The first bytes of archives, compressed files and databases."""
_MARKUP = b"<"
_BEFORE_TEXT = b"\xef\xbb\xbf \t\n\r\x0b\x0c"
"""The bytes of a byte order mark and of blanks, which readers skip before a text."""
_WATCHED_EVERY = 0.02
"""Seconds between two looks at the memory of the process."""
_LAST_SECONDS = 5.0
"""How many seconds the process gets to end after its last answer."""
_ROOM_FOR_ROWS = 8
"""What is kept as `rows` may have the memory limit divided by this, because small Python objects take more room."""

Answer = Literal["text", "rows", "stream"]
_MEGABYTE = 1_000_000
KILLED, OUT_OF_CPU = getattr(signal, "SIGKILL", 9), getattr(signal, "SIGXCPU", 24)  # Windows has neither


class ReadingLimits(NamedTuple):
    """The limits of the process that reads a file."""

    memory_mb: int
    cpu_seconds: int


def limits_in(settings: Settings) -> ReadingLimits:
    return ReadingLimits(settings.import_memory_mb, settings.import_cpu_seconds)


USUAL_LIMITS = limits_in(Settings.of_nobody())


def is_small_text(source: bytes | Path) -> bool:
    """Whether a file is text of up to `SMALL` bytes without markup, to be read in the caller's own process."""
    if isinstance(source, Path):
        try:
            if not source.is_file() or source.stat().st_size > SMALL:
                return False
            source = source.read_bytes()
        except OSError:
            return True  # whoever reads it says why it cannot be read
    packed = source.startswith(PACKED) or b"\x00" in source[:SMALL]
    return len(source) <= SMALL and not packed and source.lstrip(_BEFORE_TEXT)[:1] != _MARKUP


@contextmanager
def as_file(sent: bytes) -> Iterator[Path]:
    """A context with a temporary file that has these bytes, and that no other user can read."""
    with ExitStack() as stack:
        try:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keepbook-"))) / "sent"
            path.write_bytes(sent)
        except OSError as error:
            raise _not_begun(error) from error
        yield path


def read_apart(
    reader: str, path: Path, told: Mapping[str, Any], limits: ReadingLimits, *, answer: Answer = "text"
) -> Iterator[Any]:
    """The plain values that a reader (`package.module:function`) finds in a file, one after the other.

    Together they may be as large as the memory limit of the process; with `rows`, which the caller keeps, an eighth of
    it; with `stream`, which nobody keeps, only each by itself.
    """
    order = {"reader": reader, "path": str(path.resolve()), "told": dict(told), "limits": limits}
    most = limits.memory_mb * _MEGABYTE // (_ROOM_FOR_ROWS if answer == "rows" else 1)
    with _reading_process(limits) as (process, watch):
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError), process.stdin as orders:
            orders.write(json.dumps(order).encode())
        received = 0
        while line := process.stdout.readline(most + 1):
            if answer == "stream":
                received = 0
            received += len(line)
            if received > most:
                raise _over_memory(limits)
            message = _parse_answer(line)
            if message is None:
                break  # it was ended in the middle of a line
            if "value" in message:
                yield message["value"]
            elif "error" in message:
                raise _to_error(message["error"], limits)
            else:
                return
        raise _why_it_ended(process, watch, limits)


@contextmanager
def _reading_process(limits: ReadingLimits) -> "Iterator[tuple[subprocess.Popen[bytes], _MemoryWatch]]":
    """A context with the process that reads, and the thread that watches its memory; both are ended after it."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="keepbook-"))
            process = _start(folder)
            stack.callback(_end, process)
            watch = _MemoryWatch(process, limits.memory_mb * _MEGABYTE)
            watch.start()
        except (OSError, RuntimeError) as error:  # no room on the disk, or no further process or thread
            raise _not_begun(error) from error
        stack.callback(watch.join)
        stack.callback(process.kill)
        yield process, watch


def _start(folder: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", "-m", "keepbook.book.upkeep.reader_process"]
    return subprocess.Popen(  # noqa: S603 our own program
        command, cwd=folder, env=_bare_environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _bare_environment(folder: str) -> dict[str, str]:
    """The environment of the process: what Python needs to find its modules, and a folder to write in."""
    own = {
        "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
        "PYTHONUTF8": "1",
        "TMPDIR": folder,
        "HOME": folder,
    }
    if "SYSTEMROOT" in os.environ:  # without it Python does not start on Windows
        own["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    return own


class _MemoryWatch(threading.Thread):
    """Ends a process that uses more memory than it may."""

    def __init__(self, process: "subprocess.Popen[bytes]", most: int) -> None:
        super().__init__(name="keepbook-reading", daemon=True)
        self._process, self._most = process, most
        self.exceeded = False

    def run(self) -> None:
        while True:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_WATCHED_EVERY)
                return
            if resident_bytes(self._process.pid) > self._most:
                self.exceeded = True
                self._process.kill()
                return


def resident_bytes(pid: int) -> int:
    """How many bytes of memory a process uses now; 0 if this system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError, AttributeError):
        return 0


# What comes back


def _parse_answer(line: bytes) -> dict[str, Any] | None:
    """A message of the process; None if the line is incomplete."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if isinstance(told, dict):
        return told
    return None


def _to_error(told: Mapping[str, Any], limits: ReadingLimits) -> KeepbookError:
    """The error that the process has reported."""
    if told["kind"] == "MemoryError":
        return _over_memory(limits)
    kind = getattr(keepbook.errors, told["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, KeepbookError)):
        return Invalid(f"this file cannot be read ({told['kind']}); nothing was imported", field="file")
    return kind(told["message"], code=told["code"], field=told["field"], **told["details"])


def _why_it_ended(process: "subprocess.Popen[bytes]", watch: _MemoryWatch, limits: ReadingLimits) -> KeepbookError:
    """The error for a process that has ended without its last message."""
    try:
        ended = process.wait(_LAST_SECONDS)
    except subprocess.TimeoutExpired:
        return Invalid("this file cannot be read (its reader answers no more); nothing was imported", field="file")
    watch.join()
    if watch.exceeded or ended == -KILLED:  # by us, or by a system that ran out of memory
        return _over_memory(limits)
    if ended == -OUT_OF_CPU:
        return Invalid(
            f"this file takes more than {limits.cpu_seconds} s of computing to read; nothing was imported. Split it, "
            "or raise the setting import_cpu_seconds",
            code="import_cpu", field="file",
        )  # fmt: skip
    return Invalid(f"this file cannot be read (its reader ended with {ended}); nothing was imported", field="file")


def _not_begun(error: Exception) -> KeepbookError:
    why = getattr(error, "strerror", None) or str(error)
    return KeepbookError(
        f"no process could be started to read this file ({why}); nothing was imported. Try again later",
        code="unavailable",
    )


def _over_memory(limits: ReadingLimits) -> Invalid:
    return Invalid(
        f"this file takes more than {limits.memory_mb} MB of memory to read; nothing was imported. Split it, or raise "
        "the setting import_memory_mb",
        code="import_memory", field="file",
    )  # fmt: skip
