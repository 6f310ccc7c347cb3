"""`keepbook serve` and `keepbook token`: the HTTP door and its keys."""

import os
import sys
import webbrowser
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.doors.cli.terminal.command import CARE, Invocation, command, group
from keepbook.doors.cli.terminal.paper import AMBER, GONE, ID, META, Paper, dotted, ink
from keepbook.errors import Invalid, NotAllowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from keepbook.book.owners.tokens import Token

DOORS = "Open a door"
"""The section of `keepbook --help`."""

Host = Annotated[str | None, typer.Option("--host", help="The address to listen on: 127.0.0.1.", show_default=False)]
Port = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, help="The port: 8765; 0 takes a free one.", show_default=False)
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")]


def register(app: typer.Typer) -> None:
    command(app, "serve", serve, panel=DOORS, writes=True)
    token = group(app, "token", panel=CARE, words="Make, list and revoke the keys to the HTTP door.")
    command(token, "create", create, writes=True)
    command(token, "list", listing)
    command(token, "revoke", revoke, writes=True)


# Serving


def serve(
    call: Invocation,
    host: Host = None,
    port: Port = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="How many processes.")] = 1,
    no_open: NoOpen = False,
) -> None:
    """Serve the web pages, the HTTP API and MCP until Ctrl-C."""
    given = {"host": host, "port": port, "db": call.place}
    settings = call.settings.but(**{name: value for name, value in given.items() if value is not None})
    server = http_server()
    server.refuse_open_door(call.keepbook, settings.host)
    if workers > 1 and call.place == ":memory:":
        raise Invalid("a book in memory has one process; name a file or a server with --db", field="workers")
    listening = server.bind(settings.host, settings.port)
    address = address_of(settings.host, listening.getsockname()[1])
    if workers > 1:
        announce(call, address, no_open=True)
        server.run_workers(settings, listening, workers)
        return
    app = server.create_app(call.keepbook, hosts=server.names_of(settings.host), local=server.is_local(settings.host))
    server.run(app, listening, lambda: announce(call, address, no_open=no_open))


def address_of(host: str, port: int) -> str:
    """What to type into a browser on this machine."""
    everywhere = host in ("0.0.0.0", "::", "")  # compared, not bound  # noqa: S104
    shown = "127.0.0.1" if everywhere else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def announce(call: Invocation, address: str, *, no_open: bool, words: str = "Keepbook is open at") -> None:
    """Say where it is, and show it to a person who sits here."""
    if call.as_json:
        sys.stdout.write(f'{{"address": "{address}"}}\n')
    else:
        sys.stdout.write(f"{words} {address} · Ctrl-C ends it.\n")
    sys.stdout.flush()
    screen = sys.platform == "darwin" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if screen and sys.stdout.isatty() and not no_open:
        webbrowser.open(address)


def http_server() -> Any:
    try:
        # FastAPI and uvicorn are heavy, and an extra.
        from keepbook.doors.http import server
    except ImportError as error:
        raise NotAllowed(
            f"the server needs more packages ({error.name} is missing): pip install 'keepbook[serve]'",
            code="missing_extra",
        ) from None
    return server


# Tokens


def create(
    call: Invocation,
    kind: Annotated[
        str, typer.Option("--kind", help="person, agent, or service (a host application that serves many).")
    ] = "person",
    scopes: Annotated[str, typer.Option("--scopes", help="Of read, write, admin; with commas.")] = "read,write",
    name: Annotated[str | None, typer.Option("--name", help="To tell it from others: laptop.")] = None,
    expires: Annotated[str | None, typer.Option("--expires", metavar="WHEN", help="Until when it opens.")] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="With --kind agent: one of yours, with its tools.")
    ] = None,
) -> None:
    """Make a token; it is shown this once. From the first one on, every request needs one."""
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    owner = None if kind == "service" else call.settings.owner
    if kind == "service" and call.given.owner is not None:
        raise Invalid("a service token names its owner with each request; leave out --owner", field="owner")
    bound = None if agent is None else call.book.agents.get(agent).id
    made = call.keepbook.tokens.create(
        owner, kind=kind, scopes=wanted, name=name, expires=call.moment(expires, "expires", end=True), agent=bound
    )
    known = made.known
    if call.as_json:
        call.json(
            {"id": known.id, "token": made.token, "owner": known.owner, "kind": known.kind, "scopes": known.scopes}
        )
        return
    whose = "any owner, named with each request" if known.owner is None else known.owner
    call.paper.put(made.token)
    call.note(f"Token {known.id} for {whose} ({', '.join(known.scopes)}). It is shown this once: keep it safe.")


def listing(
    call: Invocation,
    everyone: Annotated[bool, typer.Option("--all", help="Of every owner, and services'.")] = False,
) -> None:
    """Show the tokens of an owner; their secrets are not kept."""
    call.answer(call.keepbook.tokens.list(None if everyone else call.settings.owner), _tokens)


def revoke(
    call: Invocation,
    id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, as `token list` shows it.", show_default=False)],
) -> None:
    """Revoke a token: from here on it opens nothing."""
    call.answer(call.keepbook.tokens.revoke(id), _revoked)


def _revoked(paper: Paper, token: "Token") -> None:
    paper.put(f"Revoked {token.id}.")


def _tokens(paper: Paper, tokens: "Sequence[Token]") -> None:
    if not tokens:
        paper.put("No tokens. Without one, only this machine's owner is served, on this machine.")
    for token in tokens:
        whose = token.owner or ("every owner" if token.kind == "service" else "erased")
        known: list[Text | str] = [ink(token.id, ID), whose, token.kind, ", ".join(token.scopes), _state(paper, token)]
        used = f"last used {paper.age(token.last_used_at)}" if token.last_used_at else "never used"
        paper.put(dotted([*known, *([token.name] if token.name else []), ink(used, META)]))


def _state(paper: Paper, token: "Token") -> "Text | str":
    if token.revoked_at:
        return ink("revoked", GONE)
    if token.expires_at and token.expires_at <= paper.now:
        return ink("expired", AMBER)
    return f"until {paper.day(token.expires_at)}" if token.expires_at else "open"
