"""An installation on a server, opened by its address."""

from collections.abc import Sequence
from functools import cached_property
from types import MethodType, TracebackType
from typing import Any, Self

from keepbook.book.owners.owners import clean_owner
from keepbook.client.books import open_book
from keepbook.client.connection import AsyncConnection, Connection
from keepbook.client.extension_parts import load_remote_house
from keepbook.client.faces import LOCAL_ONLY, refuse_elsewhere
from keepbook.client.talk import RemoteTalk, refuse_models
from keepbook.client.tokens import TOKENS
from keepbook.errors import NotAllowed
from keepbook.extension import takes_nothing_else
from keepbook.settings import load_settings

HERE_ONLY = frozenset((
    "accept_clock", "become", "clock_trouble", "copied", "counted", "demo", "extensions", "facts",
    "follow_counts", "identities", "image", "import_from", "meaning", "models", "outward", "owners", "perform_errand",
    "queue_errands_in_turn", "settings", "stop_when", "sweep", "sweep_in_turn",
))  # fmt: skip
"""Attributes of an installation that work only on its own machine: files, programs, models, and work of the
operator."""


class RemoteKeepbook:
    """The books of a server. `awaits` says whether its methods are awaited. What extensions add to an installation is
    given this, and asks through its `connection`."""

    def __init__(self, address: str, *, token: str | None = None, awaits: bool = False, **local: Any) -> None:
        given = [name for name, value in local.items() if value]
        if given:
            raise NotAllowed(f"{', '.join(given)}: the server at {address} decides that itself", code=LOCAL_ONLY)
        kind = AsyncConnection if awaits else Connection
        self.connection: Connection | AsyncConnection = kind(address, token, patience=load_settings().server_seconds)

    def __repr__(self) -> str:
        return f"<Keepbook at {self.connection.address}>"

    def book(
        self, owner: str, *, by: str = "person", door: str = "python", hand: object = None, name: str | None = None
    ) -> Any:
        """One owner's book there. Whatever the `door` is called here, the server's ledger says that it was HTTP."""
        if hand is not None or name is not None:
            raise NotAllowed("as whom and with which key is for the token to say", code=LOCAL_ONLY)
        return open_book(self.connection, owner, by)

    def tools(
        self,
        preset: str | None = None,
        *,
        owner: str,
        thread_id: str | None = None,
        turn_ids: Sequence[str] = (),
        mode: str | None = None,
        agent: str | None = None,
    ) -> Any:
        """The preset's tools over one owner's book there; awaited if the other methods are."""
        # Loaded with the first use, as where the book is.
        from keepbook.client.tool_sets import remote_tools

        given = {"preset": preset, "thread_id": thread_id, "mode": mode, "agent": agent}
        query = [(name, value) for name, value in given.items() if value is not None]
        query += [("turn_ids", turn) for turn in turn_ids]
        return remote_tools(self.connection.speaking(clean_owner(owner), "agent"), (*query, ("outside", "false")))

    def talk(self, chat: Any, *, models: object = None) -> RemoteTalk:
        """A chat with the server's models in it."""
        refuse_models(models)
        return RemoteTalk(chat)

    @cached_property
    def tokens(self) -> Any:
        """The keys to the server's doors."""
        return TOKENS(self.connection, "")

    def close(self) -> Any:
        """Close the connection; awaited if the other methods are."""
        return self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name in HERE_ONLY:
            refuse_elsewhere(f"Keepbook.{name}")
        part = load_remote_house(name)
        if takes_nothing_else(part):
            return part(self)
        return MethodType(part, self)
