"""Behind a real PgBouncer that pools by transaction: a connection is somebody else's after each of them.

Runs with `make test-pooler`, where `pgbouncer` is installed. The pooler hands two clients one connection to the server
in turns, so whatever one of them left behind on it would be the other's.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from keepbook import Keepbook
from keepbook.errors import Invalid

pytestmark = [pytest.mark.process, pytest.mark.connections]


@pytest.fixture(params=["", "ignore_startup_parameters = options"], ids=["strict", "lenient"])
def pooler(request: pytest.FixtureRequest, book_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The book's address through a pooler with one connection to the server."""
    program = shutil.which("pgbouncer")
    assert program, "install pgbouncer first"
    url = make_url(book_url)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(f"/tmp/keepbook-pooler-{port}")
    folder.mkdir(mode=0o777)
    host = str(url.host or url.query["host"])
    at = f"host={host}" + (f" port={url.port}" if url.port else "")
    (folder / "users.txt").write_text(f'"{url.username}" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n{url.database} = {at} dbname={url.database} user={url.username}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n"
        f"auth_file = {folder}/users.txt\npool_mode = transaction\ndefault_pool_size = 1\n{request.param}\n"
    )
    # It runs as nobody mighty: as whom the server runs, who may come to its socket.
    user = Path(host).stat().st_uid if os.getuid() == 0 else None
    with subprocess.Popen([program, "-q", str(folder / "pgbouncer.ini")], user=user, cwd="/") as process:
        through = f"postgresql://{url.username}@127.0.0.1:{port}/{url.database}"
        try:
            _wait_for(port)
            yield through
        finally:
            process.terminate()
    shutil.rmtree(folder)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the pooler does not start"
            time.sleep(0.05)


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_pooler_is_refused_until_the_address_names_it(pooler: str) -> None:
    with pytest.raises(Invalid) as refused:
        Keepbook(pooler, embedder="none")
    assert refused.value.code == "pooler"
    assert "pooling=transaction" in str(refused.value)


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_two_clients_share_a_connection_and_nothing_else(pooler: str) -> None:
    address = f"{pooler}?pooling=transaction"
    with closing(Keepbook(address, embedder="none")) as one, closing(Keepbook(address, embedder="none")) as other:

        def write(kb: Keepbook, owner: str) -> list[str]:
            book = kb.book(owner)
            for number in range(20):  # past where a driver begins to prepare its statements
                book.remember(f"Number {number * 7919} is {owner}'s", force=True)
                book.recall("number")
            return [memory.content for memory in book.list(limit=100).items]

        with ThreadPoolExecutor() as both:
            seen = list(both.map(write, (one, other), ("alice", "bob")))
        assert [len(each) for each in seen] == [20, 20]
        assert all("alice" in said for said in seen[0])
        assert all("bob" in said for said in seen[1])
        assert one.book("bob").verify().ok
    with psycopg.connect(pooler) as connection:  # what they left on the connection that all of them had
        assert connection.execute("SELECT current_setting('keepbook.owner', true)").fetchone() in [("",), (None,)]
