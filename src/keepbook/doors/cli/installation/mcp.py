"""`keepbook mcp`: the book for an MCP client, over stdin and stdout; `--install` tells the client about it.

A client starts this program by itself, from wherever it runs: so what goes into its config is complete, with the full
path of the program, the place of the book and the owner. Nothing is written without a yes.
"""

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from keepbook.doors.cli.terminal.command import BEGIN, Invocation, command
from keepbook.doors.cli.terminal.paper import ID, META, Paper, grid, ink
from keepbook.doors.mcp.clients import CLIENTS, Client, add_to_client, client_named
from keepbook.errors import Invalid, NotAllowed

AUTHORING = "authoring"


def register(app: typer.Typer) -> None:
    command(app, "mcp", mcp, panel=BEGIN, writes=True)


def mcp(
    call: Invocation,
    client: Annotated[
        str | None, typer.Argument(metavar="[CLIENT]", help=f"With --install: {', '.join(CLIENTS)}.")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Show what goes into a client's config, and write it if you say yes.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --install: write it without asking.")] = False,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Serve the tools of this agent of yours alone.")
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="With --agent: for a specialist, without decisions and memories.")
    ] = False,
    mode: Annotated[
        str | None, typer.Option("--mode", help="authoring: where the preset has them, also tools that write a skill.")
    ] = None,
) -> None:
    """Serve the book to an MCP client over stdin and stdout."""
    if mode is not None and (mode != AUTHORING or agent is not None):
        raise Invalid(f"--mode is {AUTHORING}, and not for one agent; leave it out otherwise", field="mode")
    if blind and agent is None:
        raise Invalid("--blind goes with --agent; name one", field="agent")
    if install:
        if agent is not None:
            raise Invalid("--install sets up the whole book; leave out --agent", field="agent")
        _install(call, client, yes=yes)
    elif client is not None or yes:
        raise Invalid("to set up a client, add --install; to serve, name no client", field="client")
    else:
        _serve(call, agent, blind=blind, mode=mode)


def _serve(call: Invocation, agent: str | None, *, blind: bool, mode: str | None) -> None:
    try:
        # As slow to load as a web server, which half of it is.
        from keepbook.doors.mcp.stdio import run_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("keepbook"):
            raise
        raise NotAllowed(
            f"MCP needs its library ({error.name} is missing): pip install 'keepbook[mcp]'", code="missing_extra"
        ) from None

    keepbook = call.keepbook
    if sys.stdin.isatty():
        call.note("Speaking MCP on stdin and stdout, for a client to start; Ctrl-C ends it.")
        call.note(f"To set up a client: {call.program} mcp --install")
    run_stdio(keepbook, call.settings.owner, call.settings.preset, agent=agent, blind=blind, mode=mode)


# Telling a client


def _install(call: Invocation, name: str | None, *, yes: bool) -> None:
    line = _line(call)
    if name is None:
        if yes:
            raise Invalid(f"say which client: {', '.join(CLIENTS)}", field="client")
        call.answer([_client_json(each, line) for each in CLIENTS.values()], _overview, line)
        return
    client = client_named(name)
    answer = _client_json(client, line)
    if not call.as_json:
        call.note(f"For {client.title}, in {client.path}:")
        sys.stdout.write(answer["snippet"])
        sys.stdout.flush()
    added = None
    if yes or _confirm_write(call, client):
        added = add_to_client(client, line)
    if call.as_json:
        backup = None
        if not (added is None or added.backup is None):
            backup = str(added.backup)
        call.json(answer | {"written": added is not None and added.changed, "backup": backup})
    elif added is None:
        call.note(f"Nothing was written. To write it: {call.program} mcp --install {client.name} --yes")
    elif not added.changed:
        call.note(f"{added.file} says so already; nothing was written.")
    else:
        call.note(f"Written to {added.file}. {client.note}")
        if added.backup is not None:
            call.note(f"The file as it was: {added.backup}")


def _client_json(client: Client, line: list[str]) -> dict[str, Any]:
    path = client.path
    return {
        "client": client.name,
        "title": client.title,
        "file": str(path),
        "exists": path.exists(),
        "snippet": client.snippet(line),
    }


def _confirm_write(call: Invocation, client: Client) -> bool:
    if call.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    if client.path.exists():
        verb = "Add it to"
    else:
        verb = "Write it to"
    sys.stderr.write(f"{verb} {client.path}? All else in it stays. [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _line(call: Invocation) -> list[str]:
    """The command a client is to start, good from any folder and without this shell's variables."""
    line = [*_program(), "mcp"]
    if (place := _place(call)) is not None:
        line += ["--db", place]
    line += ["--owner", call.settings.owner]
    if call.given.preset is not None:
        line += ["--preset", call.given.preset]
    return line


def _program() -> list[str]:
    """This program, as it was started; a link to it stays one, since an upgrade moves what is behind it."""
    name = sys.argv[0]
    started = None
    if os.path.basename(name) == "keepbook":
        started = shutil.which(name)
    beside = Path(sys.executable).with_name("keepbook")
    if started is None and beside.exists():
        started = str(beside)
    if started is None:
        return [sys.executable, "-m", "keepbook"]
    return [os.path.abspath(started)]


def _place(call: Invocation) -> str | None:
    """The full path or address of the book; None if it has a password, which must stay in the person's settings."""
    if call.file is not None:
        return str(call.file.absolute())
    if call.place == ":memory:" or urlsplit(call.place).password is None:
        return call.place
    if call.given.db is None and "KEEPBOOK_DB" not in os.environ:
        return None  # it stands in the settings file, which the client's program reads too
    raise Invalid(
        "this address holds a password, which the client's config would show; put db = … into ~/.keepbook/config.toml, "
        "and run this without --db and KEEPBOOK_DB",
        field="db",
    )


def _overview(paper: Paper, told: list[dict[str, Any]], line: list[str]) -> None:
    table = grid(text=2, count=3)
    for each in told:
        if each["exists"]:
            there = ""
        else:
            there = " (not there yet)"
        table.add_row(ink(each["client"], ID), ink(each["title"]), ink(each["file"] + there, META))
    paper.sheet(table)
    paper.put("Show and write one: ", paper.hint("mcp", "--install", "CLIENT"))
    paper.put("Any other client starts: ", ink(shlex.join(line), ID))
