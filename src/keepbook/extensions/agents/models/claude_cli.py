"""A run executed by another program: a command in the manner of Claude's, which keeps its sessions itself.

The command is a setting, and nothing is started that the operator has not named (`agent_programs`). It is started by
its absolute path, with the session to resume, with an MCP config that opens this agent's tools and nothing else, with
an environment of its own, and in a folder of the agent's own, because such programs find a session again only where it
began. The prompt goes in on stdin; the answer and the session's new id come out as one JSON object on stdout, of which
only so much is read. A run that is given up takes the program and all that it started with it.
"""

import asyncio
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keepbook.book.ground.ids import ALPHABET, ID_LENGTH
from keepbook.errors import Invalid, ModelFailed, NotAllowed
from keepbook.extensions.agents.models import prompts
from keepbook.extensions.agents.models.adapter import Execution, ExecutionResult
from keepbook.models.model import PromptMessage, ReplyEvent, TextDelta, Usage, with_hidden
from keepbook.patterns import regex
from keepbook.settings import private_folder

SERVER = "keepbook"
"""What our tools are called in its config."""
TOLD_CHARS = 300
NEEDED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
"""What any program needs of the environment: where it lives and in which language; no key of anybody's."""
AGENT_ID = regex(rf"[{ALPHABET}]{{{ID_LENGTH}}}")
SESSION = regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
LAST_WORDS_SECONDS = 5.0
PIECE = 65_536


@dataclass(frozen=True, slots=True)
class ClaudeCliPlace:
    """Where the command finds things: what to start, the folder of all agents, the book, and how long it may take;
    which programs the operator has named, what of the environment they see, and how much of an answer is read."""

    command: str
    folder: Path
    db: str
    owner: str
    seconds: float
    programs: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    most_bytes: int = 4_000_000


class ClaudeCli:
    """It holds nothing between two runs: sessions are the command's own."""

    name = "claude-cli"

    def __init__(self, place: ClaudeCliPlace) -> None:
        self._place = place

    def refuse(self) -> None:
        """Nothing is started that the operator has not named."""
        program = _words(self._place.command)[0]
        if program not in self._place.programs:
            raise NotAllowed(
                f"{program} is not among the programs that agents may start here; the operator names it in "
                "agent_programs",
                code="programs",
            )

    async def execute(self, order: Execution) -> AsyncIterator[ReplyEvent | ExecutionResult]:
        self.refuse()
        session = order.after.session if order.after else order.held.session if order.held else None
        with self._papers(order) as papers:
            answer = await self._ask(self._line(order, session, papers), _text_to_send(order), order.agent.id)
        text, after, usage = _read(answer, self._place.command)
        yield TextDelta(text)
        yield ExecutionResult(
            text, (order.prompt, PromptMessage("assistant", text)), after, usage, order.model or self.name
        )

    def _line(self, order: Execution, session: str | None, papers: Path) -> list[str]:
        program, *more = _words(self._place.command)
        line = [_find_program(program), *more, "--print", "--output-format", "json"]
        line += ["--mcp-config", str(papers / "mcp.json"), "--strict-mcp-config", "--allowedTools", f"mcp__{SERVER}"]
        line += ["--append-system-prompt-file", str(papers / "system.txt")]
        if order.model is not None:
            line.append(f"--model={order.model}")
        if session is not None:
            if not SESSION.fullmatch(session):
                raise _model_failed("the session's name holds what no session is called; reset the agent", "garbage")
            line.append(f"--resume={session}")
        return line

    @contextmanager
    def _papers(self, order: Execution) -> Iterator[Path]:
        """What it is told and which tools it has, in a folder that only its person may read and that goes with the run:
        a command line can be seen by everybody on the machine."""
        own = ["-m", "keepbook", "mcp", "--owner", self._place.owner, "--agent", order.agent.id]
        if order.blind:
            args = [*own, "--blind"]
        else:
            args = own
        server = {
            "command": sys.executable,
            "args": args,
            "env": _of_our_own() | {"KEEPBOOK_DB": _from_anywhere(self._place.db)},
        }
        with tempfile.TemporaryDirectory(prefix="keepbook-") as name:
            folder = Path(name)
            (folder / "mcp.json").write_text(json.dumps({"mcpServers": {SERVER: server}}), encoding="utf-8")
            (folder / "system.txt").write_text(order.system, encoding="utf-8")
            yield folder

    async def _ask(self, line: Sequence[str], told: str, agent_id: str) -> str:
        command = line[0]
        if not AGENT_ID.fullmatch(agent_id):
            raise _model_failed("the agent's id is none that this program gives", "garbage")
        folder = self._place.folder.expanduser() / agent_id
        try:
            private_folder(folder)
            process = await asyncio.create_subprocess_exec(
                *line, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                cwd=folder, env=self._environment(), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            why = error.strerror or str(error)
            raise _model_failed(f"{command} cannot be started ({why}); set agent_command", "missing") from None
        try:
            async with asyncio.timeout(self._place.seconds):
                out, err = await self._read_answer(process, told.encode())
        except TimeoutError:
            raise _model_failed(f"{command} did not answer within {self._place.seconds:g} s", "timeout") from None
        finally:
            await _end(process)
        if process.returncode != 0:
            said = (err or out).decode(errors="replace").strip().splitlines()
            if said:
                why = said[-1][:TOLD_CHARS]
            else:
                why = "it says nothing"
            raise _model_failed(f"{command} ended with {process.returncode}: {why}", "unavailable")
        return out.decode(errors="replace")

    def _environment(self) -> dict[str, str]:
        """What it needs and what the operator lists; the keys of this process are not its own."""
        return {name: os.environ[name] for name in (*NEEDED, *self._place.env) if name in os.environ}

    async def _read_answer(self, process: asyncio.subprocess.Process, told: bytes) -> tuple[bytes, bytes]:
        """What it says, up to the limit; past that it is talked to no longer."""
        stdin, most = process.stdin, self._place.most_bytes
        assert stdin is not None

        async def tell() -> None:
            with suppress(BrokenPipeError, ConnectionResetError):
                stdin.write(told)
                await stdin.drain()
            stdin.close()

        async def hear(stream: asyncio.StreamReader | None) -> bytes:
            assert stream is not None
            heard = bytearray()
            while piece := await stream.read(PIECE):
                heard += piece
                if len(heard) > most:
                    raise _model_failed(
                        f"the program said more than {most:,} bytes; raise agent_output_bytes", "garbage"
                    )
            return bytes(heard)

        parts = [asyncio.ensure_future(part) for part in (hear(process.stdout), hear(process.stderr), tell())]
        try:
            out, err, _ = await asyncio.gather(*parts)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)
        await process.wait()
        return out or b"", err or b""


def _find_program(program: str) -> str:
    """Its absolute path, so that the folder it works in has no say in what is started."""
    path = shutil.which(program)
    if path is None:
        raise _model_failed(f"{program} cannot be started (there is no such program); set agent_command", "missing")
    return os.path.abspath(path)


def _of_our_own() -> dict[str, str]:
    """Our tools are this very program, which the environment told where its settings are."""
    names = ("KEEPBOOK_CONFIG", "KEEPBOOK_ALLOW_BYPASS_LOGIN", "KEEPBOOK_EMBEDDER")
    return {name: os.environ[name] for name in names if name in os.environ}


def _from_anywhere(db: str) -> str:
    """The command works in another folder: a file's path is told in full."""
    path = db.removeprefix("sqlite:///")
    if path == ":memory:" or "://" in path or path.startswith("postgres"):
        return db
    return os.path.abspath(path)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Also whatever it has started itself; it leads a group of its own."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":  # it has no groups to signal
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):  # what has left the group may hold the pipe
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            for stream in (process.stdout, process.stderr):
                while stream is not None and await stream.read(PIECE):
                    pass  # a process counts as ended when all that it said is read
            await process.wait()


def _text_to_send(order: Execution) -> str:
    """One text, with the run's own prompt as its last word."""
    if order.review and order.after is None:
        first = [prompts.REVIEW]
    else:
        first = []
    if order.earlier and order.after is None:
        chat = [prompts.told_chat(order.earlier)]
    else:
        chat = []
    return "\n\n".join([*chat, *first, with_hidden(order.prompt)])


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Invalid(f"agent_command cannot be read: {error}", field="agent_command") from None
    if not words:
        raise Invalid("agent_command is empty; name a program", field="agent_command")
    return words


def _read(answer: str, command: str) -> tuple[str, str, Usage]:
    """The text, the session's new id, and what it cost."""
    try:
        told = json.loads(answer)
    except ValueError:
        raise _model_failed(f"{command} did not answer in JSON: {answer.strip()[:TOLD_CHARS]!r}") from None
    if isinstance(told, list):  # its whole course, the result at the end
        if told:
            told = told[-1]
        else:
            told = None
    if not isinstance(told, Mapping):
        raise _model_failed(f"{command} did not answer with one JSON object")
    usage = _usage(told.get("usage"))
    text, session = told.get("result"), told.get("session_id")
    if told.get("is_error"):
        raise _model_failed(f"{command} failed: {str(text or told.get('subtype'))[:TOLD_CHARS]}", "unavailable", usage)
    if not isinstance(text, str) or not text.strip():
        raise _model_failed(f"{command} gave an empty answer", usage=usage)
    if not isinstance(session, str) or not session.strip():
        raise _model_failed(f"{command} did not say which session this is", usage=usage)
    return text, session.strip(), usage


def _usage(told: Any) -> Usage:
    counted: Mapping[str, Any] = {}
    if isinstance(told, Mapping):
        counted = told
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return Usage(sum(_number(counted.get(name)) for name in names), _number(counted.get("output_tokens")))


def _number(told: Any) -> int:
    if isinstance(told, int) and not isinstance(told, bool) and told > 0:
        return told
    return 0


def _model_failed(why: str, cause: str = "garbage", usage: Usage | None = None) -> ModelFailed:
    spent = usage or Usage()
    return ModelFailed(why, cause=cause, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out)
