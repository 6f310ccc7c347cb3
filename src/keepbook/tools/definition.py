"""A tool: a plain function, with the words and the schema under which a model may call it.

`define` reads the function's signature. A model may give the parameters that can be passed both by place and by name;
those before a `/` or after a `*` come from the program (the book, the turns of the chat), and no model sees them. A
preset may give arguments other names and defaults, or leave some out, so one function serves every preset. Arguments
are read leniently: "10" is a number, null means not given, Fact is the choice fact. If they make no sense, one answer
says everything that is wrong with them.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError

from keepbook.book.ground.limits import MOST_PARTS, is_mass
from keepbook.errors import Invalid
from keepbook.patterns import regex
from keepbook.presets import Argument

Risk = Literal["low", "medium", "high"]
JsonSchema = dict[str, Any]

_NAME = regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what every provider of models accepts
_CAPITAL = regex("(?<=[a-z0-9])[A-Z]")
_UNKEEPABLE = regex("[\0\ud800-\udfff]")  # JSON can say them, a database cannot
_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call gives back: words for the model, the same as data, and what it wrote.

    `memory_event` has op, id, before, after and event, the ledger's number that undoes it. `error` is a code,
    empty when the call did what it should. `others` are those who recorded what the words quote.
    """

    text: str
    data: Any = None
    memory_event: dict[str, Any] | None = None
    error: str | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Annotations:
    """What a call may do to the book."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


READS = Annotations(read_only=True, idempotent=True)


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One thing an agent can do. `parameters` is the JSON schema of what a model gives."""

    name: str
    description: str
    arguments: Mapping[str, Argument]
    parameters: JsonSchema
    handler: Callable[..., ToolAnswer]
    tags: tuple[str, ...] = ()
    does: str | None = None
    """The operation on the memory that this tool does, if it is one of a preset."""
    risk_level: Risk = "low"
    requires_confirmation: bool = False
    annotations: Annotations = Annotations()
    returns: JsonSchema = field(default_factory=dict, repr=False)
    """The JSON schema of its data, if known. A refusal has `code` and `message` instead."""
    _readers: Mapping[str, TypeAdapter[Any]] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, arguments: Mapping[str, Any] | str | None = None) -> ToolAnswer:
        """Call it with a model's arguments, as a mapping or as JSON; `Invalid` if they do not fit."""
        return self.handler(**self.check(parse_arguments(arguments)))

    def _own_name(self, name: Any) -> Any:
        """The name of an argument that a model wrote in camel case: `deployment_id` for `deploymentId`."""
        if isinstance(name, str):
            own = _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", name)
        else:
            own = name
        if own in self.arguments and name not in self.arguments:
            return own
        return name

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The handler's arguments from a model's; `Invalid` says everything that is wrong with them."""
        if is_mass(given):
            raise Invalid(f"{self.name} takes at most {MOST_PARTS:,} parts in its arguments", field="arguments")
        given = {self._own_name(name): value for name, value in given.items()}
        properties: dict[str, JsonSchema] = self.parameters["properties"]
        wrong: dict[str, str] = {}
        values = {bound.is_: bound.default for bound in self.arguments.values() if bound.default is not None}
        for name, bound in self.arguments.items():
            value = _interpret(given.get(name), properties[name])
            if value is not None:
                try:
                    values[bound.is_] = _read(self._readers[name], value, properties[name])
                except ValueError as error:
                    wrong[name] = f"`{name}` {error}"
            elif bound.required:
                wrong[name] = f"`{name}` is missing"
        takes = f"{self.name} takes {', '.join(self.arguments) or 'none'}"
        for name in given:
            if name not in self.arguments:
                wrong[str(name)] = f"there is no argument {_short_value(str(name))} ({takes})"
        if wrong:
            raise Invalid("; ".join(wrong.values()), field=next(iter(wrong)))
        return values


# Defining


def define(
    handler: Callable[..., ToolAnswer],
    *,
    name: str | None = None,
    description: str | None = None,
    arguments: Mapping[str, Argument] | None = None,
    narrowed: Mapping[str, Any] | None = None,
    tags: Iterable[str] = (),
    risk_level: Risk = "low",
    requires_confirmation: bool = False,
    annotations: Annotations,
    returns: Any = None,
) -> Tool:
    """The tool that calls `handler`.

    Name, description and arguments are the function's own where none are given: its name, its docstring, its
    signature (`Annotated[int, "How many hours."]`). `narrowed` gives a parameter another type than its own; `returns`
    is the type of its data.
    """
    if isinstance(handler, partial):
        own = handler.func
    else:
        own = handler
    name = name or own.__name__
    taken = _parameters_of(handler)
    bound = _own_arguments(taken) if arguments is None else arguments
    _check_binding(name, bound, taken)
    kinds = {each: (narrowed or {}).get(each, parameter.annotation) for each, parameter in taken.items()}
    readers = {each: TypeAdapter(_without_none(kinds[argument.is_])) for each, argument in bound.items()}
    tool = Tool(
        name=name,
        description=" ".join((description or inspect.getdoc(own) or "").split()),
        arguments=MappingProxyType(dict(bound)),
        parameters=_schema(bound, readers),
        handler=handler,
        tags=tuple(tags),
        risk_level=risk_level,
        requires_confirmation=requires_confirmation,
        annotations=annotations,
        returns={} if returns is None else _answer_schema(returns),
        _readers=MappingProxyType(readers),
    )
    for each, argument in bound.items():
        if argument.default is not None:
            try:
                _read(readers[each], argument.default, tool.parameters["properties"][each])
            except ValueError as error:
                raise Invalid(f"tool {name!r}: the default of {each} {error}", field="tools") from None
    return tool


def _parameters_of(handler: Callable[..., ToolAnswer]) -> dict[str, inspect.Parameter]:
    """The parameters that can be passed both by place and by name: those that a model may give."""
    parameters = inspect.signature(handler, eval_str=True).parameters
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    }


def _own_arguments(taken: Mapping[str, inspect.Parameter]) -> dict[str, Argument]:
    return {
        name: Argument(
            is_=name,
            description=next((word for word in get_args(parameter.annotation) if isinstance(word, str)), ""),
            required=parameter.default is inspect.Parameter.empty,
            default=None if parameter.default is inspect.Parameter.empty else parameter.default,
        )
        for name, parameter in taken.items()
    }


def _check_binding(tool: str, bound: Mapping[str, Argument], taken: Mapping[str, inspect.Parameter]) -> None:
    for name in (tool, *bound):
        if not _NAME.fullmatch(name):
            raise Invalid(f"{name!r} is no name for a tool or an argument: letters, digits and _", field="tools")
    filled = [argument.is_ for argument in bound.values()]
    for name, argument in bound.items():
        if argument.is_ not in taken:
            known = ", ".join(taken)
            raise Invalid(f"tool {tool!r}: {name} is {argument.is_!r}, which is none of {known}", field="tools")
        if filled.count(argument.is_) > 1:
            raise Invalid(f"tool {tool!r}: {argument.is_!r} is filled by two arguments", field="tools")
    sure = {argument.is_ for argument in bound.values() if argument.required or argument.default is not None}
    for name, parameter in taken.items():
        if parameter.default is inspect.Parameter.empty and name not in sure:
            raise Invalid(f"tool {tool!r}: an argument must fill {name!r}, and be required", field="tools")


def _without_none(kind: Any) -> Any:
    """The type without None. A null counts as not given, so the schema just does not require the argument."""
    if get_origin(kind) in (Union, UnionType):
        kinds = [each for each in get_args(kind) if each is not NoneType]
        return Union[tuple(kinds)]  # noqa: UP007 - made at run time
    if get_origin(kind) is Annotated:
        inner, *words = get_args(kind)
        return Annotated[(_without_none(inner), *words)]
    return kind


def _schema(bound: Mapping[str, Argument], readers: Mapping[str, TypeAdapter[Any]]) -> JsonSchema:
    properties: dict[str, JsonSchema] = {}
    shared: JsonSchema = {}
    for name, argument in bound.items():
        schema = _without_titles(readers[name].json_schema())
        shared |= schema.pop("$defs", {})
        if "const" in schema:  # a choice with one value, written as pydantic writes those with several
            schema["enum"] = [schema.pop("const")]
        if argument.description:
            schema["description"] = argument.description
        if argument.default is not None:
            schema["default"] = argument.default
        properties[name] = schema
    whole: JsonSchema = {
        "type": "object",
        "properties": properties,
        "required": [name for name, argument in bound.items() if argument.required],
        "additionalProperties": False,
    }
    return whole | ({"$defs": shared} if shared else {})


@cache
def _answer_schema(kind: Any) -> JsonSchema:
    """The schema of an answer's data. No field is required: clients check refusals against it too."""
    schema: JsonSchema = _without_titles(TypeAdapter(kind).json_schema(mode="serialization"))
    schema.pop("required", None)
    return schema


def _without_titles(schema: Any) -> Any:
    """A schema without the titles that pydantic makes from names: they cost tokens and say nothing."""
    if isinstance(schema, dict):
        # A property may be called "title"; its value is a schema then, and not a text.
        return {
            key: _without_titles(value) for key, value in schema.items() if key != "title" or not isinstance(value, str)
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    return schema


# Reading what a model gives


def parse_arguments(arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            # Models send an empty text to a tool that needs nothing.
            if arguments.strip():
                arguments = json.loads(arguments)
            else:
                arguments = {}
        except (ValueError, RecursionError) as error:
            why = ""
            if isinstance(error, json.JSONDecodeError):
                why = f" ({error})"
            raise Invalid(f"the arguments are not valid JSON{why}; send one JSON object", code="json") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise Invalid(f"the arguments are {_short_value(arguments)}; send one JSON object", code="json")
    return arguments


def _interpret(value: Any, schema: JsonSchema) -> Any:
    """The value, with harmless mistakes of a model corrected: an empty text that is no text or choice counts as not
    given, and a choice may differ in case."""
    if isinstance(value, str) and schema.get("type") != "string" and not value.strip():
        return None
    if isinstance(value, str) and "enum" in schema:
        choice = value.strip().casefold()
        same = (each for each in schema["enum"] if str(each).casefold() == choice)
        if choice:
            return next(same, value)
        return next(same, None)
    return value


def _read(reader: TypeAdapter[Any], value: Any, schema: JsonSchema) -> Any:
    """The value in its argument's type. Raises a `ValueError` that says what it should be."""
    try:
        if isinstance(value, bool) and schema.get("type") in ("integer", "number"):
            raise ValueError  # pydantic would read true as 1
        read = reader.validate_python(value)
    except ValueError as error:
        inside = isinstance(error, ValidationError) and error.errors()[0]["loc"]
        where = ""
        if inside:
            where = f" (at {'.'.join(map(str, inside))})"
        raise ValueError(f"must be {_expected_in_words(schema)}, not {_short_value(value)}{where}") from None
    if any(_UNKEEPABLE.search(text) for text in _texts(read)):
        raise ValueError("holds a broken character (NUL, or half of a surrogate pair); remove it")
    return read


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _texts(item)


def _expected_in_words(schema: JsonSchema) -> str:
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kind = _KINDS.get(schema.get("type", ""), "of another kind")
    if "minimum" in schema and "maximum" in schema:
        return f"{kind} from {schema['minimum']} to {schema['maximum']}"
    if kind == "a list" and (items := _KINDS.get(schema.get("items", {}).get("type", ""))):
        return f"a list of {items.removeprefix('a ')}"
    return kind


def _short_value(value: Any) -> str:
    # Never the repr of a list or an object: one that is nested deep enough has none.
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return "a list"
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else "a number that long"
    if isinstance(value, str):
        text = value
    else:
        text = type(value).__name__
    if len(text) <= 60:
        return repr(text)
    return repr(text[:59] + "…")
