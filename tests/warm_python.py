"""A Python that has loaded the house already, for the programs that tests start.

Started fresh, `python -m keepbook` takes ten times as long to load as to do what it is asked. Here a process loads
everything once and then splits itself for each program: the same code from its first line on, in a process of its own,
with its own arguments, environment, folder and streams, ended by signals and heard of by whoever waits for it. A
program that is asked for with options of the interpreter, or in an environment that could change how Python itself
begins, is started fresh as ever; so is all where the system is not Linux.

This file is both sides: `share` changes how tests start programs, and run as a program it is the process that splits.
"""

import array
import atexit
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from inspect import signature
from pathlib import Path
from typing import Any

LOADED = (
    "keepbook.doors.cli", "keepbook.doors.http.app", "keepbook.doors.http.server", "keepbook.doors.mcp.server",
    "keepbook.storage.engines.postgres", "keepbook.storage.engines.sqlite", "uvicorn.lifespan.on",
    "uvicorn.protocols.http.h11_impl",
)  # fmt: skip
HERE = Path(__file__)
READ_FIRST = (
    "CLICOLOR", "COLUMNS", "FORCE_COLOR", "LANG", "LC_", "LD_", "LINES", "NO_COLOR", "PYTHON", "TERM", "TTY_", "TZ",
)  # fmt: skip
"""What of an environment is read while Python begins or the house is loaded: who says it otherwise is started fresh."""
BECOMES_PARENT = 36
"""PR_SET_CHILD_SUBREAPER of prctl(2): whose parent has ended becomes the caller's child."""


# --- the tests' side ---------------------------------------------------------------------------------------


class Warm:
    """The process that splits, begun with the first program, and ended with this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mine: socket.socket | None = None
        self._environment = dict(os.environ)
        self._prctl = ctypes.CDLL(None).prctl

    def start(self, program: list[str], cwd: str, environment: Mapping[str, str], fds: list[int], alone: bool) -> int:
        """The number of a process that runs a program, a child of this one."""
        asked = json.dumps([program, cwd, dict(environment), alone]).encode()
        with self._lock:
            if self._mine is None:
                self._begin()
            assert self._mine is not None
            self._prctl(BECOMES_PARENT, 1, 0, 0, 0)
            try:
                socket.send_fds(self._mine, [len(asked).to_bytes(4, "big")], fds)
                self._mine.sendall(asked)
                return int.from_bytes(_received(self._mine, 4), "big")
            finally:
                self._prctl(BECOMES_PARENT, 0, 0, 0, 0)

    def differs(self, environment: Mapping[str, str]) -> bool:
        known = self._environment
        changed = {name for name in {*known, *environment} if known.get(name) != environment.get(name)}
        return any(name.startswith(READ_FIRST) for name in changed)

    def _begin(self) -> None:
        self._mine, other = socket.socketpair()
        line = [sys.executable, __file__, str(other.fileno())]
        with other:
            splits = subprocess.Popen(
                line,
                stdin=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                env=self._environment,
                cwd=HERE.parent,
            )
        atexit.register(splits.wait)
        atexit.register(self._mine.close)  # before that: nobody asks any more


def program(code: str, *words: str) -> list[str]:
    """The line that runs code as `python -c` does, where nothing depends on what is loaded yet."""
    return [sys.executable, str(HERE.parent / "doors" / "program.py"), code, *words]


def share() -> None:
    if sys.platform != "linux":
        return
    warm, usual = Warm(), subprocess.Popen._execute_child  # type: ignore[attr-defined]
    described = signature(usual)

    def execute(self: Any, *given: Any, **named: Any) -> None:
        asked = described.bind(self, *given, **named).arguments
        environment = os.environ if asked["env"] is None else asked["env"]
        if not _plain(asked) or warm.differs(environment):
            usual(self, *given, **named)
            return
        sys.audit("subprocess.Popen", sys.executable, asked["args"], asked["cwd"], asked["env"])
        fds = [
            asked[name] if asked[name] != -1 else own for own, name in enumerate(("p2cread", "c2pwrite", "errwrite"))
        ]
        self.pid = warm.start(
            list(map(str, asked["args"][1:])), os.path.abspath(asked["cwd"] or "."), environment, fds,
            bool(asked["start_new_session"]),
        )  # fmt: skip
        self._child_created = True
        self._close_pipe_fds(
            *(asked[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )

    subprocess.Popen._execute_child = execute  # type: ignore[attr-defined]


def _plain(asked: Mapping[str, Any]) -> bool:
    """Whether it is a program of ours, asked for with nothing that only a fresh interpreter can do."""
    args, special = asked["args"], ("preexec_fn", "pass_fds", "shell", "gid", "gids", "uid")
    if (
        not isinstance(args, list | tuple)
        or len(args) < 2
        or str(args[0]) != sys.executable
        or any(map(asked.get, special))
    ):
        return False
    if asked["umask"] != -1 or asked["process_group"] != -1 or not asked["close_fds"]:
        return False
    return list(map(str, args[1:3])) == ["-m", "keepbook"] or _is_test(Path(str(args[1])))


def _is_test(path: Path) -> bool:
    """A module of the tests that is also a program; not this one."""
    return path.suffix == ".py" and path != HERE and HERE.parent in path.parents


def _received(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        piece = connection.recv(count - len(found))
        if not piece:
            raise RuntimeError("the process that starts programs has ended")
        found += piece
    return found


# --- the process that splits -------------------------------------------------------------------------------


def _load() -> None:
    for name in LOADED:
        importlib.import_module(name)
    from keepbook import Keepbook  # loaded with the rest

    with Keepbook(":memory:", embedder="none") as kb:  # statements are put together with the first book
        kb.book("nobody").remember("Was here first")
    if threading.active_count() > 1:
        raise RuntimeError(f"a thread would not be split: {threading.enumerate()}")
    gc.collect()
    gc.freeze()


def _next(connection: socket.socket) -> list[Any] | None:
    """The program to be, in a process that is to be it; None when nobody asks any more."""
    while True:
        head, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_LEN(12))
        if not head:
            return None
        fds = array.array("i")
        for _, _, sent in ancillary:
            fds.frombytes(sent[: len(sent) - len(sent) % fds.itemsize])
        asked = json.loads(_received(connection, int.from_bytes(head, "big")))
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            program = os.fork()
            if program == 0:
                connection.close()
                os.close(reading)
                os.close(writing)
                for at, fd in enumerate(fds):
                    os.dup2(fd, at)
                    os.close(fd)
                return list(asked)
            os.write(writing, program.to_bytes(4, "big"))
            os._exit(0)
        os.close(writing)
        os.waitpid(between, 0)  # from here on the program has the tests' process for its parent
        connection.sendall(os.read(reading, 4))
        for fd in (reading, *fds):
            os.close(fd)


def _become(program: list[str], cwd: str, environment: dict[str, str], alone: bool) -> tuple[Any, dict[str, Any]]:
    """Be as a fresh interpreter is before the first line of its program; answers the code of that, and its names."""
    if alone:
        os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    for name, fd, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        before = getattr(sys, name)
        made = os.fdopen(fd, mode, encoding=before.encoding, errors=before.errors, closefd=False)
        made.reconfigure(line_buffering=made.line_buffering or name == "stderr")
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)
    names: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
    if program[0] == "-m":
        spec = importlib.util.find_spec(f"{program[1]}.__main__")
        assert spec is not None
        assert spec.origin is not None
        path, sys.path[0], sys.argv = spec.origin, cwd, [spec.origin, *program[2:]]
        names |= {"__spec__": spec, "__package__": program[1]}
    else:
        path, sys.path[0], sys.argv = program[0], os.path.dirname(program[0]), program
    return compile(Path(path).read_bytes(), path, "exec"), names | {"__file__": path}


def _be(code: Any, names: dict[str, Any]) -> None:
    """Run it as this process's main module. What it raises ends this process as it would end any."""
    main = sys.modules["__main__"].__dict__
    main.clear()
    main |= names
    exec(code, main)


if __name__ == "__main__":
    _load()
    with socket.socket(fileno=int(sys.argv[1])) as _connection:
        _asked = _next(_connection)
    if _asked is not None:
        _be(*_become(*_asked))
