"""`keepbook serve`: the application on an address, until it is asked to stop.

Another address than loopback is refused as long as there is no token: whoever can reach it could read the book. Asked
to stop, the server finishes the requests it has begun; what was acknowledged was durable before that.
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
HEAD_SECONDS = 10.0
"""How long a connection may take to say what it wants."""
ANSWER_SECONDS = 60
"""A worker that gives no sign for so long is started anew. One that is just starting on a busy machine gives none."""
EVERYWHERE = ("0.0.0.0", "::", "")  # compared, not bound  # noqa: S104


def host_names_of(host: str) -> tuple[str, ...]:
    """The host names of a server bound to an address; an attacker's own name is none of them."""
    if host not in EVERYWHERE:
        return (host.strip("[]"),)
    return (ANY_ADDRESS, socket.gethostname(), socket.getfqdn())


def only_this_machine(settings: Settings) -> bool:
    """Whether nobody else can reach the server of these settings. Who listens on loopback behind a proxy is reached."""
    return is_local(settings.host) and not settings.proxy_headers


def named_proxies(settings: Settings) -> list[str]:
    """The addresses whose word about the client and the scheme counts; none unless the settings ask for it."""
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
    """The listening socket, so that a port in use gives one clear error, and the port is known if it was 0."""
    if ":" in host:
        family = socket.AF_INET6
    else:
        family = socket.AF_INET
    # Named as TCP, or asyncio does not switch off the waiting for more to send: 40 ms for many an answer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host.strip("[]"), port))
        listening.listen(2048)  # from here on who knocks waits, also before the first worker is up
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
    """Serve until a signal, which is how a server ends; `ready` is called once it answers."""
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

    # Uvicorn hears the signals itself, and after its end sends itself what it has heard: by default that would be the
    # end of the program before the book is closed.
    before = {each: signal.signal(each, leave) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        asyncio.run(serve())
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def run_workers(settings: Settings, listening: socket.socket) -> None:
    """Run as many processes as the settings say on one socket; one that dies is started again. They count requests
    together."""
    for name in ("db", "owner", "preset", "host", "proxy_headers"):
        value = getattr(settings, name)
        if value is not None:
            os.environ[f"KEEPBOOK_{name.upper()}"] = str(value)
    rates = shared_file()
    with tempfile.TemporaryDirectory(prefix="keepbook-metrics-") as figures:
        # Read by the metrics' own library when a worker loads it, and nobody else.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = figures
        try:
            config = _config(partial(worker, rates, Path(figures)), settings.workers, named_proxies(settings))
            Multiprocess(config, [listening]).run()
        finally:
            rates.unlink(missing_ok=True)


def worker(rates: Path, figures: Path) -> FastAPI:
    """The application of one of several workers, with its own connections; its settings say what it serves."""
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
    """The server's protocol with a time limit for the head of a request: half a head would keep its connection open for
    as long as somebody likes."""

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
        """While no request is under way, what has come is part of a head."""
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
    """Say at the start which variables of the environment look like settings and are none."""
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
