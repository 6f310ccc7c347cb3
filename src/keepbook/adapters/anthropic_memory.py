"""Claude's memory tool over a book: `MemoryFiles(kb, owner).tool()`, or `.run(input)` for any other client."""

from typing import TYPE_CHECKING

from keepbook.adapters import memory_files
from keepbook.adapters.memory_files import LARGEST, TOOL, Refused

if TYPE_CHECKING:
    from keepbook.adapters.anthropic_sdk import AsyncMemoryTool, MemoryTool

__all__ = ["LARGEST", "TOOL", "MemoryFiles", "Refused"]


class MemoryFiles(memory_files.Files):
    __doc__ = memory_files.Files.__doc__

    def tool(self) -> "MemoryTool":
        """The tool as the SDK runs it: `client.beta.messages.tool_runner(tools=[files.tool()], …)`."""
        # Loaded when it is asked for: `run` serves every client, also without the SDK.
        from keepbook.adapters.anthropic_sdk import MemoryTool

        return MemoryTool(self)

    def async_tool(self) -> "AsyncMemoryTool":
        # See tool().
        from keepbook.adapters.anthropic_sdk import AsyncMemoryTool

        return AsyncMemoryTool(self)
