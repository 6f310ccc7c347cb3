"""The one reader of our TOML files: presets, card types, the config file.

A file is checked against a shape: frozen dataclasses whose fields are its keys. An unknown, missing or mistyped key is
refused, never skipped or converted, because a policy that is silently ignored is worse than one that refuses to load. A
refusal is a `Wrong`: which key, what belongs there, and the known key that comes nearest. The module that owns the file
words it for a person.

Every command reads a preset, so this is plain Python: a library for it would cost a command more than the book does.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

NotToml = tomllib.TOMLDecodeError
Value = TypeVar("Value")
TomlKey = tuple[str | int, ...]
TomlTable = Mapping[str, Value]
"""A table whose keys are the file's own."""

_BELONGS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
_KINDS = ("unknown", "missing", "mistyped")


class Wrong(Exception):
    """A key that does not fit the shape: it is unknown or missing, or has a wrong value."""

    def __init__(self, kind: Literal["unknown", "missing", "mistyped"], key: TomlKey, belongs: str) -> None:
        super().__init__(f"{dotted_key(key)}: expected {belongs}")
        self.kind = kind
        self.key = key
        self.belongs = belongs
        self.known: tuple[str, ...] = ()

    @property
    def nearest(self) -> str | None:
        """The known key that was probably meant, if this one is unknown."""
        return nearest_name(str(self.key[-1]), self.known)


def parse_toml(text: str) -> dict[str, Any]:
    """The parsed file, before it is checked."""
    return tomllib.loads(text)


def fit_to_shape(shape: type[Value], data: Mapping[str, Any]) -> Value:
    """Convert parsed TOML into the dataclass `shape`. Raises `Wrong` for the first problem, in this order: unknown key,
    missing key, wrong value."""
    value, found = _fit(shape, data, ())
    if found:
        # A misspelt key is reported twice, as unknown and as missing. The first has the hint.
        raise min(found, key=lambda wrong: _KINDS.index(wrong.kind))
    return cast(Value, value)


@dataclass(frozen=True, slots=True)
class Expecting:
    """An annotation for a field whose type allows too much: the words for what belongs there, and a test of values."""

    words: str
    fits: Callable[[Any], object] = lambda _: True


def dotted_key(key: TomlKey) -> str:
    """A key in words: `tools[0].arguments.limit`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    return next(iter(get_close_matches(name, list(known), n=1)), None)


_Fitted = tuple[Any, list[Wrong]]
"""A value converted to its shape, and the problems that were found. With problems the value is None."""


def _fit(shape: Any, given: Any, at: TomlKey) -> _Fitted:
    origin, inner = get_origin(shape), get_args(shape)
    if is_dataclass(shape):
        if not isinstance(given, dict):
            return _mistyped_value(at, "a table")
        return _table(shape, given, at)
    if origin is Annotated:
        value, found = _fit(inner[0], given, at)
        if not found and inner[1].fits(value):
            return value, []
        return _mistyped_value(at, inner[1].words)
    if origin in (Union, UnionType):
        tried = [_fit(kind, given, at) for kind in inner if kind is not NoneType]
        return next((one for one in tried if not one[1]), tried[0])
    if origin is Literal:
        if given in inner:
            return given, []
        return _mistyped_value(at, " or ".join(f'"{choice}"' for choice in inner))
    if origin is not None:
        return _collection(origin, inner, given, at)
    if shape is float and type(given) is int:
        return float(given), []
    if type(given) is shape:
        return given, []
    return _mistyped_value(at, _BELONGS[shape])


def _collection(kind: type, inner: tuple[Any, ...], given: Any, at: TomlKey) -> _Fitted:
    """A list, as a tuple; or a table whose keys are the file's own."""
    if kind is tuple:
        if not isinstance(given, list):
            return _mistyped_value(at, "a list")
        return _fit_items(inner[0], enumerate(given), at, lambda held: tuple(held.values()))
    if not isinstance(given, dict):
        return _mistyped_value(at, "a table")
    return _fit_items(inner[1], given.items(), at, MappingProxyType)


def _mistyped_value(at: TomlKey, belongs: str) -> _Fitted:
    return None, [Wrong("mistyped", at, belongs)]


def _fit_items(
    shape: Any, items: Iterable[tuple[str | int, Any]], at: TomlKey, make: Callable[[dict[str | int, Any]], Any]
) -> _Fitted:
    held = {name: _fit(shape, item, (*at, name)) for name, item in items}
    found = [wrong for _, wrongs in held.values() for wrong in wrongs]
    if found:
        return None, found
    return make({name: value for name, (value, _) in held.items()}), []


def _table(shape: Any, given: dict[str, Any], at: TomlKey) -> _Fitted:
    known = _keys(shape)
    values, found = dict[str, Any](), list[Wrong]()
    for key in (key for key in given if key not in known):
        wrong = Wrong("unknown", (*at, key), f"one of {', '.join(known)}")
        wrong.known = tuple(known)
        found.append(wrong)
    for key, (name, kind, required) in known.items():
        if key in given:
            values[name], wrongs = _fit(kind, given[key], (*at, key))
            found += wrongs
        elif required:
            found.append(Wrong("missing", (*at, key), "this key, which is missing"))
    if found:
        return None, found
    return shape(**values), []


@cache
def _keys(shape: Any) -> dict[str, tuple[str, Any, bool]]:
    """The keys of a table of this shape: the field's name, its type, and whether it must be there.

    `is_` and `from_` carry an underscore in Python and none in a file.
    """
    kinds = get_type_hints(shape, include_extras=True)
    return {
        each.name.rstrip("_"): (
            each.name,
            kinds[each.name],
            each.default is MISSING and each.default_factory is MISSING,
        )
        for each in fields(shape)
    }
