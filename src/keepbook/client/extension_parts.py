"""Finds by name the attributes that extensions add to a book or an installation on a server, when one is first used.

The server is not asked which extensions are on. If one is off there, its requests are answered like unknown paths.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from keepbook.client.faces import refuse_elsewhere
from keepbook.extension import Extension, find_extensions, load_part, loaded_extensions
from keepbook.settings import load_settings

Parts = Iterable[tuple[Mapping[str, str], Mapping[str, str]]]
"""For each extension, the attributes that it adds to a local book, and those that it adds to one on a server."""


def known_extensions() -> Iterator[Extension]:
    """The extensions that are loaded in this process; then, if none of these fits, those in this machine's settings."""
    known = {one.name: one for one in loaded_extensions()}
    yield from known.values()
    yield from (one for one in find_extensions(load_settings().extensions) if one.name not in known)


def load_remote_face(name: str) -> Any:
    """The class of an extension's face on a server."""
    return _load("Book", name, ((one.faces, one.remote_faces) for one in known_extensions()))


def load_remote_house(name: str) -> Any:
    """The function with which an extension adds to an installation on a server."""
    return _load("Keepbook", name, ((one.house, one.remote_house) for one in known_extensions()))


def _load(local: str, name: str, parts: Parts) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    for here, elsewhere in parts:
        if name in elsewhere:
            return load_part(elsewhere[name])
        if name in here:
            refuse_elsewhere(f"{local}.{name}")
    raise AttributeError(f"{local!r} object has no attribute {name!r}")
