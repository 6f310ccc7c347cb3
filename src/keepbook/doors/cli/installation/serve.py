"""`keepbook serve`: the HTTP door."""

import os
import sys
import webbrowser
from typing import Annotated, Any

import typer

from keepbook.doors.cli.terminal.command import Invocation, command
from keepbook.errors import Invalid, NotAllowed

DOORS = "Open a door"
"""The section of `keepbook --help`."""

Host = Annotated[str | None, typer.Option("--host", help="The address to listen on: 127.0.0.1.", show_default=False)]
Port = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, help="The port: 8765; 0 takes a free one.", show_default=False)
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, max=64, help="How many processes: 1.", show_default=False)
]
ProxyHeaders = Annotated[
    bool, typer.Option("--proxy-headers", help="A proxy in front says who the client is, and that it came over TLS.")
]
ForwardedAllowIps = Annotated[
    str | None,
    typer.Option(
        "--forwarded-allow-ips",
        metavar="ADDRESSES",
        help="The proxies that may say so: addresses or networks, 127.0.0.1.",
        show_default=False,
    ),
]
NoOpen = Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")]


def register(app: typer.Typer) -> None:
    command(app, "serve", serve, panel=DOORS, writes=True)


def serve(
    call: Invocation,
    host: Host = None,
    port: Port = None,
    workers: Workers = None,
    proxy_headers: ProxyHeaders = False,
    forwarded_allow_ips: ForwardedAllowIps = None,
    no_open: NoOpen = False,
) -> None:
    """Serve the web pages, the HTTP API and MCP until Ctrl-C."""
    settings = settings_with(
        call, host=host, port=port, workers=workers, db=call.place,
        proxy_headers=proxy_headers or None, forwarded_allow_ips=forwarded_allow_ips,
    )  # fmt: skip
    server = http_server()
    proxies = server.named_proxies(settings)
    server.refuse_open_door(call.keepbook, settings.host, proxied=bool(proxies))
    if settings.workers > 1 and call.place == ":memory:":
        raise Invalid("a book in memory has one process; name a file or a server with --db", field="workers")
    server.name_misspelt()
    listening = server.bind(settings.host, settings.port)
    address = address_of(settings.host, listening.getsockname()[1])
    if settings.workers > 1:
        announce_address(call, address, no_open=True)
        server.run_workers(settings, listening)
        return
    app = server.create_app(
        call.keepbook, hosts=server.host_names_of(settings.host), local=server.only_this_machine(settings)
    )
    server.run_server(app, listening, lambda: announce_address(call, address, no_open=no_open), proxies=proxies)


def settings_with(call: Invocation, **given: Any) -> Any:
    """The settings in force with what the command line says; None means that it says nothing."""
    return call.settings.but(**{name: value for name, value in given.items() if value is not None})


def address_of(host: str, port: int) -> str:
    """What to type into a browser on this machine."""
    everywhere = host in ("0.0.0.0", "::", "")  # compared, not bound  # noqa: S104
    if everywhere:
        shown = "127.0.0.1"
    elif ":" in host:
        shown = f"[{host}]"
    else:
        shown = host
    return f"http://{shown}:{port}"


def announce_address(call: Invocation, address: str, *, no_open: bool, words: str = "Keepbook is open at") -> None:
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
