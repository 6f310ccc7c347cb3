"""The tools of a chat by what they do, whatever the preset calls them.

Tools and arguments are known by their names in the schemas, so that any toolbox will do; a tool that merely sounds
alike (`add_to_watchlist`) is never taken for one of the memory's. Every call is kept as it was made, in its own round.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from keepbook.models.model import Toolbox, ToolCall
from keepbook.tools.definition import Answer

_THINGS = r"(?:\w*_)?(?:memory|memories|preferences?|facts?|notes?|knowledge)"
_OPERATIONS = {
    "save": rf"remember|(?:save|add_to|add|store|remember)_{_THINGS}",
    "update": rf"update|(?:update|change|edit|correct)_{_THINGS}",
    "forget": rf"forget|(?:forget|delete|remove|archive)_{_THINGS}",
    "confirm": rf"confirm|confirm_{_THINGS}",
    "list": rf"list_{_THINGS}",
    "recall_chats": r"(?:recall|search)_(?:chats|conversations|threads)",
    "recall": rf"recall|(?:recall|search|find)_{_THINGS}",
    "history": r"history|(?:memory|preference)_history",
}
_ROLES = {
    "content": ("content", "fact", "new_content", "text"),
    "memory": ("memory", "memory_id", "id_or_substring", "fact_id", "id"),
    "category": ("category", "topic", "kind"),
    "query": ("query", "question", "q"),
}
"""Arguments that presets name differently; the others have one name."""


class _Tool(NamedTuple):
    name: str
    properties: Mapping[str, Mapping[str, Any]]

    def argument(self, role: str) -> str | None:
        return next((name for name in _ROLES.get(role, (role,)) if name in self.properties), None)


class Kit:
    """What can be done in this chat. `made` are the calls so far."""

    def __init__(self, tools: Toolbox | None, turn: int) -> None:
        self._tools = tools
        self._turn = turn
        self.made: list[ToolCall] = []
        schemas = [schema["function"] for schema in (tools.schemas("openai") if tools else [])]
        self._by_name = {each["name"]: _Tool(each["name"], each["parameters"]["properties"]) for each in schemas}
        self._by_operation: dict[str, _Tool] = {}
        for tool in self._by_name.values():
            operation = next((does for does, name in _OPERATIONS.items() if re.fullmatch(name, tool.name)), None)
            if operation:
                self._by_operation.setdefault(operation, tool)

    def can(self, operation: str) -> bool:
        return operation in self._by_operation

    def has(self, name: str) -> bool:
        """Whether there is a tool of this very name."""
        return name in self._by_name

    @property
    def trades(self) -> bool:
        """Whether there are tools that know of trading."""
        return any(map(self.has, ("get_skill_performance", "get_my_deployments", "get_upcoming_events")))

    def takes(self, operation: str, role: str) -> bool:
        return self.can(operation) and self._by_operation[operation].argument(role) is not None

    @property
    def keeps(self) -> bool:
        return self.can("save")

    @property
    def quiet(self) -> bool:
        """Where facts are only injected, never looked up, they are also kept without a word about it."""
        return self.keeps and not (self.can("recall") or self.can("list") or self.can("update"))

    @property
    def asks_first(self) -> bool:
        """A save that can be forced is one that waits for a yes."""
        return self.takes("save", "force")

    @property
    def categories(self) -> Sequence[str]:
        """The closed choice of categories; empty where any short tag will do, or there are none."""
        tool = self._by_operation.get("save")
        name = tool.argument("category") if tool else None
        return tool.properties[name].get("enum", ()) if tool and name else ()

    def do(self, operation: str, **told: Any) -> Answer:
        """Call the tool that does this, with what it takes of what is told."""
        tool = self._by_operation[operation]
        named = {tool.argument(role): value for role, value in told.items() if value is not None}
        return self.use(tool.name, **{name: value for name, value in named.items() if name is not None})

    def use(self, name: str, **arguments: Any) -> Answer:
        """Call a tool by its name."""
        assert self._tools is not None
        answer: Answer = self._tools.call(name, arguments)
        number = len(self.made)
        id = f"offline_{self._turn}_{number}"
        self.made.append(ToolCall(id, name, arguments, answer.text, answer.memory_event, round=number))
        return answer

    def arguments_of(self, name: str) -> frozenset[str]:
        return frozenset(self._by_name[name].properties)
