"""Written by scripts/stubs.py from the classes it stands in for: change those."""

import keepbook.book.book
import keepbook.book.chats.face
import keepbook.extensions.agents.book.runs
import keepbook.extensions.agents.models.runner
import keepbook.extensions.trading.book.market.face
import keepbook.models.choose
from keepbook.book.ground.system_clock import utc_now
from keepbook.installation import (
    Installation,
    adopt,
    damage_of,
    differences,
    distribute,
    not_compared,
    put_back_guards,
    upgrade,
)

__all__ = [
    "Keepbook",
    "adopt",
    "damage_of",
    "differences",
    "distribute",
    "not_compared",
    "put_back_guards",
    "upgrade",
    "utc_now",
]

class Keepbook(Installation):
    """An open installation: one database, many owners. Use it as a context manager, or close it.

    db: a file (`keepbook.db`), `postgresql://…`, `:memory:`, or a server's address (`https://host`); else the settings'
    token: the key to a server
    preset: the vocabulary and policy in force, whatever an owner's own is
    clock: what tells the time
    settings: instead of those of environment and file
    embedder: what recall by meaning goes by
    demo: whether this is a visitor's copy of the demo
    """
    @property
    def market(self) -> keepbook.extensions.trading.book.market.face.Market:
        """Prices that everybody shares: `kb.market.load(lines)`."""
    def runner(
        self, book: keepbook.book.book.Book, *, models: keepbook.models.choose.Models | None = None
    ) -> keepbook.extensions.agents.models.runner.Runner:
        """The runner for a book's agents: `await kb.runner(book).run("Swing desk")`.

        book: whose agents, as `Keepbook.book` gave it
        models: other models than those of the settings
        """
    def chat_with(self, book: keepbook.book.book.Book, agent: str) -> keepbook.book.chats.face.Chat:
        """The one chat with an agent, for `talk`. It is begun if there is none.

        book: whose agents, as `Keepbook.book` gave it
        agent: one of the book's agents: its name or id
        """
    async def perform(self, book: keepbook.book.book.Book, run_id: str) -> keepbook.extensions.agents.book.runs.Run:
        """Carry out a queued run of a book, until its card or its failure.

        book: whose agents, as `Keepbook.book` gave it
        run_id: the id of the run
        """
