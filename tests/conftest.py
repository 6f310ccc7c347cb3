"""What every test may ask for: a book on each engine, a clock that obeys, and a clean environment.

A test that takes `kb`, `alice` or `book_url` runs twice, on SQLite and on a real PostgreSQL, or on one of them where
one will do. One server serves the whole run, all xdist workers included; it starts when the first test asks and surely
stops with the run (see scripts/test_postgres.py). A PostgreSQL book is a copy of a database migrated once, emptied
after its test for another (see tests/databases.py). Nothing is ever skipped: where PostgreSQL cannot start, its tests
fail and say why.
"""

import asyncio
import fcntl
import gc
import importlib
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import hypothesis
import pytest
from tests import parts, quicker
from tests.databases import CLUSTER, SHARDS, Pool, copied, database, drop, hold_to_one_node, make, url_of

# What is loaded stays. Whoever looked for garbage meanwhile would look through all of it, again and again.
gc.disable()

# Before numpy is first imported anywhere: threads of BLAS and xdist workers fight for the same cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A container that writes no bytecode would compile the whole house anew in each process that a test starts.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The same on every machine: its zone, language, width, colours, proxies and keys of models stay outside.
for _name in list(os.environ):
    if _name.startswith(("ANTHROPIC_", "LC_", "OLLAMA_", "OPENAI_")) or _name in (
        "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LANGUAGE", "LINES", "NO_COLOR", "PYTHONUNBUFFERED",
        "TTY_COMPATIBLE", "TTY_INTERACTIVE",
    ):  # fmt: skip
        del os.environ[_name]
os.environ |= {"LANG": "C.UTF-8", "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost", "TZ": "UTC"}
os.environ["TERM"] = "xterm-256color"
time.tzset()

# Before a process is started that is to be without them, too.
parts.hide_extensions()
# After the environment: what it loads reads it.
quicker.share()
hold_to_one_node()

collect_ignore_glob = [
    *([] if CLUSTER else ["extensions/storage/test_cluster*"]),
    *([] if "KEEPBOOK_TEST_POOLER" in os.environ else ["storage/test_pooler.py"]),
]
"""What only a cluster, or a pooler, can be asked: `make test-citus`, `make test-pooler`."""

SERVER = Path(__file__).parent.parent / "scripts" / "test_postgres.py"
TEMPLATE = "keepbook_template"

DEEPER = int(os.environ.get("KEEPBOOK_TESTS_DEEPER", "1"))
"""How many times as many examples are drawn as usual, also where a test names its own number: `make test-deep`."""
# No test judges time, so hypothesis does not either. Every run draws the same examples, so that what passes here passes
# in CI; whoever asks for more draws new ones each time.
hypothesis.settings.register_profile(
    "usual", deadline=None, max_examples=10, suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=True, database=None, print_blob=True,
)  # fmt: skip
hypothesis.settings.register_profile("deep", hypothesis.settings.get_profile("usual"), derandomize=False)
hypothesis.settings.load_profile("deep" if DEEPER > 1 else "usual")


ENGINES = ("postgresql",) if CLUSTER else ("sqlite", "postgresql")

BYPASS = "KEEPBOOK_ALLOW_BYPASS_LOGIN", "true"
"""The tests' PostgreSQL has one login, its superuser; what a login may not be is tested apart. Set for fixtures that
outlive a test, too."""
WORDS_ALONE = "KEEPBOOK_EMBEDDER", "none"
"""Also in the programs that a test starts; tests of meaning name their embedder."""
os.environ.update([BYPASS, WORDS_ALONE])


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Begun in the background of a shell, Ctrl-C is not heard; and every program that a test starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


# --- fewer, or more --------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-processes",
        action="store_true",
        help="leave out the tests marked `process`; any other that starts a process, but for PostgreSQL, fails",
    )
    parser.addoption(
        "--glance",
        action="store_true",
        help="each test on one engine, a third of the drawn examples, and nothing of what takes longest",
    )


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return parts.in_other_part(collection_path) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    glance = config.getoption("glance")
    if DEEPER > 1 or glance:
        for test in {getattr(item, "obj", None) for item in items if hasattr(getattr(item, "obj", None), "hypothesis")}:
            usual = getattr(test, "_hypothesis_internal_use_settings", None) or hypothesis.settings()
            drawn = max(1, usual.max_examples // 3) if glance else usual.max_examples * DEEPER
            test._hypothesis_internal_use_settings = hypothesis.settings(usual, max_examples=drawn)  # type: ignore[union-attr]
    if DEEPER == 1:
        items[:] = [item for item in items if _on_its_engine(item, everywhere=glance)]
    items[:] = [item for item in items if not (glance and item.nodeid.startswith(LONG))]
    _spread(items)
    if config.getoption("no_processes"):
        left_out = [item for item in items if item.get_closest_marker("process")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


ONE_WILL_DO = {"adapters", "doors", "models", "notebook", "pages", "tools"}
"""Rooms above the book. What they ask of it is tested on both engines in tests/book, tests/storage and tests/contracts;
here each test takes one of the two by its name, so that each room stands on both. `make test-deep` takes both."""


LONG = tuple(
    f"tests/{name}"
    for name in (
        "extensions/book/test_tamper.py::test_whoever",
        "book/ledger/test_verify.py::test_every_forgery",
        "extensions/trading/book/test_days.py::test_kept_figures",
        "extensions/trading/book/test_no_look_ahead.py",
        "book/upkeep/test_import_checks.py::test_a_file_is_refused_at_its_first_wrong_line",
        "extensions/book/test_import_checks_fuzz.py",
        "extensions/book/test_transfer_extensions.py",
        "book/upkeep/test_transfer.py",
        "contracts/test_authority_walk.py",
        "contracts/test_house.py::test_types",
        "contracts/test_killed_run.py",
        "demo/test_story.py",
        "extensions/test_who_may.py",
        "extensions/test_openapi.py",
        "doors/http/test_serving.py",
        "extensions/doors/http/web/test_checks.py::test_the_page",
        "models/reader/test_reader.py::test_cost",
        "storage/test_installed.py",
    )
)
"""What takes longest begins first, so that nobody waits for one who began it last."""


def _spread(items: list[pytest.Item]) -> None:
    """Each worker begins with one part of the list and takes from the others' when it is through: each part opens with
    its share of what takes longest."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [item for item in items if item.nodeid.startswith(LONG)]
    rest = [item for item in items if not item.nodeid.startswith(LONG)]
    part = -(-len(rest) // workers)
    items[:] = [item for nth in range(workers) for item in (*long[nth::workers], *rest[nth * part : (nth + 1) * part])]


def _room(path: Path) -> str:
    """The room a test belongs to. An extension has the same rooms; what lies in none of them is about its doors."""
    room, *more = path.relative_to(Path(__file__).parent).parts
    if room != "extensions":
        return room
    return next((name for name in more[:-1] if name not in ("agents", "trading")), "doors")


def _on_its_engine(item: pytest.Item, *, everywhere: bool) -> bool:
    """Who names `engine_name` or is marked `both_engines` depends on it, and has both wherever it stands; but for a
    glance."""
    engine = getattr(item, "callspec", None) and item.callspec.params.get("engine_name")  # type: ignore[attr-defined]
    if engine is None or not (everywhere or _room(item.path) in ONE_WILL_DO):
        return True
    chosen = any("engine_name" in str(mark.args[0]) for mark in item.iter_markers("parametrize"))
    named = "engine_name" in signature(item.function).parameters  # type: ignore[attr-defined]
    if chosen or (not everywhere and (named or item.get_closest_marker("both_engines"))):
        return True
    return bool(engine == ENGINES[crc32(item.nodeid.replace(engine, "").encode()) % len(ENGINES)])


class _NoProcesses:
    """Refuses to start a process while a test runs."""

    def __init__(self) -> None:
        self.running = False
        sys.addaudithook(self.refuse)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Any:
        self.running = True
        try:
            return (yield)
        finally:
            self.running = False

    def refuse(self, event: str, given: tuple[Any, ...]) -> None:
        if not self.running or event not in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec", "os.system"):
            return
        if event != "subprocess.Popen" or str(SERVER) not in map(str, given[1]):
            raise RuntimeError(f"this test starts a process ({event}): mark it `process`")


# --- the server ------------------------------------------------------------------------------------------

_folder = pytest.StashKey[Path]()
_keeper = pytest.StashKey["subprocess.Popen[bytes]"]()


def pytest_configure(config: pytest.Config) -> None:
    parts.check_part(config)
    if config.getoption("no_processes"):
        config.pluginmanager.register(_NoProcesses())
    if hasattr(config, "workerinput"):  # an xdist worker: the folder is its parent's
        config.stash[_folder] = Path(config.workerinput["postgres_folder"])
        return
    folder = Path(tempfile.mkdtemp(prefix="keepbook-test-", dir=_place_in_memory()))
    config.stash[_folder] = folder
    if config.option.basetemp is None:
        config.option.basetemp = folder / "tmp"  # books of tests too, and gone with the run
    config.stash[_keeper] = subprocess.Popen(
        [sys.executable, "-S", str(SERVER), "keep", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C ends the tests, and only then the server
    )


def _place_in_memory() -> str | None:
    """Copying a database is writing 300 files: several times faster where no disk takes part."""
    shared_memory = "/dev/shm"
    if os.access(shared_memory, os.W_OK) and shutil.disk_usage(shared_memory).free > 2 * 2**30:
        return shared_memory
    return None  # the 64 MB a container has by default would not hold one server


@cache
def _find_letters() -> None:
    """Which there are takes hypothesis seconds to find out, and is then kept beside the tests for every worker."""
    threading.Thread(target=hypothesis.strategies.text().validate, daemon=True).start()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    _find_letters()  # not before: hypothesis complains of who asks it anything while pytest is set up
    node.workerinput["postgres_folder"] = str(node.config.stash[_folder])
    node.workerinput["everything"] = node.config.args_source is node.config.ArgsSource.TESTPATHS


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Any:
    """From here on garbage is looked for again, but not in what is loaded by now."""
    _compile_what_nobody_has(session.config)
    collected = yield
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
    return collected


def _compile_what_nobody_has(config: pytest.Config) -> None:
    """In a new checkout nothing is compiled yet. Workers that went the same way would each compile all of it; so each
    begins elsewhere, and finds done what another has been at."""
    told = getattr(config, "workerinput", {})
    if not told.get("everything"):
        return
    nth, workers = int(told["workerid"].removeprefix("gw")), int(told["workercount"])
    here = Path(__file__).parent
    files = [path for path in sorted(here.rglob("test_*.py")) if not parts.in_other_part(path)]
    names = [".".join(path.relative_to(here.parent).with_suffix("").parts) for path in files]
    begin = nth * len(names) // workers
    for name in (*names[begin:], *names[:begin]):
        with warnings.catch_warnings(), suppress(Exception):  # what is wrong with it, its collection tells
            warnings.simplefilter("error")
            importlib.import_module(name)


def pytest_unconfigure(config: pytest.Config) -> None:
    if keeper := config.stash.get(_keeper, None):
        keeper.communicate()


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "workers.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _once(folder: Path, name: str, make: Callable[[], str]) -> str:
    """What `make` answers, called by the first worker only; after a failure the next one tries again."""
    with _locked(folder):
        answer = folder / name
        if not answer.exists():
            answer.write_text(make())
        return answer.read_text()


@pytest.fixture(scope="session")
def postgres_admin_url(pytestconfig: pytest.Config) -> str:
    """The server's own `postgres` database, as a superuser."""
    folder = pytestconfig.stash[_folder]
    if CLUSTER:
        return url_of(CLUSTER, "postgres")
    if given := os.environ.get("KEEPBOOK_TEST_POSTGRES"):  # a server that runs already, where ours has no wheel
        return given

    def start() -> str:
        command = [sys.executable, str(SERVER), "start", str(folder)]
        started = subprocess.run(command, capture_output=True, text=True, check=False)
        if started.returncode != 0:
            log = folder / "data" / "log"
            said = log.read_text(errors="replace") if log.exists() else ""
            raise RuntimeError(f"PostgreSQL did not start.\n{started.stderr}\n{said}")
        return started.stdout.strip().splitlines()[-1]

    return _once(folder, "admin-url", start)


@pytest.fixture(scope="session")
def postgres_template(pytestconfig: pytest.Config, postgres_admin_url: str) -> str:
    """The name of a migrated, empty database to copy."""

    def migrate() -> str:
        # Here: pure tests run also while storage does not.
        from keepbook.storage.database import distribute, upgrade

        drop(postgres_admin_url, TEMPLATE)
        make(postgres_admin_url, TEMPLATE)
        upgrade(url_of(postgres_admin_url, TEMPLATE))
        if CLUSTER:
            distribute(url_of(postgres_admin_url, TEMPLATE), SHARDS)
        return TEMPLATE

    return _once(pytestconfig.stash[_folder], "template", migrate)


@pytest.fixture(scope="session")
def postgres_pool(postgres_admin_url: str, postgres_template: str) -> Iterator[Pool]:
    with closing(Pool(postgres_admin_url, postgres_template)) as pool:
        yield pool


# --- the book --------------------------------------------------------------------------------------------


class Clock:
    """Tells the time it is set to; each look at it takes one second, so no two entries share an instant."""

    def __init__(self, now: datetime = datetime(2026, 3, 1, 9, tzinfo=UTC)) -> None:
        self.now = now
        self._lock = threading.Lock()

    def __call__(self) -> datetime:
        with self._lock:
            seen, self.now = self.now, self.now + timedelta(seconds=1)
            return seen

    def set(self, now: datetime | str) -> None:
        moment = datetime.fromisoformat(now) if isinstance(now, str) else now
        if moment.tzinfo is None:
            raise ValueError("give the clock an instant with its zone, such as 2026-03-01T09:00:00Z")
        with self._lock:
            self.now = moment.astimezone(UTC)

    def forward(self, **amount: float) -> None:
        """By `days=`, `hours=`, `minutes=`, ... as in `timedelta`."""
        with self._lock:
            self.now += timedelta(**amount)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@contextmanager
def alike_in_every_run() -> Iterator[None]:
    """Ids and salts are drawn from a seed: for tests that choose bytes, rows or lines of what they wrote by number."""
    draw = random.Random(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "randbelow", draw.randrange)
        patch.setattr(secrets, "token_hex", lambda size: draw.randbytes(size).hex())
        yield


@pytest.fixture
def alike() -> Iterator[None]:
    with alike_in_every_run():
        yield


@pytest.fixture(params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def empty_url(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database without any table: for tests of migrations."""
    if engine_name == "sqlite":
        yield str(tmp_path / "book.db")
        return
    with database(request.getfixturevalue("postgres_admin_url"), "template1") as url:
        yield url


@pytest.fixture
def book_url(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new book may be opened, on each engine in turn."""
    if engine_name == "sqlite":
        yield str(tmp_path / "book.db")
        return
    # Asked for by name, so that a run on SQLite alone starts no server.
    if request.node.get_closest_marker("connections"):
        server, template = map(request.getfixturevalue, ("postgres_admin_url", "postgres_template"))
        with database(server, template) as url:
            yield url
        return
    with request.getfixturevalue("postgres_pool").database() as url:
        yield url


@pytest.fixture(scope="session")
def sqlite_template(pytestconfig: pytest.Config) -> str:
    """The path of an empty book to copy: copying a file is quicker than making sixty tables with their guards."""
    folder = pytestconfig.stash[_folder]

    def make() -> str:
        from keepbook import Keepbook  # as in `kb`

        Keepbook(folder / "template.db").close()
        return str(folder / "template.db")

    return _once(folder, "sqlite-template", make)


@pytest.fixture
def kb(book_url: str, clock: Clock, engine_name: str, sqlite_template: str) -> Iterator[Any]:
    from keepbook import Keepbook  # here: tests of the lower floors run also while the top one does not

    if engine_name == "sqlite":
        shutil.copyfile(sqlite_template, book_url)
    with closing(Keepbook(book_url, clock=clock)) as keepbook:
        yield keepbook


class Prepared:
    """Books that begin full: what takes long to write is written once a run and engine, and copied for each test."""

    def __init__(self, folder: Path, engine: str, at: Path, postgres: Callable[[], tuple[str, str]]) -> None:
        self._folder, self._engine, self._at, self._postgres = folder, engine, at, postgres

    @contextmanager
    def __call__(self, name: str, fill: Callable[[Any, Clock], Any], clock: Clock) -> Iterator[tuple[str, Any]]:
        """Where a copy of the book lies that `fill` has written, and what `fill` told; the clock goes on from there."""
        with self._sqlite(name, fill) if self._engine == "sqlite" else self._postgresql(name, fill) as (url, said):
            clock.set(said["now"])
            yield url, said["told"]

    @contextmanager
    def _sqlite(self, name: str, fill: Callable[[Any, Clock], Any]) -> Iterator[tuple[str, Any]]:
        path = self._folder / f"{name}.db"
        said = _once(self._folder, f"sqlite-{name}", lambda: self._filled(str(path), fill))
        yield shutil.copyfile(path, str(self._at / "book.db")), json.loads(said)

    @contextmanager
    def _postgresql(self, name: str, fill: Callable[[Any, Clock], Any]) -> Iterator[tuple[str, Any]]:
        server, template = self._postgres()

        def make() -> str:
            drop(server, name)
            copied(server, name, template)
            return self._filled(url_of(server, name), fill)

        said = _once(self._folder, f"postgresql-{name}", make)
        with database(server, name) as url:
            yield url, json.loads(said)

    @staticmethod
    def _filled(url: str, fill: Callable[[Any, Clock], Any]) -> str:
        from keepbook.app import Keepbook, upgrade  # as in `kb`

        upgrade(url)  # of extensions that are on, the template may have no tables
        clock = Clock()
        with closing(Keepbook(url, clock=clock)) as keepbook:
            told = fill(keepbook, clock)
        return json.dumps({"told": told, "now": clock.now.isoformat()})


def prepared_on(
    engine: str, config: pytest.Config, at: Path, postgres: Callable[[], tuple[str, str]] | None = None
) -> Prepared:
    """For fixtures that many tests share; `postgres` tells the server and its template."""
    return Prepared(config.stash[_folder], engine, at, postgres or _no_server)


def _no_server() -> tuple[str, str]:
    raise AssertionError("say where the PostgreSQL is")


@pytest.fixture
def prepared(pytestconfig: pytest.Config, engine_name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Prepared:
    def postgres() -> tuple[str, str]:
        return request.getfixturevalue("postgres_admin_url"), request.getfixturevalue("postgres_template")

    return prepared_on(engine_name, pytestconfig, tmp_path, postgres)


@pytest.fixture
def alice(kb: Any) -> Any:
    return kb.book("alice")


class Both(NamedTuple):
    sqlite: Any
    postgresql: Any


@pytest.fixture
def both_kbs(postgres_pool: Pool, tmp_path: Path) -> Iterator[Both]:
    """One Keepbook on each engine, each with a clock of its own that shows the same times."""
    from keepbook import Keepbook  # as in `kb`

    with (
        postgres_pool.database() as url,
        closing(Keepbook(str(tmp_path / "both.db"), clock=Clock())) as sqlite,
        closing(Keepbook(url, clock=Clock())) as postgresql,
    ):
        yield Both(sqlite, postgresql)


# --- the environment -------------------------------------------------------------------------------------


def nobodys(patch: pytest.MonkeyPatch, home: Path) -> None:
    """An environment in which nobody has set anything."""
    for name in [name for name in os.environ if name.startswith("KEEPBOOK_")]:
        patch.delenv(name)
    patch.setenv("HOME", str(home))
    patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    patch.setenv("XDG_DATA_HOME", str(home / "data"))
    patch.setenv("KEEPBOOK_CONFIG", str(home / "no-such-config.toml"))
    patch.setenv(*WORDS_ALONE)
    patch.setenv("OLLAMA_HOST", "127.0.0.1:1")  # whatever model runs on this machine is not found
    patch.setenv(*BYPASS)


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    nobodys(monkeypatch, tmp_path_factory.getbasetemp() / "nobody")


@pytest.fixture(autouse=True)
def _no_event_loop_left_open() -> Iterator[None]:
    """Libraries that run async code for sync callers leave their loop open; its end would be some other test's."""
    yield
    left = getattr(getattr(asyncio.get_event_loop_policy(), "_local", None), "_loop", None)
    if left is not None and not left.is_running() and not left.is_closed():
        left.close()
        asyncio.set_event_loop(None)
