"""Turns JSON back into the values of the book: the opposite of `to_json`."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from keepbook.book.ground.to_json import Page
from keepbook.book.ground.when import parse_stamp, stamp


def value_of(kind: Any, told: Any) -> Any:
    """The value of this type from its JSON."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _matching_kind(inner, told)
    if told is None or kind is Any:
        return told
    if origin is Page:
        rows = next(name for name in told if name not in ("total", "next"))
        return Page([value_of(inner[0], item) for item in told[rows]], told["total"], told["next"], rows)
    if isinstance(origin, type):
        return _many(origin, inner, told)
    if kind is datetime:
        return parse_stamp(told)
    if kind is date:
        return date.fromisoformat(told)
    names = _fields(kind)
    if names is None:
        return told
    return kind(**{name: value_of(names[name], told[name]) for name in names if name in told})


def _many(origin: Any, inner: tuple[Any, ...], told: Any) -> Any:
    if issubclass(origin, Mapping):
        return {key: value_of(inner[1], item) for key, item in told.items()}
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(value_of(each, item) for each, item in zip(inner, told, strict=True))
    if origin is tuple:
        return tuple(value_of(inner[0], item) for item in told)
    if issubclass(origin, Sequence):
        return [value_of(inner[0], item) for item in told]
    return told


def _matching_kind(kinds: tuple[Any, ...], told: Any) -> Any:
    """The one of several classes whose fields are all in the object."""
    if told is None:
        return None
    left = [kind for kind in kinds if kind is not NoneType]
    for kind in left:
        names = None
        if isinstance(kind, type):
            names = _fields(kind)
        if names is not None and isinstance(told, Mapping) and set(names) <= set(told):
            return value_of(kind, told)
    plain = [kind for kind in left if not (isinstance(kind, type) and _fields(kind))]
    if len(left) > 1 and plain:
        return value_of(plain[0], told)
    return value_of(left[0], told)


@cache
def _fields(kind: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or a named tuple, with their types."""
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")):
        return {name: hint for name, hint in get_type_hints(kind).items() if name in _names(kind)}
    return None


def _names(kind: Any) -> Iterable[str]:
    return kind.__dataclass_fields__ if is_dataclass(kind) else kind._fields


def to_json_argument(given: Any) -> Any:
    """An argument as JSON."""
    if isinstance(given, datetime):
        return stamp(given) if given.tzinfo is not None else given.isoformat()
    if isinstance(given, Path | Enum):
        return str(given)
    if isinstance(given, Mapping):
        return {key: to_json_argument(item) for key, item in given.items()}
    if is_dataclass(given) and not isinstance(given, type):
        told = {one.name: getattr(given, one.name) for one in fields(given)}
        return {name: to_json_argument(value) for name, value in told.items() if value is not None}
    if isinstance(given, list | tuple | AbstractSet):
        return [to_json_argument(item) for item in given]
    if hasattr(given, "isoformat"):
        return given.isoformat()
    return given
