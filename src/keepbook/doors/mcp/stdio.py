"""MCP over a pipe: a client starts the program and talks to it on stdin and stdout.

Only the protocol goes to stdout; while it serves, a stray print goes to stderr. When the client closes the pipe, its
pending requests are still answered. SIGTERM and Ctrl-C end it at once, after the current write.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from keepbook.app import Keepbook
from keepbook.doors.auth import Caller
from keepbook.doors.mcp.server import AGENT_INSTRUCTIONS, INSTRUCTIONS, build_server
from keepbook.tools.bound import agent_id

_CHUNK = 65_536  # bytes
_AHEAD = 16
"""How many chunks may wait to be read; a client that sends more waits itself."""


def run_stdio(
    kb: Keepbook,
    owner: str,
    preset: str | None = None,
    *,
    agent: str | None = None,
    blind: bool = False,
    mode: str | None = None,
) -> None:
    """Serve one owner's book until the client leaves; with `agent`, the tools of that agent alone."""
    book = kb.book(owner)
    book.preset(preset)  # a name that is wrong is told now, not to a client that waits
    bound_to = None
    if agent is not None:
        bound_to = agent_id(book, agent)
    caller = Caller(owner, kind="agent", preset=preset, agent=bound_to, blind=blind, mode=mode)
    try:
        if caller.agent:
            told = AGENT_INSTRUCTIONS
        else:
            told = INSTRUCTIONS
        asyncio.run(_serve(build_server(kb, lambda _: caller, instructions=told, listens=True)))
    except* BrokenPipeError:  # the client is gone without a word; nobody is left to tell
        _hush()


async def _serve(server: Server[Any]) -> None:
    traffic = _Traffic()
    server.middleware.append(traffic)
    stdin: Any = _lines(traffic)
    async with anyio.create_task_group() as group:
        group.start_soon(_until_told, group.cancel_scope)
        async with stdio_server(stdin=stdin) as (read, write):
            await server.run(read, traffic.through(write), server.create_initialization_options())
        group.cancel_scope.cancel()


async def _until_told(scope: anyio.CancelScope) -> None:
    # Only the first signal is caught: a second one ends what does not want to end.
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            break
    scope.cancel()


async def _lines(traffic: "_Traffic") -> AsyncIterator[str]:
    """What the client sends, line by line, and an end only when all of it is answered.

    Nothing interrupts a read, and the interpreter waits for ordinary threads: so a daemon reads, below Python's own
    streams, whose locks it would hold when the interpreter wants them at the end.
    """
    loop, parts = asyncio.get_running_loop(), asyncio.Queue[bytes](_AHEAD)

    def read() -> None:
        part = b"-"
        while part:
            try:
                part = os.read(0, _CHUNK)
            except OSError:
                part = b""
            arriving = parts.put(part)
            try:
                asyncio.run_coroutine_threadsafe(arriving, loop).result()
            except RuntimeError:  # the loop has ended
                arriving.close()
                return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    rest = b""
    while part := await parts.get():
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", errors="replace")
    if rest.strip():
        yield rest.decode("utf-8", errors="replace")
    await traffic.wait_until_quiet()


class _Traffic:
    """What is being worked on and what is being sent.

    The SDK drops whatever is in hand when its input ends. A script that pipes its questions in wants the answers.
    """

    def __init__(self) -> None:
        self._in_hand = 0

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method == "subscriptions/listen":  # it lasts for as long as the client does
            return await call_next(ctx)
        self._in_hand += 1
        try:
            return await call_next(ctx)
        finally:
            self._in_hand -= 1

    def through(self, stream: Any) -> "_CountingOutput":
        return _CountingOutput(stream, self)

    async def send(self, stream: Any, item: SessionMessage) -> None:
        self._in_hand += 1
        try:
            await stream.send(item)
        finally:
            self._in_hand -= 1

    async def wait_until_quiet(self) -> None:
        await anyio.wait_all_tasks_blocked()  # what has just been read is taken in hand by then
        while self._in_hand:
            await anyio.sleep(0.01)
            await anyio.wait_all_tasks_blocked()


class _CountingOutput:
    """The way out, with an eye on it."""

    def __init__(self, stream: Any, traffic: _Traffic) -> None:
        self._stream, self._traffic = stream, traffic

    async def send(self, item: SessionMessage, /) -> None:
        await self._traffic.send(self._stream, item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stream.__aexit__(kind, error, trace)


def _hush() -> None:
    """Python flushes stdout once more on its way out; let that go nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
