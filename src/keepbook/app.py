"""Keepbook: where the parts are put together.

kb = Keepbook("keepbook.db")        # a file, ":memory:", or "postgresql://…"
alice = kb.book("alice")            # everything below is alice's alone
"""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from keepbook.book.book import Book, Presets
from keepbook.book.ledger import Origin
from keepbook.errors import Invalid
from keepbook.presets import load_preset
from keepbook.settings import Settings, load_settings
from keepbook.storage.database import Clock, Database


def utc_now() -> datetime:
    return datetime.now(UTC)


class Keepbook:
    """An open installation: one database, many owners. Use it as a context manager, or close it."""

    def __init__(
        self,
        db: str | Path | None = None,
        *,
        preset: str | None = None,
        clock: Clock = utc_now,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or load_settings(db=str(db) if db is not None else None, preset=preset)
        place = str(db) if db is not None else self.settings.db
        load = partial(load_preset, folders=(self.settings.presets,))
        chosen = preset or self.settings.preset
        if chosen is not None:
            load(chosen)
        self._presets = Presets(load, chosen)
        self._database = Database(place, clock, busy_seconds=self.settings.busy_seconds)

    def book(self, owner: str, *, by: str = "person", door: str = "python") -> Book:
        """One owner's book. `by="agent"` writes on an agent's word, which never outranks the person's."""
        if by not in ("person", "agent"):
            raise Invalid(f"by is 'person' or 'agent', not {by!r}", field="by")
        return Book(self._database, owner, Origin(by, door), self._presets)

    def facts(self) -> dict[str, str]:
        """What is open: engine, place, size, schema."""
        return self._database.backend.facts()

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
