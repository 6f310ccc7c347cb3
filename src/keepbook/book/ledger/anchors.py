"""Anchors: hashes noted outside the book, which show what a chain cannot show by itself.

If somebody rewrites everything with new hashes, or cuts off the end together with its links, the chain still holds. So
the newest hash of each check is noted in a file of anchors, to be kept on another disk, or with another person.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from keepbook.book.ledger.verify import Verification
from keepbook.errors import Invalid


@dataclass(frozen=True, slots=True)
class Anchor:
    """The hash that one link of a chain had when it was noted: an owner's, or that of a source of market data."""

    owner: str | None
    link: int
    hash: str
    at: str
    source: str | None = None


class AnchorCheck:
    """Compares an owner's anchors with the chain while the chain is walked."""

    def __init__(self, anchors: Iterable[Anchor], owner: str) -> None:
        self._expected = {one.link: one for one in anchors if one.owner == owner and one.source is None}
        self._missing = dict(self._expected)
        self._other: Anchor | None = None

    def see_link(self, link: int, hash: str) -> None:
        anchor = self._missing.pop(link, None)
        if anchor is not None and anchor.hash != hash and self._other is None:
            self._other = anchor

    def check_result(self, result: Verification) -> Verification:
        """The result with the anchors counted: a chain that holds by itself but differs from its anchors is broken."""
        if not result.ok:
            return result
        if self._other is not None:
            why = f"the ledger was rewritten: on {self._other.at} link {self._other.link} had another hash"
            if result.since is not None:
                why = f"{why}; the book was mended: {result.since}"
            return replace(result, ok=False, why=why, link=self._other.link)
        if self._missing:
            gone = self._missing[min(self._missing)]
            why = f"the end of the ledger was cut off: on {gone.at} it went on to link {gone.link}"
            if result.since is not None and gone.link <= result.links:
                why = f"link {gone.link}, noted on {gone.at}, is older than a mend: {result.since}; begin another file"
            return replace(result, ok=False, why=why, link=gone.link)
        return result


def read_anchors(path: Path) -> list[Anchor]:
    """The anchors in a file; none if the file does not exist."""
    if path.exists():
        return list(_read(path))
    return []


def _read(path: Path) -> Iterator[Anchor]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield Anchor(**{"owner": None, **json.loads(line)})
        except (ValueError, TypeError):
            raise Invalid(f"{path}, line {number}: that is no anchor; give another file", field="anchor") from None


def extend(path: Path, anchors: Iterable[Anchor], new: Anchor) -> None:
    """Append the chain's newest link to the file, unless it is there."""
    if any(replace(one, at=new.at) == new for one in anchors):
        return
    fields = {name: value for name, value in asdict(new).items() if value is not None}
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}", field="anchor") from None
