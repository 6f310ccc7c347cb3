"""A preset's tools over one owner's book, ready for any model.

The preset says which operations there are and describes them. `build_tools` binds them to the book, with an agent as
the writer, and adds the tools of the extensions that the preset names, and any others. If a model makes a mistake, a
call does not raise: the answer says what is wrong and what to do, and nothing is written. `schemas` gives the
definitions in the form that each kind of client reads.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal

from keepbook.book.book import Book
from keepbook.book.ground.to_json import to_json
from keepbook.book.text.for_models.prompt_part import beside_parts
from keepbook.errors import Ambiguous, Conflict, Invalid, KeepbookError, NotAllowed, NotFound
from keepbook.extension import load_part
from keepbook.presets import Argument, Preset
from keepbook.tools.definition import JsonSchema, Tool, ToolAnswer, define
from keepbook.tools.memory import ARGUMENT_OF, OPERATIONS, OUTSIDE, line

SchemaFormat = Literal["openai", "anthropic", "mcp"]

SYSTEM = "system"
"""The tag of tools that do not count against a limit."""
AUTHORING = "authoring"
"""The mode of a chat in which something is written together with the person."""
MOST_CANDIDATES = 20  # in the data of an ambiguous answer
WHY_PROPOSED_HERE = (
    "(Some of what I was shown was recorded by {names}, not said by you here. "
    "So what would change your own word waits for your yes.)"
)


# Building


def build_tools(
    preset: Preset | str | None,
    book: Book,
    *,
    thread_id: str | None = None,
    turn_ids: Sequence[str] = (),
    extra: Iterable[Tool] = (),
    ceiling: int | None = None,
    outside: bool = False,
    mode: str | None = None,
    others: Sequence[str] = (),
) -> "ToolSet":
    """The tools of a preset (the book's own, if none is given) and `extra` ones, over this book.

    `thread_id` and `turn_ids` say in which chat and at which turns something is saved. `ceiling` is the
    host's limit; it counts what is not tagged `system`. `outside` adds what only agents outside need. `mode` is what
    the chat is for: in `authoring`, extensions may add tools that write. `others` recorded what the model is sent
    beside the person's own words: then its tools act as an agent's, also at the person's turn.
    """
    chosen, extra = _chosen(preset, book), tuple(extra)
    persons = bool(turn_ids) and thread_id is not None and book.origin.actor == "person"
    spoken = persons and not others
    working = _worked_by_agent(book, chosen, thread_id, spoken)
    tools = []
    for spec, tool in zip(chosen.tools, _memory_tools(chosen, outside), strict=True):
        if spec.outside and not outside:
            continue
        if OPERATIONS[spec.does].says:
            from_chat = {"turn_ids": tuple(turn_ids)}
        else:
            from_chat = {}
        tools.append(replace(tool, does=spec.does, handler=partial(tool.handler, working, **from_chat)))
    tools += _extension_tools(chosen, working, mode)
    tools += extra
    _check_ceiling(tools, (chosen.most_tools, ceiling))
    if not persons:
        return ToolSet(tools)
    lowered = partial(
        build_tools, chosen, book, thread_id=thread_id, turn_ids=turn_ids, extra=extra, ceiling=ceiling,
        outside=outside, mode=mode,
    )  # fmt: skip
    return ToolSet(tools, others=others, lowered=lambda seen: lowered(others=seen))


def _extension_tools(preset: Preset, book: Book, mode: str | None) -> Iterator[Tool]:
    """The tools of the extensions that the preset names, as far as they are on."""
    for one in book.extensions:
        if one.tools is not None and one.name in preset.extensions:
            yield from load_part(one.tools)(book, mode=mode)


def _check_ceiling(tools: Sequence[Tool], limits: Iterable[int | None]) -> None:
    counted = [tool.name for tool in tools if SYSTEM not in tool.tags]
    for limit in limits:
        if limit is not None and len(counted) > limit:
            raise Invalid(
                f"{len(counted)} tools are more than the {limit} allowed here; leave some out of: {', '.join(counted)}",
                field="tools",
            )


def _chosen(preset: Preset | str | None, book: Book) -> Preset:
    if isinstance(preset, Preset):
        return preset
    return book.preset(preset)


def _worked_by_agent(book: Book, preset: Preset, thread_id: str | None, spoken: bool) -> Book:
    """The same book with the agent as the writer, and with the preset of its tools, whatever the owner's own is. With
    `spoken` the person has just spoken in this chat, and tools act for them."""
    thread = thread_id or book.origin.thread_id
    return book.acting(actor="agent", thread_id=thread, for_person=spoken).under(preset)


@lru_cache(maxsize=64)
def _memory_tools(preset: Preset, outside: bool) -> tuple[Tool, ...]:
    """The preset's tools before they are bound to a book."""
    narrowed: dict[str, Any] = {}
    if preset.categories:
        choice: Any = Literal
        narrowed["category"] = choice[preset.categories]
    tools = []
    for tool in preset.tools:
        if tool.does not in OPERATIONS:
            known = ", ".join(OPERATIONS)
            raise Invalid(f"tool {tool.name!r} does {tool.does!r}, which is none of {known}", field="tools")
        operation = OPERATIONS[tool.does]
        made = define(
            operation.function,
            name=tool.name,
            description=tool.description,
            arguments={**tool.arguments, **(OUTSIDE.get(tool.does, {}) if outside else {})},
            narrowed=narrowed,
            tags=("memory", SYSTEM) if preset.most_tools is None else ("memory",),
            annotations=operation.annotations,
            returns=operation.returns,
        )
        tools.append(made)
    return tuple(tools)


# Calling


class ToolSet:
    """Tools by name, in order. `call` answers, `schemas` shows them to a model.

    At a turn of the person, `lowered` gives the same tools as an agent's, for when an answer has quoted what `others`
    recorded.
    """

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        others: Sequence[str] = (),
        lowered: "Callable[[Sequence[str]], ToolSet] | None" = None,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._others = tuple(others)
        self._lowered = lowered
        self._proposed = False
        for tool in tools:
            if tool.name in self._tools:
                raise Invalid(f"there are two tools called {tool.name!r}; rename one", field="tools")
            self._tools[tool.name] = tool
        self._names = {tool.does: tool.name for tool in self if tool.does is not None}

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool:
        for tool in self:  # not by hash: a model's JSON may name anything
            if tool.name == name:
                return tool
        known = ", ".join(self._tools)
        raise NotFound(f"there is no tool {str(name)[:60]!r}; the tools are {known}", code="unknown_tool")

    def __repr__(self) -> str:
        return f"<ToolSet: {', '.join(self._tools)}>"

    def without(self, operations: Iterable[str]) -> "ToolSet":
        """The same tools but for those that do one of these `operations`."""
        left_out = tuple(operations)
        lowered = self._lowered
        less = None if lowered is None else lambda seen: lowered(seen).without(left_out)
        tools = [tool for tool in self if tool.does not in left_out]
        return ToolSet(tools, others=self._others, lowered=less)

    @property
    def why_proposed(self) -> str | None:
        """At a turn of the person: why something that was asked of these tools waits for their word."""
        if self._lowered is None or not (self._others and self._proposed):
            return None
        names = " and ".join(self._others)
        return WHY_PROPOSED_HERE.format(names=names)

    def _see(self, others: Sequence[str]) -> None:
        """Note that the model has read words that `others` recorded. From now on its tools act as an agent's, even if
        the person has just spoken."""
        seen = tuple(dict.fromkeys((*self._others, *others)))
        if self._lowered is not None and not self._others:
            self._tools = self._lowered(seen)._tools
        self._others = seen

    def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolAnswer:
        """Do what a model asks of the tool of this `name`; what it got wrong is answered too.

        arguments: the model's, as a mapping or as JSON
        """
        try:
            return self.attempt(name, arguments)
        except KeepbookError as error:
            return self.refusal(name, error)

    def attempt(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolAnswer:
        """The same, but what the model got wrong is raised; `refusal` words it once the transaction has ended, since
        what a refusal leaves for the person is left then.

        arguments: the model's, as a mapping or as JSON
        """
        answer = self[name](arguments)
        if answer.others:
            self._see(answer.others)
        return replace(answer, text=beside_parts(answer.text))  # what it quotes ends or begins no part of a prompt

    def refusal(self, name: str, error: KeepbookError) -> ToolAnswer:
        """What is answered where the tool of this `name` could not do what was asked.

        error: what was raised
        """
        self._proposed = self._proposed or "proposal" in error.details
        return self._refusal(error, next((tool for tool in self if tool.name == name), None))

    def schemas(self, format: SchemaFormat = "openai") -> list[JsonSchema]:
        """The tools as a client of that kind reads them.

        format: openai, anthropic or mcp
        """
        if format not in _FORMATS:
            raise Invalid(f"format is one of {', '.join(_FORMATS)}, not {format!r}", field="format")
        shared = [_FORMATS[format](tool) for tool in self]
        copied: list[JsonSchema] = json.loads(json.dumps(shared))  # the caller's own: a fifth of what deepcopy takes
        return copied

    def _refusal(self, error: KeepbookError, tool: Tool | None) -> ToolAnswer:
        """The answer for a model to an error; no other place words one."""
        argument = _argument(error, tool)
        # The book's message has its own name of the field; a model knows the tool's.
        message = error.message
        if argument and message.startswith((f"{error.field} ", f"{error.field}:")):
            message = f"`{argument}`{message.removeprefix(str(error.field))}"
        message = message[:1].upper() + message[1:].removesuffix(".") + "."
        data = {"code": error.code, "message": message, "field": argument} | to_json(error.details)
        said = [message]
        if isinstance(error, Ambiguous):
            data["candidates"] = data["candidates"][:MOST_CANDIDATES]
        if isinstance(error, Conflict) and error.similar:
            data["similar"] = to_json(error.similar)
            said = ["Not saved. Close to it is already stored:", *map(line, error.similar)]
        return ToolAnswer("\n".join([*said, *self._advice(error, tool)]), data, error=error.code)

    def _advice(self, error: KeepbookError, tool: Tool | None) -> Iterator[str]:
        can = self._names
        match error:
            case Conflict(code="similar"):
                if "update" in can:
                    way = f"call {can['update']} with its id"
                else:
                    way = "update that one"
                force = next((name for name, bound in _arguments(tool) if bound.is_ == "force"), "force")
                yield f"If this is the same matter, {way}. If it is another fact, repeat with {force} = true."
            case Conflict(code="archived" | "trash"):
                yield "Only the person can restore it."
            case NotFound() if "put_away" in error.details:
                yield "What was put away is in no list; use the id that the answer named when it was put away."
            case NotFound(field="ref" | "id"):
                ways = [can[operation] for operation in ("list", "recall") if operation in can]
                yield f"Look with {' or '.join(ways)}, then use an id." if ways else "Use a piece of what it says."
            case NotAllowed(code="persons_word" | "forgotten") if error.details.get("proposal"):
                yield "Nothing was written; the person finds it among what waits for their word. Do not try again."
            case NotAllowed():
                yield "Nothing was written; ask the person."


def _arguments(tool: Tool | None) -> Iterable[tuple[str, Argument]]:
    if tool is None:
        return ()
    return tool.arguments.items()


def _argument(error: KeepbookError, tool: Tool | None) -> str | None:
    """The tool's argument that fills the field which is wrong; None if there is none."""
    field = error.field
    if tool is None or field is None or field in tool.arguments:
        return field
    filled = ARGUMENT_OF.get(field, field)
    for name, bound in _arguments(tool):
        if bound.is_ == filled:
            return name
    if field in ARGUMENT_OF:  # no argument fills it, so its name would only confuse a model
        return None
    return field


def _openai(tool: Tool) -> JsonSchema:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _anthropic(tool: Tool) -> JsonSchema:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


def _mcp(tool: Tool) -> JsonSchema:
    title = tool.name.replace("_", " ").capitalize()
    return {
        "name": tool.name,
        "title": title,
        "description": tool.description,
        "inputSchema": tool.parameters,
        "outputSchema": _tool_to_json(tool),
        "annotations": {
            "title": title,
            "readOnlyHint": tool.annotations.read_only,
            "destructiveHint": tool.annotations.destructive,
            "idempotentHint": tool.annotations.idempotent,
            "openWorldHint": False,
        },
        "_meta": {"tags": list(tool.tags), **({} if tool.does is None else {"does": tool.does})},
    }


def _tool_to_json(tool: Tool) -> JsonSchema:
    """The schema of the data that a client gets: the tool's own, and for a write the event that undoes it."""
    if not tool.annotations.read_only:
        written = {"memory_event": _EVENT}
    else:
        written = {}
    return {"type": "object", **tool.returns, "properties": {**tool.returns.get("properties", {}), **written}}


_EVENT: JsonSchema = {
    "type": "object",
    "description": "What was written; `event` undoes it.",
    "properties": {
        "op": {"type": "string"},
        "id": {"type": "string"},
        "event": {"type": "integer"},
        "before": {"type": ["object", "null"]},
        "after": {"type": ["object", "null"]},
    },
}

_FORMATS: Mapping[str, Callable[[Tool], JsonSchema]] = {"openai": _openai, "anthropic": _anthropic, "mcp": _mcp}
