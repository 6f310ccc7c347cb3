"""An installation for files that are loaded, each into a book of its own."""

from collections.abc import Iterator

import pytest

from keepbook import Keepbook


@pytest.fixture(scope="module")
def posted() -> Iterator[Keepbook]:
    with Keepbook(":memory:", embedder="none") as kb:
        yield kb
