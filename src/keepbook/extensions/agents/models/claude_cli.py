"""Executes a run with another program, one with the command line of Claude's, which stores its sessions itself.

The command is a setting, and only programs that the operator has named are started (`agent_programs`). The program is
started by its absolute path, with the session to resume, with an MCP config that opens this agent's tools and nothing
else, with an environment of its own, and in the agent's own folder, because such programs find a session again only in
the folder where it began. The prompt goes in on stdin; the answer and the session's new id come out on stdout as one
JSON object, which is read up to a limit. When a run ends or is given up, the program and its children are killed.
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
"""The name of our MCP server in the program's config."""
TOLD_CHARS = 300
"""How much of what the program said an error repeats."""
NEEDED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
"""The environment variables that any program needs. None holds a key."""
AGENT_ID = regex(rf"[{ALPHABET}]{{{ID_LENGTH}}}")
SESSION = regex(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
LAST_WORDS_SECONDS = 5.0
"""How long to wait for the pipes of a killed program to close."""
PIECE = 65_536
"""Bytes that are read from a pipe at once."""


@dataclass(frozen=True, slots=True)
class ClaudeCliPlace:
    """The settings of the command.

    command: what to start, with its arguments
    folder: in which each agent has a folder of its own
    db, owner: the book that the tools open
    seconds: how long a run may take
    programs: which programs the operator has named
    env: further environment variables that the program sees
    most_bytes: how much of an answer is read
    """

    command: str
    folder: Path
    db: str
    owner: str
    seconds: float
    programs: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    most_bytes: int = 4_000_000


class ClaudeCli:
    """Keeps nothing between two runs: the program stores its sessions."""

    name = "claude-cli"

    def __init__(self, place: ClaudeCliPlace) -> None:
        self._place = place

    def check_allowed(self) -> None:
        """Raise unless the operator has named this program."""
        program = _words(self._place.command)[0]
        if program not in self._place.programs:
            raise NotAllowed(
                f"{program} is not among the programs that agents may start here; the operator names it in "
                "agent_programs",
                code="programs",
            )

    async def execute(self, order: Execution) -> AsyncIterator[ReplyEvent | ExecutionResult]:
        self.check_allowed()
        with self._config_files(order) as folder:
            answer = await self._ask(self._command_line(order, folder), _text_to_send(order), order.agent.id)
        text, new_session, usage = _read(answer, self._place.command)
        yield TextDelta(text)
        yield ExecutionResult(
            text, (order.prompt, PromptMessage("assistant", text)), new_session, usage, order.model or self.name
        )

    def _command_line(self, order: Execution, folder: Path) -> list[str]:
        program, *more = _words(self._place.command)
        line = [_find_program(program), *more, "--print", "--output-format", "json"]
        line += ["--mcp-config", str(folder / "mcp.json"), "--strict-mcp-config", "--allowedTools", f"mcp__{SERVER}"]
        line += ["--append-system-prompt-file", str(folder / "system.txt")]
        if order.model is not None:
            line.append(f"--model={order.model}")
        session = _session_of(order)
        if session is not None:
            if not SESSION.fullmatch(session):
                raise _model_failed("the session's name holds what no session is called; reset the agent", "garbage")
            line.append(f"--resume={session}")
        return line

    @contextmanager
    def _config_files(self, order: Execution) -> Iterator[Path]:
        """The system prompt and the MCP config as files, in a folder that only this user may read and that is removed
        after the run. They are no arguments, because everybody on the machine can see a command line."""
        own = ["-m", "keepbook", "mcp", "--owner", self._place.owner, "--agent", order.agent.id]
        if order.blind:
            args = [*own, "--blind"]
        else:
            args = own
        server = {
            "command": sys.executable,
            "args": args,
            "env": _keepbook_env() | {"KEEPBOOK_DB": _absolute_db(self._place.db)},
        }
        with tempfile.TemporaryDirectory(prefix="keepbook-") as name:
            folder = Path(name)
            (folder / "mcp.json").write_text(json.dumps({"mcpServers": {SERVER: server}}), encoding="utf-8")
            (folder / "system.txt").write_text(order.system, encoding="utf-8")
            yield folder

    async def _ask(self, line: Sequence[str], prompt: str, agent_id: str) -> str:
        """Start the program, send it the prompt, and return what it wrote."""
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
                out, err = await self._read_answer(process, prompt.encode())
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
        """What the program needs and what the operator lists. Other variables of this process may hold keys."""
        return {name: os.environ[name] for name in (*NEEDED, *self._place.env) if name in os.environ}

    async def _read_answer(self, process: asyncio.subprocess.Process, prompt: bytes) -> tuple[bytes, bytes]:
        """Send the prompt, and return stdout and stderr; raises if one of them is over the limit."""
        stdin, most = process.stdin, self._place.most_bytes
        assert stdin is not None

        async def send_prompt() -> None:
            with suppress(BrokenPipeError, ConnectionResetError):
                stdin.write(prompt)
                await stdin.drain()
            stdin.close()

        async def read_all(stream: asyncio.StreamReader | None) -> bytes:
            assert stream is not None
            received = bytearray()
            while piece := await stream.read(PIECE):
                received += piece
                if len(received) > most:
                    raise _model_failed(
                        f"the program said more than {most:,} bytes; raise agent_output_bytes", "garbage"
                    )
            return bytes(received)

        stdout = asyncio.create_task(read_all(process.stdout))
        stderr = asyncio.create_task(read_all(process.stderr))
        sending = asyncio.create_task(send_prompt())
        try:
            await asyncio.gather(stdout, stderr, sending)
        finally:
            for task in (stdout, stderr, sending):
                task.cancel()
            await asyncio.gather(stdout, stderr, sending, return_exceptions=True)
        await process.wait()
        return stdout.result(), stderr.result()


def _session_of(order: Execution) -> str | None:
    """The session to resume: the one that this run's last answer named, or else the one stored before the run."""
    if order.after:
        return order.after.session
    if order.held:
        return order.held.session
    return None


def _find_program(program: str) -> str:
    """The program's absolute path, so that nothing in the folder in which it runs can be started in its place."""
    path = shutil.which(program)
    if path is None:
        raise _model_failed(f"{program} cannot be started (there is no such program); set agent_command", "missing")
    return os.path.abspath(path)


def _keepbook_env() -> dict[str, str]:
    """The variables of our own environment that the MCP server needs, because it is Keepbook again."""
    names = ("KEEPBOOK_CONFIG", "KEEPBOOK_ALLOW_BYPASS_LOGIN", "KEEPBOOK_EMBEDDER")
    return {name: os.environ[name] for name in names if name in os.environ}


def _absolute_db(db: str) -> str:
    """The address of the book; a path as an absolute one, because the program runs in another folder."""
    path = db.removeprefix("sqlite:///")
    if path == ":memory:" or "://" in path or path.startswith("postgres"):
        return db
    return os.path.abspath(path)


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill the process and its process group, which holds what it has started, and drain its pipes."""
    with suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":  # Windows has no process groups that can be killed
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):  # a child that has left the group may keep the pipe open
        async with asyncio.timeout(LAST_WORDS_SECONDS):
            for stream in (process.stdout, process.stderr):
                while stream is not None and await stream.read(PIECE):
                    pass  # asyncio reports the end of a process only when its pipes are read to the end
            await process.wait()


def _text_to_send(order: Execution) -> str:
    """One text: at the beginning of a run the earlier chat and the instructions, and then the run's own prompt."""
    parts = []
    is_first = order.after is None
    if is_first and order.earlier:
        parts.append(prompts.told_chat(order.earlier))
    if is_first and order.review:
        parts.append(prompts.REVIEW)
    parts.append(with_hidden(order.prompt))
    return "\n\n".join(parts)


def _words(command: str) -> list[str]:
    """The program and its arguments."""
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
        parsed = json.loads(answer)
    except ValueError:
        raise _model_failed(f"{command} did not answer in JSON: {answer.strip()[:TOLD_CHARS]!r}") from None
    if isinstance(parsed, list) and parsed:  # all events of the run; the result is the last
        parsed = parsed[-1]
    if not isinstance(parsed, Mapping):
        raise _model_failed(f"{command} did not answer with one JSON object")
    usage = _usage(parsed.get("usage"))
    text, session = parsed.get("result"), parsed.get("session_id")
    if parsed.get("is_error"):
        why = str(text or parsed.get("subtype"))
        raise _model_failed(f"{command} failed: {why[:TOLD_CHARS]}", "unavailable", usage)
    if not isinstance(text, str) or not text.strip():
        raise _model_failed(f"{command} gave an empty answer", usage=usage)
    if not isinstance(session, str) or not session.strip():
        raise _model_failed(f"{command} did not say which session this is", usage=usage)
    return text, session.strip(), usage


def _usage(counts: Any) -> Usage:
    if not isinstance(counts, Mapping):
        return Usage()
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    tokens_in = sum(_number(counts.get(name)) for name in names)
    return Usage(tokens_in, _number(counts.get("output_tokens")))


def _number(value: Any) -> int:
    """A count of tokens; 0 for anything else that a program may write."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return 0


def _model_failed(why: str, cause: str = "garbage", usage: Usage | None = None) -> ModelFailed:
    spent = usage or Usage()
    return ModelFailed(why, cause=cause, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out)
