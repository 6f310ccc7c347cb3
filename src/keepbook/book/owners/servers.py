"""The servers that are alive over a database: an upgrade that takes something away waits for those that use it."""

from keepbook.book.ground import leases
from keepbook.storage.database import Database
from keepbook.storage.schema import SERVER

ALIVE_SECONDS = 300.0
"""How long a server counts as alive after it last called `note`."""


class Servers:
    """The servers of an installation: `kb.servers`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, name: str) -> None:
        """Say that a server of this version is alive. It goes on only where the schema serves it."""
        known = self._database.check_schema()
        leases.take(self._database, SERVER + name, known, ALIVE_SECONDS)

    def forget(self, name: str) -> None:
        """Say that it has stopped."""
        leases.give_back(self._database, SERVER + name)
