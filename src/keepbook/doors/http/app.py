"""The web application: routers, errors, the gate, and background work.

`create_app(kb)` serves one installation. The sweeps run in the same process under a lease, so that only one of several
workers does them. `state.stopping` is set when the server is asked to stop; endless streams end then.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from logging import Logger
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route
from starlette.types import ASGIApp

from keepbook.app import Keepbook
from keepbook.book.ground.one_line_log import get_logger
from keepbook.doors.auth import ACTOR_HEADER, LOOPBACK, OWNER_HEADER
from keepbook.doors.http import problems
from keepbook.doors.http.api import chat, feed, me, memory, ops, proposals, stored_texts, tools
from keepbook.doors.http.background_runs import BackgroundRuns
from keepbook.doors.http.demo_by_cookie import DemoByCookie
from keepbook.doors.http.document import join_document, openapi_document
from keepbook.doors.http.extension_routes import check_routes, extension_routers, said_by_api
from keepbook.doors.http.gate import CORE_PATHS, Gate, Opens
from keepbook.doors.http.log import HEADER as REQUEST_ID
from keepbook.doors.http.log import AccessLog
from keepbook.doors.http.metrics import Metrics
from keepbook.doors.http.rate_limit import Buckets
from keepbook.doors.http.stream import OpenStreams
from keepbook.doors.http.web import routes
from keepbook.doors.http.worker_threads import WORKER_THREADS
from keepbook.doors.mcp import asgi as mcp
from keepbook.errors import Invalid, NotAllowed
from keepbook.jobs import Errand, pause, process_name, shown_failure, stay_known
from keepbook.models.outward import named_hosts

log: Logger = get_logger(__name__)

ABOUT = "The memory of an AI agent, kept like a ledger. Errors are problem documents with a stable `code`."
FIRST, LAST = (
    (proposals.router, memory.router, stored_texts.router, chat.router),
    (tools.router, me.router, feed.router, ops.router),
)
"""The routers of the API before and after those of extensions. A fixed path such as that of proposals must come before
the path of memories, which has an id in that place."""
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False}
"""The framework's own telemetry would record whole addresses, and what a person searches for is part of an address."""


def create_app(
    kb: Keepbook,
    *,
    hosts: Sequence[str] = (),
    local: bool = True,
    opens: Opens | None = None,
    buckets: Buckets | None = None,
    counted_in: Path | None = None,
) -> FastAPI:
    """The application over an installation. `hosts` are the names it answers to, beside loopback's; `local` says that
    only this machine can reach it; `opens` gives another installation for some requests (a demo's visitors); `buckets`
    and the folder `counted_in` are where several workers count together."""
    app = FastAPI(
        title="Keepbook",
        version="1",
        description=ABOUT,
        openapi_url="/openapi.json" if kb.settings.api_docs else None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        redirect_slashes=False,
        telemetry=NO_TELEMETRY,
    )
    app.state.kb = kb
    kb.outward.narrow(named_hosts(kb.settings), loopback=local)
    app.state.metrics, app.state.provider = Metrics(kb, counted_in), sign_in_provider(kb)
    app.state.runs, app.state.stopping = BackgroundRuns(), asyncio.Event()
    app.state.streams = OpenStreams(kb.settings.streams_per_token, kb.settings.streams)
    problems.install_problems(app)
    settings, extensions = kb.settings, kb.extensions
    check_routes([route for router in (*FIRST, *LAST, *routes.ROUTERS) for route in router.routes], extensions)
    for router in (*FIRST, *extension_routers(extensions, "api"), *LAST):
        app.router.routes.extend(router.routes)  # `include_router` would analyse every signature once more
    routes.install_pages(app, extensions)
    if opens is None:
        # The gate has checked host and origin, and has authenticated the caller.
        endpoint, app.state.mcp = mcp.mount(
            kb, lambda request: request.state.caller, allowed_hosts=None, body_bytes=settings.max_body_bytes
        )
        app.router.routes.append(Route("/mcp", endpoint))
    app.add_middleware(
        Gate,
        opens=opens or (lambda _: kb),
        hosts=(*LOOPBACK, *hosts),
        further=settings.allowed_hosts,
        local=local,
        max_body=settings.max_body_bytes,
        max_import=settings.max_import_bytes if opens is None else settings.max_body_bytes,  # many visit a demo
        refuse=routes.refusal_response,
        per_minute=settings.rate_per_minute,
        paths=(CORE_PATHS, *said_by_api(extensions, "PATHS")),
        buckets=buckets,
    )
    let_sites_call(app, settings.cors_origins)
    app.add_middleware(AccessLog, owner=app)
    if opens is None and local:
        app.add_middleware(DemoByCookie, make=lambda: _story_beside(app, hosts))
    document = join_document(said_by_api(extensions, "DOCUMENT"))
    app.openapi = lambda: openapi_document(app, document)  # type: ignore[method-assign]
    return app


def sign_in_provider(kb: Keepbook) -> Any:
    """The OpenID provider at which people sign in, or None if the settings name none."""
    if kb.settings.oidc_issuer is None or kb.demo:
        return None
    try:
        # Loaded with a provider alone: the library that checks signatures is an extra.
        from keepbook.doors.http.web.account.openid import OpenIdProvider
    except ImportError as error:
        raise NotAllowed(
            f"signing in at a provider needs more packages ({error.name} is missing): pip install 'keepbook[oidc]'",
            code="missing_extra",
        ) from None
    return OpenIdProvider(kb.settings, kb.outward)


def let_sites_call(app: FastAPI, origins: Sequence[str]) -> None:
    """Let pages of these sites call the API with a token, and read its headers (CORS). Cookies are not allowed."""
    for each in origins:
        parts = urlsplit(each)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.path or "*" in each:
            raise Invalid(
                f"{each!r} is no site: name each with its scheme and without a path, as in https://app.example.org",
                field="cors_origins",
            )
    if not origins:
        return
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=[
            "Authorization",
            "Content-Type",
            "Idempotency-Key",
            "If-Match",
            "Last-Event-ID",
            OWNER_HEADER,
            ACTOR_HEADER,
            REQUEST_ID,
        ],
        expose_headers=["ETag", "Idempotency-Replayed", "RateLimit", "RateLimit-Policy", "Retry-After", REQUEST_ID],
    )


def _story_beside(app: FastAPI, hosts: Sequence[str]) -> ASGIApp:
    """The demo as a second application; it is closed with this one."""
    from keepbook.demo.visitors import Turnstile, Visitors  # loaded with the first request for the demo

    visitors = Visitors()
    app.state.guests = visitors
    made = create_app(visitors.story, hosts=hosts, opens=visitors.opens)
    made.state.demo = True
    return Turnstile(made, visitors)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        # Callbacks run in reverse order: the threads end last.
        stack.push_async_callback(WORKER_THREADS.end)
        app.state.stopping.clear()
        serving = getattr(app.state, "mcp", None)
        if serving is not None:
            await stack.enter_async_context(serving())
        kb, runs = app.state.kb, app.state.runs
        kb.stop_when(app.state.stopping.is_set)
        stack.push_async_callback(runs.end)
        stack.callback(_close_demo, app)

        def begin(queued: Sequence[Errand]) -> None:
            for each in queued:
                runs.begin(kb.perform_errand(each), in_turn=True)

        for work, then in ((kb.sweep_in_turn, None), (kb.queue_errands_in_turn, begin)):
            working = asyncio.create_task(_for_ever(work, then, kb.settings.jobs_every, app.state.stopping))
            stack.push_async_callback(asyncio.wait, [working])  # a sweep that has begun ends before the book is closed
        noting = asyncio.create_task(stay_known(kb.servers, app.state.stopping))
        stack.push_async_callback(asyncio.wait, [noting])
        stack.callback(app.state.stopping.set)
        stack.enter_context(_stop_on_signal(app.state.stopping))
        yield


def _close_demo(app: FastAPI) -> None:
    guests = getattr(app.state, "guests", None)
    if guests is not None:
        guests.close()


@contextmanager
def _stop_on_signal(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event on the signals that stop the server, before the server's own handler runs. The server waits until
    every answer has ended, and a stream of changes would never end by itself."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals; another program serves us in a thread
        return
    handlers = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

    def leave(number: int, frame: FrameType | None) -> None:
        stopping.set()
        before = handlers[signal.Signals(number)]
        if callable(before):
            before(number, frame)

    for each in handlers:
        signal.signal(each, leave)
    try:
        yield
    finally:
        for each, before in handlers.items():
            signal.signal(each, before)


async def _for_ever(
    work: Callable[[str, float], Any], then: Callable[[Any], None] | None, every: float, stopping: asyncio.Event
) -> None:
    """Repeat `work` every `every` seconds, in a thread, and give its result to `then`; 0 means never. `work` is given
    this worker's name and how long it may hold its lease."""
    holder = process_name()
    while every and not stopping.is_set():
        try:
            done = await asyncio.to_thread(work, holder, 2 * every + 60)
            if then is not None:
                then(done)
        except Exception as error:  # noqa: BLE001  whatever it was, the next sweep comes
            log.warning("sweep: %s", shown_failure(error))
        await pause(every, stopping)
