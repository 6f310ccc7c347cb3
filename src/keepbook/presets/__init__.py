"""Presets: the vocabulary and the policy of one kind of agent, as data.

A preset is one TOML file. Four ship with Keepbook; a folder of your own adds more and never replaces a shipped one, so
that `general` means the same in every installation. Files are read strictly: an unknown, missing or mistyped key is an
error that names the file, the key and what belongs there, since a policy that refuses to load is better than one that
is silently ignored.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from keepbook.errors import Invalid
from keepbook.patterns import regex
from keepbook.strict_toml import (
    Expecting,
    NotToml,
    TomlTable,
    Wrong,
    dotted_key,
    fit_to_shape,
    nearest_name,
    parse_toml,
)

CONTENT_LENGTH = 4, 500
"""The shortest and longest content that the database takes; a preset may narrow this."""
_SHIPPED = Path(__file__).parent
_NAME = regex(r"[a-z][a-z0-9_-]{0,39}")
_Default = Annotated[str | int | float | bool | None, Expecting("text or a whole number or a number or true or false")]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a preset's tool. `is_` (`is` in the file) names the parameter of the operation that it fills; a
    default makes it optional."""

    is_: str
    description: str
    required: bool = True
    default: _Default = None

    def __post_init__(self) -> None:
        if self.default is not None:
            object.__setattr__(self, "required", False)


@dataclass(frozen=True, slots=True)
class PresetTool:
    """A name and argument names of this preset, bound to one operation of the tools package."""

    name: str
    does: str
    description: str
    arguments: TomlTable[Argument]
    outside: bool = False
    """Whether only outside agents get it, such as a tool that records turns, which our own chats do themselves."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories enter the block: `total`, `budgets` (by category) and `other` are tokens, `limit` is lines."""

    kind: Literal["grouped", "ordered", "recent"]
    limit: int | None = None
    total: int | None = None
    budgets: TomlTable[int] = field(default_factory=lambda: MappingProxyType({}))
    other: int | None = None
    """Beside the budgets, the tokens for all categories together that this preset does not have."""


@dataclass(frozen=True, slots=True)
class LineFormat:
    """What a line shows besides the content: `short` ids are [Ab12Cd34], `labelled` ones [id:Ab12Cd34]."""

    id: Literal["none", "short", "labelled"]
    subject: bool
    topic: bool
    mark_inferred: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class BlockRules:
    """The part of a preset on which the bytes of a block depend. The book stores it with each session's block."""

    heading: str
    intro: str
    categories: tuple[str, ...]  # in the order of pages and of a grouped block; empty = any short tag
    half_life_days: float
    floor: float
    selection: Selection
    line: LineFormat
    titles: TomlTable[str] = field(default_factory=lambda: MappingProxyType({}))
    recall_tool: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Preset(BlockRules):
    """One kind of agent. Field name = key in the file; one object per file, compared by identity."""

    name: str
    content_min: int
    content_max: int
    consent: Literal["silent", "visible", "ask"]
    on_close: Literal["save", "propose"]
    persona: str
    memory_rules: str
    tools: tuple[PresetTool, ...]
    default_category: str | None = None
    most_tools: int | None = None
    """How many tools its agents may have in all, including those of the memory."""
    extensions: tuple[str, ...] = ()
    """Extensions whose tools its agents have too, if these are on."""
    extension_rules: TomlTable[str] = field(default_factory=lambda: MappingProxyType({}))
    """The rules that follow the memory rules, by the extension that has to be on."""

    def __repr__(self) -> str:
        return f"<preset {self.name}>"

    def rules_with(self, on: Collection[str]) -> str:
        """The memory rules, and after them those of its extensions that are on."""
        more = [self.extension_rules.get(name, "") for name in self.extensions if name in on]
        return "\n".join(part.strip() for part in (self.memory_rules, *more) if part.strip())


def load_preset(name: str, folders: Sequence[Path] = ()) -> Preset:
    """The preset of this name, shipped or from one of `folders`; one of these is read again when its file changed."""
    shipped = name in _shipped_names()
    if shipped:
        return _load_shipped(name, tuple(folders))
    return _load(*_place_of(name, folders))


@lru_cache(maxsize=64)
def _load_shipped(name: str, folders: tuple[Path, ...]) -> Preset:
    """A shipped preset, cached, since its file does not change while the program runs. That no file in `folders` has
    its name is checked once."""
    return _load(*_place_of(name, folders))


def _place_of(name: str, folders: Sequence[Path]) -> tuple[str, int]:
    """The path of a preset's file, and when the file was changed (0 if it is shipped)."""
    if name in _shipped_names():
        found = [(f"{_SHIPPED}/{name}.toml", 0)]
    else:
        found = []
    if _NAME.fullmatch(name):
        for folder in folders:
            path = f"{folder}/{name}.toml"
            try:  # not through pathlib, which is slower: this runs at every reading of a book
                found.append((path, os.stat(path).st_mtime_ns))
            except OSError:
                continue
    if not found:
        known = preset_names(folders)
        raise Invalid(
            f"There is no preset {name!r}.{_suggestion(nearest_name(name, known))} Known presets: {', '.join(known)}.",
            field="preset",
        )
    if len(found) > 1:
        raise Invalid(
            f"{found[1][0]}: the name {name!r} is already taken by {found[0][0]}. Rename your file and its `name`.",
            field="preset",
        )
    return found[0]


@cache
def _shipped_names() -> frozenset[str]:
    """The names of the shipped presets, cached: they do not change while the program runs."""
    return frozenset(path.stem for path in _SHIPPED.glob("*.toml"))


def preset_names(folders: Sequence[Path] = ()) -> tuple[str, ...]:
    """Every name that `load_preset` would look for, sorted."""
    names = _shipped_names().union(path.stem for folder in folders for path in Path(folder).glob("*.toml"))
    return tuple(sorted(name for name in names if _NAME.fullmatch(name)))


@lru_cache(maxsize=64)
def _load(path: str, _mtime: int) -> Preset:
    try:
        preset = fit_to_shape(Preset, parse_toml(Path(path).read_text(encoding="utf-8")))
    except (NotToml, UnicodeDecodeError) as error:
        raise Invalid(f"{path}: not valid TOML: {error}.", field="preset") from error
    except Wrong as error:
        raise _refusal(path, dotted_key(error.key), error.belongs, _suggestion(error.nearest)) from None
    for ok, key, expected in _rules(preset, Path(path).stem):
        if not ok:
            raise _refusal(path, key, expected)
    return preset


def fit_block_rules(told: Mapping[str, Any]) -> BlockRules:
    """Rules of a block that come from elsewhere than a file, checked as strictly. Raises `Wrong`."""
    rules = fit_to_shape(BlockRules, told)
    for ok, key, expected in _rules_of_block(rules):
        if not ok:
            raise Wrong("mistyped", (key,), expected)
    return rules


def _refusal(path: str, key: str, expected: str, hint: str = "") -> Invalid:
    return Invalid(f"{path}: `{key}`: expected {expected}.{hint}", field=key)


Rules = list[tuple[bool, str, str]]
"""Conditions that types cannot express, each as (whether it holds, key, what is expected)."""


def _rules(preset: Preset, stem: str) -> Rules:
    tools = [tool.name for tool in preset.tools]
    least, most = CONTENT_LENGTH
    bounds = f"{least} ≤ content_min ≤ content_max ≤ {most}"
    default = f"one of {', '.join(preset.categories)}"
    rules = [
        (preset.name == stem, "name", f'"{stem}", like the file'),
        (least <= preset.content_min <= preset.content_max <= most, "content_min", bounds),
        (len(set(tools)) == len(tools), "tools", "each tool name once"),
        (preset.most_tools is None or preset.most_tools > 0, "most_tools", "1 or more"),
        (preset.recall_tool in (None, *tools), "recall_tool", f"one of {', '.join(tools)}"),
        (len(set(preset.extensions) - {""}) == len(preset.extensions), "extensions", "each extension once"),
        (set(preset.extension_rules) <= set(preset.extensions), "extension_rules", "only of those in `extensions`"),
        (not preset.categories or preset.default_category in preset.categories, "default_category", default),
    ]
    return rules + _rules_of_block(preset)


def _rules_of_block(block: BlockRules) -> Rules:
    one_line = {"heading": block.heading, "intro": block.intro}
    one_line |= {f"titles.{name}": title for name, title in block.titles.items()}
    rules = [
        (block.half_life_days > 0, "half_life_days", "more than 0"),
        (0 <= block.floor <= 1, "floor", "0 to 1"),
    ]
    rules += [(bool(text) and text.isprintable(), key, "one line of text") for key, text in one_line.items()]
    return rules + _rules_of_categories(block) + _rules_of_selection(block.selection, set(block.titles))


def _rules_of_categories(preset: BlockRules) -> Rules:
    kind, categories = preset.selection.kind, set(preset.categories)
    return [
        (len(categories - {""}) == len(preset.categories), "categories", "each category once, and none empty"),
        (bool(categories) or kind == "recent", "categories", f"a list, since {kind} makes groups"),
        (
            set(preset.titles) == (set() if kind == "recent" else categories),
            "titles",
            "one title for every category, or none at all if the selection is recent",
        ),
    ]


def _rules_of_selection(selection: Selection, titled: set[str]) -> Rules:
    amounts = {"limit": selection.limit, "total": selection.total, "other": selection.other}
    amounts |= {f"budgets.{name}": tokens for name, tokens in selection.budgets.items()}
    rules = [
        (
            set(selection.budgets) in (set(), titled),
            "selection.budgets",
            "one for every category that has a title, or none at all",
        ),
        (
            not selection.budgets or selection.other is not None or selection.total is not None,
            "selection.other",
            "the tokens for categories of other presets, or a `total` beside the budgets",
        ),
        (selection.other is None or bool(selection.budgets), "selection.other", "`budgets` beside it"),
    ]
    return rules + [(given is None or given > 0, f"selection.{key}", "1 or more") for key, given in amounts.items()]


def _suggestion(name: str | None) -> str:
    if name:
        return f" Did you mean `{name}`?"
    return ""
