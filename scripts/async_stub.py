"""The types of `AsyncKeepbook`: `write` writes src/keepbook/asynchronous.pyi from the classes it stands in for.

The same names, arguments and explanations as the local ones; a method is awaited, a value that is looked up is awaited,
a room is there at once. A test holds the file against what this would write.
"""

import inspect
import re
import subprocess
import sys
import textwrap
from functools import cached_property
from pathlib import Path
from typing import Any, get_type_hints

from keepbook.app import Keepbook
from keepbook.book.agents.face import Agents, Decisions, Runs
from keepbook.book.book import Book
from keepbook.book.chats.face import Chat, Chats, Journal
from keepbook.book.ground.room import Room
from keepbook.book.memory.review import Review
from keepbook.book.owners.spending import Spending
from keepbook.book.owners.tokens import Tokens
from keepbook.book.recall.rebuild import Index
from keepbook.book.trading.face import Trading
from keepbook.book.trading.market.face import Market
from keepbook.book.upkeep.transfer import Imported
from keepbook.client.off_loop import LOCKED, is_room
from keepbook.jobs import SweepResult
from keepbook.models.agents.runner import Runner
from keepbook.models.chat import Talk
from keepbook.models.choose import Models

PLACE = Path(__file__).parent.parent / "src" / "keepbook" / "asynchronous.pyi"
STANDS_IN = (Tokens, Chat, Chats, Journal, Review, Spending, Index, Agents, Runs, Decisions, Trading, Market, Book)
ASYNC = {f"{each.__module__}.{each.__name__}": f"Async{each.__name__}" for each in STANDS_IN}
NAMED = {each.__name__: each for each in (Imported, SweepResult, Talk, Models, Runner)}
"""Types that the classes know only while types are checked."""
LEFT_OUT = {*LOCKED, "of", "bring_in", "close_thread", "pencil_of", "acting", "under", "ask"}
"""For the layers above a book, not for its users."""
HEAD = '"""Written by scripts/async_stub.py from the classes it stands in for: change those."""\n\n'


def stub() -> str:
    whole = "\n\n".join([*map(_class, STANDS_IN), _keepbook()])
    modules = sorted({found.rpartition(".")[0] for found in re.findall(r"[a-z_]+(?:\.\w+)+", _bare(whole))})
    imports = [*(f"import {module}" for module in modules), "from collections.abc import Awaitable, Callable"]
    text = HEAD + "\n".join([*imports, "from typing import Any, Self, TypeVar"])
    text += '\n\nValue = TypeVar("Value")\n\n' + whole + "\n"
    run = [sys.executable, "-m", "ruff"]
    for step in (["check", "--select", "I", "--fix", "-q"], ["format", "-q"]):
        made = subprocess.run([*run, *step, "--stdin-filename", str(PLACE), "-"], input=text, text=True,
                              capture_output=True, check=True, cwd=PLACE.parent)  # fmt: skip
        text = made.stdout
    return text


def _bare(text: str) -> str:
    return re.sub(r'"""(.|\n)*?"""', "", text)


def _class(local: type) -> str:
    lines = [f"class Async{local.__name__}:", _told(local.__doc__, 4)]
    lines += {Chat: ["    id: str", "    session: str | None"], Book: ["    owner: str"]}.get(local, [])
    for name in dir(local):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        own = inspect.getattr_static(local, name)
        if isinstance(own, Room):
            lines += _property(name, f"Async{own._face}", None)
        elif isinstance(own, property | cached_property):
            read = own.fget if isinstance(own, property) else own.func
            kind = _shown(_hints(read).get("return"))
            lines += _property(name, kind if is_room(own) else f"Awaitable[{kind}]", own.__doc__)
        elif inspect.isfunction(own):
            lines.append(_method(own))
    return "\n".join(lines)


def _keepbook() -> str:
    lines = ["class AsyncKeepbook:", _told(Keepbook.__doc__, 4)]
    lines += [_method(own, wait=False) for own in (Keepbook.__init__, Keepbook.book, Keepbook.talk, Keepbook.runner)]
    lines += [
        _method(getattr(Keepbook, name)) for name in ("close", "owners", "facts", "sweep", "chat_with", "import_from")
    ]
    lines += _property("tokens", "AsyncTokens", Keepbook.tokens.__doc__)
    lines += _property("market", "AsyncMarket", Keepbook.market.__doc__)
    run = "Run a function of your own beside the event loop, with the book itself: one transaction, many steps."
    lines += ["    async def run(self, work: Callable[..., Value], *args: object) -> Value:", _told(run, 8)]
    lines += ["    async def __aenter__(self) -> Self: ...", "    async def __aexit__(self, *_: object) -> None: ..."]
    return "\n".join(lines)


def _property(name: str, kind: str, told: str | None) -> list[str]:
    head = f"    @property\n    def {name}(self) -> {kind}:"
    return [f"{head}\n{_told(told, 8)}" if told else f"{head} ..."]


def _method(own: Any, *, wait: bool = True) -> str:
    hints = _hints(own)
    shown, star = [], False
    for name, one in inspect.signature(own).parameters.items():
        if one.kind is one.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(_argument(name, one, hints))
    head = f"    {'async ' if wait else ''}def {own.__name__}({', '.join(shown)}) -> {_shown(hints.get('return'))}:"
    return f"{head}\n{_told(own.__doc__, 8)}" if own.__doc__ else f"{head} ..."


def _argument(name: str, one: inspect.Parameter, hints: dict[str, Any]) -> str:
    if name == "self":
        return name
    before = {one.VAR_KEYWORD: "**", one.VAR_POSITIONAL: "*"}.get(one.kind, "")
    plain = isinstance(one.default, str | int | float | bool | tuple | None)
    default = "" if one.default is one.empty else f" = {one.default!r}" if plain else " = ..."
    return f"{before}{name}: {_shown(hints.get(name, Any))}{default}"


def _hints(own: Any) -> dict[str, Any]:
    return get_type_hints(own, localns=NAMED)


def _shown(kind: Any) -> str:
    """A type by its whole name, which is the same for nobody else; the async one where there is one."""
    text = "None" if kind in (None, type(None)) else inspect.formatannotation(kind)
    text = re.sub(r"<class '(\w+)'>", r"typing.\1", text)
    text = re.sub(r"[\w.]+", lambda word: ASYNC.get(word[0], word[0]), text)
    # A class that has a method `list` has no type of that name.
    return re.sub(r"(?<![\w.])(list|dict|set)\[", r"builtins.\1[", text.replace("typing.Any", "Any"))


def _told(doc: str | None, indent: int) -> str:
    text = inspect.cleandoc(doc or "")
    end = "\n" if "\n" in text else ""
    return textwrap.indent(f'"""{text}{end}"""', " " * indent)


if __name__ == "__main__":
    if sys.argv[1:] != ["write"]:
        sys.exit("usage: async_stub.py write")
    PLACE.write_text(stub(), encoding="utf-8")
