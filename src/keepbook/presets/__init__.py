"""Presets: the vocabulary and the policy of one kind of agent, as data.

A preset is one TOML file. Four ship with Keepbook; a folder of your own adds more and never replaces a
shipped one, so that `general` means the same in every installation. Files are read strictly: an unknown,
missing or mistyped key is an error that names the file, the key and what belongs there, because a policy that
is silently ignored is worse than one that refuses to load.
"""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NoReturn, get_args, get_origin, get_type_hints

from keepbook.errors import Invalid

_SHIPPED = Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_WORDS: dict[Any, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, slots=True)
class Argument:
    """Which argument of the operation it fills (`is` in the file); a default makes it optional."""

    is_: str
    description: str
    required: bool = True
    default: str | int | float | bool | None = None

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "required", False)


@dataclass(frozen=True, slots=True)
class Tool:
    """A name and argument names of this preset, bound to one operation of the tools package."""

    name: str
    does: str
    description: str
    arguments: Mapping[str, Argument]
    outside: bool = False
    """Only for agents outside: our own chats record their turns themselves."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories enter the block: `total` and `budgets` (by category) are tokens, `limit` is lines."""

    kind: Literal["grouped", "ordered", "recent"]
    limit: int | None = None
    total: int | None = None
    budgets: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Line:
    """What a line shows besides the content: `short` ids are [Ab12Cd34], `labelled` ones [id:Ab12Cd34]."""

    id: Literal["none", "short", "labelled"]
    subject: bool
    topic: bool
    mark_inferred: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Preset:
    """One kind of agent. Field name = key in the file; one object per file, compared by identity."""

    name: str
    heading: str
    intro: str
    categories: tuple[str, ...]  # in display order; empty = any short tag is a category
    content_min: int
    content_max: int
    consent: Literal["silent", "visible", "ask"]
    on_close: Literal["save", "propose"]
    half_life_days: float
    floor: float
    persona: str
    memory_rules: str
    selection: Selection
    line: Line
    tools: tuple[Tool, ...]
    titles: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    default_category: str | None = None
    recall_tool: str | None = None
    trading: bool = False
    """Whether its agents also read the owner's trading: skills, deployments, coming events."""

    def __repr__(self) -> str:
        return f"<preset {self.name}>"


def load_preset(name: str, folders: Sequence[Path] = ()) -> Preset:
    """The preset of this name, shipped or from one of `folders`; read again only when its file changed."""
    found = []
    for folder in (_SHIPPED, *folders) if _NAME.fullmatch(name) else ():
        path = os.path.join(folder, f"{name}.toml")
        if os.path.isfile(path):
            found.append(path)
    if not found:
        known = preset_names(folders)
        raise Invalid(
            f"There is no preset {name!r}.{_nearest(name, known)} Known presets: {', '.join(known)}.",
            field="preset",
        )
    if len(found) > 1:
        raise Invalid(
            f"{found[1]}: the name {name!r} is already taken by {found[0]}. Rename your file and its `name`.",
            field="preset",
        )
    return _load(found[0], os.stat(found[0]).st_mtime_ns)


def preset_names(folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Every name that `load_preset` would look for, sorted."""
    names = {path.stem for folder in (_SHIPPED, *folders) for path in Path(folder).glob("*.toml")}
    return tuple(sorted(name for name in names if _NAME.fullmatch(name)))


@lru_cache(maxsize=64)
def _load(path: str, _mtime: int) -> Preset:
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: not valid TOML: {error}.", field="preset") from error
    reader = _Reader(path)
    preset: Preset = reader.read(Preset, data, "")
    for ok, key, expected in _rules(preset, Path(path).stem):
        if not ok:
            reader.refuse(key, expected)
    return preset


class _Reader:
    """Reads plain TOML values into the dataclasses above, by their annotations."""

    def __init__(self, path: str) -> None:
        self.path = path

    def refuse(self, key: str, expected: str, hint: str = "") -> NoReturn:
        raise Invalid(f"{self.path}: `{key or 'the file'}`: expected {expected}.{hint}", field=key or None)

    def read(self, kind: Any, value: Any, key: str) -> Any:
        origin, inner = get_origin(kind), get_args(kind)
        if origin is UnionType:
            kinds = [option for option in inner if option is not NoneType]
            if len(kinds) == 1:
                return self.read(kinds[0], value, key)
            if type(value) not in kinds:
                self.refuse(key, " or ".join(_WORDS[option] for option in kinds))
            return value
        if is_dataclass(kind):
            return self.table(kind, value, key)
        if origin is Mapping:
            if not isinstance(value, dict):
                self.refuse(key, "a table")
            return MappingProxyType({name: self.read(inner[1], item, f"{key}.{name}") for name, item in value.items()})
        if origin is tuple:
            if not isinstance(value, list):
                self.refuse(key, "a list")
            return tuple(self.read(inner[0], item, f"{key}[{index}]") for index, item in enumerate(value))
        if origin is Literal:
            if value not in inner:
                self.refuse(key, " or ".join(f'"{choice}"' for choice in inner))
            return value
        if type(value) is not kind and not (kind is float and type(value) is int):
            self.refuse(key, _WORDS[kind])
        return kind(value)

    def table(self, kind: Any, value: Any, key: str) -> Any:
        if not isinstance(value, dict):
            self.refuse(key, "a table")
        hints = get_type_hints(kind)
        # `is` is a word of Python, so that field carries an underscore here and none in the file.
        known = {each.name.rstrip("_"): each for each in fields(kind)}
        at = f"{key}." if key else ""
        for name in value:
            if name not in known:
                self.refuse(at + name, f"one of {', '.join(known)}", _nearest(name, known))
        for name, each in known.items():
            if name not in value and each.default is MISSING and each.default_factory is MISSING:
                self.refuse(at + name, "this key, which is missing")
        given = {known[name].name: item for name, item in value.items()}
        return kind(**{name: self.read(hints[name], item, at + name.rstrip("_")) for name, item in given.items()})


def _rules(preset: Preset, stem: str) -> list[tuple[bool, str, str]]:
    """What the types cannot say: (holds, key, what is expected)."""
    selection, categories = preset.selection, set(preset.categories)
    tools = [tool.name for tool in preset.tools]
    one_line = {"heading": preset.heading, "intro": preset.intro}
    one_line |= {f"titles.{name}": title for name, title in preset.titles.items()}
    amounts = {"selection.limit": selection.limit, "selection.total": selection.total}
    amounts |= {f"selection.budgets.{name}": tokens for name, tokens in selection.budgets.items()}
    rules = [
        (preset.name == stem, "name", f'"{stem}", like the file'),
        (
            len(categories - {""}) == len(preset.categories),
            "categories",
            "each category once, and none empty",
        ),
        (
            1 <= preset.content_min <= preset.content_max <= 500,
            "content_min",
            "1 ≤ content_min ≤ content_max ≤ 500",
        ),
        (preset.half_life_days > 0, "half_life_days", "more than 0"),
        (0 <= preset.floor <= 1, "floor", "0 to 1"),
        (
            not categories or preset.default_category in categories,
            "default_category",
            f"one of {', '.join(preset.categories)}",
        ),
        (
            bool(categories) or selection.kind == "recent",
            "categories",
            f"a list, since {selection.kind} makes groups",
        ),
        (
            set(preset.titles) == (set() if selection.kind == "recent" else categories),
            "titles",
            "one title for every category, or none at all if the selection is recent",
        ),
        (
            set(selection.budgets) in (set(), set(preset.titles)),
            "selection.budgets",
            "one for every category that has a title, or none at all",
        ),
        (
            not selection.budgets or "fact" in selection.budgets or selection.total is not None,
            "selection.budgets",
            "`fact`, whose budget also serves categories of other presets, or a `total` beside the budgets",
        ),
        (len(set(tools)) == len(tools), "tools", "each tool name once"),
        (
            preset.recall_tool is None or preset.recall_tool in tools,
            "recall_tool",
            f"one of {', '.join(tools)}",
        ),
    ]
    rules += [(bool(text) and text.isprintable(), key, "one line of text") for key, text in one_line.items()]
    rules += [(amount is None or amount > 0, key, "1 or more") for key, amount in amounts.items()]
    return rules


def _nearest(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" Did you mean `{close[0]}`?" if close else ""
