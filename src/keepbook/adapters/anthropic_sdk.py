"""The memory tool for the tool runners of Anthropic's SDK; `Files` does the work.

A refusal is raised as the SDK's own error, so that the model gets it marked as an error.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from keepbook.adapters import missing_framework

try:
    from anthropic import BaseModel
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as _missing:
    raise missing_framework("Anthropic's SDK", "anthropic") from _missing

from keepbook.adapters.memory_files import Files, Refused

if TYPE_CHECKING:
    from anthropic.types.beta import BetaCacheControlEphemeralParam


def _run_command(files: Files, command: object) -> str:
    # The raw input of the model: the SDK's parsed form fails if an argument is missing.
    given = command.to_dict(mode="json") if isinstance(command, BaseModel) else command
    try:
        return files.do(cast(Mapping[str, Any], given))
    except Refused as refusal:
        raise ToolError(str(refusal)) from refusal


class MemoryTool(BetaAbstractMemoryTool):
    """For `Anthropic().beta.messages.tool_runner`."""

    def __init__(self, files: Files, *, cache_control: "BetaCacheControlEphemeralParam | None" = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = files

    def call(self, input: object) -> BetaFunctionToolResultType:
        return _run_command(self._files, input)

    def view(self, command: BaseModel) -> BetaFunctionToolResultType:
        return _run_command(self._files, command)

    def create(self, command: BaseModel) -> BetaFunctionToolResultType:
        return _run_command(self._files, command)

    def str_replace(self, command: BaseModel) -> BetaFunctionToolResultType:
        return _run_command(self._files, command)

    def insert(self, command: BaseModel) -> BetaFunctionToolResultType:
        return _run_command(self._files, command)

    def delete(self, command: BaseModel) -> BetaFunctionToolResultType:
        return _run_command(self._files, command)

    def rename(self, command: BaseModel) -> BetaFunctionToolResultType:
        return _run_command(self._files, command)

    def clear_all_memory(self) -> BetaFunctionToolResultType:
        return self._files.clear()


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """For `AsyncAnthropic().beta.messages.tool_runner`."""

    def __init__(self, files: Files, *, cache_control: "BetaCacheControlEphemeralParam | None" = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = files

    async def call(self, input: object) -> BetaFunctionToolResultType:
        return await asyncio.to_thread(_run_command, self._files, input)

    async def view(self, command: BaseModel) -> BetaFunctionToolResultType:
        return await self.call(command)

    async def create(self, command: BaseModel) -> BetaFunctionToolResultType:
        return await self.call(command)

    async def str_replace(self, command: BaseModel) -> BetaFunctionToolResultType:
        return await self.call(command)

    async def insert(self, command: BaseModel) -> BetaFunctionToolResultType:
        return await self.call(command)

    async def delete(self, command: BaseModel) -> BetaFunctionToolResultType:
        return await self.call(command)

    async def rename(self, command: BaseModel) -> BetaFunctionToolResultType:
        return await self.call(command)

    async def clear_all_memory(self) -> BetaFunctionToolResultType:
        return await asyncio.to_thread(self._files.clear)
