"""The types that no class says itself: `write` writes the stubs of `STUBS` from classes and extensions.

A book and an installation have what the extensions of this package hang on them, which only a stub can say: `book.pyi`
and `app.pyi` are their modules without bodies, and with those parts. `asynchronous.pyi` has the same names, arguments
and explanations once more for programs that await: a method is awaited, a value that is looked up is awaited, a room is
there at once. A test holds each file against what this would write.
"""

import ast
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.chats.face import Chat, Chats, Journal
from keepbook.book.memory.review import Review
from keepbook.book.owners.spending import Spending
from keepbook.book.owners.tokens import Tokens
from keepbook.book.recall.rebuild import Index
from keepbook.book.texts import Texts
from keepbook.client.off_loop import LOCKED, OPENS_FACE, is_room
from keepbook.extension import load_part, shipped, takes_nothing_else
from keepbook.tools.catalogue import ToolSet

PACKAGE = Path(__file__).parent.parent / "src" / "keepbook"
HEAD = '"""Written by scripts/stubs.py from the classes it stands in for: change those."""\n\n'
OF_TOOLS = {"why_proposed", "attempt", "refusal"}
LEFT_OUT = {*LOCKED, "of", "bring_in", "close_thread", "pencil_of", "acting", "under", "ask", *OF_TOOLS}
"""For the layers above a book, not for its users."""


@cache
def typing_names(module: str) -> dict[str, Any]:
    """What a module imports only while types are checked."""
    found: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(import_module(module))).body:
        for each in _checked_only(node):
            if isinstance(each, ast.ImportFrom):
                home = import_module(each.module or "")
                found |= {one.asname or one.name: getattr(home, one.name) for one in each.names}
    return found


def _checked_only(node: ast.stmt) -> list[ast.stmt]:
    return node.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else []


def hints_of(own: Any) -> dict[str, Any]:
    return get_type_hints(own, localns=typing_names(own.__module__))


FACES: dict[str, type] = {
    name: load_part(place) for one in shipped().values() for name, place in one.faces.items()
}  # fmt: skip
HOUSE: dict[str, Any] = {name: load_part(place) for one in shipped().values() for name, place in one.house.items()}
ROOMS: dict[str, type] = {name: hints_of(own)["return"] for name, own in HOUSE.items() if takes_nothing_else(own)}
METHODS: dict[str, Any] = {name: own for name, own in HOUSE.items() if name not in ROOMS}
AT_ONCE = ("schemas", "without", "__iter__", "__len__", "__contains__", "__getitem__")
"""Of a set of tools, what asks nobody."""
STANDS_IN = (
    ToolSet,
    Texts,
    Tokens,
    Chat,
    Chats,
    Journal,
    Review,
    Spending,
    Index,
    *FACES.values(),
    *ROOMS.values(),
    Book,
)
AS_THEY_ARE: Mapping[str, str] = {}
ASYNC = {f"{each.__module__}.{each.__name__}": f"Async{each.__name__}" for each in STANDS_IN}


# A book and an installation, as they are here


def book_stub() -> str:
    parts = [line for name, face in FACES.items() for line in _property(name, _shown(face, AS_THEY_ARE), None)]
    return _without_bodies("book/book.py", "Book", parts)


def app_stub() -> str:
    parts = [
        line for name, kind in ROOMS.items() for line in _property(name, _shown(kind, AS_THEY_ARE), HOUSE[name].__doc__)
    ]
    parts += [
        _method(own, AS_THEY_ARE, name=name, wait=inspect.iscoroutinefunction(own)) for name, own in METHODS.items()
    ]
    return _without_bodies("app.py", "Keepbook", parts)


def _without_bodies(module: str, extended: str, parts: list[str]) -> str:
    """A module's public names; on one of its classes also what extensions add."""
    said = []
    for node in _public(ast.parse((PACKAGE / module).read_text(encoding="utf-8")).body):
        text = ast.unparse(node)
        if isinstance(node, ast.ClassDef) and node.name == extended:
            text = "\n".join([text, *parts])
        said.append(text)
    return _whole("\n".join(said), str(PACKAGE / module) + "i", _modules("\n".join(parts)))


def _public(nodes: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that say a name or a type, each without what it does."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if _is_public(node.name):
                node.body = _docstring(node) or [ast.Expr(ast.Constant(...))]
                yield node
        elif isinstance(node, ast.ClassDef):
            node.body = [*_docstring(node), *_public(node.body)] or [ast.Expr(ast.Constant(...))]
            yield node
        elif isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign):
            yield node
        else:
            yield from _checked_only(node)


def _is_public(name: str) -> bool:
    """What is looked up by its name is told name by name, and `__init__` tells with what something is made."""
    return not name.startswith("_") or (name.endswith("__") and name not in ("__getattr__", "__dir__", "__new__"))


def _docstring(node: Any) -> list[ast.stmt]:
    return node.body[:1] if ast.get_docstring(node) else []


# The same for programs that await


def async_stub() -> str:
    said = "\n\n".join([*map(_class, STANDS_IN), _keepbook()])
    imports = [
        *_modules(said),
        "from collections.abc import Awaitable, Callable",
        "from typing import Any, Literal, Self, TypeVar",
    ]
    return _whole('Value = TypeVar("Value")\n\n' + said, str(PACKAGE / "asynchronous.pyi"), imports)


def _class(local: type) -> str:
    lines = [f"class Async{local.__name__}:", _told(local.__doc__, 4)]
    lines += {Chat: ["    id: str", "    session: str | None"], Book: ["    owner: str"]}.get(local, [])
    faces = FACES if local is Book else {}
    for name in sorted({*dir(local), *faces}):
        if (name.startswith("_") or name in LEFT_OUT) and not (local is ToolSet and name in AT_ONCE):
            continue
        if name in faces:
            lines += _property(name, _shown(faces[name], ASYNC), None)
        else:
            lines += _member(name, inspect.getattr_static(local, name))
    return "\n".join(lines)


def _member(name: str, own: Any) -> list[str]:
    if name == OPENS_FACE:
        return [f"    def {name}(self, kind: type) -> Any:\n{_told(own.__doc__, 8)}"]
    if isinstance(own, property | cached_property):
        read = own.fget if isinstance(own, property) else own.func
        kind = _shown(hints_of(read).get("return"), ASYNC)
        return _property(name, kind if is_room(own) else f"Awaitable[{kind}]", own.__doc__)
    return [_method(own, ASYNC, wait=name not in AT_ONCE)] if inspect.isfunction(own) else []


def _keepbook() -> str:
    lines = ["class AsyncKeepbook:", _told(Keepbook.__doc__, 4)]
    lines += [_method(own, ASYNC, wait=False) for own in (Keepbook.__init__, Keepbook.book, Keepbook.talk)]
    lines += [
        _method(getattr(Keepbook, name), ASYNC)
        for name in ("close", "tools", "owners", "facts", "sweep", "import_from")
    ]
    lines += [_method(own, ASYNC, name=name, wait=not hasattr(own, "at_once")) for name, own in METHODS.items()]
    lines += _property("tokens", "AsyncTokens", Keepbook.tokens.__doc__)
    for name, kind in ROOMS.items():
        lines += _property(name, _shown(kind, ASYNC), HOUSE[name].__doc__)
    run = "Run a function of your own beside the event loop, with the book itself: one transaction, many steps."
    lines += ["    async def run(self, work: Callable[..., Value], *args: object) -> Value:", _told(run, 8)]
    lines += ["    async def __aenter__(self) -> Self: ...", "    async def __aexit__(self, *_: object) -> None: ..."]
    return "\n".join(lines)


# How a stub is written


def _whole(said: str, place: str, imports: list[str]) -> str:
    text = HEAD + "\n".join(imports) + "\n\n" + said + "\n"
    run = [sys.executable, "-m", "ruff"]
    for step in (["check", "--select", "I,F401,UP037,PYI", "--fix", "-q", "--exit-zero"], ["format", "-q"]):
        made = subprocess.run([*run, *step, "--stdin-filename", place, "-"], input=text, text=True,
                              capture_output=True, check=True, cwd=PACKAGE)  # fmt: skip
        text = made.stdout
    return text


def _modules(text: str) -> list[str]:
    """The imports of every type that is named as a whole."""
    bare = re.sub(r'"""(.|\n)*?"""', "", text)
    return [
        f"import {found}"
        for found in sorted({one.rpartition(".")[0] for one in re.findall(r"[a-z_]+(?:\.\w+)+", bare)})
    ]


def _property(name: str, kind: str, told: str | None) -> list[str]:
    head = f"    @property\n    def {name}(self) -> {kind}:"
    return [f"{head}\n{_told(told, 8)}" if told else f"{head} ..."]


def _method(own: Any, names: Mapping[str, str], *, name: str | None = None, wait: bool = True) -> str:
    """A method, or a function that is one once it hangs on an installation: its first argument is `self`."""
    hints = hints_of(own)
    shown, star = ["self"], False
    for argument, one in list(inspect.signature(own).parameters.items())[1:]:
        if one.kind is one.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(_argument(argument, one, _shown(hints.get(argument, Any), names)))
    start = f"    {'async ' if wait else ''}def {name or own.__name__}"
    head = f"{start}({', '.join(shown)}) -> {_shown(hints.get('return'), names)}:"
    return f"{head}\n{_told(own.__doc__, 8)}" if own.__doc__ else f"{head} ..."


def _argument(name: str, one: inspect.Parameter, kind: str) -> str:
    before = {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "")
    plain = isinstance(one.default, str | int | float | bool | tuple | None)
    default = "" if one.default is one.empty else f" = {one.default!r}" if plain else " = ..."
    return f"{before}{name}: {kind}{default}"


def _shown(kind: Any, names: Mapping[str, str]) -> str:
    """A type by its whole name, which is the same for nobody else, or by the one it has in `names`."""
    text = "None" if kind in (None, type(None)) else inspect.formatannotation(kind)
    text = re.sub(r"<class '(\w+)'>", r"typing.\1", text)
    text = re.sub(r"[\w.]+", lambda word: names.get(word[0], word[0]), text)
    # A class that has a method `list` has no type of that name.
    return re.sub(r"(?<![\w.])(list|dict|set)\[", r"builtins.\1[", text.replace("typing.Any", "Any"))


def _told(doc: str | None, indent: int) -> str:
    text = inspect.cleandoc(doc or "")
    end = "\n" if "\n" in text else ""
    return textwrap.indent(f'"""{text}{end}"""', " " * indent)


STUBS: dict[Path, Callable[[], str]] = {
    PACKAGE / "book" / "book.pyi": book_stub,
    PACKAGE / "app.pyi": app_stub,
    PACKAGE / "asynchronous.pyi": async_stub,
}

if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: stubs.py write")
    for place, made in STUBS.items():
        place.write_text(made(), encoding="utf-8")
