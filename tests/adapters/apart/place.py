"""Where a program of an adapter finds its book: the same program runs on one that is here and on one on a server.

The server is a process of the Python that runs the tests: what a framework needs beside Keepbook, and what the server
needs, never have to agree.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepbook import Keepbook

SCOPES = ("read", "write", "admin", "person")
"""A host's key that opens every owner's book."""


@contextmanager
def opened() -> Iterator[tuple[Keepbook, Keepbook]]:
    """A book as the program opens it, and the same one as its person sees it."""
    with tempfile.TemporaryDirectory() as folder, Keepbook(Path(folder) / "book.db", embedder="none") as here:
        yield here, here


@contextmanager
def served() -> Iterator[tuple[Keepbook, Keepbook]]:
    with opened() as (here, _):
        token = here.tokens.create(kind="service", scopes=SCOPES).token
        command = [os.environ["KEEPBOOK_TEST_PYTHON"], "-m", "keepbook", "--json", "serve", "--port", "0", "--no-open"]
        told = {**os.environ, "KEEPBOOK_DB": here.settings.db, "KEEPBOOK_EMBEDDER": "none"}
        with subprocess.Popen(command, env=told, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                with Keepbook(json.loads(server.stdout.readline())["address"], token=token) as there:
                    yield there, here
            finally:
                server.terminate()


PLACES = (opened, served)
