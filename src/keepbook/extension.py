"""The seam: what an extension brings to each floor, and which extensions are at work.

The core knows no extension by name. Each floor asks the extensions that are on for their part: storage for tables, the
book for faces and operations, doors for commands, routes and pages. A part is named as `package.module` or
`package.module:name` and loaded when it is first needed, so an extension costs nothing until something of it is used.

The extensions of this package stand in `keepbook.extensions` and are on by default. Anybody else's is on only if
`extensions` names it, by its entry point (group `keepbook.extensions`) or as `package.module:NAME`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, TypeVar

from keepbook.errors import Invalid, NotFound
from keepbook.patterns import regex

ENTRY_POINTS = "keepbook.extensions"
NAME = regex(r"[a-z][a-z0-9_]{1,30}")
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extension:
    """What one extension brings. Everything but its name may be left out.

    name: in the setting `extensions`, in presets, and in the record of what is installed
    version: of its tables; in a database with an older version, an upgrade makes what is missing
    about: what it is for, in one line
    gives: words for what a preset that names this extension lacks while it is off

    Storage
    tables: modules that declare its tables with `declare_table`, each after those it depends on
    guards: a package whose folder `guards/` has `sqlite.sql` and `postgresql.sql`: rules that `declare_table` has no
        words for

    Book
    operations: a mapping from the name of an operation to the row of the authority table it belongs to
    rows: a mapping with authority rows of its own; it may refer to the core's, and change none
    faces: attributes of a book, by name: classes that are given the book (`book.trades`)
    house: attributes of an installation, by name: functions that are given the `Keepbook`. One that takes nothing else
        becomes a value (`kb.market`), any other a method (`kb.runner(book)`); see `at_once` for programs that await
    upkeep: a module with functions that import, restoring and undo call; see `book/upkeep/hooks.py`
    offers: what it has for other extensions, by name; they ask with `offered`

    Tools and models
    tools: a function from a book (and `mode=`) to the tools of presets that name this extension
    outside_tools: a function from a book to tools that every agent outside is given, whatever its preset
    bound: a module that knows the agents to which a token may be bound; see `tools/bound.py`
    answers: functions with which the notebook answers a turn; each is given the `ReplyContext` and returns a text, or
        None if the turn is about something else
    asks: functions that are given a text and its language, and say whether it asks about this extension's part
    talks: a function that is given a `Keepbook` and a chat and returns the `Talk` for it, or None if this is none of
        its chats
    sweeps: a module with the due work it does; see `jobs.py`

    Doors
    commands: a mapping from a module with `register(app)` to the words it adds to the command line
    api: modules with a `router` for the API, in order; see `doors/http/extension_routes.py` for what else they may have
    pages: modules with a `router` for the web app, in order
    templates: a package whose `templates/` folder has the pages' templates
    menu: a module with `PLACES` for the menu and other parts of pages; see `doors/http/web/frame/extension_pages.py`
    metrics: a mapping from a name in the tally to the name, words and label of a counter

    Client
    remote_faces: the faces of `faces` on a server: classes that `remote_face_of` of `client/faces.py` makes
    remote_house: the parts of `house` on a server: functions that are given the `RemoteKeepbook`, whose `connection`
        opens a face (`HABITS(kb.connection, owner)`). A face or part that is missing in these two raises an error that
        says it works only where the book is
    """

    name: str
    version: int = 1
    about: str = ""
    gives: str = ""
    tables: Sequence[str] = ()
    guards: str | None = None
    operations: str | None = None
    rows: str | None = None
    faces: Mapping[str, str] = field(default_factory=dict)
    house: Mapping[str, str] = field(default_factory=dict)
    upkeep: str | None = None
    offers: Mapping[str, str] = field(default_factory=dict)
    tools: str | None = None
    outside_tools: str | None = None
    bound: str | None = None
    answers: Sequence[str] = ()
    asks: Sequence[str] = ()
    talks: str | None = None
    sweeps: str | None = None
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    api: Sequence[str] = ()
    pages: Sequence[str] = ()
    templates: str | None = None
    menu: str | None = None
    metrics: str | None = None
    remote_faces: Mapping[str, str] = field(default_factory=dict)
    remote_house: Mapping[str, str] = field(default_factory=dict)


@cache
def load_part(reference: str) -> Any:
    """Import a part: `package.module` gives the module, `package.module:name` what has that name in it."""
    place, _, name = reference.partition(":")
    module = import_module(place)
    if name:
        return getattr(module, name)
    return module


def face_name(kind: type, among: Iterable[Extension]) -> str:
    """The name that a class of `faces` has as an attribute of a book."""
    for one in among:
        for name, reference in one.faces.items():
            if load_part(reference) is kind:
                return name
    raise NotFound(f"no extension that is on here has {kind.__name__}", field="extensions")


def takes_nothing_else(function: Callable[..., Any]) -> bool:
    """Whether a function of `house` is given the installation alone."""
    return len(signature(function).parameters) == 1


def at_once(function: Function) -> Function:
    """Mark a function of `house` that asks no database: `AsyncKeepbook` calls it without a thread, so its result need
    not be awaited."""
    function.at_once = True  # type: ignore[attr-defined]
    return function


def missing_extensions(preset: str, wanted: Iterable[str], on: Iterable[Extension]) -> list[str]:
    """A sentence for each extension that a preset names and that is not on: what is missing, and what to do."""
    there = {one.name for one in on}
    gives = {one.name: one.gives or one.name for one in loaded_extensions()}
    return [
        f"{preset} works without {gives.get(name, name)} here; add {name} to extensions"
        for name in wanted
        if name not in there
    ]


def offered(name: str) -> Any:
    """What an extension offers to others under this name; None if no extension does."""
    for one in loaded_extensions():
        if name in one.offers:
            return load_part(one.offers[name])
    return None


# Which extensions there are


@cache
def shipped() -> Mapping[str, Extension]:
    """The extensions of this package that can be imported, by name."""
    # Imported here because SHIPPED is data outside the core; a distribution may leave some extensions out.
    from keepbook.extensions import SHIPPED

    found = {}
    for name, place in SHIPPED.items():
        with suppress(ModuleNotFoundError):
            found[name] = load_part(place)
    return found


def find_extensions(names: Iterable[str]) -> tuple[Extension, ...]:
    """The extensions of these names, each once; an unknown name is refused."""
    found: dict[str, Extension] = {}
    for wanted in names:
        one = _find(wanted)
        if one is not None and found.setdefault(one.name, one) is not one:
            raise Invalid(f"there are two extensions called {one.name!r}; leave one out", field="extensions")
    for one in found.values():
        _register(one)
    return tuple(found.values())


_AT_WORK: dict[str, Extension] = {}
"""The extensions that `find_extensions` has found in this process, by name."""


def loaded_extensions() -> Iterator[Extension]:
    """Every extension known in this process: those of this package, and those that `find_extensions` has found."""
    yield from shipped().values()
    yield from (one for name, one in _AT_WORK.items() if name not in shipped())


def _register(one: Extension) -> None:
    if _AT_WORK.setdefault(one.name, one) is not one:
        raise Invalid(f"there are two extensions called {one.name!r}; leave one out", field="extensions")


def _find(wanted: str) -> Extension | None:
    # See shipped().
    from keepbook.extensions import SHIPPED

    if wanted in shipped():
        return shipped()[wanted]
    if wanted in SHIPPED:  # this installation came without it: there is nothing to turn on
        return None
    if ":" in wanted:
        made = _by_place(wanted)
    else:
        made = _by_entry_point(wanted)
    if not isinstance(made, Extension):
        raise Invalid(f"extension {wanted!r} is a {type(made).__name__}, not an Extension", field="extensions")
    if not NAME.fullmatch(made.name):
        raise Invalid(f"an extension's name is small letters, digits and _, not {made.name!r}", field="extensions")
    return made


def _by_place(wanted: str) -> Any:
    try:
        return load_part(wanted)
    except ModuleNotFoundError as error:
        raise Invalid(f"extension {wanted!r}: there is no module {error.name!r} here", field="extensions") from None
    except AttributeError:
        module, _, name = wanted.partition(":")
        raise Invalid(f"extension {wanted!r}: module {module} has no {name!r}", field="extensions") from None


def _by_entry_point(wanted: str) -> Any:
    # Loaded only when an entry point is named: searching the installed packages takes a while.
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS, name=wanted):
        return point.load()
    known = ", ".join(shipped()) or "none"
    raise Invalid(
        f"there is no extension {wanted!r}; this package has {known}, and another is named by an installed package or "
        "as package.module:NAME",
        field="extensions",
    )
