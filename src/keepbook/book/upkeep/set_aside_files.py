"""The files into which a mend moved rows: how they are described, and how an erasure removes them.

The book names the path of such a file, and a book may have been imported from elsewhere. So a file is removed only if
it really is one, of this owner, with the bytes that the mend wrote.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger.verify import Mend, mends_of, since_in_words

HEADER = "keepbook set aside"
"""The kind of the first line of such a file."""


def header_line(owner: str, why: str | None) -> str:
    return json.dumps({"kind": HEADER, "owner": owner, "why": why}, ensure_ascii=False) + "\n"


def mended_in_words(book: OpenBook) -> str | None:
    """A sentence about the mends of a book; None if there were none."""
    with book._database.read(book.owner) as tx:
        return since_in_words(mends_of(tx))


def remove_files(owner: str, mended: Iterable[Mend]) -> list[str]:
    """Remove the files of an owner who was erased. Returns a sentence for each that could not be removed."""
    left = []
    for one in mended:
        file = Path(one.file)
        try:
            if not _is_of(file, owner, one.digest):
                raise FileNotFoundError
            file.unlink()
        except OSError:
            left.append(f"what a mend set aside on {one.at[:10]}, in {one.file}, unless it is gone already")
    return left


def _is_of(file: Path, owner: str, digest: str) -> bool:
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        return False
    try:
        first = json.loads(content.split(b"\n", 1)[0])
    except ValueError:
        return False
    return isinstance(first, dict) and first.get("kind") == HEADER and first.get("owner") == owner
