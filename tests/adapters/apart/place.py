"""Where a program of an adapter finds its book: the same program runs on one that is here and on one on a server."""

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keepbook import Keepbook

sys.path.insert(0, str(Path(__file__).parents[3]))


@contextmanager
def opened() -> Iterator[tuple[Keepbook, Keepbook]]:
    """A book as the program opens it, and the same one as its person sees it."""
    with tempfile.TemporaryDirectory() as folder, Keepbook(Path(folder) / "book.db", embedder="none") as here:
        yield here, here


@contextmanager
def served() -> Iterator[tuple[Keepbook, Keepbook]]:
    from tests.serving import SCOPES, serving

    from keepbook.doors.http.app import create_app

    with opened() as (here, _):
        token = here.tokens.create(kind="service", scopes=SCOPES).token
        with serving(create_app(here)) as address, Keepbook(address, token=token) as there:
            yield there, here


PLACES = (opened, served)
