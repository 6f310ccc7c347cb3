"""The tools of a chat by what the preset says they do, never by their names.

A preset of your own may give its tools and their arguments any names. Tools of extensions have the same names
everywhere. Every call is stored as it was made, in its own round.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from keepbook.models.model import Toolbox, ToolCall
from keepbook.presets import Preset
from keepbook.tools.definition import ToolAnswer


class _Bound(NamedTuple):
    """A tool of the preset, with its own names for the arguments of the operation it does."""

    name: str
    arguments: Mapping[str, str]


class Abilities:
    """The tools that can be called in this chat. `made` are the calls so far."""

    def __init__(self, tools: Toolbox | None, preset: Preset | None, turn: int) -> None:
        self._tools = tools
        self._turn = turn
        self.made: list[ToolCall] = []
        schemas = [schema["function"] for schema in (tools.schemas("openai") if tools else [])]
        self._by_name = {each["name"]: each["parameters"]["properties"] for each in schemas}
        self._by_operation: dict[str, _Bound] = {}
        for tool in preset.tools if preset is not None else ():
            if tool.name in self._by_name:
                names = {bound.is_: name for name, bound in tool.arguments.items()}
                self._by_operation.setdefault(tool.does, _Bound(tool.name, names))
        self.preset = preset

    def can(self, operation: str) -> bool:
        return operation in self._by_operation

    def has(self, name: str) -> bool:
        """Whether there is a tool of this name."""
        return name in self._by_name

    @property
    def keeps(self) -> bool:
        return self.can("remember")

    @property
    def silent(self) -> bool:
        """Whether the preset keeps memories without saying so."""
        return self.preset is not None and self.preset.consent == "silent"

    @property
    def asks_first(self) -> bool:
        return self.preset is not None and self.preset.consent == "ask"

    def do(self, operation: str, **told: Any) -> ToolAnswer:
        """Call the tool that does this, with those of the arguments that it takes."""
        tool = self._by_operation[operation]
        named = {tool.arguments[argument]: value for argument, value in told.items() if argument in tool.arguments}
        return self.use(tool.name, **{name: value for name, value in named.items() if value is not None})

    def use(self, name: str, **arguments: Any) -> ToolAnswer:
        """Call a tool by its name."""
        assert self._tools is not None
        answer: ToolAnswer = self._tools.call(name, arguments)
        number = len(self.made)
        id = f"offline_{self._turn}_{number}"
        self.made.append(ToolCall(id, name, arguments, answer.text, answer.memory_event, round=number))
        return answer

    def arguments_of(self, name: str) -> frozenset[str]:
        return frozenset(self._by_name[name])
