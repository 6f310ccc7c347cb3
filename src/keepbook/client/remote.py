"""An installation on a server, opened by its address."""

from functools import cached_property
from types import TracebackType
from typing import Any, Self

from keepbook.client.books import chat_with, open_book
from keepbook.client.connection import AsyncConnection, Connection
from keepbook.client.faces import LOCAL_ONLY, RemoteFace
from keepbook.client.runner import RemoteRunner
from keepbook.client.talk import RemoteTalk
from keepbook.client.tokens import TOKENS
from keepbook.client.trading import MARKET
from keepbook.errors import NotAllowed

HERE_ONLY = frozenset((
    "become", "copied", "counted", "demo", "facts", "image", "import_from", "meaning", "models", "owners", "perform",
    "queue_runs_in_turn",
    "settings", "sweep", "sweep_in_turn", "tools",
))  # fmt: skip
"""What an installation has only where its database is: files, programs, models, and what its operator does."""


class RemoteKeepbook:
    """The books of a server. `awaits` says whether its methods are awaited."""

    def __init__(self, address: str, *, token: str | None = None, awaits: bool = False, **local: Any) -> None:
        if given := [name for name, value in local.items() if value]:
            raise NotAllowed(f"{', '.join(given)}: the server at {address} decides that itself", code=LOCAL_ONLY)
        self._connection: Connection | AsyncConnection = (AsyncConnection if awaits else Connection)(address, token)

    def __repr__(self) -> str:
        return f"<Keepbook at {self._connection.address}>"

    def book(self, owner: str, *, by: str = "person", door: str = "python", hand: object = None) -> Any:
        """One owner's book there."""
        if door != "python" or hand is not None:
            raise NotAllowed("through which door and with which key is the server's to say", code=LOCAL_ONLY)
        return open_book(self._connection, owner, by)

    def talk(self, chat: Any, *, models: object = None) -> RemoteTalk:
        """A chat with the server's models in it."""
        _refuse(models)
        return RemoteTalk(chat)

    def chat_with(self, book: RemoteFace, agent: str) -> Any:
        """The one chat with an agent, for `talk`. It is begun if there is none."""
        return book._connection.run(chat_with(book, agent=agent))  # type: ignore[operator]

    def runner(self, book: RemoteFace, *, models: object = None) -> RemoteRunner:
        """The runner that lets the server carry out runs of a book's agents."""
        _refuse(models)
        return RemoteRunner(book)

    @cached_property
    def tokens(self) -> Any:
        """The keys to the server's doors."""
        return TOKENS(self._connection, "")

    @cached_property
    def market(self) -> Any:
        """Prices that everybody there shares."""
        return MARKET(self._connection, "")

    def close(self) -> Any:
        """Close the connection; awaited if the other methods are."""
        return self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in HERE_ONLY:
            raise NotAllowed(f"Keepbook.{name} works only where the book is; open it there", code=LOCAL_ONLY)
        raise AttributeError(name)


def _refuse(models: object) -> None:
    if models is not None:
        raise NotAllowed("which models answer is the server's to say", code=LOCAL_ONLY)
