"""`keepbook demo`: the pages over a book with a history, each visitor with an own copy that vanishes with the visit."""

import typer

from keepbook.doors.cli.installation import serve
from keepbook.doors.cli.installation.serve import Host, NoOpen, Port
from keepbook.doors.cli.terminal.command import BEGIN, Invocation, command


def register(app: typer.Typer) -> None:
    command(app, "demo", demo, panel=BEGIN)


def demo(call: Invocation, host: Host = None, port: Port = None, no_open: NoOpen = False) -> None:
    """Look around in a book with three months in it; nothing you do there is kept."""
    server = serve.http_server()
    # FastAPI, the engine and the story take a second, which --help should not cost.
    from keepbook.demo.visitors import Turnstile, Visitors

    place = "127.0.0.1" if host is None else host
    listening = server.bind(place, 8765 if port is None else port)
    call.note("Telling the story of three months…")
    visitors = Visitors()
    try:
        app = server.create_app(visitors.story, hosts=server.names_of(place), opens=visitors.opens)
        app.state.demo = True
        app.add_middleware(Turnstile, visitors=visitors)
        address = serve.address_of(place, listening.getsockname()[1])
        server.run(app, listening, lambda: serve.announce(call, address, no_open=no_open, words="The demo is at"))
    finally:
        visitors.close()
