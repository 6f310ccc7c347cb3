"""The rows of the memory page, most of them cached from its last showing.

After a write one row of a hundred has changed. The key of a cached row is everything that it shows, so it can never
show anything else. Only the rows of the last showing are held: what is deleted is gone from here when the page is shown
again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from keepbook.book.memory.history.verbatim import Verbatim
from keepbook.book.memory.memories import Memory
from keepbook.book.text.quotation import shown_text
from keepbook.doors.http.web.memory.wording import Teller

MOST_OWNERS = 64
_LAST: dict[str, dict["_Key", Markup]] = {}


class _Key(NamedTuple):
    """All that a row shows: what the page is, what the memory is, and what is told of it."""

    page: tuple[Any, ...]
    memory: tuple[Any, ...]
    line: tuple[Any, ...]


class RowCache:
    """The rows of one showing."""

    def __init__(self, owner: str, teller: Teller, back: str, select: bool) -> None:
        if len(_LAST) >= MOST_OWNERS:
            _LAST.clear()
        self._before, self._now = _LAST.get(owner, {}), dict[_Key, Markup]()
        _LAST[owner] = self._now
        self._teller = teller
        self._page = (back, select, str(teller.zone), teller.day(teller.now))
        self._asked: _Key | None = None

    def cached_row(self, memory: Memory, group: str | None, words: Sequence[Verbatim]) -> Markup | None:
        """The cached row; None if it has changed, or was not there. `group` is named in the first of its rows, `words`
        are the person's own behind it."""
        line, teller = self._teller.line(memory), self._teller
        ahead = line.since is not None and line.since > teller.now
        told = (
            memory.id, shown_text(memory), memory.state, memory.version, memory.confidence, memory.valid_until,
            memory.stale and teller.unused_days(memory), memory.reference_count > 0, memory.last_referenced_at,
            memory.last_confirmed_at, memory.created_at, memory.archived_at, memory.archived_reason,
        )  # fmt: skip
        self._asked = _Key(
            (*self._page, group), told, (*line, ahead, *((said.turn, tuple(said.pieces)) for said in words))
        )
        found = self._before.get(self._asked)
        if found is not None:
            self._now[self._asked] = found
        return found

    def keep(self, row: Markup) -> Markup:
        """Store the row that was just asked for, now that it is rendered."""
        if self._asked is not None:
            self._now[self._asked] = row
        return row
