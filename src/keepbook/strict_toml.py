"""The one reader of our TOML files: presets, card types, the config file.

A file is held against a shape: frozen dataclasses whose fields are its keys. Pydantic does the holding, strictly: an
unknown, missing or mistyped key is refused, never skipped or converted, because a policy that is silently ignored is
worse than one that refuses to load. What is refused is told as `Wrong`: which key, what belongs there, and the known
key that comes nearest. In which words that reaches a person is for the module that owns the file.
"""

import tomllib
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from functools import lru_cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, ConfigDict, Strict, TypeAdapter, ValidationError, WrapValidator
from pydantic_core import ErrorDetails, PydanticCustomError

NotToml = tomllib.TOMLDecodeError
Value = TypeVar("Value")
Key = tuple[str | int, ...]

SHAPE = ConfigDict(extra="forbid", alias_generator=lambda name: name.rstrip("_"))
"""The `__pydantic_config__` of a shape. `is_` and `from_` carry an underscore in Python and none in a file."""

Whole = Annotated[int, Strict()]
Number = Annotated[float, Strict()]
Switch = Annotated[bool, Strict()]
Table = Annotated[Mapping[str, Value], AfterValidator(MappingProxyType)]
"""A table whose keys are the file's own."""

_BELONGS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a table",
    "dataclass_type": "a table",
}
_KINDS = ("unknown", "missing", "mistyped")


class Wrong(Exception):
    """What does not fit the shape: a key that is unknown or missing, or one that holds something else."""

    def __init__(self, kind: Literal["unknown", "missing", "mistyped"], key: Key, belongs: str) -> None:
        super().__init__(f"{dotted(key)}: expected {belongs}")
        self.kind = kind
        self.key = key
        self.belongs = belongs
        self.known: tuple[str, ...] = ()

    @property
    def nearest(self) -> str | None:
        """The known key that an unknown one was probably meant to be."""
        return nearest(str(self.key[-1]), self.known)


def parse(text: str) -> dict[str, Any]:
    """What a file holds, before it is held against anything."""
    return tomllib.loads(text)


def read(shape: type[Value], data: Mapping[str, Any]) -> Value:
    """The data in this shape; `Wrong` for what fits least: an unknown key before a missing one before a value."""
    adapter: TypeAdapter[Value] = _adapter(cast(Hashable, shape))
    try:
        return adapter.validate_python(data)
    except ValidationError as error:
        # A misspelt key is also a missing one; the word with the hint comes first.
        found = (_wrong(shape, one) for one in error.errors())
        raise min(found, key=lambda wrong: _KINDS.index(wrong.kind)) from None


def expecting(words: str) -> WrapValidator:
    """For a field whose type alone would not tell what belongs there."""

    def hold(value: Any, check: Callable[[Any], Any]) -> Any:
        try:
            return check(value)
        except ValidationError:
            raise PydanticCustomError("expecting", "{words}", {"words": words}) from None

    return WrapValidator(hold)


def dotted(key: Key) -> str:
    """A key as one says it: `tools[0].arguments.limit`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    return next(iter(get_close_matches(name, list(known), n=1)), None)


@lru_cache(maxsize=8)
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def _wrong(shape: Any, error: ErrorDetails) -> Wrong:
    key = error["loc"]
    match error["type"]:
        case "unexpected_keyword_argument":
            known = tuple(_keys(_shape_at(shape, key[:-1])))
            wrong = Wrong("unknown", key, f"one of {', '.join(known)}")
            wrong.known = known
            return wrong
        case "missing":
            return Wrong("missing", key, "this key, which is missing")
        case "literal_error":
            choices = get_args(_shape_at(shape, key))
            return Wrong("mistyped", key, " or ".join(f'"{choice}"' for choice in choices))
        case kind:
            return Wrong("mistyped", key, _BELONGS.get(kind, error["msg"]))


def _keys(shape: Any) -> dict[str, Any]:
    """The keys of a table of this shape, with the type of each."""
    types = get_type_hints(shape)
    return {each.name.rstrip("_"): types[each.name] for each in fields(shape)}


def _shape_at(shape: Any, key: Key) -> Any:
    for part in key:
        if is_dataclass(shape):
            shape = _keys(shape)[str(part)]
        else:  # of a list or a table: what each of its items is
            shape = [kind for kind in get_args(shape) if kind is not ...][-1]
        if get_origin(shape) in (Union, UnionType):
            shape = next(kind for kind in get_args(shape) if kind is not type(None))
    return shape
