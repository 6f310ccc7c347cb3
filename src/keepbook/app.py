"""Keepbook: an installation with the parts that extensions add to it.

kb = Keepbook("keepbook.db")        # a file, ":memory:", or "postgresql://…"
alice = kb.book("alice")            # everything below is alice's alone

Types are in `app.pyi`, which `scripts/stubs.py` writes from what this package has.
"""

from pathlib import Path
from types import MethodType
from typing import Any, cast

from keepbook.book.ground.system_clock import utc_now
from keepbook.client.address import is_address
from keepbook.extension import load_part, loaded_extensions, takes_nothing_else
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

    def __new__(cls, db: "str | Path | None" = None, **given: Any) -> "Keepbook":
        """For a server's address this makes a `RemoteKeepbook`, which has what a server offers."""
        if not is_address(db):
            return super().__new__(cls)
        # Loaded for a server alone: a book here needs no connection to one.
        from keepbook.client.remote import RemoteKeepbook

        return cast("Keepbook", RemoteKeepbook(str(db), **given))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "extensions" not in self.__dict__:  # or it would ask itself for ever
            raise AttributeError(name)
        for one in self.extensions:
            if name in one.house:
                return _value_or_method(self, name, load_part(one.house[name]))
        raise AttributeError(_why_missing(name))


def _value_or_method(kb: Keepbook, name: str, part: Any) -> Any:
    """A function of an extension as an attribute of an installation: a method, or, if it takes the installation alone,
    the value it returns, which is kept."""
    if not takes_nothing_else(part):
        return MethodType(part, kb)
    kb.__dict__[name] = part(kb)
    return kb.__dict__[name]


def _why_missing(name: str) -> str:
    for one in loaded_extensions():
        if name in one.house:
            return f"this installation has no {name!r}: add {one.name} to extensions"
    return f"Keepbook has no {name!r}"
