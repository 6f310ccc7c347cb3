"""`keepbook demo`: the pages over a book with a history, each visitor with an own copy that vanishes with the visit."""

from typing import Annotated

import typer

from keepbook.doors.cli.installation import serve
from keepbook.doors.cli.installation.serve import ForwardedAllowIps, Host, NoOpen, Port, ProxyHeaders
from keepbook.doors.cli.terminal.command import BEGIN, Invocation, command
from keepbook.errors import NotAllowed


def register(app: typer.Typer) -> None:
    command(app, "demo", demo, panel=BEGIN)


def demo(
    call: Invocation,
    host: Host = None,
    port: Port = None,
    proxy_headers: ProxyHeaders = False,
    forwarded_allow_ips: ForwardedAllowIps = None,
    no_open: NoOpen = False,
    public: Annotated[
        bool, typer.Option("--public", help="With --yes: let others reach it, at another --host.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="You mean it.")] = False,
) -> None:
    """Look around in a book with three months in it; nothing you do there is kept."""
    try:
        server = serve.http_server()
    except NotAllowed as error:
        raise NotAllowed(
            f"{error.message.partition(':')[0]}; the demo in one line: uvx --from 'keepbook[serve]' keepbook demo",
            code=error.code,
        ) from None
    if host is None:
        place = "127.0.0.1"
    else:
        place = host
    settings = serve.settings_with(
        call, host=place, proxy_headers=proxy_headers or None, forwarded_allow_ips=forwarded_allow_ips
    )
    proxies = server.named_proxies(settings)
    if not server.only_this_machine(settings) and not (public and yes):
        raise NotAllowed(
            f"anyone who can reach {host or 'this machine'} could use this demo; if you mean that, add --public --yes",
            code="open_door",
        )
    # FastAPI and the engine take a second, which --help should not cost.
    from keepbook.demo.visitors import Turnstile, Visitors

    hosts = (*server.host_names_of(place), *settings.allowed_hosts)
    if port is None:
        listening = server.bind(place, 8765)
    else:
        listening = server.bind(place, port)
    visitors = Visitors()
    try:
        app = server.create_app(visitors.story, hosts=hosts, opens=visitors.opens)
        app.state.demo = True
        app.add_middleware(Turnstile, visitors=visitors)
        address = serve.address_of(place, listening.getsockname()[1])
        server.run_server(
            app,
            listening,
            lambda: serve.announce_address(call, address, no_open=no_open, words="The demo is at"),
            proxies=proxies,
        )
    finally:
        visitors.close()
