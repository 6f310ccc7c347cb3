"""`keepbook serve`: runs the application on an address until a signal.

As long as there is no token, only loopback is served: whoever can reach another address could read the book. On a
signal the server finishes the requests it has begun. An answer is sent only when what it says is durable, so nothing is
lost if the server is killed.
"""

import asyncio
import ipaddress
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from logging import Logger
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.supervisors import Multiprocess

from keepbook.app import Keepbook
from keepbook.book.ground.one_line_log import get_logger
from keepbook.doors.auth import is_local
from keepbook.doors.http.app import create_app
from keepbook.doors.http.gate import ANY_ADDRESS
from keepbook.doors.http.log import log_as_json, log_in_lines
from keepbook.doors.http.rate_limit import SharedBuckets, shared_file
from keepbook.errors import Conflict, Invalid, NotAllowed
from keepbook.settings import Settings, load_settings, misspelt_variables

log: Logger = get_logger(__name__)

FINISH_SECONDS = 30
"""How long the requests that have begun may take after a signal."""
HEAD_SECONDS = 10.0
"""How long a connection may take to send the head of a request."""
ANSWER_SECONDS = 60
"""A worker that does not answer a health check for so long is restarted. While it starts it answers none, and on a busy
machine that takes a while."""
EVERYWHERE = ("0.0.0.0", "::", "")  # compared, not bound  # noqa: S104
"""Addresses that mean all of this machine's."""


def host_names_of(host: str) -> tuple[str, ...]:
    """The names under which a server that is bound to this address answers."""
    if host not in EVERYWHERE:
        return (host.strip("[]"),)
    return (ANY_ADDRESS, socket.gethostname(), socket.getfqdn())


def only_this_machine(settings: Settings) -> bool:
    """Whether no other machine can reach a server with these settings. With a proxy in front, others can, even if it
    listens on loopback."""
    return is_local(settings.host) and not settings.proxy_headers


def named_proxies(settings: Settings) -> list[str]:
    """The addresses of the proxies whose headers about the client and the scheme count; none if there is no proxy."""
    if not settings.proxy_headers:
        return []
    for each in settings.forwarded_allow_ips:
        try:
            ipaddress.ip_network(each)
        except ValueError:
            raise Invalid(
                f"{each!r} is no address: name the proxies, as in 127.0.0.1 or 172.28.0.0/24; whoever is not named "
                "could say of themself what they like",
                field="forwarded_allow_ips",
            ) from None
    if not settings.forwarded_allow_ips:
        raise Invalid("name the proxy whose headers count, as in 127.0.0.1", field="forwarded_allow_ips")
    return list(settings.forwarded_allow_ips)


def refuse_open_door(kb: Keepbook, host: str, *, proxied: bool = False) -> None:
    """Raise if others could reach this server while no token protects it."""
    if kb.tokens.asked_for():
        return
    if proxied:
        raise NotAllowed(
            "proxy_headers means that others reach this server, and anyone of them could read this book; make a token "
            "first: keepbook token create",
            code="open_door",
        )
    if kb.settings.allowed_hosts:
        raise NotAllowed(
            f"{', '.join(kb.settings.allowed_hosts)} in allowed_hosts means that others reach this server, and anyone "
            "of them could read this book; make a token first: keepbook token create",
            code="open_door",
        )
    if not is_local(host):
        raise NotAllowed(
            f"anyone who can reach {host or 'this machine'} could read this book; make a token first: "
            "keepbook token create",
            code="open_door",
        )


def bind(host: str, port: int) -> socket.socket:
    """Make the listening socket ourselves, so that a port in use gives one clear error, and a port of 0 is known."""
    if ":" in host:
        family = socket.AF_INET6
    else:
        family = socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY; without it, many answers would take 40 ms longer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen(2048)  # from here on connections wait, also before the first worker is up
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise Conflict(f"cannot listen on {host}:{port}: {why}; choose another --port", code="port") from None
    except OverflowError:
        listening.close()
        raise Invalid("port is a number from 0 to 65535", field="port") from None
    return listening


def run_server(
    app: FastAPI, listening: socket.socket, ready: Callable[[], None], *, proxies: Sequence[str] = ()
) -> None:
    """Serve until a signal; `ready` is called once the server answers."""
    server = uvicorn.Server(_config(app, proxies=proxies))
    _log(app.state.kb.settings)

    async def announce() -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        ready()

    async def serve() -> None:
        announcing = asyncio.create_task(announce())
        await server.serve([listening])
        announcing.cancel()

    def leave(*_: object) -> None:
        server.should_exit = True

    # Uvicorn handles these signals while it runs, and raises them again when it has ended. The default handler would
    # then end the program before the book is closed.
    before = {each: signal.signal(each, leave) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        asyncio.run(serve())
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def run_workers(settings: Settings, listening: socket.socket) -> None:
    """Run as many processes as the settings say on one socket; one that dies is started again. They share their rate
    limits and metrics."""
    for name in ("db", "owner", "preset", "host", "proxy_headers"):
        value = getattr(settings, name)
        if value is not None:
            os.environ[f"KEEPBOOK_{name.upper()}"] = str(value)
    rates = shared_file()
    with tempfile.TemporaryDirectory(prefix="keepbook-metrics-") as figures:
        # The metrics library of each worker reads this when it is loaded; nothing else does.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures
        try:
            config = _config(partial(worker, rates, Path(figures)), settings.workers, named_proxies(settings))
            Multiprocess(config, [listening]).run()
        finally:
            rates.unlink(missing_ok=True)


def worker(rates: Path, figures: Path) -> FastAPI:
    """The application of one of several workers, with its own connections. What it serves is in its settings, which
    `run_workers` has put in the environment."""
    settings = load_settings()
    _log(settings)
    return create_app(
        Keepbook(settings=settings),
        hosts=host_names_of(settings.host),
        local=only_this_machine(settings),
        buckets=SharedBuckets(rates),
        counted_in=figures,
    )


class Patient(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Uvicorn's protocol with a time limit for the head of a request. Without it, a client that sends half a head could
    keep its connection open for ever."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._check_idle()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._check_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _check_idle(self) -> None:
        """Start the time limit while no request is in progress: then the client has to send a head."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


def name_misspelt() -> None:
    """Log which variables of the environment look like settings and are none."""
    for name, meant in misspelt_variables().items():
        log.warning("%s is no setting, and changes nothing%s", name, f"; did you mean {meant}?" if meant else "")


def _log(settings: Settings) -> None:
    log_in_lines()
    if settings.log_format == "json":
        log_as_json()


def _config(app: FastAPI | Callable[[], FastAPI], workers: int = 1, proxies: Sequence[str] = ()) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        factory=not isinstance(app, FastAPI),
        http=Patient,
        workers=workers,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=FINISH_SECONDS,
        timeout_worker_healthcheck=ANSWER_SECONDS,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
    )
